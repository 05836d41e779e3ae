"""jetson.json: releases of Jetson Linux and ARM servers; kernel-drivers.json: AMD's driver and ROCm."""

from __future__ import annotations

import re
from collections.abc import Iterator

from matrix_tables.accelerators.sources import HERE, AcceleratorSources, evidence, table
from matrix_tables.facts import Facts, Row, UnusableFacts, read_toml

_RELEASE = re.compile(r"(?:amdgpu )?(\d+\.\d+(?:\.\d+)?)(?:\.x)?")


def build_jetson(facts: Facts) -> list[Row]:
    """Make the rows of jetson.json, in the order of the facts: the newest first."""
    sources = AcceleratorSources(facts)
    data = read_toml(HERE / "jetson.toml")
    choices = {item["text"]: item["choices"] for item in data["from"]}
    drivers = {l4t: item["version"] for item in data["driver"] for l4t in item["l4t"]}
    rows = []
    for fact in table(facts, "jetson_and_arm"):
        if fact["torch_from"] not in choices:
            raise UnusableFacts(f"jetson.toml does not know `{fact['torch_from']}`")
        note = {"note": fact["note"]} if fact["note"] else {}
        rows.append(
            {
                "boards": data["machines"].get(fact["machine"])
                or fact["machine"].removeprefix("Jetson ").split(),
                "l4t": fact["l4t"] or None,
                "jetpack": fact["jetpack"] or None,
                "cuda": fact["cuda"].partition(" ")[0],
                "compute_capabilities": fact["compute_capability"].split(),
                "python": fact["python"] or None,
                "ubuntu": fact["ubuntu"] or None,
                "userspace": fact["userspace"],
                **({"driver": drivers[fact["l4t"]]} if fact["l4t"] in drivers else {}),
                "torch_from": choices[fact["torch_from"]],
                "source": sources.resolve(fact["source"]),
                "evidence": "assumed" if "assumed" in fact["note"] else "matrix",
                **note,
            }
        )
    return rows


def build_kernel_drivers(facts: Facts) -> list[Row]:
    """Make the rows of kernel-drivers.json: windows of support, numbers of the module, and rules in words."""
    sources = AcceleratorSources(facts)
    return [*_windows(facts, sources), *_modules(facts, sources)]


def _windows(facts: Facts, sources: AcceleratorSources) -> Iterator[Row]:
    for fact in table(facts, "rocm_driver"):
        origin = {
            "source": sources.resolve(fact["source"]),
            "evidence": "matrix",
            **({"note": fact["note"]} if fact["note"] else {}),
        }
        release = _RELEASE.fullmatch(fact["kmd"])
        if release:
            rocm = [_release(text) for text in fact["user_space"].split()]
            # no row says that a release fails: `fails` is for those that come to
            yield {"kind": "window", "driver": release[1], "rocm": rocm, "fails": [], **origin}
        elif fact["kmd"] != "numbers":  # which says how the first column counts
            yield {"kind": "rule", "driver": fact["kmd"], "rocm_text": fact["user_space"], **origin}


def _modules(facts: Facts, sources: AcceleratorSources) -> Iterator[Row]:
    for fact in table(facts, "amdgpu_module"):
        drivers = [_release(text) for text in re.split(r",\s*", fact["kmd"])]
        note = {"note": fact["note"]} if fact["note"] else {}
        yield {
            "kind": "module",
            "module": fact["module_version"],
            "drivers": drivers,
            "source": sources.resolve(fact["source"]),
            "evidence": evidence(fact["confidence"]),
            **note,
        }


def _release(text: str) -> str:
    match = _RELEASE.fullmatch(text)
    if not match:
        raise UnusableFacts(f"`{text}` is no release of a driver or of ROCm")
    return match[1]
