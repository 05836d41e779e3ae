"""Forty repositories as their papers published them: what `plan --adapt` says of each on old and new GPUs.

What is expected was written before the first run, from what the files say and the matrices' rows. What is not
right yet is listed by cause in known_failures.json: who mends one takes it off the list, or the test fails.
"""

from __future__ import annotations

import shutil

import pytest
from published_repositories import CASES, EXPECTED, FOLDER, KNOWN_FAILURES, failures, save_machine, words
from running import Program

FIRST = {name: (name, key) for name, key in reversed(CASES)}  # of each repository
MARKED = [
    pytest.param(*case, marks=pytest.mark.slow if case == FIRST[case[0]] else pytest.mark.campaign)
    for case in CASES
]


@pytest.mark.parametrize(("name", "key"), MARKED)
def test_a_repository_is_adapted_as_its_files_ask(name: str, key: str, program: Program) -> None:
    saved = save_machine(key, program.root)
    folder = program.root / "work" / "checkouts"
    shutil.copytree(FOLDER / name, folder / name)
    done = program.run(*words(name, saved), cwd=folder)
    assert done.status in {0, 2, 3}, done.err
    found = failures(name, key, done, folder)
    cause = KNOWN_FAILURES.get(f"{name}/{key}")
    if cause is None:
        assert found == []
    else:
        assert found != [], f"this is right now, take it off the list of known failures ({cause})"


def test_every_listed_failure_is_a_case_and_every_file_has_its_source() -> None:
    assert set(KNOWN_FAILURES) <= {f"{name}/{key}" for name, key in CASES}
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} == set(EXPECTED["repositories"])
    for item in EXPECTED["repositories"].values():
        assert item["repository"].count("/") == 1
        assert all(len(commit) == 40 for commit in item["files"].values())
