"""One wheel is read of each release, variant and platform that is unknown; its siblings' names tell more."""

from __future__ import annotations

from typing import Any

import pytest
from torch_listings import DIGEST, find, listing, torch

from gpuenv.matrix_checks.refresh_targets import parse_only


def row(
    version: str = "2.15.0", variant: str = "cu132", index: str = "pypi", source: str = ""
) -> dict[str, Any]:
    return {"torch": version, "variant": variant, "platform": "linux-64", "index": index, "source": source}


def test_the_wheels_of_a_release_are_one_target_a_platform() -> None:
    names = (
        torch("2.15.0", "cp310"),
        torch("2.15.0"),
        torch("2.15.0", "cp313t"),
        torch("2.15.0", tag="win_amd64"),
    )
    value = find(listing(*names))
    assert [(item.platform, item.pythons, item.file.filename) for item in value] == [
        ("win-64", ("cp312",), torch("2.15.0", tag="win_amd64")),
        ("linux-64", ("cp310", "cp312", "cp313t"), torch("2.15.0")),
    ]


def test_each_variant_is_a_target_and_says_so_in_its_name_or_place() -> None:
    value = find(
        listing(torch("2.15.0+cu130"), torch("2.15.0+cu132"), torch("2.15.0+rocm6.3")),
        listing(torch("1.0.0"), page="https://torch.example.com/whl/cu90/torch/"),
        listing(torch("2.15.0")),
    )
    assert [(str(item.version), str(item.variant), item.index) for item in value] == [
        ("2.15.0", "cu132", "pytorch"),
        ("2.15.0", "cu130", "pytorch"),
        ("2.15.0", "None", "pypi"),
        ("1.0.0", "cu90", "pytorch"),
    ]


def test_what_is_known_is_not_read() -> None:
    listed = listing(torch("2.15.0"), torch("2.15.0+cu132"), torch("2.15.0+cu130"))
    value = find(listed, known=(row(), row(variant="cu130", index="pytorch")))
    assert [str(item.variant) for item in value] == ["cu132"]


def test_what_is_known_is_read_again_unless_from_the_same_file() -> None:
    source = f"wheel {torch('2.15.0')} on PyPI (2026-11-21), sha256 {DIGEST}"
    assert find(listing(torch("2.15.0")), known=(row(source=source),), reread=True) == ()
    replaced = source.replace(DIGEST, "cd" * 32)
    assert len(find(listing(torch("2.15.0")), known=(row(source=replaced),), reread=True)) == 1
    assert len(find(listing(torch("2.15.0")), known=(row(source="PyPI"),), reread=True)) == 1


@pytest.mark.parametrize(
    "name",
    [
        torch("2.16.0rc1"),
        torch("2.16.0.dev20270101"),
        torch("2.15.0", tag="macosx_11_0_arm64"),
        torch("2.15.0", tag="win_arm64"),
        torch("2.15.0", tag="musllinux_1_2_x86_64"),
        torch("2.15.0", tag="linux_s390x"),
        "torchdata-0.11.0-py3-none-any.whl",
    ],
)
def test_what_gpuenv_does_not_plan_is_passed_over(name: str) -> None:
    assert find(listing(name)) == ()


def test_yanked_wheels_are_read_only_where_all_are() -> None:
    newer = torch("2.15.0", "cp313")
    assert find(listing(torch("2.15.0"), yanked=(newer,)))[0].file.filename == torch("2.15.0")
    only = find(listing(yanked=(newer,)))[0]
    assert (only.file.filename, only.yanked) == (newer, True)


def test_a_companion_is_read_once_from_pypi_for_linux() -> None:
    names = [
        f"torchvision-0.30.0{local}-py3-none-{tag}.whl"
        for local in ("", "+cu132", "+cpu")
        for tag in ("win_amd64", "manylinux_2_28_x86_64")
    ]
    (value,) = find(listing(*names))
    assert value.file.filename == "torchvision-0.30.0-py3-none-manylinux_2_28_x86_64.whl"
    known = {"kind": "release", "project": "torchvision", "version": "0.30.0", "source": ""}
    assert find(listing(*names), known=(known,)) == ()


def test_old_names_are_understood() -> None:
    (value,) = find(
        listing(
            "torch-1.0.0-cp27-cp27mu-manylinux1_x86_64.whl", "torch-1.0.0-cp36-cp36m-manylinux1_x86_64.whl"
        )
    )
    assert (value.pythons, value.tags) == (("cp27", "cp36"), ("manylinux1_x86_64",))


def test_only_restricts_projects_and_versions() -> None:
    listed = (listing(torch("2.14.0"), torch("2.15.0")), listing("torchvision-0.30.0-py3-none-win_amd64.whl"))
    assert [str(item.version) for item in find(*listed, only=("torch>=2.15",))] == ["2.15.0"]
    assert [item.project for item in find(*listed, only=("TorchVision",))] == ["torchvision"]


@pytest.mark.parametrize("text", ["numpy>=2", "torch>>2", "", "torchdata"])
def test_only_takes_requirements_of_the_stack(text: str) -> None:
    with pytest.raises(ValueError, match="`"):
        parse_only((text,))
