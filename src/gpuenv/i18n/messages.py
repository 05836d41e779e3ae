"""Texts a person reads: English here, other languages in a catalogue that the cli installs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

ENGLISH = "en"
_catalogue: dict[str, str] = {}
_language = [ENGLISH]


def install_catalogue(translations: Mapping[str, str], language: str = ENGLISH) -> None:
    """Use these translations, keyed by the English template, from now on."""
    _catalogue.clear()
    _catalogue.update(translations)
    _language[:] = [language]


def current_language() -> str:
    """Return the language of the texts: `en`, `zh`."""
    return _language[0]


def gettext(text: str) -> str:
    """Translate a whole text, such as one of a matrix row; nothing is filled in."""
    return _catalogue.get(text, text)


def N_(template: str) -> str:  # noqa: N802 - gettext's name for it
    """Mark a template for translation where it is written; `tr` translates it where it is used."""
    return template


def tr(template: str, /, **facts: object) -> str:
    """Fill `template` (or its translation) with the facts named in it."""
    return _catalogue.get(template, template).format(**facts)


def series(items: Iterable[str]) -> str:
    """Join words as the language does: `a, b` in English, `a、b` in Chinese."""
    return (", " if current_language() == ENGLISH else "、").join(items)


def clauses(items: Iterable[str]) -> str:
    """Join parts of a sentence as the language does: `a; b` in English, `a；b` in Chinese."""
    return ("; " if current_language() == ENGLISH else "；").join(items)


def ngettext(singular: str, plural: str, count: int) -> str:
    """Translate `1 file` or `{count} files`."""
    return tr(singular if count == 1 else plural, count=count)


def translate_output(text: str, templates: Sequence[str], *, depth: int = 2) -> str:
    """Translate what another program wrote, by the first template that it matches.

    The facts in it are translated in their turn, `depth` times; what matches none is returned as it is.
    """
    for template in templates if _catalogue else ():
        facts = _facts_in(text, template)
        if facts is not None:
            if depth:
                facts = {
                    name: translate_output(fact, templates, depth=depth - 1) for name, fact in facts.items()
                }
            return tr(template, **facts)
    return text


def _facts_in(text: str, template: str) -> dict[str, str] | None:
    """Read the facts back out of a filled template, `no such option: {option}`; None where it is another's.

    Each fact ends at the first occurrence of the words that follow it, so that this takes linear time.
    """
    first, *rest = _parts(template)
    facts: dict[str, str] = {}
    at = len(first)
    for position in range(0, len(rest), 2):
        name, words = rest[position], rest[position + 1]
        is_last = position + 2 == len(rest)
        end = len(text) - len(words) if is_last else text.find(words, at + 1)
        if end <= at or not text.startswith(words, end):
            return None
        facts[name], at = text[at:end], end + len(words)
    return facts if text.startswith(first) and at == len(text) else None


@cache
def _parts(template: str) -> tuple[str, ...]:
    """Split a template: words, the name of a fact, words, and so on."""
    return tuple(re.split(r"\{(\w+)\}", template))
