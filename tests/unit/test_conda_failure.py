"""Why a conda tool failed: its own words, of one kind, whatever it printed them in."""

from __future__ import annotations

import json

import pytest
from fake_conda import transcript
from hypothesis import given
from hypothesis import strategies as st

from gpuenv import matrices
from gpuenv.installers.conda.failure import CondaFailure, explain, parse_failure, parse_failure_words

KNOWN = parse_failure_words(matrices.load("conda-tools"))
KINDS = (
    ("condalm-err-missing", "missing", "nosuchpkg", None),
    ("condalm-err-unsat", "unsatisfiable", "cuda-version =11.8", None),
    ("condalm-err-nogpu", "no-gpu", "__cuda", None),
    ("conda-err-badchan", "channel", "404", "file:///srv/channel/nosuchchannel"),
    ("conda-err-neterr", "channel", "CONNECTION FAILED", "http://127.0.0.1:1/conda-forge/linux-64/current_repodata.json"),
    ("conda-nospace", "disk-full", "No space left", None),
    ("conda-full-unpacking", "disk-full", "No space left", None),
    ("conda-corrupt", "corrupt", "mismatch", "http://127.0.0.1:18123/corrupt/noarch/tzdata-2024b-hc8b5060_0.conda"),
    ("conda-cut", "channel", "Connection broken: IncompleteRead", None),
    ("conda-dry-existing", "existing", "existing conda environment", None),
    ("conda-SIGINT-download", "interrupted", "SIGINT", None),
    ("conda-pip-fail", "other", "nosuch==9", None),
    ("mm-err-missing-text", "missing", "nosuchpkg", None),
    ("mm-quiet-unsat", "unsatisfiable", "cuda-version =11.8", None),
    ("mm-err-nogpu", "no-gpu", "__cuda", None),
    ("mm-err-badchan", "channel", "not loaded", "file:///srv/channel/nosuchchannel/noarch/repodata.json"),
    ("mm-err-neterr", "channel", "connect", "http://127.0.0.1:1/conda-forge/noarch/repodata.json"),
    ("mm-lock-timeout", "lock", "LockFile", None),
    ("mm-nonenv", "existing", "Non-conda folder", None),
    ("mm-nospace", "disk-full", "cannot copy", None),
    ("mm-corrupt", "corrupt", "incorrect downloads", None),
    ("mm-sigint-json", "interrupted", "Thread interrupted", None),
    ("m1-err-missing", "missing", "nosuchpkg", None),
    ("m1-err-badchan", "channel", "not loaded", "file:///srv/channel/nosuchchannel/noarch/repodata.json"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "words", "url"), KINDS, ids=[row[0] for row in KINDS])
def test_each_failure_has_its_kind_and_its_words(name: str, kind: str, words: str, url: str | None) -> None:
    answer = transcript(name)
    failure = explain(answer.out, answer.err, KNOWN)
    assert (failure.kind, failure.url) == (kind, url)
    assert words in failure.reason


@pytest.mark.parametrize("name", ["mm-err-badchan", "mm-quiet-unsat", "mm-err-missing-text"])
def test_mambas_levels_advice_and_last_line_are_left_out(name: str) -> None:
    reason = parse_failure(transcript(name).err, KNOWN).reason
    assert "libmamba" not in reason
    assert "issues/new" not in reason
    assert reason.count("Could not solve") <= 1


def test_of_several_errors_each_is_told_and_the_known_one_judged() -> None:
    """Conda's own message is `Multiple Errors Encountered.`."""
    unknown = {"exception_name": "KeyError", "message": "'info'"}
    inner = {
        "exception_name": "CondaMultiError",
        "errors": [{"exception_name": "NoSpaceLeftError", "message": "full"}],
    }
    document = {"exception_name": "CondaMultiError", "error": "Multiple Errors Encountered."}
    several = parse_failure(
        json.dumps(
            {**document, "errors": [unknown, unknown, {"exception_name": "tuple", "message": "()"}, inner]}
        ),
        KNOWN,
    )
    assert (several.kind, several.reason) == ("disk-full", "full\n'info'")
    lonely = parse_failure(json.dumps({**document, "errors": [unknown, "?"]}), KNOWN)
    assert (lonely.kind, lonely.reason) == ("other", "'info'")


def test_a_package_that_a_mirror_lacks_is_a_channel_that_cannot_be_read() -> None:
    url = "http://h.example/conda-forge/linux-64/pytorch-2.8.0-cuda129_429.conda"
    text = f"critical libmamba Transfer finalized, status: 404 [{url}] 0 bytes"
    failure = explain('{"success": false}', text, KNOWN)
    assert (failure.kind, failure.url) == ("channel", url)


def test_a_tool_that_printed_nothing_is_told_so() -> None:
    assert explain("", "", KNOWN).reason == "it printed nothing"
    assert explain("{}", "", KNOWN).reason == "it printed nothing"


@pytest.mark.parametrize("mark", ["", "    ", "    ‣ ", "  * "])
def test_the_commands_that_accept_terms_are_read(mark: str) -> None:
    """The hook of 2025 lists them with a bullet."""
    command = "conda tos accept --override-channels --channel https://x.example/main"
    failure = parse_failure(f"CondaToSNonInteractiveError: not accepted\n\n{mark}{command}\n\nEnd.\n", KNOWN)
    assert failure.kind == "terms"
    assert failure.commands == (command,)


@pytest.mark.parametrize(
    ("exception", "kind"),
    [
        ("CondaToSRejectedError", "terms"),
        ("NoSpaceLeftError", "disk-full"),
        ("ReadTimeoutError", "channel"),  # urllib3's, of a server that stalls: conda lets it through
        ("ProtocolError", "channel"),
        ("CondaOSError", "other"),
    ],
)
def test_condas_exceptions_are_known_by_name(exception: str, kind: str) -> None:
    document = {"exception_name": exception, "message": "it went wrong"}
    assert parse_failure(json.dumps(document), KNOWN) == CondaFailure(kind, "it went wrong")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "row",
    [
        {"kind": "text", "means": "disk-full"},
        {"kind": "text", "means": "disk-full", "pattern": "("},
        {"kind": "text", "means": "weather", "pattern": "rain"},
        {"kind": "exception", "means": ["terms"], "name": "X"},
        {"kind": "advice", "pattern": 1},
        {},
    ],
)
def test_a_garbled_row_is_no_row(row: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="is no"):
        parse_failure_words([row])


@given(st.text())
def test_any_text_is_a_failure_with_a_reason(text: str) -> None:
    assert parse_failure(text, KNOWN).reason
    assert explain(text, text, KNOWN).reason


@given(
    st.dictionaries(
        st.sampled_from(["exception_name", "message", "error", "errors", "solver_problems"]),
        st.none()
        | st.integers()
        | st.text()
        | st.lists(st.dictionaries(st.text(), st.integers()) | st.text()),
    )
)
def test_any_document_is_a_failure_with_a_reason(document: dict[str, object]) -> None:
    assert parse_failure(json.dumps(document), KNOWN).reason
