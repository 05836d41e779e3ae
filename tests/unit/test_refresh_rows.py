"""A row says what its wheel says; what the wheel does not say is assumed, and why, or no row is made."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from packaging.version import Version
from torch_listings import DIGEST, find, listing, torch

from gpuenv.matrix.companion_pairs import pair_rows, torches_to_pair, with_companions
from gpuenv.matrix.refresh_rows import NotEnoughError, release_row, torch_row
from gpuenv.matrix_checks.run import check_matrices
from gpuenv.matrix_checks.serialise import merge_rows
from gpuenv.model.capability import parse_architecture
from gpuenv.model.variant import Variant
from gpuenv.wheels.metadata import WheelFacts, WheelMetadata

CUDNN = 'nvidia-cudnn-cu14==10.1.0.2; platform_system == "Linux"'
(TARGET,) = find(listing(torch("3.0.0")))
(VISION,) = find(listing("torchvision-0.40.0-py3-none-manylinux_2_28_x86_64.whl"))
FACTS = WheelFacts(
    TARGET.file.filename,
    WheelMetadata("torch", Version("3.0.0"), (CUDNN, "triton==4.0.0"), ">=3.10"),
    Version("3.0.0"),
    Variant("cu140"),
    ("cp312",),
    ("manylinux_2_28_x86_64",),
    "linux-64",
    tuple(map(parse_architecture, ("sm_80", "sm_90", "compute_90"))),
)
VISION_FACTS = replace(
    FACTS,
    filename=VISION.file.filename,
    metadata=WheelMetadata("torchvision", Version("0.40.0"), ("torch==3.0.0",), ">=3.10"),
    architectures=(),
)
DATE = "2026-11-21"


def made(facts: WheelFacts = FACTS, known: tuple[Any, ...] = ()) -> dict[str, Any]:
    return dict(torch_row(TARGET, facts, known, DATE))


def test_a_wheel_that_tells_all_makes_a_row_that_holds() -> None:
    row = made()
    assert (row["variant"], row["cuda"], row["cudnn"], row["triton"]) == (
        "cu140",
        "14.0",
        "10.1.0.2",
        "==4.0.0",
    )
    assert row["architectures"] == ["sm_80", "sm_90", "compute_90"]
    assert (row["evidence"], row["pythons"], row["tags"]) == ("wheel", ["cp312"], ["manylinux_2_28_x86_64"])
    assert row["source"] == f"wheel {TARGET.file.filename} on PyPI ({DATE}), sha256 {DIGEST}"
    assert check_matrices({"torch": [row]}) == ()


def test_a_row_that_is_read_again_keeps_what_no_wheel_tells() -> None:
    known = made() | {"torchvision": ["0.40.0"], "cudnn": "9.9", "note": "seen", "architectures": ["sm_50"]}
    bare = replace(FACTS, metadata=replace(FACTS.metadata, requires=()))
    row = made(bare, (known,))
    assert (row["torchvision"], row["cudnn"], row["note"]) == (["0.40.0"], "9.9", "seen")
    assert row["architectures"] == ["sm_80", "sm_90", "compute_90"]


def test_a_list_that_can_not_be_read_is_borrowed_from_the_nearest_build() -> None:
    older, newer = made() | {"torch": "2.9.0", "architectures": ["sm_70"]}, made() | {"torch": "3.1.0"}
    oldest = older | {"torch": "2.1.0", "architectures": ["sm_35"]}
    row = made(replace(FACTS, architectures=(), missing=("its list is stripped",)), (oldest, newer, older))
    assert (row["architectures"], row["evidence"]) == (["sm_70"], "assumed")
    assert row["note"] == "its list is stripped; architectures as in torch 2.9.0+cu140 linux-64"


def test_a_wheel_that_can_not_be_opened_is_known_by_what_it_requires() -> None:
    metadata = replace(FACTS.metadata, requires=("cuda-toolkit[cudart]==14.0.1",))
    closed = replace(
        FACTS, metadata=metadata, variant=None, architectures=(), missing=("the wheel is no zip",)
    )
    row = made(closed, (made() | {"torch": "2.9.0"},))
    assert (row["variant"], row["evidence"]) == ("cu140", "assumed")
    with pytest.raises(NotEnoughError, match="the wheel is no zip; no build like it is known"):
        made(closed)
    with pytest.raises(NotEnoughError, match="its CUDA version is not known"):
        made(replace(closed, metadata=replace(metadata, requires=())))


def test_a_build_of_no_variant_that_is_planned_makes_no_row() -> None:
    with pytest.raises(NotEnoughError, match=r"rocm6\.3"):
        made(replace(FACTS, variant=Variant("rocm6.3"), architectures=()))


def test_a_cpu_build_needs_no_list() -> None:
    row = made(replace(FACTS, variant=Variant("cpu"), architectures=()))
    assert (row["cuda"], row["cudnn"], row["triton"], row["evidence"]) == (None, None, None, "wheel")
    assert check_matrices({"torch": [row]}) == ()


def release(**changes: Any) -> dict[str, Any]:
    return dict(release_row(VISION, VISION_FACTS, (), DATE)) | changes


def test_a_companion_release_and_its_torch_go_together() -> None:
    rows, releases = [made()], [release()]
    pairs = list(pair_rows((Version("3.0.0"),), rows, releases))
    assert [
        (pair["project"], pair.get("versions"), pair.get("specifier"), pair["evidence"]) for pair in pairs
    ] == [
        ("torchvision", ["0.40.0"], None, "wheel"),
        ("triton", None, "==4.0.0", "wheel"),
    ]
    torches = merge_rows("torch", rows, with_companions(rows, pairs))
    assert torches[0]["torchvision"] == ["0.40.0"]
    assert check_matrices({"torch": torches, "companions": merge_rows("companions", releases, pairs)}) == ()
    assert list(pair_rows((Version("3.0.0"),), torches, [*releases, *pairs])) == []


def pairs_with(*releases: dict[str, Any], known: tuple[Any, ...] = ()) -> list[tuple[list[str], str]]:
    triton = {"kind": "pair", "torch": "3.0.0", "project": "triton", "specifier": "==4.0.0"}
    pairs = pair_rows((Version("3.0.0"),), [made()], [*releases, *known, triton])
    return [(pair["versions"], pair["evidence"]) for pair in pairs]


def test_a_lower_bound_needs_the_same_cuda_and_is_assumed() -> None:
    bound = release(requires_torch=">=2.14")
    assert pairs_with(bound) == [(["0.40.0"], "assumed")]
    assert pairs_with(release(requires_torch=">=2.14", pypi_cuda={"linux-64": "13.2"})) == []
    assert pairs_with(release(requires_torch=">=3.1")) == []


def test_silent_metadata_pairs_only_what_is_numbered_as_torch() -> None:
    silent = release(requires_torch=None)
    assert pairs_with(silent) == []
    audio = [
        release(project="torchaudio", version=version, requires_torch=None)
        for version in ("2.9.0", "3.0.0", "3.1.0")
    ]
    assert pairs_with(*audio) == [(["3.0.0"], "assumed")]


def test_a_yanked_release_pairs_with_nothing() -> None:
    assert pairs_with(release(yanked=True)) == []


def test_a_rule_never_overrules_what_is_known_and_a_pin_does() -> None:
    known = {
        "kind": "pair",
        "torch": "3.0.0",
        "project": "torchvision",
        "versions": ["0.39.0"],
        "evidence": "matrix",
    }
    assert pairs_with(release(requires_torch=">=2.14"), known=(known,)) == []
    assert pairs_with(release(), known=(known,)) == [(["0.40.0", "0.39.0"], "wheel")]
    assumed = known | {"evidence": "assumed"}
    assert pairs_with(release(requires_torch=">=2.14"), known=(assumed,)) == [
        (["0.40.0", "0.39.0"], "assumed")
    ]


def test_torches_to_pair_are_those_that_a_new_row_may_concern() -> None:
    rows = [made(), made() | {"torch": "2.9.0"}]
    assert torches_to_pair([release()], rows) == (Version("3.0.0"),)
    assert torches_to_pair([made() | {"torch": "2.9.0"}], rows) == (Version("2.9.0"),)
