"""Builds of torch for macOS, and of torch_npu beside torch for the CPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuenv.matrix_checks.serialise import python_order
from matrix_tables.accelerators.sources import HERE, AcceleratorSources, evidence, table
from matrix_tables.facts import Facts, Row, read_toml

_MACS = {"arm64": "osx-arm64", "x86_64": "osx-64"}
_PLATFORMS = {"linux_x86_64": "linux-64", "linux_aarch64": "linux-aarch64"}
_MPS = re.compile(r"macOS (\d+\.\d+)")


def mac_builds(facts: Facts, sources: AcceleratorSources) -> Iterator[Row]:
    """Make a row of each group of macOS wheels: with MPS where the release has it on arm64."""
    for fact in table(facts, "macos_torch_wheels"):
        floor = _MPS.match(fact["mps_from"])
        has_mps = floor is not None and fact["arch"] == "arm64"
        requires = {"macos": fact["macos_min"], **({"mps": floor[1]} if has_mps and floor else {})}
        yanked = {"yanked": True} if fact["yanked"] else {}
        yield {
            "torch": fact["torch"],
            "kind": "mps" if has_mps else "cpu",
            "variant": "mps" if has_mps else "cpu",
            "platform": _MACS[fact["arch"]],
            "index": "pypi",
            **({"build": fact["build"]} if fact["build"] else {}),
            "pythons": sorted(fact["pythons"].split(), key=python_order),
            "tags": [f"macosx_{fact['macos_min'].replace('.', '_')}_{fact['arch']}"],
            "targets": [],
            "targets_how": "wheel",
            "extra": False,
            "requires": requires,
            "triton": None,
            **yanked,
            "source": sources.resolve(fact["source"]),
            "evidence": "wheel",
            **({"note": fact["note"]} if fact["note"] else {}),
        }


def npu_builds(facts: Facts, sources: AcceleratorSources) -> Iterator[Row]:
    """Make a row of each release of torch_npu and platform."""
    elsewhere = read_toml(HERE / "others_builds.toml")["torch_npu"]
    for fact in table(facts, "ascend_torch_npu"):
        if not fact["torch"]:
            facts.left_out.append(f"torch_npu {fact['torch_npu']}: it does not tell its torch")
            continue
        published = fact["on_pypi"] == "yes"
        tags = fact["platform_tags"].split()
        for platform in dict.fromkeys(fact["platforms"].split() or ["linux_x86_64", "linux_aarch64"]):
            machine = platform.removeprefix("linux_")
            declared = _declared(fact, machine, elsewhere)
            yield {
                "torch": fact["torch"].partition("+")[0].removesuffix(".*"),
                "torch_npu": fact["torch_npu"],
                "kind": "npu",
                "variant": "npu",
                "platform": _PLATFORMS[platform],
                "index": "pypi" if published else "ascend",
                "pythons": sorted(fact["pythons"].split(), key=python_order),
                "tags": [tag for tag in tags if tag.endswith(machine)],
                "targets": [],
                "targets_how": "assumed",
                "extra": False,
                "requires": {
                    **({"cann": fact["cann"]} if fact["cann"] else {}),
                    **({"torch": f"=={declared}"} if declared else {}),
                },
                "triton": None,
                "source": sources.resolve(fact["source"]),
                "evidence": evidence("high", read_in_wheel=published and declared is not None),
                **({"note": fact["note"]} if fact["note"] else {}),
            }


def _declared(fact: Row, machine: str, elsewhere: Row) -> str | None:
    """Return the torch that torch_npu's wheel for a machine asks for; the facts read that for one of them."""
    if fact["torch_declared"] != "yes":
        return None
    release = fact["torch"].partition("+")[0]
    if machine in fact["wheel"]:
        return str(fact["torch"])
    if machine == "x86_64" and fact["torch_npu"] in elsewhere["none_on_x86_64"]:
        return None
    has_cpu = machine == "x86_64" and fact["torch_npu"] in elsewhere["cpu_on_x86_64"]
    return f"{release}+cpu" if has_cpu else str(release)
