"""docs/zh/terms.md: one word for one thing, in every Chinese message."""

from __future__ import annotations

import json
import re

from pages import ROOT

from gpuenv.adapt.channels.conflict_words import why_not
from gpuenv.adapt.nearest.resolver_changes import why_moved
from gpuenv.cli.language import read_catalogue, speak
from gpuenv.i18n.messages import install_catalogue

TERMS = (ROOT / "docs" / "zh" / "terms.md").read_text(encoding="utf-8")
_ROW = re.compile(
    r"^\| (?P<english>[^|]+) \| (?P<used>[^|]+) \| *(?P<unused>[^|]*?) *\| [^|]*\|$", re.MULTILINE
)


def test_no_message_has_a_word_that_the_glossary_replaces() -> None:
    unused = [match["unused"] for match in _ROW.finditer(TERMS) if match["unused"] not in ("", "不用")]
    assert len(unused) > 5
    messages = read_catalogue("zh").values()
    assert [(word, text) for word in unused for text in messages if word in text] == []


def test_what_explain_says_has_the_words_of_the_glossary() -> None:
    rows = json.loads((ROOT / "matrices" / "signatures.json").read_bytes())["rows"]
    texts = [
        told[field]
        for row in rows
        for told in (row, *row.get("cases", ()))
        for field in ("cause_zh", "fix_zh")
        if field in told
    ]
    # not all of the table: here 通道 are also those of an image
    replaced = ("计算能力", "轮子", "驱动程序", "CPU 构建", "不相配", "取消 LD_LIBRARY_PATH")
    assert [(word, text) for word in replaced for text in texts if word in text] == []
    assert len(texts) > 1000


def test_kernels_of_cuda_have_their_chinese_word() -> None:
    bare = re.compile(r"[\u4e00-\u9fff] ?kernels?\b|\bkernels? ?[\u4e00-\u9fff]")
    messages = (re.sub("`[^`]*`", "", text) for text in read_catalogue("zh").values())
    assert list(filter(bare.search, messages)) == []


def test_reasons_are_joined_by_the_chinese_semicolon() -> None:
    speak("zh")
    try:
        assert why_moved("pandas", "1.0", "", ["甲", "乙"], "3.12") == "甲；乙"
        assert why_not("x", "x is a\nx is b") == "x is a；x is b"
    finally:
        install_catalogue({})
