"""Many saved machines: one environment for all of them, or the fewest."""

from __future__ import annotations

import json
import os
import random
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from accelerated import ascend, battlemage, macbook, radeon
from deciding import gpu_machine, machine
from fleets import DRIVERS, GLIBCS, save, table_gpus
from index_server import IndexServer
from running import Done, Program

H100 = gpu_machine("535.183.01", *["NVIDIA H100"] * 8)
B200 = gpu_machine("580.95.05", "B200")
P100 = gpu_machine("580.95.05", "Tesla P100")
WINDOWS = gpu_machine("580.95.05", "GeForce RTX 4090", platform="win-64")


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """Two kinds of GPU that no build has in common."""
    folder = tmp_path / "lab"
    save(folder, "b200", B200)
    save(folder, "p100", P100)
    return folder


def torches(done: Done) -> dict[str, list[str]]:
    """The machines by the torch of their group."""
    document = done.envelope["data"]
    return {group["packages"][0]["version"]: group["machines"] for group in document["groups"]}


def problems(done: Done) -> dict[str, str]:
    machines: list[dict[str, Any]] = done.envelope["data"]["machines"]
    return {entry["name"]: entry["problem"] for entry in machines if entry["group"] is None}


@pytest.mark.slow
def test_machines_of_other_kinds_are_groups_by_kind(lab: Path, shared: Program) -> None:
    for name, entry in {
        "navi": radeon(), "instinct": radeon("gfx942"), "vega": radeon("gfx900"), "arc": battlemage(),
        "npu": ascend(), "mac": macbook(), "polaris": radeon("gfx803"),
    }.items():  # fmt: skip
        save(lab, name, entry)
    done = shared.run("plan", "--machines", lab, "--json", "--offline")
    groups = {tuple(group["machines"]): group["variant"] for group in done.envelope["data"]["groups"]}
    kinds = {names: variant.rstrip("0123456789.") for names, variant in groups.items()}
    assert kinds == {
        ("b200",): "cu", ("p100",): "cu", ("instinct", "navi", "vega"): "rocm", ("arc",): "xpu",
        ("npu",): "npu", ("mac",): "mps",
    }  # fmt: skip
    assert list(problems(done)) == ["polaris"]
    told = shared.run("plan", "--machines", lab, "--offline").out
    assert "AMD Radeon gfx942 (gfx942)" in told


def test_machines_are_parted_into_the_fewest_groups_and_told_in_a_table(
    lab: Path, shared: Program, mirrors: tuple[str, ...]
) -> None:
    save(lab, "h100", H100)
    save(lab, "login", machine({}))
    save(lab, "windows", WINDOWS)
    done = shared.run("plan", "--machines", lab, "--json", *mirrors)
    groups = [(group["packages"][0]["version"], group["machines"]) for group in done.data["groups"]]
    assert groups == [
        ("2.15.0+cu130", ["b200", "login"]),
        ("2.14.1+cu126", ["h100", "p100"]),
        ("2.15.0+cu130", ["windows"]),
    ]
    printed = shared.run("plan", "--machines", lab, "-q", *mirrors)
    assert printed.status == 0
    rows = {line.split()[0]: line for line in printed.out.splitlines()[:6]}
    assert "8 x NVIDIA H100 (9.0)" in rows["h100"]
    assert "535.183.01" in rows["h100"]
    assert rows["p100"].split()[-2:] == ["2.14.1+cu126", done.data["groups"][1]["python"]]
    assert "group 1 (linux-64):" in printed.out


def test_the_plan_of_machines_that_go_together_is_one_plan(
    tmp_path: Path, shared: Program, mirrors: tuple[str, ...]
) -> None:
    """Named machines give the plan itself, a folder of them the groups."""
    named = [("--machine", save(tmp_path, name, entry)) for name, entry in (("a", H100), ("b", machine({})))]
    words = [word for pair in named for word in pair]
    item = shared.run("plan", "--json", *words, *mirrors)
    assert item.torch == "2.14.1+cu126"
    assert [len(each["gpus"]) for each in item.data["machines"]] == [8, 0]
    groups = shared.run("plan", "--json", "--machines", tmp_path, *mirrors)
    (group,) = groups.data["groups"]
    assert group["machines"] == ["a", "b"]
    assert {key: group[key] for key in ("packages", "python", "steps", "why")} == {
        key: item.data[key] for key in ("packages", "python", "steps", "why")
    }


@pytest.mark.slow
def test_named_machines_that_do_not_go_together_are_parted(
    lab: Path, shared: Program, mirrors: tuple[str, ...]
) -> None:
    names = [lab / "b200.json", lab / "p100.json", save(lab, "windows", WINDOWS)]
    words = [word for name in names for word in ("--machine", name)]
    done = shared.run("plan", "--json", *words, *mirrors)
    assert sorted(torches(done)) == ["2.14.1+cu126", "2.15.0+cu130"]
    assert len(done.data["groups"]) == 3


@pytest.mark.slow
def test_what_would_make_it_one_is_said_and_holds(
    tmp_path: Path, shared: Program, mirrors: tuple[str, ...]
) -> None:
    """An update of the one old driver; or to leave out the fewest machines."""
    for name in ("a", "b", "c"):
        save(tmp_path, name, gpu_machine("580.95.05", "B200"))
    save(tmp_path, "old", gpu_machine("470.256.02", "NVIDIA H100"))
    done = shared.run("plan", "--machines", tmp_path, "--json", *mirrors)
    assert len(done.data["groups"]) == 2
    update, without = done.data["together"]
    assert "on old" in update["needs"]
    assert without["needs"] == "a plan without old"
    least = next(word for word in update["needs"].split() if word[:1].isdigit())
    save(tmp_path, "old", gpu_machine(least, "NVIDIA H100"))
    updated = shared.run("plan", "--machines", tmp_path, "--json", *mirrors)
    assert len(updated.data["groups"]) == 1
    assert updated.data["together"] == []


def test_a_card_to_leave_out_is_named(tmp_path: Path, shared: Program, mirrors: tuple[str, ...]) -> None:
    save(tmp_path, "new", B200)
    save(tmp_path, "mixed", gpu_machine("580.95.05", "GeForce GTX 1080 Ti", "GeForce RTX 5090"))
    done = shared.run("plan", "--machines", tmp_path, "--json", *mirrors)
    assert done.status == 3
    assert "GeForce GTX 1080 Ti" in problems(done)["mixed"]
    assert any(
        "mixed" in each["needs"] and "GTX 1080 Ti" in each["needs"]
        for each in done.envelope["data"]["together"]
    )


@pytest.mark.slow
def test_files_that_are_no_machines_and_machines_that_nothing_serves_do_not_stop_the_others(
    lab: Path, shared: Program, mirrors: tuple[str, ...]
) -> None:
    good = (lab / "b200.json").read_text(encoding="utf-8")
    for name, text in {
        "empty": "", "cut": good[:200], "list": "[1, 2]", "deep": "[" * 100_000,
        "schema": good.replace('"schema_version": 1', '"schema_version": 99'),
        "plan": good.replace('"detect"', '"plan"'), "big": '"' + "x" * 10_000_000 + '"',
    }.items():  # fmt: skip
        (lab / f"{name}.json").write_text(text, encoding="utf-8")
    (lab / "binary.json").write_bytes(bytes(range(256)))
    (lab / "folder.json").mkdir()
    (lab / "dangling.json").symlink_to(lab / "nothing")
    os.mkfifo(lab / "pipe.json")
    (lab / ".hidden.json").write_text("", encoding="utf-8")
    (lab / "notes.txt").write_text("", encoding="utf-8")
    save(lab, "no-driver", machine({"problems": ["driver-not-loaded"]}))
    save(lab, "mac", machine({"os": "macos", "arch": "arm64"}))
    done = shared.run("plan", "--machines", lab, "--json", *mirrors)
    assert done.status == 3
    assert sorted(torches(done)) == ["2.14.1+cu126", "2.15.0+cu130"]
    assert sorted(problems(done)) == [
        "big", "binary", "cut", "dangling", "deep", "empty", "folder", "list", "mac", "no-driver", "plan",
        "schema",
    ]  # fmt: skip
    assert all(problems(done).values())
    assert done.error["code"] == "machines-not-served"
    printed = shared.run("plan", "--machines", lab, *mirrors)
    assert printed.status == 3
    assert "not supported: no-driver:" in printed.out
    assert "12 of 14 machines are not supported" in printed.err


@pytest.mark.slow
def test_a_named_file_that_is_no_machine_is_bad_input(
    lab: Path, shared: Program, mirrors: tuple[str, ...]
) -> None:
    bad = lab / "bad.json"
    bad.write_text("{}", encoding="utf-8")
    done = shared.run("plan", "--machine", bad, "--machine", lab / "b200.json", "--json", *mirrors)
    assert (done.status, done.error["code"]) == (2, "bad-machine")


@pytest.mark.parametrize("broken", [None, "", "{}"])
def test_a_folder_without_a_machine_is_bad_input(
    tmp_path: Path, shared: Program, mirrors: tuple[str, ...], broken: str | None
) -> None:
    if broken is not None:
        (tmp_path / "a.json").write_text(broken, encoding="utf-8")
    done = shared.run("plan", "--machines", tmp_path, "--json", *mirrors)
    assert (done.status, done.error["code"]) == (2, "no-machines")
    assert shared.run("plan", "--machines", tmp_path / "nowhere", *mirrors).status == 2


@pytest.mark.slow
def test_names_of_files_and_gpus_are_printed_in_one_line_each(
    lab: Path, shared: Program, mirrors: tuple[str, ...]
) -> None:
    save(lab, "a\n\x1b[31mred\x07", B200)
    document = json.loads((lab / "b200.json").read_text(encoding="utf-8"))
    document["data"]["gpus"][0]["name"] = "evil\x1b[2J\n" * 5_000
    (lab / "b200.json").write_text(json.dumps(document), encoding="utf-8")
    save(lab / "more", "b200", P100)
    words = ("plan", "--machines", lab, "--machine", lab / "more" / "b200.json", *mirrors)
    printed = shared.run(*words)
    assert printed.status == 0
    assert "\x1b" not in printed.out + printed.err
    assert "\x07" not in printed.out
    assert all(len(line) < 250 for line in printed.out.splitlines()[:5])
    names = [item["name"] for item in shared.run(*words, "--json").data["machines"]]
    assert len(set(names)) == 4


@pytest.mark.slow
def test_a_file_is_written_for_each_group_or_asked_for_in_so_many_words(
    lab: Path, tmp_path: Path, shared: Program, mirrors: tuple[str, ...]
) -> None:
    words = ("plan", "--machines", lab, "--format", "uv", *mirrors)
    refused = shared.run(*words)
    assert refused.status == 2
    assert "-o DIR" in refused.err
    assert "group 1: b200" in refused.err
    written = shared.run(*words, "-o", tmp_path / "out")
    assert written.status == 0
    assert written.err.count("wrote ") == 2
    assert "torch==2.15.0+cu130" in (tmp_path / "out/group-1/uv.txt").read_text(encoding="utf-8")
    assert "torch==2.14.1+cu126" in (tmp_path / "out/group-2/uv.txt").read_text(encoding="utf-8")
    (lab / "b200.json").unlink()
    alone = shared.run(*words)
    assert "torch==2.14.1+cu126" in alone.out


@pytest.mark.slow
def test_create_makes_one_environment_and_refuses_several(
    lab: Path, shared: Program, mirrors: tuple[str, ...]
) -> None:
    done = shared.run("create", "both", "--yes", "--machines", lab, "--json", *mirrors)
    assert (done.status, done.error["code"]) == (3, "several-groups")
    assert [each["text"][:8] for each in done.error["because"]] == ["group 1:", "group 2:"]
    (lab / "b200.json").unlink()
    dry = shared.run("create", "one", "--dry-run", "--machines", lab, "--json", *mirrors)
    assert dry.torch == "2.14.1+cu126"


@pytest.mark.slow
def test_pages_are_read_once_for_a_platform_however_many_machines_there_are(
    tmp_path: Path, program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    for number, gpu in enumerate(("B200", "Tesla P100", "Tesla V100", "NVIDIA H100", "Tesla T4")):
        save(tmp_path / "lab", f"n{number}", gpu_machine("580.95.05", gpu))
    assert program.run("plan", "--machines", tmp_path / "lab", "--json", *mirrors).status == 0
    pages = {path: count for path, count in server.count().items() if path.endswith("/")}
    assert set(pages.values()) == {1}, pages


@pytest.mark.slow
def test_two_hundred_machines_are_each_in_one_group_or_have_a_reason(
    tmp_path: Path, shared: Program, mirrors: tuple[str, ...]
) -> None:
    chance = random.Random(20261121)  # noqa: S311 - the same machines every time
    names = table_gpus()
    for number in range(200):
        short = {"glibc": chance.choice(GLIBCS), "wsl": chance.random() < 0.1}
        gpus = [chance.choice(names)] * chance.choice((1, 2, 4, 8))
        save(tmp_path, f"node{number:03}", gpu_machine(chance.choice(DRIVERS), *gpus, **short))
    done = shared.run("plan", "--machines", tmp_path, "--json", *mirrors)
    document = done.envelope["data"]
    assert len(document["machines"]) == 200
    assert len(document["groups"]) <= 4
    held = [name for group in document["groups"] for name in group["machines"]]
    assert len(held) == len(set(held))
    assert {*held, *problems(done)} == {item["name"] for item in document["machines"]}
    by_group = groupby(sorted(item["group"] or 0 for item in document["machines"]))
    assert len(list(by_group)) == len(document["groups"]) + bool(problems(done))
