"""Where a fact was read, as a person reads it: names of files and commands stay, words are translated."""

from __future__ import annotations

from gpuenv.i18n.messages import N_, translate_output

_BETWEEN = "; "
_SAID = (
    N_("matrix {table}"),
    N_("option {name}"),
    N_("assumed: {value}"),
    N_("environment variable {name}"),
    N_("nvidia-smi (not found), {others}"),
    N_("not stated"),
    N_("the request"),
)


def said_source(source: str) -> str:
    """Return a source in the language of the texts; the JSON has it as it is."""
    return _BETWEEN.join(translate_output(part, _SAID) for part in source.split(_BETWEEN))
