"""The packages beside an adapted torch, resolved by uv itself from a wheelhouse."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from index_server import dead_url
from packaging.requirements import Requirement
from tiny_wheels import tiny_wheel

from gpuenv.adapt.minimal_upgrades import Settlement
from gpuenv.adapt.nearest.resolver_changes import why_moved
from gpuenv.adapt.resolve_dependencies import Resolver
from gpuenv.installers.uv_compile import CompileInput
from gpuenv.installers.uv_compile_preferring import compile_preferring
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.errors import Unreachable
from gpuenv.model.index import IndexConfiguration, IndexSource
from gpuenv.model.plan import Sources

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
HERE = f"cp{sys.version_info[0]}{sys.version_info[1]}"
OLD = "cp27-cp27mu-manylinux1_x86_64"
NEW = f"{HERE}-{HERE}-manylinux1_x86_64"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """Torch, and a library whose first release is for an old Python alone."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    tiny_wheel(folder, "torch", "9.9.9")
    for version, tag in (("1.0", OLD), ("1.1", NEW), ("2.0", NEW)):
        tiny_wheel(folder, "compiled", version, tag=tag)
    for version in ("1.0", "2.0"):
        tiny_wheel(folder, "pure", version)
    tiny_wheel(folder, "user", "1.0", requires=("pure<2",))
    tiny_wheel(folder, "user", "2.0", requires=("pure>=2",))
    return folder


def resolver(
    wheels: Path, tmp_path: Path, *, before: str | None = None, constraints: tuple[str, ...] = ()
) -> Resolver:
    sources = Sources(None, (), (str(wheels),), no_index=True)
    base = CompileInput(
        ("torch==9.9.9",),
        (),
        constraints,
        sources,
        PYTHON,
        platform="linux-64",
        interpreter=sys.executable,
        before=before,
    )
    return Resolver(base, {**os.environ, "UV_CACHE_DIR": str(tmp_path / "cache")})


def settle(item: Resolver, wheels: Path, *texts: str) -> Settlement:
    configuration = IndexConfiguration(IndexSource("directory", str(wheels), "test"), (), ())
    settlement = item.settle(tuple(map(Requirement, texts)), configuration, frozenset())
    assert isinstance(settlement, Settlement), settlement
    return settlement


def test_uv_keeps_the_pins_that_can_stay_and_takes_the_nearest_newer_of_the_rest(
    wheels: Path, tmp_path: Path
) -> None:
    item = resolver(wheels, tmp_path)
    settlement = settle(item, wheels, "compiled==1.0", "pure==1.0", "user==1.0")
    assert {moved.project: str(moved.new) for moved in settlement.moved} == {"compiled": "1.1"}
    versions = {file.name: file.version for file in settlement.resolved.files}
    assert versions == {"torch": "9.9.9", "compiled": "1.1", "pure": "1.0", "user": "1.0"}
    assert item.runs < 8
    because = settlement.moved[0].because
    assert because is not None
    assert (
        why_moved("compiled", "1.0", because.message, (), PYTHON)
        == f"compiled 1.0 has no wheel for Python {PYTHON}"
    )


def test_a_bound_on_what_moves_does_not_let_it_move_further(wheels: Path, tmp_path: Path) -> None:
    """`numpy<2` of a torch that fails with numpy 2, and a numpy without a wheel for this Python."""
    item = resolver(wheels, tmp_path, constraints=("compiled<3",))
    settlement = settle(item, wheels, "compiled==1.0", "pure==1.0")
    assert {moved.project: str(moved.new) for moved in settlement.moved} == {"compiled": "1.1"}


def test_uv_says_which_of_two_pins_gives_way(wheels: Path, tmp_path: Path) -> None:
    settlement = settle(resolver(wheels, tmp_path), wheels, "pure==2.0", "user==1.0")
    assert len(settlement.moved) == 1


def test_what_no_index_has_is_left_out(wheels: Path, tmp_path: Path) -> None:
    settlement = settle(resolver(wheels, tmp_path), wheels, "pure==1.0", "pkg-of-nobody==0.0.0")
    assert settlement.absent == ("pkg-of-nobody",)


def test_files_without_a_day_are_let_be_where_a_day_is_asked_for(wheels: Path, tmp_path: Path) -> None:
    item = resolver(wheels, tmp_path, before="2021-06-30")
    settlement = settle(item, wheels, "pure==1.0")
    assert {file.name for file in settlement.resolved.files} == {"torch", "pure"}


def test_an_index_that_is_down_is_unreachable(tmp_path: Path) -> None:
    sources = Sources(f"{dead_url()}/simple", (), ())
    base = CompileInput(("torch==9.9.9",), (), (), sources, PYTHON, interpreter=sys.executable)
    item = Resolver(base, {**os.environ, "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_HTTP_RETRIES": "0"})
    with pytest.raises(Unreachable):
        item.settle((Requirement("pure==1.0"),), IndexConfiguration(None, (), ()), frozenset())


def test_failures_even_of_free_packages_are_told(wheels: Path, tmp_path: Path) -> None:
    tiny_wheel(wheels, "stubborn", "1.0", requires=("torch<2",))
    configuration = IndexConfiguration(None, (), ())
    settlement = resolver(wheels, tmp_path).settle(
        (Requirement("stubborn==1.0"),), configuration, frozenset()
    )
    assert isinstance(settlement, Unresolvable)
    assert "stubborn" in settlement.message


@pytest.mark.skipif(os.name == "nt", reason="the fake uv is a shell script")
def test_uv_hears_of_the_least_macos_where_it_prefers_releases_too(tmp_path: Path) -> None:
    uv, heard = tmp_path / "uv", tmp_path / "heard"
    uv.write_text(f'#!/bin/sh\necho "$MACOSX_DEPLOYMENT_TARGET" > "{heard}"\n', encoding="utf-8")
    uv.chmod(0o755)
    sources = Sources(None, (), ())
    question = CompileInput(("torch==2.9.1",), (), (), sources, "3.12", platform="osx-arm64", macos="14.5")
    compile_preferring(question, (), {"HOME": str(tmp_path)}, uv=str(uv))
    assert heard.read_text(encoding="utf-8") == "14.5\n"
