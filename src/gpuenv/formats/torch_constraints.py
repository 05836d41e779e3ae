"""The torch stack of an environment as constraints, so that a later install does not replace it unasked."""

from __future__ import annotations

from collections.abc import Mapping

CONSTRAINTS_HEAD = "# The torch stack of this environment, as gpuenv installed it."
_PIP_HEAD = "# gpuenv: keeps the torch stack; see constraints.txt beside this file"
HELD = (
    "torch", "torchvision", "torchaudio", "torchtext", "torchdata", "xformers", "triton", "pytorch-triton"
)  # fmt: skip


def held_pins(installed: Mapping[str, str]) -> tuple[str, ...]:
    """Return the exact versions of the torch stack that are installed, by normalized names."""
    return tuple(f"{name}=={installed[name]}" for name in HELD if name in installed)


def render_constraints(pins: tuple[str, ...], name: str) -> str:
    """Render constraints.txt; what it says of itself stays English, as comments in others' files do.

    https://pip.pypa.io/en/stable/user_guide/#constraints-files
    """
    head = f"""\
{CONSTRAINTS_HEAD}
# pip (by pip.conf beside this file) and, while the environment is active, uv (by UV_CONSTRAINT) keep to these
# versions: an install that needs another torch fails instead of replacing it.
# To move to another torch: gpuenv update {name} --torch
# To lift this for one command: PIP_CONSTRAINT=/dev/null pip install ... or UV_CONSTRAINT= uv pip install ...
# To lift it for good: delete the lines below, not the file.
"""
    return head + "".join(f"{pin}\n" for pin in pins)


def render_pip_configuration(constraints: str) -> str:
    """Render an environment's pip.conf, which names the constraints by their file: URL.

    pip splits the option at blanks, which a URL has none of.
    """
    return f"{_PIP_HEAD}\n[global]\nconstraint = {constraints}\n"


def is_held_configuration(text: str) -> bool:
    """Tell whether a pip.conf is one that was rendered here, and nothing was added to it."""
    lines = text.splitlines()
    return bool(lines) and text == render_pip_configuration(lines[-1].removeprefix("constraint = "))
