"""What is measured, and what each measure is held to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

from downloads import downloads
from logs import KINDS, TRAINING, write_log
from machines import saved_machines
from scenario import (
    FASTER,
    Goal,
    Scenario,
    cpu_below,
    cpu_over,
    grows,
    memory,
    requests,
    wall_over,
)
from stage import GPUENV, UV, Stage
from timing import Contestant

ENVIRONMENT = "bench"
_WHEEL_MB = 150
_STACK = "torch\ntorchvision\n"
_DELAYS_S = (0.0, 0.05, 0.25)
_TYPER_APP = """
import typer
app = typer.Typer()
@app.command()
def one(number: int = 1, word: str = "") -> None: print(number, word)
@app.command()
def two(number: int = 1) -> None: print(number)
app(["one"])
"""
_KINDS_OF_MACHINES = 20  # more than most labs have
_WORDS = ("torch", "is", "slow")
_NO_CODE = (
    "RuntimeError: CUDA error: no kernel image is available for execution on the device; "
    "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch "
    "installation."
)


def scenarios(stage: Stage, weight_mb: int) -> Iterator[Scenario]:
    """Yield all scenarios; what they need on the stage is made when they are reached."""
    yield from _starts(stage)
    yield from _entering(stage)
    for warm in (True, False):
        for latency_s in _DELAYS_S:
            yield _plan(stage, latency_s, warm=warm)
    yield _plan_offline(stage)
    yield _create(stage, "tiny", "create", wall_over(350))
    yield _create(stage, "scattered", "create of 12,000 files", wall_over(500))
    if weight_mb:
        yield _create(stage, "heavy", f"create cold {weight_mb} MB", wall_over(350))
    yield from _explain(stage)
    yield from _doctor(stage)
    yield from _machines(stage)
    yield from _many_requirements(stage)
    yield from downloads(stage, _WHEEL_MB)


def _starts(stage: Stage) -> Iterator[Scenario]:
    environ, cwd = stage.environ("starts"), stage.folder("work")
    bare = Contestant("python -c pass", (sys.executable, "-c", "pass"), environ, cwd)
    typer_app = Contestant("a typer app", (sys.executable, "-c", _TYPER_APP), environ, cwd)

    def ours(*words: str) -> Contestant:
        return Contestant(f"gpuenv {' '.join(words)}", (*GPUENV, *words), environ, cwd)

    yield Scenario("version", ours("--version"), bare, (cpu_over(20),))
    for words in (("--help",), ("list",), ("mirrors", "list"), ("plan", "--help")):
        yield Scenario(" ".join(words).strip("-"), ours(*words), typer_app, (cpu_over(40),))
    completing = {
        **environ,
        "_GPUENV_COMPLETE": "complete_bash",
        "COMP_WORDS": "gpuenv pl",
        "COMP_CWORD": "1",
    }
    completion = Contestant("completion", GPUENV, completing, cwd)
    yield Scenario("completion", completion, typer_app, (cpu_over(40),))
    for name in ("quick", "slow"):
        smi = Contestant("nvidia-smi", (str(stage.root / name / "nvidia-smi"),), environ, cwd)
        detect = Contestant("gpuenv detect", (*GPUENV, "detect"), stage.environ("starts", name), cwd)
        yield Scenario(f"detect, {name} nvidia-smi", detect, smi, (wall_over(60),))


def _entering(stage: Stage) -> Iterator[Scenario]:
    environ, cwd = stage.environ("create-ours"), stage.folder("work")
    _make_environment(stage)
    typer_app = Contestant("a typer app", (sys.executable, "-c", _TYPER_APP), environ, cwd)
    run = Contestant("gpuenv run", (*GPUENV, "run", ENVIRONMENT, "--", "true"), environ, cwd)
    yield Scenario("run", run, Contestant("true", ("/bin/true",), environ, cwd), (wall_over(60),))
    shell = ("sh", "-c", f'"$@" activate {ENVIRONMENT}; :', "sh", *GPUENV)
    activate = Contestant("gpuenv activate", shell, environ, cwd)
    yield Scenario("activate", activate, typer_app, (cpu_over(40),))
    listed = Contestant("gpuenv list", (*GPUENV, "list"), environ, cwd)
    yield Scenario("list of one", listed, typer_app, (cpu_over(40),))


def _make_environment(stage: Stage) -> None:
    if not (stage.root / "create-ours" / "data" / "envs" / ENVIRONMENT).exists():
        subprocess.run(
            (*GPUENV, "create", ENVIRONMENT, "--yes", "--no-verify"),
            env=stage.environ("create-ours"), cwd=stage.folder("work"), check=True, capture_output=True,
        )  # fmt: skip


def _plan(stage: Stage, latency_s: float, *, warm: bool) -> Scenario:
    cwd, ours, theirs = stage.folder("work"), stage.environ("ours"), stage.environ("theirs")
    compile_it = (UV, "pip", "compile", "-", "--torch-backend=auto", "--python", sys.executable, "--quiet")
    goals: tuple[Goal, ...] = (FASTER,) if latency_s else ()
    if warm:
        goals += (cpu_below(250), memory(60))
    else:
        goals += (requests(6),)
    return Scenario(
        f"plan {'warm' if warm else 'cold'} {latency_s * 1000:.0f} ms",
        Contestant("plan", (*GPUENV, "plan"), ours, cwd, "", _emptying(stage, "ours", warm)),
        Contestant(
            "uv pip compile", compile_it, theirs, cwd, _STACK, _emptying(stage, "theirs", warm)
        ),
        goals,
        latency_s,
    )  # fmt: skip


def _plan_offline(stage: Stage) -> Scenario:
    argv = (*GPUENV, "plan", "--offline")
    ours = Contestant("plan --offline", argv, stage.environ("starts"), stage.folder("work"))
    return Scenario("plan offline", ours, None, (cpu_below(250), memory(60)))


def _emptying(stage: Stage, caches: str, warm: bool) -> Callable[[], None]:
    return (lambda: None) if warm else partial(stage.empty, caches)


def _create(stage: Stage, torch: str, name: str, goal: Goal) -> Scenario:
    cold = torch == "heavy"
    ours, bare = f"{torch}-ours", f"{torch}-bare"
    return Scenario(
        name,
        Contestant(
            "gpuenv create",
            (*GPUENV, "create", ENVIRONMENT, "--yes", "--no-verify"),
            stage.environ(ours),
            stage.folder("work"),
            prepare=partial(stage.empty, ours if cold else f"{ours}/data"),
        ),
        Contestant(
            "the uv commands",
            ("sh", "-e", str(_script(stage, torch))),
            stage.environ(bare),
            stage.folder("bare"),
            prepare=partial(stage.empty, "bare/.venv", *((bare,) if cold else ())),
        ),
        (goal,),
        torch=torch,
    )


def _script(stage: Stage, torch: str) -> Path:
    """Save the commands that `gpuenv plan --format uv` prints, with the hash of that wheel of torch, once."""
    path, shelf = stage.root / f"commands-{torch}.sh", stage.replica.shelf
    if not path.exists():
        shelf.torch = torch
        create = (*GPUENV, "create", ENVIRONMENT, "--yes", "--no-verify")  # its wheel is made, and so known
        for argv in (create, (*GPUENV, "plan", "--format", "uv", "--output", str(path))):
            subprocess.run(
                argv, env=stage.environ(f"script-{torch}"), cwd=stage.folder("work"), check=True,
                capture_output=True,
            )  # fmt: skip
    return path


def _explain(stage: Stage) -> Iterator[Scenario]:
    environ, cwd = stage.environ("starts"), stage.folder("work")

    def ours(*words: str) -> Contestant:
        return Contestant("gpuenv explain", (*GPUENV, "explain", *words), environ, cwd)

    yield Scenario("explain three words", ours(*_WORDS), None, (cpu_below(200),))
    yield Scenario("explain with a command", ours(_NO_CODE), None, (cpu_below(600),))
    for kind in KINDS:
        for size_mb in (1, 10, 100) if kind == TRAINING else (1, 10):
            log = cwd / f"{kind}-{size_mb}.log"
            if not log.exists():
                write_log(log, kind, size_mb)
            yield Scenario(
                f"explain {kind} {size_mb} MB", ours(str(log)), None, tuple(_of_log(kind, size_mb))
            )


def _of_log(kind: str, size_mb: int) -> Iterator[Goal]:
    yield memory(150)
    if size_mb > 1:
        yield grows(f"explain {kind} {size_mb // 10} MB", 10)
    if size_mb == 10 and kind == TRAINING:  # noqa: PLR2004
        yield cpu_below(1000)


def _doctor(stage: Stage) -> Iterator[Scenario]:
    _make_environment(stage)
    argv = (*GPUENV, "doctor", ENVIRONMENT)
    ours = Contestant(
        "gpuenv doctor", argv, stage.environ("create-ours"), stage.folder("work"), statuses=(0, 6)
    )
    yield Scenario("doctor", ours, None, ())


def _machines(stage: Stage) -> Iterator[Scenario]:
    environ, cwd = stage.environ("starts"), stage.folder("work")
    for count in (10, 100, 1000):
        folder = stage.folder(f"machines-{count}")
        for number, document in enumerate(saved_machines(count)):
            (folder / f"{number}.json").write_text(json.dumps(document), encoding="utf-8")
        argv = (*GPUENV, "plan", "--machines", str(folder), "--offline")
        ours = Contestant("plan --machines", argv, environ, cwd, statuses=(0, 3))
        goals = () if count == 10 else (grows(f"{count // 10} machines", 10),)  # noqa: PLR2004
        yield Scenario(f"{count} machines", ours, None, goals)
    folder = stage.folder("machines-alike")
    for number, document in zip(range(1000), cycle(saved_machines(_KINDS_OF_MACHINES)), strict=False):
        (folder / f"{number}.json").write_text(json.dumps(document), encoding="utf-8")
    argv = (*GPUENV, "plan", "--machines", str(folder), "--offline")
    alike = Contestant("plan --machines", argv, environ, cwd, statuses=(0, 3))
    yield Scenario("1000 machines of 20 kinds", alike, None, (cpu_below(2500),))


def _many_requirements(stage: Stage) -> Iterator[Scenario]:
    for count in (10, 100, 1000):
        folder = stage.folder(f"paper-{count}")
        _write_requirements(folder, count, "torch==1.13.1\ntorchvision==0.14.1\n")
        argv = (*GPUENV, "plan", "--adapt", str(folder), "--offline")
        ours = Contestant("plan --adapt", argv, stage.environ("starts"), stage.folder("work"))
        goals: tuple[Goal, ...] = (cpu_below(1000),) if count == 100 else ()  # noqa: PLR2004
        goals += () if count == 10 else (grows(f"adapt {count // 10}", 10),)  # noqa: PLR2004
        yield Scenario(f"adapt {count}", ours, None, goals)
    for count in (10, 100, 1000, 5000):
        file = _write_requirements(stage.folder(f"required-{count}"), count, "torch\n")
        ours = Contestant(
            "plan -r", (*GPUENV, "plan", "-r", str(file)), stage.environ("ours"), stage.folder("work")
        )
        compile_it = (
            "pip",
            "compile",
            str(file),
            "--torch-backend=auto",
            "--python",
            sys.executable,
            "--quiet",
        )
        theirs = Contestant("uv", (UV, *compile_it), stage.environ("theirs"), stage.folder("work"))
        goals = () if count in (10, 5000) else (grows(f"{count // 10} requirements", 10),)
        yield Scenario(f"{count} requirements", ours, theirs, goals)


def _write_requirements(folder: Path, count: int, stack: str) -> Path:
    path = folder / "requirements.txt"
    lines = "".join(f"bulk-{number:04}==1.0.0\n" for number in range(count))
    path.write_text(stack + lines, encoding="utf-8")
    return path
