"""What must hold after a fault, each as one function: a sentence for what does not, None where it holds."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.utils import canonicalize_name
from running import Done
from world import TOKEN, World

from gpuenv.model.errors import UsageError
from gpuenv.operations.interrupted_change import mend, place_at

Versions = frozenset[tuple[str, str]]
OLD = "as before"
GONE = "gone"
_SEEDS = {"pip", "setuptools"}
_MARKS = {".gpuenv-used", ".lock"}  # that a command ran in an environment; uv's lock of one
_AFTER_S = 3.0  # what was killed may take a moment to be gone


@dataclass
class Scene:
    """A fault that has befallen gpuenv: how the run ended, and what may be true now."""

    world: World
    state: str
    done: Done
    statuses: frozenset[int]
    allowed: Mapping[str, tuple[str | Versions, ...]]  # by the name of an environment
    killed: bool = False  # so that only the next command can put things right
    text: bool = False  # no --json
    notes: list[str] = field(default_factory=list)


def versions(*pairs: str) -> Versions:
    """Return the content of an environment: `versions("torch 2.14.1+cpu")`."""
    return frozenset((name, version) for name, version in (pair.split() for pair in pairs))


def status(scene: Scene) -> str | None:
    """The exit status is one that is documented for this."""
    if scene.done.status in scene.statuses or before_gpuenv(scene.done.err):
        return None
    return f"exit status {scene.done.status}, not {sorted(scene.statuses)}: {scene.done.err[-300:]!r}"


def traceback(scene: Scene) -> str | None:
    """Nothing of Python's own shows."""
    said = scene.done.err  # --json may quote what another Python has shown
    if "internal error, please report it" in scene.done.out:
        return "a defect"
    for word in (
        "Traceback (most recent",
        "Exception ignored",
        "Fatal Python error",
        "internal error, please report it",
    ):
        if word in said:
            if before_gpuenv(scene.done.err):
                scene.notes.append("Python itself was struck")
                return None
            return f"`{word}`: {said[-600:]!r}"
    return None


def before_gpuenv(err: str) -> bool:
    """Tell whether Python was struck while it started, before any line of gpuenv."""
    return "KeyboardInterrupt" in err and "gpuenv/" not in err.replace("/.venv/bin/gpuenv", "")


def envelope(scene: Scene) -> str | None:
    """With --json there is one envelope on stdout that fits the status; none where a signal ended it."""
    if scene.text or (scene.done.status < 0 and not scene.done.out):
        return None
    if before_gpuenv(scene.done.err):
        return None
    try:
        scene.done.envelope  # noqa: B018 - it asserts
    except (AssertionError, ValueError, KeyError, TypeError) as error:
        return f"no envelope ({error!r}) for status {scene.done.status}: {scene.done.out[-200:]!r}"
    return None


def environments(scene: Scene) -> str | None:
    """Each environment is old and whole, new and whole, or gone, as is allowed; no other is there."""
    envs = scene.world.envs
    names = {path.name for path in envs.iterdir()} if envs.is_dir() else set()
    if stray := names - set(scene.allowed):
        return f"there is {sorted(stray)} among the environments"
    seen = {name: _content(scene, name) for name in scene.allowed}
    for name, content in seen.items():
        if content not in scene.allowed[name]:
            return f"`{name}` is {content!r}, not one of {scene.allowed[name]}"
    return None


def _content(scene: Scene, name: str) -> str | Versions:
    """Say what an environment is: gone, as before, its versions where it is whole, or what is wrong."""
    path, before = scene.world.envs / name, scene.world.states[scene.state] / "data" / "envs" / name
    if not os.path.lexists(path):
        return GONE
    if before.is_dir() and files(path) == files(before):
        return OLD
    if wrong := next(_wrong(path), None):
        return wrong
    return frozenset(_versions(path))


def _versions(path: Path) -> Iterator[tuple[str, str]]:
    for distribution in _distributions(path):
        name = canonicalize_name(str(distribution.metadata["Name"]))
        if name not in _SEEDS:
            yield name, distribution.version


def _distributions(path: Path) -> list[Distribution]:
    return list(distributions(path=[str(file) for file in path.glob("lib/*/site-packages")]))


def _wrong(path: Path) -> Iterator[str]:
    """Yield what an environment lacks, or has too much."""
    for needed in ("pyvenv.cfg", "bin/python", "gpuenv.json"):
        if not (path / needed).exists():
            yield f"without {needed}"
    with suppress(OSError):
        try:
            json.loads((path / "gpuenv.json").read_text())
        except ValueError:
            yield "with a broken gpuenv.json"
    for distribution in _distributions(path):
        for file in distribution.files or ():
            location = Path(str(distribution.locate_file(file)))
            if not location.exists():
                yield f"without {file} of {distribution.name}"
            elif file.hash and _digest(location) != file.hash.value:
                yield f"with another {file} of {distribution.name}"
    yield from (f"with {left.name}" for left in path.glob(".gpuenv-*") if left.name not in _MARKS)


def _digest(file: Path) -> str:
    digest = hashlib.sha256(file.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def files(root: Path) -> dict[str, str]:
    """Return every file with its digest, but for what Python compiles."""
    fields = {}
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if name != "__pycache__"]
        for name in set(names) - _MARKS:
            path = Path(folder, name)
            link = path.is_symlink()
            fields[str(path.relative_to(root))] = str(path.readlink()) if link else _digest(path)
    return fields


def nothing_aside(scene: Scene) -> str | None:
    """No journal is open, and nothing is left that was put aside."""
    data = scene.world.root / "user" / "data"
    left = list((data / "envs").glob(".*"))  # half a journal that was not yet in its place says nothing
    left += [path for path in (data / "journals").glob("*") if path.is_file()]
    left += [path for path in data.glob("envs/*/.gpuenv-*") if path.name not in _MARKS]
    return f"left: {sorted(map(str, set(left)))}" if left else None


def processes(scene: Scene) -> str | None:
    """No process of it runs any more."""
    until = time.monotonic() + _AFTER_S
    while (left := running(scene.world.token)) and time.monotonic() < until:
        time.sleep(0.02)
    return f"still running: {left}" if left else None


def running(token: str) -> list[str]:
    """Return the command lines of the processes that have the token."""
    values, sought = [], f"{TOKEN}={token}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if sought in (folder / "environ").read_bytes().split(b"\0"):
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                values.append(f"{folder.name} {line[:120]}")
    return values


def temporary(scene: Scene) -> str | None:
    """No folder is left among the temporary ones."""
    left = sorted(path.name for path in (scene.world.root / "user" / "tmp").iterdir())
    return f"left in TMPDIR: {left}" if left else None


def next_command(scene: Scene) -> str | None:
    """The next command works and lists what is there, after `doctor --fix` has mended what a kill left."""
    data = scene.world.envs.parent
    for name in scene.allowed if scene.killed else ():
        _mend(scene.world.envs / name, data)
    done = scene.world.run("list", "--json")
    if done.status != 0:
        return f"`gpuenv list` ends with {done.status}: {done.err[-300:]!r} {done.out[-300:]!r}"
    listed = {row["name"] for row in done.data["environments"]}
    there = {path.name for path in scene.world.envs.iterdir()} if scene.world.envs.is_dir() else set()
    if listed != there & set(scene.allowed):
        return f"listed are {sorted(listed)}, there are {sorted(there)}"
    return None


def _mend(path: Path, data: Path) -> None:
    """Mend it; a process that was killed may hold its lock for a moment after its variables are gone."""
    until = time.monotonic() + _AFTER_S
    while not _is_mended(path, data) and time.monotonic() < until:
        time.sleep(0.05)


def _is_mended(path: Path, data: Path) -> bool:
    try:
        mend(place_at(path, {"GPUENV_DATA_DIR": str(data)}))
    except UsageError as error:
        if error.code != "environment-busy":
            raise
        return False
    return True


Check = Callable[[Scene], str | None]
# of how the run ended; of what a run that could clean up has left; of what is there after the next command
AT_ONCE: tuple[Check, ...] = (status, traceback, envelope, processes)
CLEAN: tuple[Check, ...] = (environments, nothing_aside, temporary)
AFTER: tuple[Check, ...] = (next_command, environments, nothing_aside, temporary)


def problems(scene: Scene) -> list[str]:
    """Return what does not hold; after a kill the next command may put things right."""
    checks = (*AT_ONCE, *(() if scene.killed else CLEAN), *AFTER)
    values = (check(scene) for check in checks)
    return list(dict.fromkeys(item for item in values if item))
