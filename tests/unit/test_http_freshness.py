"""Freshness: for how long a page is used without asking is what RFC 9111 says, never longer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.http.freshness import fresh_for, kept_headers, max_age

NOON, ONE = "Mon, 01 Jun 2026 12:00:00 GMT", "Mon, 01 Jun 2026 13:00:00 GMT"
AT_NOON = 1780315200.0
NEVER = None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"cache-control": "max-age=600"}, 600),
        ({"cache-control": "public, Max-Age=600, immutable", "etag": '"1"'}, 600),
        ({"cache-control": 'max-age="600"'}, 600),
        ({"cache-control": "max-age=600", "age": "200"}, 400),
        ({"cache-control": "max-age=600", "age": "200, 5"}, 400),
        ({"cache-control": "max-age=600", "age": "10000"}, 0),
        ({"cache-control": "max-age=600", "age": "old"}, 600),
        ({"cache-control": "max-age=600", "date": "Thu, 01 Jan 1970 00:00:00 GMT"}, 600),  # a wrong clock
        ({"cache-control": "max-age=600, max-age=600"}, 600),
        ({"cache-control": "max-age=600, max-age=60"}, 0),
        ({"cache-control": "max-age=banana"}, 0),
        ({"cache-control": "max-age=-1"}, 0),
        ({"cache-control": "max-age"}, 0),
        ({"cache-control": "s-maxage=600", "etag": '"1"'}, 0),  # for shared caches
        ({"cache-control": "max-age=600, no-cache"}, 0),
        ({"cache-control": 'max-age=600, no-cache="Set-Cookie"'}, 0),
        ({"cache-control": "max-age=600, must-revalidate"}, 600),
        ({"cache-control": "max-age=60", "expires": ONE, "date": NOON}, 60),
        ({"cache-control": "private", "expires": ONE, "date": NOON}, 3600),
        ({"expires": ONE, "date": NOON, "age": "600"}, 3000),
        ({"expires": ONE}, 3600),
        ({"expires": NOON, "date": ONE}, 0),
        ({"expires": "0"}, 0),
        ({"expires": "99 Foo 99999 99:99:99 GMT", "etag": '"1"'}, 0),
        ({"etag": '"1"'}, 0),
        ({"last-modified": NOON}, 0),
        ({}, 600),
        ({"age": "100"}, 500),
        ({"vary": "Accept"}, 600),
        ({"vary": "*", "cache-control": "max-age=600"}, NEVER),
        ({"cache-control": "no-store"}, NEVER),
        ({"cache-control": "max-age=600, NO-STORE", "etag": '"1"'}, NEVER),
    ],
)
def test_a_page_is_fresh_for_as_long_as_its_server_says(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert fresh_for(headers, 200, now=AT_NOON, public=False) == seconds


def test_a_missing_page_is_remembered_for_less_time() -> None:
    assert fresh_for({}, 404, now=AT_NOON, public=False) == 120


def test_a_public_page_that_asks_not_to_be_stored_is_kept_for_revalidation_alone() -> None:
    control = {"cache-control": "max-age=600, no-store"}
    assert fresh_for({**control, "etag": '"1"'}, 200, now=AT_NOON, public=True) == 0
    assert fresh_for(control, 200, now=AT_NOON, public=True) is None


@given(st.dictionaries(st.sampled_from(("cache-control", "expires", "date", "age", "vary")), st.text()))
def test_no_header_keeps_a_page_for_ever_or_raises(headers: dict[str, str]) -> None:
    seconds = fresh_for(headers, 200, now=AT_NOON, public=False)
    assert seconds is None or 0 <= seconds < 1 << 40


def test_a_304_tells_its_own_age_and_inherits_the_rest() -> None:
    kept = {"cache-control": "max-age=9", "etag": '"1"', "age": "5", "date": NOON}
    renewed = kept_headers({"ETag": '"2"', "Set-Cookie": "a=b"}, kept)
    assert renewed == {"cache-control": "max-age=9", "etag": '"2"'}


@pytest.mark.parametrize(
    ("control", "seconds"),
    [("max-age=60", 60), ("public,max-age=60", 60), ("max-age=60, no-cache", 0), ("", 0), ("max-age=x", 0)],
)
def test_the_age_of_a_channel_is_what_cache_control_says(control: str, seconds: int) -> None:
    assert max_age(control) == seconds
