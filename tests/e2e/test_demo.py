"""`gpuenv demo`: every scene is answered by gpuenv, whatever machine and settings it is played on."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT

from gpuenv.demo.scenes import read_scenes

PAGES = {language: ROOT / "docs" / language / "demo.md" for language in ("en", "zh")}


def demo(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GPUENV_")}
    return subprocess.run(
        [sys.executable, "-m", "gpuenv", "demo", *words],
        env={**kept, "COLUMNS": "100", "PYTHONUTF8": "1", **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_the_list_has_every_scene_in_both_languages() -> None:
    scenes = read_scenes()
    for language in ("en", "zh"):
        listed = demo("--list", "--json", "--lang", language)
        told = json.loads(listed.stdout)["data"]["scenes"]
        assert [(item["name"], item["title"]) for item in told] == [
            (scene.name, scene.title[language]) for scene in scenes
        ]
    assert len({scene.name for scene in scenes}) == len(scenes)
    for scene in scenes:
        assert re.search(r"[一-鿿]", scene.title["zh"]) or scene.title["zh"] in scene.title["en"]


def test_a_scene_stands_in_the_page_as_it_is_played() -> None:
    played = demo("v100-centos7")
    assert (played.returncode, played.stderr) == (0, "")
    title, shown = played.stdout.split("\n", 1)
    assert title.removeprefix("# ") in PAGES["en"].read_text(encoding="utf-8")
    assert f"```console\n{shown}```" in PAGES["en"].read_text(encoding="utf-8")


def test_an_unknown_scene_is_refused_with_the_way_to_the_list() -> None:
    refused = demo("gtx-9999")
    assert refused.returncode == 2
    assert "gtx-9999" in refused.stderr
    assert "gpuenv demo --list" in refused.stderr


@pytest.mark.slow
def test_settings_of_the_user_change_no_answer(tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://mirror.invalid/simple\n")
    plain = demo("laptop")
    set_up = demo(
        "laptop",
        GPUENV_CUDA="cu126",
        GPUENV_TORCH="2.0",
        PIP_CONFIG_FILE=str(tmp_path / "pip.conf"),
        PIP_FIND_LINKS=str(tmp_path),
        UV_INDEX_URL="https://mirror.invalid/simple",
    )
    assert (set_up.returncode, set_up.stdout) == (0, plain.stdout)


@pytest.mark.slow
def test_a_refusal_is_data() -> None:
    told = json.loads(demo("mixed", "--json").stdout)
    assert told["ok"]
    [scene] = told["data"]["scenes"]
    assert scene["exit_code"] == 3
    assert scene["answer"]["command"] == "plan"
    assert "GTX 1080 Ti" in json.dumps(scene["answer"]["error"])


@pytest.mark.slow  # every scene, in two languages
def test_the_pages_are_what_the_tool_writes() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "demo_page.py"), "--check"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
