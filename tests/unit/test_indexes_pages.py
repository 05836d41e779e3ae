"""Pages of links: what is on them is read, whatever else is on them does no harm."""

from __future__ import annotations

import contextlib
import json
from html import escape
from urllib.parse import quote, urldefrag, urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.indexes.link import Link, LinkPage
from gpuenv.indexes.parse_html import parse_html
from gpuenv.indexes.parse_json import parse_json

BASE = "https://example.com/simple/torch/"
WHEEL = "torch-2.7.1+cu126-cp312-cp312-win_amd64.whl"
DIGEST = "0f" * 32


@pytest.mark.parametrize(
    "href",
    [
        WHEEL,
        quote(WHEEL),
        WHEEL.replace("+", "&#43;"),
        f"./{WHEEL}",
        f"/simple/torch/{quote(WHEEL)}",
        f"//example.com/simple/torch/{WHEEL}",
        f"https://example.com/simple/torch/{WHEEL}",
        f"  {WHEEL}\n",
        f"{WHEEL}#egg=torch",
        f"{WHEEL}?X-Token=1",
    ],
)
def test_every_spelling_of_a_link_is_the_same_file(href: str) -> None:
    (link,) = parse_html(f'<a href="{href}">x</a>', BASE).links
    assert link.filename == WHEEL
    assert link.url.startswith("https://example.com/simple/torch/torch-2.7.1")
    assert "#" not in link.url
    assert link.sha256 is None


@pytest.mark.parametrize(
    "tag",
    [
        f"<a href='{WHEEL}#sha256={DIGEST}' data-requires-python='&gt;=3.9,&lt;4' data-yanked>",
        f'<A HREF="{WHEEL}#sha256={DIGEST.upper()}" data-requires-python=">=3.9,<4" data-yanked="why">',
        f'<a\n  data-yanked=""\n  data-requires-python="&gt;=3.9,&lt;4"\n href="{WHEEL}#sha256={DIGEST}"\n/>',
    ],
)
def test_attributes_are_read_however_they_are_written(tag: str) -> None:
    (link,) = parse_html(tag, BASE).links
    assert (link.sha256, link.requires_python, link.yanked) == (DIGEST, ">=3.9,<4", True)


@pytest.mark.parametrize(
    "fragment", ["", "sha256=", "sha256=xyz", f"md5={DIGEST}", f"sha256={DIGEST}00", DIGEST]
)
def test_a_fragment_that_is_no_sha256_is_none(fragment: str) -> None:
    assert parse_html(f'<a href="{WHEEL}#{fragment}">', BASE).links[0].sha256 is None


def test_a_base_counts_once() -> None:
    page = f'<base href="/files/"><base href="/other/"><a href="{WHEEL}">'
    assert parse_html(page, BASE).links[0].url == f"https://example.com/files/{WHEEL}"


@pytest.mark.parametrize(
    "noise",
    [
        '<a href="../">Parent directory/</a>',
        '<a href="?C=M;O=A">Date</a>',
        '<a href="javascript:run(&quot;x.whl&quot;)">x</a>',
        '<a href="data:text/html,x.whl">x</a>',
        f'<!-- <a href="{WHEEL}">x</a> -->',
        "<a>no address</a>",
        "<a href>no address</a>",
        '<a href="torch/">torch</a>',
        f'<abbr href="{WHEEL}">x</abbr>',
        '<a href="index.html">x</a>',
    ],
)
def test_what_is_no_link_to_a_file_is_passed_over(noise: str) -> None:
    assert parse_html(noise, BASE) == LinkPage((), is_index=False)
    assert len(parse_html(f'{noise}<a href="{WHEEL}">{noise}', BASE).links) == 1


@pytest.mark.parametrize("href", ["http://[::1/x.whl", "http://[/x.whl"])
def test_an_address_that_is_none_is_reported(href: str) -> None:
    assert parse_html(f'<a href="{href}">', BASE).garbled == (href,)


@pytest.mark.parametrize(
    ("page", "is_index"),
    [
        ("<h1>Links for torch</h1>", True),
        ("<title>Index of /wheels/</title>", True),
        ("<h1>Directory listing for /</h1>", True),
        ('<meta name="pypi:repository-version" content="1.0">', True),
        (f"<a href={WHEEL}>", True),
        ("<h1>Sign in</h1><a href='/links for'>x</a>", False),
        ("", False),
    ],
)
def test_an_empty_index_is_told_from_another_page(page: str, is_index: bool) -> None:
    assert parse_html(page, BASE).is_index is is_index


@pytest.mark.parametrize(
    "hostile",
    [
        "<",
        "<a ",
        '<a href="',
        "<!--",
        "<![CDATA[",
        "</",
        "&#",
        "<a \"'",
        "<a href=\">'",
        "<h1 ",
        '<a href="x.whl"',
        "<base href=x>",
        "<a href=>",
        "\x00",
        "<title>",
    ],
)
def test_a_hostile_page_takes_no_longer_than_its_length(hostile: str) -> None:
    """In quadratic time, such as html.parser alone may need, this test would take minutes."""
    page = hostile * (1_000_000 // len(hostile))
    with contextlib.suppress(ValueError):
        parse_html(page, BASE)


@given(st.text(alphabet=st.sampled_from("<>a href=\"'/x.whl#&;!-\n\0é"), max_size=300))
def test_any_text_is_a_page(text: str) -> None:
    page = parse_html(text, BASE)
    assert all(isinstance(link, Link) for link in page.links)


@given(
    st.text(
        st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/?#\\"), min_size=1, max_size=30
    )
)
def test_a_file_name_survives_quoting(stem: str) -> None:
    name = f"x{stem}x.whl"
    for href in (quote(name, safe=""), escape(quote(name))):
        assert [link.filename for link in parse_html(f'<a href="{href}">', BASE).links] == [name]


def json_page(*files: object, version: object = "1.0", **fields: object) -> str:
    return json.dumps({"meta": {"api-version": version}, "name": "torch", "files": files, **fields})


def test_a_json_page_tells_everything() -> None:
    file = {
        "filename": WHEEL,
        "url": f"../files/{quote(WHEEL)}#x",
        "hashes": {"sha256": DIGEST.upper(), "md5": "00"},
        "requires-python": ">=3.9",
        "size": 5,
        "yanked": "reason",
        "core-metadata": True,
    }
    url = f"https://example.com/simple/files/{quote(WHEEL)}"
    assert parse_json(json_page(file, version="1.9"), BASE) == LinkPage(
        (Link(url, WHEEL, DIGEST, 5, ">=3.9", yanked=True, has_metadata=True),), is_index=True
    )


@pytest.mark.parametrize(
    "file",
    [
        None,
        3,
        "x",
        [],
        {},
        {"filename": WHEEL},
        {"url": WHEEL},
        {"filename": 1, "url": WHEEL},
        {"filename": WHEEL, "url": 1},
        {"filename": WHEEL, "url": "http://[x"},
    ],
)
def test_a_garbled_entry_is_reported_and_stops_no_other(file: object) -> None:
    page = parse_json(json_page(file, {"filename": WHEEL, "url": WHEEL}), BASE)
    assert (len(page.links), len(page.garbled)) == (1, 1)


@pytest.mark.parametrize("field", ["hashes", "size", "requires-python", "yanked"])
@pytest.mark.parametrize("value", [None, True, -1, 1.5, [], {}, {"sha256": 3}, ""])
def test_a_garbled_field_is_as_none(field: str, value: object) -> None:
    (link,) = parse_json(json_page({"filename": WHEEL, "url": WHEEL, field: value}), BASE).links
    assert (link.sha256, link.requires_python) == (None, None)
    assert link.size is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
        '{"files": []}',
        '{"meta": {"api-version": 1}, "files": []}',
        "[" * 200000,
        json_page(version="2.0"),
        '{"meta": {"api-version": "1.0"}, "files": {}}',
        "9" * 10000,
    ],
)
def test_what_is_no_json_page_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="the page"):
        parse_json(text, BASE)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_any_json_is_a_page_or_told(value: object) -> None:
    page = parse_json(json_page(value, {"filename": value, "url": value}), BASE)
    assert len(page.links) + len(page.garbled) == 2


@pytest.mark.parametrize(
    "url",
    [
        "https://files.example.com/packages/aa/torch-2.1.0%2Bcu118-cp311-cp311-linux_x86_64.whl",
        "http://127.0.0.1:8080/x/torch-2.1.0-py3-none-any.whl", "https://e.com/a//b.whl", "https://e.com/a/./b",
        "https://e.com/a/../b.whl", "https://e.com/a/..b.whl", "https://e.com/a.whl#sha256=00", "/p/a.whl",
        "../../p/a.whl", "a.whl?x=1", "https://e.com", "HTTPS://E.com/a.whl", "https://e.com/\u00e4.whl",
        "https://e.com/a.whl\n", "//e.com/a.whl",
    ],
)  # fmt: skip
def test_addresses_are_joined_as_urljoin_does(url: str) -> None:
    base = "https://index.example.com/simple/torch/"
    page = {"meta": {"api-version": "1.0"}, "files": [{"filename": "a.whl", "url": url}]}
    (link,) = parse_json(json.dumps(page), base).links
    assert link.url == urldefrag(urljoin(base, url)).url
