"""The code of a checkout: what is read of it, and what is passed over."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gpuenv.adapt import read_code as left_code
from gpuenv.adapt.read_code import read_code


def write(root: Path, name: str, content: str | bytes = "x = 1\n") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def names(root: Path) -> list[str]:
    return [path for path, _ in read_code(root).texts]


def test_code_is_read_in_the_order_of_names_with_paths_as_shown(tmp_path: Path) -> None:
    for name in ("train.py", "lib/b.py", "lib/a.cu", "run.sh", "README.md", "data.csv"):
        write(tmp_path, name)
    assert names(tmp_path) == ["run.sh", "train.py", "lib/a.cu", "lib/b.py"]


@pytest.mark.parametrize(
    "folder",
    [".git", ".venv", "node_modules", "venv", "__pycache__", "lib/python3.9/site-packages", "x.egg-info"],
)
def test_what_is_not_the_papers_own_code_is_left_out(tmp_path: Path, folder: str) -> None:
    write(tmp_path, "train.py")
    write(tmp_path, f"{folder}/other.py")
    assert names(tmp_path) == ["train.py"]


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta/history"])
def test_an_environment_by_any_name_is_left_out(tmp_path: Path, mark: str) -> None:
    write(tmp_path, "train.py")
    write(tmp_path, f"mine/{mark}")
    write(tmp_path, "mine/torch/six.py")
    assert names(tmp_path) == ["train.py"]


def test_links_lead_nowhere(tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.py", "password = 1")
    write(tmp_path, "repo/train.py")
    (tmp_path / "repo/link.py").symlink_to(tmp_path / "outside/secret.py")
    (tmp_path / "repo/folder").symlink_to(tmp_path / "outside")
    (tmp_path / "repo/round").symlink_to(tmp_path / "repo")
    assert names(tmp_path / "repo") == ["train.py"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_file_does_not_stop_it(tmp_path: Path) -> None:
    write(tmp_path, "train.py")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    assert names(tmp_path) == ["train.py"]


def test_binary_empty_and_huge_files_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "train.py")
    write(tmp_path, "binary.py", b"x = 1\0\n")
    write(tmp_path, "empty.py", b"")
    write(tmp_path, "huge.py", b"x = 1\n" * 400_000)
    assert names(tmp_path) == ["train.py"]


def test_bytes_that_are_no_utf8_and_other_line_ends_are_read(tmp_path: Path) -> None:
    write(tmp_path, "a.py", b"\xef\xbb\xbfx = 1\r\ny = '\xe9'\rz = 2\n")
    ((_, text),) = read_code(tmp_path).texts
    assert text.splitlines()[0] == "x = 1"
    assert text.count("\n") == 3


def test_a_notebook_is_its_code_cells(tmp_path: Path) -> None:
    cells = [{"cell_type": "markdown", "source": []}, {"cell_type": "code", "source": ["import torch\n"]}]
    write(tmp_path, "n.ipynb", json.dumps({"cells": cells}))
    write(tmp_path, "broken.ipynb", "{")
    assert read_code(tmp_path).texts == (("n.ipynb[2]", "import torch\n"),)


def test_of_much_code_the_beginning_is_read_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        write(tmp_path, f"{number}.py")
    monkeypatch.setattr(left_code, "_MOST_FILES", 4)
    code = read_code(tmp_path)
    assert [path for path, _ in code.texts] == ["0.py", "1.py", "2.py", "3.py"]
    assert "4 files" in code.warnings[0]
    monkeypatch.setattr(left_code, "_MOST_FILES", 99)
    monkeypatch.setattr(left_code, "_ALL", 20)
    assert read_code(tmp_path).warnings
    monkeypatch.setattr(left_code, "_ALL", 2000)
    monkeypatch.setattr(left_code, "_MOST_FOLDERS", 1)
    write(tmp_path, "below/a.py")
    assert read_code(tmp_path).warnings


def test_a_folder_that_is_not_there_has_no_code(tmp_path: Path) -> None:
    assert read_code(tmp_path / "none").texts == ()
