"""`gpuenv activate`: what a shell has to run so that an environment is active in it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from gpuenv.activation.entering import EnteredEnvironment, activation_of, programs_of
from gpuenv.activation.shells.fish import quote_fish, render_fish
from gpuenv.activation.shells.other import render_conda_line, render_line, script_names
from gpuenv.activation.shells.posix import render_posix
from gpuenv.host.shell import find_shell, started_by_busybox
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError

_POSIX = ("bash", "zsh", "sh", "dash", "ash", "ksh")
_SAME = {"pwsh": "powershell", "tcsh": "csh"}
SHELLS = (*_POSIX, "fish", "powershell", "pwsh", "cmd", "csh", "tcsh", "nu", "xonsh")


def shell_name(chosen: str | None, environ: Mapping[str, str]) -> str:
    """Return the shell that was chosen, else the one that gpuenv was started from.

    Raises UsageError where it is unknown, or has no activation script.
    """
    if chosen is not None:
        return chosen
    if started_by_busybox():
        return "ash"
    shell = find_shell(environ)
    if shell is not None and shell.name in SHELLS:
        return shell.name
    problem = (
        tr("there is no activation script for `{shell}`", shell=shell.name)
        if shell
        else tr("no shell was found among the parents of this process")
    )
    raise UsageError(
        problem,
        code="unknown-shell",
        fixes=(Fix(tr("choose one with --shell {names}", names="|".join(SHELLS))),),
    )


def activation_script(entry: EnteredEnvironment, shell: str, environ: Mapping[str, str]) -> str:
    """Return what the shell evaluates: a script, or for some shells the line to run.

    Raises UsageError where the environment has no script for that shell.
    """
    if shell in _POSIX and os.name != "nt":
        return render_posix(activation_of(entry.root, environ))
    if shell == "fish":
        return render_fish(activation_of(entry.root, environ))
    if entry.is_conda:
        return render_conda_line(_SAME.get(shell, shell), str(entry.root))
    if shell in _POSIX:  # of Git for Windows
        return f". {shlex.quote((programs_of(entry.root) / 'activate').as_posix())}\n"
    return render_line(_SAME.get(shell, shell), str(_script(entry, _SAME.get(shell, shell))))


def _script(entry: EnteredEnvironment, shell: str) -> Path:
    programs = programs_of(entry.root)
    path = next((programs / name for name in script_names(shell) if (programs / name).is_file()), None)
    if path is None:
        raise UsageError(
            tr("`{name}` has no activation script for {shell}", name=entry.name, shell=shell),
            code="no-activation-script",
            fixes=(
                Fix(tr("run commands in the environment"), f"gpuenv run {shlex.quote(entry.name)} -- python"),
            ),
        )
    return path


def pasted_line(name: str, root: Path, environ: Mapping[str, str]) -> str:
    """Return a line that, pasted into the shell gpuenv was started from, activates an environment there.

    Where the environment has a script of its own it needs no gpuenv on PATH.
    """
    result = find_shell(environ)
    shell = result.name if result and result.name in SHELLS else "bash"
    programs = programs_of(root)
    if shell in _POSIX and (programs / "activate").is_file():
        source = "source" if shell in {"bash", "zsh"} else "."
        return f"{source} {shlex.quote(str(programs / 'activate'))}"
    if shell == "fish" and (programs / "activate.fish").is_file():
        return f"source {quote_fish(str(programs / 'activate.fish'))}"
    if shell in {*_POSIX, "fish"}:
        return usage_line(name, shell)
    return activation_script(EnteredEnvironment(name, root, None), shell, environ).rstrip("\n")


def usage_line(name: str, shell: str) -> str:
    """Return what a person types so that the shell runs what `gpuenv activate` prints."""
    command = f"gpuenv activate {shlex.quote(name)}"
    if shell in _POSIX:
        return f'eval "$({command})"'
    if shell == "fish":
        return f"{command} | source"
    if shell in {"powershell", "pwsh"}:
        return f"{command} | Out-String | Invoke-Expression"
    return command
