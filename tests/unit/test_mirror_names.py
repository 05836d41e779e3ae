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
from gpuenv.core.mirror_names import correction, find_mirror, is_bogus, mirror_of_url, near_names
from gpuenv.core.mirror_rows import parse_mirror, parse_own_mirror

ROWS = matrices.load("mirrors")
MIRRORS = tuple(parse_mirror(row) for row in ROWS)
OWN: Mapping[str, Any] = {
    "name": "lab",
    "pypi": {"simple": "https://mirror.lab.example/simple"},
    "torch": {"address": "https://wheels.lab.example/{variant}", "layout": "flat"},
}


def test_the_mirrors_that_people_use_are_there() -> None:
    asked = "Tsinghua BFSU USTC SJTU NJU Aliyun HUST ZJU Tencent Huawei SUSTech CERNET nvidia official"
    found = {name: find_mirror(name, MIRRORS) for name in asked.split()}
    assert [name for name, mirror in found.items() if mirror is None] == []
    dead = {one.name for one in MIRRORS if one.status == "retired"}
    assert dead >= {"douban", "hustunique"}


def test_no_word_means_two_mirrors() -> None:
    words = [word for one in MIRRORS for word in (one.name, *one.aliases, *one.hosts, *one.intranet)]
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
    assert {urlsplit(one).scheme for one in addresses} == {"https"}


@pytest.mark.parametrize("word", ["TUNA", " tsinghua ", "pypi.tuna.tsinghua.edu.cn"])
def test_a_mirror_is_found_by_name_alias_and_host_in_any_case(word: str) -> None:
    found = find_mirror(word, MIRRORS)
    assert found is not None
    assert found.name == "tuna"


def test_a_misspelt_name_has_near_ones() -> None:
    assert find_mirror("tsingua", MIRRORS) is None
    assert near_names("tsingua", MIRRORS)[0] == "tuna"


def test_every_address_of_a_mirror_leads_back_to_it() -> None:
    for mirror in MIRRORS:
        for part in (mirror.pypi and mirror.pypi.simple, mirror.torch and mirror.torch.of_variant("cu126")):
            if part:
                found = mirror_of_url(f"{part}/torch/", MIRRORS)
                assert found is not None
                assert found.name == mirror.name


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


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("lab", "no table"),
        ({"pypi": OWN["pypi"]}, "`name` is missing"),
        ({"name": "lab"}, "none of the parts"),
        ({**OWN, "name": "../lab"}, "`name`"),
        ({**OWN, "pypi": "https://mirror.lab.example"}, "`pypi`: "),
        ({**OWN, "pypi": {"simple": "mirror.lab.example"}}, "`simple`: `mirror.lab.example` is no address"),
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
    for address in (word, f"https://{word.replace('[', '').replace(']', '')}/simple"):
        try:
            urlsplit(address)
        except ValueError:
            continue
        mirror_of_url(address, MIRRORS)
        correction(address, MIRRORS)
