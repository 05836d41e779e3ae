"""The rattler manager: conda environments without any conda tool, by py-rattler (extra `rattler`).

It solves and installs within this process, and uses the network by itself (see rattler_calls).
"""

from __future__ import annotations

import importlib.metadata
import re
from functools import cache
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from gpuenv import matrices
from gpuenv.i18n.messages import tr
from gpuenv.installers.conda import commands as conda_calls
from gpuenv.installers.conda import rattler_calls
from gpuenv.installers.conda.check_solution import Tool
from gpuenv.installers.conda.failure import CondaFailure, FailureWords, parse_failure_words
from gpuenv.installers.conda.rattler_calls import InstallProgress, RattlerError
from gpuenv.installers.conda.rattler_client import RattlerSession
from gpuenv.installers.conda.solve import Solved, check_pins, error_of
from gpuenv.installers.conda.tool import Calling, CondaTool
from gpuenv.model.conda import CondaChannel, CondaRecord, CondaWanted
from gpuenv.model.errors import Because, Fix, GpuenvError, Unreachable, UsageError
from gpuenv.model.plan import Step

NAME: Final[Tool] = "rattler"
_DISTRIBUTION = "py-rattler"
_MINOR = "0.28"  # its interface changes with most minor releases
_SAME = "micromamba"  # the tool whose command does what py-rattler does without one
_LINES = 12
_URL = re.compile(r"(?:https?|file)://[^\s()'\"<>]+")
_PASSWORD = re.compile(r"(?<=://)[^/?#\s]*@")
_FIRST = frozenset({"missing", "no-gpu", "disk-full"})  # by the text, whatever the exception


def steps(wanted: CondaWanted) -> tuple[Step, ...]:
    """Return the equivalent command of a conda tool: py-rattler has none."""
    (step,) = conda_calls.steps(_SAME, wanted)
    why = tr("create the conda environment within gpuenv; this command of {tool} is equivalent", tool=_SAME)
    return (replace(step, why=why),)


def is_there() -> bool:
    """Whether the extra is installed in a supported version."""
    return _version().rpartition(".")[0] == _MINOR


def find() -> CondaTool:
    """Return py-rattler as a tool for messages; raise UsageError if it is missing or not supported."""
    version = _version()
    if is_there():
        return CondaTool(NAME, f"{_DISTRIBUTION} {version}")
    from gpuenv.own_metadata import install_extra  # noqa: PLC0415 - reads this installation

    message = tr("py-rattler was not found")
    if version:
        message = tr("py-rattler {version} is not the version that gpuenv supports", version=version)
    fixes = (
        Fix(tr("install it next to gpuenv"), install_extra("rattler")),
        Fix(tr("or use another manager: --manager uv")),
    )
    raise UsageError(message, code="manager-missing", fixes=fixes)


@cache
def _failure_words() -> FailureWords:
    return parse_failure_words(matrices.load("conda-tools"), embedded=True)


def _version() -> str:
    try:
        return importlib.metadata.version(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return ""


def solve(wanted: CondaWanted, calling: Calling) -> tuple[CondaRecord, ...]:
    """Return the packages that would be installed; see `solve_somewhere`."""
    return solve_somewhere(wanted, calling).records


def solve_somewhere(wanted: CondaWanted, calling: Calling) -> Solved:
    """Solve, trying all URLs of a channel; raise Unsatisfiable, Unreachable or UsageError."""
    tool = find()
    missed: tuple[tuple[str, str], ...] = ()
    while True:
        try:
            records, fetch = rattler_calls.solve_records(wanted, _session(calling))
            break
        except RattlerError as error:
            failure = parse_rattler_failure(error.exception, str(error), _failure_words())
            left = addresses_left(wanted, failure.url) if failure.kind == "channel" else wanted
            if left == wanted or calling.offline:
                raise _error_of(tool, failure) from None
        pairs = zip(wanted.channels, left.channels, strict=True)
        missed += tuple(
            (url, failure.reason) for old, new in pairs for url in old.urls if url not in new.urls
        )
        calling.tell(tr("{url} cannot be read; trying the next URL", url=missed[-1][0]))
        wanted = left
    check_pins(tool, records, wanted)
    return Solved(wanted, records, fetch, missed)


def install(solved: Solved, calling: Calling, follower: InstallProgress) -> None:
    """Install into the prefix, which the caller removes on failure; raise Unreachable or InstallFailed."""
    tool = find()
    if calling.offline and solved.fetch:
        raise _not_cached(solved.fetch)
    session = _session(calling)
    try:
        rattler_calls.install_records(solved.wanted, solved.records, session, follower)
    except LookupError as error:
        reason = tr("`{file}` no longer exists", file=error.args[0])
        raise _error_of(tool, CondaFailure("channel", reason)) from None
    except RattlerError as error:
        failure = parse_rattler_failure(error.exception, str(error), _failure_words())
        if failure.url is None:  # failed to fetch pip-24.3.1-….conda
            named = (record.url for record in solved.records if record.filename in str(error))
            failure = replace(failure, url=next(named, None))
        raise _error_of(tool, failure) from None


def package_caches(calling: Calling) -> tuple[Path, ...]:
    """Return where packages are kept."""
    return (_session(calling).packages,)


def _session(calling: Calling) -> RattlerSession:
    bundle = calling.ca_bundle or calling.environ.get("SSL_CERT_FILE")
    return RattlerSession(calling.cache, calling.offline, bundle)


def addresses_left(wanted: CondaWanted, url: str | None) -> CondaWanted:
    """Leave out the channel URL that `url` is below, unless its channel has no other."""
    return replace(wanted, channels=tuple(_without(channel, url or "") for channel in wanted.channels))


def _without(channel: CondaChannel, url: str) -> CondaChannel:
    left = tuple(item for item in channel.urls if not f"{url}/".startswith(f"{item.rstrip('/')}/"))
    return CondaChannel(channel.name, left) if left else channel


def _error_of(tool: CondaTool, failure: CondaFailure) -> GpuenvError:
    if failure.kind == "usage":
        return UsageError(
            tr("{tool} cannot read the requirements it was given", tool=_DISTRIBUTION),
            code="bad-spec",
            because=(Because(failure.reason, tool.path),),
        )
    return error_of(tool, failure, None)


def _not_cached(fetch: tuple[CondaRecord, ...]) -> Unreachable:
    facts = {"count": len(fetch), "first": fetch[0].filename}
    message = tr("{count} packages are not in the cache, including `{first}`", **facts)
    return Unreachable(message, code="not-in-the-cache", fixes=(Fix(tr("omit --offline")),))


def parse_rattler_failure(exception: str, text: str, known: FailureWords) -> CondaFailure:
    """Parse an exception's name and text, of which only the first lines are kept.

    SolverError:

        Cannot solve the request because of: pytorch ==2.8.0 cuda* cannot be installed because there are …:
        └─ pytorch 2.8.0 would require
           └─ __cuda *, for which no candidates were found.

    GatewayError, InstallerError:

        could not find subdir 'noarch' in channel 'https://conda.example.com/nvidia/'
        Caused by: HTTP status client error (404 Not Found) for url (https://…/noarch/repodata.json)
    """
    kind = known.of_text(text)
    if kind not in _FIRST:
        kind = known.of_exception(exception) or kind
    urls = _URL.findall(text)
    lines = [line.rstrip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) > _LINES:
        lines[_LINES:] = [tr("… ({count} more lines)", count=len(lines) - _LINES)]
    reason = _PASSWORD.sub("", "\n".join(lines))
    return CondaFailure(kind, reason or exception, urls[-1].rstrip(".,;:") if urls else None)
