"""What environments and files are called where many machines are at work."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import package, plan

from gpuenv.environments.store import check_name
from gpuenv.fleet.model import FleetGroup, FleetMachine, FleetPlan
from gpuenv.fleet.names import check_environment, file_names, group_names, placed
from gpuenv.fleet.saved_machines import shown_names
from gpuenv.model.errors import UsageError

PLAIN = st.from_regex(r"[a-z][a-z0-9-]{0,20}[a-z0-9]", fullmatch=True).filter(
    lambda name: not re.fullmatch("con|prn|aux|nul|com[0-9]|lpt[0-9]", name)
)


def fleet(*groups: tuple[str, str, str, str]) -> FleetPlan:
    """Return a fleet of these variants, platforms, Pythons and torches, with one machine in each group."""
    made = tuple(
        FleetGroup(
            platform,
            (number,),
            replace(plan(), variant=variant, python=python, packages=(package("torch", torch),)),
        )
        for number, (variant, platform, python, torch) in enumerate(groups)
    )
    return FleetPlan(tuple(FleetMachine(f"n{number}", "", None) for number in range(len(groups))), made, ())


@given(st.lists(st.text(max_size=300), unique=True, max_size=20))
def test_any_host_has_a_file_of_its_own_on_every_system(hosts: list[str]) -> None:
    names = file_names(tuple(hosts))
    assert list(names) == hosts
    assert len({name.lower() for name in names.values()}) == len(hosts)
    for name in names.values():
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*\.json", name)
        assert len(name) < 130
        check_name(name.removesuffix(".json"))


@given(st.lists(PLAIN, unique=True, max_size=20))
def test_a_host_of_a_plain_name_keeps_it(hosts: list[str]) -> None:
    assert file_names(tuple(hosts)) == {host: f"{host}.json" for host in hosts}


def test_hosts_that_differ_in_case_alone_do_not_share_a_file() -> None:
    first, second = file_names(("gpu1", "GPU1")).values()
    assert first == "gpu1.json"
    assert second.startswith("GPU1-")


@given(st.lists(st.text(max_size=100), unique=True, max_size=20))
def test_the_names_in_a_table_are_unlike_and_print(hosts: list[str]) -> None:
    names = shown_names(tuple(hosts))
    assert len(set(names)) == len(hosts)
    assert all(name.isprintable() and name for name in names)


def test_one_name_does_for_homes_of_their_own_and_for_one_group() -> None:
    two = fleet(("cu126", "linux-64", "3.11", "2.14.1+cu126"), ("cu130", "linux-64", "3.11", "2.15.0+cu130"))
    assert group_names("paper", two, shared_home=False) == {1: "paper", 2: "paper"}
    assert group_names("/envs/paper/", two, shared_home=True)[1] == "/envs/paper-cu126"
    assert group_names("paper", fleet(("cu126", "linux-64", "3.11", "2.14.1")), shared_home=True) == {
        1: "paper"
    }


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        (
            (("cu126", "linux-64", "3.11", "2.14.1"), ("cu130", "linux-64", "3.11", "2.15.0")),
            ["paper-cu126", "paper-cu130"],
        ),
        (
            (("cu130", "linux-64", "3.11", "2.15.0"), ("cu130", "linux-aarch64", "3.11", "2.15.0")),
            ["paper-cu130-linux-64", "paper-cu130-linux-aarch64"],
        ),
        (
            (("cu118", "linux-64", "3.8", "2.4.1"), ("cu118", "linux-64", "3.11", "2.7.1")),
            ["paper-cu118-linux-64-py3.8", "paper-cu118-linux-64-py3.11"],
        ),
    ],
)
def test_groups_on_a_shared_home_are_named_after_what_tells_them_apart(
    groups: tuple[tuple[str, str, str, str], ...], names: list[str]
) -> None:
    assert list(group_names("paper", fleet(*groups), shared_home=True).values()) == names


KINDS = st.tuples(
    st.sampled_from(["cu118", "cu126", "cpu"]),
    st.sampled_from(["linux-64", "linux-aarch64"]),
    st.sampled_from(["3.8", "3.11"]),
    st.sampled_from(["2.4.1+cu118", "2.14.1"]),
)


@given(st.lists(KINDS, min_size=2, max_size=8))
def test_groups_on_a_shared_home_never_share_a_name(groups: list[tuple[str, str, str, str]]) -> None:
    names = group_names("paper", fleet(*groups), shared_home=True)
    assert len(set(names.values())) == len(groups)
    for name in names.values():
        check_environment(name)


@pytest.mark.parametrize(
    "name", ["", "../x", "a/b", "~/x", "-x", "/", "/a/../b", "/a\nb", "con", "x y", "./x"]
)
def test_what_names_no_environment_on_other_machines_is_bad_usage(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_environment(name)
    assert caught.value.code == "bad-name"
    assert "`/FOLDER/NAME`" in caught.value.fixes[-1].text  # `./NAME` is none on other machines


def test_a_path_is_a_target_and_a_name_is_a_name() -> None:
    check_environment("/scratch/envs/paper")
    request = {"name": "/scratch/envs/paper", "force": False}
    assert placed(request, "/scratch/envs/paper") == {"target": "/scratch/envs/paper", "force": False}
    assert placed({"name": "paper"}, "paper") == {"name": "paper"}
