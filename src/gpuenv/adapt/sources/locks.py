r"""Lock files of other tools: the release of each package of torch's stack, and the Python.

poetry.lock, uv.lock, pdm.lock:      [[package]]\nname = "torch"\nversion = "1.12.1+cu113"
Pipfile.lock:                        "default": {"torch": {"hashes": […], "version": "==1.12.1"}}
conda-lock.yml:                      - name: pytorch\n  version: 1.12.1\n  platform: linux-64\n  url: https://…
conda-linux-64.lock (`@EXPLICIT`):   https://…/pytorch/linux-64/pytorch-1.12.1-py3.8_cuda11.3_0.tar.bz2
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.collector import Collector, ParsedFile
from gpuenv.adapt.parsers.conda_spec import read_conda
from gpuenv.adapt.parsers.pyproject import specifier_of
from gpuenv.model.wheel import Platform
from gpuenv.resolution.conda.environment_yml import TORCH_NAMES, WITH_TORCH
from gpuenv.resolution.request import STACK

_PACKAGE = re.compile(
    r'^\[\[package\]\]\s*\r?\nname = "(?P<name>[^"\r\n]+)"\s*\r?\nversion = "(?P<version>[^"\r\n]+)"',
    re.MULTILINE,
)
_PYTHON_OF_ALL = re.compile(
    r'^(?:\[metadata\][^\[]*?python-versions|requires-python|requires_python) = "(?P<python>[^"\r\n]+)"',
    re.MULTILINE,
)
_PIPENV = re.compile(r'"(?P<name>[\w.-]+)":\s*\{[^{}]*?"version":\s*"(?P<version>===?[^"\r\n]+)"')
_PIPENV_PYTHON = re.compile(r'"python_(?:full_)?version":\s*"(?P<python>3\.\d+)')
_BLOCK = re.compile(r"^- .*(?:\r?\n(?:[ \t].*)?)*", re.MULTILINE)
_KEY = re.compile(
    r"^(?:- |  )(?P<key>name|version|platform|manager|url): *['\"]?(?P<value>[^\s'\"]+)", re.MULTILINE
)
_ADDRESS = re.compile(r"/(?P<subdir>[a-z0-9-]+)/(?P<name>[\w.-]+?)-(?P<version>[^-/\s]+)-(?P<build>[^-/\s]+?)"
                      r"\.(?:tar\.bz2|conda)")  # fmt: skip
_BROUGHT_BY_TORCH = ("nvidia-", "triton")
_OF_CONDA = {*STACK, *TORCH_NAMES, *WITH_TORCH, "python", "cudatoolkit", "pytorch-cuda"}


def read_toml_lock(file: DependencyFile) -> ParsedFile:
    """Read what poetry, uv and PDM locked; a project in several releases is left open."""
    collector = Collector(file, hint=True)
    python = _PYTHON_OF_ALL.search(file.text)
    specifier = specifier_of(python["python"]) if python else None
    if python and specifier:
        collector.take("python", specifier, *python.span("python"))
    packages = [match for match in _PACKAGE.finditer(file.text) if match["name"] in STACK]
    for match in packages:
        if len({other["version"] for other in packages if other["name"] == match["name"]}) == 1:
            collector.take(match["name"], f"{match['name']}=={match['version']}", *match.span("version"))
    return _first_of_each(collector)


def read_pipfile_lock(file: DependencyFile) -> ParsedFile:
    """Read what pipenv locked for use, without what is for development."""
    collector = Collector(file, hint=True)
    end = file.text.find('"develop"')
    text = file.text if end < 0 else file.text[:end]
    python = _PIPENV_PYTHON.search(text)
    if python:
        collector.take("python", f"=={python['python']}.*", *python.span("python"))
    for match in _PIPENV.finditer(text):
        name = canonicalize_name(match["name"])
        if not name.startswith(_BROUGHT_BY_TORCH):
            collector.take(name, f"{name}{match['version']}", *match.span("version"))
    return _first_of_each(collector)


def read_conda_lock(file: DependencyFile, platform: Platform) -> ParsedFile:
    """Read what conda-lock wrote for a platform, or the addresses of an explicit list."""
    collector = Collector(file, hint=True)
    for name, version, build, at in _packages_of_conda(file.text, platform):
        if name in _OF_CONDA:
            spec = f"{name}={version}={build}" if build else f"{name}={version}"
            read_conda(
                collector, spec, at, file.text.find("\n", at) if "\n" in file.text[at:] else len(file.text)
            )
    collector.declared[:] = [item for item in collector.declared if item.requirement is not None]
    return _first_of_each(collector)


def _packages_of_conda(text: str, platform: Platform) -> Iterator[tuple[str, str, str, int]]:
    if "@EXPLICIT" in text:
        for match in _ADDRESS.finditer(text):
            if match["subdir"] in (platform, "noarch"):
                yield match["name"], match["version"], match["build"], match.start("name")
        return
    for block in _BLOCK.finditer(text):
        keys = {match["key"]: match for match in _KEY.finditer(block[0])}
        if {"name", "version"} <= keys.keys() and keys.get("platform", {"value": platform})[
            "value"
        ] == platform:
            address = _ADDRESS.search(keys["url"]["value"]) if "url" in keys else None
            at = block.start() + keys["name"].start("value")
            yield keys["name"]["value"], keys["version"]["value"], address["build"] if address else "", at


def _first_of_each(collector: Collector) -> ParsedFile:
    first = {item.project: item for item in reversed(collector.declared)}
    collector.declared[:] = first.values()
    return collector.result()
