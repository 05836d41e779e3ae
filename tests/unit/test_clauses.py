"""Of a fix with several ways: what the text rules out is left out, what is made for its machine leads."""

from __future__ import annotations

import pytest

from gpuenv import matrices
from gpuenv.signatures.circumstances import circumstances
from gpuenv.signatures.clauses import Clause, fitting_fix, split_clauses

REBOOT = Clause(0, (("rebooted", "^never$"),))
FIX = "Install gcc (apt; or dnf); on Windows take `a; b`; or turn it off."
CLAUSES = (Clause(0, (("system", "^linux$"),)), Clause(1, (("system", "^windows$"),), leads=True))


def test_clauses_end_outside_of_brackets_and_code() -> None:
    assert split_clauses(FIX) == [
        "Install gcc (apt; or dnf); ",
        "on Windows take `a; b`; ",
        "or turn it off.",
    ]
    assert split_clauses("重启；只留一套。") == ["重启；", "只留一套。"]
    assert split_clauses("See e.g. this.") == ["See e.g. this."]


@pytest.mark.parametrize(
    ("facts", "fitting"),
    [
        ({}, FIX),
        ({"system": "linux"}, "Install gcc (apt; or dnf); or turn it off."),
        ({"system": "windows"}, "On Windows take `a; b`; or turn it off."),
        ({"system": "macos"}, "Turn it off."),
    ],
)
def test_a_clause_that_the_facts_rule_out_is_left_out(facts: dict[str, str], fitting: str) -> None:
    assert fitting_fix(FIX, CLAUSES, facts) == fitting


def test_what_is_for_this_machine_comes_first() -> None:
    clauses = (Clause(1, (("box", "."),), leads=True),)
    fix = fitting_fix("Keep one; in a container add it.", clauses, {"box": "docker"})
    assert fix == "In a container add it. Keep one."


def test_where_all_is_ruled_out_the_fix_stays() -> None:
    assert fitting_fix("Reboot.", (REBOOT,), {"rebooted": "twice"}) == "Reboot."


def test_what_goes_on_from_a_clause_does_not_stand_without_it() -> None:
    fix = "Reboot; then start it."
    assert fitting_fix(fix, (REBOOT,), {"rebooted": "twice"}) == fix


def test_a_command_keeps_its_small_letter() -> None:
    clauses = (Clause(0, (("system", "^linux$"),)),)
    assert fitting_fix("apt update; pip install x.", clauses, {"system": "windows"}) == "pip install x."


@pytest.mark.parametrize(
    ("values", "system"),
    [
        ({"windows_path": "C:\\"}, "windows"),
        ({"linux_path": "/home/"}, "linux"),
        ({"linux_path": "/home/", "wsl": "WSL2"}, "wsl"),
        ({"windows_path": "C:\\", "linux_path": "/home/"}, None),
        ({"windows_path": "C:\\", "linux_path": "/home/", "platform": "Windows-10"}, "windows"),
        ({"mac_path": "/Users/u/"}, "macos"),
        ({}, None),
    ],
)
def test_the_system_is_what_the_text_says_of_one_only(values: dict[str, str], system: str | None) -> None:
    assert circumstances(values).get("system") == system


def test_two_makers_of_cards_settle_none() -> None:
    assert circumstances({"gpus": "NVIDIA A100"})["vendor"] == "nvidia"
    assert circumstances({"radeon": "Radeon RX 470"})["vendor"] == "amd"
    assert "vendor" not in circumstances({"gpus": "NVIDIA A100", "gfx": "gfx803"})


@pytest.mark.parametrize("language", ["en", "zh"])
def test_of_each_fix_something_is_left_on_every_system(language: str) -> None:
    systems = ({"system": name, "vendor": "nvidia"} for name in ("linux", "windows", "wsl", "macos"))
    for facts in systems:
        for row in matrices.load("signatures"):
            clauses = tuple(
                Clause(item["at"], tuple(item["facts"].items()), item.get("leads", False))
                for item in row.get("clauses", ())
            )
            assert fitting_fix(row[f"fix_{language}"], clauses, facts).strip()
