"""Of a chain of failures the innermost is told, beside a sure answer little; lines are quoted as they are."""

from __future__ import annotations

import pytest
from explaining import explain

from gpuenv.explanation.load_tables import load_signatures
from gpuenv.explanation.render import render_explanation
from gpuenv.signatures.match import examine

SIGNATURES = load_signatures()
NO_KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
LIBGL = "ImportError: libGL.so.1: cannot open shared object file: No such file"
SHAPES = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x512 and 768x10)"
FRAMES = 'Traceback (most recent call last):\n  File "/w/train.py", line 12, in main\n    run()\n'


def ids(text: str) -> list[str]:
    return [match.id for match in explain(text, SIGNATURES)]


def quotes(text: str) -> list[str]:
    return [line.text for match in explain(text, SIGNATURES) for line in match.lines]


def raised(error: str) -> str:
    return FRAMES + error + "\n"


CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
HANDLED = "\nDuring handling of the above exception, another exception occurred:\n\n"


def test_what_caused_an_exception_comes_before_it_and_what_is_sure_stays() -> None:
    assert ids(raised(SHAPES))[:1] == ["matmul-shape"]
    assert ids(raised(NO_KERNEL)) == ["no-kernel-image"]
    assert ids(raised(SHAPES) + CAUSED + raised(NO_KERNEL))[:1] == ["matmul-shape"]


def test_what_only_was_handled_when_an_exception_was_raised_is_not_its_cause() -> None:
    assert ids(raised(SHAPES) + HANDLED + raised(NO_KERNEL)) == ["no-kernel-image"]


def test_what_a_worker_raised_comes_before_what_its_parent_raises() -> None:
    worker = "\n".join(f"{line}" for line in raised(SHAPES).splitlines()).replace(
        "Traceback", "Original Traceback", 1
    )
    assert ids(f"{FRAMES}RuntimeError: Caught RuntimeError in DataLoader worker process 0.\n{worker}\n") == [
        "matmul-shape"
    ]


def test_of_one_traceback_only_what_is_sure_is_told() -> None:
    notes = "CUDA kernel errors might be asynchronously reported at some other API call.\n"
    assert ids(raised(f"{NO_KERNEL}\n{notes}{SHAPES}")) == ["no-kernel-image"]


@pytest.mark.parametrize("between", ["\n", "user@node1:~/w$ python show.py\n"])
def test_another_traceback_is_an_error_of_its_own(between: str) -> None:
    assert set(ids(raised(NO_KERNEL) + between + raised(LIBGL))) == {"no-kernel-image", "opencv-system-lib"}


def test_what_another_program_printed_is_an_error_of_its_own() -> None:
    missing = "ERROR: No matching distribution found for torch==9.9.9"
    text = f"$ pip install torch==9.9.9\n{missing}\n$ python show.py\n{LIBGL}\n"
    assert {"pip-no-matching-torch", "opencv-system-lib"} <= set(ids(text))
    noticed = f"seen: {LIBGL.partition(' ')[2]}"
    assert "opencv-system-lib" not in ids(f"$ pip install torch==9.9.9\n{missing}\n{noticed}\n")


@pytest.mark.parametrize(
    "line",
    [
        f"   [rank3]:  {NO_KERNEL.replace(' ', '   ', 2)}",
        f"\t{NO_KERNEL}   # \u2018quoted\u2019",
        f"2026-03-01T10:00:00.123Z {NO_KERNEL}",
        f"\x1b[31m{NO_KERNEL}\x1b[0m",
    ],
)
def test_a_line_is_quoted_as_it_stands(line: str) -> None:
    (quote,) = quotes(f"first\n{line}\r\nlast")
    assert quote == line.rstrip()


def test_of_a_redrawn_line_the_state_is_quoted_that_was_read() -> None:
    assert quotes(f" 50%|##  |\r100%|####| {NO_KERNEL}") == [f"100%|####| {NO_KERNEL}"]


def test_a_long_line_is_cut_off_at_its_end_with_a_mark() -> None:
    (quote,) = quotes(f"{NO_KERNEL} {'and so on ' * 40}")
    assert quote.startswith(NO_KERNEL)
    assert quote.endswith("…")
    assert quote[:-1] in f"{NO_KERNEL} {'and so on ' * 40}"


def test_what_stands_far_in_a_long_line_is_seen() -> None:
    (quote,) = quotes(f"{{{'something   else, ' * 30} {NO_KERNEL}}}")
    assert quote.startswith("…no kernel image is available")


WRAPPER = "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised an exception"


def test_what_only_reports_a_failure_says_where_its_unknown_cause_stands() -> None:
    text = raised("OddityOccurred: nothing that anybody knows") + CAUSED + raised(WRAPPER)
    (match,) = explain(text, SIGNATURES)
    assert (match.id, match.confidence) == ("torch-compile-failed", "low")
    assert "line 4: OddityOccurred: nothing that anybody knows" in str(match.detail)
    assert "not recognised" in str(explain(WRAPPER, SIGNATURES)[0].detail)
    assert ids(raised(SHAPES) + CAUSED + raised(WRAPPER)) == ["matmul-shape"]


def test_what_reports_that_another_command_failed_does_not_hide_it() -> None:
    built = "$ pip install flash-attn\nERROR: Failed building wheel for flash-attn\n"
    assert (
        ids(f"{built}$ python train.py\nNameError: name 'Attention' is not defined\n")[0]
        == "ext-compile-failed"
    )
    assert "ext-compile-failed" not in ids(f"{built}NameError: name 'Attention' is not defined\n")


@pytest.mark.parametrize(
    "line",
    [
        f"tests/test_a.py::test_told[{NO_KERNEL}] PASSED        [ 12%]",
        f"tests/test_a.py::test_told SKIPPED ({NO_KERNEL})",
        f"[gw0] [ 12%] PASSED tests/test_a.py::test_told[{NO_KERNEL}]",
        f"test_told (tests.Test) [{NO_KERNEL}] ... ok",
        f"tests/test_a.py::test_told[{NO_KERNEL}] XFAIL",
        f"checked for {NO_KERNEL}: 0 errors",
        f"{NO_KERNEL}: this message can be safely ignored",
        f"{NO_KERNEL} (the caller indicates that this is not a failure)",
    ],
)
def test_what_tells_of_no_error_gives_nothing_and_says_why(line: str) -> None:
    examined = examine(f"first\n{line}\nlast", SIGNATURES, lambda: 0.0)
    assert examined.matches == ()
    assert [(item.line.number, item.line.text) for item in examined.no_errors] == [(2, line)]
    assert line in render_explanation((), {}, examined.no_errors)


@pytest.mark.parametrize(
    "line",
    [
        f"tests/test_a.py::test_told FAILED - {NO_KERNEL}",
        f"3 failed, 0 errors: {NO_KERNEL}",
        f"0 errors, 3 failed: {NO_KERNEL}",
        f"FAILED tests/test_a.py::test_told - {NO_KERNEL}",
    ],
)
def test_a_test_that_failed_is_an_error(line: str) -> None:
    assert ids(line) == ["no-kernel-image"]


STEP = "  Building wheel for odd (setup.py)"
PROBE = "  /usr/bin/ld: cannot find -laio: No such file\n  collect2: error: ld returned 1 exit status\n"


def test_a_probe_in_a_build_that_succeeded_is_no_error() -> None:
    text = f"{STEP}: started\n{PROBE}{STEP}: finished with status '%s'\n"
    assert ids(text % "done") == []
    assert ids(text % "error") != []


def test_a_traceback_after_which_a_build_went_on_is_not_why_it_failed() -> None:
    failed = "error: command '/usr/bin/g++' failed with exit code 1\n"
    caught = raised(SHAPES) + "running bdist_wheel\nrunning build_ext\n"
    assert ids(caught + failed) == ["ext-compile-failed"]
    assert ids(raised(SHAPES) + failed + "running build_ext\n") == ["matmul-shape"]


def of_rank(number: int, text: str) -> str:
    return "".join(f"[rank{number}]: {line}\n" for line in text.splitlines())


def test_of_ranks_the_first_that_failed_counts() -> None:
    assert ids(of_rank(3, raised(SHAPES)) + of_rank(0, raised(NO_KERNEL))) == ["matmul-shape"]
    assert ids(of_rank(0, raised(NO_KERNEL)) + of_rank(3, raised(SHAPES))) == ["no-kernel-image"]
