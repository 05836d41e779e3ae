"""A refresh reads what the matrices do not know from the wheels of an index; plans know it from then on."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sampling import every
from serving import Site, serve
from torch_wheels import metadata, wheel_bytes
from wheel_shop import Manner, WheelShop

import gpuenv
from gpuenv import matrices
from gpuenv.matrix.refresh import Read, Refreshed, RefreshOptions, refresh
from gpuenv.matrix.show import check_matrix, show_matrix
from gpuenv.matrix_checks.manifest import shrunk
from gpuenv.matrix_checks.run import check_matrices
from gpuenv.model.errors import GpuenvError, Unreachable, UsageError
from gpuenv.planning.load_knowledge import load_accelerators, load_knowledge, overlay_warnings
from gpuenv.planning.matrix_overlay import load_tables, overlay_directory, save_rows

LINUX = "manylinux_2_28_x86_64"
CU140 = {
    "kind": "release", "cuda": "14.0", "release": "14.0.48", "label": "14.0", "branch": 610,
    "linux": "610.33.01", "windows": "610.40", "source": "the test", "evidence": "matrix",
}  # fmt: skip


@dataclass
class Watcher:
    """Remembers what it is told."""

    count: int = 0
    read: list[Read] = field(default_factory=list)

    def begin(self, count: int) -> None:
        self.count = count

    def done(self, read: Read) -> None:
        self.read.append(read)


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


@pytest.fixture
def shop(site: Site) -> WheelShop:
    return WheelShop(site)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "GPUENV_DATA_DIR": str(tmp_path / "data"),
        "GPUENV_CACHE_DIR": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
    }


def name(version: str, python: str = "cp312", tag: str = LINUX, project: str = "torch") -> str:
    return f"{project}-{version}-{python}-{python}-{tag}.whl"


def offer_torch(shop: WheelShop, version: str, *, manner: Manner = "ranges", **facts: Any) -> None:
    public, _, _ = version.partition("+")
    shop.offer(name(version), wheel_bytes(version=public, **facts), manner=manner)


def run(shop: WheelShop, environ: Mapping[str, str], **options: Any) -> Refreshed:
    return refresh(RefreshOptions(indexes=(shop.index,), **options), environ, Watcher())


def rows_of(environ: Mapping[str, str], table: str = "torch") -> list[dict[str, Any]]:
    path = overlay_directory(environ) / f"{table}.json"
    return list(json.loads(path.read_text())["rows"]) if path.exists() else []


@pytest.mark.slow
def test_an_unknown_release_is_read_paired_and_known_from_then_on(
    shop: WheelShop, environ: dict[str, str]
) -> None:
    shop.offer(name("3.0.0"), wheel_bytes(variant="cu132"))
    shop.offer(name("3.0.0", "cp313"), b"not read: its sibling is newer")
    shop.offer(name("3.0.0", "cp314"), wheel_bytes(variant="cu132"))
    shop.offer(name("3.0.0", tag="win_amd64"), wheel_bytes(variant="cpu"))
    vision = wheel_bytes("torchvision", "0.40.0", variant="cu132", requires=("torch==3.0.0",))
    shop.offer(name("0.40.0", project="torchvision"), vision)
    refreshed = run(shop, environ)
    assert [item.problem for item in refreshed.read] == [None] * 3
    cpu, cuda = rows_of(environ)
    assert (cuda["variant"], cuda["pythons"], cuda["torchvision"]) == (
        "cu132",
        ["cp312", "cp313", "cp314"],
        ["0.40.0"],
    )
    assert (cuda["architectures"], cuda["cudnn"]) == (["sm_80", "sm_90", "compute_90"], "10.1.0.2")
    assert (cpu["platform"], cpu["variant"], cpu["architectures"]) == ("win-64", "cpu", [])
    assert check_matrix(environ).faults == ()
    assert show_matrix("torch", environ)[-1] == cuda
    known = load_knowledge(environ)
    assert {str(build.torch) for build in known.builds} >= {"3.0.0", "2.15.0"}
    requested = len(shop.site.asked)
    again = run(shop, environ)
    assert again.read == ()
    assert not [path for _, path in shop.site.asked[requested:] if path.startswith("/files/")]


def test_a_new_cuda_needs_one_row_and_no_code(shop: WheelShop, environ: dict[str, str]) -> None:
    offer_torch(shop, "3.0.0+cu140", requires=('nvidia-cudnn-cu14==10.1.0.2; platform_system == "Linux"',))
    refreshed = run(shop, environ)
    assert [warning.code for warning in refreshed.warnings] == ["no-driver-floor"]
    save_rows(overlay_directory(environ), {"cuda": (CU140,)}, environ)
    planned = plan(shop, environ, "--driver", "610.43.02", "--gpu", "9.0")
    assert planned["data"]["packages"][0]["version"] == "3.0.0+cu140"
    assert planned["data"]["packages"][0]["evidence"] == "wheel"
    refused = plan(shop, environ, "--driver", "580.95.05", "--gpu", "9.0")
    assert "610.33.01" in json.dumps(refused["error"])


def plan(shop: WheelShop, environ: Mapping[str, str], *machine: str) -> dict[str, Any]:
    argv = [sys.executable, "-m", "gpuenv", "plan", "torch>=3", "--mirror", shop.index, "--python", "3.12"]
    done = subprocess.run(
        [*argv, "--json", *machine],
        env=program(environ) | {"PIP_INDEX_URL": shop.index},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return dict(json.loads(done.stdout))


def program(environ: Mapping[str, str]) -> dict[str, str]:
    return {**environ, "PYTHONPATH": str(Path(gpuenv.__file__).parents[1])}


@pytest.mark.parametrize(
    ("facts", "manner", "note"),
    [
        ({"flags": None}, "ranges", "does not list architectures"),
        ({"members": {"torch/lib/libtorch_python.so": None}}, "ranges", "has no `torch/lib/libtorch_python`"),
        ({"members": {"torch/version.py": None}}, "ranges", "has no `torch/version.py`"),
        ({}, "whole", "does not support partial downloads"),
        ({}, "liar", "is truncated or garbled"),
    ],
)
def test_what_can_not_be_read_is_assumed_and_says_why(
    shop: WheelShop, environ: dict[str, str], facts: dict[str, Any], manner: Manner, note: str
) -> None:
    offer_torch(shop, "3.0.0+cu132", variant="cu132", manner=manner, **facts)
    run(shop, environ)
    (row,) = rows_of(environ)
    assert row["evidence"] == "assumed"
    assert note in row["note"]
    if "architectures as in" in row["note"]:
        assert row["architectures"] == ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]
    assert check_matrices({"torch": [row]}) == ()


def test_a_wheel_that_is_no_zip_is_known_by_the_metadata_beside_it(
    shop: WheelShop, environ: dict[str, str]
) -> None:
    url = shop.offer(name("3.0.0"), b"<html>sorry</html>" * 10)
    beside = metadata("torch", "3.0.0", "cuda-toolkit[cudart]==13.2.2", "nvidia-cudnn-cu13==9.30.0.1")
    shop.site.page(url.removeprefix(shop.site.url) + ".metadata", beside)
    run(shop, environ)
    (row,) = rows_of(environ)
    assert (row["variant"], row["cudnn"], row["evidence"]) == ("cu132", "9.30.0.1", "assumed")
    assert row["note"].startswith("the wheel is not a zip file; architectures as in torch 2.15.0+cu132")


def test_a_companion_whose_metadata_is_missing_is_assumed(shop: WheelShop, environ: dict[str, str]) -> None:
    vision = wheel_bytes(
        "torchvision", "0.40.0", variant="cu132", members={"torchvision-0.40.0.dist-info/METADATA": None}
    )
    shop.offer(name("0.40.0", project="torchvision"), vision)
    run(shop, environ)
    (row,) = rows_of(environ, "companions")
    assert (row["evidence"], row["requires_torch"], row["note"]) == ("assumed", None, "it has no `METADATA`")


def test_wheels_that_can_not_be_reached_are_read_the_next_time(
    shop: WheelShop, environ: dict[str, str]
) -> None:
    offer_torch(shop, "3.0.0+cu132", variant="cu132")
    offer_torch(shop, "3.1.0+cu132", variant="cu132", manner="missing")
    first = run(shop, environ)
    assert sorted(str(item.problem) for item in first.read) == ["None", "answered 404"]
    offer_torch(shop, "3.1.0+cu132", variant="cu132")
    assert [str(item.target.version) for item in run(shop, environ).read] == ["3.1.0"]


def test_when_nothing_can_be_read_that_is_an_error(shop: WheelShop, environ: dict[str, str]) -> None:
    offer_torch(shop, "3.0.0", manner="missing")
    with pytest.raises(Unreachable, match="none of 1 wheels") as caught:
        run(shop, environ)
    assert caught.value.exit_code == 4
    with pytest.raises(Unreachable, match="no index"):
        refresh(RefreshOptions(indexes=("http://127.0.0.1:1/simple",)), environ, Watcher())


def test_only_and_dry_run_restrict_what_is_done(
    shop: WheelShop, environ: dict[str, str], tmp_path: Path
) -> None:
    offer_torch(shop, "3.0.0+cu132", variant="cu132")
    offer_torch(shop, "3.1.0+cu132", variant="cu132")
    dry = run(shop, environ, only=("torch>=3.1",), dry_run=True)
    assert [str(item.version) for item in dry.targets] == ["3.1.0"]
    assert not (tmp_path / "data").exists()
    assert [method for method, path in shop.site.asked if "/files/" in path] == []
    with pytest.raises(UsageError, match="not one of torch"):
        run(shop, environ, only=("numpy",))


def test_write_merges_into_a_folder_one_row_a_line_and_sorted(
    shop: WheelShop, environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "matrices"
    folder.mkdir()
    for table in ("torch", "companions", "dependencies", "manifest"):
        (folder / f"{table}.json").write_bytes((matrices.directory() / f"{table}.json").read_bytes())
    before = (folder / "torch.json").read_text()
    counted = {row["table"]: row["count"] for row in matrices.read(folder, "manifest")}
    offer_torch(shop, "2.14.9", variant="cu132")
    run(shop, environ, write=folder)
    after = (folder / "torch.json").read_text()
    added = [line for line in after.splitlines() if line not in before.splitlines()]
    assert len(added) == 1
    assert '"torch": "2.14.9"' in added[0]
    position = after.splitlines().index(added[0])
    assert '"2.14.1"' in after.splitlines()[position - 1]
    assert '"2.15.0"' in after.splitlines()[position + 1]
    assert rows_of(environ) == []
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []
    manifest = matrices.read(folder, "manifest")
    assert {row["table"]: row["count"] for row in manifest} == counted | {
        "torch": counted["torch"] + 1, "companions": len(matrices.read(folder, "companions")),
        "dependencies": counted["dependencies"] + 1,
    }  # fmt: skip
    tables = {table: matrices.read(folder, table) for table in ("torch", "companions")}
    assert list(shrunk(tables, manifest)) == []


def test_a_folder_with_something_else_in_it_is_left_alone(
    shop: WheelShop, environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "torch.json").write_text("mine")
    offer_torch(shop, "3.0.0+cu132", variant="cu132")
    with pytest.raises(UsageError, match="does not contain a matrix"):
        run(shop, environ, write=tmp_path)
    assert (tmp_path / "torch.json").read_text() == "mine"


def test_reread_reads_what_is_known_from_elsewhere_once(
    shop: WheelShop, environ: dict[str, str], tmp_path: Path
) -> None:
    content = wheel_bytes(version="2.15.0", variant="cu132", flags="sm_75 sm_80")
    shop.offer(name("2.15.0"), content)
    assert run(shop, environ).read == ()
    (item,) = run(shop, environ, reread=True).read
    assert item.row
    assert item.row["torchvision"] == ["0.29.2"]
    assert run(shop, environ, reread=True).read == ()
    shop.offer(name("2.15.0"), wheel_bytes(version="2.15.0", variant="cu132", flags="sm_75 sm_90"))
    assert len(run(shop, environ, reread=True).read) == 1
    built = [build for build in load_knowledge(environ).builds if str(build.torch) == "2.15.0"]
    assert [str(item) for build in built if build.index == "pypi" for item in build.architectures][:2] == [
        "sm_75",
        "sm_90",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    every(3, ("", "{", "[]", '{"rows": 3}', '{"rows": [3, {"torch": "3.0.0"}]}', "\0\0\0", '{"rows": null}')),
)
def test_a_garbled_overlay_is_passed_over_with_a_warning(
    shop: WheelShop, environ: dict[str, str], text: str
) -> None:
    directory = overlay_directory(environ)
    directory.mkdir(parents=True)
    (directory / "torch.json").write_text(text)
    assert {warning.code for warning in overlay_warnings(environ)} == {"overlay-ignored"}
    assert load_tables(environ).tables["torch"] == matrices.load("torch")
    assert [fault.table for fault in check_matrix(environ).faults][:1] == ["overlay"]
    offer_torch(shop, "3.0.0+cu132", variant="cu132")
    run(shop, environ)
    assert [row["torch"] for row in rows_of(environ)] == ["3.0.0"]
    assert overlay_warnings(environ) == ()
    assert (directory / "torch.garbled").read_text() == text


def test_sound_rows_beside_garbled_ones_are_kept(environ: dict[str, str]) -> None:
    directory = overlay_directory(environ)
    row = dict(matrices.load("torch")[-1]) | {"torch": "3.0.0"}
    directory.mkdir(parents=True)
    (directory / "torch.json").write_text(json.dumps({"rows": [row, row | {"pythons": "all"}]}))
    assert load_tables(environ).tables["torch"][-1] == row
    assert len(overlay_warnings(environ)) == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_what_was_read_before_the_end_is_not_read_again(
    shop: WheelShop, environ: dict[str, str], number: signal.Signals, status: int
) -> None:
    for minor in range(4):
        offer_torch(shop, f"3.{minor}.0+cu132", variant="cu132")
    held = threading.Event()
    path = f"/files/{name('3.0.0+cu132')}".replace("+", "%2B")
    through = shop.site.routes[path]
    shop.site.at(path, lambda request: None if held.wait(20) else through(request))
    argv = [sys.executable, "-m", "gpuenv", "matrix", "refresh", "--index", shop.index]
    with subprocess.Popen(argv, env=program(environ), stdout=subprocess.DEVNULL) as process:
        _wait(lambda: len(rows_of(environ)) == 3)
        process.send_signal(number)
        assert process.wait(20) == status
    held.set()
    shop.site.at(path, through)
    shop.site.asked.clear()
    again = run(shop, environ)
    assert [str(item.target.version) for item in again.read] == ["3.0.0"]
    assert len(rows_of(environ)) == 4
    assert {row["torch"] for row in rows_of(environ, "companions")} == {f"3.{minor}.0" for minor in range(4)}


def _wait(is_so: Any) -> None:
    ends = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_two_refreshes_at_a_time_keep_each_others_rows(shop: WheelShop, environ: dict[str, str]) -> None:
    for minor in range(6):
        offer_torch(shop, f"3.{minor}.0+cu132", variant="cu132")
    halves = [("torch<3.3",), ("torch>=3.3",)]
    threads = [threading.Thread(target=run, args=(shop, environ), kwargs={"only": only}) for only in halves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows_of(environ)) == 6


def test_a_data_directory_that_can_not_be_written_is_a_usage_error(
    shop: WheelShop, environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("a file")
    offer_torch(shop, "3.0.0+cu132", variant="cu132")
    with pytest.raises(GpuenvError, match="cannot be written"):
        run(shop, environ)


def test_what_a_release_depends_on_is_read_with_its_sizes(shop: WheelShop, environ: dict[str, str]) -> None:
    """Of wheels that no row tells of, down to what their extras bring; what is known is not read again."""
    pins = ('newlib==1.2; platform_system == "Linux"', "kit[blas]==13.9", "sympy>=1.13.3", "lost==1")
    release = wheel_bytes(version="3.0.0", variant="cu132", requires=pins)
    shop.offer(name("3.0.0"), release)
    kit = wheel_bytes("kit", "13.9", requires=("newblas==13.9.*; extra == 'blas'", "no; extra == 'fft'"))
    library = wheel_bytes("newlib", "1.2", requires=())
    shop.offer("newlib-1.2-py3-none-manylinux_2_28_x86_64.whl", library)
    shop.offer("newlib-1.3-py3-none-manylinux_2_28_x86_64.whl", b"not what is pinned")
    shop.offer("kit-13.9-py3-none-any.whl", kit)
    shop.offer("newblas-13.9.1-py3-none-manylinux_2_28_x86_64.whl", b"no zip file")
    shop.offer("sympy-9.9-py3-none-any.whl", b"not read: a known one will do")
    run(shop, environ)
    build, *files = rows_of(environ, "dependencies")
    assert (build["torch"], build["variant"], build["size"]) == ("3.0.0", "cu132", len(release))
    assert build["requires"] == ["kit[blas]==13.9", "lost==1", "newlib==1.2", "sympy>=1.13.3"]
    assert build["installed"] == _unpacked(release)
    assert [(row["project"], row["platform"], row["requires"]) for row in files] == [
        ("kit", "any", ["newblas==13.9.*"]),
        ("newlib", "linux-64", []),
    ]
    assert [row["size"] for row in files] == [len(kit), len(library)]
    assert [row["installed"] for row in files] == [_unpacked(kit), _unpacked(library)]
    assert "sha256" in files[0]["source"]


def _unpacked(wheel: bytes) -> int:
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        return sum(info.file_size for info in archive.infolist())


MAC = "macosx_15_0_arm64"


@pytest.mark.slow
def test_builds_for_other_accelerators_become_rows_of_their_own(
    shop: WheelShop, environ: dict[str, str]
) -> None:
    """A new ROCm, a new chip, and what macOS asks for: rows, no code; read once."""
    rocm = wheel_bytes(variant="rocm8.0", flags="gfx90a gfx1100 gfx1300", requires=("triton-rocm==4.0.0",))
    shop.offer(name("3.0.0+rocm8.0"), rocm)
    shop.offer(name("3.0.0+rocm8.0", "cp313"), rocm)
    shop.offer(name("2.13.0+rocm7.2"), b"known, and not read")
    shop.offer(name("3.0.0+xpu"), wheel_bytes(variant="xpu", flags="pvc bmg ptl-h", requires=()))
    shop.offer(name("3.0.0", tag=MAC), wheel_bytes(variant=None, flags=None, requires=()))
    refreshed = run(shop, environ)
    assert [item.problem for item in refreshed.read] == [None] * 3
    mac, rocm_row, xpu = rows_of(environ, "accelerator-builds")
    assert (rocm_row["variant"], rocm_row["targets"]) == ("rocm8.0", ["gfx90a", "gfx1100", "gfx1300"])
    assert (rocm_row["pythons"], rocm_row["triton"]) == (["cp312", "cp313"], "triton-rocm")
    assert (xpu["variant"], xpu["targets"]) == ("xpu", ["pvc", "bmg", "ptl-h"])
    assert (mac["platform"], mac["requires"]) == ("osx-arm64", {"macos": "15.0", "mps": "14.0"})
    assert rows_of(environ) == []  # of torch.json
    builds = load_accelerators(environ).builds
    assert {build.variant for build in builds if str(build.torch) == "3.0.0"} == {"mps", "rocm8.0", "xpu"}
    assert run(shop, environ).targets == ()
    told = [fault.message for fault in check_matrix(environ).faults]
    assert told == ["no architecture runs code for `gfx1300`"]


@pytest.mark.slow
def test_amds_index_tells_chips_by_extras_and_a_wheel_without_a_list_tells_none(
    shop: WheelShop, environ: dict[str, str]
) -> None:
    """Of a build whose code is not known nothing is kept."""
    extra = 'amd-torch-device-gfx1201==3.0.0; extra == "device-gfx1201"'
    shop.offer(name("3.0.0+rocm8.1.0"), wheel_bytes(variant="rocm8.1", flags=None, requires=(extra,)))
    shop.offer(
        name("3.1.0+rocm8.1"), wheel_bytes(version="3.1.0", variant="rocm8.1", flags=None, requires=())
    )
    refreshed = run(shop, environ)
    (row,) = rows_of(environ, "accelerator-builds")
    assert (row["index"], row["extra"], row["targets"]) == ("amd", True, ["gfx1201"])
    problems = {str(item.target.version): item.problem for item in refreshed.read}
    assert problems["3.0.0"] is None
    assert "does not list" in (problems["3.1.0"] or "")
