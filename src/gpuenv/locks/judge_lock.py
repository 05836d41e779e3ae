"""Judge a lock: what it has for this machine, and whether its torch works there by the plan's own rules."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from gpuenv.i18n.messages import N_, tr
from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.indexes.mirrors.load import load_mirrors
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.locks.lock_kind import foreign_plugins, lacking_parts, other_kind
from gpuenv.locks.parse_pylock import UnfitError, select_files
from gpuenv.locks.read import Indexes, Lock, bad_lock, listing_of, only_locked, with_index, with_needs
from gpuenv.model.errors import Because, Fix, Unsatisfiable
from gpuenv.model.index import IndexConfiguration, Listing
from gpuenv.model.locked import LockedFile
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import Variant
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.machines import choose_machines, locate
from gpuenv.planning.options import PlanOptions, kind_asked
from gpuenv.planning.pages.listings import configuration_for, list_files
from gpuenv.planning.pythons import offer_pythons
from gpuenv.resolution.collect import plugins_of
from gpuenv.resolution.decision import Decision
from gpuenv.resolution.report.refusal import refuse
from gpuenv.resolution.request import STACK, Request, parse_cuda_option, parse_python
from gpuenv.resolution.resolve import ResolutionInput, build_input, decide
from gpuenv.resolution.rules.python import admitted
from gpuenv.resolution.target import Target


class JudgedLock(Struct, frozen=True):
    """A lock whose torch works on the machine: its files, the torch stack among them, and the decision."""

    lock: Lock
    files: tuple[LockedFile, ...]
    stack: tuple[LockedFile, ...]
    question: ResolutionInput
    decision: Decision
    configuration: IndexConfiguration
    indexes: Indexes


def judge_lock(lock: Lock, options: PlanOptions, environ: Mapping[str, str]) -> JudgedLock:
    """Judge a lock; raise Unsatisfiable where it or its torch does not fit the machine."""
    knowledge = with_needs(load_knowledge(environ), lock)
    variant = parse_cuda_option(options.cuda)
    machines = choose_machines(options, environ, knowledge)
    asked = kind_asked(options) if variant is None else variant.kind
    location = locate(machines, options, asked, knowledge)
    offers = offer_pythons(options, options.manager, location, knowledge, environ)
    python, selected = _selected(lock, location, options, offers)
    indexes = _indexes(environ)
    files = tuple(with_index(file, indexes) for file in selected)
    if foreign := tuple(foreign_plugins(files, location)):
        raise _unfit(lock, foreign)
    stack = _stack(lock, files, location)
    request = _request(stack, python, variant, options)
    listings, configuration = _listed(lock, stack, request, location, knowledge, options, environ)
    question = build_input(request, location, knowledge, listings, (python,))
    decision = decide(question)
    if not decision.choices:
        raise _refused(lock, question, decision)
    if lacking := tuple(lacking_parts(files, question)):
        raise _unfit(lock, lacking)
    return JudgedLock(lock, files, stack, question, decision, configuration, indexes)


def _selected(
    lock: Lock, target: Target, options: PlanOptions, offers: tuple[PythonOffer, ...]
) -> tuple[PythonOffer, tuple[LockedFile, ...]]:
    """Return the first Python that the lock has all files for, and these."""
    locked = lock.document.requires_python or SpecifierSet()
    specifiers = locked & parse_python(options.python) if options.python else locked
    problems: list[str] = []
    for python in admitted(offers, specifiers):
        result = _files_for(lock, python, target)
        if not isinstance(result, str):
            return python, result
        problems.append(tr("Python {version}: {problem}", version=python.short, problem=result))
    if not problems:
        facts = {"python": locked or "3", "manager": options.manager, "asked": options.python}
        message = N_("it is for Python {python}, which {manager} cannot provide")
        if options.python:
            message = N_("it is for Python {python}, not for {asked}")
        problems = [tr(message, **facts)]
    raise Unsatisfiable(
        tr("`{lock}` does not fit this machine", lock=lock.path),
        code="lock-unfit",
        because=tuple(Because(text, str(lock.path)) for text in dict.fromkeys(problems)),
        fixes=(_plan_anew(),),
    )


def _files_for(lock: Lock, python: PythonOffer, target: Target) -> tuple[LockedFile, ...] | str:
    """Return what the lock has for a Python, or why it has not all there is."""
    try:
        return select_files(lock.document, python, target, lock.folder)
    except UnfitError as error:
        return str(error)
    except ValueError as error:
        raise bad_lock(lock.path, str(error)) from None


def _plan_anew() -> Fix:
    return Fix(tr("plan again for this machine, without --from-lock"), "gpuenv plan")


def _stack(lock: Lock, files: tuple[LockedFile, ...], target: Target) -> tuple[LockedFile, ...]:
    """Return torch and its companions, torch first; raise UsageError without torch's wheel."""
    by_name = {canonicalize_name(file.name): file for file in files}
    projects = (*STACK, *plugins_of(target))
    locked_files = tuple(by_name[name] for name in map(canonicalize_name, projects) if name in by_name)
    if not locked_files or locked_files[0].name != STACK[0]:
        raise bad_lock(lock.path, tr("it has no torch"))
    for file in locked_files:
        if not file.is_wheel:
            template = N_("{file} is not a wheel, so it is not known what it is built for")
            raise bad_lock(lock.path, tr(template, file=file.filename))
    return locked_files


def exactly(file: LockedFile) -> Requirement:
    """Return the requirement of the very version of a file."""
    return Requirement(f"{file.name}=={file.version}")


def _request(
    stack: tuple[LockedFile, ...], python: PythonOffer, variant: Variant | None, options: PlanOptions
) -> Request:
    return Request(
        requirements=tuple(map(exactly, stack)),
        python=SpecifierSet(f"=={python.short}.*"),
        variant=variant,
        kind=kind_asked(options),
        devices=options.devices,
        manager=options.manager,
        offline=options.offline,
        program=options.program,
        options=options.as_typed,
    )


# what is known


def _indexes(environ: Mapping[str, str]) -> Indexes:
    official = load_mirrors(environ).find("official")
    own = official.pypi.simple if official.pypi else None
    return Indexes(own or default_index(environ), official.torch.address if official.torch else None)


def _listed(
    lock: Lock,
    stack: tuple[LockedFile, ...],
    request: Request,
    target: Target,
    knowledge: Knowledge,
    options: PlanOptions,
    environ: Mapping[str, str],
) -> tuple[tuple[Listing, ...], IndexConfiguration]:
    """Return what lists the stack's files, the lock itself last, and what the installer is told."""
    try:
        listings = tuple(listing_of(file) for file in stack)
    except ValueError as error:
        raise bad_lock(lock.path, str(error)) from None
    configuration = configuration_for(options, environ)
    if not (options.mirrors or configuration.find_links):
        return listings, configuration
    listed = list_files(options, request, target, knowledge, environ)
    return (*only_locked(listed.listings, stack), *listings), listed.configurations[0]


# what is said


def _refused(lock: Lock, question: ResolutionInput, decision: Decision) -> Unsatisfiable:
    """Say why the lock's torch does not work here; there is no other that could be chosen."""
    conflict = other_kind(question)
    if conflict is not None:
        because, fixes = conflict
        return _unfit(lock, (because,), fixes)
    error = refuse(question, decision)
    return _unfit(lock, error.because, tuple(Fix(fix.text) for fix in error.fixes))


def _unfit(lock: Lock, because: tuple[Because, ...], fixes: tuple[Fix, ...] = ()) -> Unsatisfiable:
    return Unsatisfiable(
        tr("the torch of `{lock}` does not work on this machine", lock=lock.path),
        code="lock-unfit",
        because=because,
        fixes=(*fixes, _plan_anew()),
    )
