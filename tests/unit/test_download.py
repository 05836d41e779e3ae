"""How much a plan brings: its files and what they depend on, to fetch and on disk."""

from __future__ import annotations

from typing import Any

import pytest
from deciding import machine
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import H100, package, plan

from gpuenv import matrices
from gpuenv.formats.json import render_plan_data
from gpuenv.formats.text import render_text
from gpuenv.knowledge.dependencies import Dependencies
from gpuenv.model.plan import Download, Plan
from gpuenv.resolution.download_size import estimate

SHIPPED = Dependencies(matrices.load("dependencies"))
ORIGIN = {"source": "a wheel", "evidence": "wheel"}


def build(torch: str, requires: tuple[str, ...], **facts: Any) -> dict[str, Any]:
    row = {
        "kind": "build", "torch": torch, "variant": "cu126", "platform": "linux-64", "index": "pytorch",
        "requires": list(requires), "size": 800, "installed": 1600, **ORIGIN,
    }  # fmt: skip
    return row | facts


def file(
    project: str, version: str, size: int, requires: tuple[str, ...] = (), **facts: Any
) -> dict[str, Any]:
    row = {
        "kind": "file", "project": project, "version": version, "platform": "any",
        "requires": list(requires), "size": size, "installed": 3 * size, **ORIGIN,
    }  # fmt: skip
    return row | facts


def torch_alone(size: int | None = 800, **facts: Any) -> Plan:
    made = plan(
        packages=(package("torch", "2.14.1+cu126", size=size),),
        pins=("torch==2.14.1+cu126",),
        requirements=(),
        constraints=(),
    )
    return replace(made, **facts)


KNOWN = Dependencies(
    (
        build("2.14.1", ("nvidia-nccl-cu12==2.30.7", "sympy>=1.13.3", "toolkit[blas]==12.6")),
        file("nvidia-nccl-cu12", "2.29", 70, platform="linux-64"),
        file("nvidia-nccl-cu12", "2.30.7", 100, platform="linux-64"),
        file("nvidia-nccl-cu12", "2.30.7", 900, platform="linux-aarch64"),
        file("sympy", "1.13.1", 4),
        file("sympy", "1.14.0", 6, ("mpmath<1.4",)),
        file("mpmath", "1.3.0", 2),
        file("mpmath", "1.4.1", 3),
        file("toolkit", "12.6", 1, ("nvidia-blas==12.6.*",)),
        file("nvidia-blas", "12.6.4", 400),
        file("nvidia-blas", "13.0.0", 500),
        file("setuptools", "81.0", 1),
    )
)


def test_what_the_stack_depends_on_counts_with_the_pinned_releases() -> None:
    """Of the release that is pinned, on the platform of the machine, down to what a dependency depends on."""
    download = estimate(torch_alone(), KNOWN)
    assert (download.files, download.size) == (6, 800 + 100 + 6 + 2 + 1 + 400)
    assert download.installed == 1600 + 3 * (100 + 6 + 2 + 1 + 400)
    assert not download.exact
    assert not download.least


def test_what_a_workaround_adds_counts_too() -> None:
    more = estimate(torch_alone(constraints=("setuptools<82",)), KNOWN)
    assert more.files == estimate(torch_alone(), KNOWN).files + 1


def test_a_plan_of_all_files_is_exact_and_asks_no_matrix() -> None:
    files = (*torch_alone().packages, package("sympy", "1.14.0", None, size=6))
    download = estimate(torch_alone(packages=files), KNOWN)
    assert (download.files, download.size, download.exact) == (2, 806, True)
    assert download.installed == 1600 + 18


def test_a_size_that_no_index_tells_is_the_matrixs_and_not_exact() -> None:
    files = (*torch_alone().packages, package("sympy", "1.14.0", None))
    download = estimate(torch_alone(packages=files), KNOWN)
    assert (download.size, download.exact) == (806, False)


def test_what_the_installer_has_in_its_cache_is_not_to_fetch_and_takes_no_more_room() -> None:
    files = (*torch_alone().packages, package("sympy", "1.14.0", None, size=6))
    cached = frozenset({str(files[0].filename)})
    download = estimate(torch_alone(packages=files), KNOWN, cached=cached)
    assert (download.cached, download.files, download.size) == (1, 1, 6)
    assert (download.installed, download.fresh) == (1618, 18)


def test_files_of_this_machine_are_not_to_fetch() -> None:
    local = replace(torch_alone().packages[0], url="/wheels/torch.whl", index="/wheels")
    download = estimate(torch_alone(packages=(local,)), KNOWN)
    assert (download.local, download.files, download.size) == (1, 5, 509)
    assert download.installed == 1600 + 3 * 509
    assert "1 local file, about 5 files, 509 B to fetch, 3 kB on disk" in render_text(
        torch_alone(download=download)
    )


@pytest.mark.parametrize("known", [Dependencies(()), Dependencies((file("sympy", "1.14.0", 6),))])
def test_a_build_of_which_nothing_is_known_is_at_least_its_own_size(known: Dependencies) -> None:
    download = estimate(torch_alone(), known)
    assert (download.files, download.size, download.least, download.exact) == (1, 800, True, False)
    assert "at least 800 B to fetch" in render_text(torch_alone(download=download))


def test_a_dependency_whose_size_is_not_known_makes_it_at_least() -> None:
    known = Dependencies((build("2.14.1", ("nvidia-nccl-cu12==2.30.7",)),))
    download = estimate(torch_alone(), known)
    assert (download.files, download.size, download.least) == (2, 800, True)


def test_it_is_said_in_one_line_with_what_is_free() -> None:
    download = Download(33, 4_100_000_000, 9_000_000_000, local=2, free=99_000_000_000)
    assert render_text(plan(download=download)).splitlines()[2] == (
        "  from torch.example.com, 2 local files, about 33 files, 4.1 GB to fetch, "
        "9.0 GB on disk, 99.0 GB free"
    )
    exact = replace(download, local=0, cached=3, exact=True)
    assert render_text(plan(download=exact)).splitlines()[2] == (
        "  from torch.example.com, 3 files in the installer's cache, 33 files, 4.1 GB to fetch, "
        "9.0 GB on disk, 99.0 GB free"
    )
    nothing = Download(0, 0, 9_000, local=3, exact=True)
    assert render_text(plan(download=nothing)).splitlines()[2] == (
        "  from torch.example.com, 3 local files, nothing to fetch, 9 kB on disk"
    )


def test_its_json_form_says_what_is_not_known() -> None:
    assert render_plan_data(plan())["download"] is None
    known = Download(33, 4, 9, local=2, cached=1, free=120, exact=True)
    assert render_plan_data(plan(download=known))["download"] == {
        "files": 33, "bytes": 4, "installed_bytes": 9, "free_bytes": 120, "local_files": 2,
        "cached_files": 1, "exact": True,
    }  # fmt: skip
    unknown = render_plan_data(plan(download=Download(2, 0, 0, least=True)))["download"]
    assert (unknown["bytes"], unknown["installed_bytes"], unknown["free_bytes"]) == (None, None, None)


@pytest.mark.parametrize(
    ("torch", "variant", "least", "most"),
    [  # bytes beside torch itself, of lists that pip printed
        ("2.14.1+cu126", "cu126", 2.0e9, 2.9e9),
        ("2.9.1", "cu128", 2.0e9, 3.2e9),
        ("2.15.0", "cu132", 1.5e9, 2.9e9),
        ("2.14.1+cpu", "cpu", 5e6, 1e8),
        ("2.1.2+cu121", "cu121", 5e7, 3e8),  # it holds CUDA's libraries itself
        ("2.5.1+cu118", "cu118", 1.5e9, 2.9e9),
    ],
)
def test_the_shipped_table_knows_what_the_builds_bring(
    torch: str, variant: str, least: float, most: float
) -> None:
    own = 1_000_000
    made = torch_alone(
        packages=(package("torch", torch, variant, size=own),), pins=(f"torch=={torch}",), variant=variant
    )
    download = estimate(made, SHIPPED)
    assert least < download.size - own < most
    assert not download.least
    assert download.installed > download.size


def test_windows_builds_hold_cuda_themselves() -> None:
    made = torch_alone(machines=(machine({"platform": "win-64", "driver": "581.0", "gpus": ["9.0"]}),))
    assert estimate(made, SHIPPED).files < 15


@given(st.text(max_size=20))
def test_no_requirement_that_a_wheel_names_breaks_the_sum(text: str) -> None:
    known = Dependencies((build("2.14.1", (text, "sympy")), file("sympy", "1.14.0", 6, (text,))))
    assert estimate(torch_alone(machines=(H100,)), known).files >= 1
