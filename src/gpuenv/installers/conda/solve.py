"""Let a conda tool solve, and accept only the solution that gpuenv planned."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.i18n.messages import tr
from gpuenv.installers.conda import commands as conda_calls
from gpuenv.installers.conda.check_solution import (
    channel_name,
    check_solved,
    parse_dry_run,
    parse_fetch,
    plain_url,
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

_CACHES = "CONDA_PKGS_DIRS"  # mamba and micromamba read it, too


class Solved(Struct, frozen=True):
    """The solution, what to download, and the URLs that failed; the first URL of each channel works."""

    wanted: CondaWanted
    records: tuple[CondaRecord, ...]
    fetch: tuple[CondaRecord, ...]
    missed: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """The bytes to download."""
        return sum(record.size or 0 for record in self.fetch)


def solve(tool: CondaTool, wanted: CondaWanted, calling: Calling) -> Solved:
    """Let the tool solve with the first URL of each channel; raise Unsatisfiable, Unreachable and others."""
    prefix = _free_path(wanted.prefix)
    environ = run_variables(wanted, calling)
    arguments = conda_calls.dry_run_arguments(wanted, str(prefix))
    done = process.run((tool.path, *arguments), timeout_s=calling.solve_limit_s, environ=environ)
    if os.path.lexists(prefix):  # https://github.com/mamba-org/mamba/issues/4329: one day it may
        shutil.rmtree(prefix, ignore_errors=True)
        raise _broken(tool, tr("it created an environment instead of a plan"))
    if not done.ok:
        raise _solve_failed(tool, wanted, prefix, calling, done)
    try:
        records = parse_dry_run(done.stdout, tool.tool, wanted.channels)
        fetch = parse_fetch(done.stdout, tool.tool, wanted.channels)
    except ValueError as error:
        raise _broken(tool, str(error)) from None
    check_pins(tool, records, wanted)
    for location in _foreign(fetch, wanted.channels):
        facts = {"tool": tool.tool, "place": location}
        calling.tell(tr("{tool} also reads {place}, according to its configuration", **facts))
    return Solved(wanted, records, fetch)


def _foreign(records: tuple[CondaRecord, ...], channels: tuple[CondaChannel, ...]) -> tuple[str, ...]:
    """Return the folders of packages from other channels, if all of these have URLs.

    Of what is fetched: a package that is cached keeps the URL of the mirror that it once came from.
    """
    if not all(channel.urls for channel in channels):
        return ()
    folders = dict.fromkeys(record.url.rpartition("/")[0] for record in records)
    return tuple(folder for folder in folders if folder and channel_name(folder, channels) is None)


def _free_path(prefix: str) -> Path:
    """Return a path next to the environment's that does not exist, as tools solve otherwise for others."""
    folder = Path(prefix).parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder / f".gpuenv-plan-{secrets.token_hex(8)}"


def check_pins(tool: CondaTool, records: tuple[CondaRecord, ...], wanted: CondaWanted) -> None:
    """Raise Unsatisfiable where packages violate the pins, such as a CPU build."""
    differences = check_solved(records, wanted.pins)
    if not differences:
        return
    on_cpu = any(difference.kind == "cpu-build" for difference in differences)
    driver = tr("the driver was specified to support {cuda}", cuda=wanted.cuda or tr("no CUDA"))
    source = tr("dry run of {program}", program=tool.path)
    raise Unsatisfiable(
        tr("{tool} would install something else: {difference}", tool=tool.tool, difference=differences[0]),
        code="solved-to-cpu" if on_cpu else "solved-otherwise",
        because=(
            *(Because(str(difference), source) for difference in differences),
            Because(driver, "CONDA_OVERRIDE_CUDA"),
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
    calling: Calling,
    done: process.Completed,
) -> GpuenvError:
    limit_s = calling.solve_limit_s
    if done.returncode is None or done.timed_out:
        problem = tr("resolving took longer than {limit:.0f} s", limit=limit_s)
        return _broken(tool, done.error or problem)
    failure = explain(done.stdout, done.stderr, failure_words())
    if tool.tool != "conda":  # the JSON says `unsupported request` where the text names the package
        arguments = conda_calls.dry_run_arguments(wanted, str(prefix), words=True)
        again = process.run(
            (tool.path, *arguments), timeout_s=limit_s, environ=run_variables(wanted, calling)
        )
        in_words = parse_failure(again.stderr, failure_words())
        failure = failure if again.ok or in_words.kind == "other" else in_words
    return error_of(tool, failure, done.returncode)


def error_of(tool: CondaTool, failure: CondaFailure, returncode: int | None) -> GpuenvError:
    """Return the error of a failure: Unreachable for a channel, Unsatisfiable for a conflict, else others."""
    because = (Because(failure.reason, tool.path),)
    data = {"kind": failure.kind, "url": failure.url, "returncode": returncode}
    if failure.kind == "channel":
        return Unreachable(
            _unreachable(tool, failure.url),
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
    if failure.kind == "disk-full":
        larger = tr("free disk space, or set {variable} to a directory on a larger disk", variable=_CACHES)
        return InstallFailed(
            tr("{tool} failed ({code}): the disk is full", tool=tool.tool, code=returncode),
            code="disk-full",
            because=because,
            fixes=(Fix(larger),),
            data=data,
        )
    return InstallFailed(
        tr("{tool} failed ({code})", tool=tool.tool, code=returncode),
        code="install-failed",
        because=because,
        data=data,
    )


def _unreachable(tool: CondaTool, url: str | None) -> str:
    if url is None:
        return tr("a download of {tool} broke off", tool=tool.tool)
    if url.endswith((".conda", ".tar.bz2")):
        return tr("{tool} cannot fetch {url}", tool=tool.tool, url=url)
    return tr("{tool} cannot read the channel at {url}", tool=tool.tool, url=url)


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
    """Let the tool solve; where a channel cannot be read, its next URL is tried. Raises as `solve`."""
    missed: tuple[tuple[str, str], ...] = ()
    while True:
        try:
            return replace(solve(tool, wanted, calling), missed=missed)
        except Unreachable as error:
            channels = without_url(wanted.channels, str((error.data or {}).get("url") or ""))
            if channels == wanted.channels:
                error.because += tuple(Because(text, url) for url, text in missed)
                raise
            pairs = zip(wanted.channels, channels, strict=True)
            missed += tuple((old.urls[0], error.because[0].text) for old, new in pairs if old != new)
        calling.tell(tr("{url} cannot be read; trying the next URL", url=missed[-1][0]))
        wanted = replace(wanted, channels=channels)


def without_url(channels: tuple[CondaChannel, ...], url: str) -> tuple[CondaChannel, ...]:
    """Leave out the first URL of the channel that `url` is in; of all if it is in none."""
    at_fault = {
        channel.name
        for channel in channels
        if channel.urls and f"{plain_url(url)}/".startswith(f"{plain_url(channel.urls[0])}/")
    }
    return tuple(
        CondaChannel(channel.name, channel.urls[1:])
        if len(channel.urls) > 1 and (channel.name in at_fault or not at_fault)
        else channel
        for channel in channels
    )
