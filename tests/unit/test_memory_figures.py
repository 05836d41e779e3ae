"""What the figures of an out-of-memory error come down to."""

from __future__ import annotations

import pytest

from gpuenv.explanation.explain import load_reports
from gpuenv.signatures.derived import memory_facts
from gpuenv.signatures.reported import read_reported

NEW = "CUDA out of memory. Tried to allocate {}. GPU 0 has a total capacity of 31.47 GiB of which {} is free."
OLD = (
    "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.79 GiB total capacity; "
    "{} GiB already allocated; 5.88 MiB free; {} GiB reserved in total by PyTorch)"
)
OWN = " Including non-PyTorch memory, this process has {} GiB memory in use."
HELD = (
    " Of the allocated memory {} GiB is allocated by PyTorch, "
    "and {} GiB is reserved by PyTorch but unallocated."
)


def read(text: str) -> dict[str, str]:
    return memory_facts(read_reported(text, load_reports()).values)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (NEW.format("40.00 GiB", "30.00 GiB"), "too-large"),
        (NEW.format("22.78 GiB", "12.73 GiB") + OWN.format(18.73) + HELD.format(9.08, 9.35), "request"),
        (NEW.format("3.20 GiB", "0.40 GiB").replace("capacity", "capacty") + HELD.format(30.8, 0.1), "full"),
        (NEW.format("1.00 GiB", "90.00 MiB") + HELD.format(20.0, 9.35), "fragmented"),
        (NEW.format("20.00 MiB", "0 bytes") + OWN.format(31.4), "full"),
        (NEW.format("20.00 MiB", "9.00 MiB") + OWN.format(8.01), "other"),
        (OLD.format(1.06, 1.10), "other"),
        (OLD.format(5.06, 6.90), "fragmented"),
    ],
)
def test_the_figures_tell_the_reason(text: str, reason: str) -> None:
    assert read(text)["oom_reason"] == reason


def test_the_process_that_holds_most_is_named_and_not_this_one() -> None:
    both = " Process 2211 has 9.10 GiB memory in use. Process 418222 has 22.10 GiB memory in use."
    facts = read(NEW.format("216.00 MiB", "94.25 MiB") + both + HELD.format(8.61, 0.01))
    assert (facts["oom_pid"], facts["oom_other"]) == ("418222", "22.10 GiB")
    alone = " Process 562167 has 31.25 GiB memory in use."
    assert (
        read(NEW.format("216.00 MiB", "94.25 MiB") + alone + HELD.format(29.5, 0.9))["oom_reason"] == "full"
    )


@pytest.mark.parametrize("text", ["", "Tried to allocate", OLD.replace("{}", "1.2.3")[:80]])
def test_without_figures_nothing_is_said(text: str) -> None:
    assert read(text) == {}
