"""Resolve the user's other requirements by uv, with the torch stack fixed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.installers import uv as uv_manager
from gpuenv.installers.resolver_variables import may_tell_secrets, only_of_uv
from gpuenv.installers.uv_failure import Unresolvable, parse_failure
from gpuenv.model.errors import InstallFailed
from gpuenv.model.plan import Sources
from gpuenv.model.wheel import Platform
from gpuenv.process import subprocesses as process
from gpuenv.resolution.direct_urls import part_by_address
from gpuenv.untrusted.documents import load_toml

LIMIT_S = 600.0
_MACHINES = {"linux-64": "x86_64", "linux-aarch64": "aarch64"}
_WITHOUT_GLIBC: dict[Platform, str] = {
    "win-64": "x86_64-pc-windows-msvc",
    "osx-arm64": "aarch64-apple-darwin",
    "osx-64": "x86_64-apple-darwin",
}
_GLIBC_MINORS = (17, 28, *range(31, 41))  # the values of `uv pip compile --python-platform`

_NEWEST_MACOS = "99.0"

_NOT_BUILT = re.compile(r"[Bb]uilding (?:from source|source distributions)[^.]{0,200}? is disabled")


class ResolvedFile(Struct, frozen=True):
    """One file that a resolver chose; `size` is in bytes if known, an `sdist` is built on installation.

    `direct`: it is required by its address, and on no index.
    """

    name: str
    version: str
    filename: str | None
    url: str | None
    sha256: str | None
    size: int | None
    index: str | None
    sdist: bool = False
    direct: bool = False


class Resolved(Struct, frozen=True):
    """All packages that would be installed, without the requirements `left_out`."""

    files: tuple[ResolvedFile, ...]
    left_out: tuple[str, ...] = ()


class CompileInput(Struct, frozen=True):
    """What to resolve; `platform` None is this machine, `glibc` and `macos` are MAJOR.MINOR.

    `interpreter` is any Python that uv can run, by default one on PATH. `wheels_only` are not built, `before`
    (ISO 8601) is the latest upload date except of the projects `of_any_day`, `lowest` prefers the lowest
    releases of direct requirements, `no_deps` ignores dependencies.
    """

    pins: tuple[str, ...]
    requirements: tuple[str, ...]
    constraints: tuple[str, ...]
    sources: Sources
    python: str
    platform: Platform | None = None
    glibc: str | None = None
    offline: bool = False
    interpreter: str | None = None
    wheels_only: tuple[str, ...] = ()
    before: str | None = None
    of_any_day: tuple[str, ...] = ()
    lowest: bool = False
    no_deps: bool = False
    macos: str | None = None

    @property
    def variables(self) -> dict[str, str]:
        """The macOS whose wheels uv takes, which no argument says; one that is not known is new enough."""
        is_macos = self.platform in ("osx-arm64", "osx-64")
        return {"MACOSX_DEPLOYMENT_TARGET": self.macos or _NEWEST_MACOS} if is_macos else {}

    @property
    def lines(self) -> str:
        """The requirements that uv reads from stdin."""
        return "\n".join((*self.pins, *self.requirements, *self.constraints))


Compile = Callable[[CompileInput, Mapping[str, str]], Resolved | Unresolvable]


def compile_requirements(
    question: CompileInput, environ: Mapping[str, str], *, uv: str | None = None, limit_s: float = LIMIT_S
) -> Resolved | Unresolvable:
    """Resolve the requirements with the pins, without building from URLs; raise as `run_resolver`."""

    def compile_one(query: CompileInput, environ: Mapping[str, str]) -> Resolved | Unresolvable:
        arguments = compile_arguments(query)
        variables = {**environ, **query.variables}
        done = run_resolver(arguments, query.sources, query.lines, variables, uv=uv, limit_s=limit_s)
        if isinstance(done, Unresolvable):
            return done
        try:
            return parse_pylock(done.stdout)
        except ValueError as error:
            message = tr("the output of uv cannot be read: {error}", error=reason_of(error))
            raise InstallFailed(message, code="resolver-failed") from None

    return without_building(question, environ, compile_one)


def run_resolver(
    arguments: tuple[str, ...],
    sources: Sources,
    lines: str,
    environ: Mapping[str, str],
    *,
    uv: str | None = None,
    limit_s: float = LIMIT_S,
) -> process.Completed | Unresolvable:
    """Run uv with requirements on stdin; raise Unreachable for an index, InstallFailed for other failures."""
    argv = (uv or uv_manager.find(), *arguments)
    variables = uv_manager.environment(environ, sources)
    done = process.run(argv, timeout_s=limit_s, environ=variables, stdin=f"{lines}\n")
    return done if done.ok else parse_failure(done.stderr or done.error or tr("uv timed out"))


def without_building(
    question: CompileInput, environ: Mapping[str, str], compile_one: Compile
) -> Resolved | Unresolvable:
    """Resolve without requirements that would be built from a URL, a folder or a version control.

    The metadata of wheels may name further URLs, so that nothing at all is built with wheels by URL; where an
    index's packages must be, these wheels are left out as well. uv expands variables in the URLs of metadata,
    so that it is run without those of the user.
    """
    parted = part_by_address(question.requirements)
    left_out = (*parted.built, *parted.filled)
    alone = replace(question, requirements=parted.listed)
    if not parted.wheels or may_tell_secrets(question.sources, environ):
        return _leaving_out((*parted.wheels, *left_out), compile_one(alone, environ))
    binary = replace(
        question,
        requirements=(*parted.listed, *parted.wheels),
        sources=replace(question.sources, only_binary=True),
    )
    outcome = compile_one(binary, only_of_uv(environ))
    is_refused = isinstance(outcome, Unresolvable) and _NOT_BUILT.search(outcome.message)
    if not is_refused or question.sources.only_binary:
        return _leaving_out(left_out, outcome)
    return _leaving_out((*parted.wheels, *left_out), compile_one(alone, environ))


def _leaving_out(requirements: tuple[str, ...], outcome: Resolved | Unresolvable) -> Resolved | Unresolvable:
    return replace(outcome, left_out=requirements) if isinstance(outcome, Resolved) else outcome


def compile_arguments(question: CompileInput) -> tuple[str, ...]:
    """Return the arguments of `uv pip compile`; the requirements come on stdin."""
    return ("pip", "compile", "-", "--format", "pylock.toml", *resolving_arguments(question))


def resolving_arguments(question: CompileInput) -> tuple[str, ...]:
    """Return the arguments of `uv pip compile` that do not depend on the format of its output."""
    platform = uv_platform(question.platform, question.glibc)
    return (
        "--quiet", "--color", "never", "--no-progress", "--no-header", "--no-annotate",
        # uv would fetch a whole Python only to build with it
        "--no-python-downloads", "--python-version", question.python.rstrip("t"),
        *(("--python", question.interpreter) if question.interpreter else ()),
        *(("--python-platform", platform) if platform else ()),
        *(("--offline",) if question.offline else ()),
        *(word for name in question.wheels_only for word in ("--only-binary", name)),
        *(("--exclude-newer", question.before) if question.before else ()),
        *(word for name in question.of_any_day for word in ("--exclude-newer-package", f"{name}=false")),
        *(("--resolution", "lowest-direct") if question.lowest else ()),
        *(("--no-deps",) if question.no_deps else ()),
        *uv_manager.source_options(question.sources),
    )  # fmt: skip


def uv_platform(platform: Platform | None, glibc: str | None) -> str | None:
    """Return uv's name of a platform, with the newest manylinux that the glibc supports, by default 2.28."""
    if platform is None:
        return None
    if platform in _WITHOUT_GLIBC:
        return _WITHOUT_GLIBC[platform]
    minor = int(glibc.split(".")[1]) if glibc and re.fullmatch(r"2\.\d{1,3}", glibc) else 28
    supported = max((item for item in _GLIBC_MINORS if item <= minor), default=_GLIBC_MINORS[0])
    return f"{_MACHINES[platform]}-manylinux_2_{supported}"


def parse_pylock(text: str) -> Resolved:
    """Parse the pylock.toml (PEP 751) that uv prints; raise ValueError.

    [[packages]]
    name = "iniconfig"
    version = "2.3.1"
    wheels = [{ url = "https://.../iniconfig-2.3.1-py3-none-any.whl", size = 7484,
                    hashes = { sha256 = "9121e2" } }]
    """
    packages = load_toml(text).get("packages", [])
    if not isinstance(packages, list):
        raise ValueError(tr("`packages` of the lock is not a list"))
    return Resolved(tuple(_parse_package(package) for package in packages))


def _parse_package(package: Any) -> ResolvedFile:
    if not isinstance(package, dict) or not isinstance(package.get("name"), str):
        raise ValueError(tr("`{package}` is not a valid package of a lock", package=str(package)[:80]))
    chosen = _chosen_file(package)
    location = _text(chosen.get("url")) or _text(chosen.get("path"))
    hashes = chosen.get("hashes")
    size = chosen.get("size")
    return ResolvedFile(
        name=package["name"],
        version=str(package.get("version", "")),
        filename=unquote(urlsplit(location or "").path.replace("\\", "/").rpartition("/")[2]) or None,
        url=location,
        sha256=_text(hashes.get("sha256")) if isinstance(hashes, dict) else None,
        size=size if isinstance(size, int) and not isinstance(size, bool) else None,
        index=_text(package.get("index")),
        sdist=chosen is package.get("sdist"),
        direct=chosen is package.get("archive"),
    )


def _chosen_file(package: dict[str, Any]) -> dict[str, Any]:
    # For one platform uv lists one wheel; a project without a suitable wheel has only its sdist.
    wheels = package.get("wheels")
    if isinstance(wheels, list) and wheels:
        chosen = wheels[0]
    else:
        chosen = package.get("sdist") or package.get("archive")
    return chosen if isinstance(chosen, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
