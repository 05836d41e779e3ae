"""What is kept of a changed file is read back as it was written, and nothing else is read."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuenv.mirrors.undo_journal import SavedFile, forget, keep, load, load_all, parse_kept

HERE = Path(__file__).parent
ENTRY: dict[str, Any] = {
    "schema_version": 1, "path": str(HERE / "pip.conf"), "tool": "pip", "mirror": "tuna",
    "when": "2026-11-21T07:00:00+00:00", "original": "W2dsb2JhbF0K", "written": "ab" * 32,
    "settings": [["global.index-url", None, "https://a.example/simple"]], "folders": [str(HERE)],
}  # fmt: skip
KEPT = SavedFile(
    HERE / "pip.conf", "pip", "tuna", "2026-11-21T07:00:00+00:00", b"[global]\n", "ab" * 32,
    (("global.index-url", None, "https://a.example/simple"),), (HERE,),
)  # fmt: skip
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def test_an_entry_is_read() -> None:
    assert parse_kept(ENTRY) == KEPT
    assert parse_kept({**ENTRY, "original": None}).original is None


@given(st.binary(max_size=60) | st.none(), st.text(max_size=10), JSON, JSON)
def test_what_is_kept_is_read_back(original: bytes | None, name: str, before: Any, after: Any) -> None:
    kept = replace(
        KEPT, tool="conda", original=original, mirror=name, settings=(("channels", before, after),)
    )
    with TemporaryDirectory() as folder:
        directory = Path(folder) / "settings"
        keep(directory, kept)
        assert load(directory, kept.path) == kept
        assert load_all(directory) == (kept,)
        forget(directory, kept.path)
        assert load(directory, kept.path) is None
        assert load_all(directory) == ()


@pytest.mark.parametrize("field", list(ENTRY))
def test_an_entry_that_lacks_a_field_is_a_value_error(field: str) -> None:
    with pytest.raises(ValueError, match=r"is incomplete|no "):
        parse_kept({name: value for name, value in ENTRY.items() if name != field})


@given(JSON)
def test_any_document_is_read_or_a_value_error(document: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_kept(json.loads(json.dumps(document)))


@given(st.sampled_from(sorted(ENTRY)), JSON)
def test_any_value_in_any_field_is_read_or_a_value_error(field: str, value: Any) -> None:
    try:
        kept = parse_kept({**ENTRY, field: value})
    except ValueError:
        return
    assert kept.path.is_absolute()
    assert kept.tool in ("pip", "uv", "conda")
    assert all(folder.is_absolute() for folder in kept.folders)
    assert all(side is None or isinstance(side, str) for _, *both in kept.settings for side in both)
