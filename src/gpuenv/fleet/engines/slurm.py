"""Slurm as the engine of a fleet: a job on each node of a partition, in the queue like any other."""

from __future__ import annotations

import json
import os
import re
import secrets
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from gpuenv.fleet.engines.slurm_jobs import Job, Jobs
from gpuenv.fleet.engines.slurm_limit import HostPattern, parse_limit
from gpuenv.fleet.engines.slurm_text import NODE_FORMAT, SlurmNode, last_words, parse_nodes
from gpuenv.fleet.run_model import Action, HostResult, NodeTask, OnHost
from gpuenv.i18n.messages import series, tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.process.guardian import temporary_folder
from gpuenv.process.subprocesses import Completed, run
from gpuenv.process.surroundings import find_executable

START = Path(__file__).with_name("slurm_start.py")
START_SHELL = Path(__file__).with_name("slurm_start.sh")
_FORKS = 32
_ASK_S = 60.0  # sinfo itself waits for the controller, longer than it should
_MINUTE_S = 60
# Outputs of these are read; the folder that gpuenv is called from need not be on the node.
_PLAIN = (
    "--nodes=1", "--ntasks=1", "--input=all", "--output=all", "--error=all", "--mpi=none", "--chdir=/",
)  # fmt: skip
_ON_GPUS: tuple[Action, ...] = ("detect", "verify")
_ASKS_FOR_GPUS = ("gres", "gpus", "G", "tres-per")
_OPTION = re.compile(r"-[A-Za-z].*|(--)?[a-z][a-z-]+(=.*)?")
_VARIABLES_OF_GPUS = ("SLURM_GRES", "SLURM_GPUS", "SLURM_TRES_PER_TASK")
# What is left of Slurm's variables inside a job: the others describe that job, and srun would obey them.
_OF_THE_CLUSTER = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_CLUSTERS")
_SPOILS_OUTPUT = ("SLURM_LABELIO", "SLURM_PTY_PORT", "SLURM_PTY_WIN_COL", "SLURM_PTY_WIN_ROW")


class Slurm(Struct, frozen=True):
    """Nodes of a partition, or of several with commas between.

    `node_program` is the zipapp, `limit` a host list or a pattern, `forks` how many jobs at a time,
    `timeout_s` a job's time limit and `wait_s` how long it may wait in the queue, in seconds (None: none of
    ours). `options` are options of srun; its own variables (SLURM_ACCOUNT and others) count as well.
    """

    node_program: bytes
    partition: str
    limit: str | None = None
    forks: int | None = None
    timeout_s: int | None = None
    wait_s: int | None = None
    options: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    name: str = "slurm"

    def hosts(self) -> tuple[str, ...]:
        """Return the nodes of the partition within the limit, also those that are down; raise UsageError."""
        for word in self.options:
            _option(word)
        return tuple(node.name for node in self._nodes())

    def run(self, task: NodeTask, on_host: OnHost) -> tuple[HostResult, ...]:
        """Run the task on the nodes that have a request; tell each node's state as it changes.

        A node where no job can start is reported with Slurm's reason. Raises UsageError where Slurm does not
        respond.
        """
        if not task.requests:
            return ()
        nodes = {node.name: node for node in self._nodes()}
        name = f"gpuenv-{secrets.token_hex(6)}"
        results: dict[str, HostResult] = {}
        jobs = []
        for host, request in task.requests.items():
            node = nodes.get(host)
            if node is None or node.away is not None:
                results[host] = _not_there(host, node)
                on_host(results[host])
            else:
                argv = self._argv(name, node, task.action)
                jobs.append(Job(host, argv, self._stdin(task, request)))
        with temporary_folder("gpuenv-fleet-") as folder:
            at_work = Jobs(name, Path(folder), self.forks or _FORKS, self._variables(), on_host)
            results |= at_work.run(jobs)
        return tuple(results[host] for host in task.requests)

    def _nodes(self) -> tuple[SlurmNode, ...]:
        """Return the nodes that are meant; raise UsageError where there are none."""
        patterns = _patterns(self.limit)
        ended = self._ask(
            "sinfo", "--noheader", "--Node", f"--partition={self.partition}", f"--format={NODE_FORMAT}"
        )
        try:
            nodes = parse_nodes(ended.stdout)
        except ValueError as error:
            raise _failed("sinfo", str(error)) from None
        meant = tuple(
            node for node in nodes if any(pattern.fits(node.name) for pattern in patterns) or not patterns
        )
        if not nodes:
            raise self._no_partition()
        if not meant:
            raise UsageError(
                tr(
                    "no node of the partition `{name}` matches `{limit}`",
                    name=self.partition,
                    limit=self.limit,
                ),
                code="no-hosts",
                fixes=(Fix(tr("name nodes as in Slurm, such as gpu[1-4] or gpu*")),),
            )
        return meant

    def _no_partition(self) -> UsageError:
        names = sorted(set(self._ask("sinfo", "--noheader", "--format=%R").stdout.split()))
        return UsageError(
            tr("Slurm has no nodes in the partition `{name}`", name=self.partition),
            code="no-hosts",
            fixes=tuple(Fix(tr("name a partition: {names}", names=series(names))) for _ in names[:1]),
        )

    def _ask(self, program: str, *arguments: str) -> Completed:
        ended = run((self._find(program), *arguments), timeout_s=_ASK_S, environ=self._variables())
        if ended.ok:
            return ended
        words = ended.error or last_words(ended.stderr) or last_words(ended.stdout)
        if ended.timed_out:
            words = tr("it timed out after {seconds} s", seconds=f"{_ASK_S:g}")
        raise _failed(program, words)

    def _find(self, program: str) -> str:
        path = find_executable(program, {"PATH": self.environ.get("PATH", os.defpath)})
        if path is None:
            raise UsageError(
                tr("`{program}` is not on PATH: Slurm is not installed here", program=program),
                code="no-slurm",
                fixes=(Fix(tr("run gpuenv on a login node of the cluster")),),
            )
        return str(path)

    def _argv(self, name: str, node: SlurmNode, action: Action) -> tuple[str, ...]:
        """Return the srun of one node; what a person asks for comes before what must be so."""
        given = tuple(_option(word) for word in self.options)
        shell = START_SHELL.read_text(encoding="utf-8")
        return (
            self._find("srun"), *self._limits(node, action), *given, *_PLAIN, f"--partition={self.partition}",
            f"--nodelist={node.name}", f"--job-name={name}",
            "sh", "-c", shell, START.read_text(encoding="utf-8"), action,
        )  # fmt: skip

    def _limits(self, node: SlurmNode, action: Action) -> tuple[str, ...]:
        """Return what a job asks for: where Slurm guards the GPUs, it sees none that it has not got."""
        minutes = (f"--time={-(-self.timeout_s // _MINUTE_S)}",) if self.timeout_s else ()
        waits = (f"--immediate={self.wait_s}",) if self.wait_s else ()
        gpus = (f"--gres=gpu:{node.gpus}",) if self._wants_gpus(node, action) else ()
        return (*minutes, *waits, *gpus)

    def _wants_gpus(self, node: SlurmNode, action: Action) -> bool:
        requested = any(option.lstrip("-").startswith(_ASKS_FOR_GPUS) for option in self.options)
        by_variable = any(name.startswith(_VARIABLES_OF_GPUS) for name in self._variables())
        return action in _ON_GPUS and node.gpus > 0 and not requested and not by_variable

    def _stdin(self, task: NodeTask, request: Mapping[str, Any]) -> str:
        requested = {**request, "check": True} if task.check and task.action == "create" else dict(request)
        return json.dumps({"request": requested, "program": b64encode(self.node_program).decode()})

    def _variables(self) -> Mapping[str, str]:
        in_job = "SLURM_JOB_ID" in self.environ
        return {
            name: value
            for name, value in self.environ.items()
            if name not in _SPOILS_OUTPUT
            and (not in_job or name in _OF_THE_CLUSTER or not name.startswith(("SLURM_", "SRUN_")))
        }


def _option(word: str) -> str:
    """Return an option in srun's form; anything else would end its options, and so ours after it."""
    if _OPTION.fullmatch(word) and word.isprintable():
        return word if word.startswith("-") else f"--{word}"
    raise UsageError(
        tr("`{word}` is not a valid option of srun", word=word),
        code="bad-slurm-option",
        fixes=(Fix(tr("write it as one word, such as account=lab")),),
    )


def _patterns(limit: str | None) -> tuple[HostPattern, ...]:
    try:
        return parse_limit(limit) if limit is not None else ()
    except ValueError as error:
        raise UsageError(
            str(error),
            code="bad-limit",
            fixes=(Fix(tr("name nodes as in Slurm, such as gpu[1-4] or gpu*")),),
        ) from None


def _not_there(host: str, node: SlurmNode | None) -> HostResult:
    if node is None:
        return HostResult(host, "failed", message=tr("Slurm has no such node in the partition"))
    return HostResult(host, "unreachable", message=node.away or "")


def _failed(program: str, words: str) -> UsageError:
    return UsageError(
        tr("Slurm does not respond"),
        code="slurm-failed",
        because=tuple(Because(line, program) for line in words.splitlines()),
    )
