"""What an attack is: a test that runs twice, with gpuenv as it is and with gpuenv without one mend.

As it is the attack must be held off; without the mend it must succeed. So each attack is shown to be real,
and each check to be able to fail. README.md beside this file lists them: `python attacks.py` writes it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
README = HERE / "README.md"
BEGIN, END = "<!-- attacks -->\n", "<!-- end -->\n"


class Succeeded(AssertionError):  # noqa: N818 - to succeed is no error of an attack's
    """An attack got what it was after."""


@dataclass(frozen=True)
class Attack:
    """What a stranger does, what they would get, and the variants (see variants.py) in which they do.

    `cases` is how many kinds of it are tried.
    """

    deed: str
    gain: str
    without: str
    test: str = ""
    file: str = ""
    cases: int = 1


def attack(deed: str, gain: str, *, without: str) -> Callable[[Any], Any]:
    """Make a test an attack; the mends in `without`, joined by `+`, are undone in its second run."""

    def wrap(test: Any) -> Any:
        cases = 1
        for mark in getattr(test, "pytestmark", ()):
            cases *= len(mark.args[1]) if mark.name == "parametrize" else 1
        test.attack = Attack(deed, gain, without, test.__name__, test.__module__, cases)
        runs = (
            pytest.param("", id="held-off"),
            pytest.param(without, id=f"without-{without}", marks=(pytest.mark.variant, pytest.mark.slow)),
        )
        twice = pytest.mark.parametrize("undone", runs, indirect=True)
        return pytest.mark.usefixtures("undone")(twice(test))

    return wrap


def held_off(holds: object, shown: object = "") -> None:
    """Say whether the attack was held off; raise Succeeded where it was not."""
    if not holds:
        raise Succeeded(shown)


def all_attacks() -> Iterator[Attack]:
    """Yield the attacks of all files here, in their order."""
    for path in sorted(HERE.glob("test_*.py")):
        for value in vars(importlib.import_module(path.stem)).values():
            if isinstance(answer := getattr(value, "attack", None), Attack):
                yield answer


def render() -> str:
    """Return the list as README.md holds it."""
    lines = ["| a stranger … | and would have … | without | cases |\n|---|---|---|---|\n"]
    file = ""
    for all_attack in all_attacks():
        if all_attack.file != file:
            lines.append(f"| **{all_attack.file}** | | | |\n")
            file = all_attack.file
        lines.append(
            f"| {all_attack.deed} | {all_attack.gain} | {all_attack.without} | {all_attack.cases} |\n"
        )
    return "".join(lines)


def _write() -> None:
    sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    text = f"{before}{BEGIN}{importlib.import_module('attacks').render()}{END}{rest.partition(END)[2]}"
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    _write()
