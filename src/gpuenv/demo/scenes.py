"""The scenes of the demo: `scenes.json` has the machines, and what is asked of gpuenv there."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from importlib import resources

from msgspec import Struct, convert

from gpuenv.i18n.messages import ENGLISH, tr
from gpuenv.model.errors import Fix, UsageError


class Scene(Struct, frozen=True, forbid_unknown_fields=True):
    """One command with the files that it reads; `title` is by language.

    `saved_by` is the command that saves such a file on the machine that the scene is about.
    """

    name: str
    title: dict[str, str]
    words: tuple[str, ...]
    files: dict[str, str | dict[str, object]]
    saved_by: str | None = None

    @property
    def command(self) -> str:
        """What a user types."""
        return shlex.join(("gpuenv", *self.words))

    def title_in(self, language: str) -> str:
        """Return the title in a language, in English where there is none."""
        return self.title.get(language, self.title[ENGLISH])

    def lines(self, language: str) -> tuple[str, ...]:
        """Return what is seen before the answer: whence its files are, what is in a log, what is typed."""
        saved = [f"$ {self.saved_by}", "…"] if self.saved_by else []
        logs = [
            f"$ cat {name}\n{text.rstrip()}" for name, text in self.files.items() if isinstance(text, str)
        ]
        return (f"# {self.title_in(language)}", *saved, *logs, f"$ {self.command}")

    def texts(self) -> dict[str, str]:
        """Return the files by name; what is data is JSON."""
        return {
            name: content if isinstance(content, str) else json.dumps(content)
            for name, content in self.files.items()
        }


def read_scenes() -> tuple[Scene, ...]:
    """Return all scenes: NVIDIA's GPUs from old to new, then other machines."""
    text = resources.files(__package__).joinpath("scenes.json").read_text(encoding="utf-8")
    return convert(json.loads(text)["scenes"], tuple[Scene, ...])


def choose_scenes(names: Sequence[str]) -> tuple[Scene, ...]:
    """Return the named scenes, all without a name; raise UsageError for a name that none has."""
    scenes = {scene.name: scene for scene in read_scenes()}
    for name in names:
        if name not in scenes:
            raise UsageError(
                tr("no scene is called `{name}`", name=name),
                code="unknown-scene",
                fixes=(Fix(tr("list the scenes"), "gpuenv demo --list"),),
            )
    return tuple(scenes[name] for name in names) or tuple(scenes.values())
