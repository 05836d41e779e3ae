"""Which files `mirrors check` asks the mirrors for: those of this machine's plan, or one that is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from gpuenv.i18n.messages import tr
from gpuenv.indexes.mirrors.wanted_files import ProbeTarget, WantedFiles, is_for
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.errors import Fix, GpuenvError, UsageError
from gpuenv.model.index import Listing
from gpuenv.model.machine import Machine
from gpuenv.model.mirror import Mirror
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import IndexKind, TorchBuild, WheelFile
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.machines import choose_machines
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.shipped_listing import known_files
from gpuenv.planning.pythons import offer_pythons
from gpuenv.resolution.candidate import release_of
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import STACK, Request, parse_requirements
from gpuenv.resolution.resolve import build_input, decide
from gpuenv.resolution.rules.python import admitted, runs_on
from gpuenv.resolution.target import Target, choose_target, platform_of

_TORCH = canonicalize_name("torch")
_KINDS: tuple[IndexKind, ...] = ("pytorch", "pypi")


class _Named(Struct, frozen=True):
    """What `--for` asks about: `torch==2.14.1+cu126`."""

    project: NormalizedName
    version: Version

    @property
    def variant(self) -> Variant | None:
        return Variant(self.version.local) if self.version.local else None


class _Around(Struct, frozen=True):
    """What the choice depends on: this machine, and what is known to be published."""

    knowledge: Knowledge
    target: Target
    usable: bool  # whether the machine's GPUs, if it has any, can be planned for
    official: Mirror
    environ: Mapping[str, str]

    def pythons(self) -> tuple[PythonOffer, ...]:
        return offer_pythons(PlanOptions(), "uv", self.target, self.knowledge, self.environ)

    def known(self, *projects: str) -> tuple[Listing, ...]:
        names = tuple(canonicalize_name(project) for project in projects)
        return known_files(names, self.target, self.knowledge, self.official, self.environ)

    def choices(self, *requirements: str) -> Sequence[Solution]:
        """The builds that a plan would choose, the best first; none where none can be made."""
        if not self.usable:
            return ()
        request = Request(parse_requirements(requirements))
        listings = self.known(_TORCH, *request.companions)
        return decide(build_input(request, self.target, self.knowledge, listings, self.pythons())).choices


def sought_files(named: str | None, official: Mirror, environ: Mapping[str, str]) -> WantedFiles:
    """Return what to look for, decided offline; raise UsageError for a `named` that is no exact version.

    Where this machine can't be planned for, it is the newest torch, in the variant that most releases have.
    """
    requested = _parse(named) if named is not None else None
    around = _around(official, environ)
    if requested is not None:
        return _wanted(_of_named(requested, around), (), around)
    solutions = around.choices()
    pypis = next((solution for solution in solutions if solution.candidate.kind == "pypi"), None)
    groups = _groups(solutions, None) or _of_newest(around)
    return _wanted(groups, _files(pypis, None) if pypis else (), around)


def _parse(text: str) -> _Named:
    try:
        requirement = Requirement(text)
        (exact,) = requirement.specifier
        if exact.operator in ("==", "===") and canonicalize_name(requirement.name) in STACK:
            return _Named(canonicalize_name(requirement.name), Version(exact.version))
    except (InvalidRequirement, InvalidVersion, ValueError):
        pass
    raise UsageError(
        tr("`{text}` is not one version of the torch stack", text=text),
        code="bad-requirement",
        fixes=(Fix(tr("write it as `torch==2.14.1+cu126`")),),
    )


def _around(official: Mirror, environ: Mapping[str, str]) -> _Around:
    knowledge = load_knowledge(environ)
    machines = choose_machines(PlanOptions(), environ, knowledge)
    try:
        target, usable = choose_target(machines, (), cpu=False), True
    except GpuenvError:  # hardware that can't be used as it is: the mirrors are to be asked all the same
        target, usable = _bare_target(machines), False
    return _Around(knowledge, target, usable, official, environ)


def _bare_target(machines: tuple[Machine, ...]) -> Target:
    try:
        return Target(machines, (), platform_of(machines[0]))
    except GpuenvError:  # a system that no CUDA build is published for, such as macOS
        return Target(machines, (), "linux-64")


def _groups(
    solutions: Sequence[Solution], project: NormalizedName | None
) -> tuple[tuple[ProbeTarget, ...], ...]:
    """The files of the best build: the PyTorch index's, and PyPI's where that has the same."""
    if not solutions:
        return ()
    builds = [(item.candidate.torch, item.candidate.variant, item.python) for item in solutions]
    same = [solution for solution, build in zip(solutions, builds, strict=True) if build == builds[0]]
    by_kind = {solution.candidate.kind: solution for solution in reversed(same)}
    groups = (_files(by_kind[kind], project) for kind in _KINDS if kind in by_kind)
    return tuple(filter(None, groups))


def _files(solution: Solution, project: NormalizedName | None) -> tuple[ProbeTarget, ...]:
    files = [indexed.file for indexed in solution.files if project in (None, indexed.file.name)]
    # a companion without kernels of its own may be PyPI's beside a torch of the PyTorch index
    kind = solution.candidate.kind
    return tuple(_sought(file, "pypi" if file.variant is None else kind) for file in files)


def _sought(file: WheelFile, kind: IndexKind) -> ProbeTarget:
    variant = None if kind == "pypi" else file.variant
    release = release_of(file.version)
    return ProbeTarget(kind, file.name, release, variant, file.filename, file.tags, file.sha256)


def _of_named(named: _Named, around: _Around) -> tuple[tuple[ProbeTarget, ...], ...]:
    """The file of that name: for this machine's plan, else for its platform and the newest Python."""
    release = release_of(named.version)
    if named.variant is None and (
        groups := _groups(around.choices(f"{named.project}=={release}"), named.project)
    ):
        return groups
    files = [
        (kind, file)
        for listing, kind in zip(around.known(named.project), _KINDS, strict=True)
        for file in listing.files
        if release_of(file.version) == release and is_for(file, around.target.platform)
        if named.variant in (None, file.variant) and (named.variant is None or kind == "pytorch")
    ]
    if not files:
        kind: IndexKind = "pytorch" if named.variant else "pypi"
        name = f"{named.project}-{named.version}"
        return ((ProbeTarget(kind, named.project, release, named.variant, name),),)
    offers = admitted(around.pythons(), None)
    kind, file = min(files, key=lambda result: _python_place(result[1], offers))
    return ((_sought(file, kind),),)


def _python_place(file: WheelFile, offers: tuple[PythonOffer, ...]) -> int:
    return next((position for position, offer in enumerate(offers) if runs_on(file, offer)), len(offers))


def _of_newest(around: _Around) -> tuple[tuple[ProbeTarget, ...], ...]:
    """The newest torch, in the variant that most releases were built for."""
    builds = _official_builds(around)
    newest = max(build.torch for build in builds)
    common = Counter(build.variant for build in builds)
    variants = [build.variant for build in builds if build.torch == newest]
    best = max(variants, key=lambda variant: (not variant.is_cpu, common[variant]))
    return _of_named(_Named(_TORCH, Version(f"{newest}+{best}")), around)


def _official_builds(around: _Around) -> tuple[TorchBuild, ...]:
    builds = around.knowledge.builds_of(around.target.platform)
    own = (build for build in builds if build.index == "pytorch" and build.variant.is_cuda_or_cpu)
    return tuple(build for build in own if not build.torch.is_prerelease)


def _wanted(
    groups: tuple[tuple[ProbeTarget, ...], ...], instead: tuple[ProbeTarget, ...], around: _Around
) -> WantedFiles:
    builds = around.knowledge.builds_of(around.target.platform)
    return WantedFiles(
        groups=groups,
        platform=around.target.platform,
        instead=() if instead in groups else instead,
        newest=tuple(_newest(builds)),
        variants=_variants(groups, _official_builds(around)),
    )


def _newest(builds: tuple[TorchBuild, ...]) -> Iterator[tuple[IndexKind, Version]]:
    for kind in _KINDS:
        releases = [build.torch for build in builds if build.index == kind and not build.torch.is_prerelease]
        if releases:
            yield kind, max(releases)


def _variants(
    groups: tuple[tuple[ProbeTarget, ...], ...], builds: tuple[TorchBuild, ...]
) -> tuple[Variant, ...]:
    """The variants to look into: those of the files, and one of the newest torch, to tell what is stale."""
    own = dict.fromkeys(target.variant for group in groups for target in group if target.variant)
    newest = max(build.torch for build in builds)
    latest = [build.variant for build in builds if build.torch == newest]
    if not any(variant in latest for variant in own):
        own[max(latest)] = None
    return tuple(own)
