"""Rule `python`: a wheel for that Python exists, and the manager can provide that Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from packaging.specifiers import InvalidSpecifier, Specifier, SpecifierSet
from packaging.tags import Tag
from packaging.version import Version

from gpuenv.i18n.messages import series, tr
from gpuenv.model.python import PythonOffer, parse_python_tag
from gpuenv.model.wheel import WheelFile
from gpuenv.resolution.by_identity import ByIdentity
from gpuenv.resolution.candidate import Candidate, Failure, IndexedFile
from gpuenv.resolution.rules.phrases import range_of_releases

_PATCH = re.compile(r"(?P<minor>\d+\.\d+)\.\d+")
_ANY_PATCH = 99  # stands for the newest patch release, which a manager would bring


def runs_on(file: WheelFile, python: PythonOffer) -> bool:
    """Whether the file's tags and its Requires-Python admit `python`."""
    return _admits(file.tags, file.requires_python, python)


@cache
def _admits(tags: frozenset[Tag], requires_python: str | None, python: PythonOffer) -> bool:
    """The same few tags stand on hundreds of files."""
    return any(_tag_admits(tag, python) for tag in tags) and _requires_admits(requires_python, python)


def _tag_admits(tag: Tag, python: PythonOffer) -> bool:
    if tag.interpreter.startswith("py"):
        return tag.abi == "none" and _from(tag.interpreter) <= python.minor
    if tag.abi == "abi3":
        return not python.free_threaded and _minor_of(tag.interpreter) <= python.minor
    wanted = f"cp{python.minor[0]}{python.minor[1]}"
    free_threaded = tag.abi.endswith("t")
    return tag.interpreter == wanted and free_threaded == python.free_threaded


def _from(interpreter: str) -> tuple[int, int]:
    """The first Python that a generic tag is for (`py3`, `py39`): later ones may install it too."""
    digits = interpreter.removeprefix("py")
    if not digits.isdecimal() or not digits.startswith("3"):
        return (99, 0)
    return 3, int(digits[1:] or 0)


def _minor_of(interpreter: str) -> tuple[int, int]:
    try:
        return parse_python_tag(interpreter).minor
    except ValueError:
        return (99, 0)


def _requires_admits(requires_python: str | None, python: PythonOffer) -> bool:
    if not requires_python:
        return True
    try:
        specifier = SpecifierSet(requires_python)
    except InvalidSpecifier:
        return True
    return specifier.contains(full_version(python), prereleases=True)


def full_version(python: PythonOffer) -> Version:
    """Return the version with a patch part; where it is open, the newest."""
    parts = python.version.split(".")
    return Version(python.version if len(parts) > 2 else f"{python.version}.{_ANY_PATCH}")  # noqa: PLR2004


def admitted(offers: tuple[PythonOffer, ...], specifiers: SpecifierSet | None) -> tuple[PythonOffer, ...]:
    """Return the offers that the request admits, the preferred first: installed, then newest.

    Recent releases come after the others, the older of them first. Of several interpreters of one release the
    order in which they were found stays.
    """
    chosen = [
        offer
        for offer in offers
        if not offer.free_threaded and (specifiers is None or _asked_admits(specifiers, offer))
    ]
    return tuple(sorted(chosen, key=_preference))


def _preference(offer: PythonOffer) -> tuple[bool, bool, tuple[int, ...]]:
    age = offer.minor if offer.recent else tuple(-part for part in offer.minor)
    return not offer.installed, offer.recent, age


def counts_patches(specifiers: SpecifierSet) -> bool:
    """Whether a request tells patch releases apart, as `3.11.4` and `>=3.11.4` do."""
    return any(len(item.version.removesuffix(".*").split(".")) > 2 for item in specifiers)  # noqa: PLR2004


def _asked_admits(specifiers: SpecifierSet, offer: PythonOffer) -> bool:
    """A request for an exact patch release can't be judged by an offer that leaves the patch open."""
    if len(offer.version.split(".")) > 2:  # noqa: PLR2004
        return specifiers.contains(offer.version, prereleases=True)
    return all(_part_admits(item, offer) for item in specifiers)


def _part_admits(item: Specifier, offer: PythonOffer) -> bool:
    parts = item.version.removesuffix(".*").split(".")
    if item.operator == "==" and (len(parts) > 2 or not item.version.endswith(".*")):  # noqa: PLR2004
        return ".".join(parts[:2]) == offer.short
    return item.contains(str(full_version(offer)), prereleases=True)


def pythons_of(indexed_files: tuple[IndexedFile, ...]) -> tuple[str, ...]:
    """Return the Pythons that the files are for, oldest first, as MAJOR.MINOR; `3` for any."""
    minors: set[tuple[int, ...]] = set()
    for item in indexed_files:
        for tag in item.file.tags:
            if tag.interpreter == "py3":
                minors.add((3,))
            elif tag.interpreter.startswith("py3"):
                minors.add(_from(tag.interpreter))
            elif tag.interpreter.startswith("cp") and not tag.abi.endswith("t"):
                minors.add(_minor_of(tag.interpreter))
    return tuple(".".join(map(str, minor)) for minor in sorted(minors) if minor[0] >= 3)  # noqa: PLR2004


class PythonFailure(Failure, frozen=True, kw_only=True):
    """A build that has files, but none for the Pythons in question (`subject`)."""

    rule: str = "python"
    torch: Version
    has: str

    def _summarize_several(self, alike: tuple[PythonFailure, ...]) -> str:
        versions = {word for failure in alike for word in failure.has.split(", ")}
        return tr(
            "{builds} have files for Python {has}, not for {asked}",
            builds=range_of_releases(failure.torch for failure in alike),
            has=series(sorted(versions, key=_in_order)),
            asked=self.subject,
        )


def check(
    candidate: Candidate,
    fitting: tuple[IndexedFile, ...],
    offers: tuple[PythonOffer, ...],
    requested: str,
    source: str,
) -> tuple[Failure, ...]:
    """Return a failure where the build has files, but none for a Python on offer; `requested` names those."""
    if not fitting or have_file(fitting, offers):
        return ()
    has = series(pythons_of(fitting)) or tr("no Python 3")
    detail = tr(
        "{build} has files for Python {has}, not for {asked}",
        build=candidate.label,
        has=has,
        asked=requested,
    )
    source = f"{fitting[0].listing.page}; {source}"
    return (
        PythonFailure(
            kind="files", subject=requested, detail=detail, source=source, torch=candidate.torch, has=has
        ),
    )


def have_file(files: tuple[IndexedFile, ...], offers: tuple[PythonOffer, ...]) -> bool:
    """Whether one of the files runs on one of the Pythons."""
    return _run_on(files)(offers)


def _by_offers(files: tuple[IndexedFile, ...]) -> Callable[[tuple[PythonOffer, ...]], bool]:
    return cache(lambda offers: any(runs_on(item.file, offer) for item in files for offer in offers))


_run_on: ByIdentity[tuple[IndexedFile, ...], Callable[[tuple[PythonOffer, ...]], bool]]
_run_on = ByIdentity(_by_offers, most=4096)  # builds, by the systems that they fit


def in_words(offers: tuple[PythonOffer, ...]) -> str:
    """Name the Pythons, oldest first; a row of neighbours as a range."""
    minors = sorted({offer.minor for offer in offers})
    names = [f"{major}.{minor}" for major, minor in minors]
    (major, first), last = minors[0], minors[-1]
    if len(minors) > 2 and minors == [(major, minor) for minor in range(first, last[1] + 1)]:  # noqa: PLR2004
        return tr("{first} to {last}", first=names[0], last=names[-1])
    return series(names)


def not_provided(requested: str, provided: tuple[PythonOffer, ...], manager: str) -> Failure:
    """Return what is wrong with every build where the manager has no Python of those asked for.

    Of a patch release of a minor one that is there, the others of that are named: a range would hold it.
    """
    patch = _PATCH.fullmatch(requested)
    near = tuple(offer.version for offer in provided if patch and offer.short == patch["minor"])
    has = series(dict.fromkeys(near)) or (in_words(provided) if provided else "")
    detail = (
        tr("{manager} can provide Python {has}, not {asked}", manager=manager, has=has, asked=requested)
        if provided
        else tr("{manager} can provide no Python", manager=manager)
    )
    return Failure(
        rule="python",
        kind="provided",
        subject=requested,
        detail=detail,
        source=f"{manager}; option --python",
    )


def _in_order(python: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else -1 for part in python.split("."))
