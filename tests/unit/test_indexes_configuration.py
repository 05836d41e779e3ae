"""Configuration files of pip and uv: read as the two read them, or told to be garbled."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.indexes.configuration.pip import option_name, parse_pip_boolean, parse_pip_configuration
from gpuenv.indexes.configuration.uv import (
    NamedIndex,
    UvConfiguration,
    parse_named_index,
    parse_uv_configuration,
)


def test_the_sections_of_pip_install_are_read() -> None:
    text = (
        "\ufeff[global]\nIndex_URL = https://a.example.com\n"
        "[install]\nfind-links =\n  /a\n  /b\n[list]\nformat=x\n"
    )
    assert parse_pip_configuration(text) == {
        "global.index-url": "https://a.example.com",
        "install.find-links": "\n/a\n/b",
    }


@pytest.mark.parametrize("text", ["x", "[global", "[global]\nx\n", "[a]\nb=1\n[a]\n", "index-url = x", "\0"])
def test_what_is_no_pip_configuration_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_pip_configuration(text)


@given(st.text(max_size=100))
def test_any_text_is_a_pip_configuration_or_told(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(parse_pip_configuration(f"[global]\n{text}"), dict)


@pytest.mark.parametrize("name", ["INDEX_URL", "index-url", "--index-url", "Index_Url"])
def test_options_have_one_spelling(name: str) -> None:
    assert option_name(name) == "index-url"


@pytest.mark.parametrize(
    ("text", "meant"), [("1", True), ("Yes", True), ("on", True), ("0", False), ("FALSE", False)]
)
def test_booleans_are_read_as_pip_does(text: str, meant: bool) -> None:
    assert parse_pip_boolean(text) is meant


@pytest.mark.parametrize("text", ["", "2", "maybe"])
def test_what_is_no_boolean_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="neither"):
        parse_pip_boolean(text)


def test_a_uv_configuration_in_the_new_spelling() -> None:
    text = """
        [[index]]
        name = "one"
        url = "https://one.example.com/simple"
        [[index]]
        url = "https://default.example.com/simple"
        default = true
        [[index]]
        name = "torch"
        url = "https://torch.example.com/whl/cu126"
        explicit = true
        [[index]]
        url = "/opt/flat"
        format = "flat"
    """
    assert parse_uv_configuration(text) == UvConfiguration(
        default=NamedIndex("https://default.example.com/simple"),
        extra=(NamedIndex("https://one.example.com/simple", "one"),),
        find_links=("/opt/flat",),
    )


def test_a_uv_configuration_in_the_old_spelling_with_its_pip_table_first() -> None:
    text = """
        index-url = "https://top.example.com/simple"
        extra-index-url = ["https://a.example.com/simple"]
        find-links = ["/a"]
        no-index = false
        [pip]
        index-url = "https://pip.example.com/simple"
        extra-index-url = ["https://b.example.com/simple"]
        find-links = ["/b"]
        no-index = true
    """
    assert parse_uv_configuration(text) == UvConfiguration(
        default=NamedIndex("https://pip.example.com/simple"),
        extra=(NamedIndex("https://b.example.com/simple"), NamedIndex("https://a.example.com/simple")),
        find_links=("/b", "/a"),
        no_index=True,
    )


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "index = 3",
        "index = [3]",
        "[[index]]\nname = 'x'",
        "find-links = 'x'",
        "find-links = [1]",
        "pip = []",
        "index-url = 1",
        "a = 1\na = 2",
        "x = " + "[" * 100000,
    ],
)
def test_what_is_no_uv_configuration_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_uv_configuration(text)


@given(st.text(max_size=100))
def test_any_text_is_a_uv_configuration_or_told(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(parse_uv_configuration(text), UvConfiguration)


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("inner=https://example.com/simple", NamedIndex("https://example.com/simple", "inner")),
        ("a-b_c.1=https://example.com", NamedIndex("https://example.com", "a-b_c.1")),
        ("https://example.com/simple?token=1", NamedIndex("https://example.com/simple?token=1")),
    ],
)
def test_an_index_may_have_a_name(text: str, index: NamedIndex) -> None:
    assert parse_named_index(text) == index
