"""What py-rattler says when it fails is one of the kinds that conda tools' failures have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv import matrices
from gpuenv.installers.conda.failure import parse_failure_words
from gpuenv.installers.rattler import parse_rattler_failure

KNOWN = parse_failure_words(matrices.load("conda-tools"), embedded=True)

NO_GPU = """Cannot solve the request because of: pytorch-gpu * cannot be installed as there is nothing:
├─ pytorch-gpu 2.9.1 would require
│  └─ pytorch ==2.9.1 cuda*_mkl*302, which cannot be installed because there are no viable options:
│     └─ pytorch 2.9.1 would require
│        └─ __cuda *, for which no candidates were found.
"""
NO_FOLDER = """could not find subdir 'noarch' in channel 'http://127.0.0.1:18123/nosuch/'
Caused by: HTTP status client error (404 File not found) for url (http://127.0.0.1:18123/nosuch/noarch/repodata.json)
"""
REFUSED = """Request failed after 1 retries
Caused by: error sending request for url (http://127.0.0.1:1/conda-forge/noarch/repodata_shards.msgpack.zst)
Caused by: Connection refused (os error 111)
"""
NOT_A_ZIP = """failed to fetch filelock-3.16.1-pyhd8ed1ab_0.conda
Caused by: invalid zip archive: invalid Zip archive: Invalid local file header
"""


@pytest.mark.parametrize(
    ("exception", "text", "kind", "url"),
    [
        ("SolverError", NO_GPU, "no-gpu", None),
        (
            "SolverError",
            "Cannot solve the request because of: No candidates were found for nosuchpkg *.",
            "missing",
            None,
        ),
        ("SolverError", "Cannot solve the request because of: x cannot be installed", "unsatisfiable", None),
        ("GatewayError", NO_FOLDER, "channel", "http://127.0.0.1:18123/nosuch/noarch/repodata.json"),
        (
            "GatewayError",
            REFUSED,
            "channel",
            "http://127.0.0.1:1/conda-forge/noarch/repodata_shards.msgpack.zst",
        ),
        ("InstallerError", NOT_A_ZIP, "corrupt", None),
        ("InstallerError", "failed to link x: No space left on device (os error 28)", "disk-full", None),
        ("InvalidMatchSpecError", "missing range specifier for '2.8'", "usage", None),
        ("LinkError", "what is this", "other", None),
    ],
)
def test_a_failure_is_of_its_kind(exception: str, text: str, kind: str, url: str | None) -> None:
    failure = parse_rattler_failure(exception, text, KNOWN)
    assert (failure.kind, failure.url) == (kind, url)
    assert failure.reason.splitlines()[0] == text.splitlines()[0]


def test_a_hundred_lines_are_shortened() -> None:
    reason = parse_rattler_failure("SolverError", "\n".join(map(str, range(100))), KNOWN).reason
    assert reason.splitlines()[-1] == "… (88 more lines)"


def test_passwords_are_not_told() -> None:
    failure = parse_rattler_failure(
        "GatewayError", "error for url (https://me:secret@conda.example.com/x)", KNOWN
    )
    assert "secret" not in failure.reason


@given(st.text(max_size=30), st.text(max_size=300))
def test_any_text_has_a_kind(exception: str, text: str) -> None:
    failure = parse_rattler_failure(exception or "Error", text, KNOWN)
    assert failure.reason
    assert failure.kind
