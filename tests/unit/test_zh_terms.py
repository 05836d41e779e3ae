"""docs/zh/terms.md: one word for one thing, in every Chinese message."""

from __future__ import annotations

import re

from pages import ROOT

from gpuenv.cli.language import read_catalogue

TERMS = (ROOT / "docs" / "zh" / "terms.md").read_text(encoding="utf-8")
_ROW = re.compile(
    r"^\| (?P<english>[^|]+) \| (?P<used>[^|]+) \| *(?P<unused>[^|]*?) *\| [^|]*\|$", re.MULTILINE
)


def test_no_message_has_a_word_that_the_glossary_replaces() -> None:
    unused = [match["unused"] for match in _ROW.finditer(TERMS) if match["unused"] not in ("", "不用")]
    assert len(unused) > 5
    messages = read_catalogue("zh").values()
    assert [(word, text) for word in unused for text in messages if word in text] == []
