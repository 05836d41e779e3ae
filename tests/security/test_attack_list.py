"""The list of attacks is whole, and each of its parts is used."""

from __future__ import annotations

from attacks import BEGIN, END, README, all_attacks, render
from variants import VARIANTS

AT_LEAST = 80


def test_there_are_as_many_attacks_as_were_promised() -> None:
    assert sum(all_attack.cases for all_attack in all_attacks()) >= AT_LEAST


def test_each_variant_shows_an_attack() -> None:
    used = {name for all_attack in all_attacks() for name in all_attack.without.split("+")}
    assert used == set(VARIANTS)


def test_the_readme_lists_what_is_tried() -> None:
    """`python tests/security/attacks.py` writes it."""
    text = README.read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0] == render()
