"""Where the values of a TOML text stand: its libraries give values, or keep a style, but tell no places.

[project]
dependencies = ["torch==1.7.1", 'numpy<2']

gives ("project", "dependencies", 0) → 27…42, and so on. https://toml.io/en/v1.0.0
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from gpuenv.i18n.messages import tr
from gpuenv.untrusted.documents import load_toml

Key = tuple["str | int", ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[^\s=,\]}#]+(?: [^\s=,\]}#]+)*")  # a number, a date with its time, true
_PART = re.compile(r"[ \t]*(?:(?P<bare>[A-Za-z0-9_-]+)|(?P<quoted>\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'))[ \t]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")|' + r"'''.*?'{3,5}(?!')|" + r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'", re.DOTALL
)
_DEEPEST = 60


class TomlSpan(Struct, frozen=True):
    """A string, or an inline table, from its first quote or brace to after its last."""

    start: int
    end: int


def toml_spans(text: str) -> dict[Key, TomlSpan]:
    """Return where strings and inline tables stand, by their keys; raise ValueError for no TOML."""
    try:
        return _Scanner(text).scan()
    except (AssertionError, IndexError):  # no TOML that we know
        raise ValueError(tr("the positions of its values cannot be determined")) from None


class _Scanner(Struct):
    text: str
    at: int = 0
    spans: dict[Key, TomlSpan] = field(default_factory=dict)
    _tables: dict[Key, int] = field(default_factory=dict)  # arrays of tables: how many there were

    def scan(self) -> dict[Key, TomlSpan]:
        table: Key = ()
        self.at = 1 if self.text.startswith("\ufeff") else 0
        self._skip()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table, 0)
            self._skip()
        return self.spans

    def _skip(self) -> None:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _header(self) -> Key:
        is_array = self.text.startswith("[[", self.at)
        self.at += 2 if is_array else 1
        names = self._key()
        self.at += 2 if is_array else 1
        if not is_array:
            return self._within(names)
        parent = self._within(names[:-1]) + names[-1:]
        self._tables[parent] = self._tables.get(parent, -1) + 1
        return (*parent, self._tables[parent])

    def _within(self, names: tuple[str, ...]) -> Key:
        """Return a header's key: `[a.b]` after `[[a]]` is in the last of a's tables."""
        key: Key = ()
        for name in names:
            key = (*key, name)
            if key in self._tables:
                key = (*key, self._tables[key])
        return key

    def _key(self) -> tuple[str, ...]:
        names = []
        while True:
            part = _PART.match(self.text, self.at)
            assert part is not None  # noqa: S101 - the text is valid
            names.append(part["bare"] or str(load_toml(f"key = {part['quoted']}")["key"]))
            self.at = part.end()
            if not self.text.startswith(".", self.at):
                return tuple(names)
            self.at += 1

    def _pair(self, table: Key, depth: int) -> None:
        key = table + self._key()
        self.at += 1  # the `=`
        self._skip()
        self._value(key, depth)

    def _value(self, key: Key, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError(tr("it is nested too deeply"))
        start, first = self.at, self.text[self.at]
        if first in "\"'":
            self._past(_STRING)
            self.spans[key] = TomlSpan(start, self.at)
        elif first == "[":
            self._array(key, depth)
        elif first == "{":
            self._inline(key, depth)
            self.spans[key] = TomlSpan(start, self.at)
        else:
            self._past(_BARE)

    def _past(self, value: re.Pattern[str]) -> None:
        match = value.match(self.text, self.at)
        assert match is not None  # noqa: S101 - the text is valid
        self.at = match.end()

    def _array(self, key: Key, depth: int) -> None:
        self.at += 1
        count = 0
        self._skip()
        while self.text[self.at] != "]":
            self._value((*key, count), depth + 1)
            count += 1
            self._comma()
        self.at += 1

    def _inline(self, key: Key, depth: int) -> None:
        self.at += 1
        self._skip()
        while self.text[self.at] != "}":
            self._pair(key, depth + 1)
            self._comma()
        self.at += 1

    def _comma(self) -> None:
        self._skip()
        if self.text[self.at] == ",":
            self.at += 1
            self._skip()


def value_at(document: Mapping[str, Any], key: Key) -> Any:
    """Return the value with a key, None where there is none."""
    value: Any = document
    for part in key:
        if isinstance(value, Mapping):
            value = value.get(str(part))
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value
