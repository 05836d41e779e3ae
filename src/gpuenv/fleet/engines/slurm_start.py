"""Start the node program from what is read: `python3 -I -c TEXT ACTION [--in-words]`, from Python 3.8 on.

Standard input has one JSON object, {"request": {...}, "program": "base64 of the zipapp"}, and with it what
takes the place of parts of the request, as {"also": {"name": "paper"}}. So the program comes to nodes that
share no folder, and its folder goes with it.
"""

from __future__ import annotations

import base64
import io
import json
import os
import runpy
import shutil
import signal
import sys
import tempfile
from typing import Any


def _end(number: int, _frame: Any) -> None:
    sys.exit(128 + number)


def _start() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    answer = json.loads(sys.stdin.buffer.read().decode("utf-8"), strict=False)  # base64 may have lines
    folder = tempfile.mkdtemp(prefix="gpuenv-")
    try:
        program = os.path.join(folder, "gpuenv-node.pyz")
        with open(program, "wb") as file:
            file.write(base64.b64decode(answer["program"]))
        sys.argv[0] = program
        request = dict(answer["request"], **answer.get("also", {}))
        sys.stdin = io.TextIOWrapper(io.BytesIO(json.dumps(request).encode()))
        runpy.run_path(program, run_name="__main__")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_start()
