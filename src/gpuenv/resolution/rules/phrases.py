"""Words that the sentences of several rules share: what they are about, in few names."""

from __future__ import annotations

from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.resolution.candidate import Failure

_SHOWN = 4


def builds(failures: tuple[Failure, ...]) -> str:
    """Name the builds that the failures are about; of many, the first few and how many more."""
    names = list(dict.fromkeys(failure.fact("build") for failure in failures))
    if len(names) <= _SHOWN:
        return ", ".join(names)
    return tr("{shown} and {more} more builds", shown=", ".join(names[:_SHOWN]), more=len(names) - _SHOWN)


def releases(failures: tuple[Failure, ...]) -> str:
    """Name the releases that the failures are about, as a range: not all in between need be meant."""
    versions = sorted({Version(failure.fact("torch")) for failure in failures})
    if len(versions) == 1:
        return tr("builds of torch {version}", version=versions[0])
    return tr("builds of torch {first} to {last}", first=versions[0], last=versions[-1])


def pages(names: tuple[str, ...]) -> str:
    """Join the addresses of pages, each once."""
    return ", ".join(dict.fromkeys(names))
