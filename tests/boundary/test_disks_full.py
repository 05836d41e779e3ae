"""A full disk can be freed; on full and on read-only disks what only looks works, the rest says why not."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from disk_faults import Spec, lacking, run_commands
from installers import a_plan, fake_uv, plan_data
from sampling import every

from gpuenv.operations.create import Options, Verified, create

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the fakes on the PATH are shell scripts")
mounting = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))

TORCH = Path(__file__).parent / "fake_torch"
LOOKING = (
    ("list",),
    ("list", "--json"),
    ("info", "paper"),
    ("detect",),
    ("explain", "CUDA out of memory"),
    ("activate", "paper", "--shell", "sh"),
    ("export", "paper"),
    ("cache", "size"),
    ("mirrors", "list"),
    ("doctor", "paper"),
    ("help", "plan"),
    ("run", "paper", "--", "sh", "-c", "echo ran"),
)
FREEING = (
    ("cache", "clean", "--yes"),
    ("remove", "paper", "--yes"),
    ("remove", "thesis", "--yes"),
)
CHANGING = (
    ("create", "fresh", "--yes", "--offline"),
    ("clone", "paper", "copy"),
    ("rename", "paper", "other"),
    ("uninstall", "paper", "tiny", "--yes"),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A user with two environments and a cache with something in it."""
    for name in ("data", "cache/http/a", "cache/wheels", "home", "tmp", "work"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "cache" / "http" / "a" / "page").write_text("x" * 5000, encoding="utf-8")
    (tmp_path / "cache" / "wheels" / ("ab" * 32)).mkdir()
    uv = str(fake_uv(tmp_path / "programs"))
    options = Options(show=False, executables={"uv": uv})
    for name in ("paper", "thesis"):
        path = tmp_path / "data" / "envs" / name
        create(
            name, a_plan(path), plan_data(), environ=environ_of(tmp_path),
            verify=lambda _: Verified(ok=True, data={}), options=options,
        )  # fmt: skip
        python = path / "bin" / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={TORCH} exec {sys.executable} "$@"\n', encoding="utf-8")
        python.chmod(0o755)
        info = path / "lib" / "python3.12" / "site-packages" / "tiny-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n", encoding="utf-8")
    return tmp_path


def environ_of(root: Path) -> dict[str, str]:
    return {
        "GPUENV_DATA_DIR": str(root / "data"),
        "GPUENV_CACHE_DIR": str(root / "cache"),
        "HOME": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "UV_NO_CONFIG": "1",
        "PIP_CONFIG_FILE": os.devnull,
        **({"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}),
    }


def on_disks(
    root: Path, kind: str, names: tuple[str, ...], *commands: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Run the commands where these folders are disks of their own, full or read-only."""
    mounts = tuple(str(root / name) for name in names)
    return run_commands(Spec(commands, environ_of(root), mounts, kind), mounting=True)


def assert_told(done: dict[str, Any], *statuses: int) -> None:
    """No command ends as a defect, or with a traceback."""
    assert done["status"] in statuses, done
    assert "Traceback" not in done["err"], done
    assert "defect" not in done["err"], done


@mounting
@pytest.mark.parametrize("names", [("data",), ("data", "cache", "home", "tmp")])
def test_a_full_disk_can_be_freed(root: Path, names: tuple[str, ...]) -> None:
    done = on_disks(root, "full", names, *FREEING, ("list", "--json"), ("cache", "size", "--json"))
    for entry in done:
        assert_told(entry, 0)
    assert json.loads(done[-2]["out"])["data"]["environments"] == []
    assert json.loads(done[-1]["out"])["data"]["size"] == 0


@pytest.mark.slow
@mounting
@pytest.mark.parametrize(
    ("kind", "names"),
    every(
        3,
        (
            ("full", ("cache",)),
            ("full", ("data", "cache", "home", "tmp")),
            ("read-only", ("data", "cache", "home")),
        ),
        first=1,
    ),
)
def test_what_only_looks_works_on_such_a_disk(root: Path, kind: str, names: tuple[str, ...]) -> None:
    done = on_disks(root, kind, names, *LOOKING)
    for entry in done:
        assert_told(entry, *((0, 6) if entry["command"][0] == "doctor" else (0,)))
    assert done[-1]["out"] == "ran\n"


@pytest.mark.slow
@mounting
@pytest.mark.parametrize(
    ("left", "status", "words"),
    [
        (0, 2, ("data/locks` cannot be written", "0 B are free", "gpuenv cache clean")),
        (300_000, 5, ("an environment takes more than 1.0 MB, 299 kB are free", "gpuenv cache clean")),
    ],
)
def test_nothing_is_asked_of_an_index_where_nothing_fits(
    root: Path, left: int, status: int, words: tuple[str, ...]
) -> None:
    nowhere = ("--mirror", "http://127.0.0.1:9/whl", "--mirror", "http://127.0.0.1:9/simple")
    spec = Spec(
        (("create", "fresh", "--yes", "--cuda", "cpu", *nowhere),), environ_of(root),
        (str(root / "data"),), "full", left=left,
    )  # fmt: skip
    (done,) = run_commands(spec, mounting=True)
    assert_told(done, status)
    assert all(word in done["err"] for word in words), done["err"]
    assert "127.0.0.1" not in done["err"]


@mounting
@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_what_changes_something_says_where_it_can_not_be_written(root: Path, kind: str) -> None:
    done = on_disks(root, kind, ("data",), *CHANGING, ("list", "--json"))
    for entry in done[:-1]:
        assert_told(entry, 2, 4, 5)
    rows = json.loads(done[-1]["out"])["data"]["environments"]
    assert [row["name"] for row in rows] == ["paper", "thesis"]


@pytest.mark.parametrize("error", ["ENOSPC", "EROFS"])
@pytest.mark.parametrize(
    "command",
    [
        ("remove", "paper", "--yes"),
        ("rename", "paper", "other"),
        ("clone", "paper", "copy", "--yes"),
        ("uninstall", "paper", "tiny", "--yes"),
        ("export", "paper", "-o", "out.txt"),
        ("run", "paper", "--", "true"),
        ("verify", "paper"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_write_that_is_refused_half_way_loses_nothing(
    root: Path, command: tuple[str, ...], error: str
) -> None:
    """More numbers, and installers that run, are in tests/faults/writes.py."""
    out = root / "work" / "out.txt"
    out.write_text("# mine\n", encoding="utf-8")
    words = tuple(str(out) if word == "out.txt" else word for word in command)
    (done,) = run_commands(Spec((words,), environ_of(root), refused=error, first=3, below=f"{root}/"))
    assert_told(done, 0, 2, 5, 6)
    if done["told"]:
        assert out.read_text(encoding="utf-8") == "# mine\n"
        assert done["status"] == 0 or str(root) in done["err"]
    (listed,) = run_commands(Spec((("list", "--json"),), environ_of(root)))
    names = {row["name"] for row in json.loads(listed["out"])["data"]["environments"]}
    assert names >= ({"thesis"} if done["status"] == 0 else {"paper", "thesis"})
