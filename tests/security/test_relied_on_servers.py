"""What people have told pip and uv of servers holds for gpuenv's own requests and its installers'.

Certificates of a company's own authority, servers that are taken without one, passwords of a keyring.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from guarded_index import PASSWORD, USER, with_login, write
from index_server import IndexServer, serve_indexes
from own_authority import make_authority
from running import Program
from strangers import serve_elsewhere
from tiny_wheels import tiny_torch, tiny_wheel

from gpuenv.http import HttpClient, HttpProblem, fetch_page
from gpuenv.indexes.configuration.read import read_configuration
from gpuenv.model.access import Access

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
CPU = ("--cuda", "cpu", "--python", PYTHON)


@dataclass(frozen=True)
class Company:
    """An index over https whose certificate only the company's own bundle proves."""

    index: IndexServer
    bundle: Path
    tls: ssl.SSLContext

    @property
    def host(self) -> str:
        return self.index.url.removeprefix("https://")


@contextmanager
def serve_company(folder: Path) -> Iterator[Company]:
    authority = make_authority(folder)
    with serve_indexes(authority.tls) as index:
        index.publish(tiny_torch(folder, "2.14.1+cpu"), "pytorch", "cpu")
        index.publish(tiny_wheel(folder, "tinydep", "1.0"), "pypi")
        index.publish(tiny_wheel(folder, "mylib", "2.0", requires=("tinydep",)), "pypi")
        yield Company(index, authority.bundle, authority.tls)


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    with serve_company(tmp_path_factory.mktemp("company")) as reported:
        yield reported


def asked(index: IndexServer) -> tuple[str, ...]:
    return ("torch==2.14.1", "mylib", *CPU, "--mirror", index.pytorch, "--mirror", index.pypi)


def _pip(program: Program, line: str) -> Program:
    write(program.home / ".config/pip/pip.conf", f"[global]\n{line}\n", 0o644)
    return program.with_(PIP_CONFIG_FILE=None)


def _uv(program: Program, line: str) -> Program:
    write(program.home / ".config/uv/uv.toml", f"{line}\n", 0o644)
    return program


TRUSTING: dict[str, Callable[[Program, Company], Program]] = {
    "SSL_CERT_FILE": lambda program, to: program.with_(SSL_CERT_FILE=str(to.bundle)),
    "REQUESTS_CA_BUNDLE": lambda program, to: program.with_(REQUESTS_CA_BUNDLE=str(to.bundle)),
    "CURL_CA_BUNDLE": lambda program, to: program.with_(CURL_CA_BUNDLE=str(to.bundle)),
    "PIP_CERT": lambda program, to: program.with_(PIP_CERT=str(to.bundle)),
    "cert in pip.conf": lambda program, to: _pip(program, f"cert = {to.bundle}"),
    "PIP_TRUSTED_HOST": lambda program, to: program.with_(PIP_TRUSTED_HOST=f"other.example {to.host}"),
    "trusted-host in pip.conf": lambda program, _: _pip(program, "trusted-host = 127.0.0.1"),
    "UV_INSECURE_HOST": lambda program, to: program.with_(UV_INSECURE_HOST=to.host),
    "allow-insecure-host in uv.toml": lambda program, to: _uv(
        program, f'allow-insecure-host = ["https://{to.host}"]'
    ),
    "native-tls in uv.toml": lambda program, to: _uv(program, "native-tls = true").with_(
        SSL_CERT_FILE=str(to.bundle)
    ),
}


@pytest.mark.parametrize("way", TRUSTING)
def test_a_server_that_the_user_trusts_is_read(program: Program, company: Company, way: str) -> None:
    program = TRUSTING[way](program, company)
    done = program.run("plan", *asked(company.index), "--json")
    assert done.status == 0, (done.out, done.err)
    assert done.torch == "2.14.1+cpu"


@pytest.mark.parametrize(
    ("manager", "way"),
    [("uv", "trusted-host in pip.conf"), ("pip", "UV_INSECURE_HOST"), ("pip", "REQUESTS_CA_BUNDLE")],
)
def test_what_the_installer_gets_comes_from_a_server_that_the_user_trusts(
    program: Program, company: Company, manager: str, way: str
) -> None:
    if manager == "pip":
        pytest.importorskip("ensurepip")
    program = TRUSTING[way](program, company)
    words = ("create", "paper", *asked(company.index), "--manager", manager, "--yes", "--no-verify")
    done = program.run(*words)
    assert done.status == 0, (done.out, done.err)
    assert {"tinydep", "mylib"} <= {path.name for path in program.environments.rglob("site-packages/*")}


def test_a_server_that_nobody_trusts_is_not_read(program: Program, company: Company) -> None:
    program = program.with_(UV_INSECURE_HOST=f"other.example {company.host}0", PIP_TRUSTED_HOST="127.0.0")
    done = program.run("plan", *asked(company.index), "--json")
    assert done.status == 4, (done.out, done.err)
    assert "has an untrusted certificate" in str(done.error)


def test_what_the_system_trusts_counts_where_uv_is_told_so(
    company: Company, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(company.bundle))  # for OpenSSL: the system's
    environ = {"GPUENV_CACHE_DIR": str(tmp_path), "HOME": str(tmp_path)}
    url = f"{company.index.pypi}/mylib/"
    for facts, is_read in (({}, False), ({"UV_SYSTEM_CERTS": "1"}, True), ({"UV_NATIVE_TLS": "true"}, True)):
        read = read_configuration({**environ, **facts}, home=tmp_path, cwd=tmp_path, root=tmp_path)
        with HttpClient(environ, access=read.access) as client, suppress(HttpProblem):
            assert fetch_page(client, url, "text/html").text
            assert is_read, facts
            continue
        assert not is_read, facts


def test_a_server_taken_unverified_leads_to_no_other(company: Company, tmp_path: Path) -> None:
    url = f"{company.index.pypi}/mylib/"
    with serve_elsewhere(url, company.tls) as elsewhere:
        there = (elsewhere.removeprefix("https://"),)
        environ = {"GPUENV_CACHE_DIR": str(tmp_path)}
        with HttpClient(environ, access=Access(insecure_hosts=(*there, company.host))) as client:
            assert fetch_page(client, elsewhere, "text/html").url == url
        with (
            HttpClient(environ, access=Access(insecure_hosts=there)) as client,
            pytest.raises(HttpProblem, match="untrusted certificate"),
        ):
            fetch_page(client, elsewhere, "text/html")


def test_the_authorities_are_read_once_for_all_connections(
    company: Company, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each verifies with those that it was told of."""
    read: list[object] = []
    load = ssl.SSLContext.load_verify_locations

    def counted(context: ssl.SSLContext, *where: str) -> None:
        read.append(where[0])
        load(context, *where)

    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", counted)
    copies = [tmp_path / name for name in ("one.pem", "two.pem")]
    for copy in copies:
        copy.write_bytes(company.bundle.read_bytes())
        for number in range(3):
            environ = {"GPUENV_CACHE_DIR": str(tmp_path / str(number))}
            with HttpClient(environ, access=Access(ca_bundle=str(copy)), fresh=True) as client:
                assert fetch_page(client, f"{company.index.pypi}/mylib/", "text/html").text
    assert read == list(map(str, copies))
    with (
        HttpClient({"GPUENV_CACHE_DIR": str(tmp_path)}, fresh=True) as client,
        pytest.raises(HttpProblem, match="untrusted certificate"),
    ):
        fetch_page(client, f"{company.index.pypi}/mylib/", "text/html")


def test_a_bundle_that_is_none_is_told(company: Company, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_text("no certificates")
    with (
        HttpClient({"GPUENV_CACHE_DIR": str(tmp_path)}, access=Access(ca_bundle=str(bundle))) as client,
        pytest.raises(HttpProblem),
    ):
        fetch_page(client, f"{company.index.pypi}/mylib/", "text/html")


# keyring

KEYRING = f"""#!/bin/sh
echo "$*" >> "$KEYRING_LOG"
case "$*" in
  "get $KEYRING_SERVICE {USER}") echo {PASSWORD} ;;
  "get $KEYRING_SERVICE --mode creds") echo {USER}; echo {PASSWORD} ;;
  *) exit 1 ;;
esac
"""


def with_keyring(program: Program, service: str) -> Program:
    write(program.bin / "keyring", KEYRING, 0o700)
    return program.with_(KEYRING_LOG=str(program.root / "keyring.log"), KEYRING_SERVICE=service)


def as_user(url: str) -> str:
    return url.replace("://", f"://{USER}@")


ASKING: dict[str, tuple[str, Callable[[Program, IndexServer], Program]]] = {
    "UV_KEYRING_PROVIDER": (
        "uv",
        lambda program, index: program.with_(
            UV_KEYRING_PROVIDER="subprocess", UV_DEFAULT_INDEX=as_user(index.pypi)
        ),
    ),
    "keyring-provider in uv.toml": (
        "uv",
        lambda program, index: _uv(
            program,
            f'keyring-provider = "subprocess"\n[[index]]\nurl = "{as_user(index.pypi)}"\ndefault = true',
        ),
    ),
    "keyring-provider in pip.conf": (
        "pip",
        lambda program, index: _pip(
            program, f"keyring-provider = subprocess\nindex-url = {as_user(index.pypi)}"
        ),
    ),
    "keyring-provider in pip.conf, for uv": (
        "uv",
        lambda program, index: _pip(
            program, f"keyring-provider = subprocess\nindex-url = {as_user(index.pypi)}"
        ),
    ),
}


@pytest.mark.parametrize("service", ["address", "host"])
@pytest.mark.parametrize("way", ASKING)
def test_a_keyring_is_asked_for_the_password_of_an_index(
    program: Program, guarded: IndexServer, way: str, service: str
) -> None:
    manager, configure = ASKING[way]
    if manager == "pip":
        pytest.importorskip("ensurepip")
    name = guarded.pypi if service == "address" else guarded.url.removeprefix("http://")
    program = with_keyring(configure(program, guarded), name)
    torch = with_login(f"{guarded.pytorch}/cpu/torch/")
    words = ("torch==2.14.1", "mylib", *CPU, "--find-links", torch, "--manager", manager)
    done = program.run("plan", *words, "--format", "pylock.toml", "-v")
    assert done.status == 0, (done.out, done.err)
    assert "mylib" in done.out
    assert PASSWORD not in done.out + done.err


@pytest.mark.slow
@pytest.mark.parametrize("manager", ["uv", "pip"])
@pytest.mark.parametrize("named", [True, False], ids=["ada@", ""])
def test_a_keyring_is_asked_for_what_gpuenv_reads_itself(
    program: Program, guarded: IndexServer, manager: str, named: bool
) -> None:
    if manager == "pip":
        pytest.importorskip("ensurepip")
    pytorch, pypi = map(as_user if named else str, (guarded.pytorch, guarded.pypi))
    program = with_keyring(program, guarded.url.removeprefix("http://")).with_(
        UV_KEYRING_PROVIDER="subprocess" if manager == "uv" else None,
        PIP_KEYRING_PROVIDER="subprocess" if manager == "pip" else None,
    )
    words = ("torch==2.14.1", "mylib", *CPU, "--mirror", pytorch, "--mirror", pypi, "--manager", manager)
    done = program.run("create", "paper", *words, "--yes", "--no-verify", "-v")
    assert done.status == 0, (done.out, done.err)
    assert {"torch", "mylib"} <= {path.name for path in program.environments.rglob("site-packages/*")}
    assert PASSWORD not in done.out + done.err
    for folder in ("data", "work"):
        for path in (program.root / folder).rglob("*"):
            assert not path.is_file() or PASSWORD.encode() not in path.read_bytes(), path


@pytest.mark.slow
def test_a_keyring_is_asked_only_where_the_configuration_says_so(
    program: Program, guarded: IndexServer
) -> None:
    program = with_keyring(program, guarded.url.removeprefix("http://"))
    for provider in (None, "disabled"):
        requested = program.with_(UV_KEYRING_PROVIDER=provider)
        done = requested.run("plan", "torch==2.14.1", *CPU, "--mirror", as_user(guarded.pytorch), "--json")
        assert done.status == 4, (done.out, done.err)
    assert not (program.root / "keyring.log").exists()


@pytest.mark.slow
def test_variables_of_an_index_count_for_what_gpuenv_reads_itself(
    program: Program, guarded: IndexServer
) -> None:
    inner = f'[[index]]\nname = "in-ner"\nurl = "{guarded.pytorch}/cpu"\n'
    program = _uv(program, f'{inner}[[index]]\nname = "all"\nurl = "{guarded.pypi}"\ndefault = true').with_(
        UV_INDEX_IN_NER_USERNAME=USER, UV_INDEX_IN_NER_PASSWORD=PASSWORD,
        UV_INDEX_ALL_USERNAME=USER, UV_INDEX_ALL_PASSWORD=PASSWORD,
    )  # fmt: skip
    done = program.run("create", "paper", "torch==2.14.1", "mylib", *CPU, "--yes", "--no-verify", "--json")
    assert done.status == 0, (done.out, done.err)
    assert done.torch == "2.14.1+cpu"
    assert PASSWORD not in done.out + done.err
