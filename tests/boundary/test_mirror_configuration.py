"""The user's own mirrors, from gpuenv's configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuenv.values.errors import UsageError
from gpuenv.workflow.mirrors import load_mirrors

LAB = """
[[mirror]]
name = "lab"
[mirror.pypi]
simple = "https://mirror.lab.example/simple"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def read(file: Path) -> tuple[str, ...]:
    return tuple(one.name for one in load_mirrors({"GPUENV_CONFIG": str(file)}).all)


def test_own_mirrors_come_first_and_stand_in_for_shipped_ones_of_their_name(file: Path) -> None:
    file.write_text(LAB + LAB.replace("lab", "nju"), encoding="utf-8")
    mirrors = load_mirrors({"GPUENV_CONFIG": str(file)})
    names = [one.name for one in mirrors.all]
    assert names[:2] == ["lab", "nju"]
    assert names.count("nju") == 1
    assert mirrors.own == {"lab", "nju"}
    pypi = mirrors.find("nju").pypi
    assert pypi
    assert pypi.simple == "https://mirror.nju.example/simple"


@pytest.mark.parametrize(
    "text", ["", "# nothing yet\n", "\ufeff" + LAB, LAB.replace("\n", "\r\n"), "x = 1\n"]
)
def test_files_as_editors_leave_them_are_read(file: Path, text: str) -> None:
    file.write_bytes(text.encode())
    assert "tuna" in read(file)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[[mirror", "can't be read"),
        (b"\xff\xfe", "can't be read"),
        (b"mirror = 1\n", "no list of tables"),
        (b"mirror = [1]\n", "mirror 1 (?): a mirror is no table"),
        ((LAB + LAB).encode(), "`lab` stands there twice"),
        (LAB.replace("https://", "").encode(), "mirror 1 (lab): `pypi`: `simple`: "),
        (b"a = " + b"[" * 5000, "can't be read"),
    ],
)
def test_a_garbled_file_is_named_with_what_is_wrong(file: Path, content: bytes, told: str) -> None:
    file.write_bytes(content)
    with pytest.raises(UsageError) as raised:
        read(file)
    assert str(file) in raised.value.message
    assert told in raised.value.message


def test_a_file_that_is_named_has_to_be_there_and_the_usual_one_need_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read(tmp_path / "absent.toml")
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    assert "tuna" in {one.name for one in load_mirrors(environ).all}


def test_a_folder_in_its_place_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't be read"):
        read(tmp_path)
