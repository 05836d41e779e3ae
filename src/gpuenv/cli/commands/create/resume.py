"""`gpuenv create` of what is installed already and was not verified: only the verification is left."""

from __future__ import annotations

import os

from gpuenv.cli.console import Console
from gpuenv.environments.listing import Environment
from gpuenv.i18n.messages import tr
from gpuenv.operations.unverified import prove_again
from gpuenv.planning.detect import detect


def create_resumed(unproven: Environment, devices: tuple[int, ...], console: Console) -> int:
    """Verify the environment, and end as `create` does."""
    environment = unproven.paths
    console.note(tr("`{name}` is installed but not verified yet", name=environment.name))
    with console.working(tr("verifying")):
        proof = prove_again(unproven, os.environ, detect(os.environ), devices)
    facts = {"name": environment.name, "path": str(environment.path), "python": str(proof.located.python)}
    data = {**unproven.record.plan, "environment": facts, "verify": proof.data}
    return console.print_created("create", environment, data, proof)
