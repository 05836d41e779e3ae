#!/usr/bin/python
"""Ansible's module `gpuenv_node`: what runs on the nodes, from Python 3.8 on, with nothing of gpuenv there.

`render_module` puts the node program into PROGRAM.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: gpuenv_node
short_description: detect a machine's GPUs, make an environment from a lock, or prove one
description:
  - Runs the program that gpuenv put into this module. It needs nothing on the node but Python 3.8.
options:
  action:
    description: What to do.
    type: str
    choices: [detect, create, verify]
    required: true
  request:
    description: The request that gpuenv wrote, as base64 of JSON (lookup('file', ...) | b64encode).
    type: str
  name:
    description: The name of the environment, or its path, in the place of the one in the request.
    type: str
  force:
    description: Whether to replace an environment that another plan made.
    type: bool
    default: false
  seconds:
    description: The time limit; 0 for no limit.
    type: int
    default: 0
"""

PROGRAM = ""
_KEPT = 20  # lines
_LONGEST = 4000  # characters
_PATIENCE = 30
_LOOK_S = 0.1


def _run(module: AnsibleModule, action: str, request: dict[str, Any]) -> dict[str, Any]:
    """Run the program in a folder that goes with it; return the answer, or fail with its last lines."""
    with tempfile.TemporaryDirectory(prefix="gpuenv-", dir=module.tmpdir) as location:
        program = os.path.join(location, "gpuenv-node.pyz")
        with open(program, "wb") as file:
            file.write(base64.b64decode(PROGRAM))
        argv = [sys.executable, "-I", program, action]
        child = _Child(module.params["seconds"])
        try:
            status, out, err = module.run_command(
                argv, data=json.dumps(request), before_communicate_callback=child.started
            )
        except KeyboardInterrupt:
            child.end()
            shutil.rmtree(module.tmpdir, ignore_errors=True)  # Ansible does not come back for it
            raise
    answer: Any = None
    with suppress(ValueError):
        answer = json.loads((out.strip().splitlines() or [""])[-1])
    if not isinstance(answer, dict):
        if child.is_late:
            module.fail_json(msg=f"gpuenv's program was not done after {child.seconds} s")
        printed = _last_lines(err) or _last_lines(out) or "nothing"
        module.fail_json(msg=f"gpuenv's program gave no answer (status {status}): {printed}")
    return dict(answer)


class _Child:
    """The program: it ends with us, and when its time is up; Ansible's own limit would leave it running."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        self.is_late = False
        self._process: Any = None

    def started(self, process: Any) -> None:
        """Take the process that was started."""
        self._process = process
        signal.signal(signal.SIGALRM, self._be_late)
        signal.alarm(self.seconds)

    def _be_late(self, *_: Any) -> None:
        self.is_late = True
        self._process.terminate()

    def end(self) -> None:
        """Wait until the program has cleaned up; Ctrl-C has mostly reached it as well."""
        for _ in range(_PATIENCE) if self._process is not None else ():
            if self._process.poll() is not None:
                return
            time.sleep(_LOOK_S)
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _last_lines(text: str) -> str:
    lines = text.strip().splitlines()[-_KEPT:]
    return "\n".join(lines)[-_LONGEST:].encode("utf-8", "replace").decode("utf-8")


def _read(module: AnsibleModule) -> dict[str, Any]:
    text = module.params["request"]
    request: Any = None
    with suppress(ValueError):
        request = json.loads(base64.b64decode(text, validate=True).decode("utf-8")) if text else {}
    if not isinstance(request, dict):
        module.fail_json(msg="the request is not base64 of a JSON object")
    if module.params["name"]:
        name = module.params["name"]
        is_path = name.startswith("/")
        request.update(name=None if is_path else name, target=name if is_path else None)
    if module.params["action"] == "create" and module.check_mode:
        request["check"] = True
    if module.params["force"]:
        request["force"] = True
    return dict(request)


def main() -> None:
    """Do what is asked, and tell Ansible whether something changed."""
    module = AnsibleModule(
        argument_spec={
            "action": {"type": "str", "required": True, "choices": ["detect", "create", "verify"]},
            # Addresses in it may hold passwords. In base64 it is one value, and nothing told has it in it.
            "request": {"type": "str", "no_log": True},
            "name": {"type": "str"},
            "force": {"type": "bool", "default": False},
            "seconds": {"type": "int", "default": 0},
        },
        supports_check_mode=True,
    )
    for number in (signal.SIGTERM, signal.SIGHUP):  # the end of a connection, or of Ansible
        signal.signal(number, _interrupt)
    answer = _run(module, module.params["action"], _read(module))
    would = module.check_mode and str(answer.get("state", "")).startswith("would-")
    changed = bool(answer.get("changed")) or would
    if answer.get("reason"):
        module.fail_json(msg=str(answer["reason"]), answer=answer, changed=changed)
    module.exit_json(answer=answer, changed=changed)


if __name__ == "__main__":
    main()
