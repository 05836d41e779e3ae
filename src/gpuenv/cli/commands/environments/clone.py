"""`gpuenv clone`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from gpuenv.activation.entering import python_of
from gpuenv.cli.options import Common
from gpuenv.cli.output import (
    check_terminal,
    confirm,
    envelope,
    note,
    print_data,
    print_json,
    print_warnings,
    working,
)
from gpuenv.cli.progress import following
from gpuenv.environments.store import EnvironmentPaths
from gpuenv.i18n.messages import tr
from gpuenv.model.amounts import render_size
from gpuenv.model.errors import VerificationFailed
from gpuenv.operations.verify import VerifyResult
from gpuenv.planning.detect import detect
from gpuenv.relocation import clone as cloning


def clone(source: str, name: str, common: Common, *, yes: bool, dry_run: bool, prove: bool) -> int:
    """Show what is copied, ask, copy, verify."""
    with working(tr("looking through `{name}`", name=source), quiet=common.quiet):
        planned = cloning.plan_clone(source, name, os.environ)
    data = _planned_data(planned)
    if not common.as_json and not (common.quiet and yes):
        print_data(
            tr(
                "{source} to {path}: {count} files, {size}",
                source=planned.source.place.path,
                path=planned.place.path,
                count=len(planned.tree.files),
                size=render_size(planned.tree.size),
            )
        )
    if dry_run:
        if common.as_json:
            print_json(envelope("clone", data))
        return 0
    if not yes:
        check_terminal(assume="--yes", data=data)
        confirm(tr("create {path}?", path=planned.place.path), assume="--yes")
    with following(tr("copying files"), quiet=common.quiet) as progress:
        how = cloning.CloneOptions((lambda _: None) if common.quiet else note, progress)
        python = cloning.clone(planned, how)
    return _end(planned.place, python, data, common, prove=prove)


def _planned_data(planned: cloning.PlannedClone) -> dict[str, Any]:
    source, environment = planned.source.place, planned.place
    return {
        "source": {"name": source.name, "path": str(source.path)},
        "environment": _environment(
            environment, Path(str(environment.path)) / python_of(source.path).relative_to(source.path)
        ),
        "files": len(planned.tree.files),
        "size": planned.tree.size,
        "verify": None,
    }


def _environment(environment: EnvironmentPaths, python: Path) -> dict[str, str]:
    return {"name": environment.name, "path": str(environment.path), "python": str(python)}


def _end(
    environment: EnvironmentPaths, python: Path, data: dict[str, Any], common: Common, *, prove: bool
) -> int:
    proof: VerifyResult | None = None
    if prove:
        with working(tr("verifying"), quiet=common.quiet):
            proof = cloning.prove_clone(environment, python, os.environ, detect(os.environ))
        data = data | {"verify": proof.data}
        if not common.as_json and not common.quiet:
            print_data("\n".join(proof.lines))
        if proof.error is not None:
            raise _not_proven(proof.error, environment, data)
    warnings = proof.warnings if proof else ()
    if common.as_json:
        print_json(envelope("clone", data, warnings=warnings))
    elif not common.quiet:
        print_warnings(warnings)
        name = shlex.quote(environment.name)
        print_data(tr("created {path}: `gpuenv run {name} -- python`", path=environment.path, name=name))
    return 0


def _not_proven(
    error: VerificationFailed, environment: EnvironmentPaths, data: dict[str, Any]
) -> VerificationFailed:
    kept = tr("{path} is kept, recorded as not verified", path=environment.path)
    return VerificationFailed(
        f"{error.message}; {kept}", code=error.code, because=error.because, fixes=error.fixes, data=data
    )
