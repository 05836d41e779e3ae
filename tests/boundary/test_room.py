"""A disk that is too small is said before anything is fetched, with what is to come and what it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from plans import plan

from gpuenv.files import disk_space as room
from gpuenv.installers import uv
from gpuenv.installers.uv_cache import cache_directory, cached_wheels, known_cache
from gpuenv.model.errors import InstallFailed
from gpuenv.model.plan import Download
from gpuenv.operations.resolve_all import check_disk

BROUGHT = Download(33, 4_100_000_000, 9_000_000_000, fresh=7_000_000_000, exact=True)


@pytest.mark.parametrize(
    ("manager", "free", "needed"),
    [("uv", 6_900_000_000, "7.0"), ("pip", 13_000_000_000, "13.1"), ("uv", 7_100_000_000, None)],
)
def test_what_does_not_fit_is_refused_with_both_numbers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, manager: str, free: int, needed: str | None
) -> None:
    """What uv has in its cache is linked; pip keeps what it fetched beside what it unpacks."""
    monkeypatch.setattr(room, "free_bytes", lambda _: free)
    made = plan(manager=manager, download=BROUGHT)
    environ = {"UV_CACHE_DIR": str(tmp_path / "cache")}
    if needed is None:
        check_disk(made, environ, tmp_path / "envs" / "trial")
        return
    with pytest.raises(InstallFailed) as raised:
        check_disk(made, environ, tmp_path / "envs" / "trial")
    assert raised.value.code == "disk-full"
    assert f"4.1 GB must be downloaded, {needed} GB are needed on disk" in raised.value.message
    assert f"{free / 1e9:.1f} GB are free" in raised.value.message


def test_what_uvs_cache_holds_is_found_by_its_pointers(tmp_path: Path) -> None:
    """METADATA alone (`.msgpack`) is no wheel; another layout counts as nothing there."""
    pypi = tmp_path / "wheels-v6" / "pypi" / "tiny-dep"
    index = tmp_path / "wheels-v6" / "index" / "3c2f" / "torch"
    for folder in (pypi, index):
        folder.mkdir(parents=True)
    (pypi / "1.0-py3-none-any.http").write_bytes(b"x")
    (pypi / "1.1-py3-none-any.msgpack").write_bytes(b"x")
    (index / "2.14.1+cu126-cp312-cp312-linux_x86_64.http").write_bytes(b"x")
    here = "tiny_dep-1.0-py3-none-any.whl", "torch-2.14.1+cu126-cp312-cp312-linux_x86_64.whl"
    environ = {"UV_CACHE_DIR": str(tmp_path)}
    assert cached_wheels((*here, "tiny_dep-1.1-py3-none-any.whl"), environ) == frozenset(here)
    assert cached_wheels(here, {**environ, "UV_NO_CACHE": "1"}) == frozenset()
    assert cached_wheels(here, {"UV_CACHE_DIR": str(tmp_path / "none")}) == frozenset()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere uv is asked")
@pytest.mark.parametrize(
    ("names", "is_known"),
    [
        ({}, True), ({"XDG_CACHE_HOME": "{tmp}/xdg"}, True), ({"XDG_CACHE_HOME": ""}, True),
        ({"UV_CACHE_DIR": "{tmp}/named"}, True), ({"UV_CACHE_DIR": "~/named"}, False),
        ({"XDG_CACHE_HOME": "{tmp}/xdg", "UV_CONFIG_FILE": "{tmp}/config/uv.toml"}, False),
        ({"XDG_CONFIG_HOME": "{tmp}/config"}, False),
        ({"UV_CACHE_DIR": "{tmp}/named", "XDG_CONFIG_HOME": "{tmp}/config"}, True),
    ],
)  # fmt: skip
def test_uvs_cache_is_where_uv_says(tmp_path: Path, names: dict[str, str], is_known: bool) -> None:
    """What is known by uv's rules is what uv itself answers; it is asked where a file may say otherwise."""
    for file in (tmp_path / "config" / "uv.toml", tmp_path / "config" / "uv" / "uv.toml"):
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(f'cache-dir = "{tmp_path}/configured"\n', encoding="utf-8")
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.defpath}
    environ |= {name: value.format(tmp=tmp_path) for name, value in names.items()}
    known, elsewhere = known_cache(environ), tmp_path / "elsewhere"
    elsewhere.mkdir()
    asked = subprocess.run(
        (uv.find(), "cache", "dir"), env=environ, cwd=elsewhere, check=True, capture_output=True, text=True
    )
    assert (known is not None) == is_known
    assert known is None or str(known) == asked.stdout.strip()
    assert is_known or cache_directory(environ) is not None
