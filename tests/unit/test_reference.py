"""The reference of the commands and the manual page are what the program says of itself."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import build_reference
import pytest
from pages import LANGUAGES, ROOT
from reference.json_page import render_json_page
from reference.manual import render_manual
from reference.markdown import render_page
from reference.objects_zh import CHINESE
from reference.outputs import OUTPUTS
from reference.read import Command, Option, Reference, read_reference
from reference.schemas import schema

from gpuenv.i18n.messages import current_language

PAGES = {language: ROOT / "docs" / language / "reference" / "commands.md" for language in LANGUAGES}


@cache
def read(language: str) -> Reference:
    return read_reference(language)


@cache
def written() -> dict[Path, str]:
    return build_reference.written()


@pytest.mark.parametrize("path", written(), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_committed_is_what_the_program_says_now(path: Path) -> None:
    """`python tools/build_reference.py` writes it anew."""
    assert path.read_text(encoding="utf-8") == written()[path]


def test_both_languages_have_the_same_commands_and_options() -> None:
    english, chinese = map(read, LANGUAGES)
    assert [command.words for command in english.commands] == [command.words for command in chinese.commands]
    for one, other in zip(english.commands, chinese.commands, strict=True):
        assert [option.names for option in one.options] == [option.names for option in other.options]
    assert {option.names for option in english.common} >= {"--json", "-q, --quiet", "-h, --help"}


def test_every_text_of_the_chinese_page_is_chinese() -> None:
    reference = read("zh")
    assert current_language() == "en"  # as before
    options = [option for command in reference.commands for option in (*command.arguments, *command.options)]
    texts = [option.text for option in (*options, *reference.common, *reference.root)]
    texts += [paragraph for command in reference.commands for paragraph in command.paragraphs]
    assert [text for text in texts if text and not re.search(r"[\u4e00-\u9fff]", text)] == []


def test_every_object_of_the_json_is_described_in_chinese_and_no_other() -> None:
    described = {name for command in OUTPUTS for name in schema(command)["$defs"]}
    objects = {name for name in described if name in CHINESE}
    assert objects == set(CHINESE)  # and each that the page shows is there, or it could not be written
    page = render_json_page("zh")
    assert [line for line in page.splitlines() if re.fullmatch(r"[ -~]{20,}[.]", line)] == []


ODD = Reference(
    "en",
    (".starts with a dot",),
    (),
    (),
    (
        Command(
            "gpuenv odd",
            "gpuenv odd [OPTIONS]",
            (r"'quoted' `a|b` *.json <x> \n",),
            (),
            (Option("--pick", "One.", ("a", "b"), "GPUENV_PICK, separated by commas", "a|b"),),
        ),
    ),
    (0,),
)


def test_what_markdown_would_take_for_its_own_stays_text() -> None:
    page = render_page(ODD)
    assert r"'quoted' `a|b` \*.json &lt;x> \n" in page
    row = "| `--pick` | One. One of `a`, `b`. | `GPUENV_PICK`, separated by commas | <code>a&#124;b</code> |"
    assert row in page


def test_what_roff_would_take_for_a_request_stays_text() -> None:
    page = render_manual(ODD, "1.0-rc")
    assert "\n\\&.starts with a dot\n" in page
    assert "\n\\(aqquoted\\(aq" in page
    assert r"\en" in page
    assert r"gpuenv 1.0\-rc" in page


@pytest.mark.parametrize("name", ["man1", "zh_CN/man1"])
def test_groff_has_nothing_to_say_against_the_manual_page(name: str) -> None:
    if not shutil.which("groff"):
        pytest.skip("no groff is installed here")
    page = ROOT / "docs" / "man" / name / "gpuenv.1"
    # Chinese words part nowhere for groff: it says so of their lines
    words = ["groff", "-k", "-K", "utf8", "-man", "-Tutf8", "-ww", "-Wbreak", "-z", str(page)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
