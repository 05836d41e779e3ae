"""What is installed beside the torch stack is what the plan resolved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plans import package, plan

from gpuenv.environments.check_installed import check_installed
from gpuenv.model.errors import InstallFailed
from gpuenv.model.plan import HeldFiles, Plan


def environment(root: Path, **versions: str) -> Path:
    for name, version in {"torch": "2.14.1+cu126", **versions}.items():
        info = root / "lib" / "python3.12" / "site-packages" / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return root


def whole(**facts: object) -> Plan:
    packages = (package("torch", "2.14.1+cu126"), package("labtool", "1.0", None))
    return plan(packages=packages, pins=("torch==2.14.1+cu126",), requirements=("labtool",), **facts)


@pytest.mark.parametrize("versions", [{"labtool": "99.0"}, {}])
def test_another_version_than_was_resolved_is_not_as_planned(
    tmp_path: Path, versions: dict[str, str]
) -> None:
    with pytest.raises(InstallFailed, match="labtool"):
        check_installed(whole(), environment(tmp_path, **versions), tmp_path)


def test_what_was_resolved_is_as_planned(tmp_path: Path) -> None:
    check_installed(whole(), environment(tmp_path, labtool="1.0"), tmp_path)


def test_what_came_from_an_address_instead_of_an_index_is_not_as_planned(tmp_path: Path) -> None:
    path = environment(tmp_path, labtool="1.0")
    (info,) = path.glob("lib/*/site-packages/labtool-*")
    (info / "direct_url.json").write_text(json.dumps({"url": "https://stranger.example/labtool-1.0.whl"}))
    with pytest.raises(InstallFailed, match="direct URL"):
        check_installed(whole(), path, tmp_path)


def test_pip_is_held_to_what_it_was_given_by_hash(tmp_path: Path) -> None:
    path = environment(tmp_path, labtool="1.1")
    check_installed(whole(manager="pip"), path, tmp_path)  # it resolves by its own rules
    held = HeldFiles("/cache/lock.txt", complete=True)
    with pytest.raises(InstallFailed, match="labtool"):
        check_installed(whole(manager="pip", held=held), path, tmp_path)


def test_uv_is_held_to_what_was_resolved_when_the_sizes_were_shown(tmp_path: Path) -> None:
    """The plan itself names the torch stack alone."""
    held = HeldFiles("/cache/lock.txt", complete=True, packages=(package("labtool", "1.0", None),))
    stack = (package("torch", "2.14.1+cu126"),)
    made = plan(packages=stack, pins=("torch==2.14.1+cu126",), requirements=(), held=held)
    check_installed(made, environment(tmp_path / "as-planned", labtool="1.0"), tmp_path)
    with pytest.raises(InstallFailed, match=r"labtool is 1\.1, not 1\.0"):
        check_installed(made, environment(tmp_path / "newer", labtool="1.1"), tmp_path)
