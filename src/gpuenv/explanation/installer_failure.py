"""Says under a failure what it means: what an installer, a solver or torch printed goes through `explain`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuenv.explanation.explain import find_matches, match_data
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, GpuenvError, InstallFailed, VerificationFailed
from gpuenv.signatures.match import SignatureMatch

_SELF_EXPLANATORY = frozenset({"disk-full"})  # codes of what says itself what it means
_JUDGED = frozenset({"corrupt"})  # what a conda tool's words were taken for, with what helps
_LOG = 256 << 10  # bytes of a log's end


def with_cause(error: GpuenvError) -> GpuenvError:
    """Return the error with its cause and fix where what failed printed a known one; else as it is."""
    if not _is_printed_by_others(error):
        return error
    match = next(_likely(error), None)
    return error if match is None else _with_explanation(error, match)


def _likely(error: GpuenvError) -> Iterator[SignatureMatch]:
    """Yield what the error may mean: by what it says, then by the log, which also tells what did no harm."""
    data = error.data or {}
    said = (*(because.text for because in error.because), *_strings(data.get("messages")))
    for texts in ((*said, *_strings(data.get("devices"))), _log(data.get("log"))):
        yield from (match for match in find_matches("\n".join(texts)) if match.confidence != "low")


def _is_printed_by_others(error: GpuenvError) -> bool:
    failed = isinstance(error, (InstallFailed, VerificationFailed)) or error.code.startswith("conda-")
    judged = (error.data or {}).get("kind") in _JUDGED
    return failed and not judged and error.code not in _SELF_EXPLANATORY


def _log(path: Any) -> Iterator[str]:
    if not isinstance(path, str):
        return
    try:
        with Path(path).open("rb") as file:
            file.seek(max(Path(path).stat().st_size - _LOG, 0))
            yield file.read(_LOG).decode(errors="replace")
    except (OSError, ValueError):  # no file, no path: then what the error itself says has to do
        return


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item)


def _with_explanation(error: GpuenvError, match: SignatureMatch) -> GpuenvError:
    detail = f" ({match.detail})" if match.detail else ""
    cause = Because(tr("this means: {cause}", cause=match.cause + detail), f"gpuenv explain: {match.id}")
    error.because = (*error.because, cause)
    error.fixes = (Fix(match.fix), *error.fixes)
    error.data = {**(error.data or {}), "explained": match_data(match)}
    return error
