"""The failure modes of mirrors that the facts list: which test plays each, or why none does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpuenv import matrices

HERE = Path(__file__).parent
PLACES = (HERE, HERE.parent / "boundary")

# the file without `test_mirrors_`, the test without `test_`
PLAYED = {
    "FM01": ("pages", "a_page_that_can_not_be_read_is_told_and_the_next_mirror_taken"),
    "FM02": ("pages", "where_the_only_mirror_is_at_fault_it_is_named_with_its_fault"),
    "FM03": ("pages", "every_request_says_who_asks"),
    "FM05": ("pages", "a_redirect_to_another_mirror_s_ban_names_the_one_that_answered"),
    "FM06": ("files", "the_rest_is_had_from_a_mirror_of_pypi_that_serves_it"),
    "FM07": ("pages", "missing_is_403_at_the_official_index_and_no_fault"),
    "FM08": ("pages", "an_index_that_sends_upstream_is_told"),
    "FM09": ("pages", "a_stale_mirror_is_told_and_a_newer_one_taken"),
    "FM10": ("pages", "links_that_leave_the_mirror_are_told_and_not_followed"),
    "FM11": ("files", "dependencies_come_from_the_mirror_of_pypi"),
    "FM12": ("pages", "a_flat_listing_is_no_index_for_pip_and_is_given_as_find_links"),
    "FM13": ("pages", "every_spelling_of_plus_ends_as_one"),
    "FM14": ("pages", "the_very_file_is_looked_for_on_each_mirror"),
    "FM15": ("files", "a_download_that_breaks_goes_on_where_it_was"),
    "FM16": ("files", "a_file_that_is_not_what_was_listed_is_had_from_the_next_mirror"),
    "FM18": ("pages", "no_index_can_slip_in_a_torch_of_another_build"),
    "FM19": ("pages", "no_index_can_slip_in_a_torch_of_another_build"),
    "FM20": ("files", "another_package_does_not_bring_another_torch"),
    "FM27": ("pages", "a_page_that_can_not_be_read_is_told_and_the_next_mirror_taken"),
    "FM28": ("use", "plain_http_is_taken_by_name_only_and_never_trusted"),
    "FM29": ("pages", "tls_that_fails_is_told_and_never_switched_off"),
    "FM30": ("pages", "a_retired_mirror_in_the_configuration_is_told_with_another"),
    "FM33": ("use", "what_goes_before_the_file_is_told"),
    "FM34": ("installed", "an_environment_made_through_a_mirror_tells_of_none"),
    "FM35": ("pages", "a_page_that_can_not_be_read_is_told_and_the_next_mirror_taken"),
    "FM36": ("files", "another_mirror_of_pypi_is_taken_where_metadata_is_missing"),
    "FM37": ("files", "dependencies_come_from_the_mirror_of_pypi"),
    "FM38": ("pages", "a_wrong_address_that_people_copy_is_put_right"),
    "FM39": ("pages", "a_redirect_to_another_mirror_s_ban_names_the_one_that_answered"),
    "FM40": ("pages", "a_package_that_one_mirror_lacks_is_had_from_the_next"),
    "FM42": ("machines", "auto_takes_the_mirror_whose_wheels_come_fastest"),
    "FM43": ("pages", "old_builds_are_looked_for_in_the_variant_s_folder"),
}

_CONDA = "a conda channel's: with the conda managers"
_LOCK = "a lock's: gpuenv writes none of uv's or pixi's, and its own names no mirror"
NOT_PLAYED = {
    "FM04": "an operator's own rule against addresses of one cloud",
    "FM17": "gpuenv plans no nightly builds",
    "FM21": _CONDA,
    "FM22": _CONDA,
    "FM23": _CONDA,
    "FM24": _CONDA,
    "FM25": _CONDA,
    "FM26": _CONDA,
    "FM31": _LOCK,
    "FM32": _LOCK,
    "FM41": "about apt",
}


def test_each_failure_mode_is_played_or_said_to_be_none_of_ours() -> None:
    assert not PLAYED.keys() & NOT_PLAYED.keys()
    assert sorted(PLAYED.keys() | NOT_PLAYED.keys()) == [f"FM{number:02}" for number in range(1, 44)]


def test_each_failure_mode_of_the_matrix_is_known_here() -> None:
    codes = {fault["code"] for row in matrices.load("mirrors") for fault in row.get("faults", ())}
    assert codes
    assert codes - {None} <= PLAYED.keys() | NOT_PLAYED.keys()


@pytest.mark.parametrize("code", PLAYED)
def test_the_test_that_is_named_is_there(code: str) -> None:
    theme, name = PLAYED[code]
    files = [path / f"test_mirrors_{theme}.py" for path in PLACES]
    (text,) = [file.read_text(encoding="utf-8") for file in files if file.exists()]
    assert re.search(rf"^def test_{name}\(", text, re.MULTILINE)
