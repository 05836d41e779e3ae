"""Where the files of a locked set lie: an index of their own, the installer's, a page, or a folder here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import locked, locked_file, plan

from gpuenv.formats.file_indexes import FileOrigin, addressed, place_of, places_of
from gpuenv.model.plan import Sources
from gpuenv.secrets.url_credentials import without_userinfo

WHL = "https://torch.example.com/whl/cu126"
PAGE = "https://lab.example.com/wheels/"
FILE = f"{PAGE}torch-2.14.1%2Bcu126-py3-none-any.whl"


def place(*pages: str, **facts: Any) -> FileOrigin | None:
    return place_of(locked_file("torch", "2.14.1+cu126", **facts), Sources(None, (), pages))


@pytest.mark.parametrize("slash", ["", "/"])
def test_an_index_whose_project_page_is_read_is_the_files_place(slash: str) -> None:
    origin = place(f"{WHL}/torch{slash}", index=f"{WHL}{slash}", url=f"{WHL}/torch-2.14.1.whl")
    assert origin == FileOrigin("index", WHL)


def test_a_page_for_another_project_is_not_the_files_place() -> None:
    assert place(f"{WHL}/torchvision/", index=WHL) is None


@pytest.mark.parametrize("page", [PAGE, PAGE.rstrip("/")])
@pytest.mark.parametrize("index", [PAGE, PAGE.rstrip("/"), None])
def test_a_file_on_a_page_of_wheels_goes_by_its_address(page: str, index: str | None) -> None:
    assert place(page, index=index, url=f"{FILE}#sha256=00") == FileOrigin("file", FILE)


@pytest.mark.parametrize(
    ("index", "url", "folder"),
    [
        ("/srv/wheels", "/srv/wheels/torch.whl", "/srv/wheels"),
        ("/srv/wheels/", "file:///srv/wheels/torch.whl", "/srv/wheels"),
        (None, "file:///srv/wheels/torch.whl", "file:///srv/wheels"),
    ],
)
def test_a_folder_of_this_machine_is_the_files_place(index: str | None, url: str, folder: str) -> None:
    assert place(index=index, url=url) == FileOrigin("folder", folder)


def test_what_the_installers_own_index_lists_has_no_place() -> None:
    made = locked()
    assert set(places_of(made)) == {"torch", "torchvision"}
    assert places_of(replace(made, sources=Sources("https://lab.example.com/simple", (), ()))) == {}


def test_what_was_asked_for_by_its_address_has_no_other_place() -> None:
    made = plan(requirements=(f"My_Lib @ {PAGE}my_lib-1.0-py3-none-any.whl",))
    file = locked_file("my-lib", "1.0", index=None, url=f"{PAGE}my_lib-1.0-py3-none-any.whl")
    assert addressed(locked(made, file)) == {"my-lib": file.url}
    sources = replace(made.sources, find_links=(*made.sources.find_links, PAGE))
    assert "my-lib" not in places_of(locked(made, file, sources=sources))


def test_no_password_is_in_a_place() -> None:
    secret = "https://ann:p%40ss@torch.example.com/whl/cu126"
    assert place(f"{secret}/torch/", index=secret) == FileOrigin("index", WHL)


@given(st.text("abc:@/?#. "), st.text("abc:@/?#. "))
def test_taking_a_password_out_never_fails_and_keeps_the_rest(user: str, rest: str) -> None:
    path = rest.replace("://", ":")  # an address within an address has secrets of its own
    assert without_userinfo(f"https://h/{path}") == f"https://h/{path}"
    assert "@" not in without_userinfo(f"https://{user.translate(str.maketrans('/?# ', '____'))}@h/x")


@given(st.text())
def test_the_word_for_a_place_is_one_that_uv_takes(url: str) -> None:
    word = FileOrigin("index", url).word
    assert word.strip("abcdefghijklmnopqrstuvwxyz0123456789-") == ""
    assert word.strip("-") == word != ""
