"""What a project declares, as wishes of one Python and as a request in which all that may move is free."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace
from packaging.markers import UndefinedEnvironmentName
from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import parse_wheel_filename
from packaging.version import InvalidVersion, Version

from gpuenv.adapt.model import NO_PROJECTS, DeclaredRequirement, Project
from gpuenv.adapt.nearest.agreement import joined, narrowed
from gpuenv.adapt.nearest.constraint_lines import constrained
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import Variant, parse_variant
from gpuenv.model.wheel import Platform
from gpuenv.resolution.by_identity import ByIdentity
from gpuenv.resolution.candidate import release_of
from gpuenv.resolution.markers import marker_environment
from gpuenv.resolution.request import STACK, Request, parse_python
from gpuenv.resolution.rules.python import full_version
from gpuenv.resolution.target import Target
from gpuenv.untrusted.bounds import check_wheel_name

_OF_VARIANT = re.compile(r"/(cpu|cu\d{2,3})(?=/|['\"\s]|$)")
_OF_TORCH = re.compile(r"/torch_stable\.html|/whl(?:/|['\"\s]|$)|/pytorch-wheels(?:/|['\"\s]|$)")


def variant_of_page(text: str) -> Variant | None:
    """Return the variant of the builds on a page like PyTorch's: `https://…/whl/cu118/torch/`."""
    match = _OF_VARIANT.search(text)
    return Variant(match[1]) if match and is_page_of_torch(text) else None


def is_page_of_torch(text: str) -> bool:
    """Whether an address is that of the PyTorch index, of a copy of it, or of a page of it."""
    return _OF_TORCH.search(text) is not None


class Wishes(Struct, frozen=True, eq=False):
    """What a project declares for one Python.

    `lines` are the places that count, by project, those of files alone; `specifiers` the releases asked for,
    without local versions, hints among them. `variant` is the one that the torch asked for is to have,
    `hinted` what a README says of it.
    """

    lines: Mapping[str, tuple[DeclaredRequirement, ...]]
    specifiers: Mapping[str, SpecifierSet]
    python: SpecifierSet | None
    variant: Variant | None
    hinted: Variant | None

    def of(self, project: str) -> SpecifierSet:
        """Return the releases of a project that are asked for; all where nothing is said."""
        return self.specifiers.get(project, SpecifierSet())

    def is_like(self, other: Wishes) -> bool:
        """Whether the same counts with another Python."""
        return (self.lines, self.specifiers) == (other.lines, other.specifiers)


def requirement_of(declared: DeclaredRequirement) -> Requirement | None:
    """Return what is asked of a project; None where it is no project, or was not understood.

    A wheel of the torch stack, named by its address, is its version. A marker must be one that can be
    evaluated: `python_version ~= "3"` compares what can't be compared.
    """
    parsed = _parsed(declared)
    return copied(parsed) if parsed else None


def is_condas_pip(declared: DeclaredRequirement) -> bool:
    """Whether a line names the pip of a conda environment, which gpuenv chooses itself."""
    return declared.notation == "conda" and declared.project == "pip"


@cache
def _parsed(declared: DeclaredRequirement) -> Requirement | None:
    """Return what `requirement_of` does, not to be changed."""
    if declared.project in NO_PROJECTS or declared.requirement is None:
        return None
    try:
        requirement = Requirement(declared.requirement)
        if requirement.marker:
            requirement.marker.evaluate(marker_environment("linux-64", "3.12.0"))
    except (ValueError, UndefinedEnvironmentName):  # what it raises for a marker, too
        return None
    if requirement.url and declared.project in STACK:
        requirement.specifier = _version_in(requirement.url)
        requirement.url = None
    return requirement


def _version_in(url: str) -> SpecifierSet:
    """Read `…/torch-1.11.0%2Bcu113-cp38-cp38-linux_x86_64.whl` as `==1.11.0+cu113`."""
    filename = unquote(url).partition("#")[0].rpartition("/")[2]
    try:
        _, version, _, _ = parse_wheel_filename(check_wheel_name(filename))
    except ValueError:
        return SpecifierSet()
    return SpecifierSet(f"=={version}")


def python_of(declared: DeclaredRequirement) -> SpecifierSet | None:
    """Return the Pythons that a line asks for, `3.7` or `>=3.7`; None where it was not understood."""
    try:
        return parse_python(declared.requirement) if declared.requirement else None
    except UsageError:
        return None


def variant_in(declared: DeclaredRequirement) -> Variant | None:
    """Return the variant that a line names: `cudatoolkit=10.2`, `torch==1.7.1+cu110`, `-f …/whl/cu110`."""
    if declared.project == "index":
        return variant_of_page(declared.requirement or declared.text)
    try:
        if declared.project == "cuda":
            return parse_variant(declared.requirement or "")
        requirement = requirement_of(declared) if declared.project in STACK else None
        locals_ = (item.version.partition("+")[2] for item in requirement.specifier) if requirement else ()
        local = next(filter(None, locals_), None)
        return parse_variant(local) if local else None
    except ValueError:
        return None


@cache
def public(specifier: SpecifierSet) -> SpecifierSet:
    """Return the specifier without local versions: `==1.7.1+cu110` asks for release 1.7.1."""
    items = (f"{item.operator}{item.version.partition('+')[0]}" for item in specifier)
    try:
        return SpecifierSet(",".join(items))
    except InvalidSpecifier:  # what follows `===` may be anything
        return specifier


def wishes_for(project: Project, target: Target, python: PythonOffer) -> Wishes:
    """Return what of a project counts on a target with a Python.

    What a README says counts where the files leave it open.
    """
    return _wishes_of(project)(target.platform, str(full_version(python)))


def _by_python(project: Project) -> Callable[[Platform, str], Wishes]:
    return cache(lambda platform, python: _wishes(project, platform, python))


_wishes_of: ByIdentity[Project, Callable[[Platform, str], Wishes]] = ByIdentity(_by_python, most=8)


def _wishes(project: Project, platform: Platform, python: str) -> Wishes:
    environment = marker_environment(platform, python)
    counting = [requirement for requirement in project.declared if _counts(requirement, environment)]
    lines: defaultdict[str, list[DeclaredRequirement]] = defaultdict(list)
    for declared in counting:
        if not declared.hint:
            lines[declared.project].append(declared)
    own = {name: wanted for name, wanted in _joined(counting, hint=False).items() if wanted}
    named, hinted = _variant(counting, hint=False), _variant(counting, hint=True)
    releases = narrowed(own, _joined(counting, hint=True))
    if releases.get("torch") != own.get("torch"):  # who says which torch says which build of it
        named = named or hinted
    by_project = {name: tuple(items) for name, items in lines.items()}
    return Wishes(by_project, releases, _python(counting), named, hinted)


def _counts(declared: DeclaredRequirement, environment: dict[str, str]) -> bool:
    requirement = _parsed(declared)
    return requirement is None or requirement.marker is None or requirement.marker.evaluate(environment)


def _joined(counting: list[DeclaredRequirement], *, hint: bool) -> dict[str, SpecifierSet]:
    specifiers: defaultdict[str, SpecifierSet] = defaultdict(SpecifierSet)
    for declared in counting:
        requirement = _parsed(declared)
        if declared.hint == hint and requirement is not None:
            specifiers[declared.project] &= public(requirement.specifier)
    return dict(specifiers)


def _python(counting: list[DeclaredRequirement]) -> SpecifierSet | None:
    lines = [item for item in counting if item.project == "python"]
    own, hints = ([python_of(item) for item in lines if item.hint == hint] for hint in (False, True))
    return joined(filter(None, own), filter(None, hints))


def _variant(counting: list[DeclaredRequirement], *, hint: bool) -> Variant | None:
    """Return the variant named: by torch itself, by its companions, by conda's CUDA, by a page.

    pip's torch brings its own CUDA, whatever conda brings beside it.
    """
    own = [item for item in counting if item.hint == hint]
    by_pip = not hint and any(item.project == "torch" and item.notation == "pip" for item in own)
    order = (*STACK, "index") if by_pip else (*STACK, "cuda", "index")
    variants = (variant_in(item) for project in order for item in own if item.project == project)
    return next((variant for variant in variants if variant is not None), None)


def request_of(project: Project, base: Request) -> Request:
    """Return the request for a project, in which torch and its companions, Python and CUDA, are free.

    `base` has the options of the command line: its Python and its variant hold. Other requirements stand as
    they are; all are required. Raises UsageError where two lines ask for different releases of one project
    of the stack.
    """
    _refuse_contradiction(project)
    requirements = tuple(
        freed(requirement) if requirement.name in STACK else requirement
        for requirement in constrained(_requirements(project), _bounds(project))
    )
    if all(requirement.name != "torch" for requirement in requirements):
        requirements = (Requirement("torch"), *requirements)
    return replace(base, requirements=requirements, optional=())


def _requirements(project: Project) -> Iterator[Requirement]:
    for declared in project.declared:
        requirement = None if is_condas_pip(declared) else requirement_of(declared)
        counts = not declared.constraint and (not declared.hint or _fills(declared, project))
        if requirement is not None and counts:
            requirement.name = declared.project
            yield requirement


def _bounds(project: Project) -> Iterator[Requirement]:
    for declared in project.declared:
        requirement = requirement_of(declared) if declared.constraint else None
        if requirement is not None:
            requirement.name = declared.project
            yield requirement


def _fills(hint: DeclaredRequirement, project: Project) -> bool:
    """Whether a README's word adds a project: one that no file names, of torch's stack only all or none."""
    named = {item.project for item in project.declared if not item.hint} - set(NO_PROJECTS)
    is_free = hint.project not in STACK or "torch" not in named
    return not named or (is_free and hint.project not in named)


def freed(requirement: Requirement) -> Requirement:
    """Return the requirement for whatever release, with its extras and its marker."""
    any_release = copied(requirement)
    any_release.specifier = SpecifierSet()
    return any_release


def copied(requirement: Requirement) -> Requirement:
    """Return a requirement that can be changed beside the other; `copy.copy` would parse it anew."""
    other = Requirement.__new__(Requirement)
    other.name, other.url, other.marker = requirement.name, requirement.url, requirement.marker
    other.extras, other.specifier = set(requirement.extras), requirement.specifier
    return other


def _refuse_contradiction(adapted_project: Project) -> None:
    for project in STACK:
        pins: dict[Version, DeclaredRequirement] = {}
        for declared in adapted_project.declared:
            release = exact_release(declared) if declared.project == project and not declared.hint else None
            requirement = requirement_of(declared)
            if release is not None and requirement is not None and requirement.marker is None:
                pins.setdefault(release, declared)
        if len(pins) > 1:
            raise UsageError(
                tr("{project} is required in different releases", project=project),
                code="asked-twice",
                because=tuple(map(_place, pins.values())),
                fixes=(Fix(tr("remove one of them, or name the file to use")),),
            )


def _place(declared: DeclaredRequirement) -> Because:
    place, text = f"{declared.file}:{declared.line}", declared.text.strip()
    return Because(tr("{place} requires `{text}`", place=place, text=text), declared.file)


def exact_release(declared: DeclaredRequirement) -> Version | None:
    """Return the one release that a line asks for, without its local part; None for a range."""
    requirement = requirement_of(declared)
    specifiers = requirement.specifier if requirement else ()
    specifier = next((item for item in specifiers if item.operator in ("==", "===")), None)
    try:
        return release_of(Version(specifier.version)) if specifier else None
    except InvalidVersion:  # `==1.7.*`, and what follows `===`
        return None
