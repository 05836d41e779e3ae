"""The rattler manager: conda environments without any conda tool, by py-rattler (extra `rattler`).

It solves and installs within this process, and uses the network by itself (see rattler_calls).
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace
from functools import cache
from typing import Final

from gpuenv import matrices
from gpuenv.i18n.messages import tr
from gpuenv.installers.conda import commands as conda_calls
from gpuenv.installers.conda import rattler_calls
from gpuenv.installers.conda.check_solution import Tool
from gpuenv.installers.conda.failure import CondaFailure, FailureWords, parse_failure_words
from gpuenv.installers.conda.rattler_calls import InstallProgress, RattlerError
from gpuenv.installers.conda.rattler_client import RattlerSession
from gpuenv.installers.conda.rattler_failure import parse_rattler_failure
from gpuenv.installers.conda.solve import Solved, check_pins, failure_told
from gpuenv.installers.conda.tool import Calling, CondaTool
from gpuenv.model.conda import CondaChannel, CondaRecord, CondaWanted
from gpuenv.model.errors import Because, Fix, GpuenvError, Unreachable, UsageError
from gpuenv.model.plan import Step
from gpuenv.own_metadata import install_extra

NAME: Final[Tool] = "rattler"
_DISTRIBUTION = "py-rattler"
_MINOR = "0.28"  # its interface changes with most minor releases
_SAME = "micromamba"  # the tool whose command does what py-rattler does without one


def steps(wanted: CondaWanted) -> tuple[Step, ...]:
    """Return the command of a conda tool that does the same: py-rattler has none."""
    (step,) = conda_calls.steps(_SAME, wanted)
    why = tr("create the conda environment within gpuenv; this command of {tool} is equivalent", tool=_SAME)
    return (replace(step, why=why),)


def is_there() -> bool:
    """Whether the extra is installed in a version that gpuenv knows."""
    return _version().rpartition(".")[0] == _MINOR


def find() -> CondaTool:
    """Return what stands for the tool in messages; raise UsageError where the extra is missing or another."""
    version = _version()
    if not is_there():
        message = (
            tr("py-rattler was not found")
            if not version
            else tr("py-rattler {version} is not the version that gpuenv supports", version=version)
        )
        raise UsageError(
            message,
            code="manager-missing",
            fixes=(
                Fix(tr("install it next to gpuenv"), install_extra("rattler")),
                Fix(tr("or use another manager: --manager uv")),
            ),
        )
    return CondaTool(NAME, f"{_DISTRIBUTION} {version}")


@cache
def _failure_words() -> FailureWords:
    return parse_failure_words(matrices.load("conda-tools"), embedded=True)


def _version() -> str:
    try:
        return importlib.metadata.version(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return ""


def solve(wanted: CondaWanted, calling: Calling, *, offline: bool = False) -> tuple[CondaRecord, ...]:
    """Return the packages that would be installed, which hold to the pins; see `solve_somewhere`."""
    return solve_somewhere(wanted, calling, offline=offline).records


def solve_somewhere(wanted: CondaWanted, calling: Calling, *, offline: bool = False) -> Solved:
    """Plan; where a channel can't be read at one address, the next one is tried.

    In what is returned each channel has the addresses that are left, the one to read it at first. Raises
    Refused where no packages fit, or others than the pins came out, Unreachable once a channel has no other
    address, UsageError without py-rattler or for a spec that is none.
    """
    tool = find()
    missed: tuple[tuple[str, str], ...] = ()
    while True:
        try:
            records, fetch = rattler_calls.solve_records(wanted, _session(calling, offline=offline))
            break
        except RattlerError as error:
            failure = parse_rattler_failure(error.exception, str(error), _failure_words())
            left = addresses_left(wanted, failure.url) if failure.kind == "channel" else wanted
            if left == wanted or offline:
                raise _told(tool, failure) from None
        missed += _dropped(wanted, left, failure.reason)
        calling.tell(tr("{url} cannot be read; trying the next URL", url=missed[-1][0]))
        wanted = left
    check_pins(tool, records, wanted)
    return Solved(wanted, records, fetch, missed)


def install(solved: Solved, calling: Calling, follower: InstallProgress, *, offline: bool = False) -> None:
    """Fetch the packages and link them into the prefix, an empty directory or none.

    Ctrl-C ends it at once; what is then in the prefix is whoever calls's to remove. Raises Unreachable where
    a package can't be fetched (`data["url"]` says which), InstallFailed for all else.
    """
    tool = find()
    if offline and solved.fetch:
        raise _not_cached(solved.fetch)
    try:
        rattler_calls.install_records(
            solved.wanted, solved.records, _session(calling, offline=offline), follower
        )
    except LookupError as error:
        raise _told(
            tool, CondaFailure("channel", tr("`{file}` no longer exists", file=error.args[0]))
        ) from None
    except RattlerError as error:
        failure = parse_rattler_failure(error.exception, str(error), _failure_words())
        if failure.url is None:
            failure = replace(failure, url=_named_in(str(error), solved.records))
        raise _told(tool, failure) from None


def _session(calling: Calling, *, offline: bool) -> RattlerSession:
    bundle = calling.ca_bundle or calling.environ.get("SSL_CERT_FILE")
    return RattlerSession(calling.cache, offline, bundle)


def addresses_left(wanted: CondaWanted, url: str | None) -> CondaWanted:
    """Leave out the address that `url` lies under, unless its channel has no other."""
    return replace(wanted, channels=tuple(_without(channel, url or "") for channel in wanted.channels))


def _without(channel: CondaChannel, url: str) -> CondaChannel:
    left = tuple(item for item in channel.urls if not f"{url}/".startswith(f"{item.rstrip('/')}/"))
    return CondaChannel(channel.name, left) if left else channel


def _dropped(before: CondaWanted, after: CondaWanted, reason: str) -> tuple[tuple[str, str], ...]:
    pairs = zip(before.channels, after.channels, strict=True)
    return tuple((url, reason) for old, new in pairs for url in old.urls if url not in new.urls)


def _named_in(text: str, records: tuple[CondaRecord, ...]) -> str | None:
    """Return the address of the package that a message names: `failed to fetch pip-24.3.1-….conda`."""
    return next((record.url for record in records if record.filename in text), None)


def _told(tool: CondaTool, failure: CondaFailure) -> GpuenvError:
    if failure.kind == "usage":
        return UsageError(
            tr("{tool} cannot read the requirements it was given", tool=_DISTRIBUTION),
            code="bad-spec",
            because=(Because(failure.reason, tool.path),),
        )
    return failure_told(tool, failure, None)


def _not_cached(fetch: tuple[CondaRecord, ...]) -> Unreachable:
    return Unreachable(
        tr(
            "{count} packages are not in the cache, including `{first}`",
            count=len(fetch),
            first=fetch[0].filename,
        ),
        code="not-in-the-cache",
        fixes=(Fix(tr("omit --offline")),),
    )
