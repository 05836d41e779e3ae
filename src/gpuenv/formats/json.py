"""Format `json`: the plan as data (design, section 2)."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from gpuenv.model.conda import CondaPlan
from gpuenv.model.machine_json import render_machine
from gpuenv.model.plan import Download, Plan, PlannedPackage, Sources
from gpuenv.model.variant import Variant
from gpuenv.secrets.redact import redact_step
from gpuenv.secrets.url_credentials import without_userinfo


def render_plan_data(plan: Plan) -> dict[str, Any]:
    """Return the JSON form of a plan; `null` where a field is not known."""
    return {
        "machines": [render_machine(machine) for machine in plan.machines],
        "python": plan.python,
        "accelerator": Variant(plan.variant).kind,
        "variant": plan.variant,
        "manager": plan.manager,
        "packages": [render_package(package) for package in plan.packages],
        "pins": [without_userinfo(pin) for pin in plan.pins],
        "requirements": [without_userinfo(text) for text in plan.requirements],
        "constraints": [without_userinfo(text) for text in plan.constraints],
        "asked": to_builtins(plan.asked) if plan.asked else None,
        "sources": _sources(plan.sources),
        "steps": [{"argv": list(step.argv), "why": step.why} for step in map(redact_step, plan.steps)],
        "why": [to_builtins(reason) for reason in plan.why],
        "rejected": [to_builtins(rejection) for rejection in plan.rejected],
        "advice": [to_builtins(advice) for advice in plan.advice],
        "download": _download(plan.download) if plan.download else None,
        **({"conda": _conda(plan.conda)} if plan.conda else {}),
    }


def _download(download: Download) -> dict[str, Any]:
    """`bytes` is null where not one size is known; `exact` is false where some are the matrix's."""
    return {
        "files": download.files,
        "bytes": download.size or (None if download.least else 0),
        "installed_bytes": download.installed or None,
        "free_bytes": download.free,
        "local_files": download.local,
        "cached_files": download.cached,
        "exact": download.exact,
    }


def render_package(package: PlannedPackage) -> dict[str, Any]:
    """Return the JSON form; of a conda package, channel, build and subdir stand in place of the file.

    `extras` is there where a package has some.
    """
    data: dict[str, Any] = to_builtins(package)
    if not package.extras:
        del data["extras"]
    for field in ("channel", "build", "subdir") if package.channel is None else ("filename",):
        del data[field]
    return data


def _sources(sources: Sources) -> dict[str, Any]:
    """Say where files come from, without passwords; the index serves all but the torch stack."""
    return {
        "index_url": without_userinfo(sources.index_url) if sources.index_url else None,
        "extra_index_urls": [without_userinfo(url) for url in sources.extra_index_urls],
        "find_links": [without_userinfo(find_link) for find_link in sources.find_links],
        "no_index": sources.no_index,
    }


def _conda(part: CondaPlan) -> dict[str, Any]:
    return {
        "channels": [channel.name for channel in part.channels],
        "specs": list(part.specs),
        "cuda": part.cuda,
    }
