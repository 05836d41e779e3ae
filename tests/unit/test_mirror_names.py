"""Mirrors: rows and own entries are read alike, and words and addresses find them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv import matrices
from gpuenv.indexes.mirrors.lookup import correction, find_mirror, is_bogus, mirror_of_url, near_names
from gpuenv.indexes.mirrors.records import parse_mirror, parse_own_mirror
from gpuenv.model.mirror import Mirror

ROWS = matrices.load("mirrors")
MIRRORS = tuple(parse_mirror(row) for row in ROWS)
OWN: Mapping[str, Any] = {
    "name": "lab",
    "pypi": {"simple": "https://mirror.lab.example/simple"},
    "torch": {"address": "https://wheels.lab.example/{variant}", "layout": "flat"},
}


def test_the_mirrors_that_people_use_are_there() -> None:
    requested = "Tsinghua BFSU USTC SJTU NJU Aliyun HUST ZJU Tencent Huawei SUSTech CERNET nvidia official"
    mirrors = {name: find_mirror(name, MIRRORS) for name in requested.split()}
    assert [name for name, mirror in mirrors.items() if mirror is None] == []
    dead = {mirror.name for mirror in MIRRORS if mirror.status == "retired"}
    assert dead >= {"douban", "hustunique"}


def test_no_word_means_two_mirrors() -> None:
    words = [
        word for mirror in MIRRORS for word in (mirror.name, *mirror.aliases, *mirror.hosts, *mirror.intranet)
    ]
    assert len(words) == len(set(words))


def test_no_address_is_plain_http() -> None:
    addresses = [
        address
        for row in ROWS
        for part in ("pypi", "torch", "conda")
        for address in (row.get(part) or {}).values()
        if isinstance(address, str) and "://" in address
    ]
    assert addresses
    assert {urlsplit(address).scheme for address in addresses} == {"https"}


@pytest.mark.parametrize("word", ["TUNA", " tsinghua ", "pypi.tuna.tsinghua.edu.cn"])
def test_a_mirror_is_found_by_name_alias_and_host_in_any_case(word: str) -> None:
    mirror = find_mirror(word, MIRRORS)
    assert mirror is not None
    assert mirror.name == "tuna"


def test_a_misspelt_name_has_near_ones() -> None:
    assert find_mirror("tsingua", MIRRORS) is None
    assert near_names("tsingua", MIRRORS)[0] == "tuna"


def test_every_address_of_a_mirror_leads_back_to_it() -> None:
    for mirror in MIRRORS:
        for part in (mirror.pypi and mirror.pypi.simple, mirror.torch and mirror.torch.of_variant("cu126")):
            if part:
                result = mirror_of_url(f"{part}/torch/", MIRRORS)
                assert result is not None
                assert result.name == mirror.name


def test_wrong_addresses_that_people_copy_are_known() -> None:
    tuna, sjtu = (find_mirror(name, MIRRORS) for name in ("tuna", "sjtu"))
    assert tuna
    assert tuna.pypi
    assert correction("https://mirrors.tuna.tsinghua.edu.cn/pypi/simple/", MIRRORS) == tuna.pypi.simple
    assert sjtu
    assert sjtu.torch
    wrong = "https://mirror.sjtu.edu.cn/pytorch-wheels/whl/cu124"
    assert correction(wrong, MIRRORS) == sjtu.torch.of_variant("cu124")
    assert is_bogus("https://mirrors.tuna.tsinghua.edu.cn/pytorch/whl/cu121", MIRRORS) == tuna
    for mirror in MIRRORS:
        right = mirror.pypi.simple if mirror.pypi else None
        assert right is None or correction(right, MIRRORS) is None


def test_an_own_mirror_needs_a_name_and_a_part_and_its_hosts_are_those_of_its_addresses() -> None:
    lab = parse_own_mirror(OWN, "config.toml")
    assert (lab.kind, lab.status, lab.source) == ("own", "alive", "config.toml")
    assert lab.hosts == ("mirror.lab.example", "wheels.lab.example")
    assert lab.torch
    assert lab.torch.of_variant("cu126") == "https://wheels.lab.example/cu126"


def test_hosts_are_the_same_in_any_case() -> None:
    pypi = {"simple": "https://Mirror.lab.example/simple", "files": ["Files.lab.example"]}
    lab = own(pypi=pypi, hosts=["Mirror.lab.example"], intranet=["IN.lab.example"])
    assert lab.pypi
    assert (lab.hosts, lab.intranet, lab.pypi.files) == (
        ("mirror.lab.example",), ("in.lab.example",), ("files.lab.example",),
    )  # fmt: skip
    assert find_mirror("MIRROR.lab.example", (lab,)) == lab


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("lab", "not a table"),
        ({"pypi": OWN["pypi"]}, "`name` is missing"),
        ({"name": "lab"}, "none of the parts"),
        ({**OWN, "name": "../lab"}, "`name`"),
        ({**OWN, "pypi": "https://mirror.lab.example"}, "`pypi`: "),
        (
            {**OWN, "pypi": {"simple": "mirror.lab.example"}},
            "`simple`: `mirror.lab.example` is not a valid address",
        ),
        ({**OWN, "torch": {"address": "https://a.example/whl", "layout": "flat"}}, "{variant}"),
        ({**OWN, "torch": {"address": "https://a.example/whl", "layout": "deep"}}, "`layout`"),
        ({**OWN, "trusted": True}, "unknown: `trusted`"),
    ],
)
def test_what_is_wrong_with_an_own_mirror_is_named(entry: object, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        parse_own_mirror(entry, "config.toml")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def own(name: str = "lab", **fields: Any) -> Mirror:
    return parse_own_mirror({"name": name, **fields}, "config.toml")


@pytest.mark.parametrize("variant", ["cu118", "cu126", "cpu", "CU130"])
def test_an_address_known_to_be_wrong_is_wrong_for_every_variant(variant: str) -> None:
    sjtu, tuna = (find_mirror(name, MIRRORS) for name in ("sjtu", "tuna"))
    assert sjtu
    assert sjtu.torch
    wrong = f"https://mirror.sjtu.edu.cn/pytorch-wheels/whl/{variant}"
    assert correction(wrong, MIRRORS) == sjtu.torch.of_variant(variant.lower())
    assert correction(f"{wrong}/", MIRRORS) == correction(wrong, MIRRORS)
    for below in ("", "/", "/torch/"):
        assert is_bogus(f"https://mirrors.tuna.tsinghua.edu.cn/pytorch/whl/{variant}{below}", MIRRORS) == tuna


@pytest.mark.parametrize(
    "url",
    [
        "https://mirrors.tuna.tsinghua.edu.cn/pytorch/whl-cu121",
        "https://mirrors.tuna.tsinghua.edu.cn/pytorch",
        "https://mirrors.tuna.tsinghua.edu.cn/pytorch/whl/simple",
        "https://mirrors.tuna.tsinghua.edu.cn/pytorch-wheels-too/cu121",
        "https://mirrors.tuna.tsinghua.edu.cn",
    ],
)
def test_what_merely_looks_like_an_address_in_circulation_is_not_one(url: str) -> None:
    assert is_bogus(url, MIRRORS) is None


def test_the_folder_above_the_variants_is_put_right_too() -> None:
    wrong = "https://mirror.sjtu.edu.cn/pytorch-wheels/whl"
    assert correction(wrong, MIRRORS) == "https://mirror.sjtu.edu.cn/pytorch-wheels"
    assert correction(f"{wrong}/torch", MIRRORS) is None


def test_a_right_address_without_folders_for_variants_keeps_the_variant() -> None:
    torch = {
        "address": "https://lab.example/whl", "layout": "pep503", "wrong": ["https://lab.example/torch/cu121"]
    }  # fmt: skip
    lab = own(torch=torch)
    assert correction("https://lab.example/torch/cu126", (lab,)) == "https://lab.example/whl/cu126"
    page = own(torch={**torch, "address": "https://lab.example/torch_stable.html", "layout": "page"})
    assert correction("https://lab.example/torch/cu126", (page,)) == "https://lab.example/torch_stable.html"


def test_no_right_address_is_taken_for_a_wrong_one() -> None:
    for mirror in MIRRORS:
        for variant in ("cu118", "cu126", "cpu"):
            if mirror.torch:
                right = mirror.torch.of_variant(variant)
                assert correction(right, MIRRORS) is None
                assert is_bogus(right, MIRRORS) is None


def test_of_two_mirrors_on_a_host_that_counts_whose_folder_an_address_lies_in() -> None:
    short = own("short", pypi={"simple": "https://nexus.example/repository/pypi"})
    long = own("long", pypi={"simple": "https://nexus.example/repository/pypi-torch"})
    for mirrors in ((short, long), (long, short)):
        for url, wanted in (
            ("https://nexus.example/repository/pypi/simple", short),
            ("https://nexus.example/repository/pypi-torch", long),
            ("https://nexus.example/repository/pypi-torch/torch/", long),
            ("HTTPS://NEXUS.example/repository/pypi-torch/", long),
            ("https://user:word@nexus.example/repository/pypi-torch/", long),
            ("https://nexus.example/repository/pypi?token=x", short),
        ):
            assert mirror_of_url(url, mirrors) == wanted


def test_a_port_tells_mirrors_of_one_host_apart() -> None:
    first, second = (
        own(name, pypi={"simple": f"http://127.0.0.1:{port}/simple"}, hosts=["example.com"])
        for name, port in (("first", 8001), ("second", 8002))
    )
    assert mirror_of_url("http://me:word@127.0.0.1:8002/simple/torch/", (first, second)) == second
    assert mirror_of_url("http://127.0.0.1:8003/simple", (first, second)) is None


@pytest.mark.parametrize("url", ["https://[x", "https://[::1", "http://[]/", "//[", "https://x]/"])
def test_what_is_no_address_lies_on_no_mirror(url: str) -> None:
    assert mirror_of_url(url, MIRRORS) is None
    assert correction(url, MIRRORS) is None
    assert is_bogus(url, MIRRORS) is None


def test_slashes_at_the_end_of_an_own_mirrors_addresses_do_not_count() -> None:
    lab = own(
        pypi={"simple": "https://lab.example/simple/", "aliases": ["https://lab.example/pypi//"]},
        torch={"address": "https://lab.example/whl/{variant}/", "layout": "flat"},
        conda={"root": "https://lab.example/conda/", "elsewhere": {"pytorch": "https://lab.example/c/"}},
        bogus=["https://lab.example/torch/"],
    )
    assert lab.pypi
    assert (lab.pypi.simple, lab.pypi.aliases) == (
        "https://lab.example/simple",
        ("https://lab.example/pypi",),
    )
    assert lab.torch
    assert lab.torch.address == "https://lab.example/whl/{variant}"
    assert lab.conda
    assert (lab.conda.root, lab.conda.elsewhere) == (
        "https://lab.example/conda", (("pytorch", "https://lab.example/c"),),
    )  # fmt: skip
    assert lab.bogus == ("https://lab.example/torch",)


def test_an_own_entry_named_like_a_shipped_mirror_keeps_what_is_known_of_it() -> None:
    sjtu = find_mirror("sjtu", MIRRORS)
    assert sjtu
    simple = {"simple": "https://cache.lab.example/sjtu/simple"}
    mine = parse_own_mirror({"name": "sjtu", "pypi": simple}, "config.toml", shipped=sjtu)
    for field in ("title", "kind", "aliases", "bogus", "missing_status", "faults"):
        assert getattr(mine, field) == getattr(sjtu, field)
    assert (mine.status, mine.source, mine.hosts) == ("alive", "config.toml", ("cache.lab.example",))
    assert (mine.torch, mine.conda) == (None, None)


def test_what_an_own_entry_says_goes_before_what_is_known() -> None:
    douban = find_mirror("douban", MIRRORS)
    facts = {"name": "douban", "pypi": OWN["pypi"], "title": "ours", "missing_status": [], "aliases": ["db"]}
    mine = parse_own_mirror(facts, "config.toml", shipped=douban)
    assert (mine.title, mine.missing_status, mine.aliases, mine.status) == ("ours", (), ("db",), "alive")


@given(st.dictionaries(st.sampled_from([*OWN, "conda", "hosts", "faults", "status"]), _JSON))
def test_any_entry_is_read_or_refused(entry: dict[str, Any]) -> None:
    try:
        mirror = parse_own_mirror({**OWN, **entry}, "config.toml")
    except ValueError:
        return
    assert mirror.name
    assert mirror.pypi or mirror.torch or mirror.conda


@given(st.text(max_size=40))
def test_any_word_and_any_address_may_be_asked_about(word: str) -> None:
    find_mirror(word, MIRRORS)
    near_names(word, MIRRORS)
    for address in (word, f"https://{word}/simple", f"https://mirrors.tuna.tsinghua.edu.cn/{word}"):
        mirror_of_url(address, MIRRORS)
        correction(address, MIRRORS)
        is_bogus(address, MIRRORS)
