"""Query nvidia-smi; call it again only if it is too old for a field or its output is not that of a query."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.host.nvidia import smi_csv, smi_table
from gpuenv.host.nvidia.reading import GpuReading, SourceReading
from gpuenv.host.nvidia.smi_messages import Complaint, is_refusal, parse_complaint, quote
from gpuenv.host.nvidia.smi_program import FIELDS, query_arguments
from gpuenv.process import subprocesses as process
from gpuenv.process.exit_status import describe_status

# In the order of their introduction: MIG by driver 450, compute_cap by 510.
_NEWEST_FIELDS = ("mig.mode.current", "compute_cap")
_MOST_LINES = 2000
_QUOTED = re.compile(r'"([^"\s]{1,64})"')
_LIBRARY = re.compile(r"^NVML library version: [\d.]{1,20}", re.MULTILINE)


class Missing(Struct, frozen=True):
    """There is no nvidia-smi."""


class TimedOut(Struct, frozen=True):
    """nvidia-smi did not answer within the time limit (seconds)."""

    after_s: float


class SmiFailure(Struct, frozen=True):
    """nvidia-smi failed."""

    complaint: Complaint


class Answered(Struct, frozen=True):
    """The reading of nvidia-smi, and errors that it reported."""

    reading: SourceReading
    complaints: tuple[Complaint, ...] = ()


SmiAnswer = Missing | TimedOut | SmiFailure | Answered


def ask_nvidia_smi(smi: NvidiaSmi | None, timeout_s: float) -> SmiAnswer:
    """Query nvidia-smi and parse its output; `timeout_s` is the limit to report if it was too slow."""
    return Missing() if smi is None else converse(smi, timeout_s)


class NvidiaSmi(Protocol):
    """The nvidia-smi of this machine, or the recorded calls of a remote one."""

    def call(self, *arguments: str) -> process.Completed:
        """Run it with arguments."""


def converse(smi: NvidiaSmi, timeout_s: float) -> SmiAnswer:
    """Query until all fields are known; `timeout_s` is the limit to report if it was too slow."""
    fields: tuple[str, ...] = FIELDS
    done = smi.call(*query_arguments(fields))
    for _ in FIELDS:
        if not (shorter := parse_refusal(done.stdout + done.stderr, fields)):
            break
        fields = shorter
        done = smi.call(*query_arguments(fields))
    if done.timed_out:
        return TimedOut(timeout_s)
    answer = read_answer(done, fields)
    if isinstance(answer, Answered) and answer.reading.driver is None:
        answer = _with_driver(smi, answer)
    elif isinstance(answer, SmiFailure) and answer.complaint.repair is None and done.error is None:
        answer = _ask_plainly(smi, answer)
    return _with_whole_names(smi, answer) if isinstance(answer, Answered) else answer


def parse_refusal(text: str, fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields to query instead if `text` refuses one of `fields`, else nothing.

    Sample: `Field "compute_cap" is not a valid field to query.`
    """
    line = next((line for line in text.splitlines()[:_MOST_LINES] if is_refusal(line)), None)
    if line is None:
        return ()
    named = _QUOTED.search(line)
    newest = next((field for field in _NEWEST_FIELDS if field in fields), None)
    refused = named[1] if named and named[1] in fields else newest
    dropped = _NEWEST_FIELDS[_NEWEST_FIELDS.index(refused) :] if refused in _NEWEST_FIELDS else (refused,)
    shorter = tuple(field for field in fields if field not in dropped)
    return shorter if len(shorter) < len(fields) else ()


def read_answer(done: process.Completed, fields: tuple[str, ...]) -> Answered | SmiFailure:
    """Parse the output of a query or of a plain call."""
    complaints = parse_complaints(done.stdout + "\n" + done.stderr)
    reading = _read(done.stdout, fields)
    if reading is not None:
        return Answered(reading, complaints)
    if complaints:
        library = _LIBRARY.search(done.stdout)  # NVML library version: 535.183
        line = f"{complaints[0].line} ({library[0]})" if library else complaints[0].line
        return SmiFailure(replace(complaints[0], line=line))
    status = done.returncode or 0
    signal = describe_status(status) if status < 0 else ""
    line = quote(done.stdout) or quote(done.stderr) or done.error or signal
    return SmiFailure(Complaint(line, "nvidia-smi-unreadable" if done.ok else "nvidia-smi-failed", None))


def _read(text: str, fields: tuple[str, ...]) -> SourceReading | None:
    with suppress(ValueError):
        return smi_csv.parse_query(text, fields)
    with suppress(ValueError):
        return smi_table.parse_table(text)
    return None


def parse_complaints(text: str) -> tuple[Complaint, ...]:
    """Return the distinct known errors among the lines that are not rows of a table or a query."""
    lines = dict.fromkeys(line.strip() for line in text.splitlines()[:_MOST_LINES])
    complaints = (parse_complaint(line) for line in lines if not line.startswith("|") and ", [" not in line)
    return tuple(complaint for complaint in complaints if complaint)


def _ask_plainly(smi: NvidiaSmi, failed: SmiFailure) -> Answered | SmiFailure:
    """Call without arguments: an old nvidia-smi does not know queries, or reports a clearer error."""
    done = smi.call()
    if done.timed_out:
        return failed
    answer = read_answer(done, FIELDS)
    is_better = isinstance(answer, Answered) or answer.complaint.repair is not None
    return answer if is_better else failed


def _with_driver(smi: NvidiaSmi, answer: Answered) -> Answered:
    """Add the driver of the table's header."""
    table = _read(smi.call().stdout, ())
    if table is None:
        return answer
    return replace(answer, reading=replace(answer.reading, driver=table.driver, cuda=table.cuda))


def _with_whole_names(smi: NvidiaSmi, answer: Answered) -> Answered:
    """Query the names that the table truncated."""
    if all(gpu.whole for gpu in answer.reading.gpus):
        return answer
    done = smi.call("-L")
    try:
        listed = {gpu.index: gpu for gpu in smi_table.parse_list(done.stdout).gpus}
    except ValueError:
        return answer
    gpus = tuple(_completed(gpu, listed.get(gpu.index)) for gpu in answer.reading.gpus)
    return replace(answer, reading=replace(answer.reading, gpus=gpus))


def _completed(gpu: GpuReading, listed: GpuReading | None) -> GpuReading:
    if gpu.whole or listed is None or not (listed.name or "").startswith(gpu.name or ""):
        return gpu
    return replace(gpu, name=listed.name, uuid=gpu.uuid or listed.uuid, whole=True)
