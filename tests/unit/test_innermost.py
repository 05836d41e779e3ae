"""Of a chain of failures the innermost is told, beside a sure answer little; lines are quoted as they are."""

from __future__ import annotations

import pytest
from explaining import explain

from gpuenv.explanation.explain import load_signatures

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
    assert quote.startswith("no kernel image is available")
