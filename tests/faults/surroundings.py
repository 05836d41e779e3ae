"""Faults of what surrounds a run: indexes, installers, nvidia-smi, torch, disks, streams, limits, others."""

from __future__ import annotations

import os
import signal
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from checks import GONE, OLD, Scene
from fault import FIRST, MADE, OPERATIONS, Allowed, Fault, Operation, finished, scene_of
from front import FAULTS
from strikes import wait_for
from world import World

_BY_NAME = {operation.name: operation for operation in OPERATIONS}
_CREATE, _FORCE, _INSTALL = (_BY_NAME[f"{name}-uv"] for name in ("create", "force", "install"))
_NOTHING: Allowed = {"paper": (OLD,)}
_LIST = Operation("list", "uv", ("list", "--json"), _NOTHING, _NOTHING)
_VERIFY = Operation("verify", "uv", ("verify", "paper", "--json"), _NOTHING, _NOTHING)
_DOCTOR = Operation("doctor", "uv", ("doctor", "paper", "--json"), _NOTHING, _NOTHING)
_DETECT = Operation("detect", "uv", ("detect", "--json"), _NOTHING, _NOTHING)
_PLAN = Operation("plan", "uv", ("plan", "torch", "--json"), _NOTHING, _NOTHING, index=True)
_RUN = Operation("run", "uv", ("run", "paper", "--", "python", "-c", ""), _NOTHING, _NOTHING)
Before = Callable[[World], None]


def surroundings() -> Iterator[Fault]:
    """Yield all of them."""
    for kind in (_indexes, _installers, _smis, _torches, _streams, _limits, _places, _clocks, _others):
        yield from kind()


def _nothing(_: World) -> None:
    """Prepare nothing."""


def _fault(
    number: str,
    operation: Operation,
    statuses: tuple[int, ...],
    *,
    before: Before = _nothing,
    strike: tuple[float, ...] = (),
    **options: Any,
) -> Fault:
    """Return a fault: `before` makes the world wrong; Ctrl-C comes after so many seconds."""

    def befall(world: World) -> Scene:
        world.reset(operation.state)
        before(world)
        variables = options.get("variables", {})
        program = world.program_with({"FAKE_TORCH": operation.torch or None, **variables})
        settings = {name: value for name, value in options.items() if name in {"preexec_fn", "stdin", "cwd"}}
        process = program.start(*operation.argv(world), **settings)
        for seconds in strike:
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
        done = finished(world, process)
        struck = (130, -signal.SIGINT) if strike else ()
        scene = scene_of(world, operation, done, statuses=(*statuses, *struck))
        return replace(scene, text="--json" not in operation.words or options.get("silent", False))

    return Fault(number, befall)


# indexes

_UNREADABLE = (3, 4, 5)  # another index may serve, or none; what it hands out may not be installed


def _indexes() -> Iterator[Fault]:
    parts = {"page of torch": "/torch/", "torch": "torch-2", "page": "/simple/tinydep", "wheel": "tinydep-"}
    for number, name in enumerate(FAULTS):
        for position, (what, part) in enumerate(parts.items()):
            if (number + position) % 2:  # half of them: some wait for long
                continue
            operation = (_CREATE, _FORCE, _BY_NAME["install-pip"], _INSTALL)[(number + position) // 2 % 4]
            if operation.name.startswith("install"):  # torch is there already
                operation = replace(operation, undone={"paper": (*operation.undone["paper"], MADE)})
            elif what in {"page", "wheel"}:
                operation = _with_tinydep(operation)
            before = partial(_let_fail, part=part, name=name)
            yield _fault(f"index/{what.replace(' ', '-')}/{name}/{operation.name}", operation, _UNREADABLE,
                         before=before)  # fmt: skip


def _with_tinydep(operation: Operation) -> Operation:
    words = (*operation.words[:3], "tinydep", *operation.words[3:])
    content = {*operation.through["paper"][0], ("tinydep", "2.0")}
    return replace(operation, words=words, through={"paper": (frozenset(content),)})  # type: ignore[arg-type]


def _let_fail(world: World, part: str, name: str) -> None:
    world.front.faults[part] = name


# installers: sources whose building is hostile

_BACKEND = """
import os, signal, subprocess, sys, time

def prepare_metadata_for_build_wheel(directory, settings=None):
    os.makedirs(directory + "/evil-1.0.dist-info")
    with open(directory + "/evil-1.0.dist-info/METADATA", "w") as file:
        file.write("Metadata-Version: 2.1\\nName: evil\\nVersion: 1.0\\n")
    return "evil-1.0.dist-info"

def build_wheel(directory, settings=None, metadata=None):
    {code}
    raise RuntimeError("it was built until here")
"""
_BUILDS = {
    "fails": "sys.exit(3)",
    "segfaults": "os.kill(os.getpid(), signal.SIGSEGV)",
    "prints": "print('x' * 80_000_000, flush=True)",
    "lines": "sys.stdout.write('line\\n' * 4_000_000); sys.stdout.flush()",
    "kills-installer": "os.kill(os.getppid(), signal.SIGKILL)",
    "stops-installer": "os.kill(os.getppid(), signal.SIGTERM)",
    "bytes": "os.write(1, bytes(range(256)) * 4096); os.write(2, bytes(range(256)) * 4096)",
    "daemon": "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'], env={{}})"
    ".returncode = 0",
    "far-daemon": "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'], env={{}},"
    " start_new_session=True).returncode = 0",
}


def _installers() -> Iterator[Fault]:
    for manager in ("uv", "pip"):
        force = _BY_NAME[f"force-{manager}"]
        operation = replace(force, words=(*force.words, "evil"), through={"paper": (OLD,)}, ends=5)
        for name, code in _BUILDS.items():
            yield _fault(f"installer/{name}/{manager}", operation, (3,), before=partial(_evil, code=code))
        for name, numbers in {"hangs": (), "hangs-stubbornly": ("SIGTERM", "SIGINT", "SIGHUP")}.items():
            ignored = (
                "; ".join(f"signal.signal(signal.{number}, signal.SIG_IGN)" for number in numbers) or "pass"
            )
            code = f"{ignored}; open({{note!r}}, 'w').close(); time.sleep(600)"
            yield Fault(f"installer/{name}/{manager}", partial(_hanging, operation, code))


def _hanging(operation: Operation, code: str, world: World) -> Scene:
    world.reset(operation.state)
    _evil(world, code.format(note=str(world.root / "user" / "data" / "hangs")))
    process = world.program_with({}).start(*operation.argv(world))
    wait_for(world, "hangs", process)
    process.send_signal(signal.SIGINT)
    done = finished(world, process)
    (world.root / "user" / "data" / "hangs").unlink(missing_ok=True)
    return scene_of(world, operation, done, statuses=(130, 3))


def _evil(world: World, code: str) -> None:
    """Publish sources that tell their metadata and run `code` when they are built."""
    here = world.root / "wheels" / "evil-1.0.tar.gz"
    members = {
        "PKG-INFO": "Metadata-Version: 2.2\nName: evil\nVersion: 1.0\n",
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n'
        '[project]\nname = "evil"\nversion = "1.0"\n',
        "evil.py": _BACKEND.format(code=code.replace("{{", "{").replace("}}", "}")),
    }
    with tarfile.open(here, "w:gz") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(f"evil-1.0/{name}")
            info.size = len(text.encode())
            archive.addfile(info, BytesIO(text.encode()))
    world.index.publish(here, "pypi")


# nvidia-smi

_SMI = {
    "endless": "while :; do echo '0, NVIDIA H100 PCIe, 570.133.07'; done",
    "one-endless-line": "while :; do printf '0, NVIDIA '; done",
    "endless-errors": "while :; do echo failed; done >&2",
    "stubborn": "trap '' TERM INT HUP; echo; while :; do /bin/sleep 1; done",
    "garbage": "/usr/bin/head -c 300000 /dev/urandom",
    "zeros": "/usr/bin/head -c 3000000 /dev/zero",
    "crashes": "kill -SEGV $$",
    "killed": "kill -KILL $$",
    "kills-parent-group": "kill -TERM 0; /bin/sleep 1",
    "nothing": "exit 0",
    "status": "exit 9",
    "errors": "echo '0, ERR!, ERR!, ERR!, ERR!, ERR!, ERR!, [N/A], [Unknown Error]'",
    "thousands": 'i=0; while [ $i -lt 20000 ]; do echo "$i, NVIDIA A100, 570.1"; i=$((i+1)); done',
    "daemon": "/usr/bin/env -i /bin/sleep 20 & echo '0, NVIDIA'",
    "slow": "/bin/sleep 2; echo '0, NVIDIA'",
    "escapes": "printf '\\033]0;x\\007\\033[2J0, NVIDIA, 570\\n'",
}
_BROKEN = (0, 2, 3, 4, 6)


def _smis() -> Iterator[Fault]:
    for number, (name, code) in enumerate(_SMI.items()):
        both = (_DETECT, (_PLAN, _DOCTOR)[number % 2])
        for operation in both[:1] if "endless" in name else both:  # which lasts as long as gpuenv waits
            before = partial(_write_smi, code=code)
            yield _fault(f"nvidia-smi/{name}/{operation.name}", operation, _BROKEN, before=before,
                         strike=(1.0,) if name == "stubborn" else ())  # fmt: skip
    for name, code in {"text": "#!", "folder": "", "empty": " ", "no-interpreter": "#!/nowhere/sh\n"}.items():
        yield _fault(f"nvidia-smi/{name}/detect", _DETECT, _BROKEN, before=partial(_write_smi, whole=code))


def _write_smi(world: World, code: str = "", whole: str | None = None) -> None:
    program = world.program.bin / "nvidia-smi"
    if whole == "":
        program.mkdir()
        return
    program.write_text(whole or f"#!/bin/sh\n{code}\n")
    program.chmod(0o755)


# torch, as the proof finds it

_TORCH = {
    "endless": "while True: print('x' * 1000)",
    "endless-errors": "import sys\nwhile True: sys.stderr.write('x' * 1000)",
    "segfaults": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "aborts": "import os; os.abort()",
    "exits": "import os; os._exit(0)",
    "fails": "raise SystemExit('torch has left')",
    "kills-parent": "import os, signal; os.kill(os.getppid(), signal.SIGTERM); import time; time.sleep(60)",
    "kills-gpuenv": "import os, signal; os.kill(os.getppid(), signal.SIGKILL); import time; time.sleep(60)",
    "hangs": "import time; time.sleep(600)",
    "stubborn": "import signal, time\nfor one in (1, 2, 15): signal.signal(one, 1)\ntime.sleep(600)",
    "daemon": "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'"
    "], env={}, start_new_session=True).returncode = 0",
    "child": "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'"
    "]).returncode = 0",
    "garbage": "import sys; open(sys.argv[1], 'wb').write(bytes(range(256)) * 99); import os; os._exit(0)",
    "deep": "import sys; open(sys.argv[1], 'w').write('[' * 200000); import os; os._exit(0)",
    "large": "import sys; open(sys.argv[1], 'w').write('{\"a\": \"' + 'x' * 40_000_000 + '\"}')\n"
    "import os; os._exit(0)",
    "list": "import sys; open(sys.argv[1], 'w').write('[1, 2]'); import os; os._exit(0)",
    "no-result": "import sys, shutil, os; shutil.rmtree(os.path.dirname(sys.argv[1])); os._exit(0)",
    "recursion": "def f(): f()\nf()",
    "memory": "raise MemoryError",
    "escapes": "import sys; sys.stdout.write('\\x1b]0;x\\x07\\x1b[2J'); raise ImportError('\\x1b[31m')",
    "interrupt": "raise KeyboardInterrupt",
}


def _torches() -> Iterator[Fault]:
    for number, (name, code) in enumerate(_TORCH.items()):
        operation = (_VERIFY, _DOCTOR)[number % 2]
        waits = name in {"hangs", "stubborn", "endless", "endless-errors"}
        fault = partial(_torch, operation, code, strike=(1.5,) if waits else ())
        yield Fault(f"torch/{name}/{operation.name}", fault)


def _torch(operation: Operation, code: str, world: World, strike: tuple[float, ...]) -> Scene:
    """Put the code into the environment; what is there now is what must be there afterwards."""
    world.reset(operation.state)
    (module,) = (world.envs / "paper").glob("lib/*/site-packages/torch/__init__.py")
    good = module.read_text()
    module.write_text(code)
    process = world.program_with({}).start(*operation.argv(world))
    for seconds in strike:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
    done = finished(world, process)
    module.write_text(good)
    record = Path("data", "envs", "paper", "gpuenv.json")
    (world.root / "user" / record).write_bytes((world.states["uv"] / record).read_bytes())
    killed = done.status == -signal.SIGKILL
    struck = (130, -signal.SIGKILL) if "kill" in code or strike else ()
    return scene_of(world, operation, done, statuses=(6, *struck), killed=killed)


# streams


def _closed(*numbers: int) -> Callable[[], None]:
    def close() -> None:
        for number in numbers:
            os.close(number)

    return close


def _led(number: int, place: str) -> Callable[[], None]:
    return lambda: (os.dup2(os.open(place, os.O_RDWR), number), None)[1]


def _gone(number: int) -> Callable[[], None]:
    def lead() -> None:
        theirs, ours = os.pipe()
        os.close(theirs)
        os.dup2(ours, number)

    return lead


_STREAMS = {
    "stdin-closed": _closed(0),
    "stdout-closed": _closed(1),
    "stderr-closed": _closed(2),
    "all-closed": _closed(0, 1, 2),
    "stdout-full": _led(1, "/dev/full"),
    "stderr-full": _led(2, "/dev/full"),
    "stdout-gone": _gone(1),
    "stderr-gone": _gone(2),
}


def _streams() -> Iterator[Fault]:
    for name, change in _STREAMS.items():
        for operation in (_CREATE, _INSTALL, _LIST, _DOCTOR):
            silent = name not in {"stdin-closed", "stderr-closed", "stderr-full", "stderr-gone"}
            yield _fault(f"stream/{name}/{operation.name}", operation, (2,), preexec_fn=change, silent=silent)


# limits


def _limited(name: str, amount: int) -> Callable[[], None]:
    def limit() -> None:
        import resource  # noqa: PLC0415 - of POSIX

        number = getattr(resource, name)
        resource.setrlimit(number, (amount, amount))

    return limit


_LIMITS = {
    "files-16": ("RLIMIT_NOFILE", 16),
    "files-40": ("RLIMIT_NOFILE", 40),
    "file-size-0": ("RLIMIT_FSIZE", 0),
    "file-size-1k": ("RLIMIT_FSIZE", 1 << 10),
    "file-size-20k": ("RLIMIT_FSIZE", 20 << 10),
    "file-size-300k": ("RLIMIT_FSIZE", 300 << 10),
    "memory-300m": ("RLIMIT_AS", 300 << 20),
    "stack-256k": ("RLIMIT_STACK", 256 << 10),
    "core-0": ("RLIMIT_CORE", 0),
}
_REFUSED = (2, 3, 4, 5, 6)


def _limits() -> Iterator[Fault]:
    for name, (which, amount) in _LIMITS.items():
        for operation in (_FORCE, _INSTALL, _LIST):
            yield _fault(f"limit/{name}/{operation.name}", operation, _REFUSED,
                         preexec_fn=_limited(which, amount))  # fmt: skip


# places


def _file_at(*parts: str) -> Before:
    def put(world: World) -> None:
        location = world.root.joinpath("user", *parts)
        if location.is_dir():
            location.rename(location.with_name(f"{location.name}-aside"))
        location.write_text("no folder")

    return put


def _folder_at(*parts: str) -> Before:
    return lambda world: world.root.joinpath("user", *parts).mkdir(parents=True)


def _places() -> Iterator[Fault]:
    for operation in (_CREATE, _INSTALL, _LIST):
        gone = {"preexec_fn": _remove_cwd}
        yield _fault(f"place/cwd-removed/{operation.name}", operation, (2,), **gone)
        yield _fault(
            f"place/tmp-missing/{operation.name}", operation, (2, 4, 5, 6), variables={"TMPDIR": "/nowhere"}
        )
        yield _fault(
            f"place/home-missing/{operation.name}", operation, (2, 4, 5), variables={"HOME": "/nowhere/home"}
        )
        yield _fault(
            f"place/cache-is-a-file/{operation.name}", operation, _REFUSED,
            variables={"GPUENV_CACHE_DIR": os.devnull},
        )  # fmt: skip
    yield _fault("place/no-path/create", _CREATE, (2, 5), variables={"PATH": ""})
    full = replace(_CREATE, ends=-1)
    for name in ("data-null", "data-full", "data-in-proc"):
        location = {"data-null": os.devnull, "data-full": "/dev/full", "data-in-proc": "/proc/nowhere"}[name]
        yield _fault(f"place/{name}/create", full, (2,), variables={"GPUENV_DATA_DIR": location})


def _remove_cwd() -> None:
    here = Path("/tmp", f"gpuenv-gone-{os.getpid()}")  # noqa: S108 - it is gone at once
    here.mkdir()
    os.chdir(here)
    here.rmdir()


# clocks

_CLOCK = """
import time
_time, _begun = time.time, time.monotonic()
time.time = lambda: _time() + ({jump} if time.monotonic() - _begun > {after} else 0)
"""


def _clocks() -> Iterator[Fault]:
    year = 365 * 86400
    for name, (jump, after) in {
        "ahead": (year, 0), "back": (-year, 0), "jumps-ahead": (year, 0.3), "jumps-back": (-year, 0.3),
        "epoch": (-55 * year, 0), "far": (200 * year, 0),
    }.items():  # fmt: skip
        for operation in (_FORCE, _LIST):
            code = _CLOCK.format(jump=jump, after=after)
            yield _fault(
                f"clock/{name}/{operation.name}", operation, (), before=partial(_customize, code=code),
                variables={"PYTHONPATH": "@clock"},
            )  # fmt: skip


def _customize(world: World, code: str) -> None:
    folder = world.root / "user" / "work" / "@clock"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(code)


# others at the same time

_PAIRS = {
    "create-create": (_CREATE, _CREATE),
    "force-force": (_FORCE, _FORCE),
    "force-install": (_FORCE, _INSTALL),
    "install-install": (_INSTALL, _INSTALL),
    "install-remove": (_INSTALL, replace(_BY_NAME["remove"], state="uv")),
    "force-list": (_FORCE, _LIST),
    "install-run": (_INSTALL, _RUN),
    "rename-install": (_BY_NAME["rename"], _INSTALL),
    "clone-force": (_BY_NAME["clone"], _FORCE),
}


def _others() -> Iterator[Fault]:
    for name in _PAIRS:
        for pause in (0.0, 0.3):
            for killed in (False, True):
                yield Fault(
                    f"other/{name}/{'killed' if killed else 'both'}/{pause * 1000:.0f}ms",
                    partial(_together, name, pause, killed),
                )


def _together(name: str, pause: float, killed: bool, world: World) -> Scene:
    """Run two at a time; one may be killed. Whatever the order, what is there is one of what they leave."""
    first, second = _PAIRS[name]
    world.reset(first.state)
    running = world.program_with({}).start(*first.argv(world))
    time.sleep(pause)
    other = world.program_with({}).start(*second.argv(world))
    if killed:
        time.sleep(0.4)
        running.send_signal(signal.SIGKILL)
    finished(world, running)
    done = finished(world, other)
    allowed: dict[str, tuple[Any, ...]] = {}
    for item in (first.either(), second.either()):
        for name_, contents in item.items():
            allowed[name_] = (*allowed.get(name_, ()), *contents)
    for contents in allowed.values():
        larger = {
            frozenset({*content, ("mylib", "2.0")}) for content in contents if isinstance(content, frozenset)
        }
    allowed = {name_: (*contents, *larger, GONE, FIRST) for name_, contents in allowed.items()}
    scene = scene_of(world, second, done, statuses=(2, 5), killed=killed)
    return replace(scene, allowed=allowed, state=first.state, text="--json" not in second.words)
