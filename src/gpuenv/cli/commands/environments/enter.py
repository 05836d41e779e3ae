"""`gpuenv activate`, `shell`, and `run` with or without a command."""

from __future__ import annotations

import os
import sys

from gpuenv.activation import entering
from gpuenv.cli.console import Console
from gpuenv.cli.output import note, print_script
from gpuenv.i18n.messages import tr


def run(name: str, argv: list[str]) -> int:
    """Run a command in an environment, or a shell without one; its exit code is ours."""
    command = argv[1:] if argv[:1] == ["--"] else argv
    if not command:
        return shell(name, None, quiet=False)
    return entering.run(name, command, os.environ, note)


def activate(name: str, chosen: str | None, console: Console) -> int:
    """Print what the shell evaluates, and nothing else on stdout."""
    from gpuenv.activation.activate import activation_script, shell_name, usage_line  # noqa: PLC0415 - not for run

    entry = entering.find_entry(name, os.environ)
    shell = shell_name(chosen, os.environ)
    script = activation_script(entry, shell, os.environ)
    if console.as_json:
        location = {"name": entry.name, "path": str(entry.root)}
        return console.print_json("activate", {"environment": location, "shell": shell, "script": script})
    print_script(script)
    if entry.notice:
        console.note(entry.notice)
    if sys.stdout.isatty():
        line = usage_line(name, shell)
        console.note(tr("hint: this was only printed; to activate it: {line}", line=line), "hint")
    return 0


def shell(name: str, chosen: str | None, *, quiet: bool) -> int:
    """Open a shell in which the environment is active; its exit code is ours."""
    from gpuenv.activation import subshell  # noqa: PLC0415 - not for run

    entry = entering.find_entry(name, os.environ)
    subshell.check_not_inside(entry, os.environ)
    interactive = subshell.is_interactive()
    if entry.notice and not quiet:
        note(entry.notice)
    if interactive and not quiet:
        note(tr("`{name}` is active in this shell; `exit` leaves it", name=name))
    return subshell.open_shell(entry, chosen, os.environ, interactive=interactive)
