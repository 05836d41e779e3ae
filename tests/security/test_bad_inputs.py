"""Whatever stands in a file or an option: one message, a documented exit code, bounded CPU and memory."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from bad_inputs import ALL, PLACES, Place, lay
from running import Done, make_program
from sampling import every

_DOCUMENTED = (0, 2, 3, 4, 5, 6)
_CPU_S = 10
_MEMORY_MIB = 400
LIMITS = {"RLIMIT_CPU": 30, "RLIMIT_AS": 3 << 30}  # so that a fault does not take this machine along
_LONGEST = 100_000  # letters of all that is printed, but for a patch of what was adapted
_ERROR = re.compile(r"^error: ", re.MULTILINE)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no forks")


def faults_of(ended: Done, also: tuple[int, ...] = ()) -> list[str]:
    """Return what no answer may be, whatever was given."""
    said = {
        f"exit {ended.status}": ended.status not in (*_DOCUMENTED, *also),
        "a traceback": "Traceback" in ended.said,
        f"{ended.cpu_s:.1f} s of CPU": ended.cpu_s > _CPU_S,
        f"{ended.peak_mib:.0f} MiB": ended.peak_mib > _MEMORY_MIB,
        f"{len(ended.err)} letters": len(ended.err) > _LONGEST,
        "no message": ended.status != 0 and not ended.said.strip(),
        "several errors": len(_ERROR.findall(ended.err)) > 1,
        "control characters": "\x1b" in ended.err,
    }
    return [fault for fault, is_one in said.items() if is_one]


def _faults_of_file(place: Place, shape: str, file: Path, ended: Done) -> list[str]:
    faults = faults_of(ended)
    if place.named and shape not in place.harmless:
        faults += [f"exit {ended.status}, not 2"] if ended.status != 2 else []
        faults += ["unnamed"] if (place.said or file.name) not in ended.said else []
    return faults


@pytest.mark.slow
@pytest.mark.parametrize("name", every(8, PLACES))
def test_a_file_of_any_shape_is_answered(name: str, tmp_path: Path) -> None:
    location = PLACES[name]
    faults = []
    for shape, make in location.shapes.items():
        program = make_program(tmp_path / shape)
        file, commands, environ = lay(location, make, program)
        for words in commands:
            limited = replace(program, environ=environ, limits=LIMITS)
            ended = limited.run(*words, stdin=file if location.stdin else None, timeout_s=120)
            faults += [
                (words[0], shape, fault, ended.err[:300])
                for fault in _faults_of_file(location, shape, file, ended)
            ]
    assert faults == []


def test_the_campaign_is_of_some_size() -> None:
    """A shape that no place takes, or a place without shapes, would be tested by nobody."""
    assert sum(len(location.shapes) * len(location.commands) for location in PLACES.values()) >= 375
    assert {shape for location in PLACES.values() for shape in location.shapes} == set(ALL)
