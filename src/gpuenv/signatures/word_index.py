"""Which signatures a text may have, told by its words alone: an index that is made beside the table.

So a short text has few rows of the table parsed, or none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from gpuenv.signatures.vocabulary import OR, Vocabulary

WORDS = "signature-words"
_GROUPS = ("parts", "whole", "numbers")
_DIGITS = re.compile("[0-9]")
_SEPARATOR = "\t"


class WordIndex(Struct, frozen=True):
    r"""Of every way to match, by the most telling of its words: whose it is, and what else it needs.

    `parts` are words that may be parts of others, `whole` those that stand alone, each with a zero for every
    digit; `numbers` have nothing but digits. A line of a value is a way: `hip-sdk-missing\tamd\t hip `.
    """

    parts: dict[str, str]
    whole: dict[str, str]
    numbers: dict[str, str]

    def possible(self, vocabulary: Vocabulary, among: Container[str] | None = None) -> frozenset[str]:
        """Return the ids of the signatures, of some, for which there are the words."""
        ids: set[str] = set()
        for ways in self._with_words(vocabulary):
            for way in ways.split("\n"):
                name, *needs = way.split(_SEPARATOR)
                if name not in ids and (among is None or name in among) and vocabulary.has_all(needs):
                    ids.add(name)
        return frozenset(ids)

    def _with_words(self, vocabulary: Vocabulary) -> Iterator[str]:
        yield from map(self.parts.__getitem__, vocabulary.parts_among(self.parts))
        yield from map(self.whole.__getitem__, vocabulary.whole_among(self.whole))
        yield from self.numbers.values()


def parse_word_index(content: bytes) -> WordIndex:
    r"""Parse matrices/signature-words.json; raise ValueError.

    {"parts": {"ijit_notifyevent": "mkl-ijit-notifyevent\tsymbol\tundefined"}, "whole": {}, "numbers": {}}
    """
    return msgspec.json.decode(content, type=WordIndex)


def word_index(rows: Iterable[Mapping[str, Any]]) -> WordIndex:
    """Return the index of the rows of signatures.json."""
    groups: dict[str, dict[str, set[str]]] = {name: {} for name in _GROUPS}
    for row in rows:
        for pattern in row["patterns"]:
            for way in pattern["needs"]:
                first = next(need for need in way if OR not in need)
                zeros = _DIGITS.sub("0", first)
                group = "whole" if first[0] == " " else "parts"
                group = group if zeros.strip(" 0") else "numbers"
                needs = (need for need in way if need != first or zeros != first)
                groups[group].setdefault(zeros.strip(), set()).add(_SEPARATOR.join((row["id"], *needs)))
    return WordIndex(
        *({word: "\n".join(sorted(group[word])) for word in sorted(group)} for group in groups.values())
    )


def render_word_index(index: WordIndex) -> str:
    """Return the index as JSON with a word a line."""
    groups = [f'"{name}": {_group(getattr(index, name))}' for name in _GROUPS]
    return "{\n" + ",\n".join(groups) + "\n}\n"


def _group(words: Mapping[str, str]) -> str:
    lines = (json.dumps({word: ways}, ensure_ascii=False)[1:-1] for word, ways in words.items())
    return "{\n" + ",\n".join(lines) + "\n}"
