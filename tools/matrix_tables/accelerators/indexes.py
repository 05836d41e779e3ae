"""accelerator-indexes.json: indexes with torch for accelerators, and vendors' packages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from matrix_tables.accelerators.sources import HERE, AcceleratorSources, evidence, table
from matrix_tables.facts import Facts, Row, UnusableFacts, read_toml

_PLATFORMS = {"linux_x86_64": "linux-64", "linux_aarch64": "linux-aarch64", "win_amd64": "win-64"}
_ROCM = re.compile(r"rocm\{X\.Y\}")
_TITLES = {"Huawei": "npu", "Apple": "mps"}


def build_indexes(facts: Facts) -> list[Row]:
    """Make the rows of accelerator-indexes.json, in the order of the facts."""
    sources = AcceleratorSources(facts)
    return [*_indexes(facts, sources), *_packages(facts, sources)]


def _indexes(facts: Facts, sources: AcceleratorSources) -> Iterator[Row]:
    words = read_toml(HERE / "indexes.toml")
    for more in words.pop("more"):
        yield {"kind": "index", **more, "source": sources.resolve(more["source"]), "evidence": "matrix"}
    for fact in table(facts, "indexes"):
        if fact["id"] not in words:
            raise UnusableFacts(f"indexes.toml does not know `{fact['id']}`")
        about = words[fact["id"]]
        yield {
            "kind": "index",
            "id": fact["id"],
            "index": about["index"],
            "accelerator": about.get("kind"),
            "vendor": fact["vendor"],
            "layout": fact["kind"],
            "address": about.get("address") or f"https://{_ROCM.sub('{variant}', fact['address'])}",
            "platforms": [_PLATFORMS[name] for name in _names(fact["platforms"])],
            "content": fact["content"],
            "chooses": fact["chooses"],
            "source": sources.resolve(fact["source"]),
            "evidence": about.get("evidence", "matrix"),
            **({"note": fact["note"]} if fact["note"] else {}),
        }


def _names(text: str) -> list[str]:
    if text in ("all", "linux"):
        return [name for name in _PLATFORMS if text == "all" or name.startswith("linux")]
    return [name for name in text.split() if not name.startswith("(")]


def _packages(facts: Facts, sources: AcceleratorSources) -> Iterator[Row]:
    for fact in table(facts, "other_accelerators"):
        yield {
            "kind": "package",
            "vendor": fact["vendor"],
            "device": fact["device"],
            "package": fact["package"],
            "accelerator": _TITLES.get(fact["vendor"]),
            "torch": fact["torch"],
            "runtime": fact["runtime"],
            "where": fact["where"],
            "binds": fact["how_it_binds"],
            "detect": fact["detect"],
            "state": fact["state"],
            "source": sources.resolve(fact["source"]),
            "evidence": evidence(fact["confidence"]),
        }
