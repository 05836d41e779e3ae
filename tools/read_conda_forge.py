"""Read from conda-forge's feedstock what its pytorch builds are made for: `--feedstock GIT_DIR --facts DIR`.

Each row of facts/condaforge_pytorch.csv names the last commit of a release. Its build scripts state the
architectures, its variant files the glibc and the cuDNN. Writes tools/matrix_tables/conda_forge.json.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "matrix_tables" / "conda_forge.json"
_PLATFORMS = ("linux-64", "linux-aarch64", "win-64")
_SCRIPTS = {
    "linux-64": ("build.sh", "build_pytorch.sh"),
    "linux-aarch64": ("build.sh", "build_pytorch.sh"),
    "win-64": ("bld.bat", "bld_pytorch.bat"),
}
_LIST = re.compile(r"""TORCH_CUDA_ARCH_LIST\s*=\s*"?(?P<list>[^"\n]*?)"?\s*$""")
# `${cuda_compiler_version} == 11.8`, `"%cuda_compiler_version:~0,2%"=="12"`, `12.[89])`
_CONDITION = re.compile(r"""cuda(?:_compiler_version)?[^=\n]*[}%]"?\s*==\s*"?(?P<wanted>[\d.*\[\]]+)"?""")
_CASE = re.compile(r"^\s*(?P<wanted>\d[\d.*\[\]|]*)\)\s*$")


def main() -> int:
    """Read every row; return the exit status."""
    parser = argparse.ArgumentParser(description="read conda-forge's pytorch feedstock")
    parser.add_argument("--feedstock", type=Path, required=True, help="its git directory")
    parser.add_argument("--facts", type=Path, required=True, help="the folder of facts")
    options = parser.parse_args()
    with (options.facts / "condaforge_pytorch.csv").open(encoding="utf-8", newline="") as lines:
        facts = [row for row in csv.DictReader(lines) if row["cuda"] and row["subdir"] in _PLATFORMS]
    rows = [_row(fact, options.feedstock) for fact in facts]
    for row in rows:
        if row["architectures"] is None:
            print(f"no list of architectures: {row['torch']} {row['platform']} CUDA {row['cuda']}")
    body = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    OUT.write_text(f"[\n{body}\n]\n", encoding="utf-8")
    return 0


def _row(fact: dict[str, str], feedstock: Path) -> dict[str, Any]:
    commit, platform, cuda = fact["last_commit"], fact["subdir"], fact["cuda"]
    texts = (_show(feedstock, commit, f"recipe/{name}") for name in _SCRIPTS[platform])
    script = next((text for text in texts if text), "")
    variant = _variant(feedstock, commit, platform, cuda)
    return {
        "torch": fact["version"],
        "platform": platform,
        "cuda": cuda,
        "architectures": read_architectures(script, cuda, platform),
        "cudnn": _first(variant, "libcudnn_dev") or _first(variant, "cudnn"),
        "glibc": _first(variant, "c_stdlib_version") or _first(variant, "sysroot_linux_64"),
        "commit": commit,
    }


def read_architectures(script: str, cuda: str, platform: str) -> list[str] | None:
    """Read the list that a build script sets for a CUDA release: `["7.5", "12.0+PTX"]`; None if none."""
    base: list[str] = []
    values: list[str] | None = None
    for wanted, location, value in _settings(script):
        if location not in (None, platform):
            continue
        items = [item for item in value.split(";") if item and "TORCH_CUDA_ARCH_LIST" not in item]
        whole = [*base, *items] if "TORCH_CUDA_ARCH_LIST" in value else items
        if wanted is None:
            base = whole or base
        elif any(fnmatchcase(cuda, item) or cuda.startswith(f"{item}.") for item in wanted.split("|")):
            values = whole
    return values or base or None


def _settings(script: str) -> Iterator[tuple[str | None, str | None, str]]:
    """Yield each setting of the list with the CUDA release and the platform that it is under."""
    wanted: str | None = None
    location: str | None = None
    for line in script.splitlines():
        bare = line.strip()
        if condition := _CONDITION.search(line) or _CASE.match(line):
            wanted, location = condition["wanted"], None
        elif "arm_variant_type" in line and "tegra" in line:
            wanted, location = None, "tegra"
        elif "target_platform" in line and "linux-aarch64" in line:
            location = "linux-aarch64"
        elif bare == "else":
            location = {"linux-aarch64": "linux-64"}.get(location or "")
        elif bare == "fi":
            location = None
        setting = _LIST.search(line)
        if setting and setting["list"]:
            yield wanted, location, setting["list"]


def _variant(feedstock: Path, commit: str, platform: str, cuda: str) -> str:
    """The variant file of a build, without the one for Jetson."""
    listed = _git(feedstock, "ls-tree", "--name-only", commit, ".ci_support/")
    names = [
        name
        for name in listed.splitlines()
        if f"{platform.replace('-', '_')}_" in name
        and f"cuda_compiler_version{cuda}" in name
        and "tegra" not in name
    ]
    return _show(feedstock, commit, names[0]) if names else ""


def _first(variant: str, key: str) -> str | None:
    match = re.search(rf"^{key}:\n- '?([^'\n]+)'?$", variant, re.MULTILINE)
    return match[1] if match else None


def _show(feedstock: Path, commit: str, path: str) -> str:
    return _git(feedstock, "show", f"{commit}:{path}")


def _git(feedstock: Path, *arguments: str) -> str:
    argv = ["git", f"--git-dir={feedstock}", *arguments]
    process = subprocess.run(argv, capture_output=True, text=True, check=False)
    return process.stdout


if __name__ == "__main__":
    sys.exit(main())
