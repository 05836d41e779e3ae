"""What is measured, and what each measure is held to."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stage import GPUENV, UV, Stage
from timing import Contestant, Series

_STACK = "torch\ntorchvision\n"
_DELAYS_S = (0.0, 0.25)


@dataclass(frozen=True)
class Scenario:
    """Two contestants, gpuenv first; `target` says what it is held to, and whether it held."""

    name: str
    contestants: tuple[Contestant, Contestant]
    target: tuple[str, Callable[[Series, Series], bool]]
    latency_s: float = 0.0
    heavy: bool = False

    def verdict(self, ours: Series, other: Series) -> str:
        """Return the target in words, and whether it was met."""
        words, met = self.target
        return f"{words}: {'yes' if met(ours, other) else 'NO'}"


def scenarios(stage: Stage, weight_mb: int) -> Iterator[Scenario]:
    """Yield all scenarios; what they need on the stage is made when they are reached."""
    yield _version(stage)
    yield _detect(stage)
    for warm in (True, False):
        for latency_s in _DELAYS_S:
            yield _plan(stage, latency_s, warm=warm)
    yield _create(stage, 0)
    if weight_mb:
        yield _create(stage, weight_mb)


def _version(stage: Stage) -> Scenario:
    environ, cwd = stage.environ("version"), stage.folder("work")
    return Scenario(
        "version",
        (
            Contestant("gpuenv --version", (*GPUENV, "--version"), environ, cwd),
            Contestant("python -c pass", (sys.executable, "-c", "pass"), environ, cwd),
        ),
        ("under 100 ms", lambda ours, _: ours.median_ms < 100),  # noqa: PLR2004
    )


def _detect(stage: Stage) -> Scenario:
    environ, cwd = stage.environ("detect", "slow"), stage.folder("work")
    return Scenario(
        "detect",
        (
            Contestant("gpuenv detect", (*GPUENV, "detect"), environ, cwd),
            Contestant("nvidia-smi", (str(stage.root / "slow" / "nvidia-smi"),), environ, cwd),
        ),
        ("within 60 ms", lambda ours, other: ours.median_ms - other.median_ms < 60),  # noqa: PLR2004
    )


def _plan(stage: Stage, latency_s: float, *, warm: bool) -> Scenario:
    cwd = stage.folder("work")
    compile_it = (UV, "pip", "compile", "-", "--torch-backend=auto", "--python", sys.executable, "--quiet")
    return Scenario(
        f"plan {'warm' if warm else 'cold'} {latency_s * 1000:.0f} ms",
        (
            Contestant(
                "gpuenv plan",
                (*GPUENV, "plan"),
                stage.environ("ours"),
                cwd,
                "",
                _emptying(stage, "ours", warm),
            ),
            Contestant(
                "uv pip compile",
                compile_it,
                stage.environ("theirs"),
                cwd,
                _STACK,
                _emptying(stage, "theirs", warm),
            ),
        ),
        _PLAN_TARGETS[warm, bool(latency_s)],
        latency_s,
    )


_PLAN_TARGETS: dict[tuple[bool, bool], tuple[str, Callable[[Series, Series], bool]]] = {
    (True, False): ("faster than uv", lambda ours, other: ours.median_ms < other.median_ms),
    (True, True): ("faster than uv", lambda ours, other: ours.median_ms < other.median_ms),
    (False, False): ("fewer requests", lambda ours, other: ours.most_requests < other.most_requests),
    (False, True): (
        "fewer requests, half the time",
        lambda ours, other: (
            ours.most_requests < other.most_requests and ours.median_ms <= other.median_ms / 2
        ),
    ),
}


def _emptying(stage: Stage, caches: str, warm: bool) -> Callable[[], None]:
    return (lambda: None) if warm else partial(stage.empty, caches)


def _create(stage: Stage, weight_mb: int) -> Scenario:
    cold = bool(weight_mb)
    ours, bare = ("create-ours", "create-bare") if not cold else ("heavy-ours", "heavy-bare")
    return Scenario(
        f"create cold {weight_mb} MB" if cold else "create warm",
        (
            Contestant(
                "gpuenv create",
                (*GPUENV, "create", "bench", "--yes", "--no-verify"),
                stage.environ(ours),
                stage.folder("work"),
                prepare=partial(stage.empty, ours if cold else f"{ours}/data"),
            ),
            Contestant(
                "the uv commands",
                ("sh", "-e", str(_script(stage))),
                stage.environ(bare),
                stage.folder("bare"),
                prepare=partial(_clear_bare, stage, bare if cold else "bare/.venv"),
            ),
        ),
        ("within 10 %", lambda ours, other: ours.median_ms <= other.median_ms * 1.1),
        heavy=cold,
    )


def _clear_bare(stage: Stage, caches: str) -> None:
    stage.empty("bare/.venv", caches)


def _script(stage: Stage) -> Path:
    """Save the commands that `gpuenv plan --format uv` prints, once."""
    path = stage.root / "commands.sh"
    if not path.exists():
        subprocess.run(
            (*GPUENV, "plan", "--format", "uv", "--output", str(path)),
            env=stage.environ("script"), cwd=stage.folder("work"), check=True, capture_output=True,
        )  # fmt: skip
    return path
