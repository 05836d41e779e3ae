"""`mirrors use` changes the keys it owns and nothing else; `mirrors reset` brings back every byte."""

from __future__ import annotations

import configparser
import json
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from config_samples import CONDA, PIP, SAMPLES, UV
from ruamel.yaml import YAML

from gpuenv.mirrors.settings import UseOptions
from gpuenv.mirrors.use import apply_reset, apply_use, plan_reset, plan_use
from gpuenv.model.errors import UsageError
from gpuenv.model.mirror import Tool

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TUNA = "https://mirrors.tuna.tsinghua.edu.cn/pypi/web/simple"
NAMES = {"pip": ".config/pip/pip.conf", "uv": ".config/uv/uv.toml", "conda": ".condarc"}


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    monkeypatch.chdir(home / "work")
    monkeypatch.setenv("HOME", str(home))
    return {"HOME": str(home), "GPUENV_DATA_DIR": str(tmp_path / "gpuenv"), "PATH": ""}


def file_of(tool: str, environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) / NAMES[tool]


def put(tool: str, content: bytes | None, environ: Mapping[str, str]) -> Path:
    path = file_of(tool, environ)
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return path


def use(name: str, tool: Tool, environ: Mapping[str, str]) -> None:
    apply_use(plan_use(name, UseOptions((tool,)), environ), environ)


def reset(environ: Mapping[str, str]) -> None:
    apply_reset(plan_reset((), environ), environ)


def tree(environ: Mapping[str, str]) -> dict[str, bytes | None]:
    home = Path(environ["HOME"])
    return {
        str(path.relative_to(home)): path.read_bytes() if path.is_file() else None for path in home.rglob("*")
    }


def read_as_the_tool_does(tool: str, content: bytes) -> Any:
    """All that a file says, by the parser that its tool uses."""
    text = content.decode("utf-8-sig")
    if tool == "pip":
        parser = configparser.RawConfigParser()
        parser.read_string(text)
        return {(s, o.replace("_", "-")): v for s in parser.sections() for o, v in parser.items(s)}
    return tomllib.loads(text) if tool == "uv" else YAML(typ="safe", pure=True).load(text) or {}


@pytest.mark.parametrize(("tool", "name", "content"), SAMPLES, ids=lambda value: str(value)[:30])
def test_use_and_reset_leave_every_byte_as_it_was(
    tool: Tool, name: str, content: bytes | None, environ: dict[str, str]
) -> None:
    put(tool, content, environ)
    before = tree(environ)
    use("tuna", tool, environ)
    assert tree(environ) != before
    reset(environ)
    assert tree(environ) == before


@pytest.mark.parametrize(("tool", "name", "content"), SAMPLES, ids=lambda value: str(value)[:30])
def test_using_two_mirrors_after_each_other_is_undone_at_once(
    tool: Tool, name: str, content: bytes | None, environ: dict[str, str]
) -> None:
    put(tool, content, environ)
    before = tree(environ)
    use("tuna", tool, environ)
    use("bfsu", tool, environ)
    reset(environ)
    assert tree(environ) == before
    assert plan_reset((), environ).changes == ()


@pytest.mark.parametrize("name", PIP)
def test_pip_reads_the_mirror_and_all_else_as_before(name: str, environ: dict[str, str]) -> None:
    path = put("pip", PIP[name], environ)
    before = read_as_the_tool_does("pip", PIP[name] or b"")
    use("tuna", "pip", environ)
    after = read_as_the_tool_does("pip", path.read_bytes())
    assert (
        after[("install", "index-url") if ("install", "index-url") in after else ("global", "index-url")]
        == TUNA
    )
    assert after["global", "index-url"] == TUNA
    assert {key: value for key, value in after.items() if key[1] != "index-url"} == {
        key: value for key, value in before.items() if key[1] != "index-url"
    }


@pytest.mark.parametrize("name", UV)
def test_uv_reads_the_mirror_and_all_else_as_before(name: str, environ: dict[str, str]) -> None:
    path = put("uv", UV[name], environ)
    before = read_as_the_tool_does("uv", UV[name] or b"")
    use("tuna", "uv", environ)
    after = read_as_the_tool_does("uv", path.read_bytes())
    defaults = [item["url"] for item in after.get("index", []) if item.get("default")]
    assert (defaults or [after["index-url"]]) == [TUNA]
    owned = ("index", "index-url")
    assert {k: v for k, v in after.items() if k not in owned} == {
        k: v for k, v in before.items() if k not in owned
    }
    others = [item for item in after.get("index", []) if not item.get("default")]
    assert others == [item for item in before.get("index", []) if not item.get("default")]


@pytest.mark.parametrize("name", CONDA)
def test_conda_reads_the_mirror_and_all_else_as_before(name: str, environ: dict[str, str]) -> None:
    path = put("conda", CONDA[name], environ)
    before = read_as_the_tool_does("conda", CONDA[name] or b"")
    use("bfsu", "conda", environ)
    after = read_as_the_tool_does("conda", path.read_bytes())
    root = "https://mirrors.bfsu.edu.cn/anaconda"
    assert after["default_channels"][0] == f"{root}/pkgs/main"
    assert after["custom_channels"]["conda-forge"] == f"{root}/cloud"
    assert after["show_channel_urls"] is True
    assert after.get("channel_alias") == before.get("channel_alias")
    owned = {"default_channels", "custom_channels", "show_channel_urls", "repodata_use_shards"}
    assert {k: v for k, v in after.items() if k not in owned} == {
        k: v for k, v in before.items() if k not in owned
    }
    kept = {k: v for k, v in (before.get("custom_channels") or {}).items() if "tuna" not in v}
    for channel in kept.keys() - {"conda-forge", "pytorch"}:
        assert after["custom_channels"][channel] == kept[channel]


@pytest.mark.parametrize("tool", ["pip", "uv", "conda"])
def test_comments_of_other_lines_stay_where_they_are(tool: Tool, environ: dict[str, str]) -> None:
    samples = {
        "pip": PIP["comments everywhere"],
        "uv": UV["a default index"],
        "conda": CONDA["comments everywhere"],
    }
    content = samples[tool]
    path = put(tool, content, environ)
    use("tuna", tool, environ)
    comments = [line.strip() for line in (content or b"").splitlines() if line.strip()[:1] in (b"#", b";")]
    assert [line for line in path.read_bytes().splitlines() if line.strip() in comments]
    assert all(comment in path.read_bytes() for comment in comments)


def test_after_an_edit_only_the_own_keys_go_back(environ: dict[str, str]) -> None:
    path = put("pip", b"[global]\nindex-url = https://old.example/simple\n", environ)
    use("tuna", "pip", environ)
    path.write_bytes(path.read_bytes() + b"timeout = 5\n# mine\n")
    reset(environ)
    assert path.read_bytes() == b"[global]\nindex-url = https://old.example/simple\ntimeout = 5\n# mine\n"


def test_a_key_that_was_changed_by_hand_stays_and_is_told(environ: dict[str, str]) -> None:
    path = put("pip", b"[global]\nindex-url = https://old.example/simple\n", environ)
    use("tuna", "pip", environ)
    path.write_bytes(b"[global]\nindex-url = https://mine.example/simple\n")
    (change,) = plan_reset((), environ).changes
    assert change.left == ("global.index-url",)
    reset(environ)
    assert path.read_bytes() == b"[global]\nindex-url = https://mine.example/simple\n"


def test_a_file_that_was_removed_by_hand_is_not_made_again(environ: dict[str, str]) -> None:
    path = put("pip", b"[global]\ntimeout = 5\n", environ)
    use("tuna", "pip", environ)
    path.unlink()
    reset(environ)
    assert not path.exists()
    assert plan_reset((), environ).changes == ()


def test_the_mode_and_the_link_of_a_file_stay(environ: dict[str, str], tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.conf"
    real.write_bytes(b"[global]\n")
    real.chmod(0o600)
    path = file_of("pip", environ)
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    use("tuna", "pip", environ)
    assert path.is_symlink()
    assert TUNA.encode() in real.read_bytes()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    reset(environ)
    assert path.is_symlink()
    assert real.read_bytes() == b"[global]\n"


@pytest.mark.parametrize(
    ("tool", "content"),
    [
        ("pip", b"index-url = https://a.example\n"),
        ("pip", b"[global]\nindex-url=a\nindex-url=b\n"),
        ("pip", b"\xff\xfe[global]"),
        ("uv", b"[[index]\n"),
        ("uv", b"a = 1\na = 2\n"),
        ("uv", b"index = 1\n"),
        ("conda", b"channels: [\n"),
        ("conda", b"- a\n"),
        ("conda", b"a: 1\na: 2\n"),
        ("conda", b"custom_channels: [a]\n"),
    ],
)
def test_a_file_that_its_tool_cannot_read_is_named_and_left_alone(
    tool: Tool, content: bytes, environ: dict[str, str]
) -> None:
    path = put(tool, content, environ)
    with pytest.raises(UsageError) as raised:
        use("tuna", tool, environ)
    assert str(path) in raised.value.message
    assert path.read_bytes() == content
    assert plan_reset((), environ).changes == ()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_is_named_and_no_other_is_written(environ: dict[str, str]) -> None:
    put("pip", b"[global]\n", environ)
    path = put("uv", b"", environ)
    path.chmod(0o400)
    before = tree(environ)
    planned = plan_use("tuna", UseOptions(("pip", "uv")), environ)
    with pytest.raises(UsageError, match="read-only"):
        apply_use(planned, environ)
    assert tree(environ) == before


def test_where_one_file_cannot_be_written_the_others_are_as_before(environ: dict[str, str]) -> None:
    put("pip", b"[global]\n", environ)
    planned = plan_use("tuna", UseOptions(("pip", "uv")), environ)
    (Path(environ["HOME"]) / ".config" / "uv").write_text("a file where a folder should be", encoding="utf-8")
    before = tree(environ)
    with pytest.raises(UsageError):
        apply_use(planned, environ)
    assert tree(environ) == before
    assert plan_reset((), environ).changes == ()


def test_a_file_that_changes_between_the_look_and_the_write_is_not_overwritten(
    environ: dict[str, str],
) -> None:
    path = put("pip", b"[global]\n", environ)
    planned = plan_use("tuna", UseOptions(("pip",)), environ)
    path.write_bytes(b"[global]\ntimeout = 1\n")
    with pytest.raises(UsageError, match="changed while"):
        apply_use(planned, environ)
    assert path.read_bytes() == b"[global]\ntimeout = 1\n"


@pytest.mark.parametrize(("name", "code"), [("douban", "mirror-retired"), ("nope", "unknown-mirror")])
def test_a_mirror_that_cannot_be_used_is_refused(name: str, code: str, environ: dict[str, str]) -> None:
    with pytest.raises(UsageError) as raised:
        plan_use(name, UseOptions(), environ)
    assert raised.value.code == code


def test_a_mirror_without_the_part_names_those_that_have_it(environ: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="conda") as raised:
        plan_use("hust", UseOptions(("conda",)), environ)
    assert "tuna" in raised.value.fixes[0].text


def test_plain_http_is_taken_by_name_only_and_never_trusted(environ: dict[str, str]) -> None:
    address = "http://mirror.example/simple"
    with pytest.raises(UsageError, match="not encrypted"):
        plan_use(address, UseOptions(("pip",)), environ)
    planned = plan_use(address, UseOptions(("pip",), insecure="mirror.example"), environ)
    assert b"trusted-host" not in (planned.changes[0].after or b"")


def test_official_takes_the_default_index_out(environ: dict[str, str]) -> None:
    path = put("pip", b"[global]\nindex-url = https://old.example/simple\ntimeout = 9\n", environ)
    use("official", "pip", environ)
    assert path.read_bytes() == b"[global]\ntimeout = 9\n"


def test_what_goes_before_the_file_is_told(environ: dict[str, str]) -> None:
    environ |= {"PIP_INDEX_URL": "https://x.example/simple", "UV_DEFAULT_INDEX": "https://y.example/simple"}
    Path("uv.toml").write_text('[[index]]\nurl = "https://z.example"\ndefault = true\n', encoding="utf-8")
    prefix = Path(environ["HOME"]) / "env"
    prefix.mkdir()
    (prefix / "pip.conf").write_text("[global]\nindex-url = https://v.example/simple\n", encoding="utf-8")
    environ["VIRTUAL_ENV"] = str(prefix)
    message = " ".join(
        warning.message for warning in plan_use("tuna", UseOptions(("pip", "uv")), environ).warnings
    )
    for word in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", str(prefix / "pip.conf"), "uv.toml"):
        assert word in message


def test_an_active_environment_has_a_file_of_its_own(environ: dict[str, str]) -> None:
    prefix = Path(environ["HOME"]) / "env"
    prefix.mkdir()
    environ["VIRTUAL_ENV"] = str(prefix)
    planned = plan_use("tuna", UseOptions(("pip",), "environment"), environ)
    assert [change.path for change in planned.changes] == [prefix / "pip.conf"]
    with pytest.raises(UsageError, match="scope"):
        plan_use("tuna", UseOptions(("uv",), "environment"), environ)


def test_conda_is_left_alone_where_it_is_not(environ: dict[str, str]) -> None:
    assert {change.tool for change in plan_use("tuna", UseOptions(), environ).changes} == {"pip", "uv"}
    put("conda", b"channels: [defaults]\n", environ)
    assert {change.tool for change in plan_use("tuna", UseOptions(), environ).changes} == {
        "pip",
        "uv",
        "conda",
    }


@pytest.mark.parametrize(
    "change",
    [
        "{",
        "",
        "[1]",
        {"schema_version": 2},
        {"tool": "poetry"},
        {"path": "a\0b"},
        {"path": ""},
        {"path": "pip.conf"},
        {"settings": [["global.index-url", None]]},
        {"settings": None},
        {"settings": [["global.index-url", None, {"a": 1}]]},
        {"settings": [["global.index-url", 3, "https://a.example"]]},
        {"original": "no base64"},
        {"written": None},
        {"folders": ["a\0b"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("command", ["reset", "use"])
def test_what_was_kept_and_is_garbled_is_told(
    change: str | dict[str, Any], command: str, environ: dict[str, str]
) -> None:
    path = put("pip", b"[global]\n", environ)
    use("tuna", "pip", environ)
    before = path.read_bytes()
    (entry,) = Path(environ["GPUENV_DATA_DIR"]).rglob("settings/*.json")
    kept = json.loads(entry.read_text(encoding="utf-8"))
    entry.write_text(change if isinstance(change, str) else json.dumps(kept | change), encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be read") as raised:
        reset(environ) if command == "reset" else use("nju", "pip", environ)
    assert raised.value.code == "journal-unreadable"
    assert str(entry) in raised.value.message
    assert raised.value.fixes
    assert path.read_bytes() == before


def test_an_entry_that_is_no_file_is_told(environ: dict[str, str]) -> None:
    (Path(environ["GPUENV_DATA_DIR"]) / "settings" / "x.json").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"x\.json"):
        plan_reset((), environ)


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text there")
def test_a_home_whose_name_is_no_text_is_brought_back_too(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.fsdecode(os.fsencode(environ["HOME"]) + b"-\xff"))
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    environ["HOME"] = str(home)
    path = put("pip", b"[global]\ntimeout = 9\n", environ)
    use("tuna", "pip", environ)
    assert TUNA.encode() in path.read_bytes()
    reset(environ)
    assert path.read_bytes() == b"[global]\ntimeout = 9\n"


@pytest.mark.parametrize("url", ["https://[x", "http://", "https:///simple", "https://mirror.example:port/s"])
def test_what_is_no_address_is_not_written(url: str, environ: dict[str, str]) -> None:
    with pytest.raises(UsageError) as raised:
        plan_use(url, UseOptions(), environ)
    assert raised.value.code == "bad-address"
    assert raised.value.fixes


def test_an_address_known_to_be_wrong_is_put_right_before_it_is_written(environ: dict[str, str]) -> None:
    use("https://mirrors.tuna.tsinghua.edu.cn/pypi/simple/", "pip", environ)
    assert TUNA.encode() in file_of("pip", environ).read_bytes()


@pytest.mark.parametrize(
    "name", ["douban", "https://pypi.douban.com/simple", "http://pypi.doubanio.com/simple/"]
)
def test_a_mirror_that_has_been_shut_down_is_not_written_by_any_name(
    name: str, environ: dict[str, str]
) -> None:
    with pytest.raises(UsageError, match="`douban` has been shut down") as raised:
        plan_use(name, UseOptions(), environ)
    assert raised.value.code == "mirror-retired"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tool = 3\n", False),
        ("[tool]\nuv = 'x'\n", False),
        ("[tool.uv]\nindex = 'x'\n", False),
        ("[[tool.uv.index]]\nurl = 'https://z.example'\n", True),
        ("[tool.uv]\nindex-url = 'https://z.example'\n", True),
        ("[tool.ruff]\n", False),
        ("[[tool", False),
    ],
)
def test_a_project_near_by_is_told_where_it_names_an_index(
    text: str, *, told: bool, environ: dict[str, str]
) -> None:
    Path("pyproject.toml").write_text(text, encoding="utf-8")
    warnings = plan_use("tuna", UseOptions(("uv",)), environ).warnings
    assert any("pyproject.toml" in warning.message for warning in warnings) is told


def test_a_variable_that_goes_before_is_told_without_its_password(environ: dict[str, str]) -> None:
    environ["PIP_INDEX_URL"] = "https://ada:secret@own.example/simple"
    (warning,) = plan_use("tuna", UseOptions(("pip",)), environ).warnings
    assert "own.example" in warning.message
    assert "secret" not in warning.message
