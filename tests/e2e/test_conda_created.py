"""`create` of conda environments, from a channel of real small packages on a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conda_mirror import serve_mirror, with_mirror
from conda_world import make_world
from index_server import IndexServer
from running import Done, Program
from serving import Site
from tiny_wheels import tiny_torch, tiny_wheel

pytest.importorskip("rattler")

pytestmark = pytest.mark.slow

CPU = ("--cuda", "cpu", "--python", "3.11")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """conda-forge's torch 2.8 as small packages, below a mirror's root."""
    world = make_world(
        keep=lambda row: row["torch"] == "2.8.0" and row["channel"] == "conda-forge",
        scratch=tmp_path_factory.mktemp("world"),
    )
    with serve_mirror(world) as item:
        yield item


@pytest.fixture
def user(program: Program, site: Site) -> Program:
    """Run gpuenv with the server as the mirror `lab`."""
    return with_mirror(program, site)


def create(user: Program, *more: str, name: str = "trial") -> Done:
    requested = ("--manager", "rattler", "--channel", "conda-forge", "--mirror", "lab", "--yes", "--json")
    return user.run("create", name, "torch", *more, *requested)


def test_a_conda_environment_lives_from_create_to_remove(user: Program) -> None:
    made = create(user, *CPU)
    assert made.status == 0, made.out + made.err
    path = user.environments / "trial"
    torch = made.data["packages"][0]
    assert (torch["version"], torch["channel"], torch["subdir"]) == ("2.8.0", "conda-forge", "linux-64")
    assert torch["build"].startswith("cpu")
    assert "filename" not in torch
    assert made.data["verify"]["devices"][0]["ok"]
    assert (path / "conda-meta" / "history").is_file()
    assert user.run("list", "--json").data["environments"][0]["manager"] == "rattler"
    assert user.run("run", "trial", "--", "python", "-c", "import torch").status == 0
    assert user.run("verify", "trial", "--json").status == 0
    assert user.run("remove", "trial", "--yes").status == 0
    assert not path.exists()


def test_an_existing_environment_is_kept_unless_forced_and_comes_back(user: Program) -> None:
    assert create(user, *CPU).status == 0
    path = user.environments / "trial"
    (path / "mine").write_text("kept")
    taken = create(user, *CPU)
    assert (taken.status, taken.error["code"]) == (2, "environment-exists")
    broken = user.with_(FAKE_TORCH=json.dumps({"faults": [["matmul", "cpu", "wrong"]]}))
    failed = create(broken, *CPU, "--force")
    assert failed.status == 6, failed.out + failed.err
    assert (path / "mine").read_text() == "kept"
    assert create(user, *CPU, "--force").status == 0
    assert not (path / "mine").exists()


def test_what_a_channel_lacks_leaves_nothing(user: Program, site: Site) -> None:
    gone = [
        route for route in site.routes if route.startswith("/anaconda/cloud/conda-forge/linux-64/pytorch-")
    ]
    kept = {route: site.routes.pop(route) for route in gone}
    try:
        failed = create(user, *CPU)
    finally:
        site.routes.update(kept)
    assert failed.status in {4, 5}, failed.out + failed.err
    assert failed.error["because"]
    assert not (user.environments / "trial").exists()


def test_wheels_go_into_a_conda_environment_beside_conda_s_python(
    user: Program, server: IndexServer, tmp_path: Path
) -> None:
    server.publish(tiny_torch(tmp_path, "2.15.0"), "pypi")
    wheel = tiny_wheel(tmp_path / "wheels", "mylib", "2.0", requires=("torch",))
    made = create(user, "mylib", *CPU, "--find-links", str(wheel.parent), "--mirror", server.pypi)
    assert made.status == 0, made.out + made.err
    packages = user.environments / "trial" / "lib" / "python3.11" / "site-packages"
    assert (packages / "mylib-2.0.dist-info").is_dir()
    assert not (packages / "torch-2.15.0.dist-info").exists()


def test_a_cuda_build_is_named_and_a_cpu_build_never_taken_for_it(user: Program) -> None:
    machine = ("--driver", "570.133.07", "--gpu", "8.6")
    made = create(user, *machine, "--python", "3.11", "--no-verify")
    assert made.status == 0, made.out + made.err
    (record,) = (user.environments / "trial" / "conda-meta").glob("pytorch-2.8.0-*.json")
    assert "cuda129" in record.name
