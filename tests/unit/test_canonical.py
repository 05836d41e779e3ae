"""Files that are shared name the official places: no address of a mirror is left."""

from __future__ import annotations

from typing import Any

import pytest
from plans import package, plan

from gpuenv import matrices
from gpuenv.indexes.mirrors.canonical_urls import canonical_sources, channel_at
from gpuenv.indexes.mirrors.records import parse_mirror
from gpuenv.model.plan import Plan, Sources

MIRRORS = tuple(parse_mirror(row) for row in matrices.load("mirrors"))
NJU = "https://mirror.nju.edu.cn/pytorch/whl"
ALIYUN = "https://mirrors.aliyun.com/pytorch-wheels"
TUNA = "https://mirrors.tuna.tsinghua.edu.cn"
OFFICIAL = "https://download.pytorch.org/whl"


def mirrored(*links: str, index: str | None = None, **facts: Any) -> Plan:
    location = facts.pop("place", NJU)
    packages = (
        package("torch", "2.14.1+cu126", index=location),
        package("numpy", "2.3.0", None, index=index),
    )
    return plan(packages=packages, sources=Sources(index, facts.pop("extra", ()), links), **facts)


@pytest.mark.parametrize("place", [NJU, f"{NJU}/cu126", f"{ALIYUN}/cu126"])
def test_a_wheel_from_a_mirror_is_looked_for_at_the_official_page(place: str) -> None:
    sources = canonical_sources(mirrored(f"{place}/torch/", place=place), MIRRORS)
    assert sources.find_links == (f"{OFFICIAL}/cu126/torch/",)


def test_a_mirror_of_pypi_is_left_to_the_installers_default() -> None:
    sources = canonical_sources(mirrored(index=f"{TUNA}/pypi/web/simple"), MIRRORS)
    assert sources.index_url is None
    assert sources.extra_index_urls == ()


def test_what_lies_officially_stays() -> None:
    links = (f"{OFFICIAL}/torch/", f"{OFFICIAL}/torchvision/")
    sources = canonical_sources(mirrored(*links, place=OFFICIAL), MIRRORS)
    assert sources.find_links == links


def test_a_labs_own_index_stays_and_a_folder_of_this_machine_does_not() -> None:
    links = ("https://wheels.lab.example.com/", "/srv/wheels", "file:///srv/wheels")
    own, more = "https://pypi.lab.example.com/simple", "https://more.lab.example.com/simple"
    made = mirrored(*links, place=OFFICIAL, index=own, extra=(more,))
    sources = canonical_sources(made, MIRRORS)
    assert sources.index_url == "https://pypi.lab.example.com/simple"
    assert sources.extra_index_urls == ("https://more.lab.example.com/simple",)
    assert "https://wheels.lab.example.com/" in sources.find_links
    assert not any("srv" in link for link in sources.find_links)


def test_no_host_of_any_known_mirror_is_left() -> None:
    """Whatever address of theirs a plan names."""
    for mirror in (item for item in MIRRORS if item.kind != "official"):
        addresses = [mirror.torch.of_variant("cu126")] if mirror.torch else []
        addresses += [mirror.pypi.simple] if mirror.pypi and mirror.pypi.simple else []
        for address in addresses:
            made = mirrored(f"{address}/torch/", index=address, place=address, extra=(address,))
            text = str(canonical_sources(made, MIRRORS))
            assert not any(host in text for host in mirror.hosts), (mirror.name, text)


# conda's channels


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (f"{TUNA}/anaconda/cloud/conda-forge", "conda-forge"),
        (f"{TUNA}/anaconda/cloud/pytorch/", "pytorch"),
        (f"{TUNA}/anaconda/cloud/pytorch/linux-64/", "pytorch"),
        (f"{TUNA}/anaconda/pkgs/main", "defaults"),
        ("https://mirrors.sjtug.sjtu.edu.cn/anaconda/cloud/conda-forge", "conda-forge"),
        ("https://mirrors.sustech.edu.cn/anaconda-extra/cloud/nvidia", "nvidia"),
        ("https://conda.anaconda.org/bioconda", "bioconda"),
        (f"{TUNA}/anaconda", None),
        (f"{TUNA}/pypi/web/simple", None),
        ("https://conda.lab.example.com/ours", None),
        ("https://[", None),
    ],
)
def test_an_address_on_a_mirror_is_a_channels(url: str, name: str | None) -> None:
    assert channel_at(url, MIRRORS) == name
