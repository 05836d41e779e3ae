"""Write the reference of commands from the program, and its manual page; `--check` compares.

In both languages docs/*/reference/commands.md and json.md, and docs/man, which the wheel installs as
share/man; the schemas of the JSON in docs/schemas.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from reference.json_page import render_json_page
from reference.manual import render_manual
from reference.markdown import render_page
from reference.read import read_reference
from reference.schemas import render_schemas

from gpuenv import __version__

ROOT = Path(__file__).parents[1]
_MANUALS = {"en": "docs/man/man1/gpuenv.1", "zh": "docs/man/zh_CN/man1/gpuenv.1"}


def written() -> dict[Path, str]:
    """Return each file with what belongs into it."""
    files: dict[Path, str] = {}
    for language, manual in _MANUALS.items():
        reference = read_reference(language)
        files[ROOT / "docs" / language / "reference" / "commands.md"] = render_page(reference)
        files[ROOT / "docs" / language / "reference" / "json.md"] = render_json_page(language)
        files[ROOT / manual] = render_manual(reference, __version__)
    schemas = {ROOT / "docs" / "schemas" / name: text for name, text in render_schemas().items()}
    return files | schemas


def main(words: list[str]) -> int:
    """Write the files, or name those that are not what would be written."""
    stale = [
        path
        for path, text in written().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        print(path.relative_to(ROOT))
        if words != ["--check"]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(written()[path], encoding="utf-8")
    return 1 if stale and words == ["--check"] else 0


if __name__ == "__main__":
    os.environ.pop("COLUMNS", None)
    raise SystemExit(main(sys.argv[1:]))
