"""Requirements from the command line and from requirements files."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.requirements import Requirement

from gpuenv.core.request import parse_requirements
from gpuenv.values.errors import Because, Fix, UsageError
from gpuenv.values.system_words import reason_of
from gpuenv.values.text import tr
from gpuenv.workflow.options import PlanOptions
from gpuenv.workflow.read import read_text

_COMMENT = re.compile(r"(?:^|\s)#.*")


def gather_requirements(options: PlanOptions) -> tuple[Requirement, ...]:
    """Return all that is asked for; raise UsageError for what is no requirement and for unreadable files."""
    lines = tuple(line for path in options.requirement_files for line in read_requirements(path))
    return parse_requirements((*options.requirements, *lines))


def read_requirements(path: Path) -> tuple[str, ...]:
    """Return the requirements of a pip requirements file.

    Comments and blank lines go, continued lines are joined. Options in the file would decide where torch
    comes from, behind gpuenv's back: they raise UsageError, and so does a file that can't be read.
    """
    try:
        text = read_text(path)
    except (OSError, ValueError) as error:
        reason = reason_of(error)
        raise UsageError(
            tr("`{path}` can't be read: {reason}", path=path, reason=reason), code="bad-requirements-file"
        ) from None
    return parse_requirement_lines(text, str(path))


def parse_requirement_lines(text: str, name: str) -> tuple[str, ...]:
    r"""Parse the text of a requirements file called `name`.

    torch==2.1.2  # the paper's
    numpy>=1.24 \
        ; python_version < "3.13"
    """
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        requirement = _without_comment(line)
        if requirement.startswith("-"):
            raise _option(requirement, name)
        if requirement:
            found.append(requirement)
    return tuple(found)


def _without_comment(line: str) -> str:
    return _COMMENT.sub("", line).strip()


def _option(line: str, name: str) -> UsageError:
    return UsageError(
        tr("`{line}` in {file} is an option, not a requirement", line=line, file=name),
        code="option-in-requirements",
        because=(Because(tr("gpuenv decides itself where the files come from"), name),),
        fixes=(Fix(tr("take the line out; give --mirror or --find-links on the command line instead")),),
    )
