"""The snapshot: what was seen keeps its hash and place, what is assumed says so."""

from __future__ import annotations

from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.indexes.snapshot import Bases, Pairing, read_snapshot
from gpuenv.model.index import Listing
from gpuenv.model.variant import CudaVersion, Variant
from gpuenv.model.wheel import Evidence, Platform, TorchBuild

TORCH, VISION = canonicalize_name("torch"), canonicalize_name("torchvision")
BASES = Bases("https://example.com/whl/", "https://example.org/simple")
ROWS: list[dict[str, Any]] = [
    {
        "project": "torch",
        "filename": "torch-2.13.0+cu126-cp312-cp312-manylinux_2_28_x86_64.whl",
        "index": "pytorch",
        "subdir": "cu126",
        "sha256": "0f" * 32,
    },
    {
        "project": "torch",
        "filename": "torch-1.4.0-cp37-cp37m-linux_x86_64.whl",
        "index": "pytorch",
        "subdir": "cu101",
    },
    {
        "project": "torch",
        "filename": "torch-1.11.0-cp310-cp310-manylinux2014_aarch64.whl",
        "index": "pytorch",
    },
    {
        "project": "torch",
        "filename": "torch-2.14.1-cp312-cp312-manylinux_2_28_x86_64.whl",
        "index": "pypi",
        "sha256": "1f" * 32,
        "requires_python": ">=3.10",
        "yanked": True,
    },
    *(
        {"project": project, "filename": f"{project}-{version}-py3-none-{platform}.whl", "index": "pypi"}
        for project, version in (("torchvision", "0.29.1"), ("torchaudio", "2.11.0"))
        for platform in ("manylinux_2_28_x86_64", "win_amd64")
    ),
]
PAIRINGS = (Pairing(Version("2.14.1"), VISION, Version("0.29.1")),)


def build(
    platform: Platform = "linux-64",
    evidence: Evidence = "assumed",
    tags: tuple[str, ...] = ("manylinux_2_28_x86_64",),
) -> TorchBuild:
    return TorchBuild(
        torch=Version("2.14.1"),
        variant=Variant("cu126"),
        cuda=CudaVersion(12, 6),
        platform=platform,
        index="pytorch",
        pythons=("cp312", "cp314t"),
        architectures=(),
        cudnn=None,
        tags=tags,
        source="test",
        evidence=evidence,
    )


def snapshot(*builds: TorchBuild, rows: list[dict[str, Any]] = ROWS) -> dict[tuple[str | None, str], Listing]:
    listings = read_snapshot(rows, builds, PAIRINGS, (TORCH, VISION), BASES)
    return {(listing.source.name, listing.project): listing for listing in listings}


def test_there_is_a_listing_for_each_index_and_project() -> None:
    listings = snapshot()
    assert set(listings) == {
        ("pytorch", "torch"),
        ("pytorch", "torchvision"),
        ("pypi", "torch"),
        ("pypi", "torchvision"),
    }
    assert {listing.source.kind for listing in listings.values()} == {"snapshot"}
    assert listings["pytorch", "torch"].page == "https://example.com/whl/torch/"
    assert listings["pypi", "torch"].page == "https://example.org/simple/torch/"


def test_what_was_seen_keeps_its_place_and_hash() -> None:
    new, old, root = snapshot()["pytorch", "torch"].files
    assert (
        new.url == "https://example.com/whl/cu126/torch-2.13.0%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl"
    )
    assert (new.sha256, str(new.variant), new.assumed) == ("0f" * 32, "cu126", False)
    assert (str(old.variant), root.variant) == ("cu101", None)
    assert root.url == "https://example.com/whl/torch-1.11.0-cp310-cp310-manylinux2014_aarch64.whl"


def test_pypis_files_have_no_variant_and_no_address() -> None:
    (file,) = snapshot()["pypi", "torch"].files
    assert (file.variant, file.url, file.requires_python, file.yanked) == (None, "", ">=3.10", True)


def test_assumed_builds_are_named_as_such_files_are() -> None:
    assumed = [file for file in snapshot(build())["pytorch", "torch"].files if file.assumed]
    assert [file.filename for file in assumed] == [
        "torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl",
        "torch-2.14.1+cu126-cp314-cp314t-manylinux_2_28_x86_64.whl",
    ]
    assert assumed[0].url == f"https://example.com/whl/cu126/{assumed[0].filename.replace('+', '%2B')}"
    assert {file.sha256 for file in assumed} == {None}


def test_assumed_companions_have_the_tags_of_their_release() -> None:
    vision = snapshot(build(), build("win-64", tags=("win_amd64",)))["pytorch", "torchvision"]
    assert [(file.filename, file.assumed) for file in vision.files] == [
        ("torchvision-0.29.1+cu126-py3-none-manylinux_2_28_x86_64.whl", True),
        ("torchvision-0.29.1+cu126-py3-none-win_amd64.whl", True),
    ]


def test_nothing_is_assumed_where_a_file_was_seen() -> None:
    seen = {"index": "pytorch", "subdir": "cu126"}
    rows = [
        *ROWS,
        {
            "project": "torchvision",
            "filename": "torchvision-0.29.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl",
            **seen,
        },
        {"project": "torch", "filename": "torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl", **seen},
    ]
    listings = snapshot(build(), rows=rows)
    assert [file.assumed for file in listings["pytorch", "torchvision"].files] == [False]
    names = [file.filename for file in listings["pytorch", "torch"].files]
    assert len(names) == len(set(names)) == 5


def test_of_a_build_that_was_seen_only_the_companions_that_were_not_are_assumed() -> None:
    """They were always published for each variant, and the listing of them has holes."""
    listings = snapshot(build(evidence="wheel"))
    assert not any(file.assumed for file in listings["pytorch", "torch"].files)
    assert [file.filename for file in listings["pytorch", "torchvision"].files if file.assumed] == [
        "torchvision-0.29.1+cu126-py3-none-manylinux_2_28_x86_64.whl"
    ]


def test_a_companion_that_no_platform_has_is_not_invented() -> None:
    assert (
        snapshot(build("linux-aarch64", tags=("manylinux_2_28_aarch64",)))["pytorch", "torchvision"].files
        == ()
    )


def test_a_row_that_is_no_wheels_is_reported() -> None:
    listings = snapshot(rows=[{"project": "torch", "filename": "torch-what.whl", "index": "pytorch"}])
    assert listings["pytorch", "torch"].unparsed == ("torch-what.whl",)


def test_of_a_build_that_was_seen_for_some_pythons_the_files_for_the_others_are_assumed() -> None:
    seen = {"project": "torch", "index": "pytorch", "subdir": "cu126"}
    rows = [
        *ROWS,
        {"filename": "torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl", **seen},
    ]
    files = snapshot(build(evidence="wheel"), rows=rows)["pytorch", "torch"].files
    assert [file.filename for file in files if file.assumed] == [
        "torch-2.14.1+cu126-cp314-cp314t-manylinux_2_28_x86_64.whl"
    ]
