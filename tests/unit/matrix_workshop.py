"""A small facts folder for the tests of the generator, and the generator itself."""

from __future__ import annotations

import csv
import importlib
import io
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
tool = importlib.import_module("build_matrices")
torch_table = importlib.import_module("matrix_tables.torch")
wheels_table = importlib.import_module("matrix_tables.wheels")
parse_build_record = importlib.import_module("matrix_tables.build_record").parse_build_record

BUILD = {
    "torch": "2.7.0", "variant": "cu126", "cuda": "12.6", "platform": "linux_x86_64", "channel": "index",
    "pythons": "cp310 cp39", "pythons_seen": "", "platform_tags": "manylinux_2_28_x86_64",
    "arch_list": "5.0 9.0 12.0", "ptx": "12.0", "arch_source": "pytorch-ci-manywheel", "cudnn": "9.5.1.17",
    "cudnn_source": "", "triton": "==3.3.0", "torchvision": "0.22.0", "torchaudio": "", "torchtext": "",
    "evidence": "lock-file", "confidence": "high", "note": "",
}  # fmt: skip
CPU = BUILD | {
    "variant": "cpu",
    "cuda": "",
    "arch_list": "",
    "ptx": "",
    "cudnn": "",
    "triton": "",
    "arch_source": "",
}
ON_PYPI = CPU | {"platform": "win_amd64", "channel": "pypi", "platform_tags": "win_amd64"}
PAIR = {
    "project": "torchvision", "version": "0.22.0", "released": "", "torch_requirement": "==2.7.0",
    "requirement_state": "pinned", "documented_torch": "", "pypi_linux_x86_64_cuda": "12.6",
    "python_tags": "cp310", "requires_python": ">=3.9", "yanked": "no", "build_tags": "",
    "source": "pypi-live", "note": "",
}  # fmt: skip
RELEASE = {
    "cuda": "12.6.3", "label": "12.6 Update 3", "driver_branch": "R560",
    "linux_x86_64_min_driver": "560.35.05",
    "windows_min_driver": "561.17", "installer_bundled_linux_driver": "",
    "installer_bundled_windows_driver": "",
    "source": "nvidia", "note": "",
}  # fmt: skip
FAMILY = {
    "cuda_major": "12", "linux_min_driver": "525.60.13", "windows_min_driver": "527.41",
    "documented_range": "",
    "source": "nvidia", "note": "",
}  # fmt: skip
BRANCH = {"os": "linux", "driver_branch": "560", "max_cuda_shown": "12.6", "basis": "derived", "note": ""}
ARCHITECTURE = {
    "architecture": "Hopper", "compute_capabilities": "9.0", "first_cuda_toolkit": "11.8",
    "last_cuda_toolkit": "", "last_driver_branch": "", "last_driver_seen": "", "sources": "nvidia",
    "note": "",
}  # fmt: skip
GPU = {
    "name": "NVIDIA H100", "compute_capability": "9.0", "architecture": "Hopper", "chip": "",
    "family": "Tesla",
    "name_kind": "", "pci_device_ids": "2330", "source": "recalled", "note": "",
}  # fmt: skip
WHEEL = {
    "project": "torch", "version": "2.7.0", "local": "cu126", "build": "", "python_tag": "cp310",
    "abi_tag": "cp310", "platform_tag": "manylinux_2_28_x86_64", "index_subdir": "cu126",
    "filename": "torch-2.7.0+cu126-cp310-cp310-manylinux_2_28_x86_64.whl", "sha256": "a" * 64,
    "metadata_sha256": "", "on_pypi": "", "evidence": "", "last_seen": "", "note": "",
}  # fmt: skip
ECOSYSTEM = {
    "project": "xformers", "version": "0.0.30", "requires_python": ">=3.9", "yanked": "no",
    "torch": "==2.7.0",
    "torchvision": "", "torchaudio": "", "torchdata": "", "triton": "", "numpy": "*", "xformers": "",
    "python_tags": "cp310", "platforms": "manylinux_2_28_x86_64", "metadata_crlf": "",
    "file": "xformers-0.0.30-cp310-cp310-manylinux_2_28_x86_64.whl",
}  # fmt: skip
RECORD = {
    "project": "xformers", "version": "0.0.30", "platform": "linux-64", "torch": "2.7.0", "cuda": "12.6",
    "architectures": ["sm_60", "compute_60"], "source": f"wheel {ECOSYSTEM['file']} on PyPI",
}  # fmt: skip
CONDA = {
    "version": "2.7.0", "python": "3.10", "cuda": "12.6", "cudnn": "9.5.1", "build": "", "subdir": "linux-64",
    "sm_in_binary": "5.0 9.0", "cuda_dependency": "pytorch-cuda=12.6", "channels": "pytorch;nvidia",
    "torchvision": "0.22.0", "torchaudio": "",
    "source": "",
}  # fmt: skip
FORGE = {
    "version": "2.7.1", "subdir": "linux-64", "cuda": "12.9", "builds": "3", "pythons": "3.10 3.9",
    "last_commit": "d21fc6dbb4db", "date": "2025-07-30", "run_constraint": "__cuda >=12 (via cuda-version)",
    "source": "feedstock",
}  # fmt: skip
COMMAND = {
    "torch": "2.7.0", "cuda": "cpu", "dependency": "cpuonly", "channels": "pytorch", "order_note": "",
    "source": "", "confidence": "high",
}  # fmt: skip
PYG_PAGE = {
    "torch_page_key": "2.7.0", "variants": "cu126 cpu", "last_listed": "2025-08-12", "page_template": "",
    "source": "nvidia",
}  # fmt: skip
PREBUILT = {
    "project": "flash_attn", "version": "2.8.3", "torch": "2.7", "cuda_tag": "cu126",
    "platform_tag": "manylinux_2_24_x86_64.manylinux_2_28_x86_64", "pythons": "cp310 cp39", "abi": "",
    "release_tags": "v0.1 v0.10", "example": "",
}  # fmt: skip
PAIRING = """
[[project]]
name = "PyG (pyg-lib torch-scatter torch-sparse torch-cluster torch-spline-conv)"
form = "find_links"
rule = "the page is for the minor"
[[project]]
name = "mmcv / mmcv-full"
form = "find_links"
rule = "the folder tells"
[[project]]
name = "DGL"
form = "find_links"
rule = "the folder tells"
[[project]]
name = "detectron2"
form = "find_links"
rule = "the folder tells"
[[project]]
name = "flash-attn"
form = "github_assets"
rule = "the name tells"
"""
SOURCES = """
[source.nvidia]
page = "https://docs.example.com/cuda/ (copied)"
[source.pypi-live]
what = "the index"
date = "2026-11-20"
"""
DEVICES = """
[sm."8.0"]
except = ["8.7"]
except_from_cuda_13_2 = []
[sm."8.7"]
only = ["8.7"]
"""
MIRRORS = """
[source.lab-docs]
repo = "lab/docs"
[[mirror]]
id = "lab"
name = "The lab's"
kind = "university"
status = "alive"
hosts = ["mirror.lab.example"]
src = ["lab-docs:pypi.md"]
[mirror.pypi]
simple = "https://mirror.lab.example/simple"
[mirror.torch]
available = true
index = "https://mirror.lab.example/whl/{variant}"
layout = "pep503-static"
caveats = ["slow on Mondays"]
"""
MODE = {
    "id": "FM99", "area": "ban", "mirror": "lab", "symptom": "403", "cause": "too fast", "detect": "403",
    "remedy_for_gpuenv": "another mirror", "links": "https://github.com/lab/docs/issues/1", "basis": "report",
}  # fmt: skip
PAGE = """<!DOCTYPE html><html><body><h1>Links for {project}</h1>
<a href="https://files.example.com/packages/aa/bb/{project}-{version}-cp310-cp310-win_amd64.whl#sha256={hash}"
   data-requires-python="&gt;=3.9" data-yanked="broken">{project}-{version}-cp310-cp310-win_amd64.whl</a><br/>
<a href="https://files.example.com/packages/aa/cc/{project}-{version}-cp310-none-macosx_11_0_arm64.whl">mac</a>
<a href="https://files.example.com/packages/aa/cc/{project}-{version}.tar.gz">source</a>
</body></html>"""
VERSIONS = {"torchvision": "0.22.0", "xformers": "0.0.30"}
TABLES: dict[str, list[dict[str, str]]] = {
    "torch_builds.csv": [BUILD, CPU],
    "torch_pairs.csv": [PAIR],
    "cuda_driver.csv": [RELEASE],
    "cuda_minor_version_compat.csv": [FAMILY],
    "driver_branch_cuda.csv": [BRANCH],
    "gpu_arch_support.csv": [ARCHITECTURE],
    "gpus.csv": [GPU],
    "wheels_pytorch_index.csv": [WHEEL],
    "conda_pytorch_channel.csv": [CONDA],
    "condaforge_pytorch.csv": [FORGE],
    "conda_install_commands.csv": [COMMAND],
    "ecosystem_requires.csv": [ECOSYSTEM],
    "mirror_failure_modes.csv": [MODE],
    "pyg_pages.csv": [PYG_PAGE],
    "flash_attn_prebuilt.csv": [PREBUILT],
}


class Workshop:
    """A facts folder of the smallest kind, and where its matrices go."""

    def __init__(self, directory: Path) -> None:
        self.facts = directory / "facts"
        self.out = directory / "matrices"
        self.pages = directory / "pages"
        self.read = directory / "read"
        self.facts.mkdir()
        for name, rows in TABLES.items():
            self.write(name, rows)
        (self.facts / "sources.toml").write_text(SOURCES)
        (self.facts / "ecosystem_pairing.toml").write_text(PAIRING)
        (self.facts / "torch_device_rules.toml").write_text(DEVICES)
        (self.facts / "known_bad.toml").write_text(_known_bad())
        (self.facts / "mirrors.toml").write_text(MIRRORS)
        (self.facts / "error_signatures.json").write_text(_signatures())
        (self.facts / "doctor_checks.json").write_text(_checks())

    def write(self, name: str, rows: list[dict[str, str]]) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        (self.facts / name).write_text(text.getvalue(), encoding="utf-8")

    def write_pages(self) -> None:
        """Write what PyPI lists, and the build of torch that is listed there."""
        self.write("torch_builds.csv", [*TABLES["torch_builds.csv"], ON_PYPI])
        self.pages.mkdir()
        for project in wheels_table.PROJECTS:
            text = PAGE.format(project=project, version=VERSIONS.get(project, "2.7.0"), hash="b" * 64)
            (self.pages / f"{project}.html").write_text(text)

    def build(self, *options: str) -> int:
        """Build all tables but that of the signatures, which takes seconds."""
        return self.build_all("--keep", "signatures", *options)

    def build_all(self, *options: str) -> int:
        places = ["--facts", str(self.facts), "--out", str(self.out), "--read", str(self.read)]
        status: int = tool.main([*places, *options])
        return status

    def rows(self, table: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads((self.out / f"{table}.json").read_text())["rows"]
        return rows

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.out.glob("*")} if self.out.exists() else {}


@cache
def _known_bad() -> str:
    conditions = importlib.import_module("matrix_tables.facts").read_toml(
        TOOLS / "matrix_tables" / "conditions.toml"
    )
    names = dict.fromkeys(condition["id"] for condition in conditions["condition"])
    return "\n".join(
        f'[[bad]]\nid = "{name}"\narea = "a"\nwhen = ["x"]\neffect = "fails"\nremedy = "r"\n'
        f'sources = ["https://example.com"]\nconfidence = "high"\n'
        for name in names
    )


@cache
def _signatures() -> str:
    """Return one signature of each id that the error texts change, add to, name, or read facts for."""
    read_toml = importlib.import_module("matrix_tables.facts").read_toml
    files = [read_toml(path) for path in sorted((TOOLS / "matrix_tables" / "error_texts").glob("*.toml"))]
    extra = next(text for text in files if "change" in text)
    added = {item["id"] for text in files for item in text.get("signature", ())}
    texts = dict.fromkeys(("cause_en", "cause_zh", "fix_en", "fix_zh"), "told")
    entry = {"class": "code", "priority": 90, "reresolve": "no", "reresolve_how": "", "doctor_checks": []}
    entry |= {
        "samples": ["bad luck"],
        "not_regex": ["good luck"],
        "source": ["https://example.com"],
        "evidence": "thread",
        **texts,
    }
    regexes = {name: change.get("without", ()) for name, change in extra["change"].items()}
    named = [name for part in ("change", "read", "wants") for name in extra[part]]
    named += [name for text in files for name in text.get("more", {})]
    named += extra["wrappers"]
    groups = {name: members for text in files for name, members in text.get("groups", {}).items()}
    named += [case["of"] for text in files for case in text.get("case", ()) if case["of"] not in groups]
    named += [member for members in groups.values() for member in members]
    named += [item["case_of"] for text in files for item in text.get("signature", ()) if "case_of" in item]
    ids = dict.fromkeys(name for name in named if name != "usual" and name not in added)
    signatures = [
        {"id": name, "regex": [f"bad luck of {name}", *regexes.get(name, ())], **entry} for name in ids
    ]
    return json.dumps({"signatures": signatures})


@cache
def _checks() -> str:
    """Return the checks that checks.toml has texts for, but those that stand there alone."""
    read_toml = importlib.import_module("matrix_tables.facts").read_toml
    answer = read_toml(TOOLS / "matrix_tables" / "checks.toml")["check"]
    entry = {"title": "bad luck", "common": "rare", "links": ["https://example.com/1"], "evidence": "known"}
    return json.dumps({"checks": [{"id": check["id"], **entry} for check in answer if "links" not in check]})
