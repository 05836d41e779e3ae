"""The plainest ways to call what scripts call often: without typer, which takes longer to load than they run.

A line that is not of such a form, or a variable that says more, leaves the line to typer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from itertools import takewhile

from gpuenv.cli.console import Console

_OPTIONS = {
    "--json": "as_json",
    "-q": "quietness",
    "--quiet": "quietness",
    "-v": "verbosity",
    "--verbose": "verbosity",
}
VARIABLES = (
    "GPUENV_COLOR",
    "GPUENV_JSON",
    "GPUENV_LANG",
    "GPUENV_NO_PROGRESS",
    "GPUENV_PREVIEW",
    "GPUENV_QUIET",
    "GPUENV_ROOT",
    "GPUENV_VERBOSE",
    "GPUENV_ALL",
    "GPUENV_SHELL",
    "_GPUENV_COMPLETE",
)
# the only ones of gpuenv's own that no option of `plan` reads
NO_OPTIONS = frozenset(
    {"GPUENV_CACHE_DIR", "GPUENV_DATA_DIR", "GPUENV_HTTP_TIMEOUT", "GPUENV_NVIDIA_SMI_TIMEOUT"}
)


def plain_command(arguments: list[str], environ: Mapping[str, str]) -> Callable[[], int] | None:
    """Return the command that a plain line asks for, None for any other line."""
    if any(variable in environ for variable in VARIABLES):
        return None
    words = tuple(takewhile(_is_word, arguments))
    if words[:1] == ("run",) and len(words) > 1:
        return partial(_run, words[1], arguments[2:])
    options = arguments[len(words) :]
    if words[:1] == ("plan",):
        return _plan_of(words[1:], options, environ)
    console = _console(options)
    return _with_console(words, console) if console else None


def _with_console(words: tuple[str, ...], console: Console) -> Callable[[], int] | None:
    if words[:1] == ("activate",) and len(words) == 2:  # noqa: PLR2004 - and its name
        return partial(_activate, words[1], console)
    if words[:1] == ("explain",):
        return partial(_explain, words[1:], console)
    return partial(_SHOWING[words], console) if words in _SHOWING else None


def _console(options: list[str]) -> Console | None:
    try:
        return Console(**{_OPTIONS[option]: True for option in options})
    except KeyError:
        return None


def _plan_of(
    requirements: tuple[str, ...], options: list[str], environ: Mapping[str, str]
) -> Callable[[], int] | None:
    if any(name.startswith("GPUENV_") and name not in NO_OPTIONS for name in environ):
        return None
    console = _console([option for option in options if option != "--offline"])
    return partial(_plan, requirements, console, offline="--offline" in options) if console else None


def _is_word(word: str) -> bool:
    return not word.startswith("-")


def _detect(console: Console) -> int:
    from gpuenv.cli.commands.detect import detect  # noqa: PLC0415 - only what is asked for

    return detect(console)


def _list(console: Console) -> int:
    from gpuenv.cli.commands.environments.manage import list_environments  # noqa: PLC0415

    return list_environments(console, everything=False)


def _list_mirrors(console: Console) -> int:
    from gpuenv.cli.commands.mirrors.list import show  # noqa: PLC0415

    return show(console)


def _plan(requirements: tuple[str, ...], console: Console, *, offline: bool) -> int:
    from gpuenv.planning.detect import detect_beside  # noqa: PLC0415

    def load() -> Callable[..., int]:
        from gpuenv.cli.commands.plan.plan import plan_with  # noqa: PLC0415 - takes as long as nvidia-smi

        return plan_with

    here, plan_with = detect_beside(os.environ, load)
    from gpuenv.planning.options import PlanOptions  # noqa: PLC0415

    options = PlanOptions(requirements=requirements, offline=offline, here=here)
    return plan_with(options, "text", None, console)


_SHOWING = {("detect",): _detect, ("list",): _list, ("mirrors", "list"): _list_mirrors}


def _activate(name: str, console: Console) -> int:
    from gpuenv.cli.commands.environments.enter import activate  # noqa: PLC0415

    return activate(name, None, console)


def _run(name: str, argv: list[str]) -> int:
    from gpuenv.cli.commands.environments.enter import run  # noqa: PLC0415

    return run(name, argv)


def _explain(words: tuple[str, ...], console: Console) -> int:
    from gpuenv.cli.commands.explain import explain  # noqa: PLC0415

    return explain(words, console)
