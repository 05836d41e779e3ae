"""Draw docs/images/terminal*.svg from what gpuenv prints; `--check` compares, and exits with 1.

Each command is run, offline, so that the picture is the same on every machine; what it shows is what is typed
without `--offline` where the indexes answer as the shipped listing does.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

IMAGES = Path(__file__).parents[1] / "docs" / "images"
PICTURES = {"en": IMAGES / "terminal.svg", "zh": IMAGES / "terminal.zh.svg"}
COMMANDS = (
    ("plan", "--gpu", "GTX 1080 Ti", "--driver", "580.65.06"),
    ("plan", "--gpu", "H100", "--driver", "535.104.05"),
    ("plan", "torch<2.7", "--gpu", "RTX 5090", "--driver", "570.133.07"),
)
_COLUMNS = 108
# without the fonts that rich's own form fetches from another host
_SVG = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
    <style>
    .{unique_id}-matrix {{
        font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Noto Sans Mono CJK SC", monospace;
        font-size: {char_height}px;
        line-height: {line_height}px;
    }}
    {styles}
    </style>
    <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
    </clipPath>
    {lines}
    </defs>
    {chrome}
    <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">
    {matrix}
    </g>
    </g>
</svg>
"""


def lines(language: str) -> list[tuple[str, str]]:
    """Return what is typed and printed, each line with its style."""
    shown: list[tuple[str, str]] = []
    for words in COMMANDS:
        shown.append((f"$ gpuenv {shlex.join(words)}", "bold"))
        shown += [(line, _style(line)) for line in _printed(words, language).splitlines()]
        shown.append(("", ""))
    return shown[:-1]


def _printed(words: tuple[str, ...], language: str) -> str:
    options = {
        "GPUENV_OFFLINE": "1",
        "GPUENV_QUIET": "1",
        "GPUENV_MANAGER": "uv",
        "GPUENV_LANG": language,
        "COLUMNS": str(_COLUMNS),
    }
    environ = {key: value for key, value in os.environ.items() if not key.startswith("GPUENV_")} | options
    done = subprocess.run(
        [sys.executable, "-m", "gpuenv", *words],
        env={**environ, "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.stdout


def _style(line: str) -> str:
    if line.startswith(("error", "错误")):
        return "bold red"
    return "cyan" if line.startswith(("hint", "提示")) else "" if line.startswith(" ") else "green"


def draw(language: str) -> str:
    """Return the picture in a language as SVG."""
    console = Console(record=True, width=_COLUMNS, file=StringIO(), force_terminal=True, legacy_windows=False)
    for line, style in lines(language):
        console.print(Text(line, style=style), soft_wrap=False)
    svg = console.export_svg(title="gpuenv", theme=MONOKAI, code_format=_SVG, unique_id=f"gpuenv-{language}")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def main() -> int:
    """Write the pictures, or say which differ."""
    stale = []
    for language, path in PICTURES.items():
        svg = draw(language)
        if "--check" not in sys.argv:
            path.write_text(svg, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != svg:
            stale.append(path.name)
    if stale:
        print(f"{', '.join(stale)}: not what gpuenv prints now; run python tools/terminal_picture.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
