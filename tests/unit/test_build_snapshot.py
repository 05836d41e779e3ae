"""The generator's snapshot of what indexes list."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matrix_workshop import WHEEL, Workshop, wheels_table


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_the_snapshot_is_left_alone_without_pages(workshop: Workshop) -> None:
    workshop.write_pages()
    workshop.build("--pypi-pages", str(workshop.pages))
    before = workshop.files()["wheels.json"]
    workshop.write("wheels_pytorch_index.csv", [WHEEL | {"sha256": "c" * 64}])
    assert workshop.build() == 0
    assert workshop.files()["wheels.json"] == before


def test_the_snapshot_holds_the_files_of_both_indexes(workshop: Workshop) -> None:
    workshop.write_pages()
    assert workshop.build("--pypi-pages", str(workshop.pages)) == 0
    pypi, pytorch = (row for row in workshop.rows("wheels") if row["project"] == "torch")
    assert pypi == {
        "project": "torch",
        "filename": "torch-2.7.0-cp310-cp310-win_amd64.whl",
        "index": "pypi",
        "sha256": "b" * 64,
        "requires_python": ">=3.9",
        "yanked": True,
    }
    assert (pytorch["subdir"], pytorch["sha256"]) == ("cu126", "a" * 64)


def test_a_file_with_several_hashes_has_none(workshop: Workshop) -> None:
    workshop.write_pages()
    workshop.write("wheels_pytorch_index.csv", [WHEEL | {"sha256": f"{'a' * 64} {'b' * 64}"}])
    workshop.build("--pypi-pages", str(workshop.pages))
    (row,) = (
        row for row in workshop.rows("wheels") if (row["index"], row["project"]) == ("pytorch", "torch")
    )
    assert "sha256" not in row


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"filename": "torch-2.7.0+rocm6.3-cp310-cp310-manylinux_2_28_x86_64.whl", "index_subdir": "rocm6.3"},
        {"filename": "torch-2.7.0-cp310-none-macosx_11_0_arm64.whl", "index_subdir": "cpu"},
        {"filename": "torch-0.4.1-cp37-cp37m-linux_x86_64.whl", "index_subdir": "cpu"},
        {"filename": "torch-2.7.0+cu126-cp27-cp27m-linux_x86_64.whl"},
        {"index_subdir": "test/cu126"},
        {"project": "triton", "filename": "triton-3.3.0-cp310-cp310-linux_x86_64.whl", "index_subdir": ""},
    ],
)
def test_files_that_gpuenv_never_plans_are_not_in_the_snapshot(
    workshop: Workshop, change: dict[str, str]
) -> None:
    workshop.write_pages()
    workshop.write("wheels_pytorch_index.csv", [WHEEL | change])
    assert workshop.build("--pypi-pages", str(workshop.pages)) == 0
    listed = {row["project"] for row in workshop.rows("wheels") if row["index"] == "pytorch"}
    assert not listed & {"torch", "triton"}  # others come from a table of their own


def test_a_file_listed_twice_is_refused(workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> None:
    workshop.write_pages()
    workshop.write("wheels_pytorch_index.csv", [WHEEL, WHEEL | {"sha256": "c" * 64}])
    assert workshop.build("--pypi-pages", str(workshop.pages)) == 2
    assert "listed twice" in capsys.readouterr().err


def test_a_page_without_links_is_refused(workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> None:
    workshop.write_pages()
    (workshop.pages / "torchtext.html").write_text("<html>too many requests</html>")
    assert workshop.build("--pypi-pages", str(workshop.pages)) == 2
    assert "torchtext.html" in capsys.readouterr().err


@given(st.text(alphabet='<a href="#sha256=>&;+%2B/\n\x00é', max_size=80))
def test_any_page_is_read_or_refused(text: str) -> None:
    try:
        links = wheels_table.parse_page(text)
    except ValueError:
        return
    assert all(link["sha256"] is None or len(link["sha256"]) == 64 for link in links)
