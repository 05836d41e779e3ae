"""Texts a person reads: English here, other languages in a catalogue that the cli installs."""

from __future__ import annotations

from collections.abc import Mapping

ENGLISH = "en"
_catalogue: dict[str, str] = {}
_spoken = [ENGLISH]


def install_catalogue(translations: Mapping[str, str], language: str = ENGLISH) -> None:
    """Use these translations, keyed by the English template, from now on."""
    _catalogue.clear()
    _catalogue.update(translations)
    _spoken[:] = [language]


def spoken() -> str:
    """Return the language of the texts: `en`, `zh`."""
    return _spoken[0]


def said(text: str) -> str:
    """Return a whole text, such as one of a matrix' rows, or its translation; nothing is filled in."""
    return _catalogue.get(text, text)


def marked(template: str) -> str:
    """Return the template as it is; where it stands it is known that `tr` will be given it."""
    return template


def tr(template: str, /, **facts: object) -> str:
    """Fill `template` (or its translation) with the facts named in it."""
    return _catalogue.get(template, template).format(**facts)
