"""Plan what a lock says: does its torch work on this machine, and where are its very files to be had."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.i18n.messages import N_, series, tr
from gpuenv.indexes.urls import is_remote
from gpuenv.installers import WHEEL_MANAGERS
from gpuenv.locks.judge_lock import exactly, judge_lock
from gpuenv.locks.read import Indexes, line_of, read_lock
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.locked import LockedFile
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.planning.hashes import keep_hashes
from gpuenv.planning.load_knowledge import overlay_warnings
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.listings import with_sizes
from gpuenv.planning.redact import without_passwords
from gpuenv.planning.requirements import original_request
from gpuenv.planning.resolve_others import planned_file
from gpuenv.planning.steps import with_steps
from gpuenv.resolution.plan_builder import build_plan


def plan_from_lock(path: Path, options: PlanOptions, environ: Mapping[str, str], *, target: str) -> Plan:
    """Return the plan that installs a lock's very files at `target`.

    Raises Unsatisfiable where the lock or its torch does not fit the machine, UsageError for contradictions.
    """
    options = for_lock(options, path)
    judged = judge_lock(read_lock(path), options, environ)
    files, stack, configuration = judged.files, judged.stack, judged.configuration
    others = tuple(sorted((file for file in files if file not in stack), key=lambda file: file.name))
    resolved = tuple(planned_file(file) for file in others)
    plan = build_plan(judged.question, judged.decision, judged.decision.choices[0], configuration, resolved)
    own = (source.url for source in (configuration.index_url, *configuration.extra_index_urls) if source)
    plan = _hashed(plan, (*stack, *others), replace(judged.indexes, own=tuple(own)), environ)
    plan = replace(
        plan,
        warnings=(*plan.warnings, *overlay_warnings(environ)),
        why=(*plan.why, Because(tr("every file is the one that the lock lists, by hash"), str(path))),
        asked=original_request(options, tuple(map(exactly, files))),
    )
    return without_passwords(with_steps(with_sizes(plan, options, environ), target))


def for_lock(options: PlanOptions, path: Path) -> PlanOptions:
    """Return the options for a lock, with who installs; raise UsageError for what can't be given with it."""
    options = replace(options, from_lock=path)
    given = {
        tr("requirements"): options.requirements or options.requirement_files,
        "-f": options.environment_file,
        "--channel": options.channel != "auto",
    }
    named = series(name for name, value in given.items() if value)
    if named:
        message = tr("a lock lists everything to install: {named} cannot be used with it", named=named)
        raise UsageError(message, code="usage")
    if options.manager == "auto":
        return replace(options, manager="uv")
    if options.manager in WHEEL_MANAGERS:
        return options
    raise UsageError(
        tr("{manager} does not install from a lock of wheels", manager=options.manager),
        code="usage",
        fixes=(Fix(tr("omit --manager, or choose uv or pip")),),
    )


def _hashed(plan: Plan, files: tuple[LockedFile, ...], indexes: Indexes, environ: Mapping[str, str]) -> Plan:
    """Return the plan with a file of hashes for the installer, and what is known to be bad among them."""
    pins = {canonicalize_name(pin.name): pin for pin in map(Requirement, plan.pins)}
    listed = [file for file in files if _is_listed(file, pins.get(canonicalize_name(file.name)))]
    lines = [line_of(file, indexes, listed=file in listed) for file in files]
    versions = {str(canonicalize_name(file.name)): file.version for file in files}

    def holds(constraint: Requirement) -> bool:
        version = versions.get(canonicalize_name(constraint.name))
        return version is None or constraint.specifier.contains(version, prereleases=True)

    bad = (text for text in plan.constraints if not holds(Requirement(text)))
    message = N_("the lock violates `{constraint}`, which avoids a known problem")
    warnings = tuple(PlanWarning("lock-known-bad", tr(message, constraint=text)) for text in bad)
    return replace(
        plan,
        hashed=str(keep_hashes("\n".join(lines) + "\n", environ)),
        constraints=(),
        warnings=(*plan.warnings, *warnings),
    )


def _is_listed(file: LockedFile, pin: Requirement | None) -> bool:
    """Whether a page that the installer reads lists a file of the stack: none does of what has an address."""
    is_by_name = pin is not None and pin.url is None
    return is_by_name and file.index is not None and is_remote(file.index)
