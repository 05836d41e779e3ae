"""Rule `companion`: what goes with a torch, by release and by CUDA."""

from __future__ import annotations

from typing import Any

import pytest
from building import case, found, listing, on

from gpuenv.model.python import PythonOffer
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.candidate import Candidate, Failure, IndexedFile
from gpuenv.resolution.request import Request, parse_requirements
from gpuenv.resolution.rules import companion, companion_failures

KNOWLEDGE = load_knowledge()
HERE = on("580.95.05", "9.0")
LINUX = "manylinux_2_28_x86_64"


def vision(version: str, tags: str = "cp312-cp312", **facts: Any) -> IndexedFile:
    return found(f"torchvision-{version}-{tags}-{LINUX}.whl", **facts)


def audio(version: str, **facts: Any) -> IndexedFile:
    return found(f"torchaudio-{version}-cp312-cp312-{LINUX}.whl", **facts)


def match(build: Candidate, *files: IndexedFile, asks: tuple[str, ...], down: Any = None) -> Any:
    shelf: dict[Any, Any] = {}
    for item in files:
        shelf.setdefault((item.file.name, item.release), []).append(item)
    places = {key: tuple(items) for key, items in shelf.items()}
    request = Request(parse_requirements(("torch", *asks)))
    return companion.match(
        build, request, HERE, KNOWLEDGE, companion_failures.AvailableCompanions(places, down or {})
    )


def names(matches: Any) -> list[str]:
    assert not isinstance(matches, Failure), matches
    return [item.file.filename.split("-cp")[0] for entry in matches for item in entry.files]


def test_the_release_that_the_matrix_pairs_is_matched_in_the_same_variant() -> None:
    files = (vision("0.22.1+cu126"), vision("0.22.1+cpu"), vision("0.22.0+cu126"))
    assert names(match(case(), *files, asks=("torchvision",))) == ["torchvision-0.22.1+cu126"]


def test_torchvision_needs_the_same_cuda_major_and_prefers_the_same_variant() -> None:
    files = (
        vision("0.22.1+cu128"),
        vision("0.22.1+cu118"),
        vision("0.22.1", kind="pypi"),
        vision("0.22.1+cu126"),
    )
    assert names(match(case(), *files, asks=("torchvision",))) == [
        "torchvision-0.22.1+cu126", "torchvision-0.22.1", "torchvision-0.22.1+cu128",
    ]  # fmt: skip


def test_pypis_torch_takes_pypis_companion_before_one_of_a_folder_without_a_local_version() -> None:
    files = (
        vision("0.7.0", "cp38-cp38", variant="cu102"),
        vision("0.7.0", "cp38-cp38", kind="pypi", order=1),
    )
    matches = match(case("1.6.0", "cu102", index="pypi"), *files, asks=("torchvision",))
    assert [item.listing.source.kind for item in matches[0].files] == ["pypi", "pytorch"]


def test_torchaudio_needs_the_very_same_cuda() -> None:
    build = case("2.15.0", "cu132")
    failure = match(build, audio("2.11.0+cu130"), audio("2.11.0", kind="pypi"), asks=("torchaudio",))
    assert failure.detail == "no index lists torchaudio 2.11.0 for cu132"
    assert names(match(case("2.15.0", "cu130"), audio("2.11.0+cu130"), asks=("torchaudio",))) == [
        "torchaudio-2.11.0+cu130"
    ]


def test_a_cpu_build_takes_no_cuda_companion() -> None:
    failure = match(
        case("2.7.1", "cpu", ""), vision("0.22.1+cu126"), vision("0.22.1", kind="pypi"), asks=("torchvision",)
    )
    assert (failure.subject, failure.kind) == ("torchvision", "absent")


@pytest.mark.parametrize("project", ["torchtext", "torchdata"])
def test_projects_without_cuda_code_go_with_any_variant(project: str) -> None:
    version = {"torchtext": "0.18.0", "torchdata": "0.11.0"}[project]
    file = found(f"{project}-{version}-py3-none-any.whl", kind="pypi")
    assert not isinstance(match(case("2.3.1", "cu121"), file, asks=(project,)), Failure)


def test_of_a_project_without_cuda_code_the_file_for_a_cpu_alone_is_the_last() -> None:
    pypis = found("torchdata-0.6.1-cp312-cp312-linux_x86_64.whl", kind="pypi")
    files = (found("torchdata-0.6.1+cpu-cp312-cp312-linux_x86_64.whl"), pypis)
    for_gpu = match(case("2.0.1", "cu118"), *files, asks=("torchdata",))
    assert names(for_gpu) == ["torchdata-0.6.1", "torchdata-0.6.1+cpu"]
    for_cpu = match(case("2.0.1", "cpu", ""), *files, asks=("torchdata",))
    assert names(for_cpu) == ["torchdata-0.6.1+cpu", "torchdata-0.6.1"]


@pytest.mark.parametrize(
    ("asked", "matched"),
    [
        ("torchvision==0.22.1", ["torchvision-0.22.1+cu126", "torchvision-0.22.1"]),
        ("torchvision==0.22.1+cu126", ["torchvision-0.22.1+cu126"]),
        ("torchvision>=0.20,<0.23", ["torchvision-0.22.1+cu126", "torchvision-0.22.1"]),
    ],
)
def test_pins_hold_with_and_without_a_local_version(asked: str, matched: list[str]) -> None:
    files = (vision("0.22.1", kind="pypi"), vision("0.22.1+cu126"))
    assert names(match(case(), *files, asks=(asked,))) == matched


def test_an_impossible_pin_names_what_goes_with_the_torch() -> None:
    failure = match(case(), vision("0.15.2+cu118"), asks=("torchvision==0.15.2",))
    assert failure.detail == "torch 2.7.1 requires torchvision 0.22.1, not ==0.15.2"


def test_an_unknown_pairing_is_said_to_be_unknown() -> None:
    assert match(case(), asks=("torchtext",)).detail == "no torchtext is known to match torch 2.7.1"


def test_a_page_that_could_not_be_read_is_named() -> None:
    page = listing(project="torchvision", problem="timed out")
    failure = match(case(), asks=("torchvision",), down={"torchvision": page})
    assert failure.kind == "down"
    assert failure.detail == (
        "https://pytorch.example.com/torchvision/, where torchvision 0.22.1 for cu126 may be, could not be "
        "read (timed out)"
    )


def test_the_file_for_the_python_is_picked() -> None:
    matches = match(
        case(), vision("0.22.1+cu126", "cp311-cp311"), vision("0.22.1+cu126"), asks=("torchvision",)
    )
    picked = companion.pick(matches, case(), PythonOffer("3.12"))
    assert isinstance(picked, tuple)
    assert picked[0].file.filename.startswith("torchvision-0.22.1+cu126-cp312")


def test_pythons_without_files_are_told_together() -> None:
    matches = match(case(), vision("0.22.1+cu126", "cp311-cp311"), asks=("torchvision",))
    failures = tuple(companion.pick(matches, case(), PythonOffer(f"3.{minor}")) for minor in (13, 12))
    (merged,) = companion_failures.merged(failures)  # type: ignore[arg-type]
    assert merged.detail == "torchvision 0.22.1 for cu126 has files for Python 3.11, not 3.12, 3.13"


@pytest.mark.parametrize(
    ("version", "variant"),
    [("0.29.2", "cu132"), ("0.29.1", "cu130"), ("0.22.1", "cu126"), ("0.2.2.post3", "cu90")],
)
def test_the_variant_of_pypis_companions_is_known(version: str, variant: str) -> None:
    item = found(f"torchvision-{version}-py3-none-{LINUX}.whl", kind="pypi")
    assert str(companion.companion_variant(item, HERE, KNOWLEDGE)) == variant


# companions with kernels of their own

XFORMERS = f"xformers-0.0.30-cp312-cp312-{LINUX}.whl"


def match_xformers(
    gpu: str, *, driver: str = "580.95.05", version: str = "0.0.30", torch: str = "2.7.0"
) -> Any:
    file = found(f"xformers-{version}-cp39-abi3-{LINUX}.whl", kind="pypi")
    available = companion_failures.AvailableCompanions({("xformers", file.release): (file,)}, {})
    request = Request(parse_requirements(("torch", f"xformers=={version}")))
    here = on(driver, gpu)
    return companion.match(case(torch), request, here, KNOWLEDGE, available)


@pytest.mark.parametrize("gpu", ["6.0", "6.1", "7.0", "8.6", "8.9", "9.0"])
def test_one_with_code_for_the_gpu_goes_with_it(gpu: str) -> None:
    assert names(match_xformers(gpu)) == ["xformers-0.0.30"]


def test_one_without_code_for_the_gpu_does_not_and_says_what_it_has() -> None:
    failure = match_xformers("7.0", version="0.0.31", torch="2.7.1")
    assert (failure.subject, failure.kind) == ("xformers", "code")
    assert failure.detail == (
        "xformers 0.0.31 has code for sm_75 sm_80 compute_80 sm_90a, none of which runs on 7.0"
    )
    assert failure.summarize((failure,)) == failure.detail


def test_its_ptx_needs_a_driver_for_the_cuda_that_it_was_built_with() -> None:
    """0.0.31 is built with CUDA 12.8, its torch with 12.6: a driver for 12.6 can't compile its PTX."""
    assert not isinstance(
        match_xformers("12.0", driver="570.133.07", version="0.0.31", torch="2.7.1"), Failure
    )
    failure = match_xformers("12.0", driver="560.35.05", version="0.0.31", torch="2.7.1")
    assert failure.kind == "code"


def test_without_a_gpu_no_code_is_asked_for() -> None:
    file = found(f"xformers-0.0.30-cp310-cp310-{LINUX}.whl", kind="pypi")
    available = companion_failures.AvailableCompanions({("xformers", file.release): (file,)}, {})
    request = Request(parse_requirements(("torch", "xformers")))
    assert not isinstance(companion.match(case("2.7.0"), request, on(), KNOWLEDGE, available), Failure)


@pytest.mark.parametrize(("variant", "matched"), [("cu126", True), ("cu128", True), ("cu118", False)])
def test_xformers_goes_with_any_cuda_of_its_major(variant: str, matched: bool) -> None:
    file = found(XFORMERS, kind="pypi")
    available = companion_failures.AvailableCompanions({("xformers", file.release): (file,)}, {})
    request = Request(parse_requirements(("torch", "xformers")))
    answer = companion.match(case("2.7.0", variant), request, HERE, KNOWLEDGE, available)
    assert isinstance(answer, Failure) is not matched
