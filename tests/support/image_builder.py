"""Images built for real, by buildah without any daemon, on a base made of this machine's own files."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
_TOOLS = ("sh", "mkdir", "mv", "install", "groupadd", "useradd")
_BUNDLED = Path(sys.base_prefix) / "lib" / f"python{PYTHON}" / "ensurepip" / "_bundled"


def _may_mount() -> bool:
    """Whether this process may make a mount namespace: in most containers not even root may."""
    unshare = shutil.which("unshare")
    return unshare is not None and not subprocess.run([unshare, "--mount", "true"], check=False).returncode


CAN_BUILD = all(map(shutil.which, ("buildah", "ldd", *_TOOLS))) and _BUNDLED.is_dir() and _may_mount()


@dataclass(frozen=True)
class Builder:
    """buildah with a store of its own."""

    root: Path

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run buildah to its end, whatever comes of it."""
        store = ("--root", self.root / "store", "--runroot", self.root / "run", "--storage-driver", "vfs")
        argv = ["buildah", *map(str, store), *map(str, arguments)]
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.root)}  # builds are handed proxies
        return subprocess.run(
            argv, env=environ, capture_output=True, encoding="utf-8", check=False, timeout=300
        )

    def do(self, *arguments: str | Path) -> str:
        """Run buildah, which has to succeed; return what it printed."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def build(self, dockerfile: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Build an image from nothing but a Dockerfile."""
        isolation = ("--isolation", "chroot", "--network", "host", "--format", "docker")
        context = dockerfile.parent
        readable = self.root / "Dockerfile"
        readable.write_text(_without_here_documents(dockerfile.read_text(encoding="utf-8")), encoding="utf-8")
        return self.run("build", *isolation, *arguments, "--file", readable, "--tag", name, context)

    def configuration(self, name: str) -> dict[str, Any]:
        """Return an image's configuration and history."""
        return dict(json.loads(self.do("inspect", "--type", "image", name))["Docker"])

    def base(self, name: str) -> None:
        """Make a base image: this Python, a shell and what a Dockerfile runs."""
        files = self.root / "base"
        _copy_system(files)
        container = self.do("from", "scratch")
        self.do("add", container, files, "/")
        self.do("config", "--env", "PATH=/usr/local/bin:/usr/bin:/bin", container)
        self.do("commit", container, name)
        self.do("rm", container)
        shutil.rmtree(files)

    def remove(self) -> None:
        """Take away all that was built: images are large."""
        self.do("rm", "--all")
        self.do("rmi", "--all", "--force")
        shutil.rmtree(self.root)


def _without_here_documents(text: str) -> str:
    """Put files that a Dockerfile holds as the buildah of Debian 12 reads them, which is older than 1.33."""

    def printed(match: re.Match[str]) -> str:
        lines = " ".join(map(shlex.quote, match["lines"].split("\n")))
        return f"RUN printf '%s\\n' {lines} > {match['path']}\n"

    document = r"^COPY <<'(?P<end>EOF_*)' (?P<path>\S+)\n(?P<lines>.*?)\n(?P=end)\n"
    return re.sub(document, printed, text, flags=re.DOTALL | re.MULTILINE)


def _copy_system(root: Path) -> None:
    for tool in _TOOLS:
        _copy_program(Path(str(shutil.which(tool))), root, root / "bin" / tool)
    home = Path(sys.base_prefix)
    library = home / "lib" / f"python{PYTHON}"
    interpreter = home / "bin" / f"python{PYTHON}"
    _copy_program(interpreter, root, _inside(root, interpreter))
    for module in (library / "lib-dynload").glob("*.so"):
        _copy_libraries(module, root)
    left_out = (
        "site-packages",
        "dist-packages",
        "test",
        "tests",
        "__pycache__",
        "idlelib",
        "tkinter",
        "config-*",
    )
    shutil.copytree(library, _inside(root, library), ignore=shutil.ignore_patterns(*left_out))
    (root / "usr/local/bin").mkdir(parents=True, exist_ok=True)
    (root / "usr/local/bin/python3").symlink_to(interpreter)
    (root / "etc").mkdir()
    for name, text in {"passwd": "root:x:0:0:root:/root:/bin/sh\n", "group": "root:x:0:\n"}.items():
        (root / "etc" / name).write_text(text)
    (root / "tmp").mkdir(mode=0o1777)


def _inside(root: Path, path: Path) -> Path:
    return root / str(path).lstrip("/")


def _copy_program(path: Path, root: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, to)
    _copy_libraries(path, root)


def _copy_libraries(path: Path, root: Path) -> None:
    """Copy what the loader would load: `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x7f...)`."""
    message = subprocess.run(
        [str(shutil.which("ldd")), str(path)], capture_output=True, encoding="utf-8", check=False
    ).stdout
    for value in re.findall(r"(/\S+\.so\S*)", message):
        to = _inside(root, Path(value))
        if not to.exists():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(value, to)
