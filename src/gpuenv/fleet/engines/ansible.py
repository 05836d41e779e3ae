"""Ansible as the engine of a fleet: the person's inventory, settings and connections; a module of ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from gpuenv.files.private import write_private
from gpuenv.fleet.engines.ansible_events import last_words, parse_event, parse_host_list
from gpuenv.fleet.engines.ansible_run import Play, Played, not_installed, play, with_utf8
from gpuenv.fleet.render.ansible import render_module, render_request, render_task
from gpuenv.fleet.run_model import HostResult, NodeTask, OnHost
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.process.guardian import temporary_folder
from gpuenv.process.subprocesses import run
from gpuenv.process.surroundings import find_executables, path_directories

MODULE = Path(__file__).with_name("ansible_module.py")
_LIST_S = 300.0  # an inventory may be a program that asks a cloud
_WELL_ENDED = (0, 2, 4, 6)  # nothing failed; hosts failed, were unreachable, or both


class Ansible(Struct, frozen=True):
    """Hosts of an inventory; with none named, of the one that the person's ansible.cfg names.

    That of the current folder counts only where ANSIBLE_CONFIG names it: it may name programs to run.

    `node_program` is the zipapp, `limit` a pattern of Ansible's, `forks` how many hosts at a time (None: as
    Ansible's settings say), `timeout_s` a host's time limit in seconds (None: none).
    """

    node_program: bytes
    inventory: tuple[str, ...] = ()
    limit: str | None = None
    forks: int | None = None
    timeout_s: int | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    name: str = "ansible"

    def hosts(self) -> tuple[str, ...]:
        """Return the hosts of the inventory within the limit; raise UsageError where there are none."""
        argv = [_find("ansible", self.environ), "all", "--list-hosts", *self._chosen()]
        ended = run(argv, timeout_s=_LIST_S, environ=with_utf8(self.environ))
        try:
            values = parse_host_list(ended.stdout) if ended.ok else ()
        except ValueError:
            values = ()
        if values:
            return values
        words = ended.error or last_words(ended.stderr) or last_words(ended.stdout)
        if ended.timed_out:
            words = tr("it timed out after {seconds} s", seconds=f"{_LIST_S:g}")
        raise _no_hosts(words, self.environ)

    def run(self, task: NodeTask, on_host: OnHost) -> tuple[HostResult, ...]:
        """Run the task on the hosts that have a request; tell each host's state as it changes.

        Raises UsageError where Ansible is not there or does not start.
        """
        if not task.requests:
            return ()
        program = _find("ansible-playbook", self.environ)
        results: dict[str, HostResult] = {}

        def on_event(event: Mapping[str, Any]) -> None:
            result = parse_event(event)
            if result is not None and result.host in task.requests:
                results[result.host] = result
                on_host(result)

        with temporary_folder("gpuenv-fleet-") as location:
            folder = Path(location)
            self._write(folder, task)
            options = (*self._chosen(), *self._ways(task))
            played = play(Play(program, folder, options, self.environ), on_event)
        if not results and played.status != 0:
            raise _not_started(last_words(played.printed), played.status)
        for host in task.requests:
            if host not in results or results[host].state == "running":
                results[host] = _left_out(host, played)
                on_host(results[host])
        return tuple(results[host] for host in task.requests)

    def _chosen(self) -> tuple[str, ...]:
        limit = (f"--limit={self.limit}",) if self.limit else ()
        return (*(f"--inventory={_absolute(item)}" for item in self.inventory), *limit)

    def _ways(self, task: NodeTask) -> tuple[str, ...]:
        return ("--check",) * task.check + ((f"--forks={self.forks}",) if self.forks else ())

    def _write(self, folder: Path, task: NodeTask) -> None:
        """Write the playbook, the module and the requests into a folder that only its owner reads."""
        text = render_module(MODULE.read_text(encoding="utf-8"), self.node_program)
        files = {
            "playbook.yml": render_task(task.action, self.timeout_s or 0),
            "library/gpuenv_node.py": text,
            **{
                f"requests/{sha256(host.encode()).hexdigest()}.json": render_request(request)
                for host, request in task.requests.items()
            },
        }
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            write_private(path, content)


def _absolute(inventory: str) -> str:
    """Return an inventory as Ansible finds it from any folder; `gpu1,gpu2,` is a list of hosts."""
    is_list = "," in inventory and not os.path.exists(inventory)  # noqa: PTH110 - false for what can't be a path
    return inventory if is_list else os.path.abspath(inventory)  # noqa: PTH100 - a link must stay one


def _find(program: str, environ: Mapping[str, str]) -> str:
    """Return a program of Ansible: the person's on PATH, else the one installed together with gpuenv."""
    if os.name == "nt":
        raise UsageError(
            tr("ansible does not run on Windows"),
            code="no-ansible",
            fixes=(Fix(tr("run gpuenv in WSL or on a Linux machine")),),
        )
    places = path_directories({"PATH": environ.get("PATH", os.defpath)})
    path = next(find_executables(program, (*places, Path(sys.executable).parent)), None)
    if path is None:
        raise not_installed("ansible")
    return str(path)


def _no_hosts(words: str, environ: Mapping[str, str]) -> UsageError:
    own = Fix(
        tr("ansible.cfg of the current directory is only read if it is named"),
        "ANSIBLE_CONFIG=ansible.cfg gpuenv fleet detect",
    )
    is_ignored = not environ.get("ANSIBLE_CONFIG") and Path("ansible.cfg").is_file()
    return UsageError(
        tr("ansible found no hosts"),
        code="no-hosts",
        because=tuple(Because(line, "ansible --list-hosts") for line in words.splitlines()),
        fixes=(
            *((own,) if is_ignored else ()),
            Fix(tr("name an inventory, and a limit that matches some of its hosts")),
        ),
    )


def _not_started(words: str, status: int | None) -> UsageError:
    return UsageError(
        tr("ansible stopped before it reached a host (status {status})", status=status),
        code="ansible-failed",
        because=tuple(Because(line, "ansible-playbook") for line in words.splitlines()),
    )


def _left_out(host: str, played: Played) -> HostResult:
    words = "" if played.status in _WELL_ENDED else last_words(played.printed)
    message = tr("ansible did not reach it: {why}", why=words) if words else tr("ansible did not reach it")
    return HostResult(host, "failed", message=message)
