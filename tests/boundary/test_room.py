"""A disk that is too small is said before anything is fetched, with what is to come and what it takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from plans import plan

from gpuenv.files import disk_space as room
from gpuenv.installers import uv
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
    assert uv.cached_wheels((*here, "tiny_dep-1.1-py3-none-any.whl"), environ) == frozenset(here)
    assert uv.cached_wheels(here, {**environ, "UV_NO_CACHE": "1"}) == frozenset()
    assert uv.cached_wheels(here, {"UV_CACHE_DIR": str(tmp_path / "none")}) == frozenset()
