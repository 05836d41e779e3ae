"""`--adapt`: from what a paper or a colleague left to the nearest set that works here, as changed files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gpuenv import matrices
from gpuenv.adapt.cuda_of_names import other_cudas
from gpuenv.adapt.left_out import left_out, warnings_about
from gpuenv.adapt.model import Adaptation, Project, RequirementChange
from gpuenv.adapt.nearest.request import python_of
from gpuenv.adapt.parsers.collector import shown
from gpuenv.adapt.patch.apply import adapted_files
from gpuenv.adapt.read_code import read_code
from gpuenv.adapt.read_project import read_project
from gpuenv.adapt.risks.api_risks import risks_of
from gpuenv.adapt.sources.frameworks import (
    names_torch,
    other_frameworks,
    refuse_unshared_python,
    refuse_without_torch,
)
from gpuenv.adapt.task import begin, torch_is_condas
from gpuenv.adapt.wheels import adapt_wheels
from gpuenv.i18n.messages import N_, tr
from gpuenv.knowledge.ecosystem import Ecosystem
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.match_spec import parse_match_spec
from gpuenv.model.plan import PlanWarning
from gpuenv.model.python import PythonOffer
from gpuenv.planning.conda.choose import AUTO, WHEELS, choose_conda_manager
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.machines import choose_machines
from gpuenv.planning.options import PlanOptions
from gpuenv.resolution.rules.python import admitted
from gpuenv.resolution.target import platform_of

_IMPORT = re.compile(r"^\s*(?:import|from)\s+torch\b", re.MULTILINE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class AdaptOptions(Struct, frozen=True):
    """What is to be adapted: paths, and the day of the other packages (`2021-03-14`, or `git`).

    `source` is the file that is followed where several say different things. `patch_alone`: nothing is
    installed here, so that no conda tool need be there for an environment.yml.
    """

    paths: tuple[Path, ...]
    exclude_newer: str | None = None
    patch_alone: bool = False
    source: Path | None = None


def adapt(
    adapting: AdaptOptions,
    options: PlanOptions,
    environ: Mapping[str, str],
    *,
    target: str,
    tell: Callable[[int], None] = lambda _: None,
) -> Adaptation:
    """Return the nearest set that works here, and the files as they become; nothing is written.

    `tell` is called with the number of each run of the resolver. Raises UsageError, Unreachable, or
    Unsatisfiable where nothing near works here.
    """
    knowledge = load_knowledge(environ)
    machines = choose_machines(options, environ, knowledge)
    project = read_project(adapting.paths, environ, platform_of(machines[0]), adapting.source)
    if not _imports_torch(adapting.paths, project, knowledge.ecosystem):
        refuse_without_torch(project.declared, knowledge.ecosystem)
    before = day_of(adapting.exclude_newer, project)
    if (
        adapting.patch_alone
        and options.manager == AUTO
        and options.channel != WHEELS
        and torch_is_condas(project)
    ):
        options = replace(options, manager=choose_conda_manager(options, environ, "environment.yml"))
    task = begin(project, options, machines, knowledge, environ, target=target, before=before, tell=tell)
    task = replace(task, partial=adapting.patch_alone)
    if task.channels:
        from gpuenv.adapt.conda import adapt_in_conda  # noqa: PLC0415 - for conda alone

        plan, changes = adapt_in_conda(task)
    else:
        plan, changes = adapt_wheels(task)
    torch = next(package.version for package in plan.packages if package.name == "torch")
    refuse_unshared_python(project.declared, PythonOffer(plan.python), str(torch), knowledge.ecosystem)
    changes = tuple(change for change in changes if _says_another(change))
    code, messages = _code(adapting.paths, project) if changes else ((), ())
    changes = risks_of(changes, matrices.load("api-changes"), code)
    warnings = (PlanWarning("left", text) for text in (*project.warnings, *messages))
    lost = left_out(project, plan, changes, task.machine_target.platform)
    about = (PlanWarning("not-in-plan", text) for text in warnings_about(lost))
    cudas = other_cudas(project, plan, task.machine_target)
    bounds = (
        PlanWarning("bound", text) for text in (*_bounds_left(project, PythonOffer(plan.python)), *cudas)
    )
    plan = replace(plan, warnings=(*warnings, *about, *bounds, *plan.warnings))
    return Adaptation(project, plan, changes, adapted_files(project, changes), lost)


def _says_another(change: RequirementChange) -> bool:
    """Whether a line becomes another one; a build of conda's is no part of the requirement."""
    line = change.declared
    if line is None or change.new is None or change.new != line.requirement:
        return True
    return line.notation == "conda" and bool(parse_match_spec(line.text).build)


def _bounds_left(project: Project, python: PythonOffer) -> Iterator[str]:
    """Say which Pythons of files beside the adapted one the plan does not keep: no changed line tells it."""
    for line in project.declared:
        wanted = python_of(line) if line.project == "python" and line.hint else None
        if wanted is not None and not admitted((python,), wanted):
            place = f"{shown(line.file)}:{line.line}"
            template = N_("{place} has `{text}`, which Python {python} of this plan does not keep")
            yield tr(template, place=place, text=shown(line.text.strip()), python=python.short)


def day_of(text: str | None, project: Project) -> str | None:
    """Return the day that other packages are of; `git` is the one on which the project's files last changed.

    Raises UsageError for what is not a date, and where git does not know it.
    """
    if text is None:
        return None
    if text.strip().lower() != "git":
        try:
            return date.fromisoformat(text if _DAY.fullmatch(text) else "").isoformat()
        except ValueError:
            fix = Fix(tr("write it as 2021-06-30, or `git` for the date of the last commit"))
            message = tr("`{text}` is not a date (YYYY-MM-DD)", text=text)
            raise UsageError(message, code="bad-day", fixes=(fix,)) from None
    if project.date is None:
        fix = Fix(tr("give a date: --exclude-newer 2021-06-30"))
        message = tr("git does not know when the files were last changed")
        raise UsageError(message, code="no-day", fixes=(fix,))
    return project.date


def _imports_torch(paths: tuple[Path, ...], project: Project, ecosystem: Ecosystem) -> bool:
    """Whether something of the project is about torch; the code is read where no line is."""
    others = other_frameworks(project.declared, ecosystem)
    if names_torch(project.declared, ecosystem) or not any(True for _ in others):
        return True
    texts, _ = _code(paths, project)
    return any(_IMPORT.search(text) for _, text in texts)


def _code(paths: tuple[Path, ...], project: Project) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return the code that the files serve: in the folders named, else in the checkout that they lie in."""
    folders = [path for path in paths if path.is_dir()]
    if not folders and project.date is not None:
        folders = [path.absolute().parent for path in paths]
    codes = [read_code(folder) for folder in dict.fromkeys(folders)]
    texts = tuple(text for code in codes for text in code.texts)
    return texts, tuple(text for code in codes for text in code.warnings)
