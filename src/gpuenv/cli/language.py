"""The language of the texts: chosen by --lang, GPUENV_LANG or the locale, before anything is printed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuenv.values.text import ENGLISH, install_catalogue, said

LANGUAGES = (ENGLISH, "zh")
_CATALOGUES = Path(__file__).parent.parent / "texts"
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANGUAGE", "LANG")  # the first that is set counts


def choose_language(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the language asked for by the bare arguments or the variables, else that of the locale.

    A word that names none here counts as English: the command line is parsed, and refused, later.
    """
    asked = _option(arguments) or environ.get("GPUENV_LANG", "").strip() or "auto"
    if asked != "auto":
        return asked if asked in LANGUAGES else ENGLISH
    told = next((environ[name] for name in _LOCALE if environ.get(name)), "")
    return next((one for one in LANGUAGES if told.lower().startswith(one)), ENGLISH)


def _option(arguments: Sequence[str]) -> str | None:
    for place, word in enumerate(arguments):
        if word == "--":
            return None
        if word == "--lang":
            return next(iter(arguments[place + 1 :]), None)
        if word.startswith("--lang="):
            return word.partition("=")[2]
    return None


def speak(language: str) -> None:
    """Let all texts be in a language from now on."""
    install_catalogue({} if language == ENGLISH else read_catalogue(language), language)


def read_catalogue(language: str) -> dict[str, str]:
    """Return the translations of a language, keyed by the English template."""
    text = (_CATALOGUES / f"{language}.json").read_text(encoding="utf-8")
    return {str(template): str(translation) for template, translation in json.loads(text).items()}


def translate_help(command: Any) -> None:
    """Put a command's help, that of its options and of the commands below it into the language."""
    for field in ("help", "short_help", "epilog"):
        if getattr(command, field, None):
            setattr(command, field, said(getattr(command, field)))
    for parameter in getattr(command, "params", ()):
        if getattr(parameter, "help", None):
            parameter.help = said(parameter.help)
    for below in getattr(command, "commands", {}).values():
        translate_help(below)
