"""Format `pixi.toml`, whole for each source of torch; and that nothing in it can become another table."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from conda_deciding import plan_of_channel
from deciding import gpu_machine
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import H100, INDEX, NOWHERE, WINDOWS, locked, locked_file, package, plan

from gpuenv.formats.pixi import render_pixi, render_pixi_of_conda
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.conda import CondaChannel, CondaPlan
from gpuenv.model.errors import UsageError
from gpuenv.model.locked import Locked, LockedFile
from gpuenv.model.machine import Gpu, Machine
from gpuenv.model.plan import Plan, Sources
from gpuenv.resolution.conda.plan_part import with_conda_python
from gpuenv.resolution.target import choose_target

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WHEELS = """\
# made by gpuenv for
# NVIDIA H100 (9.0), driver 535.104.05 (up to CUDA 12.2)
# torch 2.14.1+cu126 · torchvision 0.29.1+cu126 · numpy>=1.26 · `setuptools<82` · Python 3.12 · conda
# create the environment with `pixi install`

[workspace]
name = "gpuenv"
channels = [
    "conda-forge",
]
platforms = [
    "linux-64",
]

[system-requirements]
cuda = "12.2"
libc = {family = "glibc", version = "2.28"}

[dependencies]
python = "3.12.*"

[pypi-dependencies]
torch = {version = "==2.14.1+cu126", index = "https://torch.example.com/whl"}
torchvision = {version = "==0.29.1+cu126", index = "https://torch.example.com/whl"}
numpy = "==2.1.0"
setuptools = "==81.0"
tinydep = "==1.0"

[activation]
env = {PYTHONNOUSERSITE = "1"}
"""

FORGE = """\
# made by gpuenv for
# NVIDIA H100 (9.0), driver 535.104.05 (up to CUDA 12.2)
# torch 2.7.1 (cu126) · torchvision 0.22.1 (cu126) · timm · Python 3.12 · conda
# create the environment with `pixi install`

[workspace]
name = "gpuenv"
channels = [
    "conda-forge",
]
platforms = [
    "linux-64",
]

[system-requirements]
cuda = "12.2"

[dependencies]
python = "3.12.*"
pip = "*"
pytorch = {version = "==2.7.1", build = "cuda126*", channel = "conda-forge"}
torchvision = {version = "==0.22.1", channel = "conda-forge"}
cuda-version = "12.6.*"
samtools = ">=1.9"

[pypi-dependencies]
timm = "*"

[activation]
env = {PYTHONNOUSERSITE = "1"}
"""

PYTORCH = """\
# made by gpuenv for
# NVIDIA H100 (9.0), driver 535.104.05 (up to CUDA 12.2)
# torch 2.3.1 (cu121) · torchvision 0.18.1 (cu121) · Python 3.11 · conda
# create the environment with `pixi install`

[workspace]
name = "gpuenv"
channels = [
    "pytorch",
    "nvidia",
    "conda-forge",
]
platforms = [
    "linux-64",
]

[system-requirements]
cuda = "12.2"

[dependencies]
python = "3.11.*"
pip = "*"
pytorch = {version = "==2.3.1", build = "py3.11_cuda12.1*", channel = "pytorch"}
torchvision = {version = "==0.18.1", channel = "pytorch"}
pytorch-cuda = "12.1.*"
mkl = "<2024.1"

[activation]
env = {PYTHONNOUSERSITE = "1"}
"""


def of_wheels(*specs: str, machine: Machine = H100, **facts: Any) -> Plan:
    made = plan(manager="conda", machines=(machine,), **facts)
    return with_conda_python(made, choose_target((machine,), (), cpu=made.variant == "cpu"), specs)


def wheels(made: Plan | None = None, *more: LockedFile, **facts: Any) -> Locked:
    return locked(made or of_wheels(), *more, **facts)


def read(made: Locked) -> dict[str, Any]:
    return tomllib.loads(render_pixi(made))


def read_conda(made: Plan) -> dict[str, Any]:
    return tomllib.loads(render_pixi_of_conda(made))


def with_specs(*specs: str) -> Plan:
    made = plan_of_channel("conda-forge", H100, "torch==2.7.1")
    assert made.conda is not None
    return replace(made, conda=replace(made.conda, specs=(*made.conda.specs, *specs)))


def kept(**keys: Any) -> Plan:
    made = of_wheels()
    assert made.conda is not None
    return replace(made, conda=replace(made.conda, kept=tuple(keys.items())))


# whole files


def test_the_whole_file_where_torch_is_a_wheel() -> None:
    assert render_pixi(wheels()) == WHEELS


def test_the_whole_file_where_torch_is_conda_forges() -> None:
    wanted = ("torch==2.7.1", "torchvision", "timm")
    made = plan_of_channel("conda-forge", H100, *wanted, python="3.12", cuda="12.6", more=("samtools >=1.9",))
    assert render_pixi_of_conda(made) == FORGE


def test_the_whole_file_where_torch_is_the_pytorch_channels() -> None:
    made = plan_of_channel("pytorch", H100, "torch==2.3.1", "torchvision", python="3.11")
    assert render_pixi_of_conda(made) == PYTORCH


# wheels


def test_every_file_of_the_set_is_pinned() -> None:
    made = wheels(None, locked_file("tiny-other", "1.0.post1"))
    pinned = read(made)["pypi-dependencies"]
    versions = {
        name: answer if isinstance(answer, str) else answer["version"] for name, answer in pinned.items()
    }  # fmt: skip
    assert versions == {file.name: f"=={file.version}" for file in made.files}


def test_what_lies_on_a_page_of_wheels_goes_by_its_address() -> None:
    page = "https://lab.example.com/wheels/"
    stack = (package("torch", "2.14.1+cu126", index=page, url=f"{page}torch.whl"),)
    made = wheels(of_wheels(packages=stack), sources=Sources(None, (), (page,)))
    assert read(made)["pypi-dependencies"]["torch"] == {"url": f"{page}torch.whl"}


def test_what_was_asked_for_by_its_address_keeps_it() -> None:
    made = of_wheels(requirements=("b @ https://lab.example.com/b-1.0.whl",))
    assert read(wheels(made, locked_file("b", "1.0", index=None)))["pypi-dependencies"]["b"] == {
        "url": "https://lab.example.com/b-1.0.whl"
    }


def test_a_wheelhouse_of_this_machine_is_looked_into() -> None:
    stack = (package("torch", "2.14.1+cu126", index="/srv/wheels", url="/srv/wheels/torch.whl"),)
    document = read(wheels(of_wheels(packages=stack)))
    assert document["pypi-dependencies"]["torch"] == "==2.14.1+cu126"
    assert document["pypi-options"] == {"find-links": [{"path": "/srv/wheels"}]}


def test_the_users_own_indexes_stay_without_their_passwords() -> None:
    sources = Sources("https://a.example.com/simple", ("https://ann:secret@b.example.com/simple",), ())
    assert read(wheels(sources=sources))["pypi-options"] == {
        "index-url": "https://a.example.com/simple",
        "extra-index-urls": ["https://b.example.com/simple"],
    }


def test_what_conda_is_asked_for_is_not_pinned_again() -> None:
    """What conda's own packages bring is not known: a pin of another version of it can't be solved."""
    made = wheels(of_wheels("numpy >=1.26", requirements=("timm",)), locked_file("timm", "1.0"))
    document = read(made)
    assert document["dependencies"] == {"python": "3.12.*", "numpy": ">=1.26"}
    assert set(document["pypi-dependencies"]) == {"torch", "torchvision", "timm", "setuptools"}


def test_no_password_of_a_requirement_is_told() -> None:
    wanted = "b @ https://ann:secret@lab.example.com/b.whl"
    by_wheels = render_pixi(wheels(of_wheels(requirements=(wanted,)), locked_file("b", "1.0", index=None)))
    by_conda = render_pixi_of_conda(plan_of_channel("conda-forge", H100, "torch==2.7.1", wanted))
    for text in (by_wheels, by_conda):
        assert 'b = {url = "https://lab.example.com/b.whl"}' in text
        assert "secret" not in text


@pytest.mark.parametrize(
    ("tag", "libc"),
    [
        ("manylinux_2_34_x86_64", "2.34"),
        ("manylinux_2_17_x86_64.manylinux2014_x86_64", "2.28"),
        ("manylinux_2_31_x86_64.manylinux_2_35_x86_64", "2.31"),
        ("any", "2.28"),
    ],
)
def test_the_glibc_is_what_the_set_needs_and_not_the_machines(tag: str, libc: str) -> None:
    file = locked_file("b", "1.0", filename=f"b-1.0-py3-none-{tag}.whl")
    assert read(wheels(None, file))["system-requirements"]["libc"]["version"] == libc


def test_a_file_whose_name_tells_nothing_needs_no_glibc() -> None:
    odd = (locked_file("b", "1.0", filename="b.whl"), locked_file("c", "1.0", filename="c-1.0.tar.gz"))
    assert "system-requirements" in read(wheels(None, *odd))


@pytest.mark.parametrize(("driver", "cuda"), [("535.104.05", "12.2"), ("570.133.07", "12.6"), (None, "12.6")])
def test_the_cuda_is_what_the_wheels_need_of_a_driver_and_not_more_than_there_is(
    driver: str | None, cuda: str
) -> None:
    """Builds run on older drivers of the same major release; the plan's own is one that they run on."""
    here = gpu_machine(driver, "NVIDIA H100") if driver else replace(H100, driver=None)
    assert read(wheels(of_wheels(machine=here)))["system-requirements"]["cuda"] == cuda


def test_windows_has_no_glibc_and_a_machine_without_gpu_no_cuda() -> None:
    windows = tuple(
        package(item.name, item.version, filename=f"{item.name}-1-cp312-cp312-win_amd64.whl")
        for item in plan().packages
    )
    document = read(wheels(of_wheels(machine=WINDOWS, packages=windows)))
    assert document["workspace"]["platforms"] == ["win-64"]
    assert set(document["system-requirements"]) == {"cuda"}
    assert "cuda" not in read(wheels(of_wheels(machine=NOWHERE, variant="cpu")))["system-requirements"]


# conda's packages


@pytest.mark.parametrize(
    ("specs", "name", "written"),
    [
        (("a",), "a", "*"),
        (("a *",), "a", "*"),
        (("a 1.2",), "a", "==1.2"),
        (("a =1.2",), "a", "=1.2"),
        (("a=1.2=py312_0",), "a", {"version": "==1.2", "build": "py312_0"}),
        (("a >=1.2,<2 py*",), "a", {"version": ">=1.2,<2", "build": "py*"}),
        (("a[version='>=1.7']",), "a", ">=1.7"),
        (("bioconda::a",), "a", {"version": "*", "channel": "bioconda"}),
        (("a >=1.9", "a <3"), "a", ">=1.9,<3"),
        (("a 1.2.* py*", "a"), "a", {"version": "1.2.*", "build": "py*"}),
    ],
)
def test_a_spec_keeps_its_meaning(specs: tuple[str, ...], name: str, written: Any) -> None:
    assert read_conda(with_specs(*specs))["dependencies"][name] == written


@pytest.mark.parametrize("specs", [("- a",), ("a 1 x", "a 1 y"), ("a 1|2", "a >=1"), ("b::a", "c::a")])
def test_specs_that_can_not_be_written_are_refused(specs: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"pixi\.toml"):
        render_pixi_of_conda(with_specs(*specs))


@pytest.mark.parametrize(
    ("requirements", "written"),
    [
        (("timm",), {"timm": "*"}),
        (("timm>=1", "timm<2"), {"timm": ">=1,<2"}),
        (("Timm[b]>=1", "timm[a]"), {"timm": {"version": ">=1", "extras": ["a", "b"]}}),
        (("b @ https://lab.example.com/b.whl",), {"b": {"url": "https://lab.example.com/b.whl"}}),
        (('colorama; sys_platform == "win32"',), {}),
        (('colorama; sys_platform == "linux"',), {"colorama": "*"}),
        (("torch[opt-einsum]==2.7.1",), {"torch": {"version": "==2.7.1.*", "extras": ["opt-einsum"]}}),
    ],
)
def test_what_is_asked_of_pypi_stands_beside_condas_torch(
    requirements: tuple[str, ...], written: dict[str, Any]
) -> None:
    torch = () if requirements[0].startswith("torch") else ("torch==2.7.1",)
    made = plan_of_channel("conda-forge", H100, *torch, *requirements)
    assert read_conda(made).get("pypi-dependencies", {}) == written


def test_an_older_glibc_than_pixi_takes_for_granted_is_told() -> None:
    old = replace(H100, system=replace(H100.system, libc_version="2.17"))
    made = replace(plan_of_channel("conda-forge", H100, "torch==2.7.1"), machines=(H100, old))
    assert read_conda(made)["system-requirements"]["libc"] == {"family": "glibc", "version": "2.17"}


# the user's file


def test_the_name_and_the_variables_of_the_users_file_stay() -> None:
    document = read(wheels(kept(name="paper", variables={"A": 1, "DATA": "/srv/data"})))
    assert document["workspace"]["name"] == "paper"
    assert document["activation"]["env"] == {"PYTHONNOUSERSITE": "1", "A": "1", "DATA": "/srv/data"}


@pytest.mark.parametrize("value", ["$(rm -rf ~)", "a;b", "`x`", '"', "%PATH%", "a\nb", "", "a & b", "\\"])
def test_a_value_that_a_shell_would_read_is_left_out_and_told(value: str) -> None:
    text = render_pixi(wheels(kept(variables={"A": value, "$(x)": "1"})))
    assert tomllib.loads(text)["activation"]["env"] == {"PYTHONNOUSERSITE": "1"}
    assert "the variables A, $(x)" in text


# nothing breaks out


ODD = st.text(st.characters(codec="utf-8"), max_size=30) | st.text("\"'\\\n\r[]=#\u2028\x7f\x00 a")


@given(ODD)
def test_the_name_of_a_gpu_stays_in_its_comment(name: str) -> None:
    hostile = replace(H100, gpus=(Gpu(0, f"{name}\nevil = 1", ComputeCapability(9, 0)),))
    made = replace(of_wheels(), machines=(hostile,))
    assert read(wheels(made)) == read(wheels())


@given(ODD, ODD, ODD)
def test_names_and_channels_of_the_users_file_stay_one_string(name: str, channel: str, tail: str) -> None:
    made = kept(name=name)
    part = CondaPlan((CondaChannel(channel, ()),), ("python 3.12.*",), (), "linux-64", kept=(("name", name),))
    url = f"https://lab.example.com/{tail}"
    document = read(wheels(replace(made, conda=part), sources=Sources(url, (), ())))
    assert document["workspace"]["name"] == name
    assert document["pypi-options"] == {"index-url": url}
    assert set(document) - {"system-requirements"} == {
        "workspace", "dependencies", "pypi-options", "pypi-dependencies", "activation",
    }  # fmt: skip


def test_the_index_of_torch_is_its_own() -> None:
    assert read(wheels())["pypi-dependencies"]["torch"]["index"] == INDEX
