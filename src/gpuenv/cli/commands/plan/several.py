"""`gpuenv plan --for cpu --for cu126`: one project for several variants."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from gpuenv.cli.commands.plan.files import lock_for
from gpuenv.cli.commands.plan.single import DEFAULT_TARGET, keep_by_hand
from gpuenv.cli.console import Console
from gpuenv.cli.output import bad_usage, envelope, json_text, print_file
from gpuenv.cli.progress import HashBars, display
from gpuenv.files.write_output import make_folder, refuse_foreign_file, write_file
from gpuenv.formats.json import render_plan_data
from gpuenv.formats.registry import FORMATS, LOCKED_FORMATS
from gpuenv.formats.several.pixi import render_pixi_of
from gpuenv.formats.several.pyproject import render_pyproject_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.locked import Locked, LockedVariant
from gpuenv.model.plan import Plan
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.several.plan import SeveralPlans, parse_names, plan_several

# What holds all of them in one file, and how the file of each is called where there is one for each.
_ONE_FILE: Mapping[str, Callable[[tuple[LockedVariant, ...]], str]] = {
    "pyproject": render_pyproject_of,
    "pixi.toml": render_pixi_of,
}
_FILE_EACH = {"pylock.toml": "pylock.{name}.toml", "requirements.txt": "requirements.{name}.txt"}
_JSON = "json"
_FORMATS = (*_ONE_FILE, *_FILE_EACH, _JSON)
_ONE_PYTHON = ("pyproject",)


def plan_for_variants(
    words: tuple[str, ...], options: PlanOptions, format_name: str, output: Path | None, console: Console
) -> int:
    """Plan each variant, and write the file of all of them or a file for each."""
    names = parse_names(words)
    _check(options, format_name, output)
    keep_by_hand(output, format_name)
    with console.working(tr("reading indexes")):
        several = plan_several(
            names, options, os.environ, target=DEFAULT_TARGET, one_python=format_name in _ONE_PYTHON
        )
    if format_name == _JSON:
        document = envelope("plan", _data(several), warnings=several.warnings)
        return _print(several, {output: json_text(document)}, console)
    locked = _locked(several, format_name, options, console)
    texts = _texts(locked, format_name, output)
    return _print(several.with_plans({name: _plan_of(made) for name, made in locked.items()}), texts, console)


def _check(options: PlanOptions, format_name: str, output: Path | None) -> None:
    """Raise UsageError for what can't be asked of several variants."""
    if format_name not in _FORMATS:
        raise UsageError(
            tr("--for requires a format that holds several variants, not {format}", format=format_name),
            code="usage",
            fixes=tuple(Fix(tr("use --format {format}", format=known)) for known in _FORMATS),
        )
    if options.cuda != "auto":
        raise bad_usage(tr("--for and --cuda cannot be used together"), tr("omit --cuda"))
    if format_name in _FILE_EACH and (output is None or output.is_file()):
        raise UsageError(
            tr("--for with --format {format} writes a file for each variant", format=format_name),
            code="no-folder",
            fixes=(Fix(tr("give a directory for them: -o DIR")),),
        )


def _locked(
    several: SeveralPlans, format_name: str, options: PlanOptions, console: Console
) -> dict[str, Locked | Plan]:
    plans = several.by_name()
    if not options.fetch_hashes:
        with console.working(tr("resolving")):
            return {name: lock_for(plan, format_name, options) for name, plan in plans.items()}
    with display(quiet=console.quiet) as shown:
        bars = HashBars(shown)
        return {name: lock_for(plan, format_name, options, bars) for name, plan in plans.items()}


def _texts(
    locked: Mapping[str, Locked | Plan], format_name: str, output: Path | None
) -> Mapping[Path | None, str]:
    """Return the texts by file; None is stdout."""
    if format_name in _ONE_FILE:
        variants = tuple(
            LockedVariant(name, made) for name, made in locked.items() if isinstance(made, Locked)
        )
        return {output: _ONE_FILE[format_name](variants)}
    folder = output or Path()
    return {folder / _file_name(name, format_name): _text(made, format_name) for name, made in locked.items()}


def _file_name(name: str, format_name: str) -> str:
    """Return how the file of a variant is called: in the name of a pylock.toml no further dot may stand.

    https://packaging.python.org/en/latest/specifications/pylock-toml/#file-name
    """
    return _FILE_EACH[format_name].format(
        name=canonicalize_name(name) if format_name == "pylock.toml" else name
    )


def _text(made: Locked | Plan, format_name: str) -> str:
    return LOCKED_FORMATS[format_name](made) if isinstance(made, Locked) else FORMATS[format_name](made)


def _plan_of(made: Locked | Plan) -> Plan:
    return made.plan if isinstance(made, Locked) else made


def _print(several: SeveralPlans, texts: Mapping[Path | None, str], console: Console) -> int:
    files = {path: text for path, text in texts.items() if path is not None}
    for path in files:
        refuse_foreign_file(path)
    for path, text in files.items():
        make_folder(path.parent)
        write_file(path, text)
    if console.as_json:
        return console.print_json("plan", _data(several), several.warnings)
    console.warn(several.warnings)
    for path in files:
        console.note(tr("wrote {file}", file=path))
    if None in texts:
        print_file(texts[None])
    return 0


def _data(several: SeveralPlans) -> dict[str, Any]:
    variants = [{"name": made.name, "plan": render_plan_data(made.plan)} for made in several.plans]
    return {"torch": several.torch, "variants": variants}
