"""Version and folders of conda tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

from msgspec import Struct
from packaging.version import InvalidVersion, Version

from gpuenv.i18n.messages import tr
from gpuenv.installers.conda.check_solution import Tool
from gpuenv.installers.conda.json_output import last_document, texts
from gpuenv.model.errors import Because, Fix, UsageError

_MASK = "***"
_UPDATES = {
    "conda": "conda update -n base conda",
    "mamba": "conda update -n base conda mamba",
    "micromamba": "micromamba self-update",
}


class ToolVersions(Struct, frozen=True):
    """The `least` supported versions of the tools, and the first that install `lists` of packages.

    `hiding` are the tools that write no password of a list into the environment.
    """

    least: tuple[tuple[Tool, Version], ...]
    lists: tuple[tuple[Tool, Version], ...] = ()
    hiding: frozenset[Tool] = frozenset()


def parse_tool_versions(rows: Iterable[Mapping[str, Any]]) -> ToolVersions:
    """Parse such rows of matrices/conda-tools.json; raise ValueError.

    {"kind": "least", "tool": "conda", "version": "23.10", "source": "..."}
    {"kind": "list", "tool": "conda", "version": "24.9", "hides": true, "source": "..."}
    """
    rows = tuple(rows)
    try:
        least, lists = (
            tuple((_tool(row), Version(row["version"])) for row in rows if row["kind"] == kind)
            for kind in ("least", "list")
        )
        hiding = (_tool(row) for row in rows if row["kind"] == "list" and row["hides"])
        return ToolVersions(least, lists, frozenset(hiding))
    except (KeyError, TypeError) as error:
        raise ValueError(tr("is not a valid row of conda tools: {error}", error=error)) from None


def _tool(row: Mapping[str, Any]) -> Tool:
    tool = row["tool"]
    if tool not in get_args(Tool):
        raise ValueError(tr("`{tool}` is not a known conda tool", tool=tool))
    return cast("Tool", tool)


class CondaInfo(Struct, frozen=True):
    """The output of `info`; `virtual_packages` are (name, version, build), `caches` those of packages."""

    tool: Tool
    version: str
    platform: str
    root: str | None
    environments: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    virtual_packages: tuple[tuple[str, str, str], ...] = ()

    @property
    def cuda(self) -> str | None:
        """The driver's CUDA according to the tool."""
        return next((version for name, version, _ in self.virtual_packages if name == "__cuda"), None)


def parse_info(text: str, tool: Tool) -> CondaInfo:
    """Parse the output of `info --json`.

    conda:

        {"platform": "linux-64", "conda_version": "26.7.1", "root_prefix": "/opt/conda",
         "pkgs_dirs": ["/opt/conda/pkgs"], "envs_dirs": ["/opt/conda/envs"], "channels": [],
         "virtual_pkgs": [["__cuda", "12.8", "0"], ["__glibc", "2.36", "0"]]}

    mamba and micromamba:

        {"platform": "linux-64", "micromamba version": "2.8.1", "base environment": "/home/user/mamba",
         "package cache": ["/home/user/mamba/pkgs"], "envs directories": ["/home/user/mamba/envs"],
         "channels": null, "virtual packages": ["__cuda=12.8=0", "__glibc=2.36=0"]}

    mamba 1 answers as conda does, with conda's version. libmamba takes what follows a folder `t` for a token:
    a folder with `*****` in it is not told. Raises ValueError.
    """
    document = last_document(text)
    if "conda_version" in document:
        return _from_conda(document, tool)
    version = document.get(f"{tool} version") or document.get("libmamba version")
    return CondaInfo(
        tool=tool,
        version=_version(version),
        platform=_text(document, "platform"),
        root=_folder(document, "base environment"),
        environments=_folders(document, "envs directories"),
        caches=_folders(document, "package cache"),
        channels=texts(document.get("channels")),
        virtual_packages=tuple(_virtual(item.split("=")) for item in texts(document.get("virtual packages"))),
    )


def _from_conda(document: dict[str, Any], tool: Tool) -> CondaInfo:
    rows = document.get("virtual_pkgs") or []
    if not isinstance(rows, list):
        raise ValueError(tr("`virtual_pkgs` is not a list"))
    return CondaInfo(
        tool=tool,
        version=_version(document["conda_version"]) if tool == "conda" else "1",
        platform=_text(document, "platform"),
        root=_folder(document, "root_prefix"),
        environments=_folders(document, "envs_dirs"),
        caches=_folders(document, "pkgs_dirs"),
        channels=texts(document.get("channels")),
        virtual_packages=tuple(_virtual(row) for row in rows),
    )


def _version(value: Any) -> str:
    try:
        Version(value)
    except (InvalidVersion, TypeError):
        message = tr("`{value}` is not a valid version of a conda tool", value=str(value)[:80])
        raise ValueError(message) from None
    return str(value)


def _text(document: dict[str, Any], key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str):
        raise ValueError(tr("it does not report its {key}", key=key))
    return value


def _folder(document: dict[str, Any], key: str) -> str | None:
    value = document.get(key)
    return value if isinstance(value, str) and _MASK not in value else None


def _folders(document: dict[str, Any], key: str) -> tuple[str, ...]:
    return tuple(path for path in texts(document.get(key)) if _MASK not in path)


def _virtual(parts: Any) -> tuple[str, str, str]:
    if not isinstance(parts, list) or len(parts) < 2 or not all(isinstance(part, str) for part in parts):  # noqa: PLR2004 - name and version
        raise ValueError(tr("`{parts}` is not a valid virtual package", parts=str(parts)[:80]))
    return parts[0], parts[1], parts[2] if len(parts) > 2 else ""  # noqa: PLR2004


def check_version(info: CondaInfo, known: ToolVersions) -> None:
    """Raise UsageError for a tool that is too old."""
    least = dict(known.least).get(info.tool)
    if least is None or Version(info.version) >= least:
        return
    facts = {"tool": info.tool, "version": info.version, "least": least}
    raise UsageError(
        tr("{tool} {version} is too old: {least} or newer is required", **facts),
        code="manager-too-old",
        because=(Because(tr("it reports version {version}", version=info.version), f"{info.tool} info"),),
        fixes=(
            Fix(tr("update it"), _UPDATES.get(info.tool)),
            Fix(tr("or use another manager: --manager uv")),
        ),
    )
