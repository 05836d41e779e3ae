"""Code as text: its languages, its comments blanked out, the cells of a notebook."""

from __future__ import annotations

import io
import json
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.api_changes import CodeLanguage

SUFFIXES: dict[str, CodeLanguage] = {
    ".py": "python", ".pyx": "python", ".ipynb": "python", ".sh": "shell",
    ".cu": "c++", ".cuh": "c++", ".cpp": "c++", ".cc": "c++", ".c": "c++", ".h": "c++", ".hpp": "c++",
}  # fmt: skip
NOTEBOOK = ".ipynb"
_LONGEST = 1 << 19  # characters that are taken apart into tokens, which is slow
_CELL = re.compile(r"(.*)\[\d+\]", re.DOTALL)
_C_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_BETWEEN_STATEMENTS = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT)
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_UNREADABLE = re.compile(r"[\r\0\ud800-\udfff]")  # Python 3.12 and later fail of it, or count lines otherwise
_PROSE = re.compile(r"\s\S+\s")  # words: what a program says, not what it does


def language_of(path: str) -> CodeLanguage | None:
    """Tell the language of a file by the end of its name; `notes.ipynb[3]` is a cell of a notebook."""
    cell = _CELL.fullmatch(path)
    name = (cell[1] if cell else path).lower()
    return next((language for suffix, language in SUFFIXES.items() if name.endswith(suffix)), None)


def parse_notebook(text: str) -> tuple[tuple[int, str], ...]:
    r"""Read the code cells of a notebook, with the number of each among all cells; raise ValueError.

    {"cells": [{"cell_type": "code", "source": ["import torch\n", "x = 1"]}, {"cell_type": "markdown", …}]}
    """
    try:
        cells = json.loads(text)["cells"]
        return tuple(
            (number, _source(cell["source"]))
            for number, cell in enumerate(cells, start=1)
            if cell["cell_type"] == "code"
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(tr("is not a valid notebook: {error}", error=error)) from None


def _source(source: Any) -> str:
    return source if isinstance(source, str) else "".join(source)


def without_comments(text: str, language: CodeLanguage) -> str:
    """Blank out comments, docstrings and messages; what is left keeps its line and column.

    A text that can't be taken apart stays as it is.
    """
    if language == "c++":
        return _C_COMMENT.sub(lambda match: _c_part(match[0]), text)
    if language == "python" and len(text) <= _LONGEST and not _UNREADABLE.search(text):
        try:
            with warnings.catch_warnings():  # Python 3.12 and later warn of `"\\d"` in what they take apart
                warnings.simplefilter("ignore")
                return _blanked(text, tuple(_passages(text)))
        except (tokenize.TokenError, SyntaxError, ValueError):
            return text  # Python 2, a cell with `!pip`, half a file: most of it is code all the same
    return text


def _c_part(part: str) -> str:
    return part if part.startswith('"') and not _PROSE.search(part) else re.sub(r"[^\n]", " ", part)


def _passages(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield where comments, docstrings and messages start and end."""
    begins, depth = True, 0  # whether a statement begins, and in how many brackets
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start, token.end
            continue
        if token.type == tokenize.STRING and (begins or _PROSE.search(token.string)):
            yield token.start, token.end
        depth += (token.string in _OPENING) - (token.string in _CLOSING)
        begins = token.type in _BETWEEN_STATEMENTS and depth <= 0


def _blanked(text: str, passages: Iterable[tuple[tuple[int, int], tuple[int, int]]]) -> str:
    lines = text.split("\n")
    for (first, start), (last, end) in passages:
        for number in range(first, min(last, len(lines)) + 1):
            line = lines[number - 1]
            since = start if number == first else 0
            until = min(end, len(line)) if number == last else len(line)  # 3.12.1 may count too far
            lines[number - 1] = line[:since] + " " * (until - since) + line[until:]
    return "\n".join(lines)
