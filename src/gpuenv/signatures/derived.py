"""What follows from the facts of a text: versions as commands write them, and what belongs to its torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

_PYTHON = re.compile(r"(3)\.?(\d{1,2})")
_SUFFIX = "_of_torch"


def derived_facts(values: Mapping[str, str], companions: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return what follows from what a text reports; what its torch has no row for is left out.

    Of torch 2.6.0+cu124: torch_release 2.6.0, torch_minor 2.6, torch_build cu124; of Python 3.10.12:
    python_minor 3.10, python_tag cp310; `torch` is also one that a sentence names. `companions` are rows of
    matrices/companions.json: the version of torchvision that belongs to the torch is torchvision_of_torch;
    triton_below is the first minor of Triton that is too new for it. `unbuilt_kernel` is the one that runs
    where DKMS built the driver's module for another.
    """
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - takes long to load

    facts = _of_python(values.get("python") or values.get("python_prerelease", ""))
    running, built_for = values.get("running_kernel"), values.get("dkms_kernel")
    if running and built_for and running != built_for:
        facts["unbuilt_kernel"] = running
    text = values.get("torch") or values.get("torch_named", "")
    try:
        torch = Version(text)
    except InvalidVersion:
        return facts
    facts |= {
        "torch": text,
        "torch_release": torch.base_version,
        "torch_minor": f"{torch.major}.{torch.minor}",
    }
    if torch.local:
        facts["torch_build"] = torch.local
    for row in companions:
        if row.get("torch") != torch.base_version:
            continue
        if row["project"] == "triton" and (triton := re.search(r"(\d+)\.(\d+)", row.get("specifier") or "")):
            facts["triton_below"] = f"{triton[1]}.{int(triton[2]) + 1}"
        elif versions := row.get("versions"):
            facts[f"{row['project'].replace('-', '_')}{_SUFFIX}"] = versions[0]
    return facts


def _of_python(text: str) -> dict[str, str]:
    match = _PYTHON.match(text)
    return {"python_minor": f"3.{match[2]}", "python_tag": f"cp3{match[2]}"} if match else {}
