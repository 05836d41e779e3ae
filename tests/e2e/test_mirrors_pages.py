"""Mirrors whose pages are wrong: the plan is made from another, and says which was at fault and how."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from index_server import dead_url
from replica_network import Network
from replica_server import Fault
from running import Done, Program
from sampling import every

H100 = ("--driver", "535.104.05", "--gpu", "9.0")
BEST = "2.14.1+cu126"


@pytest.fixture(autouse=True)
def _nothing_asked_yet(network: Network) -> None:
    network.forget()


def plan(user: Program, *mirrors: str, more: tuple[str, ...] = (), machine: tuple[str, ...] = H100) -> Done:
    named = [word for mirror in mirrors for word in ("--mirror", mirror)]
    return user.run("plan", *more, "--json", *machine, *named)


def torch_from(done: Done, network: Network) -> str | None:
    return network.replica_of(done.package("torch")["url"])


def told(done: Done, network: Network, mirror: str, *words: str) -> bool:
    """Whether one warning names the mirror and has all the words."""
    names = (mirror, network.replicas[mirror].host)
    messages = [warning["message"] for warning in done.envelope["warnings"]]
    return any(
        any(name in text for name in names) and all(word.lower() in text.lower() for word in words)
        for text in messages
    )


def argv(done: Done) -> str:
    return " ".join(word for step in done.data["steps"] for word in step["argv"])


# the fault of NJU's pages, what the warning must say
FAULTS: tuple[tuple[Fault, tuple[str, ...]], ...] = (
    ("403", ("403",)),  # FM01, FM02: a ban, which pip calls `from versions: none`
    ("504", ("504",)),  # FM06
    ("500", ("500",)),
    ("reset", ("connection",)),  # FM15
    ("hang", ("timed out",)),
    ("loop", ("redirect",)),
    ("portal", ("not an index",)),
    ("soft-404", ("not an index",)),  # FM27
)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "words"), every(3, FAULTS))
def test_a_page_that_can_not_be_read_is_told_and_the_next_mirror_taken(
    user: Program, network: Network, fault: Fault, words: tuple[str, ...]
) -> None:
    with network.failing("nju", fault):
        done = plan(user, "nju", "sjtu", "tuna")
    assert done.torch == BEST
    assert torch_from(done, network) == "sjtu"
    assert told(done, network, "nju", *words), done.envelope["warnings"]
    assert network.nju.host not in argv(done)  # FM35: uv stops at a page that answers 403


@pytest.mark.slow
def test_a_page_that_is_sent_as_something_else_is_read_all_the_same(user: Program, network: Network) -> None:
    with network.failing("nju", "wrong-type"):
        assert torch_from(plan(user, "nju", "tuna"), network) == "nju"


def test_where_the_only_mirror_is_at_fault_it_is_named_with_its_fault(
    user: Program, network: Network
) -> None:
    with network.down("tuna", fault="403"):
        done = plan(user, "tuna")
    assert done.status == 4
    text = json.dumps(done.error)
    assert "403" in text
    assert network.tuna.host in text or "tuna" in text
    assert any(fix["text"] for fix in done.error["fixes"])


def test_missing_is_403_at_the_official_index_and_no_fault(user: Program, network: Network) -> None:
    """FM07: an object store answers 403 for what it does not have."""
    done = plan(user, "official", more=("torch", "torchdata"))
    assert done.status in {0, 3}
    assert not told(done, network, "official")


@pytest.mark.slow
def test_a_redirect_to_another_mirror_s_ban_names_the_one_that_answered(
    user: Program, network: Network
) -> None:
    """FM05, FM39: the router is well, the member that it sends to is not."""
    with network.down("nju", fault="403"):
        done = plan(user, "cernet", "sjtu", "tuna")
    assert torch_from(done, network) == "sjtu"
    assert told(done, network, "nju", "403"), done.envelope["warnings"]
    assert told(done, network, "cernet", "403"), done.envelope["warnings"]


@pytest.mark.slow
def test_an_index_that_sends_upstream_is_told(user: Program, network: Network) -> None:
    """FM08: SJTU's index pages were redirects to the official index until September 2026."""
    with network.switched("sjtu_torch", bypasses_to=network.official):
        done = plan(user, "sjtu", "nju", "tuna")
    assert done.torch == BEST
    assert told(done, network, "sjtu", network.official.host) or told(done, network, "sjtu", "official")
    assert torch_from(done, network) == "nju"


@pytest.mark.slow
def test_links_that_leave_the_mirror_are_told_and_not_followed(user: Program, network: Network) -> None:
    """FM10: NJU's pages linked to download-r2 until May 2026."""
    with network.switched("nju_torch", leaks_to=network.r2):
        done = plan(user, "nju", "aliyun", "tuna")
        assert torch_from(done, network) == "aliyun"
        assert told(done, network, "nju", network.r2.host), done.envelope["warnings"]
        assert not network.r2.asked
        alone = plan(user, "nju", "tuna")
    assert told(alone, network, "nju", network.r2.host), alone.envelope["warnings"]


@pytest.mark.slow
def test_links_to_a_mirror_s_own_storage_do_not_leave_it(user: Program, network: Network) -> None:
    with network.switched("sjtu_torch", leaks_to=network.sjtu_store):
        done = plan(user, "sjtu", "tuna")
    assert done.torch == BEST
    assert not told(done, network, "sjtu")


@pytest.mark.slow
@pytest.mark.parametrize("mirror", ["sjtu", "aliyun"])
def test_a_stale_mirror_is_told_and_a_newer_one_taken(user: Program, network: Network, mirror: str) -> None:
    """FM09, FM14: months without the newest torch."""
    with network.stale(mirror, "2.12"):
        both = plan(user, mirror, "nju", "tuna")
        alone = plan(user, mirror, "tuna")
    assert both.torch == BEST
    assert torch_from(both, network) == "nju"
    assert alone.torch.startswith("2.11.0+cu12")
    told_of = json.dumps([alone.envelope["warnings"], alone.data["advice"], alone.data["why"]])
    assert "2.14.1" in told_of, told_of


@pytest.mark.slow
def test_the_very_file_is_looked_for_on_each_mirror(user: Program, network: Network) -> None:
    """FM14: the pin is on the second mirror alone."""
    with network.lacking("aliyun", "torch-2.14.1+cu126"):
        done = plan(user, "aliyun", "nju", "tuna", more=("torch==2.14.1",))
    assert done.torch == BEST
    assert torch_from(done, network) == "nju"


@pytest.mark.slow
def test_a_flat_listing_is_no_index_for_pip_and_is_given_as_find_links(
    user: Program, network: Network
) -> None:
    """FM12: `--index-url` of Aliyun's folders finds nothing."""
    done = plan(user, "aliyun", "tuna")
    words = shlex.split(argv(done))
    folder = f"{network.aliyun.url}/pytorch-wheels/cu126"
    assert [words[at - 1] for at, word in enumerate(words) if word.startswith(folder)] == ["--find-links"]


@pytest.mark.slow
def test_every_spelling_of_plus_ends_as_one(user: Program, network: Network) -> None:
    """FM13: `&#43;` in Aliyun's pages, `+` in Apache's, `%2B` in the others'; a server is asked for `%2B`."""
    for mirror in ("aliyun", "nju", "sjtu", f"{network.elsewhere.url}/pub/torch/cu126"):
        url = plan(user, mirror, "tuna").package("torch")["url"]
        assert "%2Bcu126" in url, url
        assert "+" not in url


@pytest.mark.slow
def test_no_index_can_slip_in_a_torch_of_another_build(user: Program, network: Network) -> None:
    """FM18, FM19, FM34: one exact build, one index for the rest, nothing that goes upstream by itself."""
    for mirrors in (("nju", "tuna"), ("aliyun", "tuna"), ("sjtu", "tuna"), ("official",)):
        words = shlex.split(argv(plan(user, *mirrors)))
        assert f"torch=={BEST}" in words
        assert not {"--extra-index-url", "--index", "--torch-backend", "--trusted-host"} & set(words)


def test_every_request_says_who_asks(user: Program, network: Network) -> None:
    """FM03: Tsinghua answers 403 to a request without a User-Agent."""
    plan(user, "nju", "tuna", more=("torch", "packaging"))
    agents = [*network.nju.agents, *network.tuna.agents]
    assert agents
    assert all(agents)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["nju", "aliyun"])
def test_tls_that_fails_is_told_and_never_switched_off(user: Program, network: Network, layout: str) -> None:
    """FM29: the replica speaks no TLS, so its certificate can't be looked at."""
    wrong = network.replicas[layout].url.replace("http://", "https://") + "/pytorch/whl/cu126"
    done = plan(user, wrong, "sjtu", "tuna")
    assert torch_from(done, network) == "sjtu"
    assert told(done, network, layout, "tls"), done.envelope["warnings"]
    assert "insecure" not in done.out
    assert "trusted-host" not in done.out


@pytest.mark.slow
def test_a_retired_mirror_in_the_configuration_is_told_with_another(user: Program, network: Network) -> None:
    """FM30: Douban's service ended in 2024."""
    gone = f"{dead_url()}/simple"
    file = user.home / "mirrors.toml"
    entry = '[[mirror]]\nname = "douban"\ntitle = "Douban"\nkind = "commercial"\nstatus = "retired"\n'
    entry += f'source = "the test"\n[mirror.pypi]\nsimple = "{gone}"\n'
    file.write_text(f"{network.configuration}\n{entry}", encoding="utf-8")
    configured = user.with_(PIP_INDEX_URL=gone)
    done = plan(configured, "auto")
    assert done.torch == BEST
    messages = json.dumps(done.envelope["warnings"])
    assert "douban" in messages.lower() or gone in messages
    assert gone not in argv(done)
    assert "retired" in messages or "ended" in messages or "no longer" in messages, messages


@pytest.mark.slow
def test_a_wrong_address_that_people_copy_is_put_right(user: Program, network: Network) -> None:
    """FM38: `/pypi/simple` of Tsinghua never was."""
    wrong = f"{network.tuna.url}/pypi/simple"
    done = plan(user, "nju", wrong)
    assert done.torch == BEST
    assert network.address("pypi:tuna") in argv(done)
    assert wrong not in argv(done)
    assert told(done, network, "tuna", network.address("pypi:tuna")), done.envelope["warnings"]


def test_a_package_that_one_mirror_lacks_is_had_from_the_next(user: Program, network: Network) -> None:
    """FM40: partial copies of PyPI."""
    with network.lacking("tuna", "torchvision-0.25.0"):
        done = plan(user, "tuna", "huawei", more=("torch==2.10.0", "torchvision"))
    assert done.torch == "2.10.0"
    assert network.replica_of(done.package("torchvision")["url"]) == "huawei"


@pytest.mark.slow
def test_old_builds_are_looked_for_in_the_variant_s_folder(
    user: Program, network: Network, tmp_path: Path
) -> None:
    """FM43: the page of all variants lacks some of them."""
    with network.switched("official_torch", root_without="-2.3.1+cu121"):
        new = user.with_(GPUENV_CACHE_DIR=str(tmp_path))
        done = plan(new, "official", more=("torch==2.3.1", "--cuda", "12.1"))
    assert "/whl/cu121/torch/" in [path for _, path, _ in network.replicas["official"].asked]
    assert (done.torch.partition("+")[0], done.data["variant"]) == ("2.3.1", "cu121")
