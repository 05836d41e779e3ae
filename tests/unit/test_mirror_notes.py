"""A mirror whose pages lead away from it comes last and is told of, with where they lead."""

from __future__ import annotations

from typing import Any

import pytest
from building import case, found, listing
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from published import wheel

from gpuenv.indexes.mirrors.notes import (
    hosts_elsewhere,
    strayed_last,
    warn_of_strays,
    what_official_has,
    why_no_torch_wheels,
)
from gpuenv.indexes.mirrors.records import parse_own_mirror
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.mirror import Mirror
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.decision import Solution

NAME = "torch-2.7.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
OWN = "https://lab.example/whl/cu126/"


def page(*places: str, hosts: tuple[str, ...] = ("lab.example",), read_at: str | None = None) -> Listing:
    files = tuple(replace(wheel(NAME), url=f"{location}{NAME}") for location in places)
    source = IndexSource("pytorch", "https://lab.example/whl/cu126", "the test", "lab", hosts=hosts)
    return replace(listing(*files, read_at=read_at), source=source)


def choice(torch: str, variant: str = "cu126", index: str = "pytorch") -> Solution:
    made = case(torch, variant, index=index)
    local = f"+{variant}" if index == "pytorch" else ""
    file = found(f"torch-{torch}{local}-cp312-cp312-manylinux_2_28_x86_64.whl")
    return Solution(made, PythonOffer("3.12"), file, (), native=True, through_ptx=(), known_bad=())


def lab(name: str = "lab", **parts: Any) -> Mirror:
    given = parts or {"pypi": {"simple": f"https://{name}.example/simple"}}
    return parse_own_mirror({"name": name, **given}, f"{name}'s page")


@pytest.mark.parametrize(
    ("made", "hosts"),
    [
        (page(OWN, OWN), ()),
        (page(), ()),
        (page("https://LAB.example:443/whl/"), ()),
        (page("whl/", "file:///mnt/whl/", ""), ()),
        (page(OWN, "https://up.example/"), ("up.example",)),
        (page("https://up.example/", "https://more.example/"), ("up.example", "more.example")),
        (page("https://up.example/", "https://up.example/"), ("up.example",)),
        (page("https://up.example/", hosts=()), ()),
        (page("https://up.example/", hosts=("lab.example", "up.example")), ()),
        (page(OWN, read_at="https://up.example/whl/torch/"), ("up.example",)),
        (page(OWN, read_at="https://lab.example/other/"), ()),
    ],
)
def test_the_hosts_that_a_page_leads_to_and_that_are_not_the_mirrors_are_found(
    made: Listing, hosts: tuple[str, ...]
) -> None:
    assert hosts_elsewhere(made) == hosts
    assert bool(warn_of_strays((made,))) is bool(hosts)


@given(st.lists(st.booleans(), max_size=6))
def test_listings_that_lead_away_come_last_and_no_other_order_changes(strays: list[bool]) -> None:
    listings = tuple(
        replace(page("https://up.example/" if stray else OWN), page=str(position))
        for position, stray in enumerate(strays)
    )
    ordered = strayed_last(listings)
    assert sorted(map(id, ordered)) == sorted(map(id, listings))
    led = [bool(hosts_elsewhere(item)) for item in ordered]
    assert led == sorted(led)
    for kind in (False, True):
        places = [int(item.page) for item in ordered if bool(hosts_elsewhere(item)) is kind]
        assert places == sorted(places)


def test_each_way_of_leading_away_is_told_once_with_the_mirror_and_the_host() -> None:
    leaks, redirects = page("https://up.example/"), page(OWN, read_at="https://up.example/whl/torch/")
    warnings = warn_of_strays((leaks, leaks, redirects, page(OWN)))
    assert [warning.code for warning in warnings] == ["mirror-leaks", "mirror-redirects"]
    assert all("`lab`" in warning.message and "up.example" in warning.message for warning in warnings)


def test_an_index_without_a_name_is_told_by_its_address() -> None:
    made = page("https://up.example/")
    nameless = replace(made, source=replace(made.source, name=None))
    assert "https://lab.example/whl/cu126" in warn_of_strays((nameless,))[0].message


def test_that_no_mirror_has_torch_wheels_is_said_of_pypis_build_alone() -> None:
    plain, den = lab(), lab("den")
    (why,) = why_no_torch_wheels(choice("2.7.1", index="pypi"), (plain, den))
    for word in ("`lab`", "`den`", "2.7.1", "cu126"):
        assert word in why.text
    assert why.source == "lab's page; den's page"
    assert why_no_torch_wheels(choice("2.7.1"), (plain,)) == ()
    assert why_no_torch_wheels(choice("2.7.1", index="pypi"), ()) == ()
    torch = lab(torch={"address": "https://lab.example/whl/{variant}", "layout": "flat"})
    assert why_no_torch_wheels(choice("2.7.1", index="pypi"), (plain, torch)) == ()


@pytest.mark.parametrize(
    ("official", "told"),
    [
        (choice("2.8.0"), "torch 2.8.0+cu126"),
        (choice("2.7.1", "cu128"), "torch 2.7.1+cu128"),
        (choice("2.10.0", "cu118"), "torch 2.10.0+cu118"),
        (choice("2.7.1"), None),
        (choice("2.7.1", index="pypi"), None),
        (choice("2.6.0", "cu128"), None),
        (None, None),
    ],
)
def test_what_the_official_index_has_is_said_where_it_is_better(
    official: Solution | None, told: str | None
) -> None:
    advice = what_official_has(choice("2.7.1"), official)
    assert [item.needs for item in advice] == (["--mirror official"] if told else [])
    assert all(told in item.text for item in advice if told)
