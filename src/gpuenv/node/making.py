"""One environment being made: by uv where the machine has it, else by Python's own venv and pip."""

from __future__ import annotations

import json
import platform
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from gpuenv.on_disk.places import RECORD, EnvironmentPaths
from gpuenv.on_disk.replace import replace_file

from .places import make_folder, python_of, unwritable
from .problems import NodeError, step_failed
from .pythons import find_uv
from .running import closed, run, run_logged, without_misleading

_LAST_LINES = 15
_LONGEST_LINE = 2000  # letters
_VERSION_LIMIT_S = 20.0
_NEW_PIP = (20, 3)  # the first that knows manylinux_2_28; Python 3.8 may bring 19
_PATIENCE_S = "120"  # uv's own 30 s is short for files of gigabytes
_REQUIREMENTS = ".gpuenv-requirements.txt"
_MANY = 100_000_000  # bytes from which on sizes are shown in GB
_PASSWORD = re.compile(r"(https?://)[^/@\s]+@")


class CreateRequest(NamedTuple):
    """The request: `requirements` is the text of a requirements file, `fingerprint` names its files.

    `python` is MAJOR.MINOR. `hashed` tells that every file is named with its hash. `names` are the packages
    that must be there afterwards, `size` is how many bytes are fetched, `record` what gpuenv.json will hold.
    """

    python: str
    requirements: str
    hashed: bool
    fingerprint: str
    names: tuple[str, ...]
    size: int
    record: dict[str, Any]
    force: bool


class NodeCreation:
    """The work on one environment; `log` is the file that has all that the installer printed."""

    def __init__(
        self,
        wanted: CreateRequest,
        environment: EnvironmentPaths,
        environ: Mapping[str, str],
        keep_open: tuple[int, ...],
    ) -> None:
        self.log = str(environment.log(datetime.now(timezone.utc)))
        make_folder(environment.store.logs)
        self._wanted, self._place, self._keep_open = wanted, environment, keep_open
        self._uv = find_uv(environ)
        defaults = {
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",  # nobody could answer
            "UV_HTTP_TIMEOUT": environ.get("UV_REQUEST_TIMEOUT", _PATIENCE_S),
        }
        self._environ = dict(defaults, **without_misleading(environ))

    def make(self, python: str, after_first_step: Callable[[], None]) -> None:
        """Make the environment with this Python and install what is wanted; raise NodeError."""
        self._check_room()
        _report(f"making `{self._place.path}` with Python {self._wanted.python}")
        path = str(self._place.path)
        self._step([self._uv, "venv", path, "--python", python] if self._uv else [python, "-m", "venv", path])
        after_first_step()
        _report(f"installing {len(self._wanted.names)} packages")
        self._install()

    def record(self, installed: Mapping[str, str]) -> None:
        """Write gpuenv.json, as gpuenv would, and note an environment that lies outside the store."""
        plan = dict(
            self._wanted.record["plan"],
            fingerprint=self._wanted.fingerprint,
            installed=dict(installed),
            made_on=platform.node(),
        )
        record = dict(
            self._wanted.record,
            name=self._place.name,
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            manager="uv" if self._uv else "pip",
            state="complete",
            plan=plan,
        )
        replace_file(self._place.path / RECORD, json.dumps(record, indent=1) + "\n")
        if self._place.is_elsewhere:
            self._remember()

    def _remember(self) -> None:
        folder = make_folder(self._place.store.elsewhere)
        try:
            replace_file(self._place.note, json.dumps(str(self._place.path)))
        except OSError as error:
            raise unwritable(folder, error) from None

    def _check_room(self) -> None:
        free = shutil.disk_usage(self._place.path).free
        if self._wanted.size > free:
            message = f"{_as_read(self._wanted.size)} are to be fetched, {_as_read(free)} are free"
            raise NodeError("disk-full", message, (str(self._place.path),))

    def _install(self) -> None:
        strictly = ["--require-hashes", "--no-deps"] if self._wanted.hashed else []
        if self._uv:
            # hashes say which file is meant, on whichever index; without them the first index that has a name
            any_index = ["--index-strategy", "unsafe-best-match"] if self._wanted.hashed else []
            into = ["--python", str(self._place.path), *any_index]
            self._step_with(self._wanted.requirements, [self._uv, "pip", "install", *into, *strictly])
        else:
            self._renew_pip()
            pip = [python_of(self._place), "-m", "pip", "install"]
            self._step_with(self._wanted.requirements, [*pip, *strictly])

    def _renew_pip(self) -> None:
        ended = run([python_of(self._place), "-m", "pip", "--version"], _VERSION_LIMIT_S, self._environ)
        match = re.match(r"pip (\d+)\.(\d+)", ended.stdout)
        if match and (int(match.group(1)), int(match.group(2))) < _NEW_PIP:
            lines = self._wanted.requirements.splitlines()
            sources = [line for line in lines if line.startswith("--")]
            if "--no-index" not in sources:
                pip = [python_of(self._place), "-m", "pip", "install", "--upgrade"]
                self._step_with("\n".join([*sources, "pip", ""]), pip)

    def _step_with(self, requirements: str, argv: list[str]) -> None:
        """Hand over requirements in a file: an index may have a password, which who lists processes sees."""
        file = self._place.path / _REQUIREMENTS
        replace_file(file, requirements, mode=0o600)
        self._step([*argv, "-r", str(file)])
        file.unlink()

    def _step(self, argv: list[str]) -> None:
        with open(self.log, "a", encoding="utf-8", errors="surrogateescape", opener=closed) as log:
            log.write(_PASSWORD.sub(r"\1***@", "$ {}\n".format(" ".join(argv))))
        ended = run_logged(argv, self.log, self._environ, self._keep_open)
        if ended.ok:
            return
        how = "could not be started" if ended.returncode is None else f"failed ({ended.returncode})"
        lines = [line.rstrip()[:_LONGEST_LINE] for line in ended.stdout.splitlines() if line.strip()]
        last = "\n".join(lines[-_LAST_LINES:]) or ended.error or "it printed nothing"
        raise step_failed(" ".join(argv[:3]), how, _PASSWORD.sub(r"\1***@", last), self.log)


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _as_read(size: int) -> str:
    """Return bytes in the unit that shows more than zeros."""
    return f"{size / 1e9:.1f} GB" if size >= _MANY else f"{size / 1e6:.1f} MB"
