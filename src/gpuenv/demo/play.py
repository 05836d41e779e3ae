"""Play a scene: gpuenv itself answers, offline, apart from the user's settings and caches."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from gpuenv.demo.scenes import Scene
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, UsageError
from gpuenv.process import subprocesses

_LIMIT_S = 120.0
_SETTINGS = ("GPUENV_", "PIP_", "UV_", "CONDA_", "CUDA_", "NVIDIA_", "HIP_", "ROCR_", "XDG_")
_ANSWERS = (0, 3, 6)  # a plan, a refusal, a diagnosis


class PlayedScene(Struct, frozen=True):
    """What gpuenv printed in a scene, and its exit status."""

    scene: Scene
    status: int
    stdout: str
    stderr: str

    @property
    def printed(self) -> str:
        """All of it, as a terminal shows it: warnings come first."""
        return (self.stderr + self.stdout).rstrip("\n")


class Look(Struct, frozen=True):
    """How the answers look."""

    language: str
    columns: int
    coloured: bool = False
    as_json: bool = False


@contextmanager
def stage(environ: Mapping[str, str]) -> Iterator[tuple[Path, dict[str, str]]]:
    """Give a home of its own, removed afterwards, and the variables with which a scene is played there."""
    with tempfile.TemporaryDirectory(prefix="gpuenv-demo-") as folder:
        home = Path(folder)
        kept = {name: value for name, value in environ.items() if not name.startswith(_SETTINGS)}
        own = {
            "HOME": folder,
            "USERPROFILE": folder,
            "APPDATA": folder,
            "LOCALAPPDATA": folder,
            "GPUENV_CACHE_DIR": str(home / "cache"),
            "GPUENV_DATA_DIR": str(home / "data"),
            "GPUENV_OFFLINE": "1",
            "GPUENV_MANAGER": "uv",
            "PIP_CONFIG_FILE": os.devnull,
            "UV_NO_CONFIG": "1",
            "PYTHONUTF8": "1",
        }
        yield home, {**kept, **own}


def play(scene: Scene, home: Path, variables: Mapping[str, str], look: Look) -> PlayedScene:
    """Run a scene's command; raise UsageError where it answers nothing, which is no part of any scene."""
    folder = home / scene.name
    folder.mkdir()
    for name, text in scene.texts().items():
        (folder / name).write_text(text, encoding="utf-8")
    done = subprocesses.run(
        [sys.executable, "-m", "gpuenv", *scene.words],
        timeout_s=_LIMIT_S,
        cwd=folder,
        environ={
            **variables,
            "COLUMNS": str(look.columns),
            "GPUENV_LANG": look.language,
            "GPUENV_COLOR": "always" if look.coloured else "never",
            **({"GPUENV_JSON": "1"} if look.as_json else {}),
        },
    )
    if done.returncode not in _ANSWERS or done.timed_out:
        said = done.error or done.stderr.strip() or str(done.returncode)
        raise UsageError(
            tr("`{command}` could not be played", command=scene.command),
            code="demo-failed",
            because=(Because(said, "demo"),),
        )
    return PlayedScene(scene, done.returncode, done.stdout, done.stderr)
