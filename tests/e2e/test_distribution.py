"""The wheel and the sdist, built for real: what is in them, and that they are the same bytes every time."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

pytest.importorskip("hatchling", reason="wants the build back end: `pip install --group test`")

ROOT = Path(__file__).parents[2]


def build(source: Path, out: Path, target: str, **environ: str) -> Path:
    argv = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    subprocess.run(argv, cwd=source, env={**os.environ, **environ}, check=True, stdout=subprocess.DEVNULL)
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("sdist"), "sdist")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def unpacked(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("another place")
    with tarfile.open(sdist) as members:
        members.extractall(path, filter="data")
    (source,) = path.iterdir()
    yield source
    shutil.rmtree(path)


@pytest.mark.slow
def test_the_wheel_is_the_same_bytes_from_the_sdist_elsewhere_and_another_day(
    wheel: Path, unpacked: Path, tmp_path: Path
) -> None:
    for path in unpacked.rglob("*"):
        os.utime(path, (10**9, 10**9))
        if path.is_file():
            path.chmod(0o600 | (path.stat().st_mode & 0o100))
    again = build(unpacked, tmp_path / "dist", "wheel", TZ="Asia/Shanghai", PYTHONHASHSEED="7")
    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(wheel.read_bytes()).digest()


def test_the_wheel_has_gpuenv_and_nothing_else(wheel: Path) -> None:
    assert wheel.name.startswith("gpuenv-")
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    info = wheel.name.replace("-py3-none-any.whl", ".dist-info")
    data = info.replace(".dist-info", ".data")
    assert tops == {"gpuenv", info, data}
    assert not [name for name in names if "test" in name.split("/")[1] or "__pycache__" in name]
    manuals = [name.removeprefix(f"{data}/") for name in names if name.startswith(data)]
    assert sorted(manuals) == [f"data/share/man/{part}man1/gpuenv.1" for part in ("", "zh_CN/")]
    matrices = {f"gpuenv/matrices/data/{path.name}" for path in (ROOT / "matrices").iterdir()}
    assert {
        "gpuenv/py.typed",
        "gpuenv/i18n/en.json",
        "gpuenv/i18n/zh.json",
        f"{info}/licenses/LICENSE",
        *matrices,
    } <= set(names)


def test_every_file_of_the_wheel_is_in_its_record_and_may_be_read_by_all(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (record,) = [name for name in archive.namelist() if name.endswith(".dist-info/RECORD")]
        rows = list(csv.reader(archive.read(record).decode().splitlines()))
        assert sorted(row[0] for row in rows) == sorted(archive.namelist())
        for name, digest, size in rows:
            if name == record:
                continue
            content = archive.read(name)
            encoded = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={encoded}", str(len(content))), name
        for member in archive.infolist():
            mode = member.external_attr >> 16
            assert stat.S_IFMT(mode) in {0, stat.S_IFREG}, member.filename
            assert stat.S_IMODE(mode) in {0o644, 0o755}, member.filename


def test_the_wheel_names_no_folder_of_the_machine_that_built_it(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        named = [name for name in archive.namelist() if os.fsencode(ROOT) in archive.read(name)]
    assert named == []


def test_the_wheel_carries_its_sbom(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if "/sboms/" in name]
        content = json.loads(archive.read(name))
    assert name.endswith(".dist-info/sboms/gpuenv.cdx.json")
    assert content == json.loads((ROOT / "sbom" / "gpuenv.cdx.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_sdist_has_all_that_is_committed(unpacked: Path) -> None:
    """What is needed to run the tests included: they look at the tools, the docs and the workflows."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("no checkout to compare with")
    done = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    committed = {name for name in done.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    packed = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    assert sorted(committed - packed) == []
    assert sorted(packed - committed - {"PKG-INFO"} - _not_yet_committed(git)) == []


def _not_yet_committed(git: str) -> set[str]:
    argv = [git, "ls-files", "-z", "--others", "--exclude-standard"]
    done = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True)
    return set(done.stdout.decode().split("\0"))
