"""The pages of docs/: in both languages, with commands that exist and numbers that the matrices have."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import Any

import pytest
import typer
from deciding import Asked, decided, gpu_machine
from explaining import explain
from pages import DOCS, LANGUAGES, NAMES, ROOT, SCENES, fenced, indented, inline, own_commands, page

from gpuenv import matrices
from gpuenv.cli.app import app
from gpuenv.explanation.load_tables import load_signatures

HEADINGS = {
    "Answer": "简答",
    "With gpuenv": "用 gpuenv",
    "By hand": "手动做法",
    "What copied notes get wrong": "流传的笔记错在哪里",
    "Sources": "来源",
}
README = (ROOT / "README.md").read_text(encoding="utf-8")
INDEX = (DOCS / "README.md").read_text(encoding="utf-8")
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
each_page = pytest.mark.parametrize("name", NAMES)
each_language = pytest.mark.parametrize("language", LANGUAGES)


def text(language: str, name: str) -> str:
    return (DOCS / language / name).read_text(encoding="utf-8")


def test_each_page_is_there_in_both_languages() -> None:
    assert {path.name for path in (DOCS / "zh").glob("*.md")} == {*NAMES, SCENES, "terms.md"}


@each_page
def test_a_page_has_the_same_headings_in_both_languages(name: str) -> None:
    english, chinese = (
        [(item.level, item.heading) for item in page(language, name)] for language in LANGUAGES
    )
    assert [level for level, _ in english] == [1, 2, 2, 2, 2, 2]
    assert [heading for _, heading in english[1:]] == list(HEADINGS)
    assert chinese[1:] == [(2, HEADINGS[heading]) for _, heading in english[1:]]


@each_page
def test_what_is_typed_and_where_it_stands_is_the_same_in_both_languages(name: str) -> None:
    english, chinese = (text(language, name) for language in LANGUAGES)
    for block in ("console", "yaml", "ini"):
        assert fenced(english, block) == fenced(chinese, block)
    assert LINK.findall(english) == LINK.findall(chinese)
    for shape in (r"^- ", r"^\|", r"^$"):
        assert len(re.findall(shape, english, re.MULTILINE)) == len(re.findall(shape, chinese, re.MULTILINE))


@each_page
@each_language
def test_links_lead_somewhere_and_never_over_plain_http(name: str, language: str) -> None:
    for link in LINK.findall(text(language, name)):
        assert link.startswith("https://") or (DOCS / language / link).is_file()


@each_page
@each_language
def test_the_index_names_each_page_by_its_title(name: str, language: str) -> None:
    assert f"[{page(language, name)[0].heading}]({language}/{name})" in INDEX


REFERENCE = sorted(path.name for path in (DOCS / "en" / "reference").glob("*.md"))
WRITTEN = [name for name in REFERENCE if name not in ("commands.md", "json.md")]  # which the program makes


def test_each_page_of_the_reference_is_there_in_both_languages_and_in_the_index() -> None:
    assert sorted(path.name for path in (DOCS / "zh" / "reference").glob("*.md")) == REFERENCE
    for name in REFERENCE:
        titles = [text(language, f"reference/{name}").partition("\n")[0][2:] for language in LANGUAGES]
        links = [
            f"[{title}]({language}/reference/{name})"
            for language, title in zip(LANGUAGES, titles, strict=True)
        ]
        assert f"| {links[0]} | {links[1]} |" in INDEX


@pytest.mark.parametrize("name", WRITTEN)
def test_a_page_of_the_reference_has_the_same_commands_and_links_in_both_languages(name: str) -> None:
    english, chinese = (text(language, f"reference/{name}") for language in LANGUAGES)
    commands = [
        [
            line.split("  #")[0].rstrip()
            for line in indented(page_)
            if line.startswith(("gpuenv", "sh ", "docker"))
        ]
        for page_ in (english, chinese)
    ]
    assert commands[0] == commands[1]
    links = [[link.partition("#")[0] for link in LINK.findall(page_)] for page_ in (english, chinese)]
    assert links[0] == links[1]
    for shape in (r"^- ", r"^\*\*", r"^    \S"):
        counts = [len(re.findall(shape, page_, re.MULTILINE)) for page_ in (english, chinese)]
        assert counts[0] == counts[1], shape
    prose = [re.sub(r"^    .*$", "", page_, flags=re.MULTILINE) for page_ in (english, chinese)]
    english_code, chinese_code = (set(inline(" ".join(page_.split()))) for page_ in prose)
    assert english_code == chinese_code


def test_the_index_names_nothing_else_and_is_named_by_the_readme() -> None:
    links = LINK.findall(INDEX)
    assert all((DOCS / link).is_file() for link in links)
    pages = [link for link in links if re.fullmatch(r"(en|zh)/[^/]+", link)]
    assert len(pages) == 2 * len([*NAMES, SCENES]) + 1  # and the glossary
    assert "(docs/README.md)" in README


@cache
def program() -> Any:
    return typer.main.get_command(app)


def parse(words: list[str]) -> None:
    """Parse a command line without running it; raises usage errors, KeyError for no such command."""
    command, rest = program(), list(words)
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    command.make_context(command.name, rest)


@pytest.mark.parametrize("line", ["gpuenv plans", "gpuenv plan --gpus 8.6", "A=1 gpuenv list torch"])
def test_a_command_that_gpuenv_does_not_know_is_noticed(line: str) -> None:
    (words,) = own_commands([f"cat log | {line} && true  # as ever"])
    with pytest.raises((KeyError, typer.TyperException)):
        parse(words)


def shown(document: str) -> list[list[str]]:
    typed = [item for item in inline(document) if item.startswith("gpuenv ")]
    return list(own_commands([*fenced(document), *typed]))


@each_page
@each_language
def test_every_command_on_a_page_is_one_that_gpuenv_knows(name: str, language: str) -> None:
    commands = shown(text(language, name))
    assert commands
    for words in commands:
        parse(words)


@pytest.mark.parametrize("document", [README, INDEX], ids=["readme", "index"])
def test_every_command_of_the_readme_is_one_that_gpuenv_knows(document: str) -> None:
    commands = list(own_commands([*fenced(document), *indented(document)])) or shown(document)
    assert commands
    for words in commands:
        parse(words)


@each_page
def test_what_a_page_gives_to_explain_is_known(name: str) -> None:
    messages = [words[1] for words in shown(text("en", name)) if words[0] == "explain" and " " in words[-1]]
    assert all(explain(message, load_signatures()) for message in messages)


@each_language
def test_the_table_of_companions_is_that_of_the_matrix(language: str) -> None:
    cells = re.findall(r"(?<=\| )(\d+\.\d+\.\d+) \| (\d+\.\d+\.\d+)(?= \|)", text(language, "companions.md"))
    rows = [entry for entry in matrices.load("companions") if entry["project"] == "torchvision"]
    pairs = {row["torch"]: row["versions"] for row in rows if row["kind"] == "pair"}
    assert len(cells) >= 10
    assert [torch for torch, vision in cells if vision not in pairs[torch]] == []


@each_language
def test_the_drivers_that_are_named_are_those_of_the_matrix(language: str) -> None:
    known = {value for row in matrices.load("cuda") for value in row.values() if isinstance(value, str)}
    for name in NAMES:
        assert set(re.findall(r"\b\d{3}\.\d{2,3}\.\d{2}\b", text(language, name))) <= known


@each_page
def test_what_is_shown_as_python_is_python(name: str) -> None:
    ast.parse("\n".join(fenced(text("en", name), "python")))


@pytest.mark.parametrize(
    ("driver", "gpu", "asked", "torch"),
    [
        ("470.57.02", "Tesla K80", (), "2.3.1+cu118"),
        ("580.65.06", "GeForce GTX 1080 Ti", (), "2.14.1+cu126"),
        ("580.65.06", "7.0", (), "2.14.1+cu126"),
        ("460.32.03", "8.6", (), "2.7.1+cu118"),
        ("570.133.07", "12.0", ("torch<2.7",), None),
        ("570.133.07", "8.6", ("torch==1.7.1",), "1.7.1+cu110"),
    ],
)
def test_what_the_pages_say_of_gpus_and_drivers_is_what_is_planned(
    driver: str, gpu: str, asked: tuple[str, ...], torch: str | None
) -> None:
    plan = decided(Asked((gpu_machine(driver, gpu),), asked)).plan
    planned = plan and next(package.version for package in plan.packages if package.name == "torch")
    assert planned == torch
