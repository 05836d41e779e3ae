"""accelerator-builds.json: builds of torch for ROCm, XPU, macOS and Ascend."""

from __future__ import annotations

from collections.abc import Iterator

from gpuenv.matrix_checks.serialise import python_order, sort_rows
from matrix_tables.accelerators.other_builds import mac_builds, npu_builds
from matrix_tables.accelerators.sources import HERE, AcceleratorSources, evidence, table
from matrix_tables.facts import Facts, Row, UnusableFacts, read_toml

_PLATFORMS = {"linux_x86_64": "linux-64", "linux_aarch64": "linux-aarch64", "win_amd64": "win-64"}
_INDEXES = {
    "pytorch": "pytorch",
    "amd-multi-arch": "amd",
    "amd-per-family": "amd-per-family",
    "amd-radeon": "amd-radeon-windows",
    "amd-next": "amd-next",
}
_TAGS = {"linux-64": ["linux_x86_64"], "win-64": ["win_amd64"]}


def build_builds(facts: Facts, cuda_builds: list[Row]) -> list[Row]:
    """Make the rows of accelerator-builds.json; `cuda_builds` tell the releases and what goes with each."""
    sources = AcceleratorSources(facts)
    paired = _Paired(cuda_builds)
    rows = [
        *_rocm(facts, sources, paired),
        *_xpu(facts, sources, paired),
        *mac_builds(facts, sources),
        *npu_builds(facts, sources),
    ]
    return [{**row, **paired.companions(row["torch"])} for row in sort_rows("accelerator-builds", rows)]


class _Paired:
    """What is known of releases by their builds for the CPU on Linux: Pythons and companions."""

    def __init__(self, rows: list[Row]) -> None:
        chosen = [row for row in rows if row["variant"] == "cpu" and row["platform"] == "linux-64"]
        self._rows = {row["torch"]: row for row in chosen}

    def releases(self, minor: str) -> list[str]:
        """Return the releases of a MAJOR.MINOR."""
        return [torch for torch in self._rows if torch.rpartition(".")[0] == minor]

    def pythons(self, torch: str) -> list[str]:
        """Return the Pythons of a release."""
        return list(self._rows[torch]["pythons"])

    def companions(self, torch: str) -> Row:
        """Return what goes with a release."""
        known = self._rows.get(torch, {"torchvision": [], "torchaudio": []})
        return {name: known[name] for name in ("torchvision", "torchaudio")}


def _rocm(facts: Facts, sources: AcceleratorSources, paired: _Paired) -> Iterator[Row]:
    written = read_toml(HERE / "others_builds.toml")
    left_out = {item["torch"]: item["why"] for item in written["left_out"]}
    in_words = {(item["torch"], item.get("index")): item for item in written["written"]}
    for fact in table(facts, "rocm_torch_builds"):
        if fact["torch"] in left_out:
            facts.left_out.append(f"torch {fact['torch']} {fact['variant']}: {left_out[fact['torch']]}")
            continue
        words = in_words.get((fact["torch"], fact["index"])) or in_words.get((fact["torch"], None), {})
        platforms = words.get("platforms") or _platforms(fact)
        for torch in words.get("releases", [fact["torch"]]) if words else [fact["torch"]]:
            for platform in platforms:
                yield _rocm_row(fact, words, torch, platform, written, sources, paired)


def _platforms(fact: dict[str, str]) -> list[str]:
    try:
        return [_PLATFORMS[name] for name in fact["platform"].split()]
    except KeyError as error:
        raise UnusableFacts(f"rocm_torch_builds.csv: torch {fact['torch']}: no platform {error}") from error


def _rocm_row(
    fact: dict[str, str],
    words: Row,
    torch: str,
    platform: str,
    written: Row,
    sources: AcceleratorSources,
    paired: _Paired,
) -> Row:
    by_extra = words.get("targets") == "extras"
    how = {"installed": "wheel", "docs": "assumed"}.get(fact["arch_how"], fact["arch_how"])
    how = "assumed" if not how or (by_extra and platform == "win-64") else how
    sure = words.get("evidence") or evidence(fact["confidence"], read_in_wheel=how == "wheel")
    places = sources.resolve(f"{fact['evidence']} {fact['arch_source']}")
    note = fact["note"]
    return {
        "torch": torch,
        "kind": "rocm",
        "variant": words.get("variant", fact["variant"]),
        "platform": platform,
        "index": words.get("index_name") or _INDEXES[fact["index"]],
        "pythons": _pythons(fact["pythons"].split() or words.get("pythons", []) or paired.pythons(torch)),
        "tags": fact["platform_tag"].split() or _TAGS[platform],
        "targets": _targets(fact, words, platform, written),
        "targets_how": how,
        "extra": by_extra,
        "requires": {},
        "triton": fact["triton"] or None,
        "source": f"{places} (list read in the wheel)" if sure == "wheel" else places,
        "evidence": "assumed" if how == "assumed" and sure != "wheel" else sure,
        **({"note": note} if note else {}),
    }


def _targets(fact: dict[str, str], words: Row, platform: str, written: Row) -> list[str]:
    match words.get("targets"):
        case "extras":
            return list(written["extras"][platform])
        case "families":
            return list(written["families"]["targets"])
        case "none":
            return []
        case _:
            return sorted(fact["arch_list"].split(), key=lambda gfx: (len(gfx), gfx))


def _xpu(facts: Facts, sources: AcceleratorSources, paired: _Paired) -> Iterator[Row]:
    for fact in table(facts, "xpu_torch_builds"):
        if not fact["pythons"] and fact["confidence"] != "low":
            facts.left_out.append(f"torch {fact['torch']} xpu {fact['platform']}: {fact['note']}")
            continue
        platform = _PLATFORMS[fact["platform"]]
        for torch in paired.releases(fact["torch"]):
            pythons = fact["pythons"].split() or paired.pythons(torch)
            old = int(torch.split(".")[1]) < 8 and platform == "linux-64"  # noqa: PLR2004 - manylinux came with 2.8
            oneapi = {"oneapi": fact["oneapi"]} if fact["oneapi"] else {}
            yield {
                "torch": torch,
                "kind": "xpu",
                "variant": "xpu",
                "platform": platform,
                "index": "pytorch",
                "pythons": _pythons([python for python in pythons if python in paired.pythons(torch)]),
                "tags": _TAGS[platform] if old or platform == "win-64" else ["manylinux_2_28_x86_64"],
                "targets": fact["aot_targets"].split(),
                "targets_how": "assumed" if "assumed" in fact["aot_source"] else "ci",
                "extra": False,
                "requires": oneapi,
                "triton": fact["triton"].split()[0] if fact["triton"] else None,
                "source": sources.resolve(fact["source"]),
                "evidence": evidence(fact["confidence"]),
                **({"note": fact["note"]} if fact["note"] else {}),
            }


def _pythons(tags: list[str]) -> list[str]:
    return sorted(dict.fromkeys(tags), key=python_order)
