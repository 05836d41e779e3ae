"""`gpuenv clone`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gpuenv.activation.entering import python_of
from gpuenv.cli.console import Console
from gpuenv.cli.output import confirm, print_data
from gpuenv.cli.progress import following
from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.messages import tr
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.operations.verify import VerifyResult
from gpuenv.planning.detect import detect
from gpuenv.relocation import clone as cloning


def clone(source: str, name: str, console: Console, *, yes: bool, dry_run: bool, prove: bool) -> int:
    """Show what is copied, ask, copy, verify."""
    with console.working(tr("looking through `{name}`", name=source)):
        planned = cloning.plan_clone(source, name, os.environ)
    data = _planned_data(planned)
    if not console.as_json and not (console.quiet and yes):
        facts = {"count": data["files"], "size": render_size(data["size"])}
        source_path = planned.source.paths.path
        print_data(
            tr(
                "{source} to {path}: {count} files, {size}",
                source=source_path,
                path=planned.paths.path,
                **facts,
            )
        )
    if dry_run:
        return console.print_json("clone", data) if console.as_json else 0
    if not yes:
        confirm(tr("create {path}?", path=planned.paths.path), data)
    with following(tr("copying files"), quiet=console.quiet) as progress:
        how = cloning.CloneOptions(console.note, progress.bytes)
        python = cloning.clone(planned, how)
    return _end(planned.paths, python, data, console, prove=prove)


def _planned_data(planned: cloning.PlannedClone) -> dict[str, Any]:
    source, environment = planned.source.paths, planned.paths
    python = Path(environment.path, python_of(source.path).relative_to(source.path))
    return {
        "source": {"name": source.name, "path": str(source.path)},
        "environment": {"name": environment.name, "path": str(environment.path), "python": str(python)},
        "files": len(planned.tree.files),
        "size": planned.tree.size,
        "verify": None,
    }


def _end(
    environment: EnvironmentPaths, python: Path, data: dict[str, Any], console: Console, *, prove: bool
) -> int:
    proof: VerifyResult | None = None
    if prove:
        with console.working(tr("verifying")):
            proof = cloning.prove_clone(environment, python, os.environ, detect(os.environ))
        data = data | {"verify": proof.data}
    return console.print_created("clone", environment, data, proof)
