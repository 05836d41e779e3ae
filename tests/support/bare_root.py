"""A bare Linux machine: a root with a few programs and libraries, no more Python than a test puts there."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

COREUTILS = (
    "cat", "chmod", "cut", "dirname", "env", "grep", "ln", "ls", "mkdir", "mv", "readlink", "rm", "rmdir",
    "sed", "sha256sum", "sleep", "tail", "tar", "tr", "uname",
)  # fmt: skip
_HOME = "/home/student"
_NOWHERE = "http://127.0.0.1:1"


@dataclass
class BareRoot:
    """The machine: `home` and `temporary` are what its user can write, `bin` what more is on the PATH.

    The interpreter of these tests is there too, at its own place off the PATH: packages are links to it.
    """

    root: Path
    programs: tuple[str, ...]
    busybox: bool = False
    visible: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for folder in (self.home, self.temporary, self.bin):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    def start(self, *argv: str | Path) -> subprocess.Popen[str]:
        """Start a command as a user who is not root."""
        return subprocess.Popen(
            [*self._bwrap(), *map(str, argv)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )

    def run(self, *argv: str | Path) -> tuple[int, str]:
        """Run a command; return its status and all that it printed."""
        with self.start(*argv) as process:
            try:
                out, _ = process.communicate(timeout=120)
            finally:
                process.kill()
        return process.returncode, out

    def files(self) -> dict[str, str]:
        """All that the user could have changed, with digests of the contents."""
        return {
            str(path.relative_to(self.root)): _digest(path)
            for folder in (self.home, self.temporary)
            for path in sorted(folder.rglob("*"))
        }

    def _bwrap(self) -> Iterable[str]:
        interpreter = {Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)}
        argv = [
            "bwrap",
            "--die-with-parent",
            "--unshare-pid",
            "--unshare-user",
            "--uid",
            "1000",
            "--clearenv",
        ]
        argv += ["--tmpfs", "/", "--dev", "/dev", "--proc", "/proc"]
        for folder in ("/usr/lib", "/usr/lib64"):
            argv += ["--ro-bind-try", folder, folder]
        for folder in ("lib", "lib64"):
            path = Path("/", folder)
            argv += ["--symlink", f"usr/{folder}", str(path)] if path.is_symlink() else _bound(path)
        for name in ("hosts", "nsswitch.conf", "services"):
            argv += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        argv += ["--symlink", "usr/bin", "/bin"]
        argv += ["--bind", str(self.home), _HOME, "--bind", str(self.temporary), "/tmp"]  # noqa: S108
        argv += ["--ro-bind", str(self.bin), "/opt/programs"]
        for path in (*interpreter, *self.visible):
            argv += _bound(path)
        for path in self.writable:
            argv += ["--bind", str(path), str(path)]
        for name, path in self._programs():
            argv += ["--symlink", "busybox", f"/usr/bin/{name}"] if path is None else [
                "--ro-bind", path, f"/usr/bin/{name}",
            ]  # fmt: skip
        for name, value in self._variables().items():
            argv += ["--setenv", name, value]
        return (*argv, "--chdir", _HOME, "--")

    def _programs(self) -> Iterable[tuple[str, str | None]]:
        for name in (*self.programs, *(("busybox",) if self.busybox else COREUTILS)):
            yield name, os.path.realpath(str(shutil.which(name)))
        if self.busybox:
            yield from ((name, None) for name in (*COREUTILS, "sh", "wget", "bzip2"))
        else:
            yield "sh", os.path.realpath(str(shutil.which("dash")))

    def _variables(self) -> dict[str, str]:
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _NOWHERE)
        given = {
            "PATH": "/opt/programs:/usr/bin", "HOME": _HOME, "LANG": "C.UTF-8",
            "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1",
        }  # fmt: skip
        return {name: value for name, value in {**proxies, **given, **self.variables}.items() if value}


def _bound(path: Path) -> list[str]:
    return ["--ro-bind-try", str(path), str(path)]


def _digest(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"


def lacking() -> str | None:
    """Why no bare root can be made here."""
    for name in ("bwrap", "dash", "busybox", "curl", "bzip2", "flock"):
        if shutil.which(name) is None:
            return f"{name} was not found"
    if Path(sys.base_prefix) == Path("/usr"):
        return "the interpreter of these tests is the system's, which a bare machine does not have"
    tried = subprocess.run(
        ["bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "true"],  # noqa: S607
        capture_output=True, check=False,
    )  # fmt: skip
    return None if tried.returncode == 0 else "bwrap can't make a root here"
