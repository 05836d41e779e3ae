"""accelerator-architectures.json: what builds are made for, by kind, and whose code runs on it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from matrix_tables.accelerators.sources import HERE, AcceleratorSources, table
from matrix_tables.facts import Facts, Row, UnusableFacts, read_toml

# names of ocloc for several device ips at once, which lists of targets have beside those of xpu_devices.csv
_FAMILIES = {
    "xe-lpg": ("12.70.4", "12.71.4", "12.74.4"),
    "mtl": ("12.70.4", "12.71.4"),
    "dg2": ("12.55.8", "12.56.5", "12.57.0"),
    "bmg": ("20.1.0", "20.2.0"),
    "xe2-hpg": ("20.1.0", "20.2.0"),
    "xe2-lpg": ("20.4.4",),
    "ptl": ("30.0.4", "30.1.0"),
}
_BY_COMPILING = re.compile(r"(\d+\.\d+) through JIT")  # `2.7 (2.5 through JIT)`
_PCI_ID = re.compile(r"\s*\(8086:[0-9a-f]{4}\)")  # `Arc A580/A750/A770 (8086:56a0)`
_NO_FP64 = re.compile(r"12\.5[567]\.\d+")  # Alchemist


def build_architectures(facts: Facts) -> list[Row]:
    """Make the rows of accelerator-architectures.json, in the order of the facts."""
    sources = AcceleratorSources(facts)
    return [*_gfx(facts, sources), *_device_ips(facts, sources), *_chips(sources), *_socs(sources)]


def _gfx(facts: Facts, sources: AcceleratorSources) -> Iterator[Row]:
    for fact in table(facts, "rocm_gfx"):
        gfx = fact["gfx"]
        yield {
            "kind": "rocm",
            "architecture": gfx,
            "chip": fact["chip"] or gfx,
            "generation": fact["architecture"],
            "products": _products(fact["products"]),
            "device_class": fact["device_class"] or "dgpu",
            "code": [gfx],
            "supported": None,
            "kfd": int(fact["kfd_gfx_target_version"]),
            "extra": fact["therock_extra"] or f"device-{gfx}",
            "in_amd_index": fact["amd_stable_extra"] == "yes",
            **_origin(fact, sources),
        }


def _device_ips(facts: Facts, sources: AcceleratorSources) -> Iterator[Row]:
    rows = table(facts, "xpu_devices")
    names = {row["device_ip"]: row["ocloc_names"].split() for row in rows}
    for name, members in _FAMILIES.items():
        for member in members:
            names[member] = [*names[member], *({name} - set(names[member]))]
    for fact in rows:
        ip, products = fact["device_ip"], _PCI_ID.sub("", fact["products"])
        base = fact["runs_code_of"]
        if base and base not in names:
            raise UnusableFacts(f"xpu_devices.csv: {ip} runs code of {base}, which has no row")
        for architecture, code in _named(ip, names, base):
            yield {
                "kind": "xpu",
                "architecture": architecture,
                "chip": products.partition(":")[0],
                "generation": "Xe" if ip else architecture,
                "products": _products(products.rpartition(":")[2]),
                "device_class": {"igpu": "igpu"}.get(fact["kind"], "dgpu"),
                "code": list(dict.fromkeys(code)),
                # what no release was built for is not supported; what builds do not name is not known
                "supported": False if fact["aot_since_torch"] == "never" else _known(fact),
                "fp64": not _NO_FP64.fullmatch(architecture),
                **_compiled(fact),
                **_origin(fact, sources),
            }


def _named(ip: str, names: dict[str, list[str]], base: str) -> Iterator[tuple[str, list[str]]]:
    if ip:
        yield ip, [*names[ip], *(names[base] if base else [])]
    else:  # graphics without a device ip of their own
        for name in names[ip]:
            yield name, [name]


def _compiled(fact: dict[str, str]) -> Row:
    """The torch from which on the driver compiles what has no machine code for the device."""
    since = fact["aot_since_torch"]
    stated = _BY_COMPILING.search(since)
    if stated:
        return {"compiled_since": stated[1]}
    return {"compiled_since": since.split()[-1]} if "compiled at first use" in fact["note"] else {}


def _known(fact: dict[str, str]) -> bool | None:
    return True if fact["aot_since_torch"] or fact["runs_code_of"] else None


def _chips(sources: AcceleratorSources) -> Iterator[Row]:
    for family in read_toml(HERE / "others.toml")["apple"]:
        yield {
            "kind": "mps",
            "architecture": family["chip"],
            "chip": family["chip"],
            "generation": "Apple silicon",
            "products": [f"Apple {name}" for name in family["names"]],
            "device_class": "igpu",
            "code": [family["chip"]],
            "supported": True,
            "fp64": False,
            "least_os": family["macos"],
            "source": sources.resolve("pt-mps assumed"),
            "evidence": "assumed",
            "note": "the least macOS that runs on the chip is recalled",
        }


def _socs(sources: AcceleratorSources) -> Iterator[Row]:
    for family in read_toml(HERE / "others.toml")["ascend"]:
        yield {
            "kind": "npu",
            "architecture": family["soc"],
            "chip": family["soc"],
            "generation": family["generation"],
            "products": family["names"],
            "device_class": "dgpu",
            "code": [family["soc"]],
            "supported": True,
            "source": sources.resolve("ascend-compat-9e73e708 ascend-variant-provider-c5ea9f83"),
            "evidence": family.get("evidence", "matrix"),
        }


def _products(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _origin(fact: dict[str, str], sources: AcceleratorSources) -> Row:
    note = {"note": fact["note"]} if fact["note"] else {}
    return {"source": sources.resolve(fact["source"]), "evidence": "matrix", **note}
