"""accelerator-devices.json: devices of AMD, Intel, Apple and Huawei, and others, by PCI id and name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from matrix_tables.accelerators.sources import HERE, AcceleratorSources, evidence, table
from matrix_tables.facts import Facts, Row, read_toml

_PRODUCT = re.compile(r".*\[(.+)\]")  # `Navi 10 [Radeon Pro 5700 XT]`
_WORDS = re.compile(r"\s*\((?:TM|R)\)|^(?:AMD|Intel|Apple)\s+|\s+(?:Series|Graphics)\b.*$", re.IGNORECASE)
_KERNEL = "https://github.com/torvalds/linux include/drm/intel/pciids.h"
_RUNTIME = "https://github.com/intel/compute-runtime shared/source/dll/devices/devices_base.inl"


def build_devices(facts: Facts) -> list[Row]:
    """Make the rows of accelerator-devices.json, sorted by vendor, PCI id, revision and name."""
    sources = AcceleratorSources(facts)
    others = read_toml(HERE / "others.toml")
    rows = [
        *_amd(facts, sources),
        *_amd_by_name(facts, others, sources),
        *_intel(),
        *_apple(others, sources),
        *_ascend(others, sources),
        *_others(others, sources),
    ]
    return sorted(
        rows, key=lambda row: (row["vendor"], row["pci_id"] or "", row["revision"] or "", row["name"])
    )


def _amd(facts: Facts, sources: AcceleratorSources) -> Iterator[Row]:
    for fact in table(facts, "amd_gpus"):
        vendor, _, device = fact["pci_id"].partition(":")
        how = fact["gfx_how"]
        note = {} if how.startswith(("chip", "product name")) else {"note": f"architecture: {how}"}
        yield {
            **_row("rocm", "AMD", _amd_names(fact), vendor),
            "pci_id": device,
            "revision": fact["revision"] or None,
            "architecture": fact["gfx"],
            "chip": fact["chip"] or None,
            "discrete": fact["discrete"] == "yes",
            "source": sources.resolve(f"{fact['source']} {fact['chip_source']}"),
            "evidence": evidence("low" if note else "high"),
            **note,
        }


def _amd_by_name(facts: Facts, others: Row, sources: AcceleratorSources) -> Iterator[Row]:
    chips = {fact["gfx"]: fact for fact in table(facts, "rocm_gfx")}
    for family in others["amd"]:
        fact = chips[family["gfx"]]
        for name in family["names"]:
            yield {
                **_row("rocm", "AMD", [f"AMD {name}"], "1002"),
                "architecture": family["gfx"],
                "chip": fact["chip"] or None,
                "discrete": family.get("discrete", True),
                "source": sources.resolve(fact["source"]),
                "evidence": "matrix",
            }


def _amd_names(fact: dict[str, str]) -> list[str]:
    name = fact["name"]
    if product := _PRODUCT.fullmatch(name):
        name = product[1]
    elif "Radeon" not in name and "Instinct" not in name and "FirePro" not in name:
        name = f"Radeon Graphics ({name})"
    name = name if name.startswith(("AMD ", "ATI ")) else f"AMD {name}"
    first, *rest = name.split(" / ")
    # `AMD Instinct MI60 / MI50`: the words before the last hold for each
    return [first, *(part if " " in part else f"{first.rpartition(' ')[0]} {part}" for part in rest)]


def _intel() -> Iterator[Row]:
    for family in read_toml(HERE / "intel_gpus.toml")["family"]:
        shared = {
            "architecture": family["architecture"],
            "chip": family["chip"],
            "discrete": family["discrete"],
            "source": f"{_KERNEL}; {_RUNTIME}",
            "evidence": family.get("evidence", "matrix"),
            **({"note": family["note"]} if "note" in family else {}),
        }
        unnamed = family.get("names", [f"Intel Graphics ({family['chip']})"])
        named = family.get("named", {})
        for device in family["ids"]:
            yield {**_row("xpu", "Intel", unnamed, "8086"), "pci_id": device, **shared}
        for device, name in named.items():
            yield {**_row("xpu", "Intel", [name], "8086"), "pci_id": device, **shared}


def _apple(others: Row, sources: AcceleratorSources) -> Iterator[Row]:
    for family in others["apple"]:
        for name in family["names"]:
            yield {
                **_row("mps", "Apple", [f"Apple {name}"], None),
                "architecture": family["chip"],
                "chip": name,
                "discrete": False,
                "source": sources.resolve("assumed"),
                "evidence": "assumed",
            }


def _ascend(others: Row, sources: AcceleratorSources) -> Iterator[Row]:
    for family in others["ascend"]:
        yield {
            **_row("npu", "Huawei", family["names"], "19e5"),
            "pci_id": family.get("pci_id"),
            "architecture": family["soc"],
            "chip": family["generation"],
            "discrete": True,
            "source": sources.resolve("ascend-variant-provider-c5ea9f83 assumed"),
            "evidence": "assumed",
            "note": "the PCI id is recalled",
        }


def _others(others: Row, sources: AcceleratorSources) -> Iterator[Row]:
    for family in others["other"]:
        shared = {
            "source": sources.resolve(family["source"]),
            "evidence": "assumed" if family["source"] == "assumed" else "matrix",
        }
        named = family.get("ids", {})
        for device, name in named.items():
            label = f"{family['vendor']} {name}"
            yield {**_row(None, family["vendor"], [label], family["pci_vendor"]), "pci_id": device, **shared}
        if not named:
            yield {**_row(None, family["vendor"], family["names"], family["pci_vendor"]), **shared}


def _row(kind: str | None, vendor: str, names: list[str], pci_vendor: str | None) -> Row:
    return {
        "kind": kind,
        "vendor": vendor,
        "name": names[0],
        "names": sorted({*names, *filter(None, map(short_name, names))} - {names[0]}),
        "pci_vendor": pci_vendor,
        "pci_id": None,
        "revision": None,
        "architecture": None,
        "chip": None,
        "discrete": True,
    }


def short_name(name: str) -> str:
    """Return a product's name without its vendor's and without what says nothing; it may be empty.

    `AMD Radeon RX 580 Series` is called `Radeon RX 580`; `Intel Graphics (Lunar Lake)` has no such name.
    """
    short = _WORDS.sub("", name).strip()
    return "" if short.startswith("Graphics") else short
