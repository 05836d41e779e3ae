"""Chinese fixes of the signatures carry every detail of the English ones, in one word for one thing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from gpuenv import matrices

ROWS = matrices.load("signatures")
WORD = re.compile(r"[\w.+=<>~\-\[\]*$%#@]+", re.ASCII)
PLACEHOLDER = re.compile(r"(?<![A-Z_$])[A-Z]{3,}(?![A-Z_0-9(])")  # NAME, which the Chinese text may translate
# an option, a name with dots or underscores, a version or its bound, a variable, a setting
DETAIL = re.compile(r"--\w|^-[a-zA-Z]$|[a-z]\.[a-z]\w|_|\d\.\d|[<>=]=?\d|^\$|\w=\w")
NO_DETAIL = re.compile(r"\d-bit|^e\.g$|CPU|GPU|^\d$")
INDEX_BY_ANOTHER_WORD = re.compile(
    r"(?:cuXXX|pip|PyPI|PyTorch|xpu|rocm) ?源(?!码|代码)|同一个?源(?!码|代码|文件)"
)


def details(text: str) -> Iterator[str]:
    for word in WORD.findall(text):
        plain = word.strip(".,[]") if word.startswith("-") else word.strip(".,-[]")
        if not NO_DETAIL.search(plain):
            parts = (part.rstrip("=.") for part in PLACEHOLDER.split(plain))
            yield from (part for part in parts if part and DETAIL.search(part))


def test_what_counts_as_a_detail() -> None:
    text = (
        "pip install -U numpy<2 with --index-url ADDRESS, x.float(), TORCH_HOME=/d; 64-bit, a GPU, e.g. one"
    )
    assert list(details(text)) == ["-U", "numpy<2", "--index-url", "x.float", "TORCH_HOME"]


def test_every_detail_of_an_english_fix_stands_in_the_chinese_one() -> None:
    lacking = {}
    for row in ROWS:
        chinese = re.sub(r"\s", "", row["fix_zh"]).lower()
        lacking[row["id"]] = [item for item in details(row["fix_en"]) if item.lower() not in chinese]
    assert {name: items for name, items in lacking.items() if items} == {}


@pytest.mark.parametrize("field", ["cause_zh", "fix_zh"])
def test_a_package_index_has_one_chinese_word(field: str) -> None:
    assert [row["id"] for row in ROWS if INDEX_BY_ANOTHER_WORD.search(row[field])] == []
