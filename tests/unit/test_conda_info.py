"""What conda tools tell about themselves."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from fake_conda import transcript
from hypothesis import given
from hypothesis import strategies as st

from gpuenv import matrices
from gpuenv.installers.conda.check_solution import Tool
from gpuenv.installers.conda.tool_info import (
    CondaInfo,
    ToolVersions,
    check_version,
    parse_info,
    parse_tool_versions,
)
from gpuenv.model.errors import UsageError

KNOWN = parse_tool_versions(matrices.load("conda-tools"))
VALUES = st.none() | st.text(max_size=5) | st.integers() | st.lists(st.text(max_size=5) | st.lists(st.text()))
KEYS = ("conda_version", "libmamba version", "micromamba version", "platform", "virtual_pkgs",
        "virtual packages", "pkgs_dirs", "package cache", "envs directories", "channels")  # fmt: skip


def an_info(tool: Tool, version: str) -> CondaInfo:
    return CondaInfo(tool, version, "linux-64", None)


@pytest.mark.parametrize(
    ("name", "tool", "version", "cuda"),
    [
        ("conda-info", "conda", "26.7.1", None),
        ("mm-info", "micromamba", "2.8.1", None),
        ("mm-info", "mamba", "2.8.1", None),
        ("m1-info", "micromamba", "1.5.12", "12.8"),
    ],
)
def test_each_tool_tells_its_version_folders_and_cuda(
    name: str, tool: Tool, version: str, cuda: str | None
) -> None:
    info = parse_info(transcript(name).out, tool)
    assert (info.version, info.platform, info.cuda) == (version, "linux-64", cuda)
    assert info.root
    assert all(path.endswith("/pkgs") for path in info.caches)
    assert all(path.endswith("/envs") for path in info.environments)
    check_version(info, KNOWN)


@pytest.mark.parametrize("name", ["mm-info", "conda-info"])
def test_a_place_that_the_tool_masks_is_not_told(name: str) -> None:
    """Below a folder `t` libmamba takes the next one for a token: `/data/t/*****/mamba/envs`."""
    document = json.loads(transcript(name).out)
    folders = [key for key, value in document.items() if isinstance(value, list)]
    for key in folders:
        document[key] = ["/data/t/*****/mamba/x", *document[key]]
    document["base environment"] = document["root_prefix"] = "/data/t/*****/mamba"
    told = parse_info(transcript(name).out, "micromamba" if name == "mm-info" else "conda")
    document["virtual packages"] = document.get("virtual packages", [])[1:]
    document["virtual_pkgs"] = document.get("virtual_pkgs", [])[1:]
    masked = parse_info(json.dumps(document), told.tool)
    assert masked.root is None
    assert (masked.environments, masked.caches) == (told.environments, told.caches)


@pytest.mark.parametrize(
    ("tool", "version", "fits"),
    [
        ("conda", "23.9.1", False),
        ("conda", "23.10.0", True),
        ("mamba", "1.5.8", False),
        ("mamba", "2.0.0", True),
        ("micromamba", "1.4.9", False),
        ("micromamba", "1.5.0", True),
        ("micromamba", "1.10.0", True),
    ],
)
def test_a_tool_that_is_too_old_is_refused(tool: Tool, version: str, *, fits: bool) -> None:
    if fits:
        check_version(an_info(tool, version), KNOWN)
        return
    with pytest.raises(UsageError, match=r"too old"):
        check_version(an_info(tool, version), KNOWN)


def test_a_tool_of_which_no_bound_is_known_is_not_too_old() -> None:
    check_version(an_info("conda", "4.0"), ToolVersions(()))


@pytest.mark.parametrize(
    "row",
    [
        {"kind": "least", "tool": "conda", "version": "x"},
        {"kind": "least", "tool": "pixi", "version": "1"},
        {"kind": "least", "tool": "conda"},
        {"tool": "conda"},
    ],
)
def test_a_garbled_row_is_no_row(row: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"is no|Invalid"):
        parse_tool_versions([row])


@given(st.dictionaries(st.sampled_from(KEYS), VALUES), st.sampled_from(["conda", "mamba", "micromamba"]))
def test_any_document_is_an_info_or_a_value_error(document: dict[str, object], tool: Tool) -> None:
    with suppress(ValueError):
        parse_info(json.dumps(document), tool)
