"""The pages of the site: where each file lies, where its links lead, and what is in the navigation."""

from __future__ import annotations

import json
from pathlib import Path

import build_site
import pytest
from pages import LANGUAGES, NAMES, ROOT
from web_site import contents, links, places

KNOWN = {language: places.places(ROOT, language) for language in LANGUAGES}
INDEX = (ROOT / places.INDEX).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("language", "source", "link", "turned"),
    [
        ("en", "README.md", "[x](docs/en/words.md)", "[x](words.md)"),
        ("en", "README.md", "[x](docs/README.md)", "[x](questions.md)"),
        ("en", "README.md", "![x](docs/images/terminal.svg)", "![x](images/terminal.svg)"),
        ("en", "README.md", "[x](README.zh.md)", '<a href="zh/index.html">x</a>'),
        ("zh", "README.zh.md", "[x](README.md)", '<a href="../index.html">x</a>'),
        ("zh", "docs/zh/trust.md", "[x](../../SECURITY.md)", "[x](project/security.md)"),
        ("zh", "SECURITY.md", "[x](docs/en/trust.md#a)", '<a href="../../trust.html#a">x</a>'),
        ("en", "docs/en/reference/commands.md", "[x](../words.md#a)", "[x](../words.md#a)"),
        ("en", "docs/en/words.md", "`[x](y.md)` [x](https://a.example/b.md) [y](#z)", None),
        ("en", "docs/en/words.md", "```\n[x](y.md)\n```", None),
    ],
)
def test_a_link_leads_to_the_same_page_of_the_site(
    language: str, source: str, link: str, turned: str | None
) -> None:
    assert places.turn_links(link, source, language, KNOWN) == (turned or link)


def test_a_link_to_what_is_not_on_the_site_is_refused() -> None:
    with pytest.raises(ValueError, match=r"docs/en/words.md links to src/gpuenv/x.py"):
        places.turn_links("[x](../../src/gpuenv/x.py)", "docs/en/words.md", "en", KNOWN)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_on_the_site_once_and_in_its_navigation(language: str) -> None:
    known = KNOWN[language]
    assert len(set(known.values())) == len(known)
    assert {f"docs/{language}/{name}" for name in NAMES} <= set(known)
    listed = contents.navigation(contents.read_contents(INDEX, language), language, known)
    assert _leaves(listed) == sorted(path for path in known.values() if path.endswith(".md"))


def _leaves(item: object) -> list[str]:
    if isinstance(item, str):
        return [item]
    below = item.values() if isinstance(item, dict) else item
    assert isinstance(below, list | type({}.values()))
    return sorted(leaf for one in below for leaf in _leaves(one))


def test_all_links_of_all_pages_lead_somewhere_on_the_site(tmp_path: Path) -> None:
    build_site.stage(tmp_path)
    for language, files in KNOWN.items():
        folder = tmp_path / language / "docs"
        laid = {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")}
        assert set(files.values()) - {places.TABLE} <= laid


def test_what_is_only_in_english_says_so_in_chinese(tmp_path: Path) -> None:
    build_site.stage(tmp_path)
    assert "本页只有英文" in (tmp_path / "zh" / "docs" / "project" / "decisions.md").read_text(
        encoding="utf-8"
    )
    for path in (*(tmp_path / "en" / "docs").rglob("*.md"), *(tmp_path / "zh" / "docs").glob("*.md")):
        assert "本页只有英文" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ('<a href="no-such.html">', "no-such.html leads nowhere"),
        ('<a href="there.html#no-such">', "there.html#no-such leads to no heading"),
        ('<a href="there.html#one">', None),
        ('<a href="../there.html">', "../there.html leads nowhere"),
        ('<a href="/there.html">', "/there.html is absolute"),
        ('<a href="https://example.org/">', None),
        ('<link rel="canonical" href="https://example.org/page.html">', None),
        (
            '<link rel="stylesheet" href="https://x.example/a.css">',
            "https://x.example/a.css is loaded from another host",
        ),
        ('<script src="https://example.org/a.js">', "https://example.org/a.js is loaded from another host"),
    ],
)
def test_a_broken_link_of_the_site_is_named(tmp_path: Path, written: str, complaint: str | None) -> None:
    (tmp_path / "there.html").write_text('<h2 id="one">one</h2>', encoding="utf-8")
    (tmp_path / "page.html").write_text(written, encoding="utf-8")
    assert list(links.broken(tmp_path)) == ([f"page.html: {complaint}"] if complaint else [])


def test_each_language_has_its_own_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build_site.ADDRESS, "https://lab.example/gpuenv/")
    build_site.stage(tmp_path)
    addresses = [
        json.loads((tmp_path / language / "mkdocs.yml").read_text(encoding="utf-8"))["site_url"]
        for language in LANGUAGES
    ]
    assert addresses == ["https://lab.example/gpuenv/", "https://lab.example/gpuenv/zh/"]


def test_links_are_followed_in_a_folder_that_is_named_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page.html").write_text('<a href="#one" id="one">one</a>', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert list(links.broken(Path("site"))) == []
