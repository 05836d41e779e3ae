"""Run the steps of a plan, with a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from msgspec import Struct

from gpuenv.environments.store import make_directory
from gpuenv.files.disk_space import check_free_space
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, InstallFailed
from gpuenv.model.plan import Step
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.process import interruption
from gpuenv.process import subprocesses as process

_SHOWN_LINES = 15
_SHOWN_LETTERS = 64 * 1024


class StepEnvironment(Struct, frozen=True):
    """How steps are run: programs that are elsewhere than their names say, variables, log, descriptors.

    `tell` gets messages, `detail` those for who wants to know more.
    """

    environ: Mapping[str, str]
    log: Path
    executables: Mapping[str, str]
    show: bool = True
    keep_open: tuple[int, ...] = ()
    tell: Callable[[str], None] = lambda _: None
    detail: Callable[[str], None] = lambda _: None


def run_steps(steps: tuple[Step, ...], running: StepEnvironment, after_each: Callable[[], None]) -> None:
    """Run the steps one after the other; raise InstallFailed for the first that fails."""
    for step in steps:
        interruption.check()
        running.tell(step.why)
        argv = (running.executables.get(step.argv[0], step.argv[0]), *step.argv[1:])
        done = process.stream(
            argv, log=running.log, environ=running.environ, show=running.show, keep_open=running.keep_open
        )
        if not done.ok:
            raise step_failed(step, done, running.log)
        after_each()


def step_failed(step: Step, done: process.Completed, log: Path) -> InstallFailed:
    """Say which step failed, with the last lines it printed and where all of them are."""
    from gpuenv.signatures.log_pages import readable_lines  # noqa: PLC0415 - for a failure alone

    lines = [line.rstrip() for line in readable_lines(done.stdout[-_SHOWN_LETTERS:]) if line.strip()]
    last = "\n".join(lines[-_SHOWN_LINES:]) or done.error or tr("it printed nothing")
    ending = (
        tr("could not be started") if done.returncode is None else tr("failed ({code})", code=done.returncode)
    )
    return InstallFailed(
        tr("`{program}` {ending}; no changes were kept", program=" ".join(step.argv[:3]), ending=ending),
        code="disk-full" if "No space left on device" in last else "install-failed",
        because=(Because(last, str(log)),),
        fixes=(Fix(tr("the full log is in {log}", log=log)),),
        data={"log": str(log), "step": list(step.argv), "returncode": done.returncode},
    )


def new_log(environment: EnvironmentPaths) -> Path:
    """Return the file in which a change of an environment is logged."""
    make_directory(environment.store.logs)
    return environment.log(datetime.now(timezone.utc))


def remove_logs(environment: EnvironmentPaths) -> None:
    """Remove the logs of an environment; what can't be removed stays."""
    for log in environment.store.logs.glob(f"*{environment.log_suffix}"):
        with suppress(OSError):
            log.unlink()


def check_space(environment: EnvironmentPaths, needed: int) -> None:
    """Raise InstallFailed when fewer than `needed` bytes are free where the environment goes."""
    check_free_space(
        environment.path,
        needed,
        tr("free disk space, or set GPUENV_DATA_DIR to a directory on a larger disk"),
    )
