"""A release is refused whose tag, version and changelog do not say the same."""

from __future__ import annotations

import importlib
from pathlib import Path

import matrix_workshop  # noqa: F401 - it makes the tools importable
import pytest

import gpuenv

tool = importlib.import_module("build_release")


def compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str, heading: str) -> int:
    init = tmp_path / "src" / "gpuenv" / "__init__.py"
    init.parent.mkdir(parents=True)
    init.write_text('__version__ = "1.2.3"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n", encoding="utf-8")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["build_release.py", "--only-compare-tag", tag])
    status: int = tool.main()
    return status


def test_the_version_that_runs_is_the_one_that_would_be_released() -> None:
    assert tool.read_version() == gpuenv.__version__


def test_a_tag_of_this_version_with_a_date_in_the_changelog_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compare(tmp_path, monkeypatch, "v1.2.3", "## 1.2.3 (2026-11-22)") == 0


@pytest.mark.parametrize(
    ("tag", "heading"),
    [
        ("v1.2.4", "## 1.2.3 (2026-11-22)"),
        ("1.2.3", "## 1.2.3 (2026-11-22)"),
        ("v1.2.3", "## 1.2.3 (unreleased)"),
        ("v1.2.3", "## 1.2.30 (2026-11-22)"),
    ],
)
def test_any_other_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str, heading: str
) -> None:
    with pytest.raises(SystemExit, match="error: "):
        compare(tmp_path, monkeypatch, tag, heading)
