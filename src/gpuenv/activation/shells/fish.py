"""Activation for fish."""

from __future__ import annotations

from gpuenv.model.activation import Activation

_PATH = "_OLD_VIRTUAL_PATH"
_PROMPT = "_old_fish_prompt"


def render_fish(activation: Activation) -> str:
    """Render a script that activates an environment and defines `deactivate`."""
    names = (*(name for name, _ in activation.variables), *activation.dropped)
    lines = (
        f"if functions -q deactivate; and set -q {_PATH}",
        "    deactivate",
        "end",
        "function deactivate --description 'Leave the environment'",
        *(f"    {line}" for line in _sourced(activation.leaving)),
        *(f"    {_restored(name)}" for name in names),
        f"    set -gx PATH ${_PATH}",
        f"    set -e {_PATH}",
        f"    if functions -q {_PROMPT}",
        "        functions -e fish_prompt",
        f"        functions -c {_PROMPT} fish_prompt",
        f"        functions -e {_PROMPT}",
        "    end",
        "    functions -e deactivate",
        "end",
        f"set -g {_PATH} $PATH",
        *(_saved(name) for name in names),
        *(f"set -gx {name} {quote_fish(value)}" for name, value in activation.variables),
        *(f"set -e {name}" for name in activation.dropped),
        f"set -gx PATH {' '.join(map(quote_fish, activation.folders))} $PATH",
        'if test -z "$VIRTUAL_ENV_DISABLE_PROMPT"; and functions -q fish_prompt',
        f"    functions -c fish_prompt {_PROMPT}",
        "    function fish_prompt",
        "        set -l last $status",
        f"        printf '%s' {quote_fish(f'({activation.prompt}) ')}",
        '        echo "exit $last" | source',
        f"        {_PROMPT}",
        "    end",
        "end",
        *_sourced(activation.scripts),
    )
    return "\n".join(lines) + "\n"


def _saved(name: str) -> str:
    return f"if set -q {name}; set -g _OLD_GPUENV_{name} ${name}; else; set -e _OLD_GPUENV_{name}; end"


def _restored(name: str) -> str:
    old = f"_OLD_GPUENV_{name}"
    return f"if set -q {old}; set -gx {name} ${old}; set -e {old}; else; set -e {name}; end"


def _sourced(scripts: tuple[str, ...]) -> tuple[str, ...]:
    files = (quote_fish(f"{script}.fish") for script in scripts)
    return tuple(f"if test -r {file}; source {file}; end" for file in files)


def quote_fish(text: str) -> str:
    """Quote a text for fish: within single quotes a backslash escapes itself and the quote.

    https://fishshell.com/docs/current/language.html#quotes
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
