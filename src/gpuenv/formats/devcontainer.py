"""Format `devcontainer`: opens a folder in the image that `gpuenv dockerfile` describes.

https://containers.dev/implementors/json_reference/
"""

from __future__ import annotations

import json
from typing import Any

from gpuenv.formats.dockerfile import CHECK, FILE_NAME, PYTHON, USER
from gpuenv.model.plan import Plan


def render_devcontainer(plan: Plan) -> str:
    """Return a devcontainer.json, for `.devcontainer`; the Dockerfile lies beside that folder.

    Tools that read `hostRequirements` give the container the GPUs by themselves: `--gpus` among `runArgs`
    would ask for them twice.
    """
    stack = " ".join(f"{package.name} {package.version}" for package in plan.packages[: len(plan.pins)])
    gpu = {"hostRequirements": {"gpu": True}} if plan.variant != "cpu" else {}
    document: dict[str, Any] = {
        "name": f"gpuenv: {stack}, Python {plan.python}",
        "build": {"dockerfile": f"../{FILE_NAME}", "context": ".."},
        **gpu,
        # the workers of a DataLoader hand tensors on through shared memory, of which Docker gives 64 MB
        "runArgs": ["--ipc=host"],
        "remoteUser": USER,
        "postStartCommand": [PYTHON, CHECK, "gpus"],
        "customizations": {
            "vscode": {
                "extensions": ["ms-python.python"],
                "settings": {"python.defaultInterpreterPath": PYTHON},
            }
        },
    }
    return json.dumps(document, indent=4, ensure_ascii=False) + "\n"
