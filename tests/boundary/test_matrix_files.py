"""What `matrix check` and `matrix show` say of absent and garbled files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sampling import every

import gpuenv
from gpuenv.matrix.show import check_matrix
from gpuenv.model.errors import UsageError

PACKAGE = Path(gpuenv.__file__).parent
MATRICES = Path(__file__).parents[2] / "matrices"
CHECK = """
import json
from gpuenv.model.errors import UsageError
from gpuenv.matrix.show import check_matrix, show_matrix
try:
    shown = len(show_matrix("libraries"))
except UsageError as error:
    shown = [error.code, error.message]
print(json.dumps([[[f.table, f.row_key, f.message] for f in check_matrix().faults], shown]))
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A copy of gpuenv as a wheel lays it out: the matrices beside the code."""
    shutil.copytree(PACKAGE, tmp_path / "gpuenv", ignore=shutil.ignore_patterns("__pycache__", "data"))
    shutil.copytree(MATRICES, tmp_path / "gpuenv" / "matrices" / "data")
    return tmp_path


def ask(installed: Path) -> tuple[list[list[str]], object]:
    environ = os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, "-c", CHECK], env=environ, cwd=installed, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    faults, shown = json.loads(done.stdout)
    return faults, shown


@pytest.mark.slow
def test_whole_files_have_no_faults(installed: Path) -> None:
    rows = json.loads((MATRICES / "libraries.json").read_text(encoding="utf-8"))["rows"]
    assert ask(installed) == ([], len(rows))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    every(
        4,
        (
            (None, "the file cannot be read"),
            (b"", "the file is not valid JSON"),
            (b'{"rows": [', "the file is not valid JSON"),
            (b"\xff\xfe\x00{", "the file is not valid JSON"),
            (b"[]", "the file has no rows"),
            (b"{}", "the file has no rows"),
            (b'{"rows": 3}', "the file has no rows"),
        ),
    ),
)
def test_a_broken_file_is_one_fault_and_no_traceback(
    installed: Path, text: bytes | None, message: str
) -> None:
    path = installed / "gpuenv" / "matrices" / "data" / "libraries.json"
    path.unlink()
    if text is not None:
        path.write_bytes(text)
    ((table, row, report),), shown = ask(installed)
    assert (table, row) == ("libraries", "libraries.json")
    assert report.startswith(message)
    assert shown == ["matrix-unreadable", "the matrix `libraries` cannot be read"]


@pytest.mark.slow
def test_a_wrong_row_is_a_fault_that_names_it(installed: Path) -> None:
    path = installed / "gpuenv" / "matrices" / "data" / "torch.json"
    document = json.loads(path.read_text())
    document["rows"][0]["pythons"] = ["3.12"]
    path.write_text(json.dumps(document))
    (fault,), _ = ask(installed)
    assert fault[:2] == ["torch", "1.0.0 cpu linux-64 pytorch"]


@pytest.mark.slow
def test_a_table_that_lost_a_row_is_found_by_the_manifest(installed: Path) -> None:
    path = installed / "gpuenv" / "matrices" / "data" / "known-bad.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    count = len(document["rows"])
    document["rows"].pop()
    path.write_text(json.dumps(document), encoding="utf-8")
    (fault,), _ = ask(installed)
    assert fault == ["known-bad", "known-bad.json", f"shrank from {count} to {count - 1} rows"]


@pytest.mark.slow
@pytest.mark.parametrize("text", [None, "{", '{"rows": [{"table": "torch"}]}'])
def test_an_absent_or_garbled_manifest_is_a_fault(installed: Path, text: str | None) -> None:
    path = installed / "gpuenv" / "matrices" / "data" / "manifest.json"
    path.unlink()
    if text is not None:
        path.write_text(text)
    faults, _ = ask(installed)
    assert {fault[0] for fault in faults} == {"manifest"}


@pytest.mark.slow
def test_a_build_that_lost_its_row_is_found_by_its_files(installed: Path) -> None:
    path = installed / "gpuenv" / "matrices" / "data" / "torch.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    rows = document["rows"]
    key = ("2.7.0", "cu128", "win-64")
    rows.remove(next(row for row in rows if (row["torch"], row["variant"], row["platform"]) == key))
    path.write_text(json.dumps(document), encoding="utf-8")
    faults, _ = ask(installed)
    assert [fault[0] for fault in faults] == ["torch", "wheels", "dependencies"]
    assert "torch-2.7.0+cu128-cp310" in faults[1][1]


# another copy


def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(MATRICES, tmp_path / "copy"))


@pytest.mark.slow
def test_the_matrices_hold_against_a_copy_of_themselves_and_against_a_part_of_one(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    assert check_matrix(against=copy).faults == ()
    (copy / "wheels.json").unlink()
    assert check_matrix(against=copy).faults == ()


@pytest.mark.slow
def test_a_row_that_a_copy_has_besides_is_named(tmp_path: Path) -> None:
    path = copied(tmp_path) / "torch.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["rows"].append(document["rows"][-1] | {"torch": "9.9.9"})
    path.write_text(json.dumps(document), encoding="utf-8")
    (fault,) = check_matrix(against=path.parent).faults
    assert (fault.table, fault.row_key) == ("torch", "9.9.9 cu132 win-64 pytorch")
    assert fault.message == f"has vanished: `{path.parent}` has it"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [None, "{", '{"rows": 3}', '{"rows": [3]}', '{"rows": [{"torch": "2.7.0"}]}']
)
def test_what_is_no_copy_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "torch.json").write_text(text)
    with pytest.raises(UsageError, match="does not contain a copy") as caught:
        check_matrix(against=tmp_path)
    assert caught.value.code == "no-matrices"
