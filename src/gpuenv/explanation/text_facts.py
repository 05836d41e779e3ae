"""The facts by which cases and clauses are chosen: what a text reports, and what follows from it."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

from gpuenv import matrices
from gpuenv.signatures.circumstances import circumstances
from gpuenv.signatures.derived import derived_facts, memory_facts
from gpuenv.signatures.reported import Reported, canonical

if TYPE_CHECKING:
    from gpuenv.knowledge.knowledge import Knowledge

OTHER_CARDS = frozenset({"radeon", "gfx", "intel_gpu"})  # facts by which cards of AMD and Intel are known
_OF_CONDA = (  # see conda_facts
    "conda_last",
    "conda_pip_line",
    "conda_pip_python",
    "conda_forge_line",
    "conda_python",
    "conda_wrong",
)
_OF_PACKAGES = (  # see package_facts
    "torch_build",
    "build_cuda",
    "build_cuda_name",
    "extension_line",
    "extension_project",
    "driver_runs",
    "driver_index",
    "nvidia_pins",
)
_OF_LIBRARIES = frozenset({"cublas_type", "cudnn_status"})  # facts for which the card counts


def facts_of(
    reported: Reported, environ: Mapping[str, str] | None = None, asked: Container[str] = ()
) -> dict[str, str]:
    """Return what a text reports, and what follows from it; plans are decided as `environ` has it.

    What takes the matrices to know is there where a condition asks for it.
    """
    values = reported.values
    facts = circumstances(values) | values | derived_facts(values, matrices.load("companions"))
    facts |= asked_facts(reported, facts, environ, asked)
    facts |= _unbuilt(reported) or _owner(reported)
    facts |= memory_facts(values)
    if "wanted_cuda" in values:
        facts |= _wanted_driver(values["wanted_cuda"], environ)
    if not _OF_LIBRARIES.isdisjoint(values) and (reported.gpus or "gpu_named" in values):
        from gpuenv.explanation.card_facts import cuda_facts  # noqa: PLC0415 - planning is much

        facts |= cuda_facts(reported, environ or {})
    if OTHER_CARDS.isdisjoint(values):
        return facts
    from gpuenv.explanation.card_facts import card_facts  # noqa: PLC0415 - planning is much

    return facts | card_facts(reported, environ or {})


def asked_facts(
    reported: Reported,
    known: Mapping[str, str],
    environ: Mapping[str, str] | None,
    asked: Container[str],
) -> dict[str, str]:
    """Return what is `known` of a text, with those of the facts asked for that take the matrices to know."""
    facts = dict(known)
    if "torch" in facts and any(name in asked for name in _OF_PACKAGES):
        from gpuenv.explanation.package_facts import package_facts  # noqa: PLC0415 - the matrices are large

        facts |= package_facts(reported, facts, _knowledge(environ))
    if "asked_torch" in facts and "conflict_release" in asked:
        from gpuenv.explanation.package_facts import release_facts  # noqa: PLC0415 - the matrices are large

        facts |= release_facts(facts, _knowledge(environ))
    facts |= _of_driver(reported, environ, asked, facts)
    if "conda_torch" in facts and any(name in asked for name in _OF_CONDA):
        from gpuenv.explanation.conda_facts import conda_facts  # noqa: PLC0415 - the matrices are large

        facts |= conda_facts(reported, facts, _knowledge(environ))
    if "gpu_capability" in asked:
        from gpuenv.explanation.card_facts import capability_fact  # noqa: PLC0415 - the matrices are large

        facts |= capability_fact(reported, _knowledge(environ))
    return facts


def _of_driver(
    reported: Reported, environ: Mapping[str, str] | None, asked: Container[str], facts: Mapping[str, str]
) -> dict[str, str]:
    """Return what is typed for a torch that the text's driver runs: for pip, and for conda's torch."""
    found: dict[str, str] = {}
    if "driver_line" in asked:
        from gpuenv.explanation.card_facts import driver_facts  # noqa: PLC0415 - the matrices are large

        found = driver_facts(reported, facts.get("torch_release"), _knowledge(environ))
    if "conda_driver_line" in asked and ("conda_torch" in facts or {"conda_build", "torch"} <= facts.keys()):
        from gpuenv.explanation.conda_facts import conda_driver_facts  # noqa: PLC0415 - the matrices are large

        found |= conda_driver_facts(reported, facts, _knowledge(environ))
    return found


def _knowledge(environ: Mapping[str, str] | None) -> Knowledge:
    from gpuenv.planning.load_knowledge import load_knowledge  # noqa: PLC0415 - the matrices are large

    return load_knowledge(environ or {})


def _unbuilt(reported: Reported) -> dict[str, str]:
    """Return `unbuilt_asked`, as pip is given what was not built: its folder, or `unbuilt_release`."""
    failure = next((item for item in reversed(reported.failures) if item.kind == "unbuilt"), None)
    if failure is None:
        return {}
    values = reported.values
    folder, version = values.get("unbuilt_folder"), failure.facts.get("unbuilt_version")
    if version is None and canonical(values.get("unbuilt_source", "")) == failure.package:
        version = values["unbuilt_source_version"]
    if folder and (version is None or canonical(re.split(r"[/\\]", folder)[-1]) == failure.package):
        return {"unbuilt_asked": folder}
    name = failure.facts["unbuilt"]
    asked = f"{name}=={version}" if version else name
    return {"unbuilt_asked": asked, "unbuilt_release": asked}


def _owner(reported: Reported) -> dict[str, str]:
    """Return `unbuilt_asked` of the installed package whose compiled part does not fit torch."""
    module = canonical(reported.value("extension") or "")
    for name, fact in reported.packages.items():
        if module == name or re.fullmatch(rf"{re.escape(name)}-(?:cuda|c|ext|kernels|cpp|2-cuda)", module):
            return {"unbuilt_asked": f"{name}=={fact.value.partition('+')[0]}"}
    return {}


def _wanted_driver(cuda: str, environ: Mapping[str, str] | None) -> dict[str, str]:
    """Return the least driver of Linux for a CUDA that an image asks for, and its branch."""
    from gpuenv.model.variant import parse_cuda_version  # noqa: PLC0415 - few texts need it

    floor = _knowledge(environ).release_floor(parse_cuda_version(cuda), "linux")
    if floor is None:
        return {}
    return {"wanted_driver": str(floor.version), "wanted_branch": str(floor.version.major)}
