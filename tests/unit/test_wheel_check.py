"""What is installed is compared with its wheel, file by file, the large files too."""

from __future__ import annotations

import os
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from gpuenv.environments.wheel_check import check_files
from gpuenv.model.errors import InstallFailed
from gpuenv.model.plan import CheckedFile

LOG = Path("/data/logs/paper.log")
LARGE = 5 << 20
CONTENT = {"torch/__init__.py": b"1", "torch/lib/a.so": b"a" * LARGE, "torch/lib/b.so": b"b" * LARGE}
PLACE = Path("lib", "python3.12", "site-packages")


def recorded(path: str, body: bytes) -> str:
    digest = urlsafe_b64encode(sha256(body).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(body)}\n"


@pytest.fixture
def wheel(tmp_path: Path) -> CheckedFile:
    """Return a wheel, whose RECORD is all that counts, and install its files."""
    path = tmp_path / "torch-3.0-py3-none-any.whl"
    rows = [recorded(name, body) for name, body in CONTENT.items()]
    rows += [recorded("torch-3.0.data/scripts/torchrun", b"#!python"), "torch-3.0.dist-info/RECORD,,\n"]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("torch-3.0.dist-info/RECORD", "".join(rows))
    for name, body in CONTENT.items():
        file = tmp_path / PLACE / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    return CheckedFile("torch", "3.0", str(path), "")


def problem(wheel: CheckedFile, environment: Path) -> str:
    with pytest.raises(InstallFailed) as caught:
        check_files((wheel,), environment, LOG)
    assert caught.value.code == "not-as-planned"
    return str(caught.value.because[0].text)


def test_files_as_in_the_wheel_pass(wheel: CheckedFile, tmp_path: Path) -> None:
    check_files((wheel,), tmp_path, LOG)


@pytest.mark.parametrize("name", CONTENT)
def test_another_file_is_found(wheel: CheckedFile, tmp_path: Path, name: str) -> None:
    with (tmp_path / PLACE / name).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"x")
    assert problem(wheel, tmp_path) == f"torch-3.0-py3-none-any.whl: {name} differs from the wheel's"


@pytest.mark.parametrize("name", CONTENT)
def test_a_file_that_is_missing_is_found(wheel: CheckedFile, tmp_path: Path, name: str) -> None:
    (tmp_path / PLACE / name).unlink()
    assert problem(wheel, tmp_path) == f"torch-3.0-py3-none-any.whl: {name} is missing"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes among files")
def test_a_pipe_in_place_of_a_file_is_not_waited_for(wheel: CheckedFile, tmp_path: Path) -> None:
    file = tmp_path / PLACE / "torch" / "__init__.py"
    file.unlink()
    os.mkfifo(file)
    assert problem(wheel, tmp_path).endswith("torch/__init__.py is missing")
