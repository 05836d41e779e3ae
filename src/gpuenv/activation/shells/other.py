"""The one line that other shells are given: the script that the environment's maker has put into it."""

from __future__ import annotations

from collections.abc import Callable

# PowerShell takes typographic quotes for plain ones
# https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_quoting_rules
_QUOTES = "'\u2018\u2019\u201a\u201b"


def quote_powershell(text: str) -> str:
    """Quote a text for PowerShell, in which a quote is doubled."""
    return "'" + "".join(letter * 2 if letter in _QUOTES else letter for letter in text) + "'"


def quote_csh(text: str) -> str:
    """Quote a text for csh, which looks for `!` even within quotes."""
    escaped = text.replace("'", "'\\''").replace("!", "\\!")
    return f"'{escaped}'"


def quote_nu(text: str) -> str:
    """Quote a text for nushell; double quotes alone know escapes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _quote_cmd(text: str) -> str:
    return f'"{text}"'  # no file name of Windows has a quote


_LINES: dict[str, tuple[tuple[str, ...], Callable[[str], str], str]] = {
    "powershell": (("Activate.ps1", "activate.ps1"), quote_powershell, "& {script}"),
    "cmd": (("activate.bat",), _quote_cmd, "call {script}"),
    "csh": (("activate.csh",), quote_csh, "source {script}"),
    "nu": (("activate.nu",), quote_nu, "overlay use {script}"),
    "xonsh": (("activate.xsh",), repr, "source {script}"),
}


def script_names(shell: str) -> tuple[str, ...]:
    """Return what the script of a shell may be called among an environment's programs."""
    return _LINES[shell][0]


def render_line(shell: str, script: str) -> str:
    """Render the line that runs an environment's script."""
    _, quote, line = _LINES[shell]
    return line.format(script=quote(script)) + "\n"


def render_conda_line(shell: str, root: str) -> str:
    """Render the line that activates a conda environment."""
    return f"conda activate {_LINES[shell][1](root)}\n"
