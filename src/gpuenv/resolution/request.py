"""What the user asked for, parsed."""

from __future__ import annotations

import shlex

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.version_ranges import named_versions
from gpuenv.model.accelerator import AcceleratorKind
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import Variant, parse_variant
from gpuenv.resolution.markers import marker_environment
from gpuenv.resolution.requirement_index import index_of
from gpuenv.resolution.rules.python import full_version
from gpuenv.resolution.target import Target
from gpuenv.untrusted.bounds import check_bounds, shortened

COMPANIONS = ("torchvision", "torchaudio", "torchtext", "torchdata", "xformers")
STACK = ("torch", *COMPANIONS)
DEFAULT_REQUIREMENTS = ("torch", "torchvision")
NUMPY = "numpy"
OPTIONAL = ("torchvision", NUMPY)  # without numpy, torch's first line prints a warning


class Request(Struct, frozen=True):
    """The user's wishes: requirements, Python, variant (None: auto), devices, manager.

    `program` and `options` are the command as typed, without the requirements, so that a fix can repeat it.
    `extensions` are projects built against torch, companions aside. `optional` are those that nobody typed:
    they are installed where they are available. `spelled_out`: the command names all requirements, those that
    are the default too. `runs_cuda_on_cpu` looks for builds for CUDA without a GPU.
    `kind` is the accelerator that was asked for by its kind. `mirrors_tried`: those that can stand in for an
    index were asked.
    """

    requirements: tuple[Requirement, ...]
    python: SpecifierSet | None = None
    variant: Variant | None = None
    devices: tuple[int, ...] = ()
    manager: str = "uv"
    offline: bool = False
    program: tuple[str, ...] = ("gpuenv", "plan")
    options: tuple[tuple[str, str], ...] = ()
    extensions: tuple[str, ...] = ()
    mirrors_tried: bool = False
    optional: tuple[str, ...] = ()
    spelled_out: bool = False
    runs_cuda_on_cpu: bool = False
    kind: AcceleratorKind | None = None

    @property
    def accelerator(self) -> AcceleratorKind | None:
        """The kind of accelerator that is asked for, by its name or by that of a variant; None: any."""
        return self.variant.kind if self.variant is not None else self.kind

    def specifier(self, project: str) -> SpecifierSet:
        """All that is asked of `project`, joined."""
        return index_of(self.requirements).specifier(project)

    def admits(self, project: str, version: Version) -> bool:
        """Whether `version` is among what is asked of `project`; pre-releases only where one is named."""
        return admits(self.specifier(project), version)

    def extras(self, project: str) -> tuple[str, ...]:
        """The extras of `project` that are asked for: `torch[opt-einsum]`."""
        sets = (item.extras for item in index_of(self.requirements).of.get(project, ()))
        return tuple(sorted({extra for extras in sets for extra in extras}))

    @property
    def requested_python(self) -> str:
        """The Python asked for as a person would say it: `3.11`, `>=3.10`."""
        return str(self.python).removeprefix("==").removesuffix(".*") if self.python else "3"

    @property
    def companions(self) -> tuple[str, ...]:
        """The companions of torch that are asked for."""
        named = index_of(self.requirements).of
        return tuple(project for project in COMPANIONS if project in named)

    @property
    def requested_extensions(self) -> tuple[str, ...]:
        """Those of `extensions` that are still asked for."""
        named = index_of(self.others).of
        return tuple(name for name in self.extensions if name in named)

    @property
    def others(self) -> tuple[Requirement, ...]:
        """The requirements outside the torch stack: a resolver's business."""
        return index_of(self.requirements).without(STACK)

    @property
    def to_resolve(self) -> tuple[Requirement, ...]:
        """Those of `others` that somebody typed: they may force another torch."""
        return index_of(self.others).without(self.optional)

    def typed(self, *projects: str) -> Request:
        """Return the request as if these optional projects had been typed, and the others left out."""
        kept = index_of(self.requirements).without(self.optional)
        typed = tuple(Requirement(name) for name in self.optional if name in projects)
        return replace(self, requirements=(*kept, *typed), optional=(), spelled_out=True)

    def with_requirement(self, text: str) -> Request:
        """Return the request with the requirements on one project replaced by `text`; its extras stay."""
        new = Requirement(text)
        name = canonicalize_name(new.name)
        new.extras |= set(self.extras(name))
        names = index_of(self.requirements).names
        position = names.index(name) if name in names else 0
        kept = [item for item, other in zip(self.requirements, names, strict=True) if other != name]
        return replace(self, requirements=(*kept[:position], new, *kept[position:]))

    def without_project(self, project: str) -> Request:
        """Return the request without the requirements on one project."""
        return replace(self, requirements=index_of(self.requirements).without((project,)))

    def with_option(self, name: str, *values: str) -> Request:
        """Return the request typed with `name` given as `model` (none: without the option)."""
        kept = tuple(option for option in self.options if option[0] != name)
        return replace(self, options=(*kept, *((name, value) for value in values)))

    def command(self) -> str:
        """The command line that asks for this, quoted for a POSIX shell.

        The requirements of files are spelled out: what is changed in them would not hold beside the files.
        """
        typed = tuple(map(str, self.requirements))
        default = not self.spelled_out and typed in (DEFAULT_REQUIREMENTS, (*DEFAULT_REQUIREMENTS, NUMPY))
        words = [*self.program, *(() if default else typed)]
        for name, value in self.options:
            if name != "-r":
                words += [name, value] if value else [name]
        return shlex.join(words)


def admits(specifier: SpecifierSet, version: Version) -> bool:
    """Whether `version` fits; pre-releases only where the specifier names one."""
    if not specifier:
        return not version.is_prerelease
    if version.is_prerelease and not any(named.is_prerelease for named in named_versions(specifier)):
        return False
    return specifier.contains(version, prereleases=True)


def parse_requirements(texts: tuple[str, ...]) -> tuple[Requirement, ...]:
    """Parse PEP 508 requirements, each once; without any, `torch torchvision`; torch is always among them.

    Without any, torchvision is one of the OPTIONAL projects of the request that is made of them.

    Raises UsageError for text that is not a requirement, and for direct URLs of the torch stack.
    """
    parsed = tuple(_parse_requirement(text) for text in dict.fromkeys(texts or DEFAULT_REQUIREMENTS))
    names = {canonicalize_name(requirement.name) for requirement in parsed}
    return parsed if "torch" in names else (Requirement("torch"), *parsed)


def parse_named(texts: tuple[str, ...]) -> tuple[Requirement, ...]:
    """Parse PEP 508 requirements, each once, without adding any; raises as `parse_requirements` does."""
    return tuple(_parse_requirement(text) for text in dict.fromkeys(texts))


def _parse_requirement(text: str) -> Requirement:
    try:
        requirement = Requirement(check_bounds(text))
    except ValueError as error:
        raise UsageError(
            tr("`{text}` is not a valid requirement: {error}", text=shortened(text), error=reason_of(error)),
            code="bad-requirement",
            fixes=(Fix(tr("write it as `torch==2.7.1` or `numpy>=1.26`")),),
        ) from None
    if not str(requirement).isprintable():
        raise UsageError(tr("{text} has unprintable characters", text=repr(text)), code="bad-requirement")
    _refuse_marker(text, requirement)
    if requirement.url and canonicalize_name(requirement.name) in STACK:
        raise UsageError(
            tr("`{name}` is requested by direct URL, which leaves nothing to choose", name=requirement.name),
            code="url-requirement",
            fixes=(
                Fix(tr("specify the version instead, or give the directory of the file with --find-links")),
            ),
        )
    return requirement


def _refuse_marker(text: str, requirement: Requirement) -> None:
    """Raise UsageError for a marker that compares what can't be compared: `os_name ~= 'posix'`."""
    try:
        if requirement.marker:
            requirement.marker.evaluate(marker_environment("linux-64", "3.12.0"))
    except ValueError as error:
        raise UsageError(
            tr("the marker of `{text}` cannot be evaluated: {error}", text=text, error=error),
            code="bad-requirement",
        ) from None


def parse_python(text: str) -> SpecifierSet:
    """Parse `3.11`, `3.11.4` or `>=3.10,<3.13`; raise UsageError for anything else."""
    try:
        if check_bounds(text)[:1].isdigit():
            version = Version(text)
            return SpecifierSet(f"=={version}" if version.release[2:] else f"=={version}.*")
        return SpecifierSet(text)
    except ValueError:
        raise UsageError(
            tr("`{text}` is not a valid Python version", text=shortened(text)),
            code="bad-python",
            fixes=(Fix(tr("write it as `3.11` or `>=3.10,<3.13`")),),
        ) from None


def parse_cuda_option(text: str) -> Variant | None:
    """Parse `--cuda`: None for `auto`; raise UsageError for what names no variant."""
    if text.strip().lower() == "auto":
        return None
    try:
        return parse_variant(text)
    except ValueError as error:
        raise UsageError(
            str(error),
            code="bad-cuda",
            fixes=(Fix(tr("write it as `12.6`, `cu126`, `cpu` or `auto`")),),
        ) from None


Part = tuple[Request, tuple[PythonOffer, ...]]


def by_python(request: Request, target: Target, offers: tuple[PythonOffer, ...]) -> tuple[Part, ...]:
    """Return the request as it counts for each of the Pythons, those alike together, in their order.

    Only the torch stack matters here: other requirements keep their markers for the installer.
    """
    if not offers or not any(_is_conditional(item) for item in request.requirements):
        return ((request, offers),)
    parts: dict[tuple[Requirement, ...], list[PythonOffer]] = {}
    for offer in offers:
        environment = marker_environment(target.platform, str(full_version(offer)))
        kept = tuple(item for item in request.requirements if _counts(item, environment))
        parts.setdefault(kept, []).append(offer)
    return tuple((replace(request, requirements=kept), tuple(alike)) for kept, alike in parts.items())


def _is_conditional(requirement: Requirement) -> bool:
    return requirement.marker is not None and canonicalize_name(requirement.name) in STACK


def _counts(requirement: Requirement, environment: dict[str, str]) -> bool:
    if not _is_conditional(requirement) or requirement.marker is None:
        return True
    return requirement.marker.evaluate(environment)
