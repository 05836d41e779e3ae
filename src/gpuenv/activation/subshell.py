"""`gpuenv shell`: the user's shell, in which an environment is active once its own start files have run."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from gpuenv.activation.activate import activation_script
from gpuenv.activation.entering import EnteredEnvironment, activated, is_active
from gpuenv.activation.shells.fish import quote_fish
from gpuenv.host.shell import Shell, find_shell
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.process import foreground
from gpuenv.process.surroundings import find_executable

_READING_ENV = ("sh", "dash", "ash", "ksh")
_FALLBACK = "cmd.exe" if os.name == "nt" else "/bin/sh"


def check_not_inside(entry: EnteredEnvironment, environ: Mapping[str, str]) -> None:
    """Raise UsageError where the environment is active already: one `exit` would not leave it."""
    if is_active(entry, environ):
        raise UsageError(
            tr("`{name}` is already active in this shell", name=entry.name),
            code="already-active",
            fixes=(Fix(tr("leave it first: `deactivate`, or `exit` in a shell that gpuenv has opened")),),
        )


def open_shell(
    entry: EnteredEnvironment, chosen: str | None, environ: Mapping[str, str], *, interactive: bool
) -> int:
    """Run a shell in which the environment is active until it ends; return its exit status.

    `chosen` names a shell on PATH; None is the one gpuenv was started from. Raises UsageError where it can't
    be started.
    """
    shell = _choose(chosen, environ)
    with ExitStack() as until_it_ends:
        argv, variables = [shell.program], activated(entry.root, environ)
        with suppress(OSError):  # no folder for temporary files: active all the same
            folder = until_it_ends.enter_context(tempfile.TemporaryDirectory(prefix="gpuenv-shell-"))
            if interactive:
                argv, variables = _starting(shell, entry, Path(folder), environ)
        try:
            return foreground.run_foreground(argv, variables)
        except OSError as error:
            raise UsageError(
                tr("`{program}` cannot be started: {error}", program=shell.program, error=reason_of(error)),
                code="command-not-found",
                fixes=(Fix(tr("choose another with --shell")),),
            ) from None


def _choose(chosen: str | None, environ: Mapping[str, str]) -> Shell:
    if chosen is not None:
        path = find_executable(chosen, {"PATH": environ.get("PATH", os.defpath)})
        return Shell(chosen, str(path or chosen))
    return find_shell(environ) or Shell(Path(_FALLBACK).stem, _FALLBACK)


def _starting(
    shell: Shell, entry: EnteredEnvironment, folder: Path, environ: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Return how an interactive shell is started, and with which variables.

    Its start files may put other programs first on PATH: the environment is activated after them, by a file
    of ours that reads the user's first. Shells for which there is no such way get the variables alone.
    """
    if shell.name == "bash":
        file = _write(folder / "bashrc", _source("$HOME/.bashrc"), entry, "bash", environ)
        return [shell.program, "--rcfile", str(file), "-i"], dict(environ)
    if shell.name == "zsh":
        return [shell.program, "-i"], _zsh_variables(folder, entry, environ)
    if shell.name == "fish":
        file = _write(folder / "start.fish", "", entry, "fish", environ)
        return [shell.program, "-i", "-C", f"source {quote_fish(str(file))}"], dict(environ)
    if shell.name in _READING_ENV and os.name != "nt":
        before = environ.get("ENV", "")
        again = f"ENV={shlex.quote(before)}\n{_source('$ENV')}" if before else "unset ENV\n"
        file = _write(folder / "shrc", again, entry, "sh", environ)
        # its value is expanded before it is taken for a file's name
        return [shell.program, "-i"], {**environ, "ENV": re.sub(r'([$`"\\])', r"\\\1", str(file))}
    if shell.name in {"powershell", "pwsh"} and not entry.is_conda:
        script = activation_script(entry, "powershell", environ).strip()
        return [shell.program, "-NoExit", "-Command", script], dict(environ)
    return [shell.program], activated(entry.root, environ)


def _zsh_variables(folder: Path, entry: EnteredEnvironment, environ: Mapping[str, str]) -> dict[str, str]:
    """Let zsh read its start files from a folder of ours, in which the user's are read as ever.

    https://zsh.sourceforge.io/Doc/Release/Files.html
    """
    own, ours = environ.get("ZDOTDIR"), shlex.quote(str(folder))
    home = f"ZDOTDIR={shlex.quote(own)}" if own else "unset ZDOTDIR"
    first = f"{home}\n{_source('${ZDOTDIR:-$HOME}/.zshenv')}_gpuenv_zdotdir=${{ZDOTDIR-}}\nZDOTDIR={ours}\n"
    (folder / ".zshenv").write_bytes(os.fsencode(first))
    then = (
        'if [ -n "$_gpuenv_zdotdir" ]; then ZDOTDIR=$_gpuenv_zdotdir; else unset ZDOTDIR; fi\n'
        "unset _gpuenv_zdotdir\n"
        f'case "${{HISTFILE-}}" in {ours}/*) HISTFILE="${{ZDOTDIR:-$HOME}}/.zsh_history" ;; esac\n'
        + _source("${ZDOTDIR:-$HOME}/.zshrc")
    )
    _write(folder / ".zshrc", then, entry, "zsh", environ)
    return {**environ, "ZDOTDIR": str(folder)}


def _source(file: str) -> str:
    return f'if [ -r "{file}" ]; then . "{file}"; fi\n'


def _write(
    file: Path, before: str, entry: EnteredEnvironment, shell: str, environ: Mapping[str, str]
) -> Path:
    file.write_bytes(os.fsencode(before + activation_script(entry, shell, environ)))
    return file


def is_interactive() -> bool:
    """Tell whether a person types into what gpuenv was started with."""
    return sys.stdin is not None and sys.stdin.isatty()
