"""What people rely on goes on working: passwords in netrc, in their own configuration, links on shares."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from guarded_index import LOGIN, PASSWORD, USER, with_login, write
from index_server import IndexServer
from running import Program
from tiny_wheels import tiny_wheel

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
CPU = ("--cuda", "cpu", "--python", PYTHON)


def in_netrc(path: Path) -> Path:
    return write(path, f"machine 127.0.0.1 login {USER} password {PASSWORD}\n")


def _home_netrc(program: Program, index: IndexServer) -> Program:
    in_netrc(program.home / ".netrc")
    return program.with_(PIP_INDEX_URL=index.pypi, UV_DEFAULT_INDEX=index.pypi)


def _named_netrc(program: Program, index: IndexServer) -> Program:
    file = in_netrc(program.root / "logins")
    return program.with_(PIP_INDEX_URL=index.pypi, UV_DEFAULT_INDEX=index.pypi, NETRC=str(file))


def _home_pip(program: Program, index: IndexServer) -> Program:
    write(program.home / ".config/pip/pip.conf", f"[global]\nindex-url = {with_login(index.pypi)}\n")
    return program.with_(PIP_CONFIG_FILE=None)


def _named_pip(program: Program, index: IndexServer) -> Program:
    file = write(program.root / "lab.conf", f"[global]\nindex-url = {with_login(index.pypi)}\n")
    return program.with_(PIP_CONFIG_FILE=str(file))


def _system_pip(program: Program, index: IndexServer) -> Program:
    write(program.root / "etc/pip/pip.conf", f"[global]\nindex-url = {with_login(index.pypi)}\n", 0o644)
    return program.with_(PIP_CONFIG_FILE=None)


def _home_uv(program: Program, index: IndexServer) -> Program:
    text = f'[[index]]\nurl = "{with_login(index.pypi)}"\ndefault = true\n'
    write(program.home / ".config/uv/uv.toml", text)
    return program


def _system_uv(program: Program, index: IndexServer) -> Program:
    text = f'[[index]]\nurl = "{with_login(index.pypi)}"\ndefault = true\n'
    write(program.root / "etc/uv/uv.toml", text, 0o644)
    return program


def _uv_variables(program: Program, index: IndexServer) -> Program:
    text = f'[[index]]\nname = "inner"\nurl = "{index.pypi}"\ndefault = true\n'
    write(program.home / ".config/uv/uv.toml", text)
    return program.with_(UV_INDEX_INNER_USERNAME=USER, UV_INDEX_INNER_PASSWORD=PASSWORD)


WAYS: dict[str, tuple[str, Callable[[Program, IndexServer], Program]]] = {
    "~/.netrc with uv": ("uv", _home_netrc),
    "~/.netrc with pip": ("pip", _home_netrc),
    "NETRC with uv": ("uv", _named_netrc),
    "NETRC with pip": ("pip", _named_netrc),
    "pip.conf": ("pip", _home_pip),
    "PIP_CONFIG_FILE": ("pip", _named_pip),
    "pip.conf of the system": ("pip", _system_pip),
    "uv.toml": ("uv", _home_uv),
    "uv.toml of the system": ("uv", _system_uv),
    "UV_INDEX_NAME_PASSWORD": ("uv", _uv_variables),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_index_with_a_password_is_read_and_resolved(
    program: Program, guarded: IndexServer, way: str
) -> None:
    manager, configure = WAYS[way]
    if manager == "pip":
        pytest.importorskip("ensurepip")
    program = configure(program, guarded)
    torch = with_login(f"{guarded.pytorch}/cpu/torch/")
    words = ("torch==2.14.1", "mylib", *CPU, "--find-links", torch, "--manager", manager, "--json")
    done = program.run("plan", *words, "--format", "json")
    assert done.status == 0, (done.out, done.err)
    assert done.torch == "2.14.1+cpu"
    assert LOGIN not in done.out + done.err


@pytest.mark.parametrize("form", ["path", "file://", "UV_FIND_LINKS", "pip.conf"])
def test_wheels_on_a_share_are_found(
    program: Program, guarded: IndexServer, tmp_path: Path, form: str
) -> None:
    share = tmp_path / "srv" / "our wheels"
    share.mkdir(parents=True)
    tiny_wheel(share, "labtool", "1.0")
    mirrors = ("--mirror", with_login(guarded.pytorch), "--mirror", with_login(guarded.pypi))
    words: tuple[str, ...] = ("torch==2.14.1", "labtool", *CPU, *mirrors)
    if form == "UV_FIND_LINKS":
        program = program.with_(UV_FIND_LINKS=str(share))
    elif form == "pip.conf":
        write(program.home / ".config/pip/pip.conf", f"[global]\nfind-links = {share.as_uri()}\n", 0o644)
        program = program.with_(PIP_CONFIG_FILE=None)
        words += ("--manager", "pip")
    else:
        words += ("--find-links", str(share) if form == "path" else share.as_uri())
    done = program.run("plan", *words, "--format", "pylock.toml")
    assert done.status == 0, (done.out, done.err)
    assert "labtool" in done.out
