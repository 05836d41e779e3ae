"""The text that explain is given: encodings, the end of what is huge, what is a file and what is not."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.explanation import input_text as explain_text
from gpuenv.explanation.input_text import read_input_text
from gpuenv.model.errors import UsageError

CHINESE = "OSError: [WinError 126] 找不到指定的模块。"


class _Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_a_log_may_be_written_in_the_encodings_of_windows(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "a.log"
    file.write_bytes(CHINESE.encode(encoding))
    assert read_input_text((str(file),), None).text.lstrip("\ufeff") == CHINESE
    assert read_input_text(("-",), io.BytesIO(CHINESE.encode(encoding))).text.lstrip("\ufeff") == CHINESE


def test_a_letter_cut_in_half_spoils_no_other(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_bytes(CHINESE.encode()[1:] * 100 + CHINESE.encode()[:-1])
    assert "找不到指定的模块" in read_input_text((str(file),), None).text


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_of_a_huge_text_the_end_is_read_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setattr(explain_text, "TAIL", 1 << 20)
    monkeypatch.setattr(explain_text, "_BLOCK", 1 << 16)
    content = b"noise\n" * 400_000 + b"the end"
    file = tmp_path / "a.log"
    file.write_bytes(content)
    given = (
        read_input_text((str(file),), None)
        if source == "file"
        else read_input_text(("-",), io.BytesIO(content))
    )
    assert given.text.endswith("noise\nthe end")
    assert 1 << 20 <= len(given.text) <= (1 << 20) + (1 << 16)
    assert [warning.code for warning in given.warnings] == ["only-the-end"]


def test_words_are_a_text_whatever_is_in_them() -> None:
    assert read_input_text(("CUDA", "out", "of", "memory"), None).text == "CUDA out of memory"
    assert read_input_text(("libcuda.so.1: cannot open",), None).text == "libcuda.so.1: cannot open"
    assert read_input_text(("x" * 5000,), None).text == "x" * 5000
    assert read_input_text(("a\0b",), None).text == "a\0b"


@pytest.mark.parametrize("words", [(), ("-",)])
def test_a_terminal_is_not_waited_for(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as raised:
        read_input_text(words, _Terminal())
    assert raised.value.code == "no-text"


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.log"):
        with pytest.raises(UsageError) as raised:
            read_input_text((str(path),), None)
        assert raised.value.code == "text-unreadable"


@given(st.binary(max_size=300))
def test_any_bytes_are_a_text(content: bytes) -> None:
    assert isinstance(read_input_text(("-",), io.BytesIO(content)).text, str)
