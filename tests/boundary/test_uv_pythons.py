"""uv is asked for its Pythons when its answer may be another one, and only then."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuenv.installers.uv_pythons import managed_pythons

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere uv is asked each time")

ROW = {
    "version": "3.12.9",
    "version_parts": {"major": 3, "minor": 12, "patch": 9},
    "path": None,
    "variant": "default",
    "implementation": "cpython",
}


NEWER = {**ROW, "version": "3.13.1", "version_parts": {"major": 3, "minor": 13, "patch": 1}}


@pytest.fixture
def uv(tmp_path: Path) -> Path:
    program = tmp_path / "uv"
    (tmp_path / "answer").write_text(json.dumps([ROW]))
    program.write_text(f"#!/bin/sh\necho >> {tmp_path}/asked\n/bin/cat {tmp_path}/answer\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "GPUENV_CACHE_DIR": str(tmp_path / "cache")}


def minors(uv: Path, environ: dict[str, str], *, exact: bool = False) -> list[str]:
    managed_pythons.cache_clear()  # as the next start of gpuenv has it
    return [offer.version for offer in managed_pythons(str(uv), tuple(environ.items()), exact=exact)]


def times_asked(uv: Path) -> int:
    return len(uv.with_name("asked").read_text().splitlines())


def test_uv_is_asked_once_as_long_as_nothing_changes(uv: Path, environ: dict[str, str]) -> None:
    assert [minors(uv, environ) for _ in range(3)] == [["3.12"]] * 3
    assert times_asked(uv) == 1


def install(environ: dict[str, str], _uv: Path) -> None:
    Path(environ["HOME"], ".local/share/uv/python/cpython-3.12.9-linux-x86_64-gnu/bin").mkdir(parents=True)


def rename(environ: dict[str, str], _uv: Path) -> None:
    environ["UV_PYTHON_INSTALL_MIRROR"] = "https://mirror.example.com/pythons"


def upgrade(_environ: dict[str, str], uv: Path) -> None:
    uv.write_text(uv.read_text() + "# newer\n")


def damage(environ: dict[str, str], _uv: Path) -> None:
    (file,) = Path(environ["GPUENV_CACHE_DIR"]).glob("uv-pythons.json")
    file.write_text(file.read_text()[:-9])


@pytest.mark.parametrize("change", [install, rename, upgrade, damage])
def test_uv_is_asked_again_where_its_answer_may_be_another(
    uv: Path, environ: dict[str, str], change: Callable[[dict[str, str], Path], None]
) -> None:
    minors(uv, environ)
    change(environ, uv)
    uv.with_name("answer").write_text(
        json.dumps(
            [ROW, {**ROW, "version": "3.13.1", "version_parts": {"major": 3, "minor": 13, "patch": 1}}]
        )
    )
    assert [sorted(minors(uv, environ)) for _ in range(2)] == [["3.12", "3.13"]] * 2
    assert times_asked(uv) == 2


def test_a_removed_interpreter_counts_at_once(uv: Path, environ: dict[str, str]) -> None:
    install(environ, uv)
    program = Path(environ["HOME"], ".local/share/uv/python/cpython-3.12.9-linux-x86_64-gnu/bin/python3.12")
    program.touch()
    minors(uv, environ)
    program.unlink()
    minors(uv, environ)
    assert times_asked(uv) == 2


def test_a_settings_file_may_name_other_downloads(uv: Path, environ: dict[str, str]) -> None:
    settings = Path(environ["HOME"], ".config/uv/uv.toml")
    settings.parent.mkdir(parents=True)
    settings.write_text('python-install-mirror = "https://mirror.example.com"\n')
    minors(uv, environ)
    minors(uv, environ)
    assert times_asked(uv) == 2


def test_no_answer_and_every_patch_release_are_not_kept(uv: Path, environ: dict[str, str]) -> None:
    assert minors(uv, environ, exact=True) == minors(uv, environ, exact=True) == ["3.12.9"]
    uv.with_name("answer").write_text("error")
    assert minors(uv, environ) == minors(uv, environ) == []
    assert times_asked(uv) == 4
