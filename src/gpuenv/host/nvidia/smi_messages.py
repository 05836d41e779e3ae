"""The words by which nvidia-smi and NVML tell that something is wrong: rows of matrices/nvidia-smi.json."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from gpuenv import matrices

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LONGEST_QUOTE = 160


@dataclass(frozen=True, slots=True)
class Complaint:
    """A line in which the driver complains: which state it means, and the repair where one is known."""

    line: str
    code: str
    repair: str | None


def parse_complaint(line: str) -> Complaint | None:
    """Return the state that a line of nvidia-smi's or an NVML error's text means; None for other lines.

    Sample: `Failed to initialize NVML: Driver/library version mismatch`.
    """
    said = line.casefold()
    for text, code, repair in _rows("message"):
        if text in said and code:
            return Complaint(quote(line), code, repair)
    return None


def field_state(value: str) -> str | None:
    """Return the code that a field's value stands for: `ERR!` is `gpu-error`, `[GPU is lost]` `gpu-lost`."""
    said = value.casefold()
    return next((code for text, code, _ in _rows("field") if text in said), None)


def is_refusal(line: str) -> bool:
    """Tell whether a line (`Field "compute_cap" is not a valid field to query.`) refuses a field."""
    said = line.casefold()
    return any(text in said for text, _, _ in _rows("refusal"))


def quote(text: str) -> str:
    """Return the first line that says something, cut and without control characters, to show to a person."""
    lines = (_CONTROL.sub(" ", line).strip() for line in text[:100_000].splitlines())
    said = next((line for line in lines if line), "")
    return said if len(said) <= _LONGEST_QUOTE else said[: _LONGEST_QUOTE - 3] + "..."


@cache
def _rows(kind: str) -> tuple[tuple[str, str | None, str | None], ...]:
    rows = (row for row in matrices.load("nvidia-smi") if row["kind"] == kind)
    return tuple((row["contains"].casefold(), row["code"], row["repair"]) for row in rows)


def repair_of(code: str) -> str:
    """Return the usual repair of a state."""
    return next((repair for _, row_code, repair in _rows("message") if row_code == code and repair), "reboot")
