"""Which Pythons a script brings, and the lock of what gpuenv needs for each of them and each platform."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from gpuenv.bootstrap.model import LockedWheel
from gpuenv.i18n.messages import tr
from gpuenv.installers import CONDA_MANAGERS, uv
from gpuenv.installers.uv_compile import LIMIT_S, CompileInput, compile_arguments
from gpuenv.installers.uv_failure import parse_failure
from gpuenv.model.access import Access
from gpuenv.model.errors import GpuenvError
from gpuenv.model.plan import Sources
from gpuenv.model.python import PythonOffer
from gpuenv.model.wheel import Platform
from gpuenv.planning.conda.choose import conda_pythons
from gpuenv.planning.options import PlanOptions
from gpuenv.process import subprocesses as process
from gpuenv.resolution.request import parse_python
from gpuenv.untrusted.documents import load_toml

PIP = canonicalize_name("pip")
LEAST_PYTHON = (3, 10)
PLATFORMS: tuple[Platform, ...] = ("linux-64", "linux-aarch64")
_RELEASE = re.compile(r"(3\.\d+)(?:\.\d+)?")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]*\.whl")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MISLEADING = re.compile(r"UV_(?!CACHE_DIR$|HTTP_TIMEOUT$|REQUEST_TIMEOUT$|NATIVE_TLS$|SYSTEM_CERTS$)")


class Resolution(Struct, frozen=True):
    """The wheels for all targets that have any, and why others have none."""

    wheels: tuple[LockedWheel, ...]
    problems: tuple[str, ...]


def targets() -> Iterator[tuple[str, Platform]]:
    """Yield the Pythons that gpuenv runs on, on each platform."""
    for platform in PLATFORMS:
        for offer in conda_pythons(platform):
            if not offer.free_threaded and tuple(map(int, offer.short.split("."))) >= LEAST_PYTHON:
                yield offer.short, platform


def resolve(requires: tuple[str, ...], index: str, environ: Mapping[str, str], access: Access) -> Resolution:
    """Resolve the requirements for every target, wheels alone; the files come with the index's own hashes."""
    sources = Sources(index, (), (), no_index=False, access=access)
    locked_wheels: dict[str, LockedWheel] = {}
    problems: list[str] = []
    for python, platform in targets():
        answer = _compile(requires, python, platform, sources, environ)
        if isinstance(answer, str):
            problems.append(answer)
            continue
        for wheel in answer:
            before = locked_wheels.get(wheel.filename, wheel)
            names = (*before.targets, f"{python}/{platform}")
            locked_wheels[wheel.filename] = replace(before, targets=tuple(dict.fromkeys(names)))
    wheels = (*locked_wheels.values(), *(_pip(sources, environ, locked_wheels) if locked_wheels else ()))
    return Resolution(
        tuple(sorted(wheels, key=lambda locked_wheel: locked_wheel.filename)), tuple(dict.fromkeys(problems))
    )


def _pip(
    sources: Sources, environ: Mapping[str, str], wheels: Mapping[str, LockedWheel]
) -> Iterator[LockedWheel]:
    """Yield pip, for Pythons that have none; without it the script still has other ways."""
    names = tuple(dict.fromkeys(target for wheel in wheels.values() for target in wheel.targets))
    python, platform = names[0].split("/")
    answer = _compile((PIP,), python, next(item for item in PLATFORMS if item == platform), sources, environ)
    if not isinstance(answer, str):
        yield from (replace(wheel, targets=names) for wheel in answer)


def _compile(
    requires: tuple[str, ...], python: str, platform: Platform, sources: Sources, environ: Mapping[str, str]
) -> tuple[LockedWheel, ...] | str:
    question = CompileInput((), requires, (), sources, python, platform=platform, interpreter=sys.executable)
    given = {name: value for name, value in environ.items() if not _MISLEADING.match(name)}
    answer = process.run(
        (uv.find(), *compile_arguments(question), "--only-binary", ":all:", "--no-config"),
        timeout_s=LIMIT_S,
        environ=uv.environment(given, sources),
        stdin="\n".join((*requires, "")),
    )
    if answer.ok:
        try:
            return parse_wheels(answer.stdout)
        except ValueError as error:
            return str(error)
    try:
        failed = parse_failure(answer.stderr or answer.error or tr("uv timed out"))
    except GpuenvError as error:
        return error.message
    return failed.message


def parse_wheels(text: str) -> tuple[LockedWheel, ...]:
    """Read the wheels of a pylock.toml (PEP 751); ValueError for a package without any that has a hash.

    [[packages]]
    name = "idna"
    version = "3.10"
    wheels = [{ url = "https://.../idna-3.10-py3-none-any.whl", size = 70442, hashes = { sha256 = "946d" } }]
    """
    packages = load_toml(text).get("packages", [])
    return tuple(wheel for package in packages for wheel in _wheels(package))


def _wheels(package: Mapping[str, Any]) -> tuple[LockedWheel, ...]:
    wheels = tuple(wheel for row in package.get("wheels", ()) if (wheel := _wheel(row)))
    if not wheels:
        raise ValueError(tr("`{name}` has no wheel with a hash", name=package.get("name")))
    return wheels


def _wheel(row: Mapping[str, Any]) -> LockedWheel | None:
    where = str(row.get("url") or row.get("path") or "")
    name = row.get("name") or PurePosixPath(unquote(urlsplit(where).path)).name
    digest = row.get("hashes", {}).get("sha256", "")
    if not _FILE.fullmatch(name) or not _SHA256.fullmatch(digest):
        return None
    return LockedWheel(name, digest, row.get("size"), (), where or None)


def asked_python(options: PlanOptions) -> str | None:
    """Return the release that an environment of wheels asks for; a conda tool brings its own."""
    text = (options.python or "").strip()
    if not text or options.manager in CONDA_MANAGERS:
        return None
    match = _RELEASE.fullmatch(text)
    return match[1] if match else fitting_python(parse_python(text))


def fitting_python(specifiers: SpecifierSet) -> str | None:
    """Return the newest usual release that fits."""
    return next((offer.short for offer in _usual_pythons() if specifiers.contains(f"{offer.short}.99")), None)


def _usual_pythons() -> tuple[PythonOffer, ...]:
    return tuple(offer for offer in conda_pythons(PLATFORMS[0]) if not offer.free_threaded)


def pythons_to_bring(requested: tuple[str, ...], wheels: tuple[LockedWheel, ...]) -> tuple[str, ...]:
    """Return the Pythons for a machine without any: those requested, and one that can run gpuenv."""
    can_run = {target.partition("/")[0] for wheel in wheels for target in wheel.targets}
    if can_run & set(requested):
        return requested
    usual = tuple(offer.short for offer in _usual_pythons())
    return (*requested, next((item for item in usual if item in can_run), usual[0]))
