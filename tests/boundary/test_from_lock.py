"""`--from-lock`: what does not fit the machine is refused; whatever stands in a lock, nothing breaks."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from plans import locked, locked_file, plan

from gpuenv.formats.pylock import render_pylock
from gpuenv.locks.plan_from_lock import for_lock, plan_from_lock
from gpuenv.model.errors import GpuenvError
from gpuenv.model.locked import Locked
from gpuenv.model.plan import Plan
from gpuenv.planning.options import PlanOptions

H100 = {"gpus": ("9.0",), "driver": "535.104.05", "platform": "linux-64", "glibc": "2.31"}
NOWHERE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:1")


def a_lock(torch: str = "2.14.1+cu126", torchvision: str = "0.29.1+cu126", **facts: Any) -> Locked:
    """Return a lock whose files have sizes: nothing is left to ask for."""
    made = locked(plan(), **facts)
    versions = {"torch": torch, "torchvision": torchvision}
    files = tuple(
        replace(
            file,
            version=versions.get(file.name, file.version),
            size=1000,
            filename=file.filename.replace(file.version, versions.get(file.name, file.version)),
            url=file.url.replace(file.version, versions.get(file.name, file.version)),
            index=file.index and file.index.replace("torch.example.com/whl", "torch.example.com/whl/cu126"),
        )
        for file in made.files
    )
    return replace(made, files=files)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    empty = tmp_path / "bin"
    empty.mkdir()
    return {
        "PATH": str(empty), "HOME": str(tmp_path), "GPUENV_CACHE_DIR": str(tmp_path / "cache"),
        "GPUENV_DATA_DIR": str(tmp_path / "data"), "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1",
        **NOWHERE,
    }  # fmt: skip


@pytest.fixture
def planned(tmp_path: Path, environ: dict[str, str]) -> Callable[..., Plan]:
    def planned(text: str | bytes, **options: Any) -> Plan:
        file = tmp_path / "pylock.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        plan_options = PlanOptions(**{**H100, **options})
        return plan_from_lock(file, plan_options, environ, target="/tmp/there")  # noqa: S108 - never made

    return planned


def refusal(planned: Callable[..., Plan], text: str | bytes, **options: Any) -> GpuenvError:
    with pytest.raises(GpuenvError) as caught:
        planned(text, **options)
    return caught.value


def told(error: GpuenvError) -> str:
    return " | ".join([error.message, *(reason.text for reason in error.because)])


def test_a_lock_that_fits_is_installed_file_by_file(planned: Callable[..., Plan]) -> None:
    made = planned(render_pylock(a_lock()))
    assert [package.name for package in made.packages] == [
        "torch", "torchvision", "numpy", "setuptools", "tinydep",
    ]  # fmt: skip
    assert made.hashed is not None
    lines = Path(made.hashed).read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("torch==2.14.1+cu126 --hash=sha256:")
    assert lines[2].startswith(
        "numpy @ https://files.example.com/numpy-2.1.0-py3-none-any.whl --hash=sha256:"
    )
    install = made.steps[-1].argv
    assert ("--no-deps", "--verify-hashes", "-r", made.hashed) == install[5:9]
    assert (made.python, made.manager, made.requirements, made.constraints) == ("3.12", "uv", (), ())


def test_the_same_lock_is_the_same_plan(planned: Callable[..., Plan]) -> None:
    text = render_pylock(a_lock())
    assert planned(text) == planned(text)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"driver": "470.57.02"}, "525.60.13"),
        ({"gpus": ("3.7",), "driver": "470.57.02"}, "525.60.13"),
        ({"gpus": ("12.0",), "driver": "575.57.08"}, "sm_"),
        ({"platform": "linux-aarch64"}, "platform_machine"),
        ({"platform": "win-64", "glibc": None}, "sys_platform"),
        ({"glibc": "2.17"}, "manylinux"),
        ({"python": "3.11"}, "==3.12.*"),
        ({"cuda": "cpu"}, "cu126"),
        ({"cuda": "12.8"}, "cu128"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_with_the_facts(
    planned: Callable[..., Plan], options: dict[str, Any], word: str
) -> None:
    error = refusal(planned, render_pylock(a_lock()), **options)
    assert (error.exit_code, error.code) == (3, "lock-unfit")
    assert word in told(error)
    assert error.fixes


def test_a_build_that_no_matrix_knows_is_judged_by_what_the_lock_tells(planned: Callable[..., Plan]) -> None:
    """A lock may come from a newer gpuenv."""
    newer = a_lock("2.99.0+cu126", "0.99.0+cu126", architectures=("sm_80", "sm_90"), driver="525.60.13")
    assert planned(render_pylock(newer)).packages[0].version == "2.99.0+cu126"
    assert "sm_80" in told(refusal(planned, render_pylock(newer), gpus=("7.5",)))
    without = re.sub(r"(?s)\[tool\.gpuenv\].*", "", render_pylock(newer))
    assert "2.99.0" in told(refusal(planned, without))


BROKEN = {
    "empty": lambda _: "",
    "no toml": lambda _: "packages: [torch]",
    "truncated": lambda text: text[: len(text) // 2],
    "no text": lambda _: b"\xff\x00\xff",
    "deep": lambda _: "packages = " + "[" * 5000,
    "another version": lambda text: text.replace('lock-version = "1.0"', 'lock-version = "2.0"'),
    "no hashes": lambda text: re.sub(r", hashes = \{.*?\}", "", text),
    "md5": lambda text: text.replace("sha256 =", "md5 ="),
    "a short hash": lambda text: text.replace('sha256 = "', 'sha256 = "ff'),
    "no torch": lambda text: re.sub(
        r'name = "torch"\n(?s:.*?)\n\n', 'name = "a"\ndirectory = {path="."}\n\n', text
    ),
    "an odd address": lambda text: text.replace("https://files", "ftp://files"),
    "a second line": lambda text: text.replace(
        'numpy-2.1.0-py3-none-any.whl"', 'x y/numpy-2.1.0-py3-none-any.whl"'
    ),
    "a directory": lambda text: text + '\n[[packages]]\nname = "x"\ndirectory = { path = "../x" }\n',
}


@pytest.mark.parametrize("how", BROKEN)
def test_what_is_no_lock_is_refused_by_its_name(planned: Callable[..., Plan], how: str) -> None:
    text = re.sub(r"(?s)\n\[tool\.gpuenv\].*", "", render_pylock(a_lock()))
    error = refusal(planned, BROKEN[how](text))
    assert (error.exit_code, error.code) == (2, "bad-lock")
    assert "pylock.toml" in error.message


def test_a_lock_that_is_not_there_is_told(environ: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(GpuenvError) as caught:
        plan_from_lock(tmp_path / "nosuch.toml", PlanOptions(), environ, target="x")
    assert caught.value.code == "bad-lock"


@pytest.mark.parametrize(
    "options",
    [
        {"requirements": ("numpy",)},
        {"channel": "conda-forge"},
        {"manager": "conda"},
        {"requirement_files": (Path("r"),)},
    ],
    ids=str,
)
def test_what_a_lock_leaves_no_room_for_is_bad_usage(options: dict[str, Any]) -> None:
    with pytest.raises(GpuenvError) as caught:
        for_lock(PlanOptions(**options), Path("pylock.toml"))
    assert caught.value.exit_code == 2


def test_rubbish_in_our_own_table_is_passed_over(planned: Callable[..., Plan]) -> None:
    text = render_pylock(a_lock())
    own = '[tool.gpuenv]\nvariant = "cu126\\nx"\nplatform = 3\narchitectures = ["rubbish", 7]\n'
    assert planned(re.sub(r"(?s)\[tool\.gpuenv\].*", lambda _: own, text)).variant == "cu126"


def test_a_lock_that_others_made_is_read_with_its_markers(planned: Callable[..., Plan]) -> None:
    """As uv writes them: no indexes, several wheels, markers."""
    torch = "https://torch.example.com/whl/cu126/torch-2.14.1%2Bcu126-cp3{0}-cp3{0}-manylinux_2_28_x86_64.whl"
    wheels = ", ".join(
        f'{{ url = "{torch.format(minor)}", hashes = {{ sha256 = "{minor:064}" }}, size = 9 }}'
        for minor in (10, 11, 12)
    )
    text = f"""lock-version = "1.0"
created-by = "uv"
requires-python = ">=3.10"
[[packages]]
name = "torch"
version = "2.14.1+cu126"
marker = "sys_platform == 'linux'"
wheels = [{wheels}]
[[packages]]
name = "torch"
version = "2.14.1"
marker = "sys_platform != 'linux'"
sdist = {{ url = "https://x.example.com/torch-2.14.1.tar.gz", hashes = {{ sha256 = "{0:064}" }} }}
"""
    made = planned(text, python="3.11")
    assert made.packages[0].filename == "torch-2.14.1+cu126-cp311-cp311-manylinux_2_28_x86_64.whl"
    assert made.hashed is not None
    line = Path(made.hashed).read_text(encoding="utf-8")
    assert line == f"torch @ {torch.format(11)} --hash=sha256:{11:064}\n"


def test_a_lock_against_what_is_known_to_break_is_told(planned: Callable[..., Plan]) -> None:
    made = a_lock("2.2.2+cu121", "0.17.2+cu121")
    files = tuple(file for file in made.files if file.name in ("torch", "torchvision"))
    old = replace(made, files=(*files, locked_file("numpy", "2.1.0", size=9)))
    text = render_pylock(old).replace("cu126", "cu121")
    assert [warn.code for warn in planned(text).warnings if warn.code == "lock-known-bad"]
