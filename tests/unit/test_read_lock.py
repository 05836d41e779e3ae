"""Whatever a lock holds, it is read as PEP 751 says or refused with a ValueError."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from deciding import gpu_machine
from hypothesis import given
from hypothesis import strategies as st
from packaging.tags import Tag

from gpuenv.locks.parse_pylock import (
    LockNeeds,
    UnfitError,
    compatible_with,
    needs_of,
    parse_lock,
    select_files,
)
from gpuenv.model.machine import Machine
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.target import Target

SHA = "a" * 64
LINUX = gpu_machine("535.104.05", "NVIDIA H100")
WINDOWS = gpu_machine("551.61", "RTX 4090", platform="win-64")
LOCK: dict[str, Any] = {
    "lock-version": "1.0",
    "created-by": "someone",
    "requires-python": ">=3.10",
    "packages": [
        {
            "name": "torch",
            "version": "2.14.1",
            "wheels": [
                {
                    "url": f"https://x.example.com/torch-2.14.1-cp312-cp312-{tag}.whl",
                    "hashes": {"sha256": SHA},
                }
                for tag in ("manylinux_2_28_x86_64", "win_amd64")
            ],
        },
        {"name": "mine", "archive": {"path": "../w/mine-1.0.tar.gz", "hashes": {"sha256": SHA}}},
    ],
    "tool": {"gpuenv": {"variant": "cu126", "platform": "linux-64", "architectures": ["sm_80"]}},
}


def target(machine: Machine) -> Target:
    return Target((machine,), (), "win-64" if machine.system.os == "windows" else "linux-64")


def names(document: dict[str, Any], machine: Machine, python: str = "3.12") -> list[str]:
    files = select_files(parse_lock(document), PythonOffer(python), target(machine), "file:///srv/locks/")
    return [file.filename for file in files]


def test_each_machine_gets_its_own_files() -> None:
    assert names(LOCK, LINUX)[0] == "torch-2.14.1-cp312-cp312-manylinux_2_28_x86_64.whl"
    assert names(LOCK, WINDOWS)[0] == "torch-2.14.1-cp312-cp312-win_amd64.whl"
    with pytest.raises(UnfitError, match="manylinux_2_28_x86_64"):
        names(LOCK, LINUX, "3.11")


def test_a_relative_path_starts_at_the_lock() -> None:
    files = select_files(parse_lock(LOCK), PythonOffer("3.12"), target(LINUX), "file:///srv/locks/")
    assert (files[1].url, files[1].version) == ("file:///srv/w/mine-1.0.tar.gz", "1.0")


def test_an_absolute_path_and_one_of_windows_are_read() -> None:
    lock = copy.deepcopy(LOCK)
    archive = lock["packages"][1]["archive"]
    archive["path"] = "/srv/my wheels/mine-1.0.tar.gz"
    files = select_files(parse_lock(lock), PythonOffer("3.12"), target(LINUX), "file:///srv/locks/")
    assert files[1].url == "file:///srv/my%20wheels/mine-1.0.tar.gz"
    archive["path"] = "..\\w\\mine-1.0.tar.gz"
    files = select_files(parse_lock(lock), PythonOffer("3.12"), target(LINUX), "file:///C:/locks/")
    assert files[1].url == "file:///C:/w/mine-1.0.tar.gz"


def test_the_best_of_several_wheels_is_taken() -> None:
    tags = compatible_with(PythonOffer("3.12"), target(LINUX))
    best = [
        Tag("cp312", "cp312", "manylinux_2_28_x86_64"), Tag("cp312", "cp312", "manylinux2014_x86_64"),
        Tag("cp312", "abi3", "manylinux_2_17_x86_64"), Tag("py3", "none", "any"),
    ]  # fmt: skip
    assert [tags.index(tag) for tag in best] == sorted(tags.index(tag) for tag in best)
    assert Tag("cp313", "cp313", "manylinux_2_28_x86_64") not in tags
    threaded = compatible_with(PythonOffer("3.13", free_threaded=True), target(LINUX))
    assert Tag("cp313", "cp313t", "manylinux_2_28_x86_64") in threaded
    assert Tag("cp313", "cp313", "manylinux_2_28_x86_64") not in threaded


def test_our_own_table_is_read_and_a_foreign_lock_has_none() -> None:
    assert needs_of(parse_lock(LOCK)) == LockNeeds("cu126", "linux-64", ("sm_80",))
    assert needs_of(parse_lock({**LOCK, "tool": {"uv": {}}})) == LockNeeds()
    assert needs_of(parse_lock({**LOCK, "tool": {"gpuenv": 7}})) == LockNeeds()


_SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
_ANYTHING = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [values for key, inner in items for values in ((*path, key), *_places(inner, (*path, key)))]


@given(
    st.sampled_from(_places(LOCK)), _ANYTHING | st.sampled_from(["../x", "a b", "https://[", "1.0\n", "≥3"])
)
def test_a_lock_with_anything_anywhere_is_read_or_refused(place: tuple[Any, ...], value: Any) -> None:
    lock = copy.deepcopy(LOCK)
    inner = lock
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    try:
        parsed = parse_lock(lock)
        needs_of(parsed)
        files = select_files(parsed, PythonOffer("3.12"), target(LINUX), "file:///srv/locks/")
    except ValueError:
        return
    for file in files:
        assert file.sha256 == file.sha256.lower()
        assert not any(letter.isspace() or not letter.isprintable() for letter in file.url)


@given(st.dictionaries(st.text(max_size=9), _ANYTHING, max_size=4))
def test_any_document_is_refused_or_read(document: dict[str, Any]) -> None:
    try:
        parse_lock(document)
    except ValueError:
        return
