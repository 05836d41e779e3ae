"""What create shows is resolved once: of torch that is here no page is read, and uv is held to the rest."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from deciding import machine
from index_server import IndexServer, PublishedFile, serve_indexes
from msgspec.structs import replace
from plans import package, plan
from tiny_wheels import tiny_torch, tiny_wheel

from gpuenv.indexes.mirrors.load import load_mirrors
from gpuenv.installers.uv_compile import Resolved, ResolvedFile
from gpuenv.model.machine import FoundPython
from gpuenv.model.plan import FilePlace, Plan, Sources, StackFile
from gpuenv.operations.resolve_all import with_all_files
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.resolve_others import held_files

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def server() -> Iterator[IndexServer]:
    with serve_indexes() as running:
        yield running


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "HOME": str(tmp_path),
        "PATH": "",
        "UV_CACHE_DIR": str(tmp_path / "uv"),
        "GPUENV_CACHE_DIR": str(tmp_path / "cache"),
    }


def planned(server: IndexServer, torch: PublishedFile) -> Plan:
    page = f"{server.pytorch}/torch/"
    place = FilePlace(page, page, f"{server.url}{torch.path}", torch.sha256)
    here = replace(machine({}), pythons=(FoundPython(PYTHON, sys.executable),))
    return plan(
        machines=(here,), python=PYTHON, python_path=sys.executable, variant="cpu",
        packages=(package("torch", "2.14.1+cpu", "cpu", filename=torch.filename, url=place.url),),
        pins=("torch==2.14.1+cpu",), requirements=(), constraints=(),
        sources=Sources(server.pypi, (), (page,)), stack=(StackFile("torch", torch.filename, (place,)),),
    )  # fmt: skip


@pytest.mark.parametrize("unpacked", [True, False])
def test_no_page_is_read_of_torch_that_is_here(
    server: IndexServer, tmp_path: Path, environ: dict[str, str], *, unpacked: bool
) -> None:
    """Uv would unpack a wheel to resolve with it; where it has not yet, the page is read instead."""
    wheel = tiny_torch(tmp_path, "2.14.1+cpu", requires=("tinydep>=1",))
    torch = server.publish(wheel, "pytorch", "cpu")
    tinydep = server.publish(tiny_wheel(tmp_path, "tinydep", "1.0"), "pypi")
    stored = tmp_path / "cache" / "wheels" / str(torch.sha256) / wheel.name
    stored.parent.mkdir(parents=True)
    wheel.rename(stored)
    pointer = tmp_path / "uv" / "wheels-v8" / "index" / "c1ea" / "torch" / f"{wheel.stem[6:]}.rev"
    pointer.parent.mkdir(parents=True)
    if unpacked:
        pointer.touch()
    made = planned(server, torch)
    mirrors = load_mirrors(environ)
    whole = with_all_files(made, PlanOptions(), mirrors, environ, tmp_path / "envs" / "trial")
    assert whole.held is not None
    assert [(file.name, file.version, file.sha256) for file in whole.held.packages] == [
        ("tinydep", "1.0", tinydep.sha256)
    ]
    assert whole.download is not None
    assert whole.download.cached == (1 if unpacked else 0)
    read = {path for _, path, _ in server.asked if path.startswith("/whl/torch")}
    assert bool(read) is not unpacked


FILE = ResolvedFile("tinydep", "1.0", "tinydep-1.0-py3-none-any.whl", None, "5d" * 32, None, None)
TORCH = ResolvedFile("torch", "2.14.1+cu126", "torch.whl", None, None, None, None)


@pytest.mark.parametrize(
    ("outcome", "manager"),
    [
        (Resolved((TORCH, replace(FILE, sha256=None))), "uv"),
        (Resolved((TORCH, replace(FILE, direct=True))), "uv"),
        (Resolved((TORCH, replace(FILE, version=""))), "uv"),
        (Resolved((TORCH, FILE), ("other @ git+https://example.com/other",)), "uv"),
        (Resolved((TORCH,)), "uv"),
        (Resolved((TORCH, FILE)), "pip"),
    ],
    ids=["no hash", "an address", "no version", "left out", "nothing more", "pip"],
)
def test_uv_resolves_anew_where_not_all_has_a_hash_on_an_index(outcome: Resolved, manager: str) -> None:
    made = plan(manager=manager, pins=("torch==2.14.1+cu126",), packages=plan().packages[:1])
    assert held_files(Resolved((TORCH, FILE)), replace(made, manager="uv")) is not None
    assert held_files(outcome, made) is None
