"""What was left, as wishes of one Python and as a request in which all that may move is free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote

from packaging.markers import UndefinedEnvironmentName
from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import parse_wheel_filename
from packaging.version import InvalidVersion, Version

from gpuenv.adapt.model import DeclaredRequirement, Project
from gpuenv.adapt.nearest.index_pages import variant_of_page
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import Variant, parse_variant
from gpuenv.resolution.candidate import release_of
from gpuenv.resolution.markers import marker_environment
from gpuenv.resolution.request import STACK, Request, parse_python
from gpuenv.resolution.rules.python import full_version
from gpuenv.resolution.target import Target
from gpuenv.untrusted.bounds import check_wheel_name

NO_PROJECTS = ("python", "cuda", "index")


@dataclass(frozen=True, slots=True, eq=False)
class Wishes:
    """What was left asks for with one Python.

    `lines` are the places that count, by project, those of files alone; `asked` the releases asked for,
    without local versions, hints among them. `variant` is the one that the torch asked for is to have,
    `hinted` what a README says of it.
    """

    lines: Mapping[str, tuple[DeclaredRequirement, ...]]
    asked: Mapping[str, SpecifierSet]
    python: SpecifierSet | None
    variant: Variant | None
    hinted: Variant | None

    def of(self, project: str) -> SpecifierSet:
        """Return the releases of a project that are asked for; all where nothing is said."""
        return self.asked.get(project, SpecifierSet())

    def is_like(self, other: Wishes) -> bool:
        """Whether the same counts with another Python."""
        return (self.lines, self.asked) == (other.lines, other.asked)


def requirement_of(asked: DeclaredRequirement) -> Requirement | None:
    """Return what is asked of a project; None where it is no project, or was not understood.

    A wheel of the torch stack, named by its address, is its version. A marker must be one that can be
    evaluated: `python_version ~= "3"` compares what can't be compared.
    """
    if asked.project in NO_PROJECTS or asked.requirement is None:
        return None
    try:
        requirement = Requirement(asked.requirement)
        if requirement.marker:
            requirement.marker.evaluate(marker_environment("linux-64", "3.12.0"))
    except (ValueError, UndefinedEnvironmentName):  # what it raises for a marker, too
        return None
    if requirement.url and asked.project in STACK:
        requirement.specifier = _version_in(requirement.url)
        requirement.url = None
    return requirement


def _version_in(url: str) -> SpecifierSet:
    """Read `…/torch-1.11.0%2Bcu113-cp38-cp38-linux_x86_64.whl` as `==1.11.0+cu113`."""
    try:
        _, version, _, _ = parse_wheel_filename(
            check_wheel_name(unquote(url).partition("#")[0].rpartition("/")[2])
        )
    except ValueError:
        return SpecifierSet()
    return SpecifierSet(f"=={version}")


def python_of(asked: DeclaredRequirement) -> SpecifierSet | None:
    """Return the Pythons that a line asks for, `3.7` or `>=3.7`; None where it was not understood."""
    try:
        return parse_python(asked.requirement) if asked.requirement else None
    except UsageError:
        return None


def variant_in(asked: DeclaredRequirement) -> Variant | None:
    """Return the variant that a line names: `cudatoolkit=10.2`, `torch==1.7.1+cu110`, `-f …/whl/cu110`."""
    if asked.project == "index":
        return variant_of_page(asked.requirement or asked.text)
    try:
        if asked.project == "cuda":
            return parse_variant(asked.requirement or "")
        local = _local(requirement_of(asked)) if asked.project in STACK else None
        return parse_variant(local) if local else None
    except ValueError:
        return None


def _local(requirement: Requirement | None) -> str | None:
    named = (item.version.partition("+")[2] for item in requirement.specifier) if requirement else ()
    return next(filter(None, named), None)


def public(specifier: SpecifierSet) -> SpecifierSet:
    """Return the specifier without local versions: `==1.7.1+cu110` asks for release 1.7.1."""
    items = (f"{item.operator}{item.version.partition('+')[0]}" for item in specifier)
    try:
        return SpecifierSet(",".join(items))
    except InvalidSpecifier:  # what follows `===` may be anything
        return specifier


def wishes_for(left: Project, target: Target, python: PythonOffer) -> Wishes:
    """Return what counts of what was left on a target with a Python.

    What a README says counts where the files leave it open.
    """
    environment = marker_environment(target.platform, str(full_version(python)))
    counting = [one for one in left.asked if _counts(one, environment)]
    lines: dict[str, tuple[DeclaredRequirement, ...]] = {}
    for one in counting:
        if not one.hint:
            lines[one.project] = (*lines.get(one.project, ()), one)
    own = {name: wanted for name, wanted in _joined(counting, hint=False).items() if wanted}
    named, hinted = _variant(counting, hint=False), _variant(counting, hint=True)
    if "torch" not in own:  # where a README says which torch, it says which build of it
        named = named or hinted
    return Wishes(lines, _joined(counting, hint=True) | own, _python(counting), named, hinted)


def _counts(asked: DeclaredRequirement, environment: dict[str, str]) -> bool:
    requirement = requirement_of(asked)
    return requirement is None or requirement.marker is None or requirement.marker.evaluate(environment)


def _joined(counting: list[DeclaredRequirement], *, hint: bool) -> dict[str, SpecifierSet]:
    found: dict[str, SpecifierSet] = {}
    for one in counting:
        requirement = requirement_of(one)
        if one.hint == hint and requirement is not None:
            found[one.project] = found.get(one.project, SpecifierSet()) & public(requirement.specifier)
    return found


def _python(counting: list[DeclaredRequirement]) -> SpecifierSet | None:
    for hint in (False, True):
        found = [
            wanted
            for one in counting
            if one.project == "python" and one.hint == hint
            if (wanted := python_of(one)) is not None
        ]
        if found:
            wanted = found[0]
            for other in found[1:]:
                wanted &= other
            return wanted
    return None


def _variant(counting: list[DeclaredRequirement], *, hint: bool) -> Variant | None:
    """Return the variant named: by torch itself, by its companions, by conda's CUDA, by a page.

    pip's torch brings its own CUDA, whatever conda brings beside it.
    """
    order: tuple[str, ...] = (*STACK, "cuda", "index")
    if (
        any(one.project == "torch" and one.notation == "pip" and not one.hint for one in counting)
        and not hint
    ):
        order = (*STACK, "index")
    named = [
        (order.index(one.project), variant)
        for one in counting
        if one.hint == hint and one.project in order and (variant := variant_in(one)) is not None
    ]
    return min(named, key=lambda pair: pair[0])[1] if named else None


# the request


def request_of(left: Project, base: Request) -> Request:
    """Return the request for all that was left, in which torch and its companions, Python and CUDA, are free.

    `base` has the options of the command line: its Python and its variant hold. Other requirements stand as
    they are; all are required. Raises UsageError where two lines ask for different releases of one project
    of the stack.
    """
    _refuse_contradiction(left)
    requirements = tuple(freed(one) if one.name in STACK else one for one in _requirements(left))
    if all(one.name != "torch" for one in requirements):
        requirements = (Requirement("torch"), *requirements)
    return replace(base, requirements=requirements, optional=())


def _requirements(left: Project) -> Iterator[Requirement]:
    for one in left.asked:
        requirement = requirement_of(one)
        if requirement is not None and not one.constraint and (not one.hint or _fills(one, left)):
            requirement.name = one.project
            yield requirement


def _fills(hint: DeclaredRequirement, left: Project) -> bool:
    """Whether a README's word adds a project: where there are no files, or they leave the torch stack out."""
    named = {one.project for one in left.asked if not one.hint and one.project not in NO_PROJECTS}
    return not named or (hint.project in STACK and "torch" not in named and hint.project not in named)


def freed(requirement: Requirement) -> Requirement:
    """Return the requirement for whatever release, with its extras and its marker."""
    copy = Requirement(str(requirement))
    copy.specifier = SpecifierSet()
    return copy


def _refuse_contradiction(left: Project) -> None:
    for project in STACK:
        pins: dict[Version, DeclaredRequirement] = {}
        for one in left.asked:
            release = exact_release(one) if one.project == project and not one.hint else None
            if release is not None and _has_no_marker(one):
                pins.setdefault(release, one)
        if len(pins) > 1:
            raise UsageError(
                tr("{project} is required in different releases", project=project),
                code="asked-twice",
                because=tuple(Because(_place(one), one.file) for one in pins.values()),
                fixes=(Fix(tr("remove one of them, or name the file to use")),),
            )


def _place(asked: DeclaredRequirement) -> str:
    return tr("{place} requires `{text}`", place=f"{asked.file}:{asked.line}", text=asked.text.strip())


def _has_no_marker(asked: DeclaredRequirement) -> bool:
    requirement = requirement_of(asked)
    return requirement is not None and requirement.marker is None


def exact_release(asked: DeclaredRequirement) -> Version | None:
    """Return the one release that a line asks for, without its local part; None for a range."""
    requirement = requirement_of(asked)
    pinned = (
        item for item in (requirement.specifier if requirement else ()) if item.operator in ("==", "===")
    )
    found = next(pinned, None)
    try:
        return release_of(Version(found.version)) if found else None
    except InvalidVersion:  # `==1.7.*`, and what follows `===`
        return None
