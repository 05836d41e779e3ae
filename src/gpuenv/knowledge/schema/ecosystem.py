"""The fields of ecosystem.json: projects bound to torch, and where wheels for which torch lie."""

from __future__ import annotations

from collections.abc import Mapping

from gpuenv.i18n.messages import marked
from gpuenv.knowledge.schema.field_types import (
    ORIGIN,
    Field,
    is_capability,
    is_flag,
    is_number,
    is_specifier,
    is_text,
    is_version,
    is_wheel_python,
    list_of,
    matching,
    one_of,
    or_null,
    readable,
)
from gpuenv.model.capability import parse_architecture
from gpuenv.model.wheel import PLATFORMS

_KIND = Field("kind", is_text)
_NAME = matching(r"[a-z0-9]+(-[a-z0-9]+)*", marked("normalized name of a project"))
_ADDRESS = matching(r"https?://[!-~]+", marked("address"))
_TEMPLATE = matching(r"https?://(?:[!-z|~]|\{(?:torch|variant|version)\})+", marked("address"))
_MINOR = matching(r"\d{1,2}\.\d{1,3}", marked("release MAJOR.MINOR"))
_VARIANT = matching(r"cpu|cu\d{2,3}", marked("variant such as cu126, cu12 or cpu"))

ECOSYSTEM: Mapping[str | None, tuple[Field, ...]] = {
    "set": (
        _KIND,
        Field("set", _NAME),
        Field("projects", list_of(_NAME, least=1)),
        Field("page", _TEMPLATE),  # {torch} MAJOR.MINOR, {variant}, {version} of the project
        Field("match", one_of("exact", "major")),  # of the CUDA of torch and of a wheel
        Field("ended", is_flag),  # whether no page for a newer torch is to be expected
        Field("missing_status", list_of(is_number)),
        *ORIGIN,
    ),
    "project": (
        _KIND,
        Field("project", _NAME),
        Field("set", or_null(_NAME)),
        Field("form", one_of("requires_dist", "find_links", "github_assets", "index", "docs_table", "none")),
        Field("rule", is_text),
        Field("least_compute_capability", or_null(is_capability)),
        Field("least_for", or_null(is_specifier)),  # releases of the project; null: all
        Field("gpu_only", is_flag),
        *ORIGIN,
    ),
    "code": (
        _KIND,
        Field("project", _NAME),
        Field("versions", is_specifier),
        Field("architectures", list_of(readable(parse_architecture), least=1)),
        *ORIGIN,
    ),
    "abi": (
        _KIND,
        Field("torch", is_specifier),
        Field("variants", list_of(_VARIANT)),  # none: all
        Field("cxx11", is_flag),
        *ORIGIN,
    ),
    "wheels": (
        _KIND,
        Field("set", _NAME),
        Field("by", or_null(is_text)),  # who built them, where it was not the project
        Field("torch", _MINOR),
        Field("variant", _VARIANT),  # `cu12` is any CUDA 12
        Field("platform", or_null(one_of(*PLATFORMS))),  # null: the page tells
        Field("pythons", list_of(is_wheel_python)),  # none: the page tells
        Field("versions", list_of(is_version)),  # the newest first; none: the page tells
        Field("pages", list_of(_ADDRESS)),  # none: the set's
        *ORIGIN,
    ),
    "requires": (
        _KIND,
        Field("project", _NAME),
        Field("version", is_version),
        Field("requires_torch", or_null(is_specifier)),
        Field("requires_python", or_null(is_specifier)),
        Field("pythons", list_of(is_text)),
        Field("platforms", list_of(is_text)),
        Field("yanked", is_flag),
        *ORIGIN,
    ),
}
