"""What conda, mamba and micromamba have in common: finding them, what they can, how they are called."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from packaging.version import Version

from gpuenv import matrices
from gpuenv.files.read_limited import read_limited_text
from gpuenv.host.software.package_managers import find_conda_tools
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.installers.conda import commands as conda_calls
from gpuenv.installers.conda.check_solution import Tool
from gpuenv.installers.conda.failure import FailureWords, explain, parse_failure_words
from gpuenv.installers.conda.tool_info import (
    CondaInfo,
    ToolVersions,
    check_version,
    parse_info,
    parse_tool_versions,
)
from gpuenv.installers.protocol import MISLEADING, without
from gpuenv.model.conda import CondaWanted
from gpuenv.model.errors import Because, Fix, InstallFailed, UsageError
from gpuenv.own_metadata import install_extra
from gpuenv.process import subprocesses as process
from gpuenv.untrusted.documents import load_json

TOOLS: tuple[Tool, ...] = ("conda", "mamba", "micromamba")
# Loading repodata is the cost of a solve: micromamba and mamba do in 2 s what conda does in 10.
_FASTEST_FIRST: tuple[Tool, ...] = ("micromamba", "mamba", "conda")
_INFO_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class CondaTool:
    """A conda tool that is there."""

    tool: Tool
    path: str


@dataclass(frozen=True, slots=True)
class Calling:
    """How a tool is called: our own cache folder, a CA bundle, whether mirrors have shards, who is told."""

    environ: Mapping[str, str]
    cache: Path
    ca_bundle: str | None = None
    shards: bool = True
    tell: Callable[[str], None] = lambda _: None


@cache
def failure_words() -> FailureWords:
    """Return by what the tools tell why they failed."""
    return parse_failure_words(matrices.load("conda-tools"))


@cache
def tool_versions() -> ToolVersions:
    """Return what is known of the tools by their versions."""
    return parse_tool_versions(matrices.load("conda-tools"))


def find(tool: Tool, environ: Mapping[str, str], root: Path = Path("/")) -> CondaTool:
    """Return the tool: on PATH, by CONDA_EXE or MAMBA_EXE, in the usual folders; UsageError without it."""
    fields = {manager.name: manager.path for manager in find_conda_tools(environ, root)}
    if tool in fields:
        return CondaTool(tool, program_behind(fields[tool]))
    others = [other for other in _FASTEST_FIRST if other in fields]
    raise UsageError(
        tr("{tool} was not found", tool=tool),
        code="manager-missing",
        fixes=(
            *(Fix(tr("use {other}, which is", other=other), f"--manager {other}") for other in others[:1]),
            Fix(tr("or create a conda environment without any conda tool"), install_extra("rattler")),
            Fix(tr("or use another manager: --manager uv")),
        ),
    )


def find_fastest(environ: Mapping[str, str], root: Path = Path("/")) -> CondaTool | None:
    """Return micromamba, else mamba, else conda, None where there is none of them."""
    fields = {manager.name: manager.path for manager in find_conda_tools(environ, root)}
    return next(
        (CondaTool(tool, program_behind(fields[tool])) for tool in _FASTEST_FIRST if tool in fields), None
    )


def program_behind(path: str) -> str:
    r"""Return the program behind Windows' `condabin\conda.bat`: cmd reads `<`, `>` and `*` itself."""
    batch = Path(path)
    behind = batch.parent.parent / "Scripts" / f"{batch.stem}.exe"
    return str(behind) if batch.suffix.lower() == ".bat" and behind.is_file() else path


def read_info(tool: CondaTool, calling: Calling) -> CondaInfo:
    """Return what the tool tells about itself, asked once for each state of its file.

    Raises InstallFailed where it does not tell, UsageError where it is too old.
    """
    kept = _kept_file(tool, calling)
    info = _kept(kept, tool.tool)
    if info is None:
        info = _ask(tool, calling.environ)
        with suppress(OSError):
            _write(kept, json.dumps(asdict(info)))
    check_version(info, tool_versions())
    return info


def known_version(tool: Tool, calling: Calling, root: Path = Path("/")) -> str | None:
    """Return the version of a tool that is there, as far as it is known without running it.

    It is what the tool told the last time, else what the record of its package says; micromamba has none.
    """
    there = next(
        (manager for manager in find_conda_tools(calling.environ, root) if manager.name == tool), None
    )
    if there is None:
        return None
    info = _kept(_kept_file(CondaTool(tool, program_behind(there.path)), calling), tool)
    with suppress(ValueError):
        return str(Version(info.version if info else there.version or ""))
    return None


def _kept_file(tool: CondaTool, calling: Calling) -> Path:
    return calling.cache / "conda-tools" / f"{_fingerprint(tool, calling.environ)}.json"


def _fingerprint(tool: CondaTool, environ: Mapping[str, str]) -> str:
    """What the answer hangs on: the file, and the variables that move its folders."""
    with suppress(OSError):
        status = Path(tool.path).stat()
        moving = ("HOME", "CONDARC", "MAMBARC", "MAMBA_ROOT_PREFIX", "CONDA_PKGS_DIRS", "CONDA_ENVS_DIRS",
                  "CONDA_ENVS_PATH")  # fmt: skip
        facts = (tool.path, status.st_mtime_ns, status.st_size, *(environ.get(name) for name in moving))
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]
    return secrets.token_hex(16)  # gone meanwhile: nothing is kept of it


def _kept(file: Path, tool: Tool) -> CondaInfo | None:
    try:
        document = load_json(read_limited_text(file))
        lists = {name: tuple(document[name]) for name in ("environments", "caches", "channels")}
        version = str(Version(document["version"]))
        return CondaInfo(tool, version, str(document["platform"]), document["root"], **lists)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _ask(tool: CondaTool, environ: Mapping[str, str]) -> CondaInfo:
    argv = (tool.path, "info", "--json")
    changed = {**without(environ, MISLEADING), "MAMBA_NO_BANNER": "1"}
    done = process.run(argv, timeout_s=_INFO_LIMIT_S, environ=changed)
    try:
        return replace(
            parse_info(done.stdout, tool.tool), virtual_packages=()
        )  # these change with the driver
    except ValueError as error:
        failure = explain(done.stdout, done.stderr, failure_words())
        raise InstallFailed(
            tr(
                "`{program} info` has unexpected output: {error}",
                program=tool.path,
                error=reason_of(error),
            ),
            code="manager-broken",
            because=(Because(done.error or failure.reason, tool.path),),
            fixes=(Fix(tr("run it yourself"), f"{shlex.quote(tool.path)} info --json"),),
        ) from None


def write_condarc(wanted: CondaWanted, calling: Calling) -> str:
    """Write a condarc that leads to the channels' addresses into the cache folder; return its path.

    Raises UsageError where the folder can't be written, or where the user's CONDARC can't be read.
    """
    try:
        named = calling.environ.get("CONDARC")
        before = read_limited_text(Path(named)) if named and Path(named).is_file() else ""
        text = conda_calls.render_condarc(wanted.channels, before, shards=calling.shards)
        path = calling.cache / "condarc" / conda_calls.condarc_name(text)
        if not path.exists():
            _write(path, text)
    except (OSError, ValueError) as error:
        raise UsageError(
            tr("no configuration could be written for conda: {error}", error=reason_of(error)),
            code="condarc-unwritable",
            fixes=(Fix(tr("set GPUENV_CACHE_DIR to a writable directory")),),
        ) from None
    return str(path)


def _write(path: Path, text: str) -> None:
    """Write a file that only its user can read (addresses hold passwords), in one step."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)


def run_variables(wanted: CondaWanted, calling: Calling) -> dict[str, str]:
    """Return the variables to plan or make `wanted` with; writes the condarc that they name.

    Where no channel has an address, the user's own configuration leads to them.
    """
    reported = any(channel.urls for channel in wanted.channels)
    condarc = write_condarc(wanted, calling) if reported else None
    return conda_calls.variables(calling.environ, wanted, condarc=condarc, ca_bundle=calling.ca_bundle)


def create_argv(tool: CondaTool, wanted: CondaWanted) -> tuple[str, ...]:
    """Return the command that makes the environment; its path must not exist (see environments.conda_run)."""
    return (tool.path, *conda_calls.create_arguments(wanted))
