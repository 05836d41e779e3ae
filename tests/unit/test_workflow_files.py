"""What users hand over in files: requirements, texts in any of the usual encodings."""

from __future__ import annotations

import codecs
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.values.errors import UsageError
from gpuenv.workflow.options import PlanOptions
from gpuenv.workflow.read import decode
from gpuenv.workflow.requirements import gather_requirements, parse_requirement_lines


def test_comments_blanks_and_continued_lines_are_read_as_pip_reads_them() -> None:
    text = "torch==2.1.2  # the paper's\n\n# all a comment\n\t# and this\nnumpy>=1.24 \\\n  ,<2\nx\t# tab\n"
    assert parse_requirement_lines(text, "r.txt") == ("torch==2.1.2", "numpy>=1.24    ,<2", "x")
    assert parse_requirement_lines("a @ https://example.com/a#egg=a\n", "r.txt") == (
        "a @ https://example.com/a#egg=a",
    )


@pytest.mark.parametrize(
    "line", ["-r more.txt", "--index-url https://example.com", "-e .", "--find-links /x"]
)
def test_options_in_a_requirements_file_are_refused(line: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_requirement_lines(f"torch\n{line}\n", "r.txt")
    assert caught.value.code == "option-in-requirements"
    assert line in caught.value.message


@given(st.text())
def test_any_text_gives_requirements_without_blanks_or_comments_or_a_usage_error(text: str) -> None:
    try:
        found = parse_requirement_lines(text, "r.txt")
    except UsageError:
        return
    assert all(line == line.strip() and line and not line.startswith(("#", "-")) for line in found)


@given(st.binary(max_size=200))
def test_any_bytes_of_a_requirements_file_are_requirements_or_a_usage_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file: Path = tmp_path_factory.mktemp("files") / "r.txt"
    file.write_bytes(content)
    with suppress(UsageError):
        gather_requirements(PlanOptions(requirement_files=(file,)))


@given(
    st.text().filter(lambda text: not text.startswith("\ufeff")),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_what_editors_and_powershell_write_is_read(text: str, encoding: str) -> None:
    content = text.encode(encoding, "ignore")
    expected = text.encode("utf-8", "ignore").decode("utf-8")
    assert decode(content) == expected


@given(st.binary())
def test_any_bytes_are_text_or_a_value_error(content: bytes) -> None:
    with suppress(ValueError):
        assert isinstance(decode(content), str)


def test_both_byte_orders_of_utf_16_are_read() -> None:
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        assert decode(mark + "torch".encode(encoding)) == "torch"
