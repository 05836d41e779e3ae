"""Where a fact was read, as a person reads it: names of files and commands stay, words are translated."""

from __future__ import annotations

from gpuenv.i18n.messages import marked, reword

_BETWEEN = "; "
_SAID = (
    marked("matrix {table}"),
    marked("option {name}"),
    marked("assumed: {value}"),
    marked("environment variable {name}"),
    marked("nvidia-smi (not found), {others}"),
    marked("not stated"),
    marked("the request"),
)


def said_source(source: str) -> str:
    """Return a source in the language of the texts; the JSON has it as it is."""
    return _BETWEEN.join(reword(part, _SAID) for part in source.split(_BETWEEN))
