"""Which image a Dockerfile starts from, and what the one at run time needs."""

from __future__ import annotations

import re

import pytest
from deciding import gpu_machine
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuenv import matrices
from gpuenv.images.base_images import (
    alone,
    bases_for,
    choose_bases,
    least_driver,
    parse_images,
    parse_reference,
)
from gpuenv.model.capability import Architecture, ComputeCapability, parse_architecture
from gpuenv.model.errors import Unsatisfiable, UsageError
from gpuenv.model.variant import CudaVersion
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.rules.gpu_code import runs_machine_code, runs_ptx
from gpuenv.resolution.target import Target, choose_target
from gpuenv.verification import image_check

IMAGES = parse_images(matrices.load("images"))
CU126 = CudaVersion(12, 6)
KNOWLEDGE = load_knowledge()


@pytest.mark.parametrize("python", ["3.7", "3.10", "3.12", "3.14"])
def test_a_python_alone_is_enough_for_wheels_that_bring_cuda(python: str) -> None:
    build, run = choose_bases("slim", python, CU126, "linux-64", IMAGES)
    assert build == run
    assert build.reference == f"docker.io/library/python:{python}-slim-bookworm"


def test_what_compiles_has_the_cuda_of_torch_and_runs_in_its_like() -> None:
    build, run = choose_bases("cuda-devel", "3.12", CU126, "linux-aarch64", IMAGES)
    assert build.name == "nvidia/cuda:12.6.3-devel-ubuntu24.04"
    assert run.name == "nvidia/cuda:12.6.3-runtime-ubuntu24.04"
    assert "python3-dev" in build.build_packages


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13", "3.14"])
def test_the_images_of_python_are_known_by_their_digests(python: str) -> None:
    (base, _) = choose_bases("slim", python, CU126, "linux-64", IMAGES)
    assert re.fullmatch(rf"library/python:{python}-slim-bookworm@sha256:[0-9a-f]{{64}}", base.pinned)


def test_no_two_images_have_one_digest_and_each_digest_has_its_source() -> None:
    rows = [row for row in matrices.load("images") if row["digest"]]
    assert len({row["digest"] for row in rows}) == len(rows)
    assert all(row["digest_source"] for row in rows)


def test_an_image_that_is_named_by_its_tag_is_taken_by_its_tag() -> None:
    (base, run) = choose_bases("python:3.12-slim-bookworm", "3.12", CU126, "linux-64", IMAGES)
    assert base == run
    assert base.pinned == "library/python:3.12-slim-bookworm"
    assert not base.is_fixed


def test_every_image_that_compiles_has_its_like_at_run_time() -> None:
    for image in bases_for("cuda-devel", IMAGES):
        build, run = choose_bases("cuda-devel", str(image.python), image.cuda, "linux-64", IMAGES)
        assert (build.cuda, build.python, build.glibc) == (run.cuda, run.python, run.glibc)
        assert run.flavour == "cuda-runtime"


def test_the_images_are_of_cuda_releases_that_the_matrix_knows() -> None:
    releases = {row["release"]: row["cuda"] for row in matrices.load("cuda") if row["kind"] == "release"}
    for row in matrices.load("images"):
        assert row["release"] is None or releases[row["release"]] == row["cuda"]


@pytest.mark.parametrize(
    ("base", "python", "cuda", "hint"),
    [
        ("cuda-devel", "3.11", CU126, "--python 3.12"),
        ("cuda-runtime", "3.12", CudaVersion(12, 1), "--python 3.10"),
        ("cuda-devel", "3.12", CudaVersion(11, 3), "--cuda 13.2"),
        ("cuda-devel", "3.12", None, "omit it"),
        ("slim", "3.6", CU126, "--base registry.example.com/lab/base:1.2"),
    ],
)
def test_where_no_image_fits_it_is_said_what_would(
    base: str, python: str, cuda: CudaVersion | None, hint: str
) -> None:
    with pytest.raises(Unsatisfiable) as refused:
        choose_bases(base, python, cuda, "linux-64", IMAGES)
    assert any(hint in fix.text for fix in refused.value.fixes)


def test_an_image_of_ones_own_is_taken_as_it_is_named() -> None:
    build, run = choose_bases("registry.example.com:5000/lab/base:1.2", "3.11", CU126, "linux-64", IMAGES)
    assert build == run
    assert build.reference == "registry.example.com:5000/lab/base:1.2"
    assert build.python is None


@pytest.mark.parametrize("name", ["python:3.12-slim-bookworm", "docker.io/library/python:3.12-slim-bookworm"])
def test_of_a_known_image_it_is_known_what_it_brings(name: str) -> None:
    assert [image.python for image in bases_for(name, IMAGES)] == ["3.12"]


def test_a_tag_or_a_digest_is_wanted() -> None:
    for fixed in ("a:1", f"a@sha256:{'0' * 64}", f"a:latest@sha256:{'0' * 64}", "localhost/a/b-c:v1_2.3"):
        assert parse_reference(fixed) == fixed
    for moving in ("a", "a:latest", "registry.example.com:5000/a"):
        with pytest.raises(UsageError, match="not a fixed image"):
            parse_reference(moving)


@given(st.text(max_size=40))
def test_no_name_of_an_image_holds_more_than_a_name(text: str) -> None:
    try:
        name = parse_reference(text)
    except UsageError:
        return
    assert name.isascii()
    assert name.isprintable()
    assert not set(name) & set(" $\"'\\`;&|<>(){}#")


def test_ptx_needs_the_driver_of_the_release_itself() -> None:
    target = choose_target((gpu_machine("580.65.06", "NVIDIA H100"),), (), cpu=False)
    native, ptx = (tuple(map(parse_architecture, item)) for item in (("sm_90",), ("sm_80", "compute_80")))
    assert str(least_driver(native, CU126, target, KNOWLEDGE)) == "525.60.13"
    assert str(least_driver(ptx, CU126, target, KNOWLEDGE)) == "560.35.05"


CAPABILITIES = sorted(KNOWLEDGE.generations)
ARCHITECTURES = tuple(
    Architecture(kind, capability, suffix)
    for kind in ("sm", "compute")
    for capability in CAPABILITIES
    for suffix in ("", "a", "f")
)


@pytest.mark.parametrize("cuda", [CU126, CudaVersion(13, 2)], ids=str)
@pytest.mark.parametrize("capability", CAPABILITIES, ids=str)
def test_the_script_in_the_image_judges_as_the_rule_does(
    capability: ComputeCapability, cuda: CudaVersion
) -> None:
    gpu = choose_target((gpu_machine("580.65.06", "NVIDIA H100"),), (), cpu=False).gpus[0]
    target = Target((gpu.machine,), (replace(gpu, capability=capability),), "linux-64")
    pairs = {image_check.version(text) for text in alone(target, cuda, KNOWLEDGE)}
    for code in ARCHITECTURES:
        said = image_check.runs(str(code), (capability.major, capability.minor), pairs)
        rule = runs_machine_code(code, capability, cuda, KNOWLEDGE) or runs_ptx(code, capability)
        assert said is rule, code
