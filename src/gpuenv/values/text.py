"""Texts a person reads: English here, other languages in a catalogue that the cli installs."""

from __future__ import annotations

from collections.abc import Mapping

_catalogue: dict[str, str] = {}


def install_catalogue(translations: Mapping[str, str]) -> None:
    """Use these translations, keyed by the English template, from now on."""
    _catalogue.clear()
    _catalogue.update(translations)


def tr(template: str, /, **facts: object) -> str:
    """Fill `template` (or its translation) with the facts named in it."""
    return _catalogue.get(template, template).format(**facts)
