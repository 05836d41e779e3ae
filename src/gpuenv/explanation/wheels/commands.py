"""The commands that bring one build of torch and what belongs to it, as the tool of a text takes them."""

from __future__ import annotations

import re
import shlex

from gpuenv import matrices
from gpuenv.explanation.wheels.facts import JUDGED, WheelFact, wheel_facts
from gpuenv.explanation.wheels.question import PYPI, Tool, WheelQuestion
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.wheel import Platform

_PYTHON_IMAGE = re.compile(r"\bFROM (?:\S{1,60}/)?python:3\.\d{1,2}(?:\.\d{1,2})?(-[a-z]{3,20})?")
_OF_CUDA = re.compile(r"(?:linux\w*_x86_64|win_amd64)\.whl$")  # systems whose builds differ in CUDA
_AGAIN = re.compile(r"pip install [^`]*--force-reinstall[^`]* torch==VERSION(?![^\s`])([^`]*)")
_CUDA = re.compile(r"cu\d{2,3}")
_OF_TOOLS: dict[Tool, str] = {  # what gives each another Python
    "uv project": "uv python pin {python}",
    "uv pip": "uv venv --python {python}",
    "poetry": "poetry env use {python}",
    "pixi": "pixi add python={python}",
}


def index_address(variant: str) -> str:
    """Return the address of PyTorch's own index of a variant."""
    rows = matrices.load("mirrors")
    official = next(row["torch"]["address"] for row in rows if row["name"] == "official")
    return f"{official}/{variant}"


def with_its_torch(fix: str, torch: str) -> str:
    """Return a fix that installs `torch==VERSION` anew with the torch that a text has, from its index.

    A line that names an index stays: which one a release is on, it says beside it.
    """
    release, _, local = torch.partition("+")
    index = f" --index-url {index_address(local)}" if _CUDA.fullmatch(local) else ""

    def named(match: re.Match[str]) -> str:
        if "index-url" in match[1]:
            return match[0]
        return match[0].replace("torch==VERSION", f"torch=={release}") + index

    return _AGAIN.sub(named, fix)


def as_listed(requirement: str) -> str:
    """Return `NAME==RELEASE+LOCAL` without the local version where the files of the index carry none.

    Releases of the first years do not, nor, up to torch 1.8, builds of the CUDA that was PyPI's then.
    """
    name, _, version = requirement.partition("==")
    release, _, local = version.partition("+")
    if not local:
        return requirement
    files = [
        row["filename"]
        for row in matrices.load("wheels")
        if row["filename"].startswith((f"{name}-{release}-", f"{name}-{release}+{local}-"))
        and row["index"] == "pytorch"
        and _OF_CUDA.search(row["filename"])
    ]
    is_labelled = any("+" in file for file in files)
    is_bare = any("+" not in file for file in files)
    return f"{name}=={release}" if is_bare and not is_labelled else requirement


def requirements(
    fact: WheelFact, question: WheelQuestion, minor: int | None, text: str, knowledge: Knowledge
) -> tuple[str, ...]:
    """Return what is to be asked for: the release, with what else of torch's stack the text names."""
    local = f"+{fact.variant}" if question.local and fact.page != PYPI else ""
    found = {question.project: fact.version}
    for name in JUDGED:
        if name == question.project or not re.search(rf"(?<![\w-]){name}(?![\w-])", text):
            continue
        beside = [
            other.version
            for other in wheel_facts(name, knowledge)
            if other.build == fact.build and (minor is None or minor in other.listed)
        ]
        if beside:
            found[name] = beside[-1]
    return tuple(as_listed(f"{name}=={found[name]}{local}") for name in JUDGED if name in found)


def install_line(tool: Tool, wanted: tuple[str, ...], page: str) -> str:
    """Return the command that installs from one page."""
    address = None if page == PYPI else index_address(page)
    if tool == "uv project":
        index = ("--index", f"pytorch-{page}={address}") if address else ()
        return shlex.join(("uv", "add", *wanted, *index))
    if tool == "poetry":
        add = shlex.join(("poetry", "add", *(("--source", f"pytorch-{page}") if address else ()), *wanted))
        if address is None:
            return add
        source = ("poetry", "source", "add", "--priority", "explicit", f"pytorch-{page}", address)
        return f"{shlex.join(source)} && {add}"
    program = ("uv", "pip", "install") if tool == "uv pip" else ("pip", "install")
    return shlex.join((*program, *wanted, *(("--index-url", address) if address else ())))


def python_line(tool: Tool, minor: int, platform: Platform | None, text: str) -> str:
    """Return the command that makes an environment with a Python, or an image."""
    python = f"3.{minor}"
    if image := _PYTHON_IMAGE.search(text):
        return f"FROM python:{python}{image[1] or ''}"
    if tool in _OF_TOOLS:
        return _OF_TOOLS[tool].format(python=python)
    if re.search(
        r"\b(?:conda|mamba|micromamba) (?:create|activate|install|env)\b|/(?:mini|ana)conda3?/", text
    ):
        return f"conda create -n NAME python={python}"
    return f"py -{python} -m venv .venv" if platform == "win-64" else f"python{python} -m venv .venv"


def after_python(tool: Tool, minor: int, line: str, *, elsewhere: bool = False, text: str = "") -> str:
    """Return what is to be done once the Python is another; `elsewhere` is a page that was not looked at."""
    if _PYTHON_IMAGE.search(text):
        return tr("then `{line}`", line=f"RUN {line}")
    if tool == "uv project" and not elsewhere:
        return tr("then `uv sync`; `requires-python` in pyproject.toml must admit 3.{minor}", minor=minor)
    if tool == "poetry" and not elsewhere:
        below = minor + 1
        return tr(
            'then `poetry install` (and narrow `python = "..."` in pyproject.toml to below 3.{below}, so '
            "that poetry takes no newer one again)",
            below=below,
        )
    if tool in {"uv project", "poetry", "pixi"}:
        return tr("then `{line}`", line=line)
    return tr("activate it, then `{line}`", line=line)
