"""What Slurm's programs print of nodes and jobs."""

from __future__ import annotations

import re

from msgspec import Struct

from gpuenv.formats.shell import one_line
from gpuenv.i18n.messages import tr
from gpuenv.signatures.log_pages import readable_lines

NODE_FORMAT = "%N|%T|%G|%E"
JOB_FORMAT = "%n|%T|%r"
_FIELDS = 4
_JOB_FIELDS = 3
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_STATE = re.compile(r"([A-Za-z_]+)([*~#!%$@^+-]*)")
_GPU = re.compile(r"gpu(?::[^:,()]*[^:,()0-9][^:,()]*)?(?::([0-9]{1,5}))?(?:\([^()]*\))?")
_SILENT = "*"
# No job can start there; from `idle~`, which is asleep, Slurm wakes a node itself.
_AWAY = ("down", "drain", "drained", "draining", "fail", "failing", "error", "future", "unknown", "inval")
_NO_ERROR = re.compile(r"srun: (?!error: )")
_LINES = 8
_LONGEST = 4000  # characters


class SlurmNode(Struct, frozen=True):
    """A node as Slurm has it: `away` is why no job can start there, None where one can."""

    name: str
    gpus: int = 0
    away: str | None = None


def parse_nodes(text: str) -> tuple[SlurmNode, ...]:
    """Parse `sinfo --noheader --Node --format=%N|%T|%G|%E`; raise ValueError for anything else.

    ::

        gpu1|idle|gpu:a100:4(S:0-1)|none
        gpu2|mixed|gpu:tesla:1,gpu:kepler:1|none
        gpu3|drained*|(null)|bad | fan
    """
    nodes: dict[str, SlurmNode] = {}
    for line in filter(str.strip, text.splitlines()):
        fields = line.strip().split("|", _FIELDS - 1)
        state = _STATE.fullmatch(fields[1]) if len(fields) == _FIELDS else None
        if state is None or not _NAME.fullmatch(fields[0]):
            raise ValueError(tr("`{line}` is not a valid Slurm node", line=one_line(line)[:_LONGEST]))
        name, _, resources, reason = fields
        nodes.setdefault(name, SlurmNode(name, _gpus(resources), _why_away(state, reason)))
    return tuple(nodes.values())


def _why_away(state: re.Match[str], reason: str) -> str | None:
    if state[1].lower() not in _AWAY and _SILENT not in state[2]:
        return None
    words = tr("Slurm reports it as `{state}`", state=state[0])
    why = one_line(reason)
    return words if why in ("", "none") else f"{words}: {why}"


def _gpus(resources: str) -> int:
    """Count the GPUs in `gpu:a100:4(S:0-1),mps:400`; one without a number is one."""
    parts = re.split(r",(?![^()]*\))", resources)
    return sum(int(match[1] or 1) for part in parts if (match := _GPU.fullmatch(part)))


def parse_jobs(text: str) -> dict[str, tuple[str, str]]:
    """Parse `squeue --noheader --format=%n|%T|%r`: the state and the reason of the job of each node.

    Lines that are none are left out: they only tell how long there is to wait. ::

        gpu1|PENDING|Resources
        gpu2|RUNNING|None
    """
    fields = (line.strip().split("|", _JOB_FIELDS - 1) for line in text.splitlines())
    return {field[0]: (field[1].upper(), one_line(field[2])) for field in fields if len(field) == _JOB_FIELDS}


def last_words(printed: str) -> str:
    """Return the last lines of what a program of Slurm's printed, in characters that print.

    What srun prints is left out where it is not an error. ::

        srun: job 2 queued and waiting for resources
        srun: error: Unable to allocate resources: Requested nodes are busy
    """
    lines = [line for line in map(one_line, readable_lines(printed)) if line]
    lines = [line for line in lines if not _NO_ERROR.match(line)] or lines
    return "\n".join(lines[-_LINES:])[-_LONGEST:]
