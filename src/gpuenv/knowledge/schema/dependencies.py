"""The fields of dependencies.json: what builds of torch ask for, and how large wheels are."""

from __future__ import annotations

from collections.abc import Mapping

from gpuenv.knowledge.dependencies import ANY
from gpuenv.knowledge.schema.field_types import (
    ORIGIN,
    Field,
    is_number,
    is_requirement,
    is_text,
    is_variant,
    is_version,
    list_of,
    one_of,
    or_null,
    readable,
)
from gpuenv.model.wheel import PLATFORMS

# `requires` have no markers: they hold on the platform; sizes are bytes, null where no wheel was read
_SIZES = (
    Field("requires", list_of(readable(is_requirement))),
    Field("size", or_null(is_number)),
    Field("installed", or_null(is_number)),
    *ORIGIN,
)
DEPENDENCIES: Mapping[str | None, tuple[Field, ...]] = {
    "build": (
        Field("kind", is_text),
        Field("torch", is_version),
        Field("variant", readable(is_variant)),
        Field("platform", one_of(*PLATFORMS)),
        Field("index", one_of("pypi", "pytorch")),
        *_SIZES,
    ),
    "file": (
        Field("kind", is_text),
        Field("project", is_text),
        Field("version", is_version),
        Field("platform", one_of(*PLATFORMS, ANY)),
        *_SIZES,
    ),
}
