"""A person's environment.yml as part of what is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deciding import machine
from test_environment_file import PAPER

from gpuenv.model.errors import UsageError
from gpuenv.planning.conda.environment_yml import read_environment_file, with_file
from gpuenv.planning.options import PlanOptions

LINUX, WINDOWS = machine({}), machine({"platform": "win-64"})


def options(tmp_path: Path, text: str, **typed: Any) -> PlanOptions:
    file = tmp_path / "environment.yml"
    file.write_text(text, encoding="utf-8")
    return PlanOptions(environment_file=file, **typed)


def test_without_a_conda_tool_those_of_one_name_on_both_sides_are_asked_of_the_index(tmp_path: Path) -> None:
    plan_options = options(tmp_path, PAPER)
    merged, warnings = with_file(
        plan_options, read_environment_file(plan_options.environment_file, LINUX), conda=False
    )
    assert merged.requirements == (
        "torch==1.13.*", "torchvision==0.14.1", "numpy<1.24", "scikit-learn", "timm==0.6.12", "einops>=0.6",
    )  # fmt: skip
    assert (merged.python, merged.cuda) == ("==3.9.*", "11.7")
    assert {warn.code for warn in warnings} == {"environment-file", "conda-packages-as-wheels"}


def test_names_that_may_be_other_projects_are_named_and_never_asked_of_the_index(tmp_path: Path) -> None:
    text = "dependencies: [ffmpeg=4.3, faiss-gpu, opencv=4.5, _libgcc_mutex=0.1=main, numpy]\n"
    plan_options = options(tmp_path, text)
    merged, warnings = with_file(
        plan_options, read_environment_file(plan_options.environment_file, LINUX), conda=False
    )
    assert merged.requirements == ("numpy",)
    (left,) = (warn.message for warn in warnings if warn.code == "not-in-plan")
    assert "ffmpeg, faiss-gpu, opencv, _libgcc_mutex: left out" in left


def test_with_a_conda_tool_its_packages_stay_condas(tmp_path: Path) -> None:
    plan_options = options(tmp_path, PAPER)
    merged, _ = with_file(
        plan_options, read_environment_file(plan_options.environment_file, LINUX), conda=True
    )
    assert merged.requirements == ("torch==1.13.*", "torchvision==0.14.1", "timm==0.6.12", "einops>=0.6")


def test_what_is_typed_goes_before_the_file(tmp_path: Path) -> None:
    plan_options = options(tmp_path, PAPER, python="3.10", cuda="11.6")
    merged, _ = with_file(
        plan_options, read_environment_file(plan_options.environment_file, LINUX), conda=True
    )
    assert (merged.python, merged.cuda) == ("3.10", "11.6")


def test_a_package_that_only_conda_has_is_passed_over_aloud(tmp_path: Path) -> None:
    plan_options = options(tmp_path, "dependencies: [_libgcc_mutex=0.1=main, 'numpy=1.2|1.3']\n")
    merged, warnings = with_file(
        plan_options, read_environment_file(plan_options.environment_file, LINUX), conda=False
    )
    assert merged.requirements == ()
    assert [warn.code for warn in warnings] == ["environment-file", "not-in-plan"]


def test_no_file_asks_for_nothing() -> None:
    merged, warnings = with_file(PlanOptions(), read_environment_file(None, LINUX), conda=False)
    assert (merged, warnings) == (PlanOptions(), ())


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x80abc", b"- a\n", b"a: b: c\n"])
def test_a_bad_file_is_bad_input_with_its_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "environment.yml"
    file.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_environment_file(file, LINUX)
    assert caught.value.code == "bad-environment-file"
    assert str(file) in caught.value.message
    assert caught.value.exit_code == 2


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_environment_file(tmp_path / "nothing.yml", LINUX)


def test_selectors_are_judged_for_the_machine_that_is_planned_for(tmp_path: Path) -> None:
    file = tmp_path / "environment.yml"
    file.write_text("dependencies:\n  - a  # [win]\n  - b  # [linux]\n", encoding="utf-8")
    assert read_environment_file(file, WINDOWS).specs == ("a",)
    assert read_environment_file(file, LINUX).specs == ("b",)
