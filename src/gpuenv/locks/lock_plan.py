"""Lock a plan: every file that it brings, by its official address and its hash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.formats.requirements import for_conda_tools
from gpuenv.i18n.messages import N_, series, tr
from gpuenv.indexes.mirrors.canonical_urls import (
    Official,
    canonical_file,
    canonical_pages,
    canonical_sources,
    pypi_files_root,
)
from gpuenv.indexes.mirrors.load import Mirrors, load_mirrors
from gpuenv.indexes.mirrors.lookup import host_of, mirror_at
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.installers import uv_compile as resolver
from gpuenv.installers import uv_failure
from gpuenv.locks.official_files import (
    NO_HASH,
    Hashes,
    Hashing,
    OfficialPlaces,
    hashes_for,
    unlockable,
    with_hash,
)
from gpuenv.model.errors import Because, Fix, GpuenvError, Unreachable, Unsatisfiable, UsageError
from gpuenv.model.locked import Locked, LockedFile
from gpuenv.model.plan import Plan, PlannedPackage, PlanWarning, Sources
from gpuenv.model.variant import Variant
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.direct_urls import with_direct_urls
from gpuenv.planning.resolve_others import packages_of
from gpuenv.planning.steps import resolver_question
from gpuenv.resolution.rules.driver import least_driver
from gpuenv.resolution.target import driver_os, platform_of

NO_PLACE = "no-official-address"
_PASSED_OVER = (NO_HASH, NO_PLACE, "not-lockable", "index-unreachable")


def lock_plan(
    plan: Plan, options: PlanOptions, environ: Mapping[str, str], hashing: Hashing | None = None
) -> Locked:
    """Return all files that the plan brings, resolving what it leaves to the installer.

    Raises UsageError for what no lock can name (packages of conda, version control), Unsatisfiable where a
    hash or an official address is not available, and Unreachable where an index does not answer.
    """
    if plan.is_condas:
        message = tr("a lock of wheels cannot contain conda packages: torch would come from PyPI")
        raise for_conda_tools(message)
    mirrors = load_mirrors(environ)
    places = OfficialPlaces(plan, mirrors.find("official"), environ, options.offline)
    hashes = hashes_for(plan, places, options, environ, hashing or Hashing())
    plan = _with_hashed_stack(plan, hashes)
    packages = tuple(_checked(package) for package in _complete(plan, options, mirrors, environ))
    _check_whole(plan, packages)
    files = _files(packages, plan, mirrors, hashes)
    sources = canonical_pages(canonical_sources(plan, mirrors.all), files, places.torch)
    driver, architectures = _needs(plan, environ)
    planned = replace(plan, packages=packages, warnings=(*plan.warnings, *_warnings(files)))
    return Locked(planned, files, sources, driver, architectures)


def lock_if_possible(
    plan: Plan, options: PlanOptions, environ: Mapping[str, str], hashing: Hashing | None = None
) -> Locked | Plan:
    """Lock a plan, or return it with a warning that says why some of its files have no hash or address."""
    try:
        return lock_plan(plan, options, environ, hashing)
    except GpuenvError as error:
        if error.code not in _PASSED_OVER:
            raise
        template = N_("without hashes, and without the dependencies of the requirements: {why}")
        text = tr(template, why=error.message)
        return replace(plan, warnings=(*plan.warnings, PlanWarning("not-locked", text)))


# what is installed


def _with_hashed_stack(plan: Plan, hashes: Hashes) -> Plan:
    """Return the plan with the hashes of its stack, which uv would fetch whole files for."""
    count = len(plan.pins)
    values = (with_hash(_checked(package), hashes).sha256 for package in plan.packages[:count])
    stack = tuple(replace(package, sha256=sha) for package, sha in zip(plan.packages, values, strict=False))
    return replace(plan, packages=(*stack, *plan.packages[count:]))


def _complete(
    plan: Plan, options: PlanOptions, mirrors: Mirrors, environ: Mapping[str, str]
) -> tuple[PlannedPackage, ...]:
    """Return all packages of the plan; where no resolver ran, it runs now."""
    stack = plan.packages[: len(plan.pins)]
    if len(plan.packages) > len(stack):
        return plan.packages
    question = resolver_question(with_direct_urls(plan, mirrors), options)
    outcome = resolver.compile_requirements(question, environ)
    if isinstance(outcome, uv_failure.Unresolvable):
        if options.offline:
            raise _unread_offline(outcome)
        raise Unsatisfiable(
            tr("the dependencies of torch cannot be installed together"),
            code="requirements-conflict",
            because=(Because(outcome.message, "uv pip compile"),),
            fixes=(Fix(tr("name an index that has it with --mirror")),),
        )
    names = {package.name for package in stack}
    others = (package for package in packages_of(outcome) if package.name not in names)
    return (*stack, *others)


def _unread_offline(outcome: uv_failure.Unresolvable) -> Unreachable:
    """Return the error of a stack whose files are known by the matrices, and are not here to be resolved."""
    return Unreachable(
        tr("the dependencies of torch cannot be resolved offline"),
        code="dependencies-unread",
        because=(Because(outcome.message, "uv pip compile"),),
        fixes=(
            Fix(tr("plan with an index that provides it, such as --mirror official, and without --offline")),
        ),
    )


def _checked(package: PlannedPackage) -> PlannedPackage:
    if package.filename and package.url:
        return package
    raise _address_unknown(package) if package.filename and package.index else _not_lockable(package.name)


def _address_unknown(package: PlannedPackage) -> Unreachable:
    """Return the error of what the shipped listing knows by name and hash, where its index was not read."""
    return Unreachable(
        tr(
            "`{file}` cannot be locked: its address on {index} was not read",
            file=package.filename,
            index=package.index,
        ),
        code="address-unknown",
        fixes=(
            Fix(tr("plan with an index that provides it, such as --mirror official, and without --offline")),
        ),
    )


def _not_lockable(name: str) -> UsageError:
    return UsageError(
        tr("`{name}` is not a file that a lock can contain, such as a wheel on an index", name=name),
        code="not-lockable",
        because=(Because(tr("it comes from version control, a directory or a source archive"), name),),
        fixes=(Fix(tr("build a wheel of it, and give its directory with --find-links"), "pip wheel"),),
    )


def _check_whole(plan: Plan, packages: tuple[PlannedPackage, ...]) -> None:
    """Raise UsageError for what was asked for by address and not resolved: a lock without it would lie."""
    names = {canonicalize_name(package.name) for package in packages}
    for requirement in map(Requirement, plan.requirements):
        if requirement.url and canonicalize_name(requirement.name) not in names:
            raise _not_lockable(requirement.name)


# their addresses and hashes


def _files(
    packages: tuple[PlannedPackage, ...], plan: Plan, mirrors: Mirrors, hashes: Hashes
) -> tuple[LockedFile, ...]:
    count, places = len(plan.pins), hashes.places
    ordered = (*packages[:count], *sorted(packages[count:], key=lambda package: package.name))
    pinned = _by_url(plan.pins)
    named = pinned | _by_url(plan.requirements)
    unlisted = (replace(package, index=None) if package.name in pinned else package for package in ordered)
    listed = (
        package if package.name in named else _listed(package, plan.sources, places) for package in unlisted
    )
    hashed = tuple(with_hash(package, hashes) for package in listed)
    of_pypi = ((package.name, package.url or "") for package in hashed if pypi_files_root(package.url or ""))
    official = places.places(tuple(name for name, url in of_pypi if mirror_at(url, mirrors.all)))
    return tuple(_locked(package, official, mirrors, places) for package in hashed)


def _by_url(requirements: tuple[str, ...]) -> set[str]:
    return {canonicalize_name(item.name) for item in map(Requirement, requirements) if item.url}


def _listed(package: PlannedPackage, sources: Sources, places: OfficialPlaces) -> PlannedPackage:
    """Return a package with what lists it: a resolver does not tell."""
    url = package.url or ""
    if not is_remote(url):
        return replace(package, index=str(local_path(url).parent))
    return package if package.index else replace(package, index=_lister(url, sources) or places.index)


def _lister(url: str, sources: Sources) -> str | None:
    """Return the page in whose folder a file lies, else the index on its host; None for the default one."""
    pages = (page for page in sources.find_links if url.startswith(f"{page.rstrip('/').rpartition('/')[0]}/"))
    indexes = () if sources.no_index else (sources.index_url, *sources.extra_index_urls)
    near = (index for index in indexes if index and host_of(index) == host_of(url))
    return next(pages, None) or next(near, None) or sources.index_url


def _locked(
    package: PlannedPackage, official: Official, mirrors: Mirrors, places: OfficialPlaces
) -> LockedFile:
    location = _place(package, official, mirrors)
    if location is None:
        planned = places.find(package)
        location = _place(planned, official, mirrors) if planned else None
    if location is None:
        text = tr("the official location of {file} of a mirror is not known", file=package.filename)
        raise unlockable(package, text, NO_PLACE)
    url, index = location
    return LockedFile(
        name=package.name,
        version=str(Version(package.version)),
        filename=str(package.filename),
        url=url,
        index=index,
        sha256=package.sha256 or "",
        size=package.size,
    )


def _place(package: PlannedPackage, official: Official, mirrors: Mirrors) -> tuple[str, str | None] | None:
    url = package.url or ""
    if not is_remote(url):
        return local_path(url).absolute().as_uri(), package.index
    return canonical_file(package, official, mirrors.all)


# what is told besides


def _needs(plan: Plan, environ: Mapping[str, str]) -> tuple[str | None, tuple[str, ...]]:
    """Return the least driver and the architectures of torch's build, as far as they are known."""
    knowledge = load_knowledge(environ)
    platform = platform_of(plan.machines[0])
    torch, variant = Version(Version(plan.packages[0].version).public), Variant(plan.variant)
    build = knowledge.find_build(torch, variant, platform, "pytorch")
    architectures = tuple(map(str, build.architectures)) if build else ()
    cuda = (build.cuda if build else None) or variant.cuda
    if cuda is None:
        return None, ()
    floors = [least_driver(cuda, driver_os(machine), knowledge) for machine in plan.machines]
    least = max((floor.version for floor in floors if floor), default=None)
    return (str(least) if least else None), architectures


def _warnings(files: tuple[LockedFile, ...]) -> Iterator[PlanWarning]:
    local = [file.filename for file in files if not is_remote(file.url)]
    if local:
        text = tr("{files}: only on this machine; the lock cannot be used elsewhere", files=series(local))
        yield PlanWarning("lock-local", text)
    for file in files:
        if not file.is_wheel:
            yield PlanWarning("lock-sdist", tr("{file} is built during installation", file=file.filename))
