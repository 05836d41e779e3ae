"""Jupyter's description of a kernel that runs in an environment.

https://jupyter-client.readthedocs.io/en/stable/kernels.html#kernel-specs
"""

from __future__ import annotations

import json
import re
from typing import Any

from gpuenv.environments.rewrite_paths import Move, replaced
from gpuenv.model.activation import Activation
from gpuenv.untrusted.documents import load_json

_MARK = "gpuenv"
# what can't be taken out of a kernel's variables; pip and Python take an empty one for none
_EMPTIED = ("PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_PYTHON")


def kernel_name(environment: str, suffix: str = "") -> str:
    """Return the name of a kernel: Jupyter allows ASCII letters, digits and `-._`, and folds case."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", environment.lower()).strip("-._") or "environment"
    return "-".join(filter(None, (_MARK, plain, suffix)))


def render_kernel(
    python: str, activation: Activation, *, root: str, display_name: str, separator: str
) -> str:
    """Render kernel.json; Jupyter puts the value of its own PATH for `${PATH}`."""
    path = separator.join((*map(_escaped, activation.folders), "${PATH}"))
    variables = {name: _escaped(value) for name, value in activation.variables}
    emptied = {name: "" for name in activation.dropped if name in _EMPTIED}
    document = {
        "argv": [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": display_name,
        "language": "python",
        "env": {"PATH": path, **variables, **emptied},
        "metadata": {"debugger": True, _MARK: {"environment": root}},
    }
    return json.dumps(document, indent=1) + "\n"


def _escaped(text: str) -> str:
    return text.replace("$", "$$")


def kernel_environment(text: str) -> str | None:
    """Return for which environment gpuenv wrote a kernel.json; None for one that it did not write."""
    try:
        document: Any = load_json(text)
        environment = document["metadata"][_MARK]["environment"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return environment if isinstance(environment, str) else None


def moved_kernel(text: str, move: Move) -> str:
    """Return a kernel.json of gpuenv's for the environment's new path; what was added to it stays."""
    document: Any = load_json(replaced(text.encode(), move).decode())
    before, after = (display_name(name) for name in move.called)
    if document.get("display_name") == before:
        document["display_name"] = after
    return json.dumps(document, indent=1) + "\n"


def display_name(environment: str) -> str:
    """Return what notebooks call the kernel of an environment."""
    return f"Python ({environment})"
