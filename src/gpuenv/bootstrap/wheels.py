"""The wheels that gpuenv needs on the machines of a bootstrap script: each by its hash, looked up here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from gpuenv.bootstrap.model import LockedWheel
from gpuenv.bootstrap.resolve import PIP, Resolution, resolve
from gpuenv.http import HttpClient
from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.indexes.listings import read_listings
from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.indexes.mirrors.lookup import mirror_of_url
from gpuenv.model.access import Access
from gpuenv.model.errors import Because, Fix, Unreachable, Unsatisfiable
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.plan import PlanWarning
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.listings import configuration_for
from gpuenv.secrets.url_credentials import redact_credentials

SHIPPED = Path(__file__).with_name("bootstrap_wheels.json")


class Needed(Struct, frozen=True):
    """The wheels of a script, and warnings about the indexes that they come from."""

    wheels: tuple[LockedWheel, ...]
    warnings: tuple[PlanWarning, ...] = ()


class _Answer(Struct, frozen=True):
    """What an index has of the wheels known: those it lists, and those it has another file for."""

    url: str
    problem: str | None
    served: tuple[LockedWheel, ...] = ()
    contradicted: tuple[str, ...] = ()


def find_wheels(
    requires: tuple[str, ...],
    indexes: tuple[str, ...],
    options: PlanOptions,
    mirrors: Mirrors,
    environ: Mapping[str, str],
    *,
    carried: bool = False,
) -> Needed:
    """Return what satisfies `requires` on each target, from an index that has it with these very hashes.

    `indexes` are tried in their order, an empty text is the installer's own; `carried` files lie beside the
    script, so that any index may give them. The hashes that ship with gpuenv go before all others; where the
    named indexes lack those files, theirs are resolved and locked. Offline nothing is asked. Raises
    Unreachable where no index answers, Unsatisfiable where none has what is needed.
    """
    known = shipped_wheels(requires)
    if options.offline:
        if not known:
            raise Unreachable(
                tr("the hashes of {requires} are not known in offline mode", requires=" ".join(requires)),
                code="offline",
                fixes=(Fix(tr("run it without --offline to read an index")),),
            )
        return Needed(known)
    access = configuration_for(options, environ).access
    places = _places(indexes, options, environ, carried=carried)
    with HttpClient(environ, access=access) as client:
        answers = tuple(_ask(location, known, client) for location in places)
    trusted = tuple(
        answer for answer in answers if answer.problem is None and not _is_suspect(answer, mirrors)
    )
    result = _first_whole(trusted, known) or _resolved(requires, trusted, environ, access)
    if isinstance(result, Resolution):
        raise _not_to_be_had(answers, trusted, result)
    return Needed(result, tuple(_untested(answers, trusted)))


def shipped_wheels(requires: tuple[str, ...]) -> tuple[LockedWheel, ...]:
    """Return the wheels that ship by name and hash, none where they do not satisfy the requirements."""
    document = json.loads(SHIPPED.read_text(encoding="utf-8"))
    wheels = tuple(
        LockedWheel(row["filename"], row["sha256"], row["size"], tuple(row["targets"]))
        for row in document["wheels"]
    )
    locked = {_with_extras(requirement) for requirement in map(Requirement, document["requires"])}
    every = tuple(map(Requirement, requires))
    targets = {target for wheel in wheels for target in wheel.targets}
    new = any(requirement.extras and _with_extras(requirement) not in locked for requirement in every)
    return () if new or not all(_has_all(every, wheels, target) for target in targets) else wheels


def _with_extras(requirement: Requirement) -> tuple[str, frozenset[str]]:
    return canonicalize_name(requirement.name), frozenset(requirement.extras)


def _has_all(requires: tuple[Requirement, ...], wheels: tuple[LockedWheel, ...], target: str) -> bool:
    """Whether the wheels of a target have a release that fits each requirement there."""
    names = (parse_wheel_filename(wheel.filename) for wheel in wheels if target in wheel.targets)
    releases = {name: version for name, version, *_ in names}
    around = _environment_of(target)
    return all(
        (release := releases.get(canonicalize_name(requirement.name))) is not None
        and release in requirement.specifier
        for requirement in requires
        if requirement.marker is None or requirement.marker.evaluate(around)
    )


def _environment_of(target: str) -> dict[str, str | AbstractSet[str]]:
    """Return what markers read of a target, such as `3.12/linux-aarch64`."""
    python, platform = target.split("/")
    machine = "aarch64" if platform.endswith("aarch64") else "x86_64"
    return {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "platform_machine": machine,
        "platform_system": "Linux",
        "sys_platform": "linux",
        "os_name": "posix",
    }


def _places(
    indexes: tuple[str, ...], options: PlanOptions, environ: Mapping[str, str], *, carried: bool
) -> tuple[str, ...]:
    named = indexes or ("",)
    every = (*named, "") if carried else named
    own = configuration_for(replace(options, mirrors=()), environ).index_url if "" in every else None
    usual = own.url if own else default_index(environ) if "" in every else None
    return tuple(dict.fromkeys(url for item in every if (url := item or usual)))


def _ask(url: str, known: tuple[LockedWheel, ...], client: HttpClient) -> _Answer:
    """Look for the wheels known on the pages of an index; where none is known, only whether it answers."""
    source = IndexSource("pypi", url.rstrip("/"), "bootstrap")
    projects = tuple(dict.fromkeys(canonicalize_name(wheel.project) for wheel in known)) or (PIP,)
    listings = read_listings((source,), projects, client)
    problems = [listing.problem for listing in listings if listing.problem]
    if len(problems) == len(listings):
        return _Answer(url, problems[0])
    return _compared(url, known, listings)


def _compared(url: str, known: tuple[LockedWheel, ...], listings: tuple[Listing, ...]) -> _Answer:
    files = {file.filename: file for listing in listings for file in listing.files}
    served: list[LockedWheel] = []
    contradicted: list[str] = []
    for wheel in known:
        file = files.get(wheel.filename)
        if file is None or file.yanked:
            continue
        if file.sha256 in (None, wheel.sha256):
            served.append(replace(wheel, url=file.url))
        else:
            contradicted.append(wheel.filename)
    return _Answer(url, None, tuple(served), tuple(contradicted))


def _is_suspect(answer: _Answer, mirrors: Mirrors) -> bool:
    """Whether a copy of PyPI has other files than PyPI; an index of somebody's own may build its wheels."""
    mirror = mirror_of_url(answer.url, mirrors.all)
    return bool(answer.contradicted) and mirror is not None and mirror.name not in mirrors.own


def _first_whole(
    answers: tuple[_Answer, ...], known: tuple[LockedWheel, ...]
) -> tuple[LockedWheel, ...] | None:
    """Return the wheels known where an index has them for every target, with their addresses there."""
    if not known:
        return None
    wanted = set(_pairs(known))
    return next((answer.served for answer in answers if set(_pairs(answer.served)) >= wanted), None)


def _pairs(wheels: Iterable[LockedWheel]) -> Iterator[tuple[str, str]]:
    """Yield each project with each of its targets; pip is only needed where there is none."""
    return ((wheel.project, target) for wheel in wheels for target in wheel.targets if wheel.project != PIP)


def _resolved(
    requires: tuple[str, ...], answers: tuple[_Answer, ...], environ: Mapping[str, str], access: Access
) -> tuple[LockedWheel, ...] | Resolution:
    tried = Resolution((), ())
    for answer in answers:
        resolution = resolve(requires, answer.url, environ, access)
        if resolution.wheels:
            return resolution.wheels
        tried = Resolution(
            (),
            (*tried.problems, *(f"{redact_credentials(answer.url)}: {text}" for text in resolution.problems)),
        )
    return tried


def _not_to_be_had(
    answers: tuple[_Answer, ...], trusted: tuple[_Answer, ...], tried: Resolution
) -> Unsatisfiable | Unreachable:
    because = (
        *(
            Because(_problem_of(answer), redact_credentials(answer.url))
            for answer in answers
            if answer not in trusted
        ),
        *(Because(text, "uv pip compile") for text in tried.problems),
    )
    fixes = (
        Fix(tr("name an index that has it with --mirror")),
        Fix(tr("or put the files next to the script: -o DIR/")),
    )
    if any(answer.problem is None for answer in answers):
        return Unsatisfiable(
            tr("no index of this script has the dependencies of gpuenv itself"),
            code="gpuenv-needs",
            because=because,
            fixes=fixes,
        )
    return Unreachable(
        tr("no index could be read, so the dependencies of gpuenv itself could not be tested"),
        code="index-unreachable",
        because=because,
        fixes=(
            fixes[0],
            Fix(tr("or write the script without testing it, using the known hashes: --offline")),
        ),
    )


def _problem_of(answer: _Answer) -> str:
    if answer.problem:
        return answer.problem
    return tr("has another file in place of `{name}`", name=answer.contradicted[0])


def _untested(answers: tuple[_Answer, ...], trusted: tuple[_Answer, ...]) -> Iterator[PlanWarning]:
    for answer in answers:
        if answer not in trusted:
            text = tr(
                "{index} could not be tested: {problem}",
                index=redact_credentials(answer.url),
                problem=_problem_of(answer),
            )
            yield PlanWarning("index-untested", text)
