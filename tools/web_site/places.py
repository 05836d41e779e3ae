"""Where the repository's files lie on the site, and its links turned to there."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

LANGUAGES = ("en", "zh")
ROOTS = {"en": "", "zh": "zh/"}  # on the site
INDEX = "docs/README.md"
HOMES = {"en": "README.md", "zh": "README.zh.md"}
OF_THE_SITE = "docs/site"
TABLE = "builds.html"  # which gpuenv makes
_FOR_DEVELOPERS = (
    "docs/architecture.md",
    "docs/decisions.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
)
_FILES = {"Dockerfile.gpu": "files/Dockerfile.gpu"}
_FENCED_OR_CODE_OR_LINK = re.compile(
    r"^```.*?^```$|``.+?``|`[^`\n]+`|(?P<image>!?)\[(?P<text>[^\]]+)\]\((?P<link>[^)\s]+)\)",
    re.MULTILINE | re.DOTALL,
)


def places(root: Path, language: str) -> dict[str, str]:
    """Return, for each file of the repository that is on a language's site, its path there."""
    known = {INDEX: "questions.md", HOMES[language]: "index.md", **_FILES}
    known |= {file: f"project/{posixpath.basename(file).lower()}" for file in _FOR_DEVELOPERS}
    for folder, kind in (("docs/images", "*.svg"), ("docs/schemas", "*.json")):
        known |= {file: file.removeprefix("docs/") for file in _below(root, folder, kind)}
    english = {file.removeprefix("docs/en/"): file for file in _below(root, "docs/en/reference", "*.md")}
    own = {file.removeprefix(f"docs/{language}/"): file for file in _below(root, f"docs/{language}", "*.md")}
    known |= {file: path for path, file in (english | own).items()}
    site = f"{OF_THE_SITE}/{language}"
    known |= {file: file.removeprefix(f"{site}/") for file in _below(root, site, "*.md")}
    return known | {f"{site}/{TABLE}": TABLE}


def _below(root: Path, folder: str, pattern: str) -> Iterator[str]:
    for path in sorted((root / folder).rglob(pattern)):
        yield path.relative_to(root).as_posix()


def turn_links(text: str, source: str, language: str, known: dict[str, dict[str, str]]) -> str:
    """Turn the links of a file of the repository to where they lead on a language's site.

    Raises ValueError for a link to what is on neither language's.
    """

    def turned(match: re.Match[str]) -> str:
        link = match["link"]
        if link is None or link.startswith(("https://", "#")):
            return match[0]
        place, of = _lead(link, source, language, known)
        if of == language:
            return f"{match['image']}[{match['text']}]({place})"
        return f'<a href="{place}">{match["text"]}</a>'  # it is another site's to check

    return _FENCED_OR_CODE_OR_LINK.sub(turned, text)


def _lead(link: str, source: str, language: str, known: dict[str, dict[str, str]]) -> tuple[str, str]:
    file, hash_, anchor = link.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), file))
    here = posixpath.dirname(ROOTS[language] + known[language][source]) or "."
    for of in (language, *LANGUAGES):
        if place := known[of].get(target):
            path = place if of == language else re.sub(r"\.md$", ".html", place)
            return posixpath.relpath(ROOTS[of] + path, here) + hash_ + anchor, of
    raise ValueError(f"{source} links to {target}, which is not on the site")
