"""What users hand over in files: requirements, texts in any of the usual encodings."""

from __future__ import annotations

import codecs
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.files.read_text import decode
from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.model.errors import UsageError
from gpuenv.model.machine import Machine, System
from gpuenv.planning.make_plan import Installer, plan_request
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.requirements import gather_requirements, numbered_lines, read_requirements


def test_comments_blanks_and_continued_lines_are_read_as_pip_reads_them() -> None:
    text = "torch==2.1.2  # the paper's\n\n# all a comment\n\t# and this\nnumpy>=1.24 \\\n  ,<2\nx\t# tab\n"
    assert numbered_lines(text) == ((1, "torch==2.1.2"), (5, "numpy>=1.24    ,<2"), (7, "x"))
    assert numbered_lines("a @ https://example.com/a#egg=a\n") == ((1, "a @ https://example.com/a#egg=a"),)


@pytest.mark.parametrize("line", ["-c more.txt", "-e .", "--pre", "--no-binary :all:", "-"])
def test_options_that_gpuenv_can_not_keep_to_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "r.txt").write_text(f"torch\n{line}\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_requirements(tmp_path / "r.txt")
    assert caught.value.code == "option-in-requirements"
    assert line in caught.value.message


@pytest.mark.parametrize(
    "line",
    ["--extra-index-url https://example.com/cu113", "-i https://example.com", "-f https://example.com/x.html",
     "--find-links=/x", "--trusted-host example.com"],
)  # fmt: skip
def test_where_files_come_from_is_passed_over_and_told(tmp_path: Path, line: str) -> None:
    (tmp_path / "r.txt").write_text(f"{line}\ntorch==1.12.1+cu113\n", encoding="utf-8")
    options = PlanOptions(requirement_files=(tmp_path / "r.txt",))
    assert list(map(str, gather_requirements(options).requirements)) == ["torch==1.12.1+cu113"]
    (warning,) = gather_requirements(options).warnings
    assert line in warning.message


def test_a_password_in_what_is_passed_over_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("-i https://me:s3cret@example.com/simple\ntorch\n", encoding="utf-8")
    (warning,) = gather_requirements(PlanOptions(requirement_files=(tmp_path / "r.txt",))).warnings
    assert "s3cret" not in warning.message


def test_hashes_are_passed_over_and_told(tmp_path: Path) -> None:
    text = "numpy==1.26.4 ; python_version < '3.13' \\\n    --hash=sha256:ab \\\n    --hash=sha256:cd\n"
    (tmp_path / "r.txt").write_text(text, encoding="utf-8")
    read = read_requirements(tmp_path / "r.txt")
    assert read.lines == ("numpy==1.26.4 ; python_version < '3.13'",)
    assert len(read.passed_over) == 1


def test_files_that_a_file_names_are_read_from_beside_it(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "r.txt").write_text("torch\n-r more/a.txt\n--requirement=more/b.txt\n", encoding="utf-8")
    (tmp_path / "more" / "a.txt").write_text("numpy\n-rb.txt\n", encoding="utf-8")
    (tmp_path / "more" / "b.txt").write_text("scipy\n", encoding="utf-8")
    assert read_requirements(tmp_path / "r.txt").lines == ("torch", "numpy", "scipy", "scipy")


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_pipe_asks_for_the_same_each_time_that_a_plan_is_made() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"-i https://example.com/simple\nnumpy==1.26.4\n")
    os.close(writer)
    installer = Installer("uv", "wheels", Mirrors((), frozenset(), Path()))
    try:
        options = PlanOptions(requirement_files=(Path(f"/dev/fd/{reader}"),))
        wishes = [plan_request(options, installer, Machine(System("linux", "x86_64"))) for _ in range(2)]
    finally:
        os.close(reader)
    for wanted in wishes:
        assert [requirement.name for requirement in wanted.request.requirements] == ["torch", "numpy"]
        assert [warning.code for warning in wanted.warnings] == ["requirements-file"]


def test_a_file_that_names_itself_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("-r r.txt\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_requirements(tmp_path / "r.txt")
    assert caught.value.code == "bad-requirements-file"


@given(st.text())
def test_any_text_gives_lines_without_blanks_or_comments(text: str) -> None:
    assert all(line == line.strip() and line and not line.startswith("#") for _, line in numbered_lines(text))


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
