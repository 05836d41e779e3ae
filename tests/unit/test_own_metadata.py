"""What gpuenv says of itself, and the command that brings what an extra of it names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv import own_metadata
from gpuenv.own_metadata import install_extra, metadata_text, render_metadata, requires_of
from gpuenv.untrusted.documents import load_toml

_ROOT = Path(__file__).parents[2]
PROJECT = load_toml((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_it_requires_what_its_project_says() -> None:
    """A build back end may write the names in another form."""
    requested = canonical(PROJECT["dependencies"])
    assert canonical(requires_of(metadata_text())) == requested
    assert canonical(requires_of(render_metadata(PROJECT))) == requested


def canonical(requirements: Iterable[str]) -> set[str]:
    every = [Requirement(text) for text in requirements]
    for requirement in every:
        requirement.name = canonicalize_name(requirement.name)
    return {str(parsed) for parsed in every}


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_an_extra_is_brought_without_gpuenvs_name(extra: str) -> None:
    """Nobody vouches for what an index has under that name."""
    command = install_extra(extra)
    assert command.startswith("pip install ")
    assert "gpuenv" not in command
    for requirement in map(Requirement, PROJECT["optional-dependencies"][extra]):
        named = requirement.marker is None or requirement.marker.evaluate()
        assert (f"{requirement.name}{requirement.specifier}" in command) is named


def test_installed_from_a_wheel_its_metadata_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_metadata, "checkout", lambda: None)
    try:
        metadata.distribution("gpuenv")
    except metadata.PackageNotFoundError:
        pytest.skip("gpuenv runs from its sources")
    assert "ansible-runner" in install_extra("fleet")


def test_no_text_tells_people_to_install_gpuenv_by_name() -> None:
    """It is on no index: whoever registers the name would run code on their machines."""
    sources = (path for ending in ("py", "sh", "json") for path in (_ROOT / "src").rglob(f"*.{ending}"))
    texts = (*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md"), *sources)
    by_name = re.compile(r"pip install [\"']?gpuenv\b(?![-/])|gpuenv\[[a-z]")
    assert [str(path) for path in texts if by_name.search(path.read_text(encoding="utf-8"))] == []


def test_the_guides_name_what_the_extra_for_conda_packages_names() -> None:
    wanted = " ".join(
        f'"{text}"' if "<" in text else text for text in PROJECT["optional-dependencies"]["rattler"]
    )
    guides = [_ROOT / "docs" / language / "adapt.md" for language in ("en", "zh")]
    assert [path for path in guides if f"pip install {wanted}`" not in path.read_text(encoding="utf-8")] == []
