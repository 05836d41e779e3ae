"""Lists of packages for conda tools, and the traces that they leave."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuenv import matrices
from gpuenv.installers.conda.explicit import (
    asked_by_configuration,
    history_of_specs,
    record_of_solve,
    requested_as,
    spec_names,
    takes_lists,
    unlisted_because,
)
from gpuenv.installers.conda.tool_info import CondaInfo, parse_tool_versions
from gpuenv.model.conda import CondaChannel, CondaRecord

KNOWN = parse_tool_versions(matrices.load("conda-tools"))
CONDAS = """==> 2026-11-23 23:27:51 <==
# cmd: /opt/conda/bin/conda create -p /envs/lab --json -q -y --file /cache/explicit.txt
# conda version: 26.7.2
+conda-forge/linux-64::pytorch-2.8.0-cuda129_mkl_py311_h0000000_429
# update specs: ['file:///srv/conda-forge/linux-64::pytorch==2.8.0=cuda129_mkl_py311_h0000000_429']
"""
PACKAGE = CondaRecord(
    "pytorch", "2.8.0", "cuda129_0", 0, "linux-64", "conda-forge", "pytorch-2.8.0-cuda129_0.conda",
    "https://conda.example/conda-forge/linux-64/pytorch-2.8.0-cuda129_0.conda", sha256="a" * 64,
    depends=("python",),
)  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "version", "takes"),
    [
        ("conda", "24.7.1", False), ("conda", "24.9.0", True), ("conda", "26.7.2.dev56+g0f64223fb", True),
        ("micromamba", "1.5.12", False), ("micromamba", "2.5.0", False), ("micromamba", "2.8.1", True),
        ("mamba", "1", False), ("mamba", "2.6.0", True), ("rattler", "0.28.0", False),
    ],
)  # fmt: skip
def test_only_tools_that_record_the_packages_of_a_list_in_full_get_one(
    tool: str, version: str, *, takes: bool
) -> None:
    info = CondaInfo(tool, version, "linux-64", None)  # type: ignore[arg-type]
    assert takes_lists(info, KNOWN) is takes


def test_all_of_the_history_stays_but_the_specs() -> None:
    text = history_of_specs(CONDAS, ("python 3.11.*", 'numpy[version=">=1"]'))
    *before, last = CONDAS.splitlines()
    assert text.splitlines()[:-1] == before
    assert last not in text
    assert ast.literal_eval(text.splitlines()[-1].removeprefix("# update specs: ")) == [
        "python 3.11.*", 'numpy[version=">=1"]',
    ]  # fmt: skip


@given(st.lists(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1), min_size=1))
def test_conda_reads_back_the_specs_that_were_asked_for(specs: list[str]) -> None:
    line = history_of_specs(CONDAS, tuple(specs)).splitlines()[-1]
    assert ast.literal_eval(line.removeprefix("# update specs: ")) == specs


@pytest.mark.parametrize("text", ["", CONDAS.replace("# update specs", "# specs"), CONDAS * 2])
def test_a_history_without_one_line_of_specs_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="unexpected form"):
        history_of_specs(text, ("python",))


def test_specs_are_of_the_package_that_they_name() -> None:
    specs = ("python 3.11.*", "conda-forge::NumPy>=2", "conda-forge/linux-64::mkl", "pip", "scipy=1.14")
    assert list(spec_names(specs)) == ["python", "numpy", "mkl", "pip", "scipy"]


def test_a_record_gets_what_the_solve_knew_and_keeps_the_rest() -> None:
    document = {"name": "pytorch", "files": ["a"], "depends": ["pip"]}
    assert record_of_solve(document, PACKAGE) == {
        "name": "pytorch", "files": ["a"], "depends": ["python"], "constrains": [],
    }  # fmt: skip


def test_a_record_has_the_spec_that_asked_for_the_package() -> None:
    exact = {"name": "pytorch", "requested_spec": "x", "requested_specs": ["x"]}
    assert requested_as(exact, "pytorch 2.8") == {
        "name": "pytorch", "requested_spec": "pytorch 2.8", "requested_specs": ["pytorch 2.8"],
    }  # fmt: skip
    assert requested_as(exact, None) == {"name": "pytorch"}


def test_what_came_from_condas_cache_keeps_what_it_requires() -> None:
    document = {"name": "pytorch", "depends": ["as cached"]}
    assert record_of_solve(document, replace(PACKAGE, url="")) == document


@pytest.mark.parametrize(
    ("needs", "unasked"),
    [
        ({"python": (), "pip": ("python >=3.6", "wheel"), "wheel": ("python",)}, ()),
        ({"python": (), "jupyter": ("ipython",), "ipython": ("python",)}, ("jupyter",)),
        ({"python": ("pip",), "pip": ("python",), "a": ("b",), "b": ("a",)}, ()),  # a circle names nobody
    ],
)
def test_what_only_a_condarc_asks_for_is_found(
    needs: dict[str, tuple[str, ...]], unasked: tuple[str, ...]
) -> None:
    assert asked_by_configuration(needs, ("python 3.11.*", "pip")) == unasked


FORGE = CondaChannel("conda-forge", ("https://conda.example/conda-forge",))


def test_a_whole_package_of_a_channel_can_be_listed() -> None:
    assert unlisted_because((PACKAGE,), (PACKAGE,), (FORGE,), hides=False) is None


def test_a_package_fetched_from_elsewhere_is_left_to_the_tool() -> None:
    moved = replace(PACKAGE, url=PACKAGE.url.replace("conda.example", "conda.example.org"))
    assert unlisted_because((moved,), (moved,), (FORGE,), hides=True)
    assert unlisted_because((moved,), (), (FORGE,), hides=True) is None  # cached, from whichever mirror
    assert unlisted_because((moved,), (moved,), (CondaChannel("conda-forge", ()),), hides=True) is None


@pytest.mark.parametrize("place", ["user:pa55word@conda.example", "conda.example/t/to-ken-1234"])
def test_a_password_is_for_tools_that_keep_it_out_of_the_environment(place: str) -> None:
    secret = replace(PACKAGE, url=PACKAGE.url.replace("conda.example", place))
    channel = CondaChannel("conda-forge", (FORGE.urls[0].replace("conda.example", place),))
    assert unlisted_because((secret,), (secret,), (channel,), hides=True) is None
    assert unlisted_because((PACKAGE,), (PACKAGE,), (channel,), hides=True)  # told without it
    assert "password" in (unlisted_because((PACKAGE,), (PACKAGE,), (channel,), hides=False) or "")
