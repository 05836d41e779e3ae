"""Run programs from a small process: a child's peak memory starts at its parent's.

A line of JSON asks for each run, `{"argv", "environ", "cwd", "stdin"}` with a file for standard input; a line
answers, with the exit status, what it took (seconds, MB) and the end of what it wrote to stderr.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for line in sys.stdin:
    asked = json.loads(line)
    with Path(asked["stdin"]).open("rb") as given, tempfile.TemporaryFile() as said:
        started = time.perf_counter()
        process = subprocess.Popen(
            asked["argv"], stdin=given, stdout=subprocess.DEVNULL, stderr=said,
            env=asked["environ"], cwd=asked["cwd"],
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        answer = {
            "status": process.returncode,
            "wall_s": wall_s,
            "cpu_s": used.ru_utime + used.ru_stime,
            "peak_mb": used.ru_maxrss / 1024,
            "stderr": said.read()[-3000:].decode(errors="replace"),
        }
    print(json.dumps(answer), flush=True)
