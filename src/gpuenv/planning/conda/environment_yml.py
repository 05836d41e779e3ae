"""Read the user's environment.yml (`-f`) as part of the request."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from gpuenv.files.read_text import read_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import N_, series, tr
from gpuenv.model.conda import EnvironmentFile
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.machine import Machine
from gpuenv.model.match_spec import as_requirement, parse_match_spec
from gpuenv.model.plan import PlanWarning
from gpuenv.planning.load_knowledge import load_built_releases
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.requirements import check_requirements
from gpuenv.resolution.conda.environment_yml import parse_environment_file
from gpuenv.resolution.target import platform_of

_LARGEST = 4 << 20  # bytes


def read_environment_file(path: Path | None, machine: Machine) -> EnvironmentFile:
    """Return what the file requests on a machine; nothing without a file.

    Raises UsageError for a bad file, Unsatisfiable for a machine that torch has no builds for.
    """
    if path is None:
        return EnvironmentFile()
    try:
        read = parse_environment_file(read_text(path, _LARGEST), platform_of(machine))
    except (OSError, ValueError) as error:
        reason = reason_of(error)
        raise UsageError(
            tr("`{path}` cannot be read: {reason}", path=path, reason=reason),
            code="bad-environment-file",
            fixes=(Fix(tr("give an environment.yml as written by `conda env export --from-history`")),),
        ) from None
    check_requirements((*read.stack, *read.pip), str(path))
    return read


def with_file(
    options: PlanOptions, file: EnvironmentFile, *, conda: bool
) -> tuple[PlanOptions, tuple[PlanWarning, ...]]:
    """Return the options with what the file requests, and warnings about it.

    The command line overrides the file. Without a conda tool, of its conda packages those are requested from
    the index that are known to be the same projects there; a name may be another one's.
    """
    path = str(options.environment_file or Path())
    warnings = [PlanWarning("environment-file", f"{path}: {text}") for text in file.warnings]
    names = known_on_index() if file.specs and not conda else frozenset()
    more: list[str] = []
    left_out: list[str] = []
    for spec in () if conda else file.specs:
        name = canonicalize_name(parse_match_spec(spec).name)
        requirement = as_requirement(spec)
        if name not in names:
            left_out.append(parse_match_spec(spec).name)
        elif requirement is not None:
            more.append(requirement)
        else:
            ignored = tr("{file}: `{spec}` is ignored", file=path, spec=spec)
            warnings.append(PlanWarning("environment-file", ignored))
    if more:
        template = N_(
            "{file}: {packages}: requested from the index, which has conda's packages by these names"
        )
        warnings.append(
            PlanWarning("conda-packages-as-wheels", tr(template, file=path, packages=series(more)))
        )
    if left_out:
        template = N_(
            "{file}: {packages}: left out, conda packages that only a conda tool installs (--manager conda)"
        )
        warnings.append(PlanWarning("not-in-plan", tr(template, file=path, packages=series(left_out))))
    typed = replace(
        options,
        requirements=(*options.requirements, *file.stack, *more, *file.pip),
        python=options.python or file.python,
        cuda=file.cuda if file.cuda and options.cuda == "auto" else options.cuda,
    )
    return typed, tuple(warnings)


def known_on_index() -> frozenset[str]:
    """Return the projects that have one name on conda's channels and on PyPI."""
    return load_built_releases().same
