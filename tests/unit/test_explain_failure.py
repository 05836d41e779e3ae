"""What other programs failed with is told with its cause; gpuenv's own refusals are left as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.explanation.installer_failure import with_cause
from gpuenv.model.errors import (
    Because,
    Fix,
    GpuenvError,
    InstallFailed,
    Unsatisfiable,
    UsageError,
    VerificationFailed,
)

SSL = "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))"


def failed(text: str, **more: Any) -> InstallFailed:
    because = (Because(text, "pip.log"),)
    return InstallFailed("`pip install` failed (1)", code="install-failed", because=because, **more)


def test_the_cause_stands_under_the_raw_error_and_its_fix_comes_first() -> None:
    log = Fix("the full log is in pip.log")
    error = with_cause(failed(SSL, fixes=(log,)))
    raw, cause = error.because
    assert raw.text == SSL
    assert cause.source == "gpuenv explain: pip-ssl"
    assert error.fixes[-1] == log
    assert error.data is not None
    assert error.data["explained"]["id"] == "pip-ssl"


def test_the_log_is_read_as_the_last_lines_may_not_say_it(tmp_path: Path) -> None:
    log = tmp_path / "pip.log"
    log.write_text(f"{SSL}\n" + "at a loss\n" * 500, encoding="utf-8")
    error = with_cause(failed("at a loss", data={"log": str(log)}))
    assert error.because[-1].source == "gpuenv explain: pip-ssl"


def test_what_stands_in_the_last_lines_counts_before_the_rest_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "pip.log"
    log.write_text(f"{SSL}\n", encoding="utf-8")
    error = with_cause(failed("OSError: [Errno 28] No space left on device", data={"log": str(log)}))
    assert error.because[-1].source == "gpuenv explain: pip-no-space"


def test_a_log_that_is_gone_is_no_further_failure() -> None:
    error = failed("at a loss", data={"log": "/nowhere/pip.log"})
    assert len(with_cause(error).because) == 1


def test_what_torch_printed_and_the_tests_of_verify_are_looked_at() -> None:
    said = "CUDA error: no kernel image is available for execution on the device"
    data = {"messages": [], "devices": [{"tests": [{"id": "matmul", "ok": False, "detail": said}]}]}
    error = with_cause(VerificationFailed("gpu 0 does not work", code="verify-failed", data=data))
    assert error.because[-1].source == "gpuenv explain: no-kernel-image"


def test_a_solve_that_fails_is_explained() -> None:
    because = (Because("LibMambaUnsatisfiableError: Encountered problems while solving", "conda"),)
    error = with_cause(Unsatisfiable("conda finds no set", code="conda-unsatisfiable", because=because))
    assert error.because[-1].source == "gpuenv explain: conda-unsatisfiable"


@pytest.mark.parametrize(
    "error",
    [
        Unsatisfiable("no build runs here", code="refused", because=(Because(SSL, "rule"),)),
        UsageError("no such file", code="usage", because=(Because(SSL, "x"),)),
        InstallFailed("the disk is full", code="disk-full", because=(Because(SSL, "x"),)),
        failed("it went wrong"),
    ],
    ids=["refusal", "usage", "told before", "unknown"],
)
def test_other_errors_stay_as_they_are(error: GpuenvError) -> None:
    before = (error.message, error.because, error.fixes, error.data)
    failure = with_cause(error)
    assert (failure.message, failure.because, failure.fixes, failure.data) == before


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(), st.dictionaries(st.sampled_from(["log", "messages", "devices", "x"]), json_values))
def test_no_failure_is_too_strange(text: str, data: dict[str, Any]) -> None:
    assert with_cause(failed(text, data=data)).message == "`pip install` failed (1)"
