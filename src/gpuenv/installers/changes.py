"""Let uv resolve the changes of an environment."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from gpuenv.i18n.messages import tr
from gpuenv.installers import uv
from gpuenv.installers.dry_run import PackageChange, parse_uv_changes
from gpuenv.installers.uv_compile import run_resolver
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.plan import Sources


class ChangeQuestion(Struct, frozen=True):
    """Requirements of an environment; packages that fit stay, except those to `upgrade` or reinstall."""

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
    """Return the changes by name; uv decides, whichever installer applies them. Raises as `run_resolver`."""
    lines = "\n".join(question.constraints)
    done = run_resolver(change_arguments(question), question.sources, lines, environ)
    return done if isinstance(done, Unresolvable) else parse_uv_changes(done.stderr + "\n" + done.stdout)


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
