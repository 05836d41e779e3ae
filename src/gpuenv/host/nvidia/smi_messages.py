"""Known error messages of nvidia-smi and NVML: rows of matrices/nvidia-smi.json."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from gpuenv import matrices

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LONGEST_QUOTE = 160


class Complaint(Struct, frozen=True):
    """An error message of the driver: its line, the code of the state, and the repair if known."""

    line: str
    code: str
    repair: str | None


def parse_complaint(line: str) -> Complaint | None:
    """Parse a line such as `Failed to initialize NVML: Driver/library version mismatch`; None for others."""
    rows = ((code, repair) for text, code, repair in _rows("message") if text in line.casefold() and code)
    return next((Complaint(quote(line), code, repair) for code, repair in rows), None)


def field_state(value: str) -> str | None:
    """Return the code of a field's value: `ERR!` is `gpu-error`, `[GPU is lost]` is `gpu-lost`."""
    return next((code for text, code, _ in _rows("field") if text in value.casefold()), None)


def is_refusal(line: str) -> bool:
    """Tell whether a line (`Field "compute_cap" is not a valid field to query.`) refuses a field."""
    return any(text in line.casefold() for text, _, _ in _rows("refusal"))


def quote(text: str) -> str:
    """Return the first non-empty line, shortened and without control characters."""
    lines = (_CONTROL.sub(" ", line).strip() for line in text[:100_000].splitlines())
    first = next((line for line in lines if line), "")
    return first if len(first) <= _LONGEST_QUOTE else first[: _LONGEST_QUOTE - 3] + "..."


@cache
def _rows(kind: str) -> tuple[tuple[str, str | None, str | None], ...]:
    rows = (row for row in matrices.load("nvidia-smi") if row["kind"] == kind)
    return tuple((row["contains"].casefold(), row["code"], row["repair"]) for row in rows)


def repair_of(code: str) -> str:
    """Return the usual repair of a state."""
    return next((repair for _, row_code, repair in _rows("message") if row_code == code and repair), "reboot")
