"""Projects whose releases pin torch: the newest release that runs here chooses the torch."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest
from index_server import IndexServer, serve_indexes
from running import Program

H100 = ("--gpu", "H100", "--manager", "uv", "--python", "3.12")
NEW_DRIVER = ("--driver", "580.95.05", *H100)
OLD_DRIVER = ("--driver", "570.133.07", *H100)
# version, day, torch, torchvision; before these, releases that pin nothing
RELEASES = (
    ("0.20.0", "2026-11-02", "2.14.0", "0.29.0"),
    *((f"0.19.{patch}", f"2026-{patch + 7:02}-10", "2.13.0", "0.28.0") for patch in range(4)),
    *((f"0.18.{patch}", f"2026-{patch + 3:02}-10", "2.11.0", "0.26.0") for patch in range(4)),
    *((f"0.17.{patch}", f"2026-01-{patch + 10}", "2.10.0", "0.25.0") for patch in range(9)),
    ("0.16.0", "2025-06-10", "2.7.0", "0.22.0"),
    ("0.15.0", "2025-03-10", "2.6.0", "0.21.0"),
)
LINUX = "cp38-abi3-manylinux_2_28_x86_64"


@pytest.fixture
def server() -> Iterator[IndexServer]:
    with serve_indexes() as index:
        index.makes_wheels = True
        publish(index)
        yield index


def publish(index: IndexServer, releases: tuple[tuple[str, str | None, str, str], ...] = RELEASES) -> None:
    """List a vllm with these releases, and old ones that any torch would do for."""
    for version, day, torch, torchvision in releases:
        needs = (f"torch=={torch}", f"torchvision=={torchvision}", "tinydep", "tensorizer; extra == 'more'")
        index.list_release("vllm", version, day, *needs, tag=LINUX)
    index.list_release("vllm", "0.2.5", "2023-12-14" if releases[0][1] else None, "torch>=2.0", tag=LINUX)
    index.list_release("tinydep", "1.0", "2020-01-01")


def read_releases(index: IndexServer) -> set[str]:
    """Return the releases of vllm whose metadata anybody asked for, gpuenv or uv."""
    paths = (path for path in index.count() if "/vllm-" in path and path.endswith(".metadata"))
    return {path.rpartition("/")[2].split("-")[1] for path in paths}


def test_the_newest_release_chooses_the_torch(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    done = program.run("plan", "torch", "vllm", "--json", *NEW_DRIVER, *mirrors)
    assert done.torch.startswith("2.14.0")
    assert done.package("vllm")["version"] == "0.20.0"
    vision = done.package("torchvision")
    assert (vision["version"].partition("+")[0], vision["variant"]) == ("0.29.0", done.data["variant"])
    assert done.data["requirements"] == ["vllm"]
    assert any("vllm 0.20.0 (2026-11-02) requires torch==2.14.0" in item["text"] for item in done.data["why"])
    assert "older-release" not in {warning["code"] for warning in done.envelope["warnings"]}
    assert read_releases(server) == {"0.20.0"}
    assert server.count()["/simple/vllm/"] <= 2  # gpuenv's and uv's


@pytest.mark.slow
def test_a_release_is_not_taken_whose_wheels_are_for_a_newer_cuda(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    done = program.run("plan", "torch", "vllm", "--json", *OLD_DRIVER, *mirrors)
    assert done.package("vllm")["version"] == "0.17.8"
    assert done.torch.startswith("2.10.0")
    assert done.data["variant"].startswith("cu12")
    warning = next(item for item in done.envelope["warnings"] if item["code"] == "older-release")
    assert "vllm 0.20.0 (2026-11-02) requires torch==2.14.0" in warning["message"]
    assert len(read_releases(server)) <= 7  # of 19


@pytest.mark.slow
def test_what_runs_here_but_is_years_old_needs_a_yes(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    for path in [path for path in server.files if "/vllm-0.17" in path]:
        del server.files[path]
    done = program.run("plan", "torch", "vllm", "--json", *OLD_DRIVER, *mirrors)
    assert done.status == 3
    assert done.error["code"] == "old-release"
    assert "vllm 0.16.0 (2025-06-10)" in done.error["message"]
    texts = [item["text"] for item in done.error["because"]]
    assert texts[0] == "vllm 0.20.0 (2026-11-02) requires torch==2.14.0"
    assert any("need driver 580.65.06" in text for text in texts)
    command = next(fix["command"] for fix in done.error["fixes"] if fix["command"])
    assert "vllm==0.16.0" in command
    again = program.run(*shlex.split(command)[1:], "--json")
    assert again.package("vllm")["version"] == "0.16.0"
    assert again.torch.startswith("2.7.0")


@pytest.mark.slow
def test_a_pin_of_torch_is_a_yes(program: Program, mirrors: tuple[str, ...]) -> None:
    done = program.run("plan", "torch==2.6.0", "vllm", "--json", *NEW_DRIVER, *mirrors)
    assert done.torch.startswith("2.6.0")
    assert done.package("vllm")["version"] == "0.15.0"
    assert "older-release" in {warning["code"] for warning in done.envelope["warnings"]}


@pytest.mark.slow
def test_a_torch_that_no_release_pins_is_refused(program: Program, mirrors: tuple[str, ...]) -> None:
    done = program.run("plan", "torch==2.12.1", "vllm", "--json", *NEW_DRIVER, *mirrors)
    assert done.status == 3
    assert done.error["code"] == "no-release"
    command = next(fix["command"] for fix in done.error["fixes"] if fix["command"])
    again = program.run(*shlex.split(command)[1:], "--json")
    assert again.package("vllm")["version"] == "0.20.0"


@pytest.mark.slow
def test_without_days_a_release_that_pins_nothing_is_not_taken(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    for path in [path for path in server.files if "/vllm-" in path]:
        del server.files[path]
    publish(server, (("0.20.0", None, "2.14.0", "0.29.0"),))
    done = program.run("plan", "torch", "vllm", "--json", *OLD_DRIVER, *mirrors)
    assert done.status == 3
    assert "0.2.5" in done.error["message"]
    assert any("vllm==0.2.5" in (fix["command"] or "") for fix in done.error["fixes"])


@pytest.mark.slow
def test_other_requirements_may_need_an_older_release(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    server.list_release("tinydep", "2.0", "2026-10-01")
    server.list_release(
        "vllm", "0.20.0", "2026-11-02", "torch==2.14.0", "torchvision==0.29.0", "tinydep>=2", tag=LINUX
    )
    done = program.run("plan", "torch", "vllm", "tinydep<2", "--json", *NEW_DRIVER, *mirrors)
    assert done.package("vllm")["version"] == "0.19.3"
    assert done.torch.startswith("2.13.0")
    warning = next(item for item in done.envelope["warnings"] if item["code"] == "older-release")
    assert "with which the other requirements cannot be resolved" in warning["message"]
