"""`gpuenv info`, `gpuenv version`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from gpuenv import __version__
from gpuenv.cli.commands.environments.manage import shown_environment
from gpuenv.cli.console import Console
from gpuenv.cli.output import print_data
from gpuenv.cli.table import render_table, terminal_width
from gpuenv.cli.text_width import text_width
from gpuenv.formats.machine import render_machine_text
from gpuenv.i18n.messages import N_, tr
from gpuenv.inspection.info import info as read_info
from gpuenv.model.machine_json import parse_machine

_PACKAGES = {"name": N_("package"), "version": N_("version")}


def info(name: str | None, console: Console) -> int:
    """Print what a bug report needs; `-v` adds the source of each fact, and the last verification."""
    with console.working(tr("examining")):
        answer = read_info(name, os.environ)
    if console.as_json:
        return console.print_json("info", answer)
    print_data("\n\n".join(filter(None, _blocks(answer, verbose=console.verbose))))
    return 0


def _blocks(facts: dict[str, Any], *, verbose: bool) -> Iterator[str]:
    """Yield the blocks of text, from data that is redacted already."""
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
    yield render_table(packages, _PACKAGES, width=terminal_width())


def _aligned(pairs: dict[str, str]) -> str:
    width = max(map(text_width, pairs), default=0)
    return "\n".join(f"{name}{' ' * (width - text_width(name))}  {value}" for name, value in pairs.items())


def version(console: Console) -> int:
    """Print gpuenv's version."""
    return console.print_result("version", {"version": __version__}, f"gpuenv {__version__}")
