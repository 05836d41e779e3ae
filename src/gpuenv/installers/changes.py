"""What an installer would change in an environment, so that all that is asked for holds together there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpuenv.i18n.messages import tr
from gpuenv.installers import uv
from gpuenv.installers.dry_run import PackageChange, parse_uv_changes
from gpuenv.installers.uv_compile import LIMIT_S
from gpuenv.installers.uv_failure import Unresolvable, parse_failure
from gpuenv.model.plan import Sources
from gpuenv.process import subprocesses as process


@dataclass(frozen=True, slots=True)
class ChangeQuestion:
    """What is to hold in the environment of an interpreter.

    All of `requirements` are to hold together; what is there and fits stays. `constraints` hold for what else
    comes along. `upgrade` are names of which the newest is taken, `again` names that are installed anew.
    """

    python: str
    requirements: tuple[str, ...]
    constraints: tuple[str, ...]
    sources: Sources
    offline: bool = False
    upgrade: tuple[str, ...] = ()
    again: tuple[str, ...] = ()


def ask_changes(
    question: ChangeQuestion, environ: Mapping[str, str]
) -> tuple[PackageChange, ...] | Unresolvable:
    """Return what would change, by name; uv decides, whoever installs, as it knows what is there.

    Raises Unreachable where an index could not be read, InstallFailed where uv failed in another way.
    """
    done = process.run(
        (uv.find(), *change_arguments(question)),
        timeout_s=LIMIT_S,
        environ=uv.environment(environ, question.sources),
        stdin="\n".join(question.constraints) + "\n",
    )
    if done.ok:
        return parse_uv_changes(done.stderr + "\n" + done.stdout)
    return parse_failure(done.stderr or done.error or tr("uv timed out"))


def change_arguments(question: ChangeQuestion) -> tuple[str, ...]:
    """Return the arguments of `uv pip install`; the constraints come on stdin."""
    for text in question.requirements:
        if text.startswith("-"):
            raise ValueError(tr("`{text}` is an option, not a requirement", text=text))
    return (
        "pip", "install", "--dry-run", "--color", "never", "--no-progress", "--python", question.python,
        *question.requirements, "-c", "-",
        *(("--offline",) if question.offline else ()),
        *(word for name in question.upgrade for word in ("--upgrade-package", name)),
        *(word for name in question.again for word in ("--reinstall-package", name)),
        *uv.source_options(question.sources),
    )  # fmt: skip
