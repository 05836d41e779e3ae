"""Each of the 22 machines, from each set of mirrors that can serve it, against a network of replicas.

The plans are made in this process, which a subprocess for each would take minutes for; what they must hold is
read from the raw rows of the matrices (`mirrored.judge`), not from the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from index_server import dead_url
from mirrored import Planner, Table, best_of_pypi, judge, official_torch, tables, versions
from packaging.version import Version
from replica_network import Network
from sampling import every

from gpuenv import matrices
from gpuenv.formats.text import render_text
from gpuenv.model.errors import GpuenvError, Unreachable, Unsatisfiable
from gpuenv.model.plan import Plan

H100_535 = "table-12-h100-535"
SOME = ("table-01-k80-470", H100_535, "table-14-b200-570", "table-22-t4-418")
TORCH_MIRRORS = ("nju", "aliyun", "sjtu")


@pytest.fixture
def planner(tmp_path: Path, network: Network, isolation: None) -> Planner:
    made = Planner(tmp_path / "user", network)
    made.configure()
    return made


def table(name: str) -> Table:
    return next(item for item in tables() if item.name == name)


def compared(item: Table, outcome: Plan | GpuenvError, network: Network, *allowed: str) -> list[str]:
    """Say where an outcome is not what the official indexes give."""
    if item.official is None:
        return [] if isinstance(outcome, Unsatisfiable) else [f"{item.name}: no refusal but {outcome}"]
    if isinstance(outcome, GpuenvError):
        return [f"{item.name}: {outcome.message}"]
    value = judge(outcome, item, network, *allowed)
    if versions(outcome) != item.official:
        value.append(f"{versions(outcome)}, where the official index gives {item.official}")
    return [f"{item.name}: {fault}" for fault in value]


# a torch mirror, and Tsinghua for the rest


@pytest.mark.slow
@pytest.mark.parametrize("mirror", every(3, TORCH_MIRRORS, first=1))
def test_a_torch_mirror_and_tsinghua_give_each_machine_what_the_official_index_gives(
    planner: Planner, network: Network, mirror: str
) -> None:
    faults = []
    for item in tables():
        outcome = planner.outcome(item, mirror, "tuna")
        faults += compared(item, outcome, network, mirror)
        if isinstance(outcome, Plan):
            assert outcome.sources.index_url == network.address("pypi:tuna")
            assert not outcome.sources.extra_index_urls
    assert not faults
    assert set(network.asked()) <= {mirror, "tuna", "sjtu_store"}


@pytest.mark.slow
def test_what_official_serves_is_served_by_official(planner: Planner, network: Network) -> None:
    faults = []
    for name in SOME:
        item = table(name)
        faults += compared(item, planner.outcome(item, "official"), network, "r2")
    assert not faults
    assert set(network.asked()) <= {"official", "pypi", "r2"}


@pytest.mark.slow
def test_a_mirror_of_both_needs_no_second(planner: Planner, network: Network) -> None:
    plan = planner.plan(table(H100_535), "nju")
    assert judge(plan, table(H100_535), network, "nju") == []
    assert plan.sources.index_url == network.address("pypi:nju")
    assert set(network.asked()) == {"nju"}


# Tsinghua alone


@pytest.mark.slow
def test_tsinghua_alone_serves_each_machine_that_a_build_of_pypi_runs_on(
    planner: Planner, network: Network
) -> None:
    faults, served = [], 0
    for item in with_gpu():
        outcome = planner.outcome(item, "tuna")
        best = best_of_pypi(item, network.shelf("tuna"))
        if best is None:
            faults += [] if isinstance(outcome, Unsatisfiable) else [f"{item.name}: {outcome}"]
        elif isinstance(outcome, GpuenvError):
            faults.append(f"{item.name}: {outcome.message}")
        else:
            served += 1
            faults += [f"{item.name}: {fault}" for fault in judge(outcome, item, network, "tuna")]
            if Version(official_torch(versions(outcome))) != best:
                faults.append(f"{item.name}: {versions(outcome)}, where {best} runs")
    assert not faults
    assert served == 18  # of 22; the official index refuses three, and one has no GPU
    assert set(network.asked()) == {"tuna"}


def with_gpu() -> list[Table]:
    """Those that have a GPU and a driver to say what runs there."""
    return [item for item in tables() if item.machine.gpus]


@pytest.mark.slow
def test_tsinghua_alone_gives_a_machine_without_gpu_the_cuda_build_and_says_so(
    planner: Planner, network: Network
) -> None:
    """PyPI has no CPU build for Linux; its build for CUDA runs without a GPU too, and is gigabytes larger."""
    item = table("table-21-no-gpu")
    plan = planner.plan(item, "tuna")
    assert "cuda-build-on-cpu" in [warning.code for warning in plan.warnings]
    assert judge(plan, item, network, "tuna") == []


@pytest.mark.parametrize("name", every(3, (H100_535, "table-02-gtx-1080-ti-580", "table-06-v100-450")))
def test_a_plan_from_pypi_alone_says_why_and_what_the_official_index_would_give(
    planner: Planner, network: Network, name: str
) -> None:
    plan = planner.plan(table(name), "tuna")
    message = " ".join((render_text(plan), *(item.text for item in (*plan.why, *plan.advice))))
    message += " ".join(warning.message for warning in plan.warnings)
    official = table(name).official
    assert official is not None
    assert official_torch(official) in message
    assert "official" in message or network.address("torch:official") in message or "pytorch.org" in message


# other sets


@pytest.mark.parametrize("name", every(2, SOME, first=1))
def test_the_mirrors_are_taken_in_the_order_given(planner: Planner, network: Network, name: str) -> None:
    item = table(name)
    for order in (("nju", "aliyun", "tuna"), ("aliyun", "nju", "tuna"), ("tuna", "sjtu", "nju")):
        torch = next(mirror for mirror in order if mirror != "tuna")
        outcome = planner.outcome(item, *order)
        assert compared(item, outcome, network, torch) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "mirror"),
    every(5, product((H100_535, "table-01-k80-470"), ("nju", "aliyun", "sjtu", "cernet"))),
)
def test_a_mirror_may_be_named_by_its_host_or_any_other_word_for_it(
    planner: Planner, network: Network, name: str, mirror: str
) -> None:
    item = table(name)
    location = "nju" if mirror == "cernet" else mirror
    for word in (mirror.upper(), network.replicas[mirror].host):
        outcome = planner.outcome(item, word, "tsinghua")
        assert compared(item, outcome, network, mirror, location) == []


# layouts by address: replica, path, the machine
ADDRESSES = (
    ("elsewhere", "/whl", H100_535),
    ("elsewhere", "/whl/", H100_535),
    ("elsewhere", "/whl/cu126", H100_535),
    ("elsewhere", "/whl/torch_stable.html", "table-01-k80-470"),
    ("elsewhere", "/whl/torch_stable.html", "table-22-t4-418"),
    ("elsewhere", "/pub/torch/cu126/", H100_535),
    ("elsewhere", "/pub/torch/cu126", H100_535),
    ("elsewhere", "/pub/torch/cu118", "table-01-k80-470"),
    ("nju", "/pytorch/whl", H100_535),
    ("nju", "/pytorch/whl/cu126", H100_535),
    ("aliyun", "/pytorch-wheels", H100_535),
    ("aliyun", "/pytorch-wheels/cu126", H100_535),
    ("aliyun", "/pytorch-wheels/cu118/", "table-01-k80-470"),
    ("sjtu", "/pytorch-wheels", H100_535),
    ("sjtu", "/pytorch-wheels/cu126", H100_535),
    ("sjtu", "/pytorch-wheels/torch_stable.html", "table-01-k80-470"),
    ("sjtu", "/pytorch-wheels/cu126/?mirror_intel_list", H100_535),
    ("cernet", "/pytorch/whl/cu126", H100_535),
)


@pytest.mark.slow
@pytest.mark.parametrize(("replica", "path", "name"), every(4, ADDRESSES))
def test_every_layout_is_read_at_its_address(
    planner: Planner, network: Network, replica: str, path: str, name: str
) -> None:
    item = table(name)
    address = network.replicas[replica].url + path
    outcome = planner.outcome(item, address, network.address("pypi:tuna"))
    allowed = {replica, "nju" if replica == "cernet" else replica}
    assert compared(item, outcome, network, *allowed) == []


@pytest.mark.slow
def test_the_digests_that_a_listing_lacks_are_those_known_from_elsewhere(
    planner: Planner, network: Network
) -> None:
    """Aliyun tells none; the matrix knows those of torch 2.7.1, another mirror those of 2.14.1."""
    known = {
        row["filename"]: row.get("sha256") for row in matrices.load("wheels") if row["index"] == "pytorch"
    }
    plan = planner.plan(table("table-08-a100-470"), "aliyun", "tuna")
    torch = plan.packages[0]
    assert network.replica_of(str(torch.url)) == "aliyun"
    assert torch.sha256 == known[str(torch.filename)] is not None
    beside = planner.plan(table(H100_535), "aliyun", "nju", "tuna")
    assert network.replica_of(str(beside.packages[0].url)) == "aliyun"
    assert judge(beside, table(H100_535), network, "aliyun") == []


# auto


@pytest.mark.slow
@pytest.mark.parametrize("state", every(3, ("slow", "reset", "hang"), first=1))
def test_official_that_is_slow_or_dead_stops_no_plan(planner: Planner, network: Network, state: str) -> None:
    with network.down("official", "r2", "pypi", "pypi_files", fault=state):  # type: ignore[arg-type]
        for name in SOME if state == "reset" else SOME[1:2]:
            item = table(name)
            outcome = planner.outcome(item, "auto")
            allowed = ("r2", *TORCH_MIRRORS) if state == "slow" else TORCH_MIRRORS
            assert compared(item, outcome, network, *allowed) == []


@pytest.mark.slow
def test_auto_is_official_where_official_answers(planner: Planner, network: Network) -> None:
    for name in SOME:
        outcome = planner.outcome(table(name), "auto")
        assert compared(table(name), outcome, network, "r2") == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["reset", "403"])
def test_mirrors_stand_in_by_themselves_where_the_torch_index_does_not_answer(
    planner: Planner, network: Network, fault: str
) -> None:
    item = table(H100_535)
    with network.down("official", "r2", fault=fault):  # type: ignore[arg-type]
        plan = planner.plan(item)
    assert compared(item, plan, network, "pypi_files", *TORCH_MIRRORS) == []
    said = next(warn.message for warn in plan.warnings if warn.code == "mirror-stands-in")
    assert f"{network.official.host} could not be reached; torch comes from the mirror" in said


@pytest.mark.slow
@pytest.mark.parametrize("fault", every(2, ("reset", "403")))
def test_auto_takes_the_newest_torch_of_any_mirror_that_answers(
    planner: Planner, network: Network, fault: str
) -> None:
    """A mirror that is behind is passed over, however fast it is."""
    item = table(H100_535)
    with (
        network.down("official", "r2", "pypi", "pypi_files", fault=fault),  # type: ignore[arg-type]
        network.stale("nju", "2.12"),
        network.stale("aliyun", "2.12"),
        network.down("cernet"),
    ):
        for words in ((), ("auto",)):
            plan = planner.plan(item, *words)
            assert versions(plan)["torch"] == (item.official or {})["torch"]
            assert network.replica_of(str(plan.packages[0].url)) == "sjtu"


@pytest.mark.slow
def test_where_no_mirror_answers_either_it_is_said_once(planner: Planner, network: Network) -> None:
    mirrors = ("nju", "aliyun", "sjtu", "cernet", "tuna", "huawei", "nvidia", "elsewhere")
    with network.down("official", "r2", *mirrors):
        with network.down("pypi", "pypi_files"):
            outcome = planner.outcome(table(H100_535))
        plan = planner.plan(table(H100_535))
    assert isinstance(outcome, Unreachable)
    assert len(outcome.because) == 3
    assert outcome.because[-1].text.startswith("none of the mirrors responded either")
    assert "+" not in versions(plan)["torch"]
    answers = [warn.message for warn in plan.warnings if warn.code != "left-out" and "mirror" in warn.message]
    assert answers == [f"{network.official.host} could not be reached, and no mirror either"]


@pytest.mark.parametrize("way", ["official", "own index", "no index", "offline"])
def test_no_mirror_is_asked_where_something_is_said_against_it(
    planner: Planner, network: Network, way: str
) -> None:
    more = {"own index": {"PIP_INDEX_URL": "https://own.example/simple"}, "no index": {"PIP_NO_INDEX": "1"}}
    with network.down("official", "r2"):
        words = ("official",) if way == "official" else ()
        planner.outcome(table(H100_535), *words, more=more.get(way), offline=way == "offline")
    assert not set(network.asked()) & {"nju", "aliyun", "sjtu", "cernet", "tuna"}


@pytest.mark.slow
def test_auto_begins_with_what_the_user_has_configured(planner: Planner, network: Network) -> None:
    """What pip is configured to use serves everything but torch, which it does not carry."""
    item = table(H100_535)
    plan = planner.plan(item, "auto", more={"PIP_INDEX_URL": network.address("pypi:tuna")})
    assert compared(item, plan, network, "r2", *TORCH_MIRRORS) == []
    assert plan.sources.index_url == network.address("pypi:tuna")


@pytest.fixture(autouse=True)
def _nothing_asked_yet(network: Network) -> Iterator[None]:
    network.forget()
    yield
    assert not any(replica.faults for replica in network.replicas.values())


@pytest.mark.slow
def test_auto_takes_the_mirror_whose_wheels_come_fastest(planner: Planner, network: Network) -> None:
    """FM42: pages and wheels lie on different machines; the first to answer may be the slowest."""
    item = table(H100_535)
    with (
        network.down("official", "r2", "pypi", "pypi_files"),
        network.failing("nju", "trickle", ".whl"),
        network.failing("aliyun", "slow"),
        network.down("sjtu", "cernet"),
    ):
        plan = planner.plan(item, "auto")
    assert compared(item, plan, network, "aliyun") == []


@pytest.mark.slow
def test_a_mirror_that_is_down_is_passed_over(planner: Planner, network: Network) -> None:
    item = table(H100_535)
    with network.down("nju"):
        plan = planner.plan(item, "nju", "sjtu", "tuna")
        assert compared(item, plan, network, "sjtu") == []
        assert any("nju" in warn.message or network.nju.host in warn.message for warn in plan.warnings)
    plan = planner.plan(item, f"{dead_url()}/whl", "nju", "tuna")
    assert compared(item, plan, network, "nju") == []


@pytest.mark.slow
def test_offline_a_mirror_of_pypi_alone_gives_pypi_s_own_build(planner: Planner) -> None:
    item = table(H100_535)
    assert "+" not in versions(planner.plan(item, "tuna", offline=True))["torch"]
    assert "+" in versions(planner.plan(item, "nju", "tuna", offline=True))["torch"]
    assert "+" in versions(planner.plan(item, offline=True))["torch"]
