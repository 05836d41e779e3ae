"""Format `environment.yml`, whole for each source of torch; nothing breaks out of its place in it."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from conda_deciding import plan_of_channel
from deciding import gpu_machine, machine
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from packaging.requirements import Requirement
from plans import plan
from ruamel.yaml import YAML

from gpuenv import matrices
from gpuenv.formats.environment_yml import render_environment
from gpuenv.formats.requirements import render_requirements
from gpuenv.indexes.mirrors.canonical_urls import canonical_sources
from gpuenv.indexes.mirrors.records import parse_mirror
from gpuenv.model.conda import CondaChannel, CondaPlan
from gpuenv.model.errors import Because, UsageError
from gpuenv.model.machine import Driver, DriverVersion
from gpuenv.model.match_spec import parse_match_spec
from gpuenv.model.plan import Plan, Sources
from gpuenv.resolution.conda.environment_yml import parse_environment_file
from gpuenv.resolution.conda.plan_part import with_conda_python
from gpuenv.resolution.target import choose_target

H100 = gpu_machine("535.104.05", "NVIDIA H100")
MIRRORS = tuple(parse_mirror(row) for row in matrices.load("mirrors"))
HOSTS = {
    host for mirror in MIRRORS if mirror.kind != "official" for host in (*mirror.hosts, *mirror.intranet)
}


def read(made: Plan) -> dict[str, Any]:
    """Read what is written, as conda reads it."""
    document = YAML(typ="safe", pure=True).load(StringIO(render_environment(made)))
    assert isinstance(document, dict)
    return document


def pip_part(document: dict[str, Any]) -> list[str]:
    parts = [item["pip"] for item in document["dependencies"] if isinstance(item, dict)]
    return list(parts[0]) if parts else []


def of_wheels(**facts: Any) -> Plan:
    return with_conda_python(plan(manager="conda", **facts), choose_target((H100,), (), cpu=False))


def without_reasons(made: Plan) -> Plan:
    """The reasons change with the matrices; one of ours stands in for them."""
    return replace(made, why=(Because("CUDA 12 needs driver 525.60.13 or newer", "matrix cuda.json"),))


# whole files

WHEELS = """\
# made by gpuenv for
# NVIDIA H100 (9.0), driver 535.104.05 (up to CUDA 12.2)
# torch 2.14.1+cu126 · torchvision 0.29.1+cu126 · numpy>=1.26 · `setuptools<82` · Python 3.12 · conda
# CUDA 12 needs driver 525.60.13 or newer [matrix cuda.json]
# environment.yml cannot contain mirrors: `gpuenv mirrors use NAME` adds them to the condarc
name: gpuenv
channels:
  - conda-forge
dependencies:
  - python 3.12.*
  - pip
  - pip:
      - --find-links https://torch.example.com/whl/torch/
      - --find-links https://torch.example.com/whl/torchvision/
      - torch==2.14.1+cu126
      - torchvision==0.29.1+cu126
      - numpy>=1.26
      - setuptools<82
variables:
  PYTHONNOUSERSITE: '1'
"""

FORGE = """\
# made by gpuenv for
# NVIDIA H100 (9.0), driver 535.104.05 (up to CUDA 12.2)
# torch 2.7.1 (cu126) · torchvision 0.22.1 (cu126) · timm · Python 3.12 · conda
# CUDA 12 needs driver 525.60.13 or newer [matrix cuda.json]
# environment.yml cannot contain mirrors: `gpuenv mirrors use NAME` adds them to the condarc
name: gpuenv
channels:
  - conda-forge
dependencies:
  - python 3.12.*
  - pip
  - pytorch 2.7.1 cuda126*
  - torchvision 0.22.1 *
  - cuda-version 12.6.*
  - samtools >=1.9
  - pip:
      - torch==2.7.1.*
      - torchvision==0.22.1.*
      - timm
variables:
  PYTHONNOUSERSITE: '1'
"""

PYTORCH = """\
# made by gpuenv for
# NVIDIA H100 (9.0), driver 535.104.05 (up to CUDA 12.2)
# torch 2.3.1 (cu121) · torchvision 0.18.1 (cu121) · Python 3.11 · conda
# CUDA 12 needs driver 525.60.13 or newer [matrix cuda.json]
# environment.yml cannot contain mirrors: `gpuenv mirrors use NAME` adds them to the condarc
name: gpuenv
channels:
  - pytorch
  - nvidia
  - conda-forge
dependencies:
  - python 3.11.*
  - pip
  - pytorch 2.3.1 py3.11_cuda12.1*
  - torchvision 0.18.1 *
  - pytorch-cuda 12.1.*
  - mkl <2024.1
variables:
  PYTHONNOUSERSITE: '1'
"""


def test_the_whole_file_where_torch_is_a_wheel() -> None:
    assert render_environment(without_reasons(of_wheels())) == WHEELS


def test_the_whole_file_where_torch_is_conda_forges() -> None:
    wanted = ("torch==2.7.1", "torchvision", "timm")
    made = plan_of_channel("conda-forge", H100, *wanted, python="3.12", cuda="12.6", more=("samtools >=1.9",))
    assert render_environment(without_reasons(made)) == FORGE


def test_the_whole_file_where_torch_is_the_pytorch_channels() -> None:
    made = plan_of_channel("pytorch", H100, "torch==2.3.1", "torchvision", python="3.11")
    assert render_environment(without_reasons(made)) == PYTORCH


def test_a_gpu_machines_file_tells_its_facts_and_their_sources() -> None:
    text = render_environment(plan_of_channel("conda-forge", H100, "torch==2.7.1"))
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert any("525.60.13" in line and "[" in line for line in comments)
    assert any("sm_90" in line for line in comments)


# what was written is read


MACHINES = (
    H100,
    gpu_machine("470.82.01", "NVIDIA A100"),
    gpu_machine("418.87.00", "Tesla T4"),
    gpu_machine("551.61", "RTX 4090", platform="win-64"),
    gpu_machine("550.54.14", "NVIDIA GH200", platform="linux-aarch64"),
    machine({}),
)
SOURCES = [(channel, item) for item in MACHINES for channel in ("conda-forge", "pytorch")]
KNOWN = {(row["channel"], row["platform"]) for row in matrices.load("conda")}
SERVED = [
    (channel, item)
    for channel, item in SOURCES
    if (
        channel,
        {"windows": "win-64"}.get(item.system.os, f"linux-{item.system.arch}").replace("x86_64", "64"),
    )
    in KNOWN
]


@pytest.mark.parametrize(("channel", "one"), SERVED)
def test_a_channels_file_asks_for_the_very_build_in_three_fields(channel: str, one: Any) -> None:
    made = plan_of_channel(channel, one, "torch", "torchvision")
    document = read(made)
    assert set(document) == {"name", "channels", "dependencies", "variables"}
    specs = [item for item in document["dependencies"] if isinstance(item, str)]
    assert "pip" in specs
    assert all(len(spec.split()) <= 3 for spec in specs)
    (torch,) = [parse_match_spec(spec) for spec in specs if spec.startswith("pytorch ")]
    assert torch.version == made.packages[0].version
    assert ("cpu" in torch.build) == (made.variant == "cpu") == (not one.gpus)
    assert document["channels"][0] == channel
    assert document["variables"] == {"PYTHONNOUSERSITE": "1"}


@pytest.mark.slow
@pytest.mark.parametrize(("channel", "one"), SERVED)
def test_what_is_written_is_read_as_the_same_request(channel: str, one: Any) -> None:
    made = plan_of_channel(channel, one, "torch", "torchvision")
    again = parse_environment_file(render_environment(made), made.conda.subdir)  # type: ignore[union-attr, arg-type]
    assert again.stack == tuple(f"{item.name}=={item.version}" for item in made.packages)
    assert again.python == f"=={made.python}.*"
    wish = made.variant if made.variant == "cpu" else f"{made.variant[2:-1]}.{made.variant[-1]}"
    assert again.cuda == wish
    assert again.warnings == ()


def test_no_prefix() -> None:
    assert "prefix" not in read(plan_of_channel("conda-forge", H100, "torch"))


@pytest.mark.parametrize("name", ["tuna", "nju", "aliyun"])
def test_no_mirror_stands_in_it(name: str) -> None:
    mirror = next(item for item in MIRRORS if item.name == name)
    simple = mirror.pypi.simple if mirror.pypi else None
    links = tuple(
        f"{mirror.torch.of_variant('cu126')}/{project}/"
        for project in ("torch", "torchvision")
        if mirror.torch
    )
    packages = tuple(
        replace(package, index=links[0].rpartition("/torch/")[0]) if links else package
        for package in plan().packages
    )
    made = of_wheels(sources=Sources(simple, (), links), packages=packages)
    channels = (
        (CondaChannel("conda-forge", (f"{mirror.conda.root}/cloud/conda-forge",)),) if mirror.conda else ()
    )
    made = replace(made, conda=replace(made.conda, channels=channels))  # type: ignore[arg-type, type-var]
    text = render_environment(replace(made, sources=canonical_sources(made, MIRRORS)))
    assert not [host for host in HOSTS if host in text]
    assert "https://download.pytorch.org/whl/cu126/torch/" in text or not links


# the user's file


def kept(**keys: Any) -> Plan:
    made = of_wheels()
    return replace(made, conda=replace(made.conda, kept=tuple(keys.items())))  # type: ignore[arg-type, type-var]


def test_what_else_stood_in_the_users_file_stays() -> None:
    document = read(kept(name="paper", variables={"A": 1}, x={"owner": ["ada", None, True]}))
    assert document["name"] == "paper"
    assert document["variables"] == {"PYTHONNOUSERSITE": "1", "A": "1"}
    assert document["x"] == {"owner": ["ada", None, True]}


@pytest.mark.parametrize("odd", [None, 3, ["a"], {"a": 1}])
def test_an_odd_name_or_variables_are_no_name_and_no_variables(odd: Any) -> None:
    document = read(kept(name=odd, variables=odd))
    assert document["name"] == "gpuenv"
    assert document["variables"]["PYTHONNOUSERSITE"] == "1"


KEPT = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters(codec="utf-8", exclude_categories=["C"])),
    lambda strategy: (
        st.lists(strategy, max_size=3)
        | st.dictionaries(st.text("abc #:\"'", min_size=1), strategy, max_size=3)
    ),
    max_leaves=6,
)


@given(KEPT)
def test_whatever_is_kept_is_read_again(value: Any) -> None:
    assert read(kept(x=value))["x"] == value


# nothing breaks out


ODD = st.text(st.characters(codec="utf-8"), max_size=30) | st.text(st.sampled_from("a#\n\r\u2028\x85: -'\"{"))


@given(ODD, ODD)
def test_no_text_of_the_machine_leaves_the_comment(name: str, source: str) -> None:
    version = DriverVersion("535.104.05")
    gpu = replace(H100.gpus[0], name=name)
    odd = replace(H100, gpus=(gpu,), driver=Driver(version, H100.driver.cuda if H100.driver else None))
    made = replace(of_wheels(), machines=(odd,), why=(Because(f"a fact\n{name}", source),))
    lines = render_environment(made).splitlines()
    assert read(made) == read(of_wheels())
    assert lines[: lines.index("name: gpuenv")] == [line for line in lines if line.startswith("# ")]


@pytest.mark.parametrize(
    "requirement",
    [
        'colorama; sys_platform == "win32"',
        "colorama; python_version < '3.13' and os_name != \"nt\"",
        "timm[all]>=1.0,<2 ; extra == 'x'",
        "a==1.0 # not a comment",
        "b @ https://wheels.example.com/b-1.0-py3-none-any.whl#sha256=00",
        "{a: b}",
        "- c",
        "yes",
        "1.0",
        "&anchor",
        "*alias",
        "é: ü",
        "d" * 500,
    ],
)
def test_a_requirement_stays_one_string(requirement: str) -> None:
    lines = pip_part(read(of_wheels(requirements=(requirement,))))
    assert lines[-2:] == [requirement, "setuptools<82"]


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=30))
def test_any_spec_stays_one_string(spec: str) -> None:
    made = of_wheels()
    part = CondaPlan((CondaChannel(spec, ()),), (spec,), (), "linux-64", mixed=False)
    document = read(replace(made, requirements=(), conda=part))
    assert document["dependencies"] == [spec]
    assert document["channels"] == [spec]


def test_an_address_that_would_not_stay_in_its_line_is_refused() -> None:
    sources = Sources("https://x.example.com/\n--trusted-host evil.example.com", (), ())
    with pytest.raises(UsageError, match="cannot be written"):
        render_environment(of_wheels(sources=sources))


def test_a_plan_of_another_manager_is_told_what_to_choose() -> None:
    with pytest.raises(UsageError) as caught:
        render_environment(plan())
    assert caught.value.exit_code == 2
    assert "--manager conda" in str(caught.value.fixes[0].command)


# what conda brings


def test_pip_puts_no_wheel_in_the_place_of_condas_torch() -> None:
    """Builds of conda-forge before 2.5 call themselves 2.4.1.post303 to pip."""
    made = plan_of_channel("conda-forge", H100, "torch==2.4.1", "torchvision", "timm", python="3.11")
    torch, torchvision, *others = (Requirement(line) for line in pip_part(read(made)))
    assert torch.specifier.contains("2.4.1.post303")
    assert not torch.specifier.contains("2.4.0")
    assert torchvision.specifier.contains("0.19.1a0+6194369", prereleases=True)
    assert [item.name for item in others] == ["timm"]


def test_extras_of_torch_are_pips() -> None:
    made = plan_of_channel("conda-forge", H100, "torch[opt-einsum]==2.7.1")
    assert pip_part(read(made)) == ["torch[opt-einsum]==2.7.1.*"]
    assert pip_part(read(plan_of_channel("conda-forge", H100, "torch==2.7.1"))) == []


def test_a_requirements_file_of_condas_packages_is_refused() -> None:
    """Torch of that release would come from PyPI, for whatever CUDA its build there is."""
    with pytest.raises(UsageError) as caught:
        render_requirements(plan_of_channel("conda-forge", H100, "torch"))
    assert caught.value.exit_code == 2
    assert "torch==2.14.1+cu126" in render_requirements(of_wheels())
