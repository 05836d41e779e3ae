"""`gpuenv create` of what is installed already and was not verified: only the verification is left."""

from __future__ import annotations

import os
import shlex

from gpuenv.cli.options import Common
from gpuenv.cli.output import envelope, note, print_data, print_json, working
from gpuenv.environments.listing import Environment
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import VerificationFailed
from gpuenv.operations.unverified import prove_again
from gpuenv.planning.detect import detect


def create_resumed(unproven: Environment, devices: tuple[int, ...], common: Common) -> int:
    """Verify the environment, and end as `create` does."""
    environment = unproven.place
    if not common.quiet:
        note(tr("`{name}` is installed but not verified yet", name=environment.name))
    with working(tr("verifying"), quiet=common.quiet):
        proof = prove_again(unproven, os.environ, detect(os.environ), devices)
    facts = {"name": environment.name, "path": str(environment.path), "python": str(proof.located.python)}
    data = {**unproven.record.plan, "environment": facts, "verify": proof.data}
    if not common.as_json and not common.quiet:
        print_data("\n".join(proof.lines))
    if proof.error is not None:
        kept = tr("{path} is kept, recorded as not verified", path=environment.path)
        raise VerificationFailed(
            f"{proof.error.message}; {kept}",
            code=proof.error.code,
            because=proof.error.because,
            fixes=proof.error.fixes,
            data=data,
        )
    if common.as_json:
        print_json(envelope("create", data, warnings=proof.warnings))
    elif not common.quiet:
        name = shlex.quote(environment.name)
        print_data(tr("created {path}: `gpuenv run {name} -- python`", path=environment.path, name=name))
    return 0
