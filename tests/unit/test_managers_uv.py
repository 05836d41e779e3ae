"""uv's list of Pythons, read from what it prints."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.installers.protocol import InstallRequest
from gpuenv.installers.uv import steps
from gpuenv.installers.uv_pythons import parse_python_list
from gpuenv.model.plan import Sources
from gpuenv.model.python import PythonOffer


def entry(version: str, **changes: Any) -> dict[str, Any]:
    major, minor, patch = (int("".join(filter(str.isdigit, part))[:2]) for part in version.split("."))
    return {
        "key": f"cpython-{version}-linux-x86_64-gnu",
        "version": version,
        "version_parts": {"major": major, "minor": minor, "patch": patch},
        "path": None,
        "symlink": None,
        "url": f"https://releases.example.com/cpython-{version}.tar.gz",
        "os": "linux",
        "variant": "default",
        "implementation": "cpython",
        "arch": "x86_64",
        "libc": "gnu",
        **changes,
    }


def test_final_releases_of_cpython_are_offered_newest_first() -> None:
    rows = [
        entry("3.16.0a2"),
        entry("3.14.10", variant="freethreaded"),
        entry("3.9.25"),
        entry("3.14.10"),
        entry("3.12.15", implementation="pypy"),
        entry("3.13.1", variant="debug"),
    ]
    assert parse_python_list(json.dumps(rows)) == (
        PythonOffer("3.14"),
        PythonOffer("3.14", free_threaded=True),
        PythonOffer("3.9"),
    )


def test_an_installed_one_is_offered_before_one_to_be_fetched() -> None:
    rows = [entry("3.12.16"), entry("3.12.1", path="/pythons/3.12.1/bin/python", url=None)]
    assert parse_python_list(json.dumps(rows)) == (
        PythonOffer("3.12", "/pythons/3.12.1/bin/python", installed=True),
    )


@pytest.mark.parametrize("text", ["", "{}", "[1]", "[{}]", '[{"version_parts": []}]', "[" * 100_000, "null"])
def test_anything_else_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_python_list(text)


_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(sorted(entry("3.1.1"))), inner)
    ),
    max_leaves=20,
)


@given(_json)
def test_json_of_any_shape_is_offers_or_a_value_error(document: Any) -> None:
    try:
        offers = parse_python_list(json.dumps(document))
    except ValueError:
        return
    assert all(offer.minor for offer in offers)


def test_every_patch_release_can_be_asked_for() -> None:
    rows = [
        entry("3.11.2"),
        entry("3.11.10"),
        entry("3.11.4", path="/p/bin/python", url=None),
        entry("3.12.0a1"),
    ]
    assert parse_python_list(json.dumps(rows), exact=True) == (
        PythonOffer("3.11.4", "/p/bin/python", installed=True),
        PythonOffer("3.11.10"),
        PythonOffer("3.11.2"),
    )


def test_the_patch_release_that_was_asked_for_is_brought() -> None:
    wanted = InstallRequest((), (), (), Sources(None, (), ()), "3.11", None, "env", "linux", release="3.11.4")
    assert steps(wanted)[0].argv == ("uv", "venv", "--python", "3.11.4", "env")
