"""Which Python an adapted requirements file gets offline, and what that asks of its pins."""

from __future__ import annotations

from pathlib import Path

import pytest
from adapted_papers import adapt_for, bare_environ, save_machine

from gpuenv.adapt.model import Adaptation

NEW, OLD = "RTX 5090", "V100"


def adapted(text: str, machine: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Adaptation:
    monkeypatch.chdir(folder)
    Path("requirements.txt").write_text(text, encoding="utf-8")
    return adapt_for(Path("requirements.txt"), save_machine(machine, folder), bare_environ(folder))


def moves(adaptation: Adaptation) -> dict[str, str | None]:
    return {change.project: change.new for change in adaptation.changes if change.project != "index"}


def test_of_any_python_the_one_is_taken_that_most_pins_have_wheels_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch 2.7.1 is there for Python 3.9 to 3.13: numpy 1.26.4 ends at 3.12, scikit-learn 1.2.2 at 3.11."""
    value = adapted("torch==2.7.1\nnumpy==1.26.4\nscikit-learn==1.2.2\n", NEW, tmp_path, monkeypatch)
    assert value.plan.python == "3.11"
    assert not {"numpy", "scikit-learn"} & moves(value).keys()


def test_a_pin_without_wheels_for_any_of_the_pythons_moves_by_the_fewest_releases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = adapted("torch==1.0.1\nnumpy==1.16.2\n", NEW, tmp_path, monkeypatch)
    assert value.plan.python == "3.9"
    assert moves(value)["numpy"] == "numpy==1.19.3"
    assert "numpy==1.19.3" in value.plan.requirements
    assert any("beyond the moves" in warning.message for warning in value.plan.warnings)


def test_what_another_pin_ties_does_not_move_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transformers 2.9.0 requires tokenizers==0.7.0, which has no wheel for Python 3.9."""
    text = "torch==1.5.1\ntransformers==2.9.0\ntokenizers==0.7.0\n"
    assert "tokenizers" not in moves(adapted(text, NEW, tmp_path, monkeypatch))


@pytest.mark.parametrize(
    ("torch", "bounded"), [("1.4.0", False), pytest.param("1.13.1", True, marks=pytest.mark.slow)]
)
def test_a_bound_that_the_python_keeps_by_itself_is_no_new_line(
    torch: str, bounded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch 1.4.0 ends at Python 3.8, for which there is no numpy 2."""
    value = adapted(f"torch=={torch}\nnumpy>=1.16\n", OLD, tmp_path, monkeypatch)
    assert ("numpy" in moves(value)) == bounded
