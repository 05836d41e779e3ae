"""Write the scenes into docs/en/demo.md and docs/zh/demo.md; `--check` compares, and exits with 1.

They are played as `gpuenv demo` plays them; what stands above the mark is written by hand.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gpuenv.demo.play import Look, play, stage
from gpuenv.demo.scenes import Scene, read_scenes

DOCS = Path(__file__).parents[1] / "docs"
LANGUAGES = ("en", "zh")
_COLUMNS = 100
_MARK = "\n<!-- scenes: tools/demo_page.py -->\n"


def section(scene: Scene, language: str, printed: str) -> str:
    """Return a scene as a section of the page."""
    title, *lines = scene.lines(language)
    typed = "\n".join([*lines, printed])
    return f"\n## {title.removeprefix('# ')}\n\n`gpuenv demo {scene.name}`\n\n```console\n{typed}\n```\n"


def render(language: str, page: str) -> str:
    """Return a page with its scenes as they are played now."""
    look = Look(language, _COLUMNS)
    with stage(os.environ) as (home, variables):
        played = [play(scene, home, variables, look) for scene in read_scenes()]
    introduction = page.split(_MARK, maxsplit=1)[0]
    return introduction + _MARK + "".join(section(one.scene, language, one.printed) for one in played)


def main() -> int:
    """Write the pages, or say which differ."""
    stale = []
    for language in LANGUAGES:
        path = DOCS / language / "demo.md"
        page = path.read_text(encoding="utf-8")
        text = render(language, page)
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif page != text:
            stale.append(f"{language}/demo.md")
    if stale:
        print(f"{', '.join(stale)}: not what gpuenv prints now; run python tools/demo_page.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
