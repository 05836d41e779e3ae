"""What an environment's conda-meta tells."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.environments.conda.meta import installed_names, parse_record, read_record
from gpuenv.environments.conda.package_cache import Downloads
from gpuenv.model.conda import CondaRecord


def a_record(**changes: object) -> CondaRecord:
    url = "https://x.example/conda-forge/linux-64/pytorch-2.8.0-cuda.conda"
    settings: dict[str, object] = {
        "name": "pytorch", "version": "2.8.0", "build": "cuda", "build_number": 0, "subdir": "linux-64",
        "channel": "conda-forge", "filename": "pytorch-2.8.0-cuda.conda", "url": url, "size": 100,
    }  # fmt: skip
    return CondaRecord(**{**settings, **changes})  # type: ignore[arg-type]


def test_names_with_dashes_are_read_from_the_names_of_files(tmp_path: Path) -> None:
    (tmp_path / "conda-meta").mkdir()
    for name in (
        "cuda-version-12.8-h0_3.json",
        "pytorch-2.8.0-cuda129_mkl_py311_h1_301.json",
        "history",
        "x.json",
    ):
        (tmp_path / "conda-meta" / name).touch()
    records = installed_names(tmp_path)
    assert {(record.name, record.version, record.build) for record in records.values()} == {
        ("cuda-version", "12.8", "h0_3"), ("pytorch", "2.8.0", "cuda129_mkl_py311_h1_301"),
    }  # fmt: skip
    assert installed_names(tmp_path / "nowhere") == {}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "pytorch"}', '{"name": 1}', "\x00"])
def test_a_broken_record_is_a_value_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta" / "pytorch-2.8.0-cuda.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"pytorch-2\.8\.0"):
        read_record(tmp_path, a_record())


@given(st.text())
def test_any_text_is_a_record_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        parse_record(text)


@pytest.mark.parametrize(
    ("path", "size", "there"),
    [
        ("pytorch-2.8.0-cuda.conda", 100, 100),
        ("pytorch-2.8.0-cuda.conda.part", 40, 40),
        ("pytorch-2.8.0-cuda.conda.partial", 41, 41),
        ("pytorch-2.8.0-cuda.conda", 1000, 100),
        ("https/x.example/conda-forge/linux-64/pytorch-2.8.0-cuda.conda.part", 7, 7),
        ("pytorch-2.8.0-cuda/info", 1, 100),
        ("other.conda", 9, 0),
    ],
)
def test_a_download_is_measured_wherever_a_tool_collects_it(
    tmp_path: Path, path: str, size: int, there: int
) -> None:
    downloads = Downloads((a_record(),), (tmp_path / "none", tmp_path))
    assert downloads.received() == 0
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x" * size)
    assert downloads.received() == there


def test_nothing_is_there_without_a_cache() -> None:
    assert Downloads((a_record(), a_record(size=None)), ()).received() == 0
