"""Activation for bash, zsh, dash, ksh and other shells of POSIX.

It has no comments: an interactive zsh takes them for commands. What venv's own `activate` would restore is
kept under venv's names, so that either may follow the other.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from gpuenv.model.activation import Activation

_PATH = "_OLD_VIRTUAL_PATH"
_PROMPT = "_OLD_VIRTUAL_PS1"


def render_posix(activation: Activation) -> str:
    """Render a script that activates an environment and defines `deactivate`."""
    names = (*(name for name, _ in activation.variables), *activation.dropped)
    folders = shlex.quote(":".join(activation.folders))
    prompt = shlex.quote(f"({activation.prompt}) ")
    lines = (
        f'if [ -n "${{{_PATH}+x}}" ]; then deactivate; fi',
        "deactivate () {",
        *_indented(_sourced(activation.leaving)),
        *_indented(f"{line}" for name in names for line in _restored(name)),
        f'    PATH="${_PATH}"; export PATH; unset {_PATH}',
        f'    if [ -n "${{{_PROMPT}+x}}" ]; then PS1="${_PROMPT}"; unset {_PROMPT}; fi',
        "    hash -r 2>/dev/null || :",
        "    unset -f deactivate",
        "}",
        f'{_PATH}="${{PATH-}}"',
        *(_saved(name) for name in names),
        *(f"export {name}={shlex.quote(value)}" for name, value in activation.variables),
        *(f"unset {name}" for name in activation.dropped),
        f'PATH={folders}"${{PATH:+:$PATH}}"; export PATH',
        'if [ -z "${VIRTUAL_ENV_DISABLE_PROMPT:-}" ] && [ -n "${PS1:-}" ]; then',
        f'    {_PROMPT}="$PS1"; PS1={prompt}"$PS1"',
        "fi",
        *_sourced(activation.scripts),
        "hash -r 2>/dev/null || :",
    )
    return "\n".join(lines) + "\n"


def _saved(name: str) -> str:
    return f'if [ -n "${{{name}+x}}" ]; then _OLD_GPUENV_{name}="${name}"; else unset _OLD_GPUENV_{name}; fi'


def _restored(name: str) -> tuple[str, ...]:
    old = f"_OLD_GPUENV_{name}"
    return (
        f'if [ -n "${{{old}+x}}" ]; then export {name}="${old}"; unset {old}',
        f"else unset {name}; fi",
    )


def _sourced(scripts: tuple[str, ...]) -> tuple[str, ...]:
    """Source what packages of a conda environment bring."""
    files = (shlex.quote(f"{script}.sh") for script in scripts)
    return tuple(f"if [ -r {file} ]; then . {file}; fi" for file in files)


def _indented(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"    {line}" for line in lines)
