"""What follows from the facts of a text: versions as commands write them, what belongs to its torch.

Of torch's out-of-memory error: who holds the memory, or what is too large.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

_PYTHON = re.compile(r"(3)\.?(\d{1,2})")
_RELEASE = re.compile(r"\d+\.\d+\.\d+")
_SUFFIX = "_of_torch"

_MIB = {"b": 2**-20, "k": 2**-10, "m": 1.0, "g": 2.0**10, "t": 2.0**20}
_GIB = 2.0**10
_SHARE = 0.2  # of the card: what is less is no reason by itself
_CONTEXT = 1.2 * _GIB  # that a process holds besides what torch reserves
_ONE_REQUEST = 0.1  # of the card: a single tensor of that size can be made smaller
_FULL = 0.9  # of the card, by one process: whatever is asked for next does not fit
_NEEDED = ("oom_asked", "oom_total", "oom_free")
_HELD_BY = re.compile(r"(\d{1,10}) [a-z]{1,10} (\d[\d.]* \w{2,5})")  # 2211 has 9.10 GiB


def derived_facts(values: Mapping[str, str], companions: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return what follows from what a text reports; what its torch has no row for is left out.

    Of torch 2.6.0+cu124: torch_release 2.6.0, torch_minor 2.6, torch_build cu124; of Python 3.10.12:
    python_minor 3.10, python_tag cp310; `torch` is also one that a sentence names. `companions` are rows of
    matrices/companions.json: the version of torchvision that belongs to the torch is torchvision_of_torch;
    triton_below is the first minor of Triton that is too new for it. `unbuilt_kernel` is the one that runs
    where DKMS built the driver's module for another. `npu_torch` is the torch of the installed torch_npu.
    """
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - takes long to load

    facts = _of_python(values.get("python") or values.get("python_prerelease", ""))
    if "driver" in values:
        facts["driver_branch"] = values["driver"].partition(".")[0]
    running, built_for = values.get("running_kernel"), values.get("dkms_kernel")
    if running and built_for and running != built_for:
        facts["unbuilt_kernel"] = running
    if npu := _RELEASE.match(values.get("torch-npu", "")):
        facts["npu_torch"] = npu[0]
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


def memory_facts(values: Mapping[str, str]) -> dict[str, str]:
    """Return `oom_reason` with its figures; nothing where the error has none.

    `other`: another process (`oom_pid`, where it is named) holds `oom_other`; `too-large`: more was asked for
    than the card has; `fragmented`: `oom_unused` is reserved without use and would do; `request`: it is the
    one request, which would not fit in all of `oom_room`; `full`: this process fills the card bit by bit.
    """
    if not all(name in values for name in _NEEDED):
        return _free_share(values)
    sizes = {name: _mib(text) for name, text in values.items() if name.startswith("oom_")}
    own = _mib(values["own_memory"]) if "own_memory" in values else None
    held = sizes.get("oom_allocated", 0.0)
    unused = sizes.get("oom_unused", max(sizes.get("oom_reserved", 0.0) - held, 0.0))
    asked, total, free = (sizes[name] for name in _NEEDED)
    facts = {"oom_unused": _said(unused), "oom_room": _said(free + unused)}
    facts["oom_own"] = _said(own or held + unused)
    if asked > total:
        return facts | {"oom_reason": "too-large"}
    pid, other = _other_process(values.get("oom_processes", ""), None if own else held + unused)
    if not other and (own or "oom_reserved" in sizes):
        other = total - free - (own or held + unused + _CONTEXT)
    if other >= _SHARE * total:
        named = {"oom_pid": pid} if pid else {}
        return facts | {"oom_reason": "other", "oom_other": _said(other)} | named
    if own is None and not held:  # what this process holds is not told
        return {}
    if unused + free >= asked and unused >= max(asked, _SHARE / 2 * total):
        return facts | {"oom_reason": "fragmented"}
    is_one = asked >= _ONE_REQUEST * total and (own or held + unused) < _FULL * total
    return facts | {"oom_reason": "request" if is_one else "full"}


def _free_share(values: Mapping[str, str]) -> dict[str, str]:
    """Return which part of a card a server that found it too full may have: `free_percent` 79 of 0.79."""
    try:
        free, total = float(values["free_memory"]), float(values["total_memory"])
    except (KeyError, ValueError):
        return {}
    if not total:
        return {}
    percent = max(int(free * 100 / total) - 1, 0)  # one less: what is free changes
    return {"free_percent": str(percent), "free_share": f"{percent / 100:.2f}"}


def _other_process(text: str, own: float | None) -> tuple[str, float]:
    """Return the process that holds most beside this one: that is the nearest to `own`, unless it is None."""
    held = sorted((_mib(size), pid) for pid, size in _HELD_BY.findall(text))
    if own is not None and held:
        held.remove(min(held, key=lambda item: abs(item[0] - own - _CONTEXT / 2)))
    return (held[-1][1], held[-1][0]) if held else ("", 0.0)


def _mib(text: str) -> float:
    match = re.match(r"(\d+(?:\.\d+)?) ?([bkmgt])", text.lower())
    return float(match[1]) * _MIB[match[2]] if match else 0.0


def _said(mib: float) -> str:
    return f"{mib / _GIB:.2f} GiB" if mib >= _GIB else f"{mib:.0f} MiB"
