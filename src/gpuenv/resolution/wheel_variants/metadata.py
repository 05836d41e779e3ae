"""Variant metadata: `variant.json` of a wheel, `{name}-{version}-variants.json` of an index.

https://peps.python.org/pep-0825/#variant-metadata, a draft
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from gpuenv.i18n.messages import tr

_LABEL = re.compile(r"[0-9a-z_.]+")
_WORD = re.compile(r"[a-z0-9_]+")
_VALUE = re.compile(r"[a-z0-9_.]+")
_MOST = 10_000  # properties of one file
_T = TypeVar("_T")


class VariantProperty(Struct, frozen=True, order=True):
    """A feature that a variant was built for, and the values of which a machine must support one."""

    namespace: str
    feature: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.namespace} :: {self.feature} :: {' | '.join(self.values)}"


class WheelVariant(Struct, frozen=True):
    """A variant by its label; without properties it is the null variant, which fits everywhere."""

    label: str
    properties: tuple[VariantProperty, ...]


class VariantMetadata(Struct, frozen=True):
    """The variants of a release, and what is preferred: namespaces, features of each, values of each."""

    variants: tuple[WheelVariant, ...]
    namespaces: tuple[str, ...]
    features: Mapping[str, tuple[str, ...]]
    values: Mapping[tuple[str, str], tuple[str, ...]]


def parse_variant_metadata(document: Any) -> VariantMetadata:
    """Read the metadata of one wheel or of a release; raise ValueError for what the draft does not allow.

    {"default-priorities": {"namespace": ["nvidia"]},
     "variants": {"cu128": {"nvidia": {"sm_arch": ["90_real", "100_real"]}}}}
    """
    fields = _table(document, "variants.json")
    priorities = _table(fields.get("default-priorities"), "default-priorities")
    by_label = _table(fields.get("variants"), "variants")
    variants = tuple(
        WheelVariant(_word(label, _LABEL), _properties(_table(of_one, label)))
        for label, of_one in by_label.items()
    )
    if sum(len(variant.properties) for variant in variants) > _MOST:
        raise ValueError(tr("it has more than {count} properties", count=_MOST))
    return VariantMetadata(
        variants,
        _words(priorities.get("namespace"), _WORD),
        _each(priorities.get("feature", {}), lambda words: _words(words, _WORD)),
        {
            (namespace, feature): values
            for namespace, of_one in _each(priorities.get("property", {}), _values_by_feature).items()
            for feature, values in of_one.items()
        },
    )


def _properties(table: Mapping[str, Any]) -> tuple[VariantProperty, ...]:
    return tuple(
        VariantProperty(namespace, feature, values)
        for namespace, of_one in _each(table, _values_by_feature).items()
        for feature, values in of_one.items()
    )


def _values_by_feature(table: Any) -> dict[str, tuple[str, ...]]:
    return _each(table, lambda words: _words(words, _VALUE))


def _each(table: Any, read: Callable[[Any], _T]) -> dict[str, _T]:
    return {_word(name, _WORD): read(value) for name, value in _table(table, "variants.json").items()}


def _table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(tr("`{name}` is not a table", name=name))
    return value


def _words(value: Any, pattern: re.Pattern[str]) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(tr("{value} is not a list of texts", value=repr(value)[:80]))
    return tuple(_word(item, pattern) for item in value)


def _word(value: Any, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(tr("{value} is not a name that a variant may have", value=repr(value)[:80]))
    return value
