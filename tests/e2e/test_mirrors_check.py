"""`mirrors check`: which mirrors answer, hold the very files, keep their links, and how fast they are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fake_nvidia_smi import FakeGpu, broken_nvidia_smi, fake_nvidia_smi
from json_schemas import complaints
from pages import DOCS, LANGUAGES
from replica_network import Network
from replica_server import Fault
from running import Done, Program
from tiny_wheels import tiny_torch

H100 = FakeGpu("NVIDIA H100 80GB HBM3", "9.0")
BEST = "torch-2.14.1+cu126"
HERE = ("official", "tuna", "nju", "aliyun", "sjtu", "cernet", "huawei")
FIELDS = {
    "name",
    "kind",
    "answers",
    "has",
    "newest_torch",
    "leaks",
    "stale",
    "bytes_per_s",
    "rank",
    "problem",
}


@pytest.fixture(autouse=True)
def _nothing_asked_yet(network: Network) -> None:
    network.forget()


@pytest.fixture
def h100(user: Program) -> Program:
    """A machine with driver 535, for which 2.14.1+cu126 is the best."""
    fake_nvidia_smi(user.bin, "535.104.05", H100)
    return user


def check(user: Program, *arguments: str) -> dict[str, dict[str, Any]]:
    done = user.run("mirrors", "check", *arguments, "--json")
    return {item["name"]: item for item in done.data["mirrors"]}


def rows_of(done: Done) -> dict[str, dict[str, Any]]:
    """The mirrors of an answer that may be an error."""
    return {item["name"]: item for item in done.envelope["data"]["mirrors"]}


@pytest.mark.slow
def test_each_mirror_is_asked_for_the_file_of_this_machine_s_plan(h100: Program, network: Network) -> None:
    done = h100.run("mirrors", "check", *HERE, "--json")
    assert done.status == 0, done.err
    assert complaints(done.envelope) == []
    assert done.data["files"][0].startswith(f"{BEST}-")
    assert done.data["files"][1].startswith("torchvision-0.29.1+cu126-")
    fields = rows_of(done)
    assert set(fields) == set(HERE)
    assert all(set(entry) >= FIELDS for entry in fields.values())
    assert all(
        entry["answers"] and entry["newest_torch"] and entry["bytes_per_s"] > 0 for entry in fields.values()
    )
    holding = {name for name, entry in fields.items() if entry["has"]}
    assert holding == {"official", "nju", "aliyun", "sjtu", "cernet"}
    assert {fields[name]["rank"] for name in holding} == {1, 2, 3, 4, 5}
    assert [item["rank"] for item in done.data["mirrors"]][:5] == [1, 2, 3, 4, 5]
    assert not any(entry["leaks"] or entry["stale"] for entry in fields.values())
    for name in ("tuna", "huawei"):
        assert (fields[name]["rank"], fields[name]["has"]) == (None, False)
        assert "PyPI's own" in fields[name]["problem"]


@pytest.mark.slow
def test_a_mirror_is_measured_by_a_part_of_the_very_wheel(h100: Program, network: Network) -> None:
    check(h100, "nju")
    files = network.nju.files_asked()
    assert [path.rpartition("/")[2].split("-cp")[0] for path in files] == [BEST]
    assert network.nju.sent <= 3 << 20
    assert set(network.asked()) == {"nju"}


@pytest.mark.slow
def test_a_person_reads_a_table_best_first(h100: Program) -> None:
    done = h100.run("mirrors", "check", "nju", "tuna", "douban")
    assert done.status == 0, done.err
    heading, *lines = done.out.splitlines()
    assert heading.split()[:4] == ["rank", "name", "kind", "responds"]
    assert [line.split()[1] for line in lines] == ["nju", "tuna", "douban"]
    assert "/s" in lines[0]
    assert "shut down" in lines[2]
    assert BEST in done.err


@pytest.mark.slow
def test_without_names_all_are_checked_and_retired_ones_are_dead_without_a_request(user: Program) -> None:
    fields = check(user)
    assert set(fields) >= {*HERE, "bfsu", "douban", "hustunique"}
    assert fields["douban"]["answers"] is False
    assert "shut down" in fields["douban"]["problem"]
    assert fields["bfsu"]["answers"] is False  # no request leaves this machine
    assert fields["nvidia"]["answers"] is None


@pytest.mark.slow
def test_one_file_can_be_asked_about(user: Program) -> None:
    done = user.run("mirrors", "check", "nju", "tuna", "--for", "torch==2.3.1+cu121", "--json")
    assert done.status == 0
    assert done.data["files"][0].startswith("torch-2.3.1+cu121-")
    fields = rows_of(done)
    assert [fields[name]["has"] for name in ("nju", "tuna")] == [True, False]
    of_pypi = check(user, "nju", "tuna", "--for", "torchvision==0.17.0")
    assert all(entry["answers"] for entry in of_pypi.values())


@pytest.mark.slow
def test_a_file_that_no_mirror_has_is_refused(user: Program, network: Network) -> None:
    with network.lacking("nju", "torch-2.3.1+cu121"):
        done = user.run("mirrors", "check", "nju", "--for", "torch==2.3.1+cu121", "--json")
    assert done.status == 3
    assert rows_of(done)["nju"]["has"] is False
    assert "torch-2.3.1+cu121" in done.error["message"]
    assert done.error["fixes"]


@pytest.mark.parametrize("words", ["numpy==2.0", "torch", "torch>=2", "torch==2.*", "torch==x", "=="])
def test_what_is_no_one_file_is_bad_usage(user: Program, network: Network, words: str) -> None:
    done = user.run("mirrors", "check", "nju", "--for", words, "--json")
    assert done.status == 2
    assert done.error["code"] == "bad-requirement"
    assert not network.asked()


def test_a_name_of_no_mirror_is_bad_usage(user: Program) -> None:
    assert user.run("mirrors", "check", "nyu", "--json").error["code"] == "unknown-mirror"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("403", "403"),
        ("504", "504"),
        ("reset", "connection"),
        ("loop", "redirect"),
        ("portal", "not an index"),
    ],
)
def test_a_mirror_that_does_not_answer_is_told_with_its_fault(
    user: Program, network: Network, fault: Fault, words: str
) -> None:
    with network.down("nju", fault=fault):
        fields = check(user, "nju", "sjtu")
    assert (fields["nju"]["answers"], fields["nju"]["has"], fields["nju"]["rank"]) == (False, False, None)
    assert words in fields["nju"]["problem"]
    assert fields["sjtu"]["rank"] == 1


@pytest.mark.slow
def test_where_none_answers_it_is_no_success(user: Program, network: Network) -> None:
    with network.down("nju", "tuna"):
        done = user.run("mirrors", "check", "nju", "tuna", "douban", "--json")
    assert done.status == 4
    assert set(rows_of(done)) == {"nju", "tuna", "douban"}
    assert len(done.error["because"]) == 3
    assert user.run("mirrors", "check", "douban").status == 4


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "words"), [("403", "403"), ("soft-404", "text page"), ("504", "504")])
def test_a_file_that_is_listed_and_can_not_be_read_is_not_had(
    h100: Program, network: Network, fault: Fault, words: str
) -> None:
    with network.failing("nju", fault, BEST):
        fields = check(h100, "nju", "aliyun")
    assert (fields["nju"]["answers"], fields["nju"]["has"]) == (True, False)
    assert words in fields["nju"]["problem"]
    assert BEST in fields["nju"]["problem"]
    assert fields["aliyun"]["rank"] == 1


@pytest.mark.slow
def test_a_file_that_is_cut_short_is_not_had_whole(user: Program, network: Network, tmp_path: Path) -> None:
    """FM16: the official index's file is the longer one."""
    network.publish(tiny_torch(tmp_path, "2.0.99+cpu"), "cpu")
    with network.failing("aliyun", "truncated", "torch-2.0.99+cpu"):
        fields = check(user, "official", "nju", "aliyun", "--for", "torch==2.0.99+cpu")
    assert {name: entry["has"] for name, entry in fields.items()} == {
        "official": True,
        "nju": True,
        "aliyun": False,
    }
    assert "bytes" in fields["aliyun"]["problem"]


@pytest.mark.slow
def test_a_server_without_ranges_is_read_no_further_than_needed(h100: Program, network: Network) -> None:
    with network.failing("aliyun", "no-ranges", ".whl"):
        fields = check(h100, "aliyun")
    assert fields["aliyun"]["rank"] == 1
    assert network.aliyun.sent < 100 << 20


@pytest.mark.slow
def test_links_and_pages_that_leave_a_mirror_are_told(h100: Program, network: Network) -> None:
    """FM08, FM10: one that leaks stands behind those that serve by themselves."""
    with (
        network.switched("nju_torch", leaks_to=network.r2),
        network.switched("sjtu_torch", bypasses_to=network.official),
    ):
        fields = check(h100, "nju", "sjtu", "aliyun")
    assert network.r2.host in fields["nju"]["leaks"]
    assert network.official.host in fields["sjtu"]["leaks"]
    assert (fields["aliyun"]["leaks"], fields["aliyun"]["rank"]) == ([], 1)


@pytest.mark.slow
def test_a_stale_mirror_is_told(h100: Program, network: Network) -> None:
    """FM09, FM14."""
    with network.stale("sjtu", "2.12"), network.stale("tuna", "2.12"):
        fields = check(h100, "sjtu", "tuna", "nju")
    for name in ("sjtu", "tuna"):
        assert (fields[name]["newest_torch"], fields[name]["stale"]) == ("2.11.0", True)
        assert fields[name]["has"] is False
    assert (fields["nju"]["newest_torch"], fields["nju"]["stale"]) == ("2.15.0", False)


@pytest.mark.slow
def test_the_fastest_is_first(h100: Program, network: Network) -> None:
    """FM42: wheels, not pages, are measured."""
    with network.failing("nju", "trickle", ".whl"):
        fields = check(h100, "nju", "aliyun")
    assert (fields["aliyun"]["rank"], fields["nju"]["rank"]) == (1, 2)
    assert fields["nju"]["bytes_per_s"] < 2_000_000


@pytest.mark.slow
def test_what_was_measured_is_not_measured_again_that_day(h100: Program, network: Network) -> None:
    first = check(h100, "nju", "aliyun")
    network.forget()
    done = h100.run("mirrors", "check", "nju", "aliyun", "tuna")
    assert "--again" in done.err
    assert set(network.asked()) == {"tuna"}
    second = check(h100, "nju", "aliyun")
    assert [second[name]["bytes_per_s"] for name in second] == [first[name]["bytes_per_s"] for name in second]
    assert all(entry["remembered"] for entry in second.values())
    network.forget()
    assert not any(entry["remembered"] for entry in check(h100, "nju", "aliyun", "--again").values())
    assert set(network.asked()) == {"nju", "aliyun"}


@pytest.mark.slow
def test_another_file_is_another_question_and_a_failure_is_none_that_lasts(
    h100: Program, network: Network
) -> None:
    with network.down("nju"):
        h100.run("mirrors", "check", "nju")
    assert check(h100, "nju")["nju"]["rank"] == 1
    network.forget()
    check(h100, "nju", "--for", "torch==2.3.1+cu121")
    assert network.nju.asked


@pytest.mark.slow
def test_a_garbled_memory_is_as_good_as_none(h100: Program) -> None:
    for content in ("", "[]", "{", '{"checks": [{"verdict": {"name": 3}}], "speeds": "x"}'):
        (h100.root / "cache" / "mirrors.json").write_text(content, encoding="utf-8")
        assert check(h100, "nju")["nju"]["rank"] == 1


def test_a_machine_whose_driver_is_broken_can_check_its_mirrors(user: Program) -> None:
    broken_nvidia_smi(user.bin, "Failed to initialize NVML: Driver/library version mismatch", 18)
    done = user.run("mirrors", "check", "nju", "--json")
    assert done.status == 0, done.err
    assert done.data["files"][0].startswith("torch-")


@pytest.mark.slow
def test_auto_goes_by_what_was_measured(h100: Program, network: Network) -> None:
    """The order of a check holds for a plan made later that day, without another measure."""
    with network.failing("nju", "trickle", ".whl"), network.failing("sjtu_store", "trickle", ".whl"):
        check(h100, *(name for name in HERE if name != "official"))
    network.forget()
    with network.down("official", "r2", "pypi", "pypi_files"):
        done = h100.run("plan", "--mirror", "auto", "--json")
    assert done.torch == "2.14.1+cu126"
    assert network.replica_of(done.package("torch")["url"]) == "aliyun"
    assert not network.files_from()


@pytest.mark.slow
def test_what_a_plan_measured_a_plan_goes_by(h100: Program, network: Network) -> None:
    with network.down("official", "r2", "pypi", "pypi_files"):
        with network.failing("nju", "trickle", ".whl"):
            first = h100.run("plan", "--mirror", "auto", "--json")
        assert network.files_from()
        network.forget()
        second = h100.run("plan", "--mirror", "auto", "--json")
    places = [network.replica_of(done.package("torch")["url"]) for done in (first, second)]
    assert places[0] == places[1] != "nju"
    assert not network.files_from()
    memory = json.loads((h100.root / "cache" / "mirrors.json").read_text(encoding="utf-8"))
    assert {item["name"] for item in memory["speeds"]} >= {"nju", "aliyun", "sjtu"}


@pytest.mark.slow
def test_an_address_is_checked_as_it_is_given(h100: Program, network: Network) -> None:
    mirrors = {item["name"]: item for item in h100.run("mirrors", "list", "--json").data["mirrors"]}
    whole = mirrors["nju"]["torch"]["address"].partition("/{variant}")[0]
    flat = mirrors["aliyun"]["torch"]["address"].replace("{variant}", "cu126")
    pypi = mirrors["tuna"]["pypi"]["simple"]
    fields = check(h100, whole, flat + "/", pypi, network.nvidia.url)
    assert fields[whole]["has"] is True, fields
    assert fields[flat]["has"] is True
    assert (fields[pypi]["answers"], fields[pypi]["has"]) == (True, False)
    assert fields[network.nvidia.url]["has"] is False
    assert {entry["kind"] for entry in fields.values()} == {"own"}
    assert fields[whole]["bytes_per_s"] > 0


@pytest.mark.slow
def test_an_address_that_can_not_be_read_is_bad_input(h100: Program) -> None:
    done = h100.run("mirrors", "check", "https://[::1", "--json")
    assert (done.status, done.error["code"]) == (2, "bad-address")


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_table_of_the_reference_is_what_is_printed(h100: Program, language: str) -> None:
    page = (DOCS / language / "reference" / "mirrors.md").read_text(encoding="utf-8")
    shown = page.partition("    $ gpuenv mirrors check nju aliyun tuna\n")[2].partition("\n\n")[0]
    done = h100.with_(COLUMNS="200").run("--lang", language, "mirrors", "check", "nju", "aliyun", "tuna")
    assert _facts(done.out.splitlines()) == _facts([line[4:] for line in shown.splitlines()[1:]])


def _facts(table: list[str]) -> list[list[str]]:
    """The columns from the name on to the last before the speed, by which the rows are ordered."""
    return sorted(re.split(r"\s{2,}", line)[1:8] for line in table)
