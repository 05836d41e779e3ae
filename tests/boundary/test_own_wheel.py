"""The wheel of gpuenv itself, made again from what is installed: the same bytes, of unchanged files alone."""

from __future__ import annotations

import csv
import shutil
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from gpuenv import __version__
from gpuenv.bootstrap.build_wheel import named_wheel, own_wheel
from gpuenv.model.errors import UsageError
from gpuenv.process import subprocesses as process

INFO = f"gpuenv-{__version__}.dist-info"


def installed(folder: Path, wheel: bytes) -> None:
    """Install a wheel as installers do: its files, their own notes, and bytecode."""
    with zipfile.ZipFile(BytesIO(wheel)) as archive:
        archive.extractall(folder)
    for name in ("INSTALLER", "REQUESTED", "direct_url.json"):
        (folder / INFO / name).write_text("by an installer", encoding="utf-8")
    with (folder / INFO / "RECORD").open("a", encoding="utf-8") as record:
        record.write("../../../bin/gpuenv,sha256=abc,3\n")
        record.writelines(f"{INFO}/{name},,\n" for name in ("INSTALLER", "REQUESTED", "direct_url.json"))
        record.write("gpuenv/__pycache__/__init__.cpython-312.pyc,,\n")


def again(folder: Path) -> process.Completed:
    """Make the wheel with the gpuenv in a folder; print its hash and its size, or what is wrong."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from gpuenv.bootstrap.build_wheel import own_wheel\n"
        "from gpuenv.model.errors import UsageError\n"
        "try:\n    wheel = own_wheel()\n    print(wheel.sha256, len(wheel.content))\n"
        "except UsageError as error:\n    print(error.code, error.because[0].text if error.because else '')\n"
    )
    return process.run((sys.executable, "-c", code, str(folder)), timeout_s=60)


@pytest.mark.slow
def test_it_is_the_same_from_a_checkout_and_from_what_was_installed_of_it(tmp_path: Path) -> None:
    wheel = own_wheel()
    assert own_wheel() == wheel
    installed(tmp_path, wheel.content)
    done = again(tmp_path)
    assert done.stdout.split() == [wheel.sha256, str(len(wheel.content))], done.stderr


def test_its_record_names_all_its_files_with_their_hashes() -> None:
    with zipfile.ZipFile(BytesIO(own_wheel().content)) as archive:
        assert archive.testzip() is None
        rows = list(csv.reader(archive.read(f"{INFO}/RECORD").decode().splitlines()))
        assert [row[0] for row in rows] == archive.namelist()
        assert all(row[1].startswith("sha256=") for row in rows[:-1])
        assert {info.date_time for info in archive.infolist()} == {(2020, 2, 2, 0, 0, 0)}
    assert not any("__pycache__" in row[0] or row[0].endswith(".pyc") for row in rows)


def test_files_that_were_changed_or_are_gone_are_not_handed_on(tmp_path: Path) -> None:
    installed(tmp_path, own_wheel().content)
    module = tmp_path / "gpuenv" / "adapt" / "adapt.py"
    module.write_text(module.read_text(encoding="utf-8") + "# by hand\n", encoding="utf-8")
    told = again(tmp_path).stdout.strip()
    assert told == "gpuenv-changed modified since they were installed: `gpuenv/adapt/adapt.py`"
    module.unlink()
    assert again(tmp_path).stdout.startswith("gpuenv-changed")


def test_a_wheel_that_is_named_has_to_be_gpuenvs(tmp_path: Path) -> None:
    own = own_wheel()
    file = tmp_path / own.filename
    file.write_bytes(own.content)
    assert named_wheel(file) == own
    other = tmp_path / "idna-3-py3-none-any.whl"
    shutil.copy(file, other)
    (tmp_path / "gpuenv-2-py3-none-any.whl").write_text("a page of text", encoding="utf-8")
    for path in (other, tmp_path / "gpuenv-2-py3-none-any.whl", tmp_path / "gone.whl", tmp_path):
        with pytest.raises(UsageError) as caught:
            named_wheel(path)
        assert caught.value.code == "bad-wheel"
