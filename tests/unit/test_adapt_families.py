"""With --adapt, wheels for a CUDA major move to torch's, or to one that the driver runs; each is named."""

from __future__ import annotations

import pytest
from deciding import gpu_machine
from lefts import adapted, left
from msgspec.structs import replace
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.adapt.model import DependencyFile, Project
from gpuenv.adapt.nearest.request import wishes_for
from gpuenv.adapt.nearest.resolver_changes import moved_changes
from gpuenv.adapt.parsers.parse import parse_file
from gpuenv.adapt.patch.apply import adapted_files
from gpuenv.adapt.patch.notation import rendered
from gpuenv.model.errors import Because

OLD = gpu_machine("535.104.05", "9.0")
NEW = gpu_machine("580.95.05", "GeForce RTX 5090")


def changes(*lines: str, new: bool = False) -> dict[str | None, str | None]:
    return {item.old: item.new for item in adapted(left(*lines), NEW if new else OLD)[1]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("cupy-cuda11x", "cupy-cuda12x"),
        ("cupy-cuda117==10.6.0", "cupy-cuda12x"),
        ("cupy-cuda11x==12.3.0 ; sys_platform == 'linux'", 'cupy-cuda12x==12.3.0; sys_platform == "linux"'),
        ("cupy-cuda13x==13.6.0", "cupy-cuda12x==13.6.0"),
        ("jax[cuda13]", "jax[cuda12]"),
        ("cudf-cu11==24.4.0", "cudf-cu12==24.4.0"),
        ("onnxruntime-gpu==1.18.1", "onnxruntime-gpu<1.27,>=1.19"),
        ("onnxruntime-gpu", "onnxruntime-gpu<1.27,>=1.19"),
        ("tensorrt>=10", "tensorrt<10.13.2,>=10.0.1"),
    ],
)
def test_a_line_for_another_cuda_becomes_one_for_that_of_torch(line: str, becomes: str) -> None:
    assert changes("torch==2.4.1", line) == {line: becomes}


@pytest.mark.parametrize(
    "line",
    [
        "cupy-cuda12x==13.3.0",
        "jax[cuda12]==0.4.30",
        "onnxruntime-gpu==1.22.0",
        "bitsandbytes",
        "tensorrt==8.6.1",
    ],
)
def test_what_is_for_torchs_cuda_stays(line: str) -> None:
    assert changes("torch==2.4.1", line) == {}


@pytest.mark.slow
def test_the_cuda_of_torch_counts_once_it_has_moved() -> None:
    moved = changes("torch==1.13.1+cu117", "cupy-cuda117", new=True)
    assert moved["cupy-cuda117"] == "cupy-cuda12x"
    assert str(moved["torch==1.13.1+cu117"]).endswith("+cu128")


def test_cuda_libraries_that_torch_brings_for_another_cuda_go() -> None:
    lines = ("torch==1.13.1", "nvidia-cublas-cu11==11.10.3.66", "nvidia-cudnn-cu11==8.5.0.96")
    moved = changes(*lines, new=True)
    assert moved[lines[1]] is None
    assert moved[lines[2]] is None


def test_why_is_told() -> None:
    (change,) = adapted(left("torch==2.4.1", "cupy-cuda11x"), OLD)[1]
    assert change.why == "`cupy-cuda11x` is for CUDA 11, torch 2.4.1 for CUDA 12"
    assert change.source.startswith("matrix ecosystem.json: https://docs.cupy.dev")


def test_what_nothing_else_stands_for_stays_with_a_warning_of_the_plan() -> None:
    assert changes("torch==2.4.1", "faiss-gpu==1.7.2") == {}


def test_what_conda_alone_is_asked_for_is_no_wheel() -> None:
    project = left("torch==2.4.1", "faiss-gpu", notation="conda")
    old = gpu_machine("470.57.02", "7.0")
    assert "faiss-gpu" not in {item.project for item in adapted(project, old)[1]}


@pytest.mark.parametrize(
    ("text", "new", "written"),
    [
        ("cupy-cuda11x==12.3.0", "cupy-cuda12x==12.3.0", "cupy-cuda12x==12.3.0"),
        (
            "cupy_cuda11x >= 12  ; python_version > '3'",
            "cupy-cuda12x>=12",
            "cupy-cuda12x >= 12  ; python_version > '3'",
        ),
        ("jax[cuda13]", "jax[cuda12]", "jax[cuda12]"),
        ("Torch_Scatter==2.0", "torch-scatter==2.1", "Torch_Scatter==2.1"),
    ],
)
def test_another_name_is_written_where_the_line_stood(text: str, new: str, written: str) -> None:
    (line,) = left(text).declared
    assert rendered(replace(line, project=canonicalize_name(line.project)), new) == written


def test_a_key_of_poetrys_goes_for_a_new_one() -> None:
    text = '[tool.poetry.dependencies]\npython = "3.12"\ntorch = "2.4.1"\ncupy-cuda11x = "12.3.0"\n'
    project = replace(left(), files=(file := DependencyFile("pyproject.toml", "pyproject", text),))
    project = replace(project, declared=parse_file(file, "linux-64").declared)
    changed = adapted(project, OLD)[1]
    (after,) = adapted_files(project, changed)
    assert after.text == text.replace("cupy-cuda11x", "cupy-cuda12x")


def test_a_changed_file_names_the_other_project() -> None:
    text = "torch==2.4.1\ncupy-cuda11x==12.3.0  # arrays\n"
    file = DependencyFile("requirements.txt", "requirements", text)
    project = Project((file,), parse_file(file, "linux-64").declared)
    (after,) = adapted_files(project, adapted(project, OLD)[1])
    assert after.text == text.replace("cuda11x", "cuda12x")


def test_what_a_resolver_moves_keeps_its_new_name() -> None:
    nearest, changes = adapted(left("torch==2.4.1", "cupy-cuda11x==12.3.0"), OLD)
    wishes = wishes_for(
        left("torch==2.4.1", "cupy-cuda11x==12.3.0"), nearest.question.target, nearest.choices[0].python
    )
    because = Because("no wheel", "uv pip compile")
    (change,) = moved_changes("cupy-cuda12x", Version("13.3.0"), because, wishes, changes)
    assert (change.old, change.new) == ("cupy-cuda11x==12.3.0", "cupy-cuda12x==13.3.0")
