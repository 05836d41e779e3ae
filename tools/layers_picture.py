"""Draw the levels of the packages into docs/architecture.md: `python tools/layers_picture.py`.

They are those of the first contract in pyproject.toml, which import-linter holds the imports to; what a
package is comes from its docstring.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
_BLOCK = re.compile(r"(?<=<!-- levels: tools/layers_picture.py -->\n).*?(?=<!-- /levels -->)", re.DOTALL)


def levels(pyproject: str) -> list[list[str]]:
    """Return the names of the packages by level, the highest first."""
    contracts = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    return [[name.strip().removeprefix("gpuenv.") for name in layer.split("|")] for layer in layers]


def render(by_level: list[list[str]]) -> str:
    """Return the picture: a table row a package, a level's packages under its number."""
    lines = ["", "| level | package | what is in it |", "|---|---|---|"]
    for number, names in zip(range(len(by_level), 0, -1), by_level, strict=True):
        for place, name in enumerate(sorted(names)):
            lines.append(f"| {number if not place else ''} | `{name}` | {_described(name)} |")
    return "\n".join([*lines, "", ""])


def _described(name: str) -> str:
    source = ROOT / "src" / "gpuenv" / name
    file = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def drawn(page: str) -> str:
    """Return the page with the picture as it is now."""
    picture = render(levels((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    return _BLOCK.sub(lambda _: picture, page)


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
