"""Downloads of one wheel, on lines of several kinds, beside curl and uv.

curl keeps no hash of what it reads and knows nothing of wheels; uv unpacks what it has read. Where
connections break, curl is started again by a shell, to go on with what it has.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from link import Line
from origin import serve_folder
from scenario import Goal, Scenario, cpu_over, memory
from stage import UV, Stage
from timing import Contestant
from wheels import make_wheel

HOST = "localhost"
_MB = 1_000_000
_LINE = Line(round_trip_s=0.05, bytes_per_s=100e6 / 8)
_EACH = replace(_LINE, bytes_per_s=50e6 / 8, each=True)
_NO_SLOWER = Goal("≤ 1.05 × curl", lambda it: it.ours.wall_ms <= 1.05 * it.against.wall_ms)
_TWICE_AS_FAST = Goal("≤ 0.6 × curl", lambda it: it.ours.wall_ms <= 0.6 * it.against.wall_ms)
_ROUNDS = 2  # of what takes long
_GO_ON = 'until curl -fsS -C - -O "$1" 2>/dev/null; do :; done'


def downloads(stage: Stage, size_mb: int) -> Iterator[Scenario]:
    """Yield the scenarios; each has a line of its own as long as it is looked at."""
    folder = stage.folder("files")
    name = _write_wheel(folder, size_mb)
    half = size_mb * _MB // 2
    stalls = replace(_LINE, faulty=1, after=half, stall_s=8.0)
    drops = replace(_LINE, faulty=2, after=half // 2)
    at_once = Goal("≤ 0.8 × curl", lambda it: it.ours.wall_ms <= 0.8 * it.against.wall_ms)
    with serve_folder(folder, stage.replica.authority, stage.replica.asked) as port:
        yield _scenario(stage, "download, no line", folder / name, port, None, (cpu_over(600),))
        for title, line, goal in (
            ("download, 100 Mbit/s 50 ms", _LINE, _NO_SLOWER),
            ("download, 50 Mbit/s a connection", _EACH, _TWICE_AS_FAST),
            ("download, silent for 8 s", stalls, at_once),
            ("download, breaks twice", drops, _NO_SLOWER),
        ):
            with _linked(port, line) as process:
                yield _scenario(stage, title, folder / name, 0, process, (goal, memory(80)))


def _write_wheel(folder: Path, size_mb: int) -> str:
    name = "torch-9.9.9-py3-none-any.whl"
    content = make_wheel(name, "Metadata-Version: 2.1\nName: torch\nVersion: 9.9.9\n", size_mb)
    (folder / name).write_bytes(content)
    return name


@contextmanager
def _linked(port: int, line: Line) -> Iterator[subprocess.Popen[str]]:
    argv = (sys.executable, str(Path(__file__).with_name("link.py")), str(port), line.text())
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def _scenario(
    stage: Stage,
    title: str,
    wheel: Path,
    port: int,
    link: subprocess.Popen[str] | None,
    goals: tuple[Goal, ...],
) -> Scenario:
    port = port if link is None else int(_line_of(link))
    url = f"https://{HOST}:{port}/{wheel.name}"
    environ = _environ(stage)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    cwd = stage.folder("downloaded")
    fetch = str(Path(__file__).with_name("fetch.py"))
    install = (UV, "pip", "install", "--no-deps", "--no-cache", "--quiet", "--python", sys.executable)
    begin = partial(_begin, stage, link)
    curl = ("sh", "-c", _GO_ON, "sh", url) if "breaks" in title else ("curl", "-fsS", "-O", url)
    return Scenario(
        title,
        Contestant("gpuenv", (sys.executable, fetch, url, wheel.name, digest), environ, cwd, prepare=begin),
        Contestant("curl", curl, environ, cwd, prepare=begin),
        goals,
        further=(Contestant("uv", (*install, "--target", "here", url), environ, cwd, prepare=begin),),
        most_rounds=None if link is None else _ROUNDS,
    )


def _environ(stage: Stage) -> dict[str, str]:
    """Return variables without the proxy of the replica, which knows nothing of this server."""
    environ = stage.environ("downloads")
    kept = {name: value for name, value in environ.items() if "proxy" not in name.lower()}
    bundle = environ["SSL_CERT_FILE"]
    return {**kept, "CURL_CA_BUNDLE": bundle, "UV_CACHE_DIR": os.devnull, "NO_PROXY": HOST}


def _begin(stage: Stage, link: subprocess.Popen[str] | None) -> None:
    stage.empty("downloaded")
    stage.folder("downloaded")
    if link is not None and link.stdin is not None:
        link.stdin.write("\n")
        link.stdin.flush()
        _line_of(link)


def _line_of(link: subprocess.Popen[str]) -> str:
    if link.stdout is None:
        raise TypeError("the line has no pipe")
    return link.stdout.readline()
