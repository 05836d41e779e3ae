"""No password goes to another server, into the arguments that everybody sees, into a file that is shared."""

from __future__ import annotations

import base64
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from attacks import attack, held_off
from guarded_index import PASSWORD, USER, with_login, write
from index_server import IndexServer, serve_indexes
from own_authority import make_authority
from running import Program
from strangers import serve_elsewhere

from gpuenv.http import HttpClient, HttpProblem, fetch_page
from gpuenv.indexes.configuration import keyring
from gpuenv.model.access import Access

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
CPU = ("--cuda", "cpu", "--python", PYTHON)


def fake_keyring(folder: Path) -> Path:
    """Put a keyring into a folder that knows one password, whatever it is asked for."""
    return write(folder / "keyring", f'#!/bin/sh\n>>"$0.log" echo "$*"\necho {PASSWORD}\n', 0o700)


@contextmanager
def asking_for_a_password() -> Iterator[tuple[str, list[str]]]:
    """Run a stranger's server that wants a password of everybody; yield its address and what it was told."""
    messages: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            messages.append(self.headers.get("Authorization", ""))
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="yours"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", messages
        server.shutdown()
        thread.join()


@attack(
    "has a server that wants a password, to which a page leads",
    "the password of the lab's index from the user's keyring",
    without="keyrings-tell-everybody",
)
@pytest.mark.parametrize("user", ["", f"{USER}@"], ids=["nobody", "named"])
def test_a_keyring_is_asked_for_no_stranger(tmp_path: Path, undone: str, user: str) -> None:
    fake_keyring(tmp_path / "bin")
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.defpath}"
    environ = {"PATH": path, "GPUENV_CACHE_DIR": str(tmp_path / "cache")}
    lab = f"https://{USER}@{'variant' if undone else 'lab'}{len(user)}.example/simple"
    access = Access(logins=keyring.Keyring(environ, (lab,)))
    with (
        asking_for_a_password() as (url, messages),
        HttpClient(environ, access=access) as client,
        suppress(HttpProblem),
    ):
        fetch_page(client, f"{url.replace('://', f'://{user}')}/torch/", "text/html")
    given = "".join(base64.b64decode(word.partition(" ")[2]).decode() for word in messages)
    held_off(messages and PASSWORD not in given, given)


@attack(
    "leaves a program called keyring in a checkout, and PATH has relative entries",
    "their program run",
    without="relative-path-counts",
)
def test_a_keyring_of_the_folder_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undone: str
) -> None:
    program = fake_keyring(tmp_path)
    monkeypatch.chdir(tmp_path)
    environ = {"PATH": f".{os.pathsep}{os.pathsep}{os.defpath}"}
    lab = f"https://folder{len(undone)}.example/simple"
    login = keyring.Keyring(environ, (lab,)).find(f"{lab}/torch/", USER)
    held_off(login is None and not Path(f"{program}.log").exists(), login)


@attack(
    "is who a server leads to that the user takes without a certificate",
    "to be read without a certificate as well",
    without="unverified-leads-on",
)
def test_a_server_taken_unverified_vouches_for_no_other(tmp_path: Path, undone: str) -> None:
    authority = make_authority(tmp_path)
    with serve_indexes(authority.tls) as index:
        url = f"{index.pypi}/torch/"
        with serve_elsewhere(url, authority.tls) as elsewhere:
            access = Access(insecure_hosts=(elsewhere.removeprefix("https://"),))
            environ = {"GPUENV_CACHE_DIR": str(tmp_path / f"cache{undone}")}
            with HttpClient(environ, access=access) as client, suppress(HttpProblem):
                fetch_page(client, elsewhere, "text/html")
        held_off(index.asked == [], index.asked)


@attack("lists the processes of a machine", "the password of an index", without="arguments-hold-passwords")
def test_no_password_is_among_the_arguments(program: Program, guarded: IndexServer, tmp_path: Path) -> None:
    """What uv is started with is what everybody sees: a uv of the user's notes it."""
    mirrors = ("--mirror", with_login(guarded.pytorch), "--mirror", with_login(guarded.pypi))
    write(program.root / "hook/sitecustomize.py", HOOK)
    noted = tmp_path / "arguments"
    user = program.with_(PYTHONPATH=str(program.root / "hook"), NOTED=str(noted))
    done = user.run("plan", "torch==2.14.1", "mylib", *CPU, *mirrors, "--json")
    arguments = noted.read_text(encoding="utf-8")
    assert "compile" in arguments, done.err
    held_off(PASSWORD not in arguments)


HOOK = """
import os, sys
def note(event, given):
    if event == "subprocess.Popen":
        with open(os.environ["NOTED"], "a") as file:
            print(*map(os.fsdecode, given[1]), file=file)
sys.addaudithook(note)
"""


@attack(
    "gets a file that was made to be shared",
    "the password of an index",
    without="passwords-are-shared",
)
@pytest.mark.parametrize("format_name", ["json", "requirements.txt", "pylock.toml", "dockerfile", "uv"])
def test_no_shared_file_holds_a_password(program: Program, guarded: IndexServer, format_name: str) -> None:
    mirrors = ("--mirror", with_login(guarded.pytorch), "--mirror", with_login(guarded.pypi))
    done = program.run("plan", "torch==2.14.1", "mylib", *CPU, *mirrors, "--format", format_name)
    assert guarded.url.removeprefix("http://") in done.out, done.err
    held_off(PASSWORD not in done.out, done.out)
