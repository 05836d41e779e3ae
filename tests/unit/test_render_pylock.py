"""Format `pylock.toml`, whole; that packaging reads it back, and that nothing in it can become a key."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from packaging.pylock import Pylock
from plans import H100, locked, locked_file, plan

from gpuenv.formats.pylock import render_pylock
from gpuenv.locks.parse_pylock import needs_of
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.machine import Gpu

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WHOLE = """\
# NVIDIA H100 (9.0), driver 535.104.05 (up to CUDA 12.2)
# torch 2.14.1+cu126 · torchvision 0.29.1+cu126 · numpy>=1.26 · `setuptools<82` · Python 3.12 · uv
lock-version = "1.0"
environments = ["implementation_name == \\"cpython\\" and sys_platform == \\"linux\\" and \
platform_machine == \\"x86_64\\""]
requires-python = "==3.12.*"
created-by = "gpuenv"

[[packages]]
name = "numpy"
version = "2.1.0"
index = "https://pypi.example.com/simple"
wheels = [
    {url = "https://files.example.com/numpy-2.1.0-py3-none-any.whl", size = 7, \
hashes = {sha256 = "NUMPY"}},
]

[[packages]]
name = "timm"
version = "1.0"
archive = {url = "https://timm.example.com/timm-1.0-py3-none-any.whl", hashes = {sha256 = "TIMM"}}

[[packages]]
name = "tinydep"
version = "1.0"
index = "https://pypi.example.com/simple"
sdist = {url = "https://files.example.com/tinydep-1.0.tar.gz", hashes = {sha256 = "TINYDEP"}}

[[packages]]
name = "torch"
version = "2.14.1+cu126"
index = "https://torch.example.com/whl"
wheels = [
    {url = "https://torch.example.com/whl/torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl", \
hashes = {sha256 = "TORCH"}},
]

[tool.gpuenv]
variant = "cu126"
platform = "linux-64"
driver = "525.60.13"
architectures = [
    "sm_80",
    "sm_90",
]
"""


def some() -> dict[str, str]:
    return {
        name.upper(): digit * 64
        for name, digit in (("numpy", "1"), ("timm", "2"), ("tinydep", "3"), ("torch", "4"))
    }


def test_the_whole_file() -> None:
    digests = some()
    torch = locked().files[0]
    files = (
        replace(torch, sha256=digests["TORCH"]),
        locked_file("numpy", "2.1.0", size=7, sha256=digests["NUMPY"]),
        locked_file(
            "tinydep", "1.0", filename="tinydep-1.0.tar.gz",
            url="https://files.example.com/tinydep-1.0.tar.gz", sha256=digests["TINYDEP"],
        ),
        locked_file(
            "timm", "1.0", url="https://timm.example.com/timm-1.0-py3-none-any.whl", index=None,
            sha256=digests["TIMM"],
        ),
    )  # fmt: skip
    whole = WHOLE
    for word, digest in digests.items():
        whole = whole.replace(f'"{word}"', f'"{digest}"')
    made = locked(files=files, driver="525.60.13", architectures=("sm_80", "sm_90"))
    assert render_pylock(made) == whole


def test_it_is_read_back_as_it_was_written() -> None:
    made = locked(driver="525.60.13", architectures=("sm_80",))
    lock = Pylock.from_dict(tomllib.loads(render_pylock(made)))
    assert [package.name for package in lock.packages] == sorted(file.name for file in made.files)
    needs = needs_of(lock)
    assert (needs.variant, needs.platform, needs.architectures) == ("cu126", "linux-64", ("sm_80",))


def test_a_file_of_this_machine_names_no_index() -> None:
    file = locked_file("mine", "1.0", url="file:///srv/wheels/mine-1.0-py3-none-any.whl", index="/srv/wheels")
    text = render_pylock(locked(files=(file,)))
    assert 'url = "file:///srv/wheels/mine-1.0-py3-none-any.whl"' in text
    assert "index" not in text


@given(st.text(max_size=30))
def test_no_name_of_a_gpu_becomes_a_key(name: str) -> None:
    hostile = replace(H100, gpus=(Gpu(0, f"{name}\nevil = 1", ComputeCapability(9, 0)),))
    document = tomllib.loads(render_pylock(locked(plan(machines=(hostile,)))))
    assert "evil" not in document
