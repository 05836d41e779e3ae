"""The contents of the site, from docs/README.md: sections, and in each the pages, by their titles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from web_site.places import INDEX, LANGUAGES

_SECTION = re.compile(r"## (.+) · (.+)")
_ROW = re.compile(r"\| \[(.+)\]\(([^)]+)\) \| \[(.+)\]\(([^)]+)\) \|")
_WORDS = {
    "en": {"home": "Home", "index": "Questions, answered", "project": "Working on gpuenv", "terms": "Terms"},
    "zh": {"home": "首页", "index": "问题与解答", "project": "参与开发（英文）", "terms": "术语表"},
}
_TABLE = {"en": "torch, CUDA and GPU: the table", "zh": "torch、CUDA 与显卡对照表"}
_PROJECT = ("architecture", "decisions", "contributing", "security", "changelog")
_ONLY_ENGLISH = '!!! note "本页只有英文"\n\n'

Contents = list[tuple[str, list[tuple[str, str]]]]


def read_contents(index: str, language: str) -> Contents:
    """Return the sections with the title and the file, as docs/README.md names it, of each page."""
    column = LANGUAGES.index(language)
    sections: Contents = []
    for line in index.splitlines():
        if match := _SECTION.fullmatch(line):
            sections.append((match[1 + column], []))
        elif match := _ROW.fullmatch(line):
            sections[-1][1].append((match[1 + 2 * column], f"docs/{match[2 + 2 * column]}"))
    return sections


def render_index(contents: Contents, language: str) -> str:
    """Write the page of all questions, with links as in docs/README.md."""
    return "\n".join(_index(contents, language)) + "\n"


def _index(contents: Contents, language: str) -> Iterator[str]:
    yield f"# {_WORDS[language]['index']}"
    for section, pages in contents:
        yield from ("", f"## {section}", "")
        yield from (f"- [{title}]({file.removeprefix('docs/')})" for title, file in pages)


def navigation(contents: Contents, language: str, known: Mapping[str, str]) -> list[dict[str, object]]:
    """Return the site's navigation, as MkDocs has it."""
    words = _WORDS[language]
    pages: list[dict[str, object]] = [
        {section: [{title: known[file]} for title, file in listed]} for section, listed in contents
    ]
    last: list[dict[str, object]] = [{name.capitalize(): f"project/{name}.md"} for name in _PROJECT]
    if "docs/zh/terms.md" in known:
        last.append({words["terms"]: "terms.md"})
    return [
        {words["home"]: "index.md"},
        {words["index"]: known[INDEX]},
        {_TABLE[language]: "matrix.md"},
        *pages,
        {words["project"]: last},
    ]


def introduce(text: str, source: str, language: str) -> str:
    """Say on top of a page, below its title, that it is not in the reader's language."""
    if language == "en" or source.startswith("docs/zh/") or source == "README.zh.md" or "/zh/" in source:
        return text
    title, _, rest = text.partition("\n")
    return f"{title}\n\n{_ONLY_ENGLISH}{rest.lstrip()}"
