"""A plan is locked without a request where all is known, and refused by the file's name where it is not."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from index_server import IndexServer, serve_indexes
from msgspec.structs import replace
from plans import package, plan

from gpuenv import matrices
from gpuenv.formats.pyproject import render_pyproject
from gpuenv.indexes.configuration.installer_default import default_file_host, default_index
from gpuenv.indexes.mirrors.load import load_mirrors
from gpuenv.locks.lock_plan import lock_if_possible, lock_plan
from gpuenv.locks.official_files import Hashing
from gpuenv.model.conda import CondaPlan
from gpuenv.model.errors import GpuenvError
from gpuenv.model.locked import Locked
from gpuenv.model.plan import FilePlace, Plan, PlannedPackage, Sources, StackFile
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.direct_urls import with_direct_urls

OFFLINE = PlanOptions(offline=True, driver="535.104.05", gpus=("9.0",))
SHA = "0123456789abcdef" * 4
TUNA = "https://mirrors.tuna.tsinghua.edu.cn/pypi/web"
HASHED = f"ab/cd/{'e' * 60}"
_HASHED = (row for row in matrices.load("wheels") if row["index"] == "pytorch" and row.get("sha256"))
TORCH = next(row for row in _HASHED if row["filename"].startswith("torch-2") and "+cu" in row["filename"])


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "config.toml").touch()
    return {
        "PATH": os.defpath, "HOME": str(tmp_path), "GPUENV_CACHE_DIR": str(tmp_path / "cache"),
        "GPUENV_CONFIG": str(tmp_path / "config.toml"), "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1",
    }  # fmt: skip


def numpy(place: str, **facts: Any) -> PlannedPackage:
    filename = "numpy-2.1.0-py3-none-any.whl"
    given = {"url": f"{place}/{filename}", "index": None, "filename": filename, "sha256": SHA, **facts}
    return package("numpy", "2.1.0", None, **given)


def made(*others: PlannedPackage, **facts: Any) -> Plan:
    """Return a plan whose resolver has run."""
    stack = tuple(replace(item, sha256=SHA) for item in plan().packages)
    return plan(packages=(*stack, *others), **facts)


def lock(planned: Plan, environ: dict[str, str]) -> Locked:
    return lock_plan(planned, OFFLINE, environ)


def refusal(planned: Plan, environ: dict[str, str]) -> GpuenvError:
    with pytest.raises(GpuenvError) as caught:
        lock(planned, environ)
    return caught.value


@pytest.mark.skipif(default_file_host() is None, reason="no pip is anywhere here")
def test_a_file_of_a_mirror_of_pypi_gets_the_address_that_pip_knows(environ: dict[str, str]) -> None:
    locked = lock(
        made(numpy(f"{TUNA}/packages/{HASHED}"), sources=Sources(f"{TUNA}/simple", (), ())), environ
    )
    file = locked.files[-1]
    assert file.url == f"https://{default_file_host()}/packages/{HASHED}/numpy-2.1.0-py3-none-any.whl"
    assert file.index == default_index(environ)
    assert locked.sources.index_url is None
    assert (locked.driver, locked.plan.variant) == ("525.60.13", "cu126")
    assert "sm_90" in locked.architectures


def test_where_official_files_lie_is_not_guessed(environ: dict[str, str]) -> None:
    """Of one's own official index pip knows nothing, and no page of it can be read."""
    Path(environ["GPUENV_CONFIG"]).write_text(
        '[[mirror]]\nname = "official"\ntitle = "x"\nkind = "official"\nstatus = "alive"\nsource = "x"\n'
        '[mirror.pypi]\nsimple = "https://pypi.example.com/simple"\n',
        encoding="utf-8",
    )
    error = refusal(made(numpy(f"{TUNA}/packages/{HASHED}")), environ)
    assert error.code == "no-official-address"
    assert "numpy-2.1.0-py3-none-any.whl" in error.message
    assert error.fixes


def test_a_file_without_a_hash_is_refused_by_its_name(environ: dict[str, str]) -> None:
    planned = made(numpy("https://lab.example.com/wheels", sha256=None))
    error = refusal(planned, environ)
    assert (error.exit_code, error.code) == (3, "no-hash")
    assert "numpy-2.1.0-py3-none-any.whl" in error.message
    locked = lock_if_possible(planned, OFFLINE, environ)
    assert isinstance(locked, Plan)
    assert locked.warnings[-1].code == "not-locked"
    assert "numpy-2.1.0-py3-none-any.whl" in locked.warnings[-1].message


def test_a_format_that_names_no_hashes_does_without(environ: dict[str, str]) -> None:
    planned = made(numpy("https://lab.example.com/wheels", sha256=None))
    locked = lock_plan(planned, OFFLINE, environ, Hashing(required=False))
    assert [file.sha256 for file in locked.files if file.name == "numpy"] == [""]
    assert "sha256" not in "".join(line for line in render_pyproject(locked).splitlines() if "numpy" in line)


def test_a_refusal_for_want_of_a_hash_names_the_option_that_makes_it(environ: dict[str, str]) -> None:
    error = refusal(made(numpy("https://lab.example.com/wheels", sha256=None)), environ)
    assert any("--fetch-hashes" in fix.text for fix in error.fixes)


@pytest.fixture
def shop(environ: dict[str, str], tmp_path: Path) -> Iterator[tuple[IndexServer, Plan, str]]:
    """A server with a wheel that no page lists, a plan that wants it, and its hash."""
    wheel = tmp_path / "numpy-2.1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        archive.writestr("numpy/__init__.py", "")
    with serve_indexes() as server:
        Path(environ["GPUENV_CONFIG"]).write_text(
            '[[mirror]]\nname = "official"\ntitle = "x"\nkind = "official"\nstatus = "alive"\nsource = "x"\n'
            f'[mirror.pypi]\nsimple = "{server.url}/nothing"\n',
            encoding="utf-8",
        )
        file = server.publish(wheel, "pytorch", "cu126")
        url = f"{server.url}{file.path}"
        planned = made(numpy(url.rpartition("/")[0], sha256=None, index=url.rpartition("/")[0]))
        yield server, planned, str(file.sha256)


def fetched(server: IndexServer) -> int:
    return sum(method == "GET" and path.endswith(".whl") for method, path, _ in server.asked)


def test_a_file_is_fetched_once_for_a_hash_that_no_page_tells(
    environ: dict[str, str], shop: tuple[IndexServer, Plan, str]
) -> None:
    server, planned, sha = shop
    wanted = replace(OFFLINE, offline=False, fetch_hashes=True)
    for _ in range(2):
        locked = lock_plan(planned, wanted, environ)
        assert [file.sha256 for file in locked.files if file.name == "numpy"] == [sha]
    assert fetched(server) == 1
    stored = Path(environ["GPUENV_CACHE_DIR"]) / "wheels" / sha / "numpy-2.1.0-py3-none-any.whl"
    assert stored.is_file()
    (Path(environ["GPUENV_CACHE_DIR"]) / "hashes.json").write_text('{"garbled', encoding="utf-8")
    assert lock_plan(planned, wanted, environ).files[-1].sha256 == sha


def test_nothing_is_fetched_offline_or_for_a_format_that_needs_no_hash(
    environ: dict[str, str], shop: tuple[IndexServer, Plan, str]
) -> None:
    server, planned, _ = shop
    with pytest.raises(GpuenvError) as caught:
        lock_plan(planned, replace(OFFLINE, fetch_hashes=True), environ)
    assert caught.value.code == "no-hash"
    wanted = replace(OFFLINE, offline=False, fetch_hashes=True)
    lock_plan(planned, wanted, environ, Hashing(required=False))
    assert fetched(server) == 0


def test_a_file_that_can_not_be_fetched_for_its_hash_is_no_refusal(
    environ: dict[str, str], shop: tuple[IndexServer, Plan, str]
) -> None:
    server, planned, _ = shop
    with server.failing("garbage", "/whl/cu126"), pytest.raises(GpuenvError) as caught:
        lock_plan(planned, replace(OFFLINE, offline=False, fetch_hashes=True), environ)
    assert (caught.value.exit_code, caught.value.code) == (4, "hash-not-fetched")


def test_a_hash_that_ships_with_gpuenv_is_as_good_as_one_on_a_page(environ: dict[str, str]) -> None:
    version = TORCH["filename"].split("-")[1]
    url = f"https://lab.example.com/{TORCH['filename']}"
    torch = package("torch", version, filename=TORCH["filename"], url=url, index="https://lab.example.com")
    planned = plan(packages=(torch, numpy("https://lab.example.com")), pins=(f"torch=={version}",))
    assert lock(planned, environ).files[0].sha256 == TORCH["sha256"]


def test_uv_is_told_the_hash_that_a_mirror_does_not_tell(environ: dict[str, str]) -> None:
    """It would fetch gigabytes to make one."""
    aliyun = "https://mirrors.aliyun.com/pytorch-wheels/cu126"
    sources = Sources(None, (), (f"{aliyun}/",))
    files = tuple(
        StackFile(
            item.name, str(item.filename), (FilePlace(aliyun, f"{aliyun}/", f"{aliyun}/{item.filename}"),)
        )
        for item in plan().packages
    )
    mirrors = load_mirrors(environ)
    planned = with_direct_urls(
        made(stack=files, pins=("torch[opt]==2.14.1+cu126",), sources=sources), mirrors
    )
    assert planned.pins == (f"torch[opt] @ {aliyun}/{files[0].filename}#sha256={SHA}",)
    assert planned.sources.find_links == ()
    unknown = plan(stack=files, sources=sources)
    assert with_direct_urls(unknown, mirrors) == unknown


def test_a_wheelhouse_is_locked_with_a_warning(environ: dict[str, str], tmp_path: Path) -> None:
    wheel = tmp_path / "my wheels" / "numpy-2.1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.write_bytes(b"a wheel")
    locked = lock(made(numpy("", url=wheel.as_uri(), sha256=None)), environ)
    file = locked.files[-1]
    assert (file.url, file.index) == (wheel.as_uri(), str(wheel.parent))
    assert file.sha256 == hashlib.sha256(b"a wheel").hexdigest()
    assert str(wheel.parent) in locked.sources.find_links
    assert [warn.code for warn in locked.plan.warnings][-1] == "lock-local"


def test_no_password_gets_into_a_lock(environ: dict[str, str]) -> None:
    location = "https://{}lab.example.com/simple"
    sources = Sources(
        location.format("me:secret@"), (location.format("you:secret@"),), (location.format("s:secret@"),)
    )
    locked = lock(made(numpy("https://****@lab.example.com/f"), sources=sources), environ)
    assert locked.files[-1].url == "https://lab.example.com/f/numpy-2.1.0-py3-none-any.whl"
    assert "secret" not in repr((locked.files, locked.sources))
    assert "*" not in repr((locked.files, locked.sources))


def test_what_is_built_is_told(environ: dict[str, str]) -> None:
    sdist = numpy("", filename="numpy-2.1.0.tar.gz", url="https://lab.example.com/numpy-2.1.0.tar.gz")
    locked = lock(made(sdist), environ)
    assert not locked.files[-1].is_wheel
    assert locked.plan.warnings[-1].code == "lock-sdist"


def test_what_no_lock_can_name_is_refused(environ: dict[str, str]) -> None:
    error = refusal(made(numpy("", url=None, filename=None, sha256=None)), environ)
    assert (error.exit_code, error.code) == (2, "not-lockable")
    assert "numpy" in error.message


def test_condas_packages_are_refused_with_the_right_format(environ: dict[str, str]) -> None:
    error = refusal(made(conda=CondaPlan((), (), (), "linux-64")), environ)
    assert (error.exit_code, error.code) == (2, "usage")
    assert "environment.yml" in str(error.fixes[0].command)
