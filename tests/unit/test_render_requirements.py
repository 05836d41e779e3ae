"""Format `requirements.txt`, whole; and that nothing in it can become another line or option."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import H100, locked, locked_file, plan

from gpuenv.formats.requirements import render_locked_requirements, render_requirements
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.errors import UsageError
from gpuenv.model.machine import Gpu
from gpuenv.model.plan import Sources


def test_the_whole_file() -> None:
    assert render_requirements(plan()) == (
        "# NVIDIA H100 (9.0), driver 535.104.05 (up to CUDA 12.2)\n"
        "# torch 2.14.1+cu126 · torchvision 0.29.1+cu126 · numpy>=1.26 · `setuptools<82` · Python 3.12 · uv\n"
        "--find-links https://torch.example.com/whl/torch/\n"
        "--find-links https://torch.example.com/whl/torchvision/\n"
        "torch==2.14.1+cu126\n"
        "torchvision==0.29.1+cu126\n"
        "numpy>=1.26\n"
        "setuptools<82\n"
    )


def test_the_whole_file_of_a_locked_set() -> None:
    requested = plan(pins=("torch[opt]==2.14.1+cu126", "torchvision===0.29.1+cu126"))
    made = locked(requested, locked_file("timm", "1.0", url="https://t.example.com/timm-1.0.whl", index=None))
    made = replace(made, files=tuple(replace(file, sha256="5d" * 32) for file in made.files))
    digest = f"--hash=sha256:{'5d' * 32}"
    assert render_locked_requirements(made) == (
        "# NVIDIA H100 (9.0), driver 535.104.05 (up to CUDA 12.2)\n"
        "# torch 2.14.1+cu126 · torchvision 0.29.1+cu126 · numpy>=1.26 · `setuptools<82` · Python 3.12 · uv\n"
        "--find-links https://torch.example.com/whl/torch/\n"
        "--find-links https://torch.example.com/whl/torchvision/\n"
        f"torch[opt]==2.14.1+cu126 {digest}\n"
        f"torchvision===0.29.1+cu126 {digest}\n"
        f"numpy==2.1.0 {digest}\n"
        f"setuptools==81.0 {digest}\n"
        f"tinydep==1.0 {digest}\n"
        f"timm @ https://t.example.com/timm-1.0.whl {digest}\n"
    )


@pytest.mark.parametrize(
    "more", [" --trusted-host evil.example.com", "\n--index-url https://evil.example.com"]
)
def test_an_address_of_a_file_stays_one_word(more: str) -> None:
    file = locked_file("timm", "1.0", url=f"https://t.example.com/timm-1.0.whl{more}", index=None)
    with pytest.raises(UsageError):
        render_locked_requirements(locked(files=(file,)))


def test_the_users_own_indexes_stay() -> None:
    sources = Sources("https://a.example.com/simple", ("https://b.example.com/simple",), ())
    lines = render_requirements(plan(sources=sources)).splitlines()
    assert lines[2:4] == [
        "--index-url https://a.example.com/simple",
        "--extra-index-url https://b.example.com/simple",
    ]


def test_without_an_index_only_wheelhouses_are_named() -> None:
    sources = Sources("https://a.example.com", ("https://b.example.com",), ("/srv/wheels",), no_index=True)
    lines = render_requirements(plan(sources=sources)).splitlines()
    assert lines[2:4] == ["--no-index", "--find-links /srv/wheels"]


@pytest.mark.parametrize(
    "place", ["/srv/my wheels", r"C:\wheels", "/srv/it's", "https://x.example.com/?a=1&b=2", "/srv/$(x)"]
)
def test_an_address_is_quoted_as_pip_and_uv_read_it(place: str) -> None:
    sources = Sources(None, (), (place,))
    line = render_requirements(plan(sources=sources)).splitlines()[2]
    assert shlex.split(line) == ["--find-links", place]


def test_an_address_that_would_not_stay_in_its_line_is_refused() -> None:
    sources = Sources("https://x.example.com/\n--trusted-host evil.example.com", (), ())
    with pytest.raises(UsageError):
        render_requirements(plan(sources=sources))


@given(st.text(max_size=30))
def test_the_name_of_a_gpu_stays_in_its_comment(name: str) -> None:
    hostile = replace(H100, gpus=(Gpu(0, f"{name}\nevil", ComputeCapability(9, 0)),))
    lines = render_requirements(plan(machines=(hostile,))).split("\n")
    assert lines[0].startswith("# ")
    assert lines[2:] == render_requirements(plan()).split("\n")[2:]
