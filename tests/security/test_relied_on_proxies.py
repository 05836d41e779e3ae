"""A company's proxy is used where it is named, and nobody sees its password."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest
from guarded_index import write
from index_server import IndexServer
from proxy_server import Proxy, serve_proxy
from running import Done, Program
from test_relied_on_servers import Company, serve_company

SECRET = "canary-77aa"
LOGIN = f"ada:{SECRET}"
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
CPU = ("--cuda", "cpu", "--python", PYTHON)
NONE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"))


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with serve_proxy(LOGIN) as answer:
        yield answer


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    with serve_company(tmp_path_factory.mktemp("company")) as answer:
        yield answer


def asked(index: IndexServer) -> tuple[str, ...]:
    return ("torch==2.14.1", "mylib", *CPU, "--mirror", index.pytorch, "--mirror", index.pypi)


def shows_nothing(program: Program, done: Done) -> None:
    assert SECRET not in done.out + done.err
    for folder in ("data", "work", "cache", "tmp"):
        for path in (program.root / folder).rglob("*"):
            assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def _pip(program: Program, proxy: Proxy) -> Program:
    write(program.home / ".config/pip/pip.conf", f"[global]\nproxy = {proxy.url}\n")
    return program.with_(PIP_CONFIG_FILE=None)


def _uv(program: Program, proxy: Proxy) -> Program:
    write(program.home / ".config/uv/uv.toml", f'http-proxy = "{proxy.url}"\nhttps-proxy = "{proxy.url}"\n')
    return program


NAMING: dict[str, Callable[[Program, Proxy], Program]] = {
    "HTTP_PROXY": lambda program, proxy: program.with_(HTTP_PROXY=proxy.url),
    "http_proxy": lambda program, proxy: program.with_(http_proxy=proxy.url),
    "ALL_PROXY": lambda program, proxy: program.with_(ALL_PROXY=proxy.url),
    "all_proxy": lambda program, proxy: program.with_(all_proxy=proxy.url),
    "without a scheme": lambda program, proxy: program.with_(HTTP_PROXY=f"{LOGIN}@{proxy.address}"),
    "proxy of pip.conf": _pip,
    "PIP_PROXY": lambda program, proxy: program.with_(PIP_PROXY=proxy.url),
    "http-proxy of uv.toml": _uv,
}


@pytest.mark.parametrize("way", NAMING)
def test_a_proxy_is_used_for_pages_and_by_the_resolver(
    program: Program, server: IndexServer, proxy: Proxy, way: str
) -> None:
    program = NAMING[way](program.with_(**NONE), proxy)
    proxy.names["index.invalid"] = server.url.removeprefix("http://")
    torch, pypi = "http://index.invalid/whl", "http://index.invalid/simple"
    words = ("torch==2.14.1", "mylib", *CPU, "--mirror", torch, "--mirror", pypi)
    done = program.run("plan", *words, "--json", "-v")
    assert done.status == 0, (done.out, done.err)
    assert done.torch == "2.14.1+cpu"
    pages = "\n".join(proxy.passed)
    assert f"GET {torch}/torch/" in pages
    assert f"GET {pypi}/mylib/" in pages
    shows_nothing(program, done)


@pytest.mark.slow
@pytest.mark.parametrize("manager", ["uv", "pip"])
@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy"])
def test_a_proxy_tunnels_to_servers_with_a_certificate(
    program: Program, company: Company, proxy: Proxy, manager: str, name: str
) -> None:
    if manager == "pip":
        pytest.importorskip("ensurepip")
    program = program.with_(**NONE).with_(SSL_CERT_FILE=str(company.bundle), **{name: proxy.url})
    words = (*asked(company.index), "--manager", manager, "--yes", "--no-verify", "-v")
    done = program.run("create", "paper", *words)
    assert done.status == 0, (done.out, done.err)
    assert set(proxy.passed) == {f"CONNECT {company.host}"}
    shows_nothing(program, done)


@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
def test_no_proxy_is_heeded(program: Program, server: IndexServer, proxy: Proxy, name: str) -> None:
    for way in ("HTTP_PROXY", "PIP_PROXY"):
        named = program.with_(**NONE).with_(**{name: "other.example,127.0.0.1", way: proxy.url})
        done = named.run("plan", *asked(server), "--json")
        assert done.status == 0, (done.out, done.err)
    assert proxy.passed == []


@pytest.mark.parametrize("words", [("--json", "-v"), ("-v",)], ids=["json", "text"])
@pytest.mark.parametrize("fault", ["refuses", "is down", "without a scheme", "socks"])
def test_a_proxy_that_fails_is_told_without_its_password(
    program: Program, server: IndexServer, proxy: Proxy, fault: str, words: tuple[str, ...]
) -> None:
    url = {
        "refuses": f"http://eve:{SECRET}@{proxy.address}",
        "is down": f"http://ada:{SECRET}@127.0.0.1:1",
        "without a scheme": f"ada:{SECRET}@127.0.0.1:1",
        "socks": f"socks5h://ada:{SECRET}@127.0.0.1:1",
    }[fault]
    program = program.with_(**NONE).with_(HTTP_PROXY=url)
    done = program.run("plan", *asked(server), *words)
    assert done.status == 4, (done.out, done.err)
    assert "proxy" in done.out + done.err
    shows_nothing(program, done)


def test_info_shows_no_password_of_a_proxy(program: Program) -> None:
    program = program.with_(
        HTTP_PROXY=f"http://ada:{SECRET}@p:1", all_proxy=f"ada:{SECRET}@p:1", HTTPS_PROXY=f"ada:{SECRET}@p",
        PIP_PROXY=f"ada:{SECRET}@p:1",
    )  # fmt: skip
    for words in (("--json",), ("-v",)):
        shows_nothing(program, program.run("info", *words))
