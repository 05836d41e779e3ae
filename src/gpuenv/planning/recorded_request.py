"""What a plan was asked for, as the record of its environment keeps it."""

from __future__ import annotations

from packaging.requirements import Requirement

from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.model.plan import OriginalRequest
from gpuenv.planning.options import PlanOptions
from gpuenv.secrets.url_credentials import redact_credentials, without_userinfo


def asked_of(options: PlanOptions, requirements: tuple[Requirement, ...]) -> OriginalRequest:
    """Return what a plan was asked for, without passwords: those are looked up again when they are needed."""
    return OriginalRequest(
        requirements=tuple(redact_credentials(str(requirement)) for requirement in requirements),
        mirrors=tuple(map(without_userinfo, options.mirrors)),
        find_links=tuple(map(_lasting, options.find_links)),
        cuda=options.cuda,
        channel=options.channel,
        devices=options.devices,
    )


def _lasting(location: str) -> str:
    """Return a wheelhouse as it can be found from any folder."""
    return without_userinfo(location) if is_remote(location) else str(local_path(location).absolute())
