"""The matrices as they are committed: readable, sorted, in agreement with their schemas and each other."""

from __future__ import annotations

import importlib
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from gpuenv import matrices
from gpuenv.matrix.show import check_matrix
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import CUDA_PLATFORMS

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
schemas = importlib.import_module("matrix_tables.schemas")
MATRICES = Path(__file__).parents[2] / "matrices"
TABLES = (
    "torch", "cuda", "gpus", "companions", "known-bad", "libraries", "wheels", "manifest", "mirrors", "conda",
    "signatures", "checks", "images", "pythons", "ecosystem", "api-changes", "conda-tools",
    "installer-faults", "nvidia-smi", "releases", "reports", "tegra",
)  # fmt: skip


def read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((MATRICES / f"{name}.json").read_text(encoding="utf-8"))
    return document


@pytest.mark.parametrize("table", TABLES)
def test_a_table_agrees_with_its_schema(table: str) -> None:
    schema = read(f"{table}.schema")
    jsonschema.Draft202012Validator.check_schema(schema)
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(read(table))) == []


def test_the_schemas_are_those_of_the_fields() -> None:
    for name, text in schemas.schema_texts().items():
        assert (MATRICES / f"{name}.json").read_text(encoding="utf-8") == text, "tools/build_matrices.py"


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_one_row_a_line(table: str) -> None:
    lines = (MATRICES / f"{table}.json").read_text(encoding="utf-8").splitlines()
    first = lines.index('  "rows": [') + 1
    rows = [json.loads(line.rstrip(",")) for line in lines[first:-2]]
    assert rows == read(table)["rows"]


@pytest.mark.parametrize("table", TABLES)
def test_the_keys_of_rows_of_a_kind_stand_in_one_order(table: str) -> None:
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in read(table)["rows"]:
        kinds.setdefault(row.get("kind", ""), []).append(row)
    for rows in kinds.values():
        shared = set.intersection(*(set(row) for row in rows))
        assert len({tuple(key for key in row if key in shared) for row in rows}) == 1


def test_the_committed_matrices_have_no_faults() -> None:
    assert check_matrix().faults == ()


def test_torch_rows_are_sorted_by_version_and_not_by_text() -> None:
    versions = [Version(row["torch"]) for row in matrices.load("torch")]
    assert versions == sorted(versions)
    assert versions[0] == Version("1.0.0")
    assert versions[-1] == Version("2.15.0")


def test_torch_covers_every_cuda_variant_ever_published() -> None:
    variants = {row["variant"] for row in matrices.load("torch")}
    published = "80 90 92 100 101 102 110 111 113 115 116 117 118 121 124 126 128 129 130 132"
    assert variants == {"cpu", *(f"cu{digits}" for digits in published.split())}


@pytest.mark.parametrize("platform", CUDA_PLATFORMS)
def test_every_platform_has_cpu_and_cuda_builds(platform: str) -> None:
    rows = [row for row in matrices.load("torch") if row["platform"] == platform]
    assert {Variant(row["variant"]).is_cpu for row in rows} == {True, False}


def test_uncertain_builds_are_left_out() -> None:
    newest = {row["variant"] for row in matrices.load("torch") if row["torch"] == "2.15.0"}
    assert newest == {"cpu", "cu130", "cu132"}


def test_what_only_the_release_matrix_tells_is_assumed() -> None:
    rows = [row for row in matrices.load("torch") if row["torch"] == "2.14.1" and row["index"] == "pytorch"]
    assert {row["evidence"] for row in rows} == {"assumed"}


@pytest.mark.parametrize("torch", ["2.11.0", "2.12.0", "2.12.1", "2.13.0", "2.14.0", "2.14.1", "2.15.0"])
def test_the_last_torchaudio_goes_with_every_torch_since(torch: str) -> None:
    assert paired(torch, "torchaudio") == ["2.11.0"]


def test_torchtext_ended_with_torch_2_3() -> None:
    torches = [
        row["torch"] for row in matrices.load("companions") if "0.18.0" in row.get("versions", ())
        and row["project"] == "torchtext"
    ]  # fmt: skip
    assert torches == ["2.3.0", "2.3.1"]


def test_the_companion_published_beside_a_torch_comes_first() -> None:
    assert paired("2.14.0", "torchvision") == ["0.29.0", "0.29.1", "0.29.2"]
    assert paired("2.14.1", "torchvision") == ["0.29.1", "0.29.2"]
    assert paired("1.7.0", "torchvision") == ["0.8.1", "0.8.0"]


def test_no_yanked_companion_is_paired_where_another_is_there() -> None:
    rows = matrices.load("companions")
    yanked = {(row["project"], row["version"]) for row in rows if row["kind"] == "release" and row["yanked"]}
    for row in rows:
        if row["kind"] == "pair" and (row["project"], row.get("versions", [None])[0]) in yanked:
            assert row["torch"] in ("1.0.0", "1.0.1")  # all their torchvisions were yanked


@pytest.mark.parametrize(
    ("identifier", "constrain"),
    [
        ("numpy2-linux", ["numpy<2"]),
        ("numpy2-windows", ["numpy<2"]),
        ("setuptools70-cpp-extension", ["setuptools<70"]),
        ("setuptools59.6-tensorboard", ["setuptools<59.6"]),
        ("torch211-setuptools-cap", ["setuptools<82"]),
        ("pillow7-torchvision", ["pillow<7"]),
    ],
)
def test_workarounds_that_a_plan_needs_are_there(identifier: str, constrain: list[str]) -> None:
    row = next(row for row in matrices.load("known-bad") if row["id"] == identifier)
    assert row["constrain"] == constrain
    assert all("torch" in item or "torchvision" in item for item in row["when"])


def test_the_snapshot_is_compact() -> None:
    assert (MATRICES / "wheels.json").stat().st_size < 1_200_000


def test_every_file_of_the_snapshot_is_a_wheel_of_its_project() -> None:
    for row in read("wheels")["rows"]:
        name, version, _, tags = parse_wheel_filename(row["filename"])
        assert name == row["project"]
        assert version.local is None or Variant(version.local).is_known
        assert not any(tag.platform.startswith("macosx") for tag in tags)


def test_files_on_pypi_have_a_hash() -> None:
    rows = [row for row in read("wheels")["rows"] if row["index"] == "pypi"]
    assert {row["project"] for row in rows} == {
        "torch",
        "torchvision",
        "torchaudio",
        "torchtext",
        "torchdata",
        "xformers",
    }
    assert all(row["sha256"] for row in rows)


def test_the_snapshot_lists_projects_and_versions_in_order() -> None:
    for before, row in pairwise(read("wheels")["rows"]):
        if before["project"] == row["project"]:
            assert parse_wheel_filename(before["filename"])[1] <= parse_wheel_filename(row["filename"])[1]


def test_no_assumed_build_has_a_file_in_the_snapshot() -> None:
    assumed = {
        (row["torch"], row["variant"]) for row in matrices.load("torch") if row["evidence"] == "assumed"
    }
    files = {
        (version.base_version, row.get("subdir"))
        for row in read("wheels")["rows"]
        if row["project"] == "torch" and row["index"] == "pytorch"
        for version in [parse_wheel_filename(row["filename"])[1]]
    }
    assert assumed & files == set()


def paired(torch: str, project: str) -> list[str]:
    rows = [row for row in matrices.load("companions") if row["kind"] == "pair"]
    (row,) = [row for row in rows if (row["torch"], row["project"]) == (torch, project)]
    versions: list[str] = row["versions"]
    return versions


def test_every_pair_says_by_what_it_was_decided() -> None:
    rows = [row for row in matrices.load("companions") if row["kind"] == "pair"]
    decided = {(row["torch"], row["project"]): row["basis"] for row in rows}
    assert decided["2.14.0", "torchvision"] == "metadata"
    assert decided["2.14.1", "torchvision"] == decided["2.15.0", "torchvision"] == "version.py"
    assert decided["2.14.1", "torchaudio"] == "version.py"
    assert decided["2.15.0", "torchaudio"] == "documented"  # it is built for 13.0, and PyPI's torch for 13.2
    assert decided["2.3.1", "torchtext"] == "documented"
    assert decided["2.7.0", "xformers"] == "metadata"
    assert decided["2.14.1", "xformers"] == "cpp_lib.json"
    assert decided["2.15.0", "xformers"] == "metadata"  # a lower bound: no build of either is for one CUDA
    assert decided["2.15.0", "triton"] == "metadata"


def test_xformers_is_paired_by_its_pins_and_what_its_wheels_record() -> None:
    assert paired("2.9.0", "xformers") == ["0.0.33.post1", "0.0.33"]
    assert paired("2.10.0", "xformers") == ["0.0.35", "0.0.34"]
    assert paired("2.14.1", "xformers") == paired("2.15.0", "xformers") == ["0.0.35"]


def test_what_was_read_from_a_wheel_agrees_with_its_metadata() -> None:
    rows = [row for row in matrices.load("torch") if "requires_cuda" in row]
    assert len(rows) >= 37
    assert all(row["requires_cuda"] == row["cuda"] for row in rows)
