"""Format `devcontainer`, whole; it opens what the Dockerfile makes."""

from __future__ import annotations

import json
import re

from pages import ROOT
from plans import cpu_plan, plan

from gpuenv.formats.devcontainer import render_devcontainer

WHOLE = """\
{
    "name": "gpuenv: torch 2.14.1+cu126 torchvision 0.29.1+cu126, Python 3.12",
    "build": {
        "dockerfile": "../Dockerfile.gpu",
        "context": ".."
    },
    "hostRequirements": {
        "gpu": true
    },
    "runArgs": [
        "--ipc=host"
    ],
    "remoteUser": "gpuenv",
    "postStartCommand": [
        "/opt/venv/bin/python",
        "/opt/gpuenv/check.py",
        "gpus"
    ],
    "customizations": {
        "vscode": {
            "extensions": [
                "ms-python.python"
            ],
            "settings": {
                "python.defaultInterpreterPath": "/opt/venv/bin/python"
            }
        }
    }
}
"""


def test_the_whole_file() -> None:
    assert render_devcontainer(plan()) == WHOLE


def test_a_cpu_build_asks_for_no_gpu() -> None:
    assert "hostRequirements" not in json.loads(render_devcontainer(cpu_plan()))


def test_it_opens_what_the_dockerfile_makes() -> None:
    dockerfile = (ROOT / "Dockerfile.gpu").read_text(encoding="utf-8")
    document = json.loads(render_devcontainer(plan()))
    python, check, what = document["postStartCommand"]
    assert f'VIRTUAL_ENV="{python.removesuffix("/bin/python")}"' in dockerfile
    assert f'CMD ["python", "{check}", "{what}"]' in dockerfile
    assert re.search(rf"useradd .* {document['remoteUser']} \\$", dockerfile, re.MULTILINE)
