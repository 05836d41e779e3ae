"""Where the default index has its files is read from pip itself, or not at all."""

from __future__ import annotations

import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.indexes.configuration import installer_default as installer
from gpuenv.indexes.configuration.installer_default import default_file_host, parse_file_host

SOURCE = """
PyPI = PackageIndex("https://index.example.com/", file_storage_domain="files.example.com")
TestPyPI = PackageIndex(
    "https://test.example.com/", file_storage_domain="test-files.example.com"
)
"""


def test_the_host_is_read_from_pips_source() -> None:
    assert parse_file_host(SOURCE) == "files.example.com"
    assert parse_file_host(SOURCE.partition("TestPyPI")[1]) is None
    assert parse_file_host(SOURCE.replace('"', "'").replace("(", "(\n    ")) == "files.example.com"


@given(st.text() | st.text().map(lambda text: SOURCE.replace("files", text)))
def test_any_text_has_a_host_or_none(text: str) -> None:
    host = parse_file_host(text)
    assert host is None or not set(host) & set("/:@\"' \n")


def test_the_pip_that_python_keeps_is_asked_where_none_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled = tmp_path / "ensurepip" / "_bundled"
    bundled.mkdir(parents=True)
    (bundled / "pip-1-py3-none-any.whl").write_bytes(b"no wheel")
    with ZipFile(bundled / "pip-26.1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("pip/_internal/models/index.py", SOURCE)
    for name in ("pip", "pip._internal", "pip._internal.models", "pip._internal.models.index"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    assert default_file_host() == "files.example.com"
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path / "none"))
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _: None)
    assert default_file_host() is None


@pytest.mark.skipif(find_spec("pip") is None, reason="no pip is here")
def test_pips_own_source_has_it_as_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = find_spec("pip")
    assert spec is not None
    assert spec.origin is not None
    text = (Path(spec.origin).parent / "_internal" / "models" / "index.py").read_text(encoding="utf-8")
    assert parse_file_host(text) == default_file_host()
    assert installer.default_file_host is default_file_host
