"""A repository of another framework gets no torch, and one that shares no Python with torch is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from adapted_papers import adapt_for, bare_environ, save_machine

from gpuenv.adapt.model import Adaptation
from gpuenv.model.errors import GpuenvError


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "repo").mkdir()
    monkeypatch.chdir(tmp_path / "repo")
    return save_machine("V100", tmp_path)


def outcome(saved: Path) -> Adaptation | str:
    try:
        return adapt_for(Path(), saved, bare_environ(saved.parent))
    except GpuenvError as error:
        return error.code


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "code", "expected"),
    [
        ("tensorflow-gpu==1.15\n", "", "no-torch"),
        ("tensorflow==2.4\n", "import numpy\n", "no-torch"),
        ("jax\n", "import jax\n", "no-torch"),
        ("tensorflow==2.4\n", "from torch import nn\n", ""),
        ("tensorflow==2.4\npytorch-lightning\n", "", ""),
        ("tensorflow-datasets==1.0\n", "", ""),
        ("numpy\n", "import torch\n", ""),
    ],
)
def test_only_what_is_about_torch_gets_torch(lines: str, code: str, expected: str, saved: Path) -> None:
    Path("requirements.txt").write_text(lines, encoding="utf-8")
    Path("train.py").write_text(code, encoding="utf-8")
    value = outcome(saved)
    assert (value if isinstance(value, str) else "") == expected


def test_tensorflow_1_leads_to_a_torch_of_its_python_and_else_both_are_refused(saved: Path) -> None:
    """Uv has Python 3.8 and newer alone; the machine has a 3.7 of its own."""
    Path("requirements.txt").write_text("torch\ntensorflow>=1.13,<2\n", encoding="utf-8")
    value = outcome(saved)
    assert isinstance(value, Adaptation)
    assert value.plan.python == "3.7"
    Path("requirements.txt").write_text("torch==2.4.0\ntensorflow==1.15\n", encoding="utf-8")
    with pytest.raises(GpuenvError) as info:
        adapt_for(Path(), saved, bare_environ(saved.parent))
    assert (info.value.code, info.value.exit_code) == ("no-shared-python", 3)
    assert info.value.because[0].text == "requirements.txt:2 requires `tensorflow==1.15`"
    assert "Python <3.8 only" in info.value.because[1].text


def test_a_bound_of_a_file_beside_the_adapted_one_is_kept_or_told(saved: Path) -> None:
    Path("requirements.txt").write_text("torch>=1.7\n", encoding="utf-8")
    Path("setup.py").write_text("setup(python_requires='>=3.6,<3.9')\n", encoding="utf-8")
    value = outcome(saved)
    assert isinstance(value, Adaptation)
    assert value.plan.python == "3.8"
    assert not [warning for warning in value.plan.warnings if warning.code == "bound"]
    Path("requirements.txt").write_text("torch==2.5.0\n", encoding="utf-8")
    value = outcome(saved)
    assert isinstance(value, Adaptation)
    assert [warning.message for warning in value.plan.warnings if warning.code == "bound"] == [
        f"setup.py:1 has `>=3.6,<3.9`, which Python {value.plan.python} of this plan does not keep"
    ]
