"""Names and places: what can't be a name on every system is refused, with a better one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.environments.store import check_name, find_place, find_store
from gpuenv.model.errors import UsageError

ENVIRON = {"GPUENV_DATA_DIR": "/data"}


@pytest.mark.parametrize(
    "name", ["paper", "torch-2.14", "a", "my_env", "Über", "论文", "x" * 100, "v1.2+cu126"]
)
def test_names_of_letters_digits_and_a_few_signs_are_places_in_the_store(name: str) -> None:
    assert find_place(name, ENVIRON).path == Path("/data/envs") / name


@pytest.mark.parametrize(
    "name",
    [
        "", " ", "my env", "-rf", "+x", "env.", "a:b", "a*", "a\0b", "a\nb", "con", "NUL", "com1.txt", "lpt9",
        "x" * 101, "论" * 40, "\ud800", "a\u202eb", "$(reboot)", "a;b", "a|b", '"a"', "a\x1bb",
    ],
)  # fmt: skip
def test_other_names_are_bad_usage(name: str) -> None:
    with pytest.raises(UsageError) as raised:
        find_place(name, ENVIRON)
    assert raised.value.code == "bad-name"
    assert raised.value.fixes
    assert str(raised.value).isprintable()


def test_a_better_name_is_proposed() -> None:
    with pytest.raises(UsageError) as raised:
        check_name("my env (2)")
    assert "`my-env-2`" in raised.value.fixes[0].text


def test_a_name_with_a_separator_or_a_leading_dot_is_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert find_place("./x", ENVIRON).path == tmp_path / "x"
    assert find_place("../x", ENVIRON).path == tmp_path.parent / "x"
    assert find_place("a/b", ENVIRON).path == tmp_path / "a" / "b"
    assert find_place(".venv", ENVIRON).path == tmp_path / ".venv"
    assert find_place("~/x", ENVIRON).path == tmp_path / "home" / "x"
    assert find_place(".venv", ENVIRON).is_elsewhere


@pytest.mark.parametrize("name", ["/", "~", "~nosuchuser-gpuenv/x", "./a\nb", "./" + "x" * 101])
def test_paths_that_can_hold_no_environment_are_bad_usage(name: str) -> None:
    with pytest.raises(UsageError) as raised:
        find_place(name, ENVIRON)
    assert raised.value.code == "bad-name"


def test_a_linked_path_and_its_target_are_one_place(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert (
        find_place(str(tmp_path / "link" / "e"), ENVIRON).key
        == find_place(str(tmp_path / "real/e"), ENVIRON).key
    )


def test_names_that_fold_to_one_share_a_lock() -> None:
    """On Windows and macOS they are one directory."""
    assert find_place("Paper", ENVIRON).key == find_place("paper", ENVIRON).key
    assert find_place("u\u0308ber", ENVIRON).path == find_place("\u00fcber", ENVIRON).path


def test_the_store_is_the_users_data_directory_unless_told() -> None:
    assert find_store(ENVIRON).root == Path("/data")
    assert find_store({}).root.name == "gpuenv"


@given(st.text(max_size=120))
def test_any_text_is_a_place_below_the_store_a_path_or_bad_usage(name: str) -> None:
    try:
        environment = find_place(name, ENVIRON)
    except UsageError:
        return
    if not (name.startswith((".", "~")) or os.sep in name):
        assert environment.path.parent == Path("/data/envs")
        assert not environment.path.name.startswith((".", "-"))
