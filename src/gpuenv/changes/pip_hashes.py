"""What pip may install: what was resolved and shown, by hash where one is known.

Of several indexes pip itself takes the best of all, whoever published it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.changes.apply import installer_of
from gpuenv.changes.resolve import PlannedChange, exact
from gpuenv.environments.wheel_cache import digest_of, plain_digest
from gpuenv.http.timeouts import Watch
from gpuenv.i18n.messages import tr
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.installers import pip
from gpuenv.installers.uv_compile import CompileInput, Resolved, ResolvedFile
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.access import Access
from gpuenv.model.errors import Because, Fix, GpuenvError, Unsatisfiable
from gpuenv.model.plan import CheckedStack, HeldFiles, Plan, PlanWarning, Sources
from gpuenv.planning.complete_wheelhouses import compile_requirements
from gpuenv.planning.hashes import HashFetcher, keep_hashes
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.own_constraints import own_pip_constraints, pip_chooses_by_own_rules
from gpuenv.planning.resolve_others import planned_file
from gpuenv.planning.steps import resolver_question, with_steps


class Holding(Struct, frozen=True):
    """A plan whose installer gets every file by its hash, as far as hashes can be known."""

    plan: Plan
    warnings: tuple[PlanWarning, ...] = ()


def pools(manager: str, sources: Sources) -> bool:
    """Whether an installer would choose among several indexes by version alone."""
    return (
        manager == pip.NAME and bool(sources.extra_index_urls) and not (sources.no_index or sources.offline)
    )


def with_files_held(plan: Plan, options: PlanOptions, environ: Mapping[str, str], target: str) -> Holding:
    """Return the plan with what pip is bound to: the files resolved here, by hash where one is known.

    Where pip would pool indexes they are those that the first index of each name has: Unsatisfiable is raised
    where those do not go together, and what can't be resolved, as for want of a login that pip alone comes
    by, is left to pip, with a warning. With one index pip would come to much the same, and has the last word.
    """
    if plan.conda is not None or plan.hashed is not None or plan.manager != pip.NAME:
        return Holding(plan)
    pooling = pools(plan.manager, plan.sources)
    root = Path(target)
    if not pooling and pip_chooses_by_own_rules(environ, root):
        return Holding(plan)
    try:
        outcome = compile_requirements(_question(plan, options), _constrained(environ, root))
        if isinstance(outcome, Unresolvable):
            if not pooling:
                return Holding(plan)
            raise _contradictory(outcome)
        if outcome.left_out and not pooling:  # what pip builds may need other versions
            return Holding(plan)
        held = hold(outcome, plan, environ)
    except Unsatisfiable:
        raise
    except GpuenvError as error:
        return Holding(plan, (_not_held(error),) if pooling else ())
    return Holding(with_steps(replace(plan, held=held), target))


def _constrained(environ: Mapping[str, str], root: Path) -> Mapping[str, str]:
    """Return the variables with the constraints that pip is configured with, for uv to resolve by."""
    own = " ".join(own_pip_constraints(environ, root))
    both = f"{own} {environ.get('UV_CONSTRAINT', '')}".strip()
    return {**environ, "UV_CONSTRAINT": both} if own else environ


def _question(plan: Plan, options: PlanOptions) -> CompileInput:
    """Return what is to be resolved, in the versions that were shown: an index may have newer ones by now."""
    question = resolver_question(plan, options)
    if not plan.is_whole:
        return question
    elsewhere = set(_by_address(plan.requirements))
    others = (
        package
        for package in plan.packages[len(plan.pins) :]
        if canonicalize_name(package.name) not in elsewhere
    )
    shown = tuple(f"{package.name}=={package.version}" for package in others if package.version)
    return replace(question, constraints=(*question.constraints, *shown))


def hold(outcome: Resolved, plan: Plan, environ: Mapping[str, str]) -> HeldFiles | None:
    """Return the resolved files beside the checked ones as lines with hashes; None where there are none.

    From one index, what has no hash is bound by its version alone; from several it is read for its hash.
    """
    checked = {canonicalize_name(name) for name in plan.checked.names} if plan.checked else set()
    pinned = {item.name for item in plan.packages[: len(plan.pins)]}
    files = tuple(file for file in outcome.files if canonicalize_name(file.name) not in checked)
    elsewhere = {*pinned, *_by_address(plan.requirements)}  # no index of the installer's lists these
    listed = tuple(file for file in files if canonicalize_name(file.name) not in elsewhere)
    pooling = pools(plan.manager, plan.sources)
    lines = tuple(lines_of(listed, environ, plan.sources.access, fetching=pooling))
    complete = not outcome.left_out and len(lines) == len(files)
    hashes = str(keep_hashes("".join(lines), environ)) if lines else None
    bounds = None if pooling or complete else _keep_bounds(listed, environ)
    return HeldFiles(hashes, complete=complete, bounds=bounds) if hashes or bounds else None


def _keep_bounds(files: Iterable[ResolvedFile], environ: Mapping[str, str]) -> str | None:
    text = "".join(f"{file.name}==={file.version}\n" for file in files if file.version)
    return str(keep_hashes(text, environ)) if text else None


def _by_address(requirements: Iterable[str]) -> Iterator[str]:
    parsed = (Requirement(text) for text in requirements)
    return (canonicalize_name(requirement.name) for requirement in parsed if requirement.url is not None)


def hold_changes(
    planned: PlannedChange, checked: CheckedStack | None, environ: Mapping[str, str]
) -> tuple[HeldFiles, frozenset[str]] | None:
    """Return the files of a change that come from an index, by hash, and their names."""
    request = planned.request
    if installer_of(planned.opened) != pip.NAME or request.sources.no_index or request.offline:
        return None
    pooling = pools(pip.NAME, request.sources)
    if not pooling and pip_chooses_by_own_rules(environ, planned.opened.paths.path):
        return None
    first = checked.names if checked else frozenset[str]()
    texts = {change.name: exact(change, request) for change in planned.changes if change.after}
    by_name = {name for name, text in texts.items() if "@" not in text and name not in first}
    files = tuple(file for file in planned.files if canonicalize_name(file.name) in by_name)
    if not pooling:  # the others come by their versions
        files = tuple(file for file in files if plain_digest(file.sha256))
    lines = tuple(lines_of(files, environ, request.sources.access, fetching=pooling))
    if len(lines) != len(files) or not lines:
        return None
    held = HeldFiles(str(keep_hashes("".join(lines), environ)), complete=len(files) == len(by_name))
    return held, frozenset(canonicalize_name(file.name) for file in files)


def lines_of(
    files: Iterable[ResolvedFile], environ: Mapping[str, str], access: Access, *, fetching: bool
) -> Iterator[str]:
    """Yield a line for each file whose hash is known, or, when `fetching`, can be computed.

    `===`, as `==1.0` would admit another index's 1.0+local.
    """
    for file in files:
        digest = plain_digest(file.sha256) or (_digest_of(file, environ, access) if fetching else None)
        if digest is not None:
            yield f"{file.name}==={file.version} --hash=sha256:{digest}\n"


def _digest_of(file: ResolvedFile, environ: Mapping[str, str], access: Access) -> str | None:
    if file.url is None or file.filename is None:
        return None
    if is_remote(file.url):
        wheel = file.filename.endswith(".whl")
        return HashFetcher(environ, access).digest(planned_file(file)) if wheel else None
    path = local_path(file.url)
    return digest_of(path, Watch(lambda _: None)) if Path(path).is_file() else None


def _contradictory(outcome: Unresolvable) -> Unsatisfiable:
    return Unsatisfiable(
        tr("the first index that lists each name provides incompatible packages"),
        code="requirements-conflict",
        because=(Because(outcome.message, "uv pip compile"),),
        fixes=(
            Fix(tr("remove the extra index that hides a package of another from your pip configuration")),
            Fix(
                tr("or allow any index to provide any package: put `index-strategy = {value}` into your "
                   "uv.toml",
                   value='"unsafe-best-match"')
            ),
        ),
    )  # fmt: skip


def _not_held(error: GpuenvError) -> PlanWarning:
    text = tr(
        "pip takes the newest version on any of its indexes: the packages from the first index "
        "of each name could not be resolved ({reason})",
        reason=error.message,
    )
    return PlanWarning("indexes-pooled", text)
