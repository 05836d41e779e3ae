"""A person's environment.yml: what of it is torch, what is conda's, what is pip's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.model.conda import EnvironmentFile
from gpuenv.model.wheel import PLATFORMS, Platform
from gpuenv.resolution.conda.environment_yml import parse_environment_file
from gpuenv.resolution.conda.selectors import judge

PAPER = """\
name: paper
channels:
  - pytorch
  - nvidia
  - nodefaults
  - defaults
dependencies:
  - python=3.9
  - pytorch=1.13
  - torchvision==0.14.1
  - pytorch-cuda=11.7  # [linux]
  - numpy<1.24
  - conda-forge::scikit-learn
  - pip
  - pip:
    - --extra-index-url https://download.example.com/whl/cu117
    - timm==0.6.12
    - einops>=0.6  # a note
variables:
  OMP_NUM_THREADS: 4
prefix: /home/somebody/envs/paper
x-lab:
  owner: [ada, grace]
"""


def parsed(text: str, platform: Platform = "linux-64") -> EnvironmentFile:
    return parse_environment_file(text, platform)


def of(*specs: str, platform: Platform = "linux-64") -> EnvironmentFile:
    lines = "".join(f"  - {spec}\n" for spec in specs)
    return parsed(f"dependencies:\n{lines}", platform)


def test_a_file_is_read_in_its_parts() -> None:
    file = parsed(PAPER)
    assert file.stack == ("torch==1.13.*", "torchvision==0.14.1")
    assert file.specs == ("numpy<1.24", "conda-forge::scikit-learn")
    assert file.pip == ("timm==0.6.12", "einops>=0.6")
    assert file.channels == ("pytorch", "nvidia")
    assert (file.python, file.cuda) == ("==3.9.*", "11.7")
    assert len(file.warnings) == 1
    assert "--extra-index-url" in file.warnings[0]


def test_a_pip_part_in_one_line_is_read() -> None:
    assert parsed("dependencies: [numpy, {pip: [timm==0.6.12, einops]}]\n").pip == ("timm==0.6.12", "einops")


def test_keys_that_are_not_read_are_kept_and_the_prefix_is_not() -> None:
    assert dict(parsed(PAPER).kept) == {
        "name": "paper",
        "variables": {"OMP_NUM_THREADS": 4},
        "x-lab": {"owner": ["ada", "grace"]},
    }


# spec, what it asks of torch
STACK = (
    ("pytorch=1.13", "torch==1.13.*"),
    ("pytorch==1.13.1=py3.9_cuda11.7_cudnn8.5.0_0", "torch==1.13.1"),
    ("pytorch=1.13.1=py3.9_cuda11.7_cudnn8.5.0_0", "torch==1.13.1"),
    ("pytorch::pytorch", "torch"),
    ("pytorch-gpu=2.1", "torch==2.1.*"),
    ("PyTorch>=2,<2.4", "torch<2.4,>=2"),
    ("torchaudio 2.1.*", "torchaudio==2.1.*"),
    ("pytorch=*=*cuda*", "torch"),
)


@pytest.mark.parametrize(("spec", "requirement"), STACK)
def test_the_stack_is_asked_for_by_pypis_names(spec: str, requirement: str) -> None:
    assert of(spec).stack == (requirement,)
    assert of(spec).specs == ()


# specs, the wish as of --cuda
CUDA = (
    (("cudatoolkit=11.3",), "11.3"),
    (("cudatoolkit=11.3.1",), "11.3"),
    (("pytorch-cuda=11.7",), "11.7"),
    (("cuda-version 12.6.*",), "12.6"),
    (("cuda100",), "10.0"),
    (("cpuonly",), "cpu"),
    (("pytorch-cpu",), "cpu"),
    (("pytorch=2.0.1=cpu_generic_py310h1_0",), "cpu"),
    (("pytorch=2.5=*cuda118*",), "11.8"),
    (("pytorch==1.13.1=py3.9_cuda11.7_cudnn8.5.0_0",), "11.7"),
    (("pytorch=*=*cuda*",), None),
    (("pytorch-mutex=1.0=cpu",), "cpu"),
    (("pytorch-mutex=1.0=cuda",), None),
    (("cudatoolkit",), None),
    (("pytorch", "pytorch-cuda=12.1", "cudatoolkit=11.8"), "12.1"),
)


@pytest.mark.parametrize(("specs", "cuda"), CUDA)
def test_what_chooses_torchs_build_is_a_wish_and_no_package(specs: tuple[str, ...], cuda: str | None) -> None:
    file = of(*specs)
    assert file.cuda == cuda
    assert file.specs == ()
    assert file.warnings == ()


@pytest.mark.parametrize("spec", ["cuda-version=12", "cudatoolkit>=11", "cuda-version>=11.8,<12"])
def test_a_range_of_cuda_releases_is_told_and_passed_over(spec: str) -> None:
    file = of(spec)
    assert file.cuda is None
    assert spec in file.warnings[0]


@pytest.mark.parametrize(
    ("spec", "python"),
    [
        ("python>=3.8,<3.11", "<3.11,>=3.8"),
        ("python=3.9", "==3.9.*"),
        ("python=3.9.18=h955ad1f_0", "==3.9.18"),
        ("python 3.10.*", "==3.10.*"),
        ("python", None),
    ],
)
def test_python_is_a_specifier(spec: str, python: str | None) -> None:
    assert of(spec).python == python


# selectors


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_line_with_a_selector_counts_on_its_platforms(platform: Platform) -> None:
    file = of(
        "always",
        "linux  # [linux]",
        "x86  # [linux and x86_64]",
        "not-win  # [not win]",
        "win #[win64]",
        "either  # [win or aarch64]",
        "note  # needed by [win]",
        platform=platform,
    )
    wanted = {
        "linux-64": {"always", "linux", "x86", "not-win", "note"},
        "linux-aarch64": {"always", "linux", "not-win", "either", "note"},
        "win-64": {"always", "win", "either", "note"},
        "osx-arm64": {"always", "not-win", "note"},
        "osx-64": {"always", "not-win", "note"},
    }
    assert set(file.specs) == wanted[platform]


def test_selectors_hold_in_the_pip_part_too() -> None:
    text = "dependencies:\n  - pip:  # [linux]\n    - timm\n    - pywin32  # [win]\n    - einops  # [unix]\n"
    assert parsed(text).pip == ("timm", "einops")
    assert parsed(text, "win-64").pip == ()


def test_an_odd_selector_keeps_the_line_and_is_told() -> None:
    file = of("dataclasses  # [py<37]")
    assert file.specs == ("dataclasses",)
    assert "py<37" in file.warnings[0]


@given(st.text(max_size=30), st.sampled_from(PLATFORMS))
def test_any_condition_is_judged_or_not_known(condition: str, platform: Platform) -> None:
    assert judge(condition, platform) in (True, False, None)


# odd YAML


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffdependencies:\n  - numpy\n",
        "dependencies:\r\n  - numpy\r\n",
        "%YAML 1.1\n---\ndependencies: [numpy]\n",
        "x: &a [numpy]\ndependencies: *a\n",
        "base: &b {dependencies: [numpy]}\n<<: *b\n",
        "{dependencies: ['numpy']}",
        "dependencies: # all of them\n\n  - numpy # the least\n...\n",
        'dependencies:\n- "numpy"\nchannels:\n',
        "x: &a [*a]\ndependencies: [numpy]\n",
        "? [a, b]\n: c\n1: 2\ndependencies: [numpy]\n",
    ],
)
def test_yaml_is_read_however_it_is_written(text: str) -> None:
    assert parsed(text).specs == ("numpy",)


BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12)
)

# text, what the message says
REFUSED = (
    ("", "not a mapping"),
    ("null", "not a mapping"),
    ("numpy", "not a mapping"),
    ("- numpy\n", "not a mapping"),
    ("services:\n  web:\n    image: nginx\n", "dependencies"),
    ("dependencies: numpy\n", "`dependencies` is not a list"),
    ("dependencies: {numpy: 1}\n", "`dependencies` is not a list"),
    ("channels: conda-forge\n", "`channels` is not a list"),
    ("channels: [1]\n", "not a valid channel"),
    ("channels: [--yes]\n", "not a valid channel"),
    ("dependencies:\n\t- numpy\n", r"not valid YAML.*\(line 2\)"),
    ("dependencies: [a]\ndependencies: [b]\n", "duplicate key"),
    ("dependencies: [numpy\n", "not valid YAML"),
    ("a: 1\n---\nb: 2\n", "not valid YAML"),
    ("a: *nobody\n", "not valid YAML"),
    ("x: 2020-99-99\n", "not valid YAML"),
    ("x: !!int many\n", "not valid YAML"),
    ("a: \0\n", "not valid YAML"),
    ("x: " + "[" * 1000, "not valid YAML"),
    ("dependencies: " + "[" * 50 + "a" + "]" * 50, "not a valid dependency"),
    ("dependencies: [3.9]\n", "`3.9` is not a valid dependency"),
    ("dependencies: [null]\n", "not a valid dependency"),
    ("dependencies:\n  - {{ torch }}\n", "not a valid dependency"),
    ("dependencies:\n  - pip:\n", "not a valid dependency"),
    ("dependencies:\n  - pip: timm\n", "not a valid dependency"),
    ("dependencies:\n  - {pip: [a], npm: [b]}\n", "not a valid dependency"),
    ("dependencies:\n  - pip: [{a: b}]\n", "not a valid pip requirement"),
    ("dependencies: [-c, evil]\n", "not a valid match spec"),
    ("dependencies: ['pytorch=1.13|2.0']\n", "cannot be read"),
    (BOMB + "dependencies: [numpy]\n", "repeat each other"),
)


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_is_no_environment_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        parsed(text)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_megabyte_is_read() -> None:
    lines = "".join(f"  - package{number}=1.{number}.0=py39_{number}\n" for number in range(10_000))
    text = f"dependencies:\n{lines}x-note: {'lorem ipsum ' * 60_000}\n"
    assert len(text) > 1 << 20
    assert len(parsed(text).specs) == 10_000


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
YAML_LIKE = st.text(st.sampled_from("ab1: -[]{}&*!|>'\"#%@,?\n\t<"), max_size=60)


@given(st.text(max_size=60) | YAML_LIKE | YAML_LIKE.map(lambda text: f"dependencies:\n  - {text}\n"))
def test_any_text_is_a_request_or_a_value_error(text: str) -> None:
    try:
        file = parsed(text)
    except ValueError:
        return
    assert isinstance(file, EnvironmentFile)


@given(
    st.lists(st.text(max_size=20) | LEAVES, max_size=4),
    st.recursive(LEAVES, lambda strategy: st.lists(strategy, max_size=3)),
)
def test_any_document_is_a_request_or_a_value_error(dependencies: list[Any], more: Any) -> None:
    text = json.dumps({"dependencies": dependencies, "more": more})
    try:
        parsed(text)
    except ValueError:
        return
