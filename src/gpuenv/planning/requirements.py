"""Requirements from the command line and from requirements files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import Requirement

from gpuenv.files.read_text import read_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import N_, tr
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.plan import OriginalRequest, PlanWarning
from gpuenv.planning.options import PlanOptions
from gpuenv.resolution.request import OPTIONAL, parse_named, parse_requirements
from gpuenv.secrets.url_credentials import redact_credentials, without_userinfo

_LARGEST = 8 << 20  # bytes
_MOST_FILES = 200
_MOST_LINES = 10_000
_COMMENT = re.compile(r"(?:^|\s)#.*")
_HASHES = re.compile(r"\s--hash[=\s]\s*\S+")
_RELATIVE = re.compile(r"(?P<name>[\w.-]+(?:\[[^\]]*\])?)\s*@\s*(?P<path>\.{0,2}/[^;\s]*)(?P<more>\s+;.*)?")
_MORE = re.compile(r"(?:-r|--requirement)(?:\s*=\s*|\s*)(?P<file>\S.*)")
# Where files come from is what gpuenv decides; torch from a second index would be one of chance.
_PLACES = re.compile(
    r"(?:-i|-f|--index-url|--extra-index-url|--find-links|--trusted-host|--prefer-binary|--require-hashes)(?:[=\s]|$)"
)


class RequirementsFile(Struct, frozen=True):
    """What a requirements file and those that it names ask for; `passed_over` are lines that do not count."""

    lines: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()


class GatheredRequirements(Struct, frozen=True):
    """All that is requested, with warnings about lines of requirements files that are ignored.

    `optional` are projects that nobody requested, and that are added if they are available.
    """

    requirements: tuple[Requirement, ...]
    warnings: tuple[PlanWarning, ...]
    optional: tuple[str, ...] = ()


def gather_requirements(options: PlanOptions) -> GatheredRequirements:
    """Return all that is requested; raise UsageError for invalid requirements and unreadable files."""
    read, warnings = with_files_read(options)
    optional = () if read.requirements else OPTIONAL
    return GatheredRequirements(parse_requirements(read.requirements), warnings, optional)


def with_files_read(options: PlanOptions) -> tuple[PlanOptions, tuple[PlanWarning, ...]]:
    """Return the options with the requirements files read, and warnings about them.

    Raises UsageError for unreadable files.
    """
    files = [(path, read_requirements(path)) for path in options.requirement_files]
    typed = (_anchored(text, Path.cwd()) for text in options.requirements)
    lines = chain(typed, chain.from_iterable(file.lines for _, file in files))
    text = N_("{file}: `{line}` is ignored: gpuenv chooses the source of the files itself")
    warnings = tuple(
        PlanWarning("requirements-file", tr(text, file=path, line=redact_credentials(line)))
        for path, file in files
        for line in dict.fromkeys(file.passed_over)
    )
    return replace(options, requirements=tuple(lines), requirement_files=()), warnings


def read_requirements(path: Path) -> RequirementsFile:
    """Return what a pip requirements file and those that it includes with `-r` require.

    Comments and blank lines are dropped, continued lines joined. Index options and hashes are ignored; other
    options raise UsageError, and so does a file that cannot be read.
    """
    return _read(path, (), _Budget(path))


class _Budget(Struct):
    """A limit for a file and those that it includes: each may include the next one twice."""

    path: Path
    files: int = 0
    lines: int = 0

    def take(self, lines: int) -> None:
        self.files, self.lines = self.files + 1, self.lines + lines
        if self.files > _MOST_FILES:
            raise _unreadable(self.path, tr("it includes more than {most} files", most=_MOST_FILES))
        if self.lines > _MOST_LINES:
            raise _unreadable(self.path, tr("it requires more than {most} packages", most=_MOST_LINES))


def _read(path: Path, within: tuple[Path, ...], budget: _Budget) -> RequirementsFile:
    if path in within:
        raise _unreadable(path, tr("it includes itself"))
    try:
        lines = numbered_lines(read_text(path, _LARGEST))
    except (OSError, ValueError) as error:
        raise _unreadable(path, reason_of(error)) from None
    budget.take(len(lines))
    files = [_read_line(line, number, path, within, budget) for number, line in lines]
    return RequirementsFile(
        tuple(chain.from_iterable(file.lines for file in files)),
        tuple(chain.from_iterable(file.passed_over for file in files)),
    )


def _unreadable(path: Path, reason: str) -> UsageError:
    text = tr("`{path}` cannot be read: {reason}", path=path, reason=reason)
    fix = Fix(tr("give an existing, readable requirements file"))
    return UsageError(text, code="bad-requirements-file", fixes=(fix,))


def numbered_lines(text: str) -> tuple[tuple[int, str], ...]:
    r"""Return the numbered lines of a requirements file, continued ones joined, without comments and blanks.

    torch==2.1.2  # the paper's
    numpy>=1.24 \
        ; python_version < "3.13"
    """
    whole = ((number, _COMMENT.sub("", line).strip()) for number, line in _joined(text))
    return tuple((number, line) for number, line in whole if line)


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with the number of the first that each was continued from."""
    parts: list[str] = []
    first = 1
    for number, line in enumerate(text.splitlines(), 1):
        first = first if parts else number
        parts.append(line.removesuffix("\\"))
        if not line.endswith("\\"):
            yield first, " ".join(parts)
            parts = []
    yield first, " ".join(parts)


def _read_line(
    line: str, number: int, path: Path, within: tuple[Path, ...], budget: _Budget
) -> RequirementsFile:
    more = _MORE.fullmatch(line)
    if more:
        return _read(path.parent / more["file"], (*within, path), budget)
    if _PLACES.match(line):
        return RequirementsFile((), (line,))
    if line.startswith("-"):
        raise UsageError(
            tr("`{line}` in {file} is an option, not a requirement", line=line, file=path),
            code="option-in-requirements",
            because=(Because(tr("gpuenv chooses the source of the files itself"), str(path)),),
            fixes=(Fix(tr("remove the line; give --mirror or --find-links on the command line instead")),),
        )
    bare = _HASHES.sub("", line).strip()
    anchored = _anchored(bare, path.absolute().parent)
    check_requirements((anchored,), f"{path}:{number}")
    return RequirementsFile((anchored,), () if bare == line else ("--hash",))


def check_requirements(texts: tuple[str, ...], location: str) -> None:
    """Raise UsageError with the location of an invalid requirement."""
    try:
        parse_named(texts)
    except UsageError as error:
        message = tr("{place}: {text}", place=location, text=error.message)
        raise UsageError(message, code=error.code, because=error.because, fixes=error.fixes) from None


def _anchored(text: str, folder: Path) -> str:
    """Return a requirement with an address for its path (`mine @ ./mine.whl`): installers run elsewhere."""
    named = _RELATIVE.fullmatch(text.strip())
    if named is None:
        return text
    return f"{named['name']} @ {Path(os.path.normpath(folder / named['path'])).as_uri()}{named['more'] or ''}"


def original_request(options: PlanOptions, requirements: tuple[Requirement, ...]) -> OriginalRequest:
    """Return what a plan was requested for, without passwords: those are looked up again when needed."""
    return OriginalRequest(
        requirements=tuple(redact_credentials(str(requirement)) for requirement in requirements),
        mirrors=tuple(map(without_userinfo, options.mirrors)),
        find_links=tuple(map(_lasting, options.find_links)),
        cuda=options.cuda,
        channel=options.channel,
        devices=options.devices,
    )


def _lasting(location: str) -> str:
    """Return a wheelhouse as it can be found from any folder."""
    return without_userinfo(location) if is_remote(location) else str(local_path(location).absolute())
