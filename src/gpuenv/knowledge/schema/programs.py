"""The fields of the tables that tell what other programs say: nvidia-smi, pip, uv and the conda tools."""

from __future__ import annotations

from collections.abc import Mapping

from gpuenv.knowledge.schema.field_types import (
    Field,
    is_capability,
    is_number,
    is_regex,
    is_text,
    is_version,
    list_of,
    one_of,
    or_null,
)

Kinds = Mapping[str | None, tuple[Field, ...]]

_SOURCE = Field("source", is_text)
_TOOL = Field("tool", one_of("conda", "mamba", "micromamba", "rattler"))
_MEANS = Field(
    "means",
    one_of(
        "missing", "unsatisfiable", "channel", "terms", "lock", "disk-full", "corrupt", "interrupted",
        "existing", "no-gpu", "usage",
    ),
)  # fmt: skip

CONDA_TOOLS: Kinds = {
    "exception": (Field("kind", is_text), _TOOL, Field("name", is_text), _MEANS, _SOURCE),
    "text": (Field("kind", is_text), _TOOL, _MEANS, Field("pattern", is_regex), _SOURCE),
    "advice": (Field("kind", is_text), _TOOL, Field("pattern", is_regex), _SOURCE),
    "least": (Field("kind", is_text), _TOOL, Field("version", is_version), _SOURCE),
    "flaw": (
        Field("kind", is_text),
        _TOOL,
        Field("flaw", is_text),
        Field("first", is_version),
        Field("last", is_version),
        _SOURCE,
    ),
}
INSTALLER_FAULTS: Kinds = {
    None: (
        Field(
            "fault", one_of("hash", "broken-file", "missing", "status", "redirects", "timeout", "connection")
        ),
        Field("tool", one_of("pip", "uv")),
        Field("pattern", is_regex),
        Field("problem", is_text),
        _SOURCE,
    )
}
NVIDIA_SMI: Kinds = {
    kind: (
        Field("kind", is_text),
        Field("contains", is_text),
        Field("code", or_null(is_text)),
        Field("repair", or_null(is_text)),
        _SOURCE,
    )
    for kind in ("field", "message", "refusal")
}
TEGRA: Kinds = {
    None: (
        Field("chip", is_text),
        Field("board", is_text),
        Field("compute_capability", is_capability),  # no other GPU has it
        Field("called", list_of(is_text, least=1), optional=True),  # what its driver calls the GPU
        Field("wheels", one_of("nvidia", "pytorch")),  # whose wheels of torch have code for its GPU
        Field("first_release", is_number, optional=True),  # of Jetson Linux with which those run
        _SOURCE,
    )
}
