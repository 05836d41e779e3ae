"""Format `requirements.txt`: for `pip install -r` and `uv pip install -r`."""

from __future__ import annotations

import shlex

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from gpuenv.formats.shell import one_line
from gpuenv.formats.text import summary
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.locked import Locked, LockedFile
from gpuenv.model.plan import Plan, Sources
from gpuenv.secrets.url_credentials import has_userinfo, without_userinfo


def render_requirements(plan: Plan) -> str:
    """Return a requirements file: where from, the pinned torch stack, the user's others, the workarounds.

    Raises UsageError for an address that would not stay in its line, and where torch is a conda package.
    """
    if plan.is_condas:
        raise for_conda_tools(
            tr("a requirements file cannot contain conda packages: torch would come from PyPI")
        )
    return _file(plan, [*source_lines(plan.sources), *plan.pins, *plan.requirements, *plan.constraints])


def render_locked_requirements(locked: Locked) -> str:
    """Return a requirements file of every file that the plan brings, each with its hash.

    pip and uv then demand hashes of all there is. Raises UsageError for an address that would not stay in its
    line.
    """
    return _file(locked.plan, [*source_lines(locked.sources), *hashed_lines(locked)])


def _file(plan: Plan, lines: list[str]) -> str:
    """Return a file that is shared: without passwords, and with where to put them."""
    text = "\n".join([*(f"# {one_line(line)}" for line in summary(plan)), *lines]) + "\n"
    if not has_userinfo(text):
        return text
    where = tr("an index requires a password: put it into ~/.netrc")
    return f"# {one_line(where)}\n{without_userinfo(text)}"


def hashed_lines(locked: Locked) -> list[str]:
    """Return a line for each file: its exact version, or its address where no index lists it."""
    pins = {canonicalize_name(Requirement(pin).name): pin for pin in locked.plan.pins}
    return [f"{_exactly(file, pins)} --hash=sha256:{file.sha256}" for file in locked.files]


def _exactly(file: LockedFile, pins: dict[NormalizedName, str]) -> str:
    if file.index is None:
        return f"{file.name} @ {_one_word(file.url)}"
    return pins.get(canonicalize_name(file.name), f"{file.name}=={file.version}")


def for_conda_tools(problem: str) -> UsageError:
    """Return the error of a format of wheels where torch is a conda package."""
    return UsageError(
        problem,
        code="usage",
        fixes=(
            Fix(tr("choose the format of conda tools"), "gpuenv plan --format environment.yml"),
            Fix(tr("or use torch as a wheel: --channel wheels")),
        ),
    )


def source_lines(sources: Sources) -> list[str]:
    """Return the lines of a requirements file that say where from.

    Raises UsageError for an address that would not stay in its line.
    """
    options = ["--no-index"] if sources.no_index else []
    if sources.index_url and not sources.no_index:
        options.append(_option("--index-url", sources.index_url))
    options += [_option("--extra-index-url", url) for url in sources.extra_index_urls if not sources.no_index]
    return options + [_option("--find-links", find_link) for find_link in sources.find_links]


def _option(name: str, value: str) -> str:
    """Write an option as a POSIX shell would read it: pip and uv do so too."""
    if not value.isprintable():
        raise _unwritable(value)
    return f"{name} {shlex.quote(value)}"


def _one_word(url: str) -> str:
    """An address ends at the first blank, and what follows would be options."""
    if not url.isprintable() or " " in url:
        raise _unwritable(url)
    return url


def _unwritable(value: str) -> UsageError:
    return UsageError(
        tr("{value} cannot be written into a requirements file", value=repr(value)), code="unprintable"
    )
