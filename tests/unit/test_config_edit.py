"""Edits of configuration files: what is set is read back, and what else the file says stays."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from config_samples import SAMPLES
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.config_edit import condarc, pip_conf, uv_toml

FORMATS: dict[str, ModuleType] = {"pip": pip_conf, "uv": uv_toml, "conda": condarc}
URL = "https://mirror.example/simple"
WANTED: dict[str, dict[str, Any]] = {
    "pip": {"global.index-url": URL},
    "uv": {uv_toml.DEFAULT: URL},
    "conda": {"show_channel_urls": True, "default_channels": [URL], "custom_channels.pytorch": URL},
}
TEXTS = [(tool, (content or b"").decode()) for tool, _, content in SAMPLES]


@pytest.mark.parametrize(("tool", "text"), TEXTS, ids=lambda text: repr(text)[:20])
def test_writing_twice_is_writing_once(tool: str, text: str) -> None:
    once = FORMATS[tool].write_settings(text, WANTED[tool])
    assert FORMATS[tool].write_settings(once, WANTED[tool]) == once


@pytest.mark.parametrize(("tool", "text"), TEXTS, ids=lambda text: repr(text)[:20])
def test_putting_the_old_values_back_says_what_it_said(tool: str, text: str) -> None:
    form = FORMATS[tool]
    before = form.read_settings(text)
    changed = form.write_settings(text, WANTED[tool])
    back = form.write_settings(changed, {key: before.get(key) for key in WANTED[tool]})
    after = form.read_settings(back)
    assert {key: after.get(key) for key in WANTED[tool]} == {key: before.get(key) for key in WANTED[tool]}


@pytest.mark.parametrize(("tool", "text"), TEXTS, ids=lambda text: repr(text)[:20])
def test_line_ends_stay_of_one_kind(tool: str, text: str) -> None:
    changed = FORMATS[tool].write_settings(text, WANTED[tool])
    if "\r\n" in text:
        assert changed.count("\n") == changed.count("\r\n")
    else:
        assert "\r" not in changed


_LINE = st.sampled_from(
    [
        "[global]", "[install]", "index-url = https://a.example", "index-url=", "  https://b.example",
        "# c", "; d", "", "timeout: 5", "extra-index-url =", "\thttps://c.example", " ",
        "[list]", "format = columns",
    ]
)  # fmt: skip


@given(st.lists(_LINE, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_pip_files_change_in_one_key_or_are_refused(lines: list[str], end: str, ended: bool) -> None:
    text = end.join(lines) + (end if ended else "")
    try:
        before = pip_conf.read_settings(text)
        changed = pip_conf.write_settings(text, WANTED["pip"])
    except ValueError:
        return
    after = pip_conf.read_settings(changed)
    assert after == {**before, "global.index-url": URL}
    comments = [line for line in lines if line.startswith(("#", ";"))]
    assert [line for line in changed.splitlines() if line.startswith(("#", ";"))] == comments


_YAML_LINE = st.sampled_from(
    [
        "channels:", "  - conda-forge", "- defaults", "# c", "", "show_channel_urls: no",
        "ssl_verify: true # d",
        "custom_channels:", "  lab: https://lab.example", "  pytorch: 'https://old.example'  # e",
        "default_channels: []", "default_channels:", "custom_channels: {}", "---",
    ]
)  # fmt: skip


@given(st.lists(_YAML_LINE, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_condarcs_change_in_the_keys_alone_or_are_refused(lines: list[str], end: str, ended: bool) -> None:
    text = end.join(lines) + (end if ended else "")
    try:
        before = condarc.read_settings(text)
        changed = condarc.write_settings(text, WANTED["conda"])
    except ValueError:
        return
    assert condarc.read_settings(changed) == {**before, **WANTED["conda"]}


_TOML_LINE = st.sampled_from(
    [
        "[[index]]", "url = 'https://a.example'", "default = true", "name = 'b'", "[pip]",
        "offline = false", "", "# c", "index-url = 'https://c.example'",
        "index = [{url = 'https://d.example', default = true}]",
        "index = []", "[[index]] # d",
    ]
)  # fmt: skip


@given(st.lists(_TOML_LINE, max_size=10), st.sampled_from(["\n", "\r\n"]))
def test_uv_files_change_in_the_default_index_alone_or_are_refused(lines: list[str], end: str) -> None:
    text = end.join(lines)
    try:
        uv_toml.read_settings(text)
        changed = uv_toml.write_settings(text, WANTED["uv"])
    except ValueError:
        return
    assert uv_toml.read_settings(changed)[uv_toml.DEFAULT] == URL


@given(st.sampled_from(list(FORMATS)), st.text(max_size=60))
def test_any_text_is_changed_or_refused(tool: str, text: str) -> None:
    try:
        changed = FORMATS[tool].write_settings(text, WANTED[tool])
    except ValueError:
        return
    settings = FORMATS[tool].read_settings(changed)
    assert all(settings[key] == value for key, value in WANTED[tool].items())
