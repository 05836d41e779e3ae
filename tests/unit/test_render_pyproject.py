"""Format `pyproject`, whole; and that nothing in it can become another table or key."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from packaging.requirements import Requirement
from plans import H100, INDEX, WINDOWS, cpu_plan, locked, locked_file, package, plan

from gpuenv.formats.pyproject import render_pyproject
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.locked import Locked
from gpuenv.model.machine import Gpu
from gpuenv.model.plan import Sources

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WHOLE = """\
# made by gpuenv for
# NVIDIA H100 (9.0), driver 535.104.05 (up to CUDA 12.2)
# torch 2.14.1+cu126 · torchvision 0.29.1+cu126 · numpy>=1.26 · `setuptools<82` · Python 3.12 · uv
# create the environment with `uv sync`

[project]
name = "gpuenv-environment"
version = "0"
requires-python = "==3.12.*"
dependencies = [
    "torch==2.14.1+cu126",
    "torchvision==0.29.1+cu126",
    "numpy>=1.26",
    "setuptools<82",
]

[tool.uv]
package = false
environments = [
    "sys_platform == 'linux' and platform_machine == 'x86_64' and implementation_name == 'cpython'",
]
constraint-dependencies = [
    "numpy==2.1.0",
    "setuptools==81.0",
    "tinydep==1.0",
]

[tool.uv.sources]
torch = {index = "torch-example-com-whl"}
torchvision = {index = "torch-example-com-whl"}

[[tool.uv.index]]
name = "torch-example-com-whl"
url = "https://torch.example.com/whl"
explicit = true
"""

OF_PYPI = """\
# made by gpuenv for
# a CPU build: torch will not use a GPU
# no NVIDIA GPU, linux x86_64
# torch 2.15.0 (cpu) · Python 3.12 · uv
# create the environment with `uv sync`

[project]
name = "gpuenv-environment"
version = "0"
requires-python = "==3.12.*"
dependencies = [
    "torch==2.15.0",
]

[tool.uv]
package = false
environments = [
    "sys_platform == 'linux' and platform_machine == 'x86_64' and implementation_name == 'cpython'",
]
constraint-dependencies = [
    "numpy==2.1.0",
    "setuptools==81.0",
    "tinydep==1.0",
]
"""


def read(made: Locked) -> dict[str, Any]:
    return tomllib.loads(render_pyproject(made))


def uv(made: Locked) -> dict[str, Any]:
    return dict(read(made)["tool"]["uv"])


def test_the_whole_file() -> None:
    assert render_pyproject(locked()) == WHOLE


def test_the_whole_file_where_the_installers_own_index_has_it_all() -> None:
    made = cpu_plan()
    assert render_pyproject(locked(made, sources=Sources(None, (), ()))) == OF_PYPI


def test_every_file_of_the_set_is_held_to_its_version() -> None:
    made = locked(None, locked_file("some-lib", "1.0rc1", index=INDEX))
    document = read(made)
    texts = [*document["project"]["dependencies"], *document["tool"]["uv"]["constraint-dependencies"]]
    held = {Requirement(text).name: Requirement(text).specifier for text in texts if "==" in text}
    assert {file.name: f"=={file.version}" for file in made.files} == {
        name: str(specifier) for name, specifier in held.items()
    }


def test_what_only_a_named_index_lists_is_a_dependency_sent_to_it() -> None:
    """What dependencies depend on uv looks for on its own index."""
    links = (*plan().sources.find_links, f"{INDEX}/triton/")
    made = locked(None, locked_file("triton", "3.6.0", index=INDEX), sources=Sources(None, (), links))
    assert "triton==3.6.0" in read(made)["project"]["dependencies"]
    assert uv(made)["sources"]["triton"] == uv(made)["sources"]["torch"]


def test_what_lies_on_a_page_of_wheels_goes_by_its_address_and_hash() -> None:
    page = "https://lab.example.com/wheels/"
    pins = ("torch[opt-einsum]==2.14.1+cu126",)
    stack = (package("torch", "2.14.1+cu126", index=page, url=f"{page}torch.whl"),)
    made = locked(plan(packages=stack, pins=pins, sources=Sources(None, (), (page,))))
    (torch, *_) = read(made)["project"]["dependencies"]
    assert torch == f"torch[opt-einsum] @ {page}torch.whl#sha256={made.files[0].sha256}"
    assert "index" not in uv(made)


def test_a_wheelhouse_of_this_machine_is_a_flat_index() -> None:
    stack = (package("torch", "2.14.1+cu126", index="/srv/my wheels", url="file:///srv/my%20wheels/t.whl"),)
    made = locked(plan(packages=stack, pins=("torch==2.14.1+cu126",), sources=Sources(None, (), ())))
    (index,) = uv(made)["index"]
    assert index == {"name": index["name"], "url": "/srv/my wheels", "format": "flat", "explicit": True}


def test_the_users_own_indexes_are_read_as_create_reads_them() -> None:
    sources = Sources("https://a.example.com/simple", ("https://ann:secret@b.example.com/simple",), ())
    made = locked(sources=sources)
    assert uv(made)["index"] == [
        {"url": "https://b.example.com/simple"},
        {"url": "https://a.example.com/simple", "default": True},
    ]
    assert "index-strategy" not in uv(made)  # of several the first that has a package serves it
    assert "secret" not in render_pyproject(made)


def test_no_password_of_a_requirement_is_told() -> None:
    wanted = "b @ https://ann:secret@lab.example.com/b-1.0.whl"
    file = locked_file("b", "1.0", index=None, url="https://lab.example.com/b-1.0.whl")
    text = render_pyproject(locked(plan(requirements=(wanted,)), file))
    assert '"b @ https://lab.example.com/b-1.0.whl"' in text
    assert "secret" not in text


def test_without_an_index_none_is_named() -> None:
    made = locked(sources=Sources("https://a.example.com", ("https://b.example.com",), (), no_index=True))
    assert not {"index", "index-strategy", "no-index"} & set(uv(made))


def test_two_places_never_share_a_name() -> None:
    links = ("https://a.example.com/x-y/torch/", "https://a.example.com/x/y/torchvision/")
    stack = (
        package("torch", "2.14.1+cu126", index="https://a.example.com/x-y"),
        package("torchvision", "0.29.1+cu126", index="https://a.example.com/x/y"),
    )
    made = locked(plan(packages=stack), sources=Sources(None, (), links))
    names = {index["name"]: index["url"] for index in uv(made)["index"]}
    assert len(names) == 2
    assert names[uv(made)["sources"]["torch"]["index"]] == "https://a.example.com/x-y"


@pytest.mark.parametrize(
    ("machine", "marker"), [(WINDOWS, "sys_platform == 'win32' and platform_machine == 'AMD64'")]
)
def test_the_plans_platform_is_the_only_one(machine: Any, marker: str) -> None:
    assert uv(locked(plan(machines=(machine,))))["environments"] == [
        f"{marker} and implementation_name == 'cpython'"
    ]


def test_a_free_threaded_python_is_asked_for_in_so_many_words() -> None:
    """No specifier can tell it."""
    made = locked(plan(python="3.13t"))
    assert read(made)["project"]["requires-python"] == "==3.13.*"
    assert "# create the environment with `uv sync --python 3.13t`" in render_pyproject(made)


ODD = st.text(st.characters(codec="utf-8"), max_size=30) | st.text("\"'\\\n\r[]=#\u2028\x7f\x00 a")


@given(ODD)
def test_the_name_of_a_gpu_stays_in_its_comment(name: str) -> None:
    hostile = replace(H100, gpus=(Gpu(0, f"{name}\nevil = 1", ComputeCapability(9, 0)),))
    assert read(locked(plan(machines=(hostile,)))) == read(locked())


@given(ODD)
def test_an_address_stays_one_string(tail: str) -> None:
    url = f"https://lab.example.com/{tail}"
    made = locked(sources=Sources(url, (), ()))
    assert uv(made)["index"] == [{"url": url, "default": True}]
    assert read(made)["project"] == read(locked())["project"]
