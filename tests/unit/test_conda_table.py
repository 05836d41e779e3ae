"""The generator of conda.json: its rows, and what is refused."""

from __future__ import annotations

import csv
import importlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from matrix_workshop import TOOLS

from gpuenv.matrix_checks.run import check_matrices

conda_table = importlib.import_module("matrix_tables.conda")
facts_module = importlib.import_module("matrix_tables.facts")
Facts, UnusableFacts = facts_module.Facts, facts_module.UnusableFacts

MATRICES = TOOLS.parent / "matrices"
FORGE = {
    "version": "2.7.1", "subdir": "linux-64", "cuda": "12.6", "builds": "3", "pythons": "3.13 3.9 3.10",
    "last_commit": "abc123", "date": "2025-07-30", "run_constraint": "__cuda >=12 (via cuda-version)",
    "source": "x",
}  # fmt: skip
PYTORCH = {
    "version": "2.5.1", "python": "3.12", "cuda": "12.4", "cudnn": "9.1.0",
    "build": "py3.12_cuda12.4_cudnn9.1.0_0", "subdir": "linux-64", "sm_in_binary": "8.0 9.0 9.0a",
    "cuda_dependency": "pytorch-cuda=12.4", "channels": "pytorch;nvidia", "torchvision": "0.20.1",
    "torchaudio": "2.5.1", "source": "somebody's table",
}  # fmt: skip
COMMANDS = [
    {"torch": "2.5.1", "cuda": "12.4", "dependency": "pytorch-cuda=12.4", "channels": "pytorch;nvidia"},
    {"torch": "2.5.1", "cuda": "cpu", "dependency": "cpuonly", "channels": "pytorch"},
]
MADE = {
    "torch": "2.7.1", "platform": "linux-64", "cuda": "12.6", "architectures": ["5.0", "9.0+PTX"],
    "cudnn": "9", "glibc": "2.17", "commit": "abc123",
}  # fmt: skip


class Bench:
    """Facts of the smallest kind, and what is known of conda-forge's scripts."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.facts = Facts(root)
        monkeypatch.setattr(conda_table, "DATA", root)

    def rows(
        self,
        forge: list[dict[str, str]] | None = None,
        pytorch: list[dict[str, str]] | None = None,
        commands: list[dict[str, str]] | None = None,
        made: list[dict[str, Any]] | None = None,
    ) -> list[dict[str, Any]]:
        self._write("condaforge_pytorch.csv", FORGE, forge)
        self._write("conda_pytorch_channel.csv", PYTORCH, pytorch)
        self._write("conda_install_commands.csv", COMMANDS[0], commands)
        (self.root / "conda_forge.json").write_text(json.dumps([MADE] if made is None else made))
        fields: list[dict[str, Any]] = conda_table.build_conda(self.facts)
        return fields

    def _write(self, name: str, example: dict[str, str], rows: list[dict[str, str]] | None) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, list(example))
        writer.writeheader()
        writer.writerows(rows or [])
        (self.root / name).write_text(text.getvalue(), encoding="utf-8")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def test_a_build_of_conda_forge_becomes_a_row(bench: Bench) -> None:
    (row,) = bench.rows(forge=[FORGE])
    assert row == {
        "channel": "conda-forge", "torch": "2.7.1", "variant": "cu126", "cuda": "12.6",
        "platform": "linux-64", "pythons": ["cp39", "cp310", "cp313"], "cudnn": "9", "glibc": "2.17",
        "architectures": ["sm_50", "sm_90", "compute_90"], "build": "cuda126*",
        "requires": ["cuda-version 12.6.*"], "channels": ["conda-forge"],
        "torchvision": [], "torchaudio": [],
        "source": "https://github.com/conda-forge/pytorch-cpu-feedstock/tree/abc123 (2025-07-30)",
        "evidence": "matrix",
    }  # fmt: skip


# the CUDA, what the build constrains, what must stand beside torch
REQUIRED = (
    ("12.6", "__cuda >=12 (via cuda-version)", ["cuda-version 12.6.*"]),
    ("11.8", "__cuda >=11 (via cuda-version)", []),
    ("11.2", "", []),
    ("10.1", "cudatoolkit 10.1", ["cudatoolkit 10.1.*"]),
)


@pytest.mark.parametrize(("cuda", "constraint", "requires"), REQUIRED)
def test_a_solver_is_told_what_keeps_it_at_the_cuda_of_the_build(
    bench: Bench, cuda: str, constraint: str, requires: list[str]
) -> None:
    (row,) = bench.rows(
        forge=[FORGE | {"cuda": cuda, "run_constraint": constraint}], made=[MADE | {"cuda": cuda}]
    )
    assert row["requires"] == requires


def test_a_cpu_build_of_conda_forge_needs_no_scripts(bench: Bench) -> None:
    (row,) = bench.rows(forge=[FORGE | {"cuda": "", "run_constraint": ""}], made=[])
    assert (row["variant"], row["cuda"], row["build"]) == ("cpu", None, "cpu*")
    assert (row["architectures"], row["requires"]) == ([], [])


def test_other_platforms_are_none_of_ours(bench: Bench) -> None:
    assert bench.rows(forge=[FORGE | {"subdir": "osx-arm64"}]) == []


def test_the_packages_of_each_python_become_one_row(bench: Bench) -> None:
    other = PYTORCH | {"python": "3.9", "sm_in_binary": "9.0 8.0"}
    (row,) = bench.rows(pytorch=[PYTORCH, other])
    assert row["pythons"] == ["cp39", "cp312"]
    assert row["architectures"] == ["sm_80", "sm_90"], "what is in each of them"
    assert row["build"] == "py{python}_cuda12.4*"
    assert row["requires"] == ["pytorch-cuda 12.4.*"]
    assert row["channels"] == ["pytorch", "nvidia", "conda-forge"]
    assert (row["torchvision"], row["torchaudio"]) == (["0.20.1"], ["2.5.1"])


@pytest.mark.parametrize(
    ("dependency", "channels", "requires", "wanted"),
    [
        ("cudatoolkit=11.3", "pytorch", ["cudatoolkit 11.3.*"], ["pytorch", "conda-forge"]),
        (
            "cudatoolkit=11.1",
            "pytorch;conda-forge or nvidia",
            ["cudatoolkit 11.1.*"],
            ["pytorch", "conda-forge"],
        ),
        ("feature package cuda100", "pytorch", ["cuda100"], ["pytorch", "conda-forge"]),
    ],
)
def test_libraries_come_from_conda_forge_where_it_has_them(
    bench: Bench, dependency: str, channels: str, requires: list[str], wanted: list[str]
) -> None:
    (row,) = bench.rows(pytorch=[PYTORCH | {"cuda_dependency": dependency, "channels": channels}])
    assert (row["requires"], row["channels"]) == (requires, wanted)


def test_a_command_for_the_cpu_becomes_a_row_for_all_pythons(bench: Bench) -> None:
    rows = bench.rows(pytorch=[PYTORCH, PYTORCH | {"python": "3.9", "cuda": "11.8"}], commands=COMMANDS)
    (cpu,) = [row for row in rows if row["variant"] == "cpu"]
    assert cpu["pythons"] == ["cp39", "cp312"]
    assert (cpu["build"], cpu["requires"], cpu["channels"]) == (
        "py{python}_cpu*", ["cpuonly"], ["pytorch", "conda-forge"],
    )  # fmt: skip
    assert cpu["architectures"] == []


def test_a_build_whose_code_nobody_has_read_is_left_out_aloud(bench: Bench) -> None:
    assert bench.rows(pytorch=[PYTORCH | {"sm_in_binary": ""}]) == []
    assert bench.facts.left_out == ["conda pytorch 2.5.1 cu124: no architecture is in each of its builds"]


def test_rows_are_sorted_by_release_and_not_as_text(bench: Bench) -> None:
    versions = ("2.10.0", "2.9.1", "1.13.1")
    rows = bench.rows(
        forge=[FORGE | {"version": version} for version in versions],
        made=[MADE | {"torch": version} for version in versions],
        pytorch=[PYTORCH],
    )
    assert [row["torch"] for row in rows] == ["1.13.1", "2.9.1", "2.10.0", "2.5.1"]


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        ({"forge": [FORGE], "made": []}, "no build scripts of 2.7.1 for CUDA 12.6"),
        ({"pytorch": [PYTORCH | {"channels": "pytorch;somebody"}]}, "no channels known here"),
    ],
)
def test_facts_that_contradict_each_other_are_refused(
    bench: Bench, tables: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UnusableFacts, match=reason):
        bench.rows(**tables)


@pytest.mark.parametrize(
    "name", ["condaforge_pytorch.csv", "conda_pytorch_channel.csv", "conda_install_commands.csv"]
)
def test_absent_facts_are_refused(bench: Bench, name: str) -> None:
    bench.rows(forge=[FORGE], pytorch=[PYTORCH])
    (bench.root / name).unlink()
    with pytest.raises(UnusableFacts, match=name):
        conda_table.build_conda(bench.facts)


# the schema, and `matrix check`


def made_rows(bench: Bench) -> list[dict[str, Any]]:
    return bench.rows(forge=[FORGE, FORGE | {"cuda": ""}], pytorch=[PYTORCH], commands=COMMANDS)


def test_what_is_made_holds_to_the_schema(bench: Bench) -> None:
    schema = json.loads((MATRICES / "conda.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate({"schema_version": 1, "rows": made_rows(bench)})


def test_what_is_shipped_holds_to_the_schema() -> None:
    schema = json.loads((MATRICES / "conda.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(json.loads((MATRICES / "conda.json").read_text(encoding="utf-8")))


def faults(*rows: dict[str, Any]) -> list[str]:
    return [fault.message for fault in check_matrices({"conda": list(rows)}) if fault.table == "conda"]


def test_what_is_made_has_no_faults(bench: Bench) -> None:
    assert faults(*made_rows(bench)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"torch": "two"}, {"variant": "gpu"}, {"cuda": "12"}, {"platform": "osx-64"}, {"pythons": []},
        {"pythons": ["py3"]}, {"architectures": ["sm_x"]}, {"glibc": "new"}, {"build": ""}, {"channels": []},
        {"requires": [1]}, {"torchvision": ["x"]}, {"evidence": "hearsay"}, {"source": ""},
    ],
)  # fmt: skip
def test_a_bad_row_is_a_fault(bench: Bench, change: dict[str, Any]) -> None:
    row = made_rows(bench)[0]
    assert len(faults(row | change)) == 1


def test_a_row_that_stands_twice_is_a_fault(bench: Bench) -> None:
    row = made_rows(bench)[0]
    assert faults(row, row)
