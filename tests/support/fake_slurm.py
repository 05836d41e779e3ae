"""A Slurm of few programs on the PATH: `srun` runs here, with the variables of the node that is named."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from local_engine import LocalEngine

_SINFO = """#!/bin/sh
case "$*" in
    *%R*) echo gpu ;;
    *--partition=gpu*) printf '%s\\n' {nodes} ;;
esac
"""
_SCANCEL = """#!/bin/sh
cd {jobs} && for job in *; do kill "$job"; done
"""
_SRUN = """#!{python} -I
import json, os, sys, time
arguments = sys.argv[1:]
node = next(one.partition("=")[2] for one in arguments if one.startswith("--nodelist="))
variables = json.load(open({variables!r}))[node]
if "HANGS" in variables and "create" in arguments:
    open(os.path.join({jobs!r}, str(os.getpid())), "w").close()
    time.sleep(600)
os.execvpe("sh", arguments[arguments.index("sh"):], variables)
"""


def fake_slurm(programs: Path, engine: LocalEngine) -> None:
    """Write the programs; hosts of the engine that are away are nodes that are down."""
    states = {
        name: "idle|(null)|none" if known else "down*|(null)|no power" for name, known in engine.known.items()
    }
    nodes = " ".join(f"'{name}|{state}'" for name, state in states.items())
    variables = engine.root / "variables.json"
    variables.write_text(json.dumps(engine.known), encoding="utf-8")
    jobs = engine.root / "jobs"
    jobs.mkdir(exist_ok=True)
    texts = {
        "scancel": _SCANCEL.format(jobs=shlex.quote(str(jobs))),
        "sinfo": _SINFO.format(nodes=nodes),
        "srun": _SRUN.format(python=sys.executable, variables=str(variables), jobs=str(jobs)),
    }
    for name, text in texts.items():
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
