"""Every contradiction that the matrices must not hold is found, and told of the right row."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.knowledge.schema.tables import FIELDS
from gpuenv.matrix.show import show_matrix
from gpuenv.matrix_checks.manifest import manifest_rows, shrunk, updated, vanished
from gpuenv.matrix_checks.notes import note_matrices
from gpuenv.matrix_checks.run import MatrixFault, check_matrices
from gpuenv.model.errors import UsageError

ORIGIN = {"source": "a page", "evidence": "matrix"}
TORCH = "torch-2.7.0-cp312-cp312-manylinux_2_28_x86_64.whl"
VISION = "torchvision-0.22.0+cu126-cp312-cp312-linux_x86_64.whl"
Tables = dict[str, list[Any]]


def tables() -> Tables:
    """The smallest matrices without a fault."""
    build = {
        "torch": "2.7.0", "variant": "cu126", "platform": "linux-64", "index": "pypi", "cuda": "12.6",
        "pythons": ["cp312"], "architectures": ["sm_90"], "cudnn": "9.5.1.17", "tags": ["linux_x86_64"],
        "requires_cuda": "12.6",
        "triton": "==3.3.0", "torchvision": ["0.22.0"], "torchaudio": [], "torchtext": [], **ORIGIN,
    }  # fmt: skip
    return {
        "torch": [build],
        "cuda": [
            {"kind": "release", "cuda": "12.6", "release": "12.6.3", "label": "12.6 Update 3", "branch": 560,
             "linux": "560.35.05", "windows": None, **ORIGIN},
            {"kind": "family", "major": 12, "linux": "525.60.13", "windows": "527.41", **ORIGIN},
            {"kind": "branch", "os": "linux", "branch": 560, "cuda": "12.6", **ORIGIN},
            {"kind": "branch", "os": "linux", "branch": 570, "cuda": "12.8", **ORIGIN},
            {"kind": "architecture", "architecture": "Hopper", "compute_capabilities": ["9.0"],
             "first_cuda": "11.8", "last_cuda": None, "last_driver_branch": None, **ORIGIN},
            {"kind": "integrated", "compute_capability": "8.7", "until_cuda": "13.2", **ORIGIN},
        ],
        "gpus": [
            {"name": "NVIDIA H100", "compute_capability": "9.0", "architecture": "Hopper", "family": "Tesla",
             "pci_ids": ["2330"], "preferred": True, **ORIGIN},
        ],
        "companions": [
            {"kind": "pair", "torch": "2.7.0", "project": "torchvision", "versions": ["0.22.0"],
             "basis": "metadata", **ORIGIN},
            {"kind": "pair", "torch": "2.7.0", "project": "triton", "specifier": "==3.3.0",
             "basis": "metadata", **ORIGIN},
            {"kind": "release", "project": "torchvision", "version": "0.22.0", "requires_torch": "==2.7.0",
             "requires_python": ">=3.9", "pythons": ["cp312"], "yanked": False,
             "pypi_cuda": {"linux-64": "12.6"}, "cuda_match": "major", **ORIGIN},
        ],
        "known-bad": [
            {"id": "numpy2", "area": "numpy", "judge": "known-bad",
             "when": [{"torch": "<2.3", "os": "windows"}], "unless": [], "when_text": ["numpy 2"],
             "constrain": ["numpy<2"], "add": [], "forbid": False, "avoid": False, "warn": False,
             "effect": "fails", "error": None, "remedy": "numpy<2", "confidence": "high", **ORIGIN},
        ],
        "libraries": [
            {"kind": "floor", "library": "cudnn", "name": "cuDNN", "counts": "release", "from": "9.0",
             "cuda": None, "min_compute_capability": "5.0", "least_gpus": 1, "platforms": ["linux-64"],
             "confidence": "low", **ORIGIN},
            {"kind": "floor", "library": "cudnn", "name": "cuDNN", "counts": "release", "from": "9.11",
             "cuda": None, "min_compute_capability": "7.5", "least_gpus": 1, "platforms": ["linux-64"],
             "confidence": "low", **ORIGIN},
            {"kind": "family", "library": "cudnn", "major": 9, "cuda": ">=11,<14", **ORIGIN},
        ],
        "pythons": [
            {"version": "3.12", "released": "2023-10-02", "uv": ["linux-64"], **ORIGIN},
            {"version": "3.13", "released": "2024-10-07", "uv": [], **ORIGIN},
        ],
        "dependencies": [
            {"kind": "build", "torch": "2.7.0", "variant": "cu126", "platform": "linux-64", "index": "pypi",
             "requires": ["filelock", "nvidia-nccl-cu12==2.26.2"], "size": 8, "installed": 16, **ORIGIN},
            {"kind": "file", "project": "filelock", "version": "3.20", "platform": "any", "requires": [],
             "size": 2, "installed": None, **ORIGIN},
        ],
        "wheels": [
            {"project": "torch", "filename": TORCH, "index": "pypi", "sha256": "a" * 64},
            {"project": "torchvision", "filename": VISION, "index": "pytorch", "subdir": "cu126",
             "sha256": "b" * 64},
        ],
    }  # fmt: skip


def faults(changed: Tables) -> list[tuple[str, str]]:
    return [(fault.table, fault.message) for fault in check_matrices(changed)]


def test_sound_tables_have_no_fault() -> None:
    assert check_matrices(tables()) == ()


def test_a_part_of_the_tables_is_checked_by_itself() -> None:
    for name, rows in tables().items():
        assert check_matrices({name: rows}) == ()


def change(table: str, position: int, **fields: Any) -> Callable[[Tables], None]:
    return lambda made: made[table][position].update(fields)


def again(table: str, position: int, **fields: Any) -> Callable[[Tables], None]:
    return lambda made: made[table].append(copy.deepcopy(made[table][position]) | fields)


def bundled(torch: str, cuda: str) -> Callable[[Tables], None]:
    row = {"kind": "bundled", "library": "cudnn", "torch": torch, "cuda": cuda, "version": "9.5.1", **ORIGIN}
    return lambda made: made["libraries"].append(row)


def read_from(filename: str, digest: str = "a" * 64) -> Callable[[Tables], None]:
    return change("torch", 0, evidence="wheel", source=f"wheel {filename} on PyPI, sha256 {digest}")


def on_both_indexes(architecture: str) -> Callable[[Tables], None]:
    def mutate(made: Tables) -> None:
        again("torch", 0, index="pytorch", architectures=[architecture])(made)
        again("wheels", 0, index="pytorch", subdir="cu126")(made)

    return mutate


def remove(table: str, position: int) -> Callable[[Tables], None]:
    return lambda made: made[table].pop(position)


CONTRADICTIONS: list[tuple[str, Callable[[Tables], None], str]] = [
    ("torch", change("torch", 0, cuda="12.4"), "variant `cu126` with CUDA 12.4"),
    ("torch", change("torch", 0, cuda=None), "variant `cu126` with CUDA None"),
    ("torch", change("torch", 0, architectures=[]), "a CUDA build without architectures"),
    ("torch", change("torch", 0, tags=["win_amd64"]), "tag `win_amd64` on linux-64"),
    (
        "torch",
        change("torch", 0, tags=["manylinux_2_28_aarch64"]),
        "tag `manylinux_2_28_aarch64` on linux-64",
    ),
    ("torch", again("torch", 0), "stands there twice"),
    ("torch", again("torch", 0, pythons=["cp313"]), "stands there twice, and the two differ"),
    ("torch", again("torch", 0, variant="cu125", cuda="12.5"), "PyPI has `cu126` for this release"),
    ("torch", change("torch", 0, variant="cu140", cuda="14.0"), "CUDA 14.0 has no driver floor on linux"),
    ("torch", change("torch", 0, torchvision=["0.21.0"]), "companions.json does not pair torchvision 0.21.0"),
    ("torch", change("torch", 0, triton="==3.2.0"), "companions.json pairs triton ==3.3.0 with it"),
    ("cuda", change("cuda", 3, cuda="12.4"), "a newer branch with an older CUDA than branch 560"),
    ("cuda", change("cuda", 0, cuda="12.5"), "release 12.6.3 of CUDA 12.5"),
    ("cuda", again("cuda", 4, architecture="Ada"), "9.0 is Hopper already"),
    ("gpus", change("gpus", 0, compute_capability="9.9"), "9.9 is not an architecture in cuda.json"),
    ("gpus", change("gpus", 0, architecture="Ada"), "9.0 is Hopper"),
    ("gpus", change("gpus", 0, preferred=False), "0 compute capabilities are preferred"),
    (
        "gpus",
        again("gpus", 0, name="H2", compute_capability="8.9"),
        "PCI id 2330 has compute capability 9.0 elsewhere",
    ),
    ("companions", change("companions", 0, torch="2.6.0"), "there is no torch 2.6.0"),
    (
        "companions",
        change("companions", 0, versions=["0.21.0"]),
        "there is no release row for torchvision 0.21.0",
    ),
    ("companions", change("companions", 2, requires_torch="==2.6.0"), "requires torch==2.6.0"),
    ("companions", change("companions", 0, specifier=">1"), "either versions or a specifier"),
    ("known-bad", change("known-bad", 0, forbid=True), "forbidden, but fixed by a constraint"),
    ("known-bad", change("known-bad", 0, when=[]), "acts without a condition"),
    ("known-bad", change("known-bad", 0, constrain=[]), "the plan judges it, and does nothing about it"),
    ("libraries", change("libraries", 1, min_compute_capability="3.5"), "supports older GPUs again than 9.0"),
    ("dependencies", change("dependencies", 0, torch="2.7.9"), "torch.json has no such build"),
    ("libraries", bundled("2.7.0", "12.6"), "no build of torch.json leaves its cuDNN open"),
    ("pythons", change("pythons", 1, released="2023-10-01"), "Python 3.13 came out before Python 3.12"),
    # a CUDA that the wheel contradicts
    ("torch", change("torch", 0, requires_cuda="12.8"), "whose metadata requires CUDA 12.8"),
    (
        "torch",
        change("torch", 0, variant="cpu", cuda=None),
        "variant `cpu`, whose metadata requires CUDA 12.6",
    ),
    (
        "torch",
        change("libraries", 2, cuda=">=11,<12.6"),
        "cuDNN 9.5.1.17 is built for CUDA >=11,<12.6, not for",
    ),
    ("libraries", bundled("2.7.0", "10.2"), "cuDNN 9.5.1 is built for CUDA >=11,<14, not for 10.2"),
    (
        "torch",
        again("torch", 0, torch="2.8.0", cudnn="9.1"),
        "cuDNN 9.1, but torch 2.7.0 already has 9.5.1.17",
    ),
    ("torch", read_from("torch-2.7.1-cp312-cp312-linux_x86_64.whl"), "another release"),
    ("torch", read_from("torchvision-2.7.0-cp312-cp312-linux_x86_64.whl"), "another release"),
    ("torch", read_from("torch-2.7.0+cu118-cp312-cp312-linux_x86_64.whl"), "another variant"),
    ("torch", read_from("torch-2.7.0-cp312-cp312-win_amd64.whl"), "for another platform"),
    ("torch", read_from("torch-2.7.0-cp313-cp313-linux_x86_64.whl"), "for a Python that the row does not"),
    ("torch", read_from("torch-2.7.0.whl"), "which is not a valid wheel name"),
    ("torch", read_from(TORCH, "c" * 64), "wheels.json has another digest"),
    # what is published
    ("wheels", change("wheels", 1, subdir="cu118"), "its name says `cu126`, its folder `cu118`"),
    ("wheels", change("wheels", 1, project="torchaudio"), "is not a file of torchaudio"),
    ("wheels", change("wheels", 1, index="pypi"), "PyPI takes no file with a local version"),
    ("wheels", again("wheels", 0, filename=TORCH.replace("2.7.0", "2.8.0")), "torch.json has no row"),
    ("wheels", again("wheels", 0, filename=TORCH.replace("x86_64", "aarch64")), "torch.json has no row"),
    ("wheels", again("wheels", 0, index="pytorch", subdir="cu128"), "torch.json has no row"),
    (
        "torch",
        again("wheels", 0, filename=TORCH.replace("312", "313")),
        "wheels.json lists files for cp313 too",
    ),
    ("companions", remove("wheels", 1), "no wheel of torchvision 0.22.0 is known"),
    ("torch", on_both_indexes("sm_80"), "PyPI has the same file, which is compiled for sm_90"),
    # a source that is missing
    ("torch", change("torch", 0, evidence="wheel"), "`source`: names no wheel"),
    ("gpus", change("gpus", 0, evidence="wheel", source="PyPI"), "`source`: names no wheel"),
    ("companions", change("companions", 2, source=" "), "`source`: ' ' is not a text"),
]


@pytest.mark.parametrize(("table", "mutate", "message"), CONTRADICTIONS, ids=[c[2] for c in CONTRADICTIONS])
def test_a_contradiction_is_found(table: str, mutate: Callable[[Tables], None], message: str) -> None:
    changed = tables()
    mutate(changed)
    assert any(value == table and message in text for value, text in faults(changed)), faults(changed)


@pytest.mark.parametrize(
    ("table", "field", "value"),
    [
        ("torch", "torch", "two"),
        ("torch", "variant", "rocm6.3"),
        ("torch", "platform", "osx-arm64"),
        ("torch", "index", "conda"),
        ("torch", "pythons", []),
        ("torch", "pythons", ["3.12"]),
        ("torch", "pythons", "cp312"),
        ("torch", "architectures", ["9.0"]),
        ("torch", "cudnn", "nine"),
        ("torch", "triton", "3.3.0"),
        ("torch", "source", ""),
        ("torch", "source", None),
        ("torch", "evidence", "hearsay"),
        ("cuda", "linux", "560.x"),
        ("cuda", "branch", "R560"),
        ("cuda", "branch", True),
        ("gpus", "pci_ids", ["0x2330"]),
        ("gpus", "preferred", "yes"),
        ("gpus", "compute_capability", "90"),
        ("companions", "versions", []),
        ("known-bad", "when", [{"torch": "2.3"}]),
        ("known-bad", "when", [{"os": "beos"}]),
        ("known-bad", "when", [{}]),
        ("known-bad", "when", {"torch": "<2.3"}),
        ("known-bad", "judge", "nobody"),
        ("known-bad", "when", ["torch<2.3"]),
        ("known-bad", "constrain", ["numpy<"]),
        ("libraries", "from", ""),
        ("pythons", "version", "3"),
        ("pythons", "released", "2 October 2023"),
        ("pythons", "uv", ["macos"]),
        ("companions", "basis", "guess"),
        ("torch", "requires_cuda", "twelve"),
        ("wheels", "filename", "torch.whl"),
        ("wheels", "index", "conda"),
        ("wheels", "sha256", "abc"),
    ],
)
def test_a_field_that_can_not_be_read_is_found(table: str, field: str, value: Any) -> None:
    changed = tables()
    changed[table][0][field] = value
    assert any(name == table and f"`{field}`" in message for name, message in faults(changed))


def test_a_missing_and_an_unknown_field_are_found() -> None:
    for table, rows in tables().items():
        for field in rows[0]:
            changed = tables()
            changed[table][0]["colour"] = changed[table][0].pop(field)
            values = [message for name, message in faults(changed) if name == table]
            optional = (table, field) in {
                ("companions", "versions"),
                ("torch", "requires_cuda"),
                ("wheels", "sha256"),
            }
            kind_lost = field == "kind"
            assert optional or kind_lost or f"`{field}` is missing" in values
            assert kind_lost or "unknown: `colour`" in values
            assert not kind_lost or any("`kind`: None" in message for message in values)


@pytest.mark.parametrize("row", [None, 3, "row", ["torch"], {}, {"kind": []}, {"kind": {}}])
@pytest.mark.parametrize("table", list(FIELDS))
def test_what_is_no_row_is_a_fault_and_no_traceback(table: str, row: Any) -> None:
    matrix_faults = check_matrices({table: [row]})
    assert matrix_faults
    assert {fault.table for fault in matrix_faults} == {table}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.data())
def test_any_value_in_any_field_is_checked_without_a_traceback(data: st.DataObject) -> None:
    changed = tables()
    table = data.draw(st.sampled_from(sorted(changed)))
    row = data.draw(st.sampled_from(changed[table]))
    row[data.draw(st.sampled_from(sorted(row)))] = data.draw(JSON)
    assert all(isinstance(fault, MatrixFault) for fault in check_matrices(changed))


def test_a_fault_names_its_row() -> None:
    changed = tables()
    changed["torch"][0]["cudnn"] = "nine"
    (fault,) = check_matrices(changed)
    assert fault.row_key == "2.7.0 cu126 linux-64 pypi"


def test_what_is_read_from_a_wheel_and_says_so_is_no_fault() -> None:
    changed = tables()
    read_from(TORCH)(changed)
    on_both_indexes("sm_90")(changed)
    again("wheels", 1, filename="torchvision-0.22.0-py3-none-any.whl", index="pypi")(changed)
    assert check_matrices(changed) == ()


def test_a_release_whose_source_names_its_wheel_is_published() -> None:
    changed = tables()
    changed["wheels"].pop(1)
    changed["companions"][2] |= {"source": f"wheel {VISION}", "evidence": "wheel"}
    assert check_matrices(changed) == ()


# notes


def notes(changed: Tables) -> list[tuple[str, str, str]]:
    assert check_matrices(changed) == ()
    return [(note.code, note.table, note.message) for note in note_matrices(changed)]


def test_whole_tables_leave_nothing_to_note_but_an_unknown_floor() -> None:
    changed = tables()
    changed["cuda"][0]["windows"] = "561.17"
    assert notes(changed) == []


NOTED: list[tuple[str, str, Callable[[Tables], None], str]] = [
    (
        "gpu-without-build",
        "gpus",
        change("torch", 0, architectures=["sm_80"]),
        "no build runs on compute capability 9.0: NVIDIA H100",
    ),
    (
        "gpu-without-build",
        "gpus",
        change("libraries", 1, **{"from": "9.5", "min_compute_capability": "10.0"}),
        "no build runs on compute capability 9.0",
    ),
    ("floor-of-family", "cuda", remove("cuda", 0), "only the floor of CUDA 12 is known on linux"),
    ("unseen-build", "torch", remove("wheels", 0), "no file was seen of its builds for cu126 (linux-64)"),
    (
        "unseen-companion",
        "companions",
        change("wheels", 1, filename=VISION.replace("cu126", "cu118"), subdir="cu118"),
        "no wheel was seen for cu126 (linux-64)",
    ),
    (
        "unseen-companion",
        "companions",
        change("wheels", 1, filename=VISION.replace("linux_x86_64", "win_amd64")),
        "no wheel was seen for cu126 (linux-64)",
    ),
    (
        "apart-on-pypi",
        "companions",
        change("companions", 2, pypi_cuda={"linux-64": "13.0"}),
        "PyPI has it for CUDA 13.0, and torch 2.7.0 for CUDA 12.6",
    ),
]


@pytest.mark.parametrize(
    ("code", "table", "mutate", "message"), NOTED, ids=[f"{n[0]}-{i}" for i, n in enumerate(NOTED)]
)
def test_what_is_no_fault_is_noted(
    code: str, table: str, mutate: Callable[[Tables], None], message: str
) -> None:
    changed = tables()
    mutate(changed)
    results = notes(changed)
    assert any((code, table) == note[:2] and message in note[2] for note in results), results


def test_a_companion_for_another_cuda_of_the_major_is_seen_where_that_is_enough() -> None:
    changed = tables()
    change("wheels", 1, filename=VISION.replace("cu126", "cu128"), subdir="cu128")(changed)
    assert not [note for note in notes(changed) if note[0] == "unseen-companion"]
    changed["companions"][2]["cuda_match"] = "exact"
    assert [note for note in notes(changed) if note[0] == "unseen-companion"]


def test_builds_that_are_assumed_ask_for_no_companion() -> None:
    changed = tables()
    change("wheels", 1, filename=VISION.replace("cu126", "cu118"), subdir="cu118")(changed)
    changed["torch"][0]["evidence"] = "assumed"
    assert not [note for note in notes(changed) if note[0] == "unseen-companion"]


def test_with_a_table_missing_nothing_is_noted() -> None:
    for name in ("torch", "gpus", "libraries"):
        assert note_matrices({table: rows for table, rows in tables().items() if table != name}) == ()


# a matrix that shrank


def shrinking(made: Tables) -> list[tuple[str, str]]:
    return [(fault.table, fault.message) for fault in shrunk(made, manifest_rows(tables()))]


def test_a_table_with_fewer_rows_than_the_manifest_counts_is_found() -> None:
    changed = tables()
    changed["cuda"].pop()
    assert shrinking(changed) == [("cuda", "shrank from 6 to 5 rows")]


def test_as_many_rows_and_others_are_found() -> None:
    changed = tables()
    changed["gpus"][0]["name"] = "NVIDIA H200"
    assert shrinking(changed) == [("gpus", "has 1 rows as before, and they are others")]


def test_changed_fields_and_more_rows_are_no_shrinking() -> None:
    changed = tables()
    changed["torch"][0]["pythons"] = ["cp313"]
    again("gpus", 0, name="NVIDIA H200")(changed)
    assert shrinking(changed) == []


def test_a_table_that_the_manifest_does_not_count_and_a_garbled_entry_are_found() -> None:
    made = {"gpus": tables()["gpus"]}
    for entry in (3, None, {}, {"table": "gpus"}, {"table": "gpus", "count": "1", "keys": ""}):
        assert [fault.table for fault in shrunk(made, [entry])] == ["manifest", "manifest"]


def test_a_manifest_is_brought_up_to_date_table_by_table() -> None:
    before = manifest_rows(tables())
    changed = tables()
    changed["cuda"].pop()
    after = updated(before, {"cuda": changed["cuda"]})
    assert list(shrunk(changed, after)) == []
    assert [row["table"] for row in after] == sorted(tables())


def test_every_row_that_another_copy_has_besides_is_named() -> None:
    changed = tables()
    changed["cuda"].pop(1)
    changed["gpus"] = []
    results = [(fault.table, fault.row_key) for fault in vanished(tables(), changed, "old")]
    assert results == [("cuda", "family 12"), ("gpus", "NVIDIA H100 9.0")]
    assert list(vanished(changed, tables(), "old")) == []


def test_an_older_copy_need_not_have_the_fields_of_today() -> None:
    older = tables()
    for row in older["companions"][:2]:
        del row["basis"]
    assert list(vanished(older, tables(), "old")) == []


@pytest.mark.parametrize("row", [None, 3, {}, {"kind": "release"}])
def test_a_copy_with_a_garbled_row_is_refused(row: Any) -> None:
    with pytest.raises(ValueError, match="row 1 of cuda"):
        list(vanished({"cuda": [row]}, tables(), "old"))


def test_a_table_of_the_matrices_is_shown() -> None:
    assert "cudnn" in {row["library"] for row in show_matrix("libraries")}


@pytest.mark.parametrize("table", ["gpu", "wheels", "", "../torch", "TORCH"])
def test_an_unknown_table_is_refused_with_the_known_ones(table: str) -> None:
    with pytest.raises(UsageError) as caught:
        show_matrix(table)
    assert caught.value.code == "unknown-table"
    assert "`known-bad`" in caught.value.fixes[-1].text


def test_a_misspelt_table_is_answered_with_the_command_that_was_meant() -> None:
    with pytest.raises(UsageError) as caught:
        show_matrix("gpu")
    assert caught.value.fixes[0].command == "gpuenv matrix show gpus"
