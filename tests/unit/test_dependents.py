"""Who needs whom: what breaks when a package goes, and what nobody needs any more."""

from __future__ import annotations

from gpuenv.changes.dependents import dependents, needs_of, unneeded_without
from gpuenv.environments.contents.installed import parse_direct_url
from gpuenv.model.installed import Installed

NEEDS = {
    "torch": frozenset({"sympy", "nvidia-x"}), "sympy": frozenset({"mpmath"}), "mpmath": frozenset[str](),
    "nvidia-x": frozenset[str](), "app": frozenset({"torch", "left", "right"}), "left": frozenset({"right"}),
    "right": frozenset({"left"}), "other": frozenset({"mpmath"}),
}  # fmt: skip


def test_only_what_stays_breaks() -> None:
    assert dependents(("left",), NEEDS) == {"left": ("app", "right")}
    assert dependents(("left", "right"), NEEDS) == {"left": ("app",), "right": ("app",)}
    assert dependents(("app", "left", "right"), NEEDS) == {}


def test_a_circle_is_needed_by_nobody_once_its_user_has_gone() -> None:
    assert unneeded_without(("app",), NEEDS, ("torch",)) == ("left", "right")


def test_what_another_needs_or_a_person_asked_for_stays() -> None:
    assert unneeded_without(("torch",), NEEDS, ()) == ("nvidia-x", "sympy")
    assert unneeded_without(("torch",), NEEDS, ("sympy",)) == ("nvidia-x",)


def test_what_an_extra_or_another_system_needs_does_not_count() -> None:
    lines = ('a; extra == "x"', 'b; sys_platform == "win32"', "Some_Name>=1", "not a requirement !")
    assert needs_of(Installed("p", "1", lines), "linux-64", "3.12.0") == {"some-name"}


def test_a_direct_address_is_one_that_others_can_use() -> None:
    git = '{"url": "https://me:pw@h.example/x.git", "vcs_info": {"vcs": "git", "commit_id": "5d1f"}}'
    assert parse_direct_url(git) == "git+https://h.example/x.git@5d1f"
    wheel = '{"url": "https://h.example/x.whl", "archive_info": {"hashes": {"sha256": "ab"}}}'
    assert parse_direct_url(wheel) == "https://h.example/x.whl#sha256=ab"
    for none in ("", "{", "[]", "3", '{"url": "file:///x", "dir_info": {}}', '{"url": 1, "vcs_info": {}}'):
        assert parse_direct_url(none) is None
