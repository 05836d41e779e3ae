"""Read the user's environment.yml (`-f`) as part of the request."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from gpuenv.files.read_text import read_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.conda import EnvironmentFile
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.machine import Machine
from gpuenv.model.match_spec import as_requirement
from gpuenv.model.plan import PlanWarning
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

    The command line overrides the file. Without a conda tool, its conda packages are requested from the
    index, by their names.
    """
    path = str(options.environment_file or Path())
    warnings = [PlanWarning("environment-file", f"{path}: {text}") for text in file.warnings]
    more: list[str] = []
    for spec in () if conda else file.specs:
        requirement = as_requirement(spec)
        if requirement is not None:
            more.append(requirement)
        else:
            ignored = tr("{file}: `{spec}` is ignored", file=path, spec=spec)
            warnings.append(PlanWarning("environment-file", ignored))
    if more:
        text = tr("{file}: {packages} would be requested from the index by their conda names", file=path,
                  packages=", ".join(more))  # fmt: skip
        warnings.append(PlanWarning("conda-packages-as-wheels", text))
    typed = replace(
        options,
        requirements=(*options.requirements, *file.stack, *more, *file.pip),
        python=options.python or file.python,
        cuda=file.cuda if file.cuda and options.cuda == "auto" else options.cuda,
    )
    return typed, tuple(warnings)
