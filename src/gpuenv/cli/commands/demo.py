"""`gpuenv demo`."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

from gpuenv.cli.color import coloured, is_coloured
from gpuenv.cli.console import Console
from gpuenv.cli.output import print_data
from gpuenv.cli.table import render_table, terminal_width
from gpuenv.demo.play import Look, PlayedScene, play, stage
from gpuenv.demo.scenes import Scene, choose_scenes, read_scenes
from gpuenv.i18n.messages import N_, current_language

_COLUMNS = {"name": N_("SCENE"), "shows": N_("SHOWS")}


def demo(names: tuple[str, ...], console: Console) -> int:
    """Play scenes: each is a command and what gpuenv answers to it."""
    scenes = choose_scenes(names)
    bright = is_coloured(sys.stdout)
    columns = shutil.get_terminal_size((100, 24)).columns
    look = Look(current_language(), columns, coloured=bright, as_json=console.as_json)
    data: list[dict[str, Any]] = []
    for number, played in enumerate(_played(scenes, look)):
        if console.as_json:
            data.append(_described(played.scene) | {"exit_code": played.status, "answer": _answer(played)})
        else:
            print_data(("\n" if number else "") + _shown(played, bright=bright))
    return console.print_json("demo", {"scenes": data}) if console.as_json else 0


def list_scenes(console: Console) -> int:
    """List the scenes."""
    data = [_described(scene) for scene in read_scenes()]
    rows = [{"name": item["name"], "shows": item["title"]} for item in data]
    text = render_table(rows, _COLUMNS, width=terminal_width())
    return console.print_result("demo", {"scenes": data}, text)


def _played(scenes: tuple[Scene, ...], look: Look) -> Iterator[PlayedScene]:
    with stage(os.environ) as (home, variables):
        for scene in scenes:
            yield play(scene, home, variables, look)


def _described(scene: Scene) -> dict[str, Any]:
    return {
        "name": scene.name,
        "title": scene.title_in(current_language()),
        "command": scene.command,
        "files": scene.texts(),
    }


def _answer(played: PlayedScene) -> Any:
    return json.loads(played.stdout)


def _shown(played: PlayedScene, *, bright: bool) -> str:
    lines = played.scene.lines(current_language())
    head = (coloured(lines[0], "hint"), *lines[1:-1], coloured(lines[-1], "added")) if bright else lines
    return "\n".join([*head, played.printed])
