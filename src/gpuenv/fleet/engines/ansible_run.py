"""Run a playbook through ansible-runner, and end it on Ctrl-C."""

from __future__ import annotations

import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from msgspec import Struct

from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.own_metadata import install_extra
from gpuenv.process.surroundings import absolute_variables, empty_folder

_LOOK_S = 0.5  # so often it is looked whether Ctrl-C was pressed
_GRACE_S = 10.0  # for Ansible to end its workers
_LONGEST_ANSWER = 1 << 26  # characters; above it ansible-runner drops what a host answered

# Nobody could answer a prompt: a host whose key is not known stays unreachable, a password comes from where
# Ansible is configured to read it.
_PROMPTS = {
    r"\(yes/no(/\[fingerprint\])?\)\? *$": "no",
    r"(?i)(password|passphrase)[^\n]*: *$": "",
}
# A batch system's number of a job need not be a number, which ansible-runner's callback takes it for.
_OF_AWX = ("JOB_ID", "AD_HOC_COMMAND_ID", "PROJECT_UPDATE_ID")
# ansible-runner would turn off the keys, and keep what Ansible finds out of hosts in files called after them.
_OF_THE_PERSON = (
    "ANSIBLE_HOST_KEY_CHECKING", "ANSIBLE_CACHE_PLUGIN", "ANSIBLE_CACHE_PLUGIN_CONNECTION",
)  # fmt: skip

OnEvent = Callable[[Mapping[str, Any]], None]


class Play(Struct, frozen=True):
    """`playbook.yml` in `folder`, which is ours, to be run with the person's own settings and directory."""

    program: str
    folder: Path
    options: tuple[str, ...]
    environ: Mapping[str, str]


class Played(Struct, frozen=True):
    """How a playbook ended: ansible-playbook's exit status and all that it printed."""

    status: int | None
    printed: str


def play(what: Play, on_event: OnEvent) -> Played:
    """Run the playbook and tell each of its events; raise UsageError where ansible-runner is not there.

    On Ctrl-C Ansible is ended before KeyboardInterrupt is raised, as it is for what `on_event` raises.
    """
    interruption = _Interruption(on_event)
    runner = _prepared(what, interruption)
    with interruption.heeded(), suppress(_end_of_terminal()):
        runner.run()
    if interruption.error is not None:
        raise interruption.error
    if interruption.signals:
        raise KeyboardInterrupt
    return Played(runner.rc, _printed(runner))


def _prepared(what: Play, interruption: _Interruption) -> Any:
    runner = _load().interface.init_runner(
        private_data_dir=str(what.folder),
        project_dir=str(empty_folder()),
        playbook=str(what.folder / "playbook.yml"),
        cmdline=shlex.join(what.options),
        envvars=with_utf8(absolute_variables(what.environ)),
        passwords=_PROMPTS,
        quiet=True,
        event_handler=interruption.on_event,
        cancel_callback=interruption.is_overdue,
    )
    config = runner.config
    config.command[0] = what.program
    config.cwd = str(empty_folder())  # an ansible.cfg of the current folder may be a stranger's
    config.pexpect_timeout = _LOOK_S
    config.env["MAX_EVENT_RES"] = str(_LONGEST_ANSWER)
    for name in (*_OF_AWX, *_OF_THE_PERSON):
        config.env.pop(name, None)
    named = absolute_variables(what.environ)
    config.env.update({name: named[name] for name in _OF_THE_PERSON if name in named})
    return runner


def with_utf8(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with an encoding that Ansible starts in: it refuses all but UTF-8."""
    settings = (environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    chosen = next(filter(None, settings), "")
    return {**environ, **({"LC_ALL": "C.UTF-8"} if "utf" not in chosen.lower() else {})}


def _load() -> Any:
    try:
        import ansible_runner  # noqa: PLC0415 - an extra
        import ansible_runner.interface  # noqa: PLC0415
    except ImportError:
        raise not_installed("ansible-runner") from None
    return ansible_runner


def not_installed(name: str) -> UsageError:
    """Return the error of a part of Ansible that is missing."""
    return UsageError(
        tr("{name} is not installed", name=name),
        code="no-ansible",
        fixes=(Fix(tr("install Ansible next to gpuenv"), install_extra("fleet")),),
    )


def _end_of_terminal() -> type[Exception]:
    """Return what is raised where a process that outlives Ansible keeps its terminal open."""
    import pexpect  # noqa: PLC0415 - comes with ansible-runner

    result: type[Exception] = pexpect.exceptions.ExceptionPexpect
    return result


def _printed(runner: Any) -> str:
    path = Path(runner.config.artifact_dir) / "stdout"
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


class _Interruption:
    """Ends Ansible on a signal, or on what a listener raises: it is asked to, and made to when overdue."""

    def __init__(self, on_event: OnEvent) -> None:
        self.signals: list[int] = []
        self.error: BaseException | None = None
        self._listener = on_event
        self._ansible: int | None = None
        self._deadline: float | None = None

    def on_event(self, event: dict[str, Any]) -> bool:
        """Hand an event on; tell ansible-runner to keep no copy of it."""
        self._ansible = self._ansible or _process_of(event)
        if self.error is None:
            try:
                self._listener(event)
            except BaseException as error:  # noqa: BLE001 - raised again when Ansible has ended
                self.error = error
        return False

    def is_overdue(self) -> bool:
        """Whether Ansible is to be made to end; the first time it is needed, ask it to."""
        if not self.signals and self.error is None:
            return False
        if self._deadline is None:
            self._deadline = time.monotonic() + _GRACE_S
            if self._ansible is None:
                return True
            with suppress(ProcessLookupError):  # it leads a group: as a terminal does it
                os.killpg(self._ansible, signal.SIGINT)
        return len(self.signals) > 1 or time.monotonic() > self._deadline

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Heed Ctrl-C and SIGTERM in the block; only the main thread may."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        previous = {number: signal.signal(number, self._note) for number in numbers}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.signals.append(number)


def _process_of(event: Mapping[str, Any]) -> int | None:
    """Return Ansible's process: only it, no worker of its own, tells that the playbook starts."""
    pid = event.get("pid")
    return pid if event.get("event") == "playbook_on_start" and isinstance(pid, int) else None
