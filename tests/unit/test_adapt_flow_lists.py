"""Lists in an environment.yml that stand in one line: what is changed, added and taken out stays YAML."""

from __future__ import annotations

from pathlib import Path

import pytest
from adapted_papers import bare_environ, save_machine
from ruamel.yaml import YAML

from gpuenv.adapt.adapt import AdaptOptions, adapt
from gpuenv.planning.options import PlanOptions

NEW, OLD = "RTX 5090", "V100"
PAGE = "--find-links https://download.pytorch.org/whl/torch/"


def dependencies(
    text: str, machine: str, folder: Path, monkeypatch: pytest.MonkeyPatch, manager: str
) -> list[object]:
    """The dependencies of an environment.yml as adapted by what ships."""
    monkeypatch.chdir(folder)
    Path("environment.yml").write_text(text, encoding="utf-8")
    options = PlanOptions(machines=(save_machine(machine, folder),), offline=True, manager=manager)
    adapting = AdaptOptions((Path("environment.yml"),), None, patch_alone=True)
    value = adapt(adapting, options, bare_environ(folder), target=".venv")
    document = YAML(typ="safe").load(value.files[0].text)
    return list(document["dependencies"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "machine", "manager", "expected"),
    [
        (
            "dependencies:\n  - python=3.9\n  - pip: [torch==1.7.1, 'timm==0.6']\n", OLD, "uv",
            ["python=3.9", {"pip": ["torch==1.7.1", "timm==0.6", "numpy<2"]}],
        ),
        (
            "dependencies:\n  - python=3.7\n  - pip: [torch==1.7.1, 'timm==0.6']\n", NEW, "conda",
            ["python=3.9", {"pip": [PAGE, "torch==2.7.0+cu128", "timm==0.6"]}],
        ),
        (
            "dependencies: [python=3.7, pip, {pip: [torch==1.7.1,\n    timm==0.6]}]\n", NEW, "uv",
            ["python=3.9", "pip", {"pip": [PAGE, "torch==2.7.0+cu128", "timm==0.6"]}],
        ),
        (
            "dependencies: [python=3.7, pytorch=1.7.1, timm]\n", NEW, "uv",
            ["python=3.9", "timm", "pip", {"pip": [PAGE, "torch==2.7.0+cu128"]}],
        ),
    ],
)  # fmt: skip
def test_a_flow_list_stays_one(
    text: str,
    machine: str,
    manager: str,
    expected: list[object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert dependencies(text, machine, tmp_path, monkeypatch, manager) == expected
