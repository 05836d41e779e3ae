"""The site as `nox -s docs` builds it, read from the disk with a real browser."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import build_site
import pytest
from chromium import Browser, Page, find_chromium, start_chromium

pytestmark = pytest.mark.slow
_FOUND = "[...document.querySelectorAll('.md-search-result__item > a')].map((link) => link.href)"
_SEARCHED = f"""new Promise((done) => {{
    const look = () => {_FOUND}.length ? done({_FOUND}) : setTimeout(look, 50);
    look();
}})"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if built := os.environ.get("GPUENV_SITE"):
        return Path(built).resolve()
    if importlib.util.find_spec("material") is None:
        pytest.skip("Material for MkDocs is not installed here: nox -s docs")
    folder = tmp_path_factory.mktemp("site")
    assert build_site.build(folder) == []
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium is installed here")
    with start_chromium(chromium, tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that complains of nothing and asks no host for anything."""
    opened = browser.page()
    opened.resize(1280, 900)
    yield opened
    assert opened.complaints == []
    assert [address for address in opened.requests if not address.startswith(("file:", "data:"))] == []
    opened.close()


def search(page: Page, words: str) -> list[str]:
    """Search as a reader does, and return where the hits lead."""
    page.evaluate("document.querySelector('.md-search__input').focus()")
    page.type(words)
    return list(page.evaluate(_SEARCHED))


@pytest.mark.parametrize(
    ("home", "words", "hit"),
    [
        ("index.html", "nvidia-smi nvcc", "which-cuda.html"),
        ("index.html", "exit codes", "reference/commands.html"),
        ("zh/index.html", "昇腾", "zh/accelerators.html"),
        ("zh/index.html", "镜像源", "zh/mirrors.html"),
    ],
)
def test_the_search_finds_a_page_without_a_server(
    page: Page, site: Path, home: str, words: str, hit: str
) -> None:
    page.open((site / home).as_uri())
    found = [link.partition("?")[0].partition("#")[0] for link in search(page, words)]
    assert (site / hit).as_uri() in found


@pytest.mark.parametrize("name", ["index.html", "which-cuda.html", "reference/commands.html"])
def test_the_other_language_is_a_click_away_on_the_same_page(page: Page, site: Path, name: str) -> None:
    switch = "[...document.querySelectorAll('.md-select__link')].map((link) => [link.lang, link.href])"
    addresses = {"en": (site / name).as_uri(), "zh": (site / "zh" / name).as_uri()}
    for language, address in addresses.items():
        page.open(address)
        assert page.evaluate("document.documentElement.lang") == language
        assert page.evaluate(switch) == [
            ["en", (site / name).as_uri()],
            ["zh", (site / "zh" / name).as_uri()],
        ]


def test_a_page_of_one_language_leads_to_the_home_of_the_other(page: Page, site: Path) -> None:
    page.open((site / "zh" / "terms.html").as_uri())
    switch = "document.querySelector('.md-select__link[lang=en]').href"
    assert page.evaluate(switch) == (site / "index.html").as_uri()


@pytest.mark.parametrize("name", ["index.html", "zh/reference/limits.html", "project/decisions.html"])
def test_a_page_fits_a_phone(page: Page, site: Path, name: str) -> None:
    page.resize(360, 740, mobile=True)
    page.open((site / name).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_table_of_builds_is_a_click_from_its_page(page: Page, site: Path) -> None:
    page.open((site / "zh" / "matrix.html").as_uri())
    page.open(page.evaluate("document.querySelector('.md-button').href"))
    assert page.evaluate("document.querySelectorAll('tr.build').length") > 0


def test_all_of_a_page_has_a_name_and_is_in_reach_of_the_keyboard(page: Page, site: Path) -> None:
    page.open((site / "index.html").as_uri())
    assert page.evaluate("document.querySelector('.md-search').ariaLabel")
    named = "[...document.querySelectorAll('nav, button, input')].every((one) => one.ariaLabel || one.title"
    assert page.evaluate(
        f"{named} || one.textContent.trim() || one.labels?.length || one.type === 'checkbox')"
    )
    wide = "[...document.querySelectorAll('pre > code')].filter((one) => one.scrollWidth > one.clientWidth)"
    assert page.evaluate(f"{wide}.length") == 0
    link = "getComputedStyle(document.querySelector('.md-typeset p a')).textDecorationLine"
    assert page.evaluate(link) == "underline"
