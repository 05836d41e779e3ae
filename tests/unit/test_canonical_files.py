"""A file of a mirror gets the official address; what lies on no known mirror stays where it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import locked_file, package

from gpuenv import matrices
from gpuenv.indexes.mirrors.canonical_urls import Official, canonical_file, canonical_pages, pypi_files_root
from gpuenv.indexes.mirrors.lookup import mirror_at
from gpuenv.indexes.mirrors.records import parse_mirror
from gpuenv.model.access import ANYBODY, Access
from gpuenv.model.plan import Sources

MIRRORS = tuple(parse_mirror(row) for row in matrices.load("mirrors"))
TORCH = "https://torch.example.com/whl"
OFFICIAL = Official(TORCH, "https://pypi.example.com/simple", "https://files.example.com/packages")
HASHED = f"ab/cd/{'0' * 60}"
WHEEL = "torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"


def address(url: str, version: str = "2.3.0", index: str | None = None) -> tuple[str, str | None] | None:
    made = package("numpy", version, None, url=url, index=index, filename=url.rpartition("/")[2])
    return canonical_file(made, OFFICIAL, MIRRORS)


@pytest.mark.parametrize(
    "root",
    [
        "https://mirrors.tuna.tsinghua.edu.cn/pypi/web/packages",
        "https://mirror.sjtu.edu.cn/pypi-packages",
        "https://mirrors.aliyun.com/pypi/packages",
        "https://mirrors.huaweicloud.com/repository/pypi/packages",
    ],
)
def test_mirrors_of_pypi_keep_the_path(root: str) -> None:
    assert address(f"{root}/{HASHED}/numpy-2.3.0-py3-none-any.whl") == (
        f"https://files.example.com/packages/{HASHED}/numpy-2.3.0-py3-none-any.whl",
        "https://pypi.example.com/simple",
    )


@pytest.mark.parametrize(
    "root",
    [
        "https://mirror.nju.edu.cn/pytorch/whl/cu126",
        "https://mirrors.aliyun.com/pytorch-wheels/cu126",
        "https://mirror.sjtu.edu.cn/pytorch-wheels/cu126",
        "https://s3.jcloud.sjtu.edu.cn/some/where",
    ],
)
def test_a_build_of_a_variant_lies_in_the_variants_folder(root: str) -> None:
    made = package("torch", "2.14.1+cu126", filename=WHEEL, url=f"{root}/{WHEEL}", index=root)
    assert canonical_file(made, OFFICIAL, MIRRORS) == (
        f"{TORCH}/cu126/{WHEEL.replace('+', '%2B')}",
        f"{TORCH}/cu126",
    )


def test_a_mirror_whose_links_lead_upstream_is_not_named() -> None:
    index = "https://mirror.nju.edu.cn/pytorch/whl/cu126"
    made = package("torch", "2.14.1+cu126", filename=WHEEL, url=f"{TORCH}/cu126/{WHEEL}", index=index)
    assert canonical_file(made, OFFICIAL, MIRRORS) == (f"{TORCH}/cu126/{WHEEL}", f"{TORCH}/cu126")


def test_what_can_not_be_told_is_not_guessed() -> None:
    flat = (
        "https://mirrors.aliyun.com/pytorch-wheels/cu126/triton-3.5.0-cp312-cp312-manylinux_2_27_x86_64.whl"
    )
    assert address(flat, "3.5.0") is None
    tuna = f"https://mirrors.tuna.tsinghua.edu.cn/pypi/web/packages/{HASHED}/numpy-2.3.0-py3-none-any.whl"
    made = package("numpy", "2.3.0", None, url=tuna, filename="numpy-2.3.0-py3-none-any.whl")
    assert canonical_file(made, replace(OFFICIAL, files=None), MIRRORS) is None


def test_a_labs_own_index_stays_without_its_password() -> None:
    location = address(
        "https://me:secret@lab.example.com/f/x.whl", index="https://me:secret@lab.example.com/simple"
    )
    assert location == ("https://lab.example.com/f/x.whl", "https://lab.example.com/simple")


@given(
    st.sampled_from([mirror for mirror in MIRRORS if mirror.kind != "official" and mirror.hosts]),
    st.text(max_size=40),
)
def test_no_address_of_a_mirror_comes_out(mirror: object, path: str) -> None:
    host = mirror.hosts[0]  # type: ignore[attr-defined]
    for version in ("2.3.0", "2.14.1+cu126"):
        location = address(f"https://{host}/{path}", version, f"https://{host}/simple")
        for value in location or ():
            known = mirror_at(value, MIRRORS) if value else None
            assert known is None or known.kind == "official"


@given(st.text(max_size=80))
def test_any_text_has_a_root_or_none(text: str) -> None:
    try:
        root = pypi_files_root(f"https://x.example.com/{text}")
    except ValueError:  # `//[`
        return
    assert root is None or root.startswith("https://x.example.com/")


def test_the_pages_of_the_pytorch_index_are_looked_into() -> None:
    files = (
        locked_file("torch", "2.14.1+cu126", index=f"{TORCH}/cu126"),
        locked_file("numpy", "2.3.0"),
        locked_file("mine", "1.0", index="/srv/wheels", url="file:///srv/wheels/mine-1.0-py3-none-any.whl"),
    )
    sources = canonical_pages(
        Sources(None, (), ("https://lab.example.com/x",), access=Access(ca_bundle="/x")), files, TORCH
    )
    assert sources.find_links == (f"{TORCH}/cu126/torch/", "/srv/wheels", "https://lab.example.com/x")
    assert sources.access == ANYBODY
