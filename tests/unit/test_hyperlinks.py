"""Links on terminals: addresses and existing paths lead somewhere; elsewhere a text stays as it is."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuenv.cli.color import choose_color
from gpuenv.cli.hyperlinks import follows_links, linked

LINK = re.compile("\x1b]8;;(.*?)\x1b\\\\(.*?)\x1b]8;;\x1b\\\\")
CLEARED = (
    "FORCE_HYPERLINK",
    "TERM_PROGRAM",
    "VTE_VERSION",
    "COLORTERM",
    "WT_SESSION",
    "KONSOLE_VERSION",
    "CI",
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (*CLEARED, "DOMTERM", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    yield
    choose_color(None, {})


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, False),
        ({"TERM_PROGRAM": "vscode"}, True),
        ({"TERM": "xterm-kitty"}, True),
        ({"VTE_VERSION": "7003"}, True),
        ({"VTE_VERSION": "5000"}, False),
        ({"VTE_VERSION": "7003", "TERM": "screen"}, False),
        ({"VTE_VERSION": "7003", "TERM": "dumb"}, False),
        ({"KONSOLE_VERSION": "230800", "CI": "1"}, False),
        ({"KONSOLE_VERSION": "230800"}, True),
        ({"TERM_PROGRAM": "vscode", "FORCE_HYPERLINK": "0"}, False),
        ({"TERM": "dumb", "FORCE_HYPERLINK": "1"}, True),
    ],
)
def test_links_are_written_where_the_terminal_has_them(
    environ: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert follows_links(Terminal()) is expected
    assert follows_links(io.StringIO()) is (environ.get("FORCE_HYPERLINK") == "1")


def test_who_wants_no_colours_gets_no_links_but_by_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM_PROGRAM", "vscode")
    choose_color(None, {"NO_COLOR": "1"})
    assert not follows_links(Terminal())
    monkeypatch.setenv("FORCE_HYPERLINK", "1")
    assert follows_links(Terminal())


def test_what_is_shown_stays_the_same(tmp_path: Path) -> None:
    path = tmp_path / "été 1"
    path.mkdir()
    text = f"see https://example.org/a+b/?x=%20, and `{tmp_path}`. 写入 {tmp_path}，/no/such/file, ~/x a/b"
    shown = linked(text)
    assert LINK.sub(r"\2", shown) == text
    first, *others = LINK.findall(shown)
    assert first == ("https://example.org/a+b/?x=%20",) * 2
    assert [name for _, name in others] == [str(tmp_path)] * 2
    assert all(target.startswith("file://") and target.endswith(str(tmp_path)) for target, _ in others)


def test_an_address_whose_password_is_hidden_is_no_link() -> None:
    text = "https://me:****@example.org/simple"
    assert linked(text) == text
