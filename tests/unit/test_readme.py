"""The READMEs and the reference: short, with commands that exist and links that lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import ROOT, fenced, indented, own_commands
from test_docs import LINK, parse

READMES = ("README.md", "README.zh.md")
REFERENCE = tuple(
    path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").glob("*/reference/*.md"))
)
LIMIT = 8192  # bytes
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def anchors(document: Path) -> set[str]:
    headings = _HEADING.findall(document.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", READMES)
def test_a_readme_is_read_in_two_minutes(name: str) -> None:
    assert len(text(name).encode()) <= LIMIT


@pytest.mark.parametrize("name", READMES)
def test_the_first_command_of_a_readme_is_the_whole_set_up(name: str) -> None:
    assert indented(text(name))[0].startswith("pip install . && gpuenv create myenv")


@pytest.mark.parametrize("name", [*READMES, *REFERENCE])
def test_every_command_is_one_that_gpuenv_knows(name: str) -> None:
    document = text(name)
    for words in own_commands([*fenced(document), *indented(document)]):
        parse(words)


@pytest.mark.parametrize("name", [*READMES, *REFERENCE])
def test_every_link_leads_to_a_page_and_a_heading_of_it(name: str) -> None:
    for link in LINK.findall(text(name)):
        if link.startswith("https://"):
            continue
        file, _, anchor = link.partition("#")
        target = (ROOT / name).parent / file if file else ROOT / name
        assert target.is_file(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("name", REFERENCE)
def test_the_index_of_the_pages_names_each_page_of_the_reference(name: str) -> None:
    assert f"({name.removeprefix('docs/')})" in text("docs/README.md")
