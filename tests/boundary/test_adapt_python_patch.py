"""A patch release of Python that a project names: taken where uv has it, else another of its minor one."""

from __future__ import annotations

from pathlib import Path

import pytest
from adapted_papers import bare_environ, save_machine

from gpuenv.adapt.adapt import AdaptOptions, adapt
from gpuenv.adapt.model import Adaptation
from gpuenv.planning.options import PlanOptions


def adapted(python: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Adaptation:
    """Adapt to a machine that has a Python 3.10.9, with uv."""
    monkeypatch.chdir(folder)
    text = f"dependencies:\n  - python={python}\n  - pip: [torch==2.1.2]\n"
    Path("environment.yml").write_text(text, encoding="utf-8")
    options = PlanOptions(machines=(save_machine("RTX 3090", folder),), offline=True, manager="uv")
    adapting = AdaptOptions((Path("environment.yml"),), None, patch_alone=True)
    return adapt(adapting, options, bare_environ(folder), target=".venv")


def test_a_patch_release_that_uv_has_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    value = adapted("3.10.14", tmp_path, monkeypatch)
    assert [change.project for change in value.changes if change.project == "python"] == []
    assert value.plan.python_release == "3.10.14"


def test_of_one_that_nobody_has_it_is_said_which_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = adapted("3.10.99", tmp_path, monkeypatch)
    (change,) = (change for change in value.changes if change.project == "python")
    assert change.new == "3.10"
    assert "not 3.10.99" in change.why
    assert "can provide Python 3.10." in change.why
    assert " to " not in change.why
