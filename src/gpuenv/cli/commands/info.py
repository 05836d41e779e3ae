"""`gpuenv info`, `gpuenv version`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from gpuenv import __version__
from gpuenv.cli.commands.environments.manage import shown_environment
from gpuenv.cli.options import Common
from gpuenv.cli.output import envelope, print_data, print_json, working
from gpuenv.cli.table import render_table, text_width
from gpuenv.formats.machine import render_machine_text
from gpuenv.i18n.messages import N_, tr
from gpuenv.inspection.info import info as read_info
from gpuenv.model.machine_json import parse_machine

_PACKAGES = {"name": N_("package"), "version": N_("version")}


def info(name: str | None, common: Common) -> int:
    """Print what a bug report needs; `-v` adds where each fact was read, and what the last verify said."""
    with working(tr("examining"), quiet=common.quiet):
        answer = read_info(name, os.environ)
    if common.as_json:
        print_json(envelope("info", answer))
    else:
        print_data("\n\n".join(block for block in _blocks(answer, verbose=common.verbose) if block))
    return 0


def _blocks(facts: dict[str, Any], *, verbose: bool) -> Iterator[str]:
    """Return what is told in blocks, from data that is redacted already."""
    version, python, folder = (facts[name] for name in ("gpuenv", "python", "installed_in"))
    own = {
        "gpuenv": tr(
            "{version}, Python {python}, in {folder}", version=version, python=python, folder=folder
        ),
        tr("data"): facts["data_dir"] or tr("no home directory"),
        tr("cache"): facts["cache_dir"],
    }
    yield _aligned(own)
    machine = parse_machine(facts["machine"])
    problems = (tr("warning: {message}", message=problem.message) for problem in machine.problems)
    yield "\n".join((render_machine_text(machine, verbose=verbose).rstrip("\n"), *problems))
    yield _aligned(facts["variables"])
    if facts["environment"] is not None:
        yield from _environment_blocks(facts["environment"], verbose=verbose)


def _environment_blocks(facts: dict[str, Any], *, verbose: bool) -> Iterator[str]:
    row = {
        name: tr("not known") if value is None else value for name, value in shown_environment(facts).items()
    }
    size, created, used = (row[name] for name in ("size", "created", "last_used"))
    lines = {
        row["name"]: row["path"],
        "torch": f"{row['torch']} ({row['variant']}), Python {row['python']}, {row['manager']}",
        tr("verified"): row["verified"],
        tr("size"): tr("{size}, created {created}, last used {used}", size=size, created=created, used=used),
    }
    yield _aligned(lines) + (f"\n{facts['outdated']}" if facts["outdated"] else "")
    if facts["verify"] is not None and (verbose or not facts["verified"]):
        yield json.dumps(facts["verify"], indent=1, ensure_ascii=False)
    packages = [{"name": name, "version": version} for name, version in facts["packages"].items()]
    yield render_table(packages, _PACKAGES)


def _aligned(pairs: dict[str, str]) -> str:
    width = max(map(text_width, pairs), default=0)
    return "\n".join(f"{name}{' ' * (width - text_width(name))}  {value}" for name, value in pairs.items())


def version(common: Common) -> int:
    """Print gpuenv's version."""
    if common.as_json:
        print_json(envelope("version", {"version": __version__}))
    else:
        print_data(f"gpuenv {__version__}")
    return 0
