"""What conda, mamba and micromamba have in common: finding, querying and calling them."""

from __future__ import annotations

import hashlib
import json
import secrets
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import cast

from msgspec import Struct, to_builtins
from msgspec.structs import replace
from packaging.version import Version

from gpuenv import matrices
from gpuenv.files.private import replace_private
from gpuenv.files.read_limited import read_limited_text
from gpuenv.host.software.package_managers import FASTEST_FIRST, fastest_conda_tool, find_conda_tools
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.installers.conda import commands as conda_calls
from gpuenv.installers.conda.check_solution import Tool
from gpuenv.installers.conda.failure import FailureWords, explain, parse_failure_words
from gpuenv.installers.conda.json_output import last_document, texts
from gpuenv.installers.conda.rc_files import rc_state, rc_state_of_root
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
from gpuenv.process import subprocesses as process
from gpuenv.untrusted.documents import load_json

TOOLS: tuple[Tool, ...] = ("conda", "mamba", "micromamba")
_INFO_LIMIT_S = 30.0
_MOVING = (
    "HOME", "XDG_CONFIG_HOME", "CONDARC", "MAMBARC", "CONDA_ROOT", "MAMBA_ROOT_PREFIX", "CONDA_ENVS_PATH",
    *(f"{tool}_{folders}" for tool in ("CONDA", "MAMBA") for folders in ("PKGS_DIRS", "ENVS_DIRS")),
)  # fmt: skip
_READ_AS = 2  # grows where `info` is read in another way


class CondaTool(Struct, frozen=True):
    """An installed conda tool."""

    tool: Tool
    path: str


class Calling(Struct, frozen=True):
    """How a tool is called; `shards`: whether the channels may have them, `tell` gets messages.

    `offline`: no request is sent. `solve_limit_s` is how long a solve may take: conda-forge's repodata are
    50 MB to fetch.
    """

    environ: Mapping[str, str]
    cache: Path
    ca_bundle: str | None = None
    shards: bool = True
    tell: Callable[[str], None] = lambda _: None
    offline: bool = False
    solve_limit_s: float = 900.0


@cache
def failure_words() -> FailureWords:
    """Return the known exceptions and messages of the tools."""
    return parse_failure_words(matrices.load("conda-tools"))


@cache
def tool_versions() -> ToolVersions:
    """Return the least versions of the tools."""
    return parse_tool_versions(matrices.load("conda-tools"))


def find(tool: Tool, environ: Mapping[str, str], root: Path = Path("/")) -> CondaTool:
    """Return the tool: on PATH, by CONDA_EXE or MAMBA_EXE, in the usual folders; UsageError without it."""
    paths = {manager.name: manager.path for manager in find_conda_tools(environ, root)}
    if tool in paths:
        return CondaTool(tool, program_behind(paths[tool]))
    from gpuenv.own_metadata import install_extra  # noqa: PLC0415 - reads this installation

    others = [other for other in FASTEST_FIRST if other in paths]
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
    """Return micromamba, else mamba, else conda, None without any of them."""
    manager = fastest_conda_tool(environ, root)
    return CondaTool(cast("Tool", manager.name), program_behind(manager.path)) if manager else None


def program_behind(path: str) -> str:
    r"""Return the program behind Windows' `condabin\conda.bat`: cmd reads `<`, `>` and `*` itself."""
    batch = Path(path)
    behind = batch.parent.parent / "Scripts" / f"{batch.stem}.exe"
    return str(behind) if batch.suffix.lower() == ".bat" and behind.is_file() else path


def read_info(tool: CondaTool, calling: Calling) -> CondaInfo:
    """Return the output of `info`, cached for a state of the tool; raise InstallFailed or UsageError."""
    file = _cache_file(tool, calling)
    info = _read_cached(file, tool.tool)
    if info is None:
        info = _ask(tool, calling.environ)
        with suppress(OSError):
            _write(file, json.dumps({**to_builtins(info), "root_rc": rc_state_of_root(info.root)}))
    check_version(info, tool_versions())
    return info


def _cache_file(tool: CondaTool, calling: Calling) -> Path:
    """Return the cache for a state of the tool's file, its configuration and the variables that change it."""
    name = secrets.token_hex(16)
    with suppress(OSError):  # the tool is gone: its file is not found again
        status = Path(tool.path).stat()
        environ = calling.environ
        moving = (environ.get(variable) for variable in _MOVING)
        rc_files = rc_state(tool.path, environ)
        facts = (_READ_AS, tool.path, status.st_mtime_ns, status.st_size, *moving, rc_files)
        name = hashlib.sha256(repr(facts).encode()).hexdigest()[:32]
    return calling.cache / "conda-tools" / f"{name}.json"


def _read_cached(file: Path, tool: Tool) -> CondaInfo | None:
    try:
        document = load_json(read_limited_text(file))
        if tuple(map(tuple, document["root_rc"])) != rc_state_of_root(document["root"]):
            return None
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
        info = parse_info(done.stdout, tool.tool)
        return replace(info, virtual_packages=())  # they change with the driver
    except ValueError as error:
        failure = explain(done.stdout, done.stderr, failure_words())
        facts = {"program": tool.path, "error": reason_of(error)}
        raise InstallFailed(
            tr("`{program} info` has unexpected output: {error}", **facts),
            code="manager-broken",
            because=(Because(done.error or failure.reason, tool.path),),
            fixes=(Fix(tr("run it yourself"), f"{shlex.quote(tool.path)} info --json"),),
        ) from None


def listed_environments(tool: CondaTool, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return where the tool says its environments lie; none where it does not tell."""
    argv = (tool.path, "env", "list", "--json")
    done = process.run(
        argv, timeout_s=_INFO_LIMIT_S, environ={**without(environ, MISLEADING), "MAMBA_NO_BANNER": "1"}
    )
    try:
        return texts(last_document(done.stdout).get("envs"))
    except ValueError:
        return ()


def write_condarc(wanted: CondaWanted, calling: Calling) -> str:
    """Write a condarc with the channels' URLs into the cache; return its path, raise UsageError."""
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
    """Write a file in a private folder, as URLs hold passwords."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    replace_private(path, text)


def run_variables(wanted: CondaWanted, calling: Calling) -> dict[str, str]:
    """Return the variables to run a tool with; writes their condarc, unless no channel has a URL."""
    has_urls = any(channel.urls for channel in wanted.channels)
    condarc = write_condarc(wanted, calling) if has_urls else None
    changed = conda_calls.variables(calling.environ, wanted, condarc=condarc, ca_bundle=calling.ca_bundle)
    return {**changed, "CONDA_OFFLINE": "true", "MAMBA_OFFLINE": "true"} if calling.offline else changed


def create_argv(tool: CondaTool, wanted: CondaWanted, listed: Path | None = None) -> tuple[str, ...]:
    """Return the command that creates the environment, whose path must not exist."""
    return (tool.path, *conda_calls.create_arguments(wanted, str(listed) if listed else None))
