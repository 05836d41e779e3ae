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


def solve(tool: CondaTool, wanted: CondaWanted, calling: Calling) -> Solved:
    """Let the tool plan; each channel is read at its first address.

    Raises Refused where no packages fit, or others than the pins came out, Unreachable where a channel can't
    be read (`data["url"]` says which), UsageError and InstallFailed where the tool itself fails.
    """
    prefix = _free_path(wanted.prefix)
    environ = run_variables(wanted, calling)
    arguments = conda_calls.dry_run_arguments(wanted, str(prefix))
    done = process.run((tool.path, *arguments), timeout_s=_SOLVE_LIMIT_S, environ=environ)
    if os.path.lexists(prefix):  # https://github.com/mamba-org/mamba/issues/4329: one day it may
        shutil.rmtree(prefix, ignore_errors=True)
        raise _broken(tool, tr("it created an environment instead of a plan"))
    if not done.ok:
        raise _solve_failed(tool, wanted, prefix, environ, done)
    try:
        records = parse_dry_run(done.stdout, tool.tool, wanted.channels)
        fetch = parse_fetch(done.stdout, tool.tool, wanted.channels)
    except ValueError as error:
        raise _broken(tool, str(error)) from None
    check_pins(tool, records, wanted)
    for location in _foreign(records, wanted.channels):
        calling.tell(
            tr("{tool} also reads {place}, according to its configuration", tool=tool.tool, place=location)
        )
    return Solved(_at_first(wanted), records, fetch)


def _foreign(records: tuple[CondaRecord, ...], channels: tuple[CondaChannel, ...]) -> tuple[str, ...]:
    """Return the folders of packages that are in none of the channels, where all of these have addresses."""
    if not all(channel.urls for channel in channels):
        return ()
    folders = (record.url.rpartition("/")[0] for record in records)
    return tuple(
        dict.fromkeys(folder for folder in folders if folder and channel_name(folder, channels) is None)
    )


def _free_path(prefix: str) -> Path:
    """A path that does not exist, beside the environment's: for one that does, the tools plan otherwise."""
    there = Path(prefix).parent
    while not there.is_dir() and there != there.parent:
        there = there.parent
    return there / f".gpuenv-plan-{secrets.token_hex(8)}"


def _at_first(wanted: CondaWanted) -> CondaWanted:
    return replace(
        wanted, channels=tuple(CondaChannel(channel.name, channel.urls[:1]) for channel in wanted.channels)
    )


def check_pins(tool: CondaTool, records: tuple[CondaRecord, ...], wanted: CondaWanted) -> None:
    """Raise Refused where other packages came out than the pins, a CPU build above all."""
    differences = check_solved(records, wanted.pins)
    if differences:
        raise _not_as_planned(tool, differences, wanted)


def _not_as_planned(
    tool: CondaTool, differences: tuple[CondaDifference, ...], wanted: CondaWanted
) -> Unsatisfiable:
    on_cpu = any(difference.kind == "cpu-build" for difference in differences)
    driver = wanted.cuda or tr("no CUDA")
    return Unsatisfiable(
        tr("{tool} would install something else: {difference}", tool=tool.tool, difference=differences[0]),
        code="solved-to-cpu" if on_cpu else "solved-otherwise",
        because=(
            *(
                Because(str(difference), tr("dry run of {program}", program=tool.path))
                for difference in differences
            ),
            Because(tr("the driver was specified to support {cuda}", cuda=driver), "CONDA_OVERRIDE_CUDA"),
        ),
        fixes=(
            Fix(tr("request another torch or CUDA: gpuenv plan shows what is available"), "gpuenv plan"),
            Fix(tr("or use wheels: --channel wheels")),
        ),
        data={"differences": [str(difference) for difference in differences]},
    )


def _solve_failed(
    tool: CondaTool,
    wanted: CondaWanted,
    prefix: Path,
    environ: Mapping[str, str],
    done: process.Completed,
) -> GpuenvError:
    if done.returncode is None or done.timed_out:
        return _broken(
            tool, done.error or tr("resolving took longer than {limit:.0f} s", limit=_SOLVE_LIMIT_S)
        )
    failure = explain(done.stdout, done.stderr, failure_words())
    if tool.tool != "conda":  # its JSON says `unsupported request` where words name the package
        arguments = conda_calls.dry_run_arguments(wanted, str(prefix), words=True)
        again = process.run((tool.path, *arguments), timeout_s=_SOLVE_LIMIT_S, environ=environ)
        said = parse_failure(again.stderr, failure_words())
        failure = failure if again.ok or said.kind == "other" else said
    return failure_told(tool, failure, done.returncode)


def failure_told(tool: CondaTool, failure: CondaFailure, returncode: int | None) -> GpuenvError:
    """Return the error for a failure: Unreachable for a channel, Refused for a conflict, else the tool's."""
    because = (Because(failure.reason, tool.path),)
    data = {"kind": failure.kind, "url": failure.url, "returncode": returncode}
    if failure.kind == "channel":
        return Unreachable(
            tr(
                "{tool} cannot read the channel at {url}",
                tool=tool.tool,
                url=failure.url or tr("one address"),
            ),
            code="channel-unreachable",
            because=because,
            fixes=(Fix(tr("choose another source with --mirror"), "gpuenv mirrors list"),),
            data=data,
        )
    if failure.kind in {"missing", "unsatisfiable", "no-gpu"}:
        return Unsatisfiable(
            tr("{tool} found no compatible set of packages", tool=tool.tool),
            code=f"conda-{failure.kind}",
            because=because,
            fixes=(Fix(tr("request fewer packages, or another torch: gpuenv plan shows what is available")),),
            data=data,
        )
    if failure.kind == "terms":
        return _terms(tool, failure)
    return InstallFailed(
        tr("{tool} failed ({code})", tool=tool.tool, code=returncode),
        code="disk-full" if failure.kind == "disk-full" else "install-failed",
        because=because,
        data=data,
    )


def _terms(tool: CondaTool, failure: CondaFailure) -> UsageError:
    accepting = tuple(
        Fix(tr("read the terms; if you accept them"), command) for command in dict.fromkeys(failure.commands)
    )
    return UsageError(
        tr("{tool} requires you to accept its terms of service", tool=tool.tool),
        code="terms-of-service",
        because=(Because(failure.reason, tool.path),),
        fixes=(*accepting, Fix(tr("or use conda-forge alone: --channel conda-forge"))),
    )


def _broken(tool: CondaTool, problem: str) -> InstallFailed:
    return InstallFailed(
        tr("{tool} did not plan: {problem}", tool=tool.tool, problem=problem),
        code="manager-broken",
        because=(Because(problem, tool.path),),
        fixes=(Fix(tr("use another manager: --manager uv")),),
    )


def solve_somewhere(tool: CondaTool, wanted: CondaWanted, calling: Calling) -> Solved:
    """Let the tool plan; where a channel can't be read at one address, the next one is tried.

    Raises what `solve` raises, Unreachable once a channel has no other address.
    """
    missed: tuple[tuple[str, str], ...] = ()
    while True:
        answer = _solve_or_told(tool, wanted, calling)
        if isinstance(answer, Solved):
            return replace(answer, missed=missed)
        channels = _without_address(wanted.channels, str((answer.data or {}).get("url") or ""))
        if channels == wanted.channels:
            raise answer
        missed += _left(wanted.channels, channels, answer.because[0].text)
        calling.tell(tr("{url} cannot be read; trying the next URL", url=missed[-1][0]))
        wanted = replace(wanted, channels=channels)


def _solve_or_told(tool: CondaTool, wanted: CondaWanted, calling: Calling) -> Solved | Unreachable:
    try:
        return solve(tool, wanted, calling)
    except Unreachable as error:
        return error


def _without_address(channels: tuple[CondaChannel, ...], url: str) -> tuple[CondaChannel, ...]:
    """Leave out the first address of the channel that `url` is in; of all where it is in none."""
    at_fault = {
        channel.name
        for channel in channels
        if channel.urls
        and f"{without_userinfo(url)}/".startswith(f"{without_userinfo(channel.urls[0]).rstrip('/')}/")
    }
    return tuple(
        CondaChannel(channel.name, channel.urls[1:])
        if len(channel.urls) > 1 and (channel.name in at_fault or not at_fault)
        else channel
        for channel in channels
    )


def _left(
    before: tuple[CondaChannel, ...], after: tuple[CondaChannel, ...], reason: str
) -> tuple[tuple[str, str], ...]:
    return tuple((old.urls[0], reason) for old, new in zip(before, after, strict=True) if old != new)
