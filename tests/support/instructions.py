"""Count the instructions of a start of gpuenv against those of a bare typer application, with valgrind.

    python tests/support/instructions.py    # writes tests/fixtures/startup_instructions.json

Counts are the same whatever else a machine does; the ratio of two counts hardly depends on the machine. It
does on the Python, so each minor release has ratios of its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "fixtures" / "startup_instructions.json"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
LINES = (
    "--version", "--help", "detect", "list", "mirrors list", "explain torch is slow", "plan --offline",
    "plan --offline --format uv", "create --help",
)  # fmt: skip
_TYPER_APP = """
import typer
app = typer.Typer()
@app.command()
def one(number: int = 1, word: str = "") -> None: print(number, word)
@app.command()
def two(number: int = 1) -> None: print(number)
app(["one"])
"""
_COUNTED = re.compile(r"Collected : (\d+)")


def ratios(lines: tuple[str, ...], folder: Path) -> dict[str, float]:
    """Return how many times the instructions of a typer application each line of gpuenv takes."""
    environ = _environ(folder)
    bare = count(("-c", _TYPER_APP), environ, folder)
    return {line: round(count(("-m", "gpuenv", *line.split()), environ, folder) / bare, 2) for line in lines}


def count(arguments: tuple[str, ...], environ: Mapping[str, str], folder: Path) -> int:
    """Return how many instructions a Python runs that has compiled its modules before."""
    argv = (sys.executable, *arguments)
    subprocess.run(argv, env=environ, cwd=folder, capture_output=True, check=True)
    counting = (str(shutil.which("valgrind")), "--tool=callgrind", "--callgrind-out-file=/dev/null", *argv)
    done = subprocess.run(counting, env=environ, cwd=folder, capture_output=True, text=True, check=True)
    return int(_COUNTED.findall(done.stderr)[-1])


def _environ(folder: Path) -> dict[str, str]:
    return {
        "PATH": str(folder),  # no nvidia-smi, no conda, no other Python
        "HOME": str(folder),
        "PIP_CONFIG_FILE": os.devnull,
        "PYTHONHASHSEED": "0",
        "LANG": "C.UTF-8",
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        measured = ratios(LINES, Path(scratch))
    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    recorded[PYTHON] = measured
    RECORDED.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(json.dumps(measured, indent=1))
