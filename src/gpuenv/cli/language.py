"""The language of the texts: chosen by --lang, GPUENV_LANG or the locale, before anything is printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gpuenv.i18n.messages import ENGLISH, install_catalogue

LANGUAGES = (ENGLISH, "zh")
_SAMPLES = {"zh": "中文：。"}
_WINDOWS_LANGUAGES = {0x04: "zh", 0x09: ENGLISH}
_CATALOGUES = Path(__file__).parent.parent / "i18n"
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANGUAGE", "LANG")  # the first that is set counts


def choose_language(
    arguments: Sequence[str], environ: Mapping[str, str], ask_system: Callable[[], str] = str
) -> str:
    """Return the language given by the bare arguments or the variables, else that of the locale.

    Without a locale, as on Windows, `ask_system` gives the language of the system, or nothing. A word that
    names none here counts as English: the command line is parsed, and refused, later.
    """
    requested = split_words(arguments).language or environ.get("GPUENV_LANG", "").strip() or "auto"
    if requested != "auto":
        return requested if requested in LANGUAGES else ENGLISH
    message = next((environ[name] for name in _LOCALE if environ.get(name)), None) or ask_system()
    return next((language for language in LANGUAGES if message.lower().startswith(language)), ENGLISH)


def ask_windows() -> str:
    """Return the language in which Windows speaks with this user; nothing on other systems."""
    if sys.platform != "win32":
        return ""
    import ctypes  # noqa: PLC0415 - there only

    return parse_windows_language(ctypes.windll.kernel32.GetUserDefaultUILanguage())


def parse_windows_language(identifier: int) -> str:
    """Parse a Windows language identifier, 0x0804 for Chinese as in China: `zh`; nothing for most others.

    The low ten bits are the language, the others where it is spoken:
    https://learn.microsoft.com/windows/win32/intl/language-identifiers
    """
    return _WINDOWS_LANGUAGES.get(identifier & 0x3FF, "")


def printable_language(language: str, encodings: Sequence[str | None]) -> str:
    """Return the language, or English where the streams' encodings lack its characters."""
    try:
        for encoding in encodings:
            _SAMPLES.get(language, "").encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return ENGLISH
    return language


class CommandWords(NamedTuple):
    """The bare arguments that are gpuenv's own, less `--lang` and `--color` and their words."""

    own: tuple[str, ...]
    language: str | None = None
    color: str | None = None

    @property
    def positional(self) -> tuple[str, ...]:
        """The words that are not options."""
        return tuple(word for word in self.own if not word.startswith("-"))


def split_words(arguments: Sequence[str]) -> CommandWords:
    """Separate gpuenv's own arguments from those of a command to run, before they are parsed."""
    words, rest = CommandWords(()), iter(arguments)
    for word in rest:
        if word == "--" or (words.positional[:1] == ("run",) and len(words.positional) > 1):
            break
        name, equals, value = word.partition("=")
        if name == "--lang":
            words = words._replace(language=value if equals else next(rest, None))
        elif name == "--color":
            words = words._replace(color=value if equals else next(rest, None))
        else:
            words = words._replace(own=(*words.own, word))
    return words


def speak(language: str) -> None:
    """Let all texts be in a language from now on."""
    install_catalogue({} if language == ENGLISH else read_catalogue(language), language)


def read_catalogue(language: str) -> dict[str, str]:
    """Return the translations of a language by the English template: their files have them by id."""
    english, translations = (
        json.loads((_CATALOGUES / f"{item}.json").read_bytes()) for item in (ENGLISH, language)
    )
    return {text: translations[name] for name, text in english.items() if name in translations}
