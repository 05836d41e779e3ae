"""Whether what two places ask for goes together: a pin within a range narrows it, one outside contradicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from gpuenv.resolution.request import admits


def pins_of(specifier: SpecifierSet) -> tuple[Version, ...]:
    """Return the releases that are pinned, `1.7` of `==1.7.*` too."""
    try:
        texts = (item.version.removesuffix(".*") for item in specifier if item.operator in ("==", "==="))
        return tuple(Version(text) for text in texts)
    except InvalidVersion:  # what follows `===` may be anything
        return ()


def contradict(first: SpecifierSet, second: SpecifierSet) -> bool:
    """Whether a pin of one lies outside of the other; two ranges are not compared."""
    return any(
        not admits(wanted, version)
        for specifier, wanted in ((first, second), (second, first))
        for version in pins_of(specifier)
        if not any(_is_within(pin, version) for pin in pins_of(wanted))
    )


def _is_within(first: Version, second: Version) -> bool:
    """Whether one names the other less exactly: `1.7` and `1.7.1`."""
    shorter, longer = sorted((first.release, second.release), key=len)
    return longer[: len(shorter)] == shorter


def narrowed(own: Mapping[str, SpecifierSet], hints: Mapping[str, SpecifierSet]) -> dict[str, SpecifierSet]:
    """Return the releases of lines, in which a pin of a hint counts where the lines admit it."""
    result = {**hints, **own}
    for name in own.keys() & hints.keys():
        if pins_of(hints[name]) and not contradict(own[name], hints[name]):
            result[name] = own[name] & hints[name]
    return result


def joined(own: Iterable[SpecifierSet], hints: Iterable[SpecifierSet]) -> SpecifierSet | None:
    """Return what lines ask for together, and hints as far as they do not contradict; None for nothing."""
    result: SpecifierSet | None = None
    for specifier in own:
        result = specifier if result is None else result & specifier
    for specifier in hints:
        if result is None or not contradict(result, specifier):
            result = specifier if result is None else result & specifier
    return result
