"""Write Dockerfile.gpu anew, with the very files that it has: `python tools/dockerfile_gpu.py`.

It was made by the command in its second line; newer files are had by running that again, with a network.
What this program changed since, the text around them, comes from here. gpuenv must be importable.
"""

from __future__ import annotations

import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path

from packaging.version import Version

from gpuenv import matrices
from gpuenv.formats.dockerfile import FILE_NAME, render_dockerfile
from gpuenv.host.describe import describe_machine
from gpuenv.images.base_images import SLIM, choose_bases, parse_images
from gpuenv.images.recipe import compose
from gpuenv.model.locked import Locked, LockedFile
from gpuenv.model.plan import Plan, PlannedPackage, Sources
from gpuenv.model.wheel import Platform
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.target import choose_target

PATH = Path(__file__).parents[1] / FILE_NAME
COMMAND = "gpuenv dockerfile --python 3.12 --gpu 7.5 --gpu 8.0 --gpu 8.6 --gpu 8.9 --gpu 9.0 --gpu 12.0"
_WORDS = shlex.split(COMMAND)
_PYTHON = _WORDS[_WORDS.index("--python") + 1]
_GPUS = tuple(value for name, value in pairwise(_WORDS) if name == "--gpu")
_PLATFORM: Platform = "linux-64"
_STACK = ("torch", "torchvision")
_FILE = re.compile(r"^([\w.-]+)==(\S+) --hash=sha256:([0-9a-f]{64})$", re.MULTILINE)


def render(text: str) -> str:
    """Return the Dockerfile as this gpuenv writes it for the files that `text` names."""
    files = tuple(_file(*value) for value in _FILE.findall(text))
    locked = _locked(files)
    target = choose_target(locked.plan.machines, (), cpu=False)
    images = parse_images(matrices.load("images"))
    cuda = next(build.cuda for build in load_knowledge().builds if build.variant.name == locked.plan.variant)
    build, run = choose_bases(SLIM, _PYTHON, cuda, _PLATFORM, images)
    return render_dockerfile(compose(locked, build, run, target, COMMAND))


def _file(name: str, version: str, digest: str) -> LockedFile:
    """Return a file of PyPI's, whose addresses no Dockerfile names."""
    nowhere = "https://example.com/"
    return LockedFile(name, version, f"{name}-{version}.whl", nowhere, nowhere, digest, None)


def _locked(files: tuple[LockedFile, ...]) -> Locked:
    knowledge = load_knowledge()
    torch = Version(files[0].version)
    variant = knowledge.pypi_variant(torch, _PLATFORM)
    build = knowledge.find_build(torch, variant, _PLATFORM, "pypi") if variant else None
    if variant is None or build is None:
        sys.exit(f"error: torch {torch} of PyPI is not in the matrix")
    machine = describe_machine(
        None, driver=None, gpus=_GPUS, platform=_PLATFORM, glibc=None, knowledge=knowledge
    )
    packages = tuple(
        PlannedPackage(file.name, file.version, variant.name, None, None, None, file.sha256, None, "wheel")
        for file in files
    )
    sources = Sources(None, (), ())
    plan = Plan(
        machines=(machine,), python=_PYTHON, python_path=None, variant=variant.name, manager="pip",
        packages=packages, pins=_STACK, requirements=(), constraints=(), sources=sources, steps=(), why=(),
        rejected=(), advice=(), warnings=(),
    )  # fmt: skip
    return Locked(plan, files, sources, architectures=tuple(map(str, build.architectures)))


if __name__ == "__main__":
    PATH.write_text(render(PATH.read_text(encoding="utf-8")), encoding="utf-8")
