"""Let a conda tool plan, and believe its plan only where it is what gpuenv planned."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from gpuenv.i18n.messages import tr
from gpuenv.installers.conda import commands as conda_calls
from gpuenv.installers.conda.check_solution import (
    CondaDifference,
    channel_name,
    check_solved,
    parse_dry_run,
    parse_fetch,
)
from gpuenv.installers.conda.failure import CondaFailure, explain, parse_failure
from gpuenv.installers.conda.tool import Calling, CondaTool, failure_words, run_variables
from gpuenv.model.conda import CondaChannel, CondaRecord, CondaWanted
from gpuenv.model.errors import (
    Because,
    Fix,
    GpuenvError,
    InstallFailed,
    Unreachable,
    Unsatisfiable,
    UsageError,
)
from gpuenv.process import subprocesses as process
from gpuenv.secrets.url_credentials import without_userinfo

_SOLVE_LIMIT_S = 900.0  # conda-forge's repodata are 50 MB to fetch


@dataclass(frozen=True, slots=True)
class Solved:
    """What a solve gave: `wanted` has the one address at which each channel was read.

    `fetch` are the packages that would be downloaded, `missed` the channels' addresses that did not answer
    and why.
    """

    wanted: CondaWanted
    records: tuple[CondaRecord, ...]
    fetch: tuple[CondaRecord, ...]
    missed: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """How many bytes are to be downloaded."""
        return sum(record.size or 0 for record in self.fetch)


def solve(found: CondaTool, wanted: CondaWanted, calling: Calling) -> Solved:
    """Let the tool plan; each channel is read at its first address.

    Raises Refused where no packages fit, or others than the pins came out, Unreachable where a channel can't
    be read (`data["url"]` says which), UsageError and InstallFailed where the tool itself fails.
    """
    prefix = _free_path(wanted.prefix)
    environ = run_variables(wanted, calling)
    arguments = conda_calls.dry_run_arguments(wanted, str(prefix))
    done = process.run((found.path, *arguments), timeout_s=_SOLVE_LIMIT_S, environ=environ)
    if os.path.lexists(prefix):  # https://github.com/mamba-org/mamba/issues/4329: one day it may
        shutil.rmtree(prefix, ignore_errors=True)
        raise _broken(found, tr("it created an environment instead of a plan"))
    if not done.ok:
        raise _solve_failed(found, wanted, prefix, environ, done)
    try:
        records = parse_dry_run(done.stdout, found.tool, wanted.channels)
        fetch = parse_fetch(done.stdout, found.tool, wanted.channels)
    except ValueError as error:
        raise _broken(found, str(error)) from None
    check_pins(found, records, wanted)
    for place in _foreign(records, wanted.channels):
        calling.tell(
            tr("{tool} also reads {place}, according to its configuration", tool=found.tool, place=place)
        )
    return Solved(_at_first(wanted), records, fetch)


def _foreign(records: tuple[CondaRecord, ...], channels: tuple[CondaChannel, ...]) -> tuple[str, ...]:
    """Return the folders of packages that are in none of the channels, where all of these have addresses."""
    if not all(channel.urls for channel in channels):
        return ()
    folders = (record.url.rpartition("/")[0] for record in records)
    return tuple(dict.fromkeys(one for one in folders if one and channel_name(one, channels) is None))


def _free_path(prefix: str) -> Path:
    """A path that does not exist, beside the environment's: for one that does, the tools plan otherwise."""
    there = Path(prefix).parent
    while not there.is_dir() and there != there.parent:
        there = there.parent
    return there / f".gpuenv-plan-{secrets.token_hex(8)}"


def _at_first(wanted: CondaWanted) -> CondaWanted:
    return replace(wanted, channels=tuple(CondaChannel(one.name, one.urls[:1]) for one in wanted.channels))


def check_pins(found: CondaTool, records: tuple[CondaRecord, ...], wanted: CondaWanted) -> None:
    """Raise Refused where other packages came out than the pins, a CPU build above all."""
    differences = check_solved(records, wanted.pins)
    if differences:
        raise _not_as_planned(found, differences, wanted)


def _not_as_planned(
    found: CondaTool, differences: tuple[CondaDifference, ...], wanted: CondaWanted
) -> Unsatisfiable:
    on_cpu = any(one.kind == "cpu-build" for one in differences)
    driver = wanted.cuda or tr("no CUDA")
    return Unsatisfiable(
        tr("{tool} would install something else: {difference}", tool=found.tool, difference=differences[0]),
        code="solved-to-cpu" if on_cpu else "solved-otherwise",
        because=(
            *(Because(str(one), tr("dry run of {program}", program=found.path)) for one in differences),
            Because(tr("the driver was specified to support {cuda}", cuda=driver), "CONDA_OVERRIDE_CUDA"),
        ),
        fixes=(
            Fix(tr("request another torch or CUDA: gpuenv plan shows what is available"), "gpuenv plan"),
            Fix(tr("or use wheels: --channel wheels")),
        ),
        data={"differences": [str(one) for one in differences]},
    )


def _solve_failed(
    found: CondaTool,
    wanted: CondaWanted,
    prefix: Path,
    environ: Mapping[str, str],
    done: process.Completed,
) -> GpuenvError:
    if done.returncode is None or done.timed_out:
        return _broken(
            found, done.error or tr("resolving took longer than {limit:.0f} s", limit=_SOLVE_LIMIT_S)
        )
    failure = explain(done.stdout, done.stderr, failure_words())
    if found.tool != "conda":  # its JSON says `unsupported request` where words name the package
        arguments = conda_calls.dry_run_arguments(wanted, str(prefix), words=True)
        again = process.run((found.path, *arguments), timeout_s=_SOLVE_LIMIT_S, environ=environ)
        said = parse_failure(again.stderr, failure_words())
        failure = failure if again.ok or said.kind == "other" else said
    return failure_told(found, failure, done.returncode)


def failure_told(found: CondaTool, failure: CondaFailure, returncode: int | None) -> GpuenvError:
    """Return the error for a failure: Unreachable for a channel, Refused for a conflict, else the tool's."""
    because = (Because(failure.reason, found.path),)
    data = {"kind": failure.kind, "url": failure.url, "returncode": returncode}
    if failure.kind == "channel":
        return Unreachable(
            tr(
                "{tool} cannot read the channel at {url}",
                tool=found.tool,
                url=failure.url or tr("one address"),
            ),
            code="channel-unreachable",
            because=because,
            fixes=(Fix(tr("choose another source with --mirror"), "gpuenv mirrors list"),),
            data=data,
        )
    if failure.kind in {"missing", "unsatisfiable", "no-gpu"}:
        return Unsatisfiable(
            tr("{tool} found no compatible set of packages", tool=found.tool),
            code=f"conda-{failure.kind}",
            because=because,
            fixes=(Fix(tr("request fewer packages, or another torch: gpuenv plan shows what is available")),),
            data=data,
        )
    if failure.kind == "terms":
        return _terms(found, failure)
    return InstallFailed(
        tr("{tool} failed ({code})", tool=found.tool, code=returncode),
        code="disk-full" if failure.kind == "disk-full" else "install-failed",
        because=because,
        data=data,
    )


def _terms(found: CondaTool, failure: CondaFailure) -> UsageError:
    accepting = tuple(
        Fix(tr("read the terms; if you accept them"), command) for command in dict.fromkeys(failure.commands)
    )
    return UsageError(
        tr("{tool} requires you to accept its terms of service", tool=found.tool),
        code="terms-of-service",
        because=(Because(failure.reason, found.path),),
        fixes=(*accepting, Fix(tr("or use conda-forge alone: --channel conda-forge"))),
    )


def _broken(found: CondaTool, problem: str) -> InstallFailed:
    return InstallFailed(
        tr("{tool} did not plan: {problem}", tool=found.tool, problem=problem),
        code="manager-broken",
        because=(Because(problem, found.path),),
        fixes=(Fix(tr("use another manager: --manager uv")),),
    )


def solve_somewhere(found: CondaTool, wanted: CondaWanted, calling: Calling) -> Solved:
    """Let the tool plan; where a channel can't be read at one address, the next one is tried.

    Raises what `solve` raises, Unreachable once a channel has no other address.
    """
    missed: tuple[tuple[str, str], ...] = ()
    while True:
        answer = _solve_or_told(found, wanted, calling)
        if isinstance(answer, Solved):
            return replace(answer, missed=missed)
        channels = _without_address(wanted.channels, str((answer.data or {}).get("url") or ""))
        if channels == wanted.channels:
            raise answer
        missed += _left(wanted.channels, channels, answer.because[0].text)
        calling.tell(tr("{url} cannot be read; trying the next URL", url=missed[-1][0]))
        wanted = replace(wanted, channels=channels)


def _solve_or_told(found: CondaTool, wanted: CondaWanted, calling: Calling) -> Solved | Unreachable:
    try:
        return solve(found, wanted, calling)
    except Unreachable as error:
        return error


def _without_address(channels: tuple[CondaChannel, ...], url: str) -> tuple[CondaChannel, ...]:
    """Leave out the first address of the channel that `url` is in; of all where it is in none."""
    at_fault = {
        one.name
        for one in channels
        if one.urls
        and f"{without_userinfo(url)}/".startswith(f"{without_userinfo(one.urls[0]).rstrip('/')}/")
    }
    return tuple(
        CondaChannel(one.name, one.urls[1:])
        if len(one.urls) > 1 and (one.name in at_fault or not at_fault)
        else one
        for one in channels
    )


def _left(
    before: tuple[CondaChannel, ...], after: tuple[CondaChannel, ...], reason: str
) -> tuple[tuple[str, str], ...]:
    return tuple((old.urls[0], reason) for old, new in zip(before, after, strict=True) if old != new)
