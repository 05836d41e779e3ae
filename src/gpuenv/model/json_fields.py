"""The fields of a JSON document from outside, read with their types; what is wrong is named by its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from gpuenv.i18n.messages import tr

_SHOWN = 60
_LONGEST_S = 1e6
_T = TypeVar("_T")


class Fields:
    """The keys of one JSON object, read with their types; `location` is where it stands, for messages."""

    def __init__(self, data: object, location: str = "") -> None:
        if not isinstance(data, dict):
            raise ValueError(wrong(location or tr("the document"), tr("an object"), data))
        self.data: Mapping[str, object] = data
        self.location = location

    def name(self, key: str) -> str:
        """Return where a key stands, for messages."""
        return f"{self.location}.{key}" if self.location else key

    def child(self, key: str) -> Fields | None:
        """Return the object under a key, None where there is none."""
        value = self.data.get(key)
        return None if value is None else Fields(value, self.name(key))

    def required_child(self, key: str) -> Fields:
        """Return the object under a key."""
        return Fields(self.data.get(key), self.name(key))

    def children(self, key: str) -> tuple[Fields, ...]:
        """Return the objects of the list under a key; no list is an empty one."""
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise ValueError(wrong(self.name(key), tr("a list"), value))
        return tuple(Fields(item, f"{self.name(key)}[{position}]") for position, item in enumerate(value))

    def text(self, key: str) -> str:
        """Return the text under a key."""
        return self._required(key, self.optional_text(key), tr("text"))

    def optional_text(self, key: str) -> str | None:
        """Return the text under a key, None where there is none."""
        return self._typed(key, str, tr("text"))

    def texts(self, key: str) -> dict[str, str | None]:
        """Return the texts of the object under a key by their names; null is None."""
        child = self.child(key)
        return {name: child.optional_text(name) for name in child.data} if child else {}

    def flag(self, key: str, *, default: bool) -> bool:
        """Return what is true or false under a key."""
        value = self.optional_flag(key)
        return default if value is None else value

    def optional_flag(self, key: str) -> bool | None:
        """Return what is true or false under a key, None where nothing is."""
        return self._typed(key, bool, tr("true or false"))

    def count(self, key: str) -> int:
        """Return the whole number under a key."""
        return self._required(key, self.optional_count(key), tr("a whole number"))

    def optional_count(self, key: str) -> int | None:
        """Return the whole number under a key, None where there is none."""
        value = self.optional_number(key)
        if value is not None and value < 0:
            raise ValueError(wrong(self.name(key), tr("a whole number"), value))
        return value

    def optional_number(self, key: str) -> int | None:
        """Return the whole number under a key, which may be negative, None where there is none."""
        value = self._typed(key, int, tr("a whole number"))
        if isinstance(value, bool):
            raise ValueError(wrong(self.name(key), tr("a whole number"), value))
        return value

    def seconds(self, key: str) -> float:
        """Return the number of seconds under a key: more than none, not endless."""
        value = self.data.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LONGEST_S:
            raise ValueError(wrong(self.name(key), tr("a number of seconds"), value))
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """Return the texts of the list under a key."""
        value = self.data.get(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ValueError(wrong(self.name(key), tr("a list of texts"), value))
        return tuple(value)

    def optional_parsed(self, key: str, parse: Callable[[str], _T], like: str) -> _T | None:
        """Return what `parse` makes of the text under a key; `like` is a sample of it."""
        expected = _like(like)
        text = self._typed(key, str, expected)
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError:
            raise ValueError(wrong(self.name(key), expected, text)) from None

    def parsed(self, key: str, parse: Callable[[str], _T], like: str) -> _T:
        """Return what `parse` makes of the text that must stand under a key."""
        return self._required(key, self.optional_parsed(key, parse, like), _like(like))

    def _typed(self, key: str, kind: type[_T], expected: str) -> _T | None:
        value = self.data.get(key)
        if value is not None and not isinstance(value, kind):
            raise ValueError(wrong(self.name(key), expected, value))
        return value

    def _required(self, key: str, value: _T | None, expected: str) -> _T:
        if value is None:
            raise ValueError(wrong(self.name(key), expected, None))
        return value


def wrong(location: str, expected: str, got: object) -> str:
    """Say what stands at a place of a document instead of what is expected there."""
    return tr(
        "{place}: expected {expected}, got {found}", place=location, expected=expected, found=_shown(got)
    )


def _like(example: str) -> str:
    return tr('text such as "{example}"', example=example)


def _shown(value: object) -> str:
    """Write a value as it stands in the file, cut where it is long."""
    match value:
        case None:
            return tr("nothing")
        case dict():
            return tr("an object")
        case list():
            return tr("a list")
        case bool():
            return str(value).lower()
        case int() if abs(value) >= 10**_SHOWN:
            return tr("a very large number")
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
