"""Bad inputs: what a file may hold or be, and each place where gpuenv reads one.

A shape makes the file; a place says where it lies and which command line reads it.
"""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from running import Program

_MANY = 100_000
_TEXTS: dict[str, bytes] = {
    "empty": b"",
    "nulls": bytes(4096),
    "null-within": b"torch==2.7.1\0\nnumpy\n",
    "noise": random.Random(18).randbytes(20_000),  # noqa: S311 - no secret
    "utf-16": "torch==2.7.1\nname: x\n".encode("utf-16"),
    "utf-16-cut": "torch==2.7.1\n".encode("utf-16")[:-1],
    "utf-16-unmarked": "torch==2.7.1\n".encode("utf-16-le"),
    "utf-32": "torch==2.7.1\n".encode("utf-32"),
    "mark-alone": b"\xef\xbb\xbf",
    "latin-1": "# für Größe\ntorch\n".encode("latin-1"),
    "half-a-letter": b"torch==2.7.1 \xed\xa0\x80\n",
    "cr-alone": b"torch==2.7.1\rnumpy\r!\r",
    "one-line": b"a" * 5_000_000,
    "many-lines": b"a b c\n" * 300_000,
    "blanks": b" " * 2_000_000 + b"x",
    "digits": b"torch==" + b"9" * _MANY,
    "parts": b"torch==" + b"1." * 9_000 + b"1",
    "square-open": b"[" * _MANY,
    "square-closed": b"[" * _MANY + b"]" * _MANY,
    "curly-open": b'{"a":' * _MANY,
    "round": b"torch; " + b"(" * _MANY + b"os_name=='nt'" + b")" * _MANY,
    "round-few": b"torch; " + b"(" * 2_000 + b"os_name=='nt'" + b")" * 2_000,
    "quotes": b'"' * 300_000,
    "backslashes": b"\\" * 300_000,
    "escapes": b"\x1b[31m\x1b]0;x\x07" * 1000,
    "arbitrary-equality": b"torch===\n",
    "extras": b"torch[" + b",".join(b"e%d" % number for number in range(20_000)) + b"]",
    "markers": b"torch; " + b" and ".join([b"os_name=='nt'"] * 20_000),
}
_JSON: dict[str, bytes] = {
    "json-deep": b'{"schema_version": 1, "data": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    "json-digits": b'{"schema_version": ' + b"1" * _MANY + b"}",
    "json-infinity": b'{"schema_version": Infinity, "data": NaN, "rows": 1e999}',
    "json-half-a-letter": b'{"schema_version": 1, "name": "\\ud800", "data": {"system": "\\udfff"}}',
    "json-list": b"[]",
    "json-null": b"null",
    "json-text": b'"x"',
    "json-cut": b'{"schema_version": 1, "data": {',
    "json-other-kinds": b'{"schema_version": "1", "data": [], "rows": {}, "name": 3, "state": []}',
}
_TOML: dict[str, bytes] = {
    "toml-deep": b"a = " + b"[" * 20_000 + b"]" * 20_000,
    "toml-tables": b"a = " + b"{a=" * 20_000,
    "toml-dots": b".".join([b"a"] * 200_000) + b" = 1\n",
    "toml-header": b"[" + b".".join([b"a"] * 20_000) + b"]\n",
    "toml-headers": b"".join(b"[%s.b%d]\n" % (b".".join([b"a"] * 900), number) for number in range(1_500)),
    "toml-digits": b"a = " + b"1" * _MANY,
    "toml-other-kinds": b"mirror = 3\nenvironments = 4\npackages = 5\nproject = 6\ntool = 7\n",
}
_YAML: dict[str, bytes] = {
    "yaml-laughs": b"a0: &a0 [x, x]\n"
    + b"".join(
        b"a%d: &a%d [*a%d, *a%d]\n" % (number, number, number - 1, number - 1) for number in range(1, 60)
    )
    + b"dependencies: *a59\n",
    "yaml-itself": b"name: x\ndependencies: &a [*a, torch]\n",
    "yaml-merged": b"a0: &a0 {x: 1}\n"
    + b"".join(
        b"a%d: &a%d {<<: [*a%d, *a%d]}\n" % (number, number, number - 1, number - 1)
        for number in range(1, 40)
    )
    + b"dependencies: [torch]\n",
    "yaml-dashes": b"dependencies:\n  " + b"- " * 20_000 + b"torch\n",
    "yaml-questions": b"? " * 20_000 + b"a\n",
    "yaml-tag": b"dependencies: !!python/object/apply:os.system ['true']\n",
    "yaml-keys": b"".join(b"k%d: v\n" % number for number in range(60_000)) + b"dependencies: [torch]\n",
    "yaml-digits": b"name: x\nchannels: []\ndependencies:\n  - torch=" + b"1" * _MANY + b"\n",
    "yaml-anchors": b"dependencies:\n" + b"".join(b"- &a%d x\n" % number for number in range(20_000)),
    "yaml-documents": b"---\nname: x\n" * 20_000,
    "yaml-scalars": b"name: |\n" + b"  x\n\n" * 90_000,
    "yaml-comments": b"# x\n" * 100_000 + b"name: x\n",
    "yaml-other-kinds": b"name: [x]\nchannels: {a: b}\ndependencies: {torch: 1}\n",
}


def _directory(path: Path) -> None:
    path.mkdir()


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2 << 30)


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's name is short
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    finally:
        os.chdir(here)


def _link(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def _written(content: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


Make = Callable[[Path], None]
TEXTS: Mapping[str, Make] = {name: _written(content) for name, content in _TEXTS.items()}
JSONS: Mapping[str, Make] = {name: _written(content) for name, content in _JSON.items()}
TOMLS: Mapping[str, Make] = {name: _written(content) for name, content in _TOML.items()}
YAMLS: Mapping[str, Make] = {name: _written(content) for name, content in _YAML.items()}
SPECIAL: Mapping[str, Make] = {
    "zeros-without-end": _link("/dev/zero"),
    "pipe": os.mkfifo,
    "directory": _directory,
    "two-gigabytes": _sparse,
    "link-to-nothing": _link("nothing-there"),
    "link-to-itself": _link("itself"),
    "memory": _link("/proc/self/mem"),
    "socket": _socket,
}
ALL: Mapping[str, Make] = {**TEXTS, **JSONS, **TOMLS, **YAMLS, **SPECIAL}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file is read: its path below the program's root, and the command lines that read it.

    `named` tells that a person named the file, so that what is wrong with it is the answer, but for shapes
    that are `harmless` there; other files are found, and a command that needs nothing of them may go on.
    `before` and `after` stand around a text, so that it is read as what the file is about. `said` is how an
    error calls the file where that is not its name; `{file}` is filled in everywhere.
    """

    file: str
    commands: tuple[tuple[str, ...], ...]
    shapes: Mapping[str, Make]
    named: bool = True
    harmless: frozenset[str] = frozenset()
    said: str | None = None
    before: bytes = b""
    after: bytes = b""
    environ: Mapping[str, str] = field(default_factory=dict)
    stdin: bool = False


_EMPTY = frozenset({"empty", "mark-alone"})
_PLAN = ("plan", "--gpu", "8.6", "--driver", "570.133.07", "--offline", "--python", "3.12")
_ADAPT = ((*_PLAN, "--adapt", "paper"),)
_ENVIRONMENT = "data/envs/paper"
_OF_TEXT = {**TEXTS, **SPECIAL}
_SOME = {name: TEXTS[name] for name in ("nulls", "noise", "utf-16", "one-line", "square-closed", "digits")}
_OF_JSON = {**TEXTS, **JSONS, **SPECIAL}
_OF_TOML = {**TEXTS, **TOMLS, **SPECIAL}
_OF_YAML = {**TEXTS, **YAMLS, **SPECIAL}

PLACES: Mapping[str, Place] = {
    "requirements": Place(
        "work/requirements.txt",
        ((*_PLAN, "-r", "{file}"),),
        _OF_TEXT,
        harmless=_EMPTY | {"blanks"},
    ),
    "environment": Place(
        "work/environment.yml",
        ((*_PLAN, "-f", "{file}"),),
        _OF_YAML,
        harmless=frozenset({"yaml-tag", "yaml-anchors", "yaml-scalars", "yaml-comments"}),
    ),
    "adapted-requirements": Place(
        "work/requirements.txt",
        ((*_PLAN, "--adapt", "-r", "{file}"),),
        _OF_TEXT,
        harmless=frozenset({"utf-16", "latin-1", "cr-alone", "blanks"}),
    ),
    "adapted-environment": Place(
        "work/environment.yml",
        ((*_PLAN, "--adapt", "-f", "{file}"),),
        _OF_YAML,
        # an odd entry of the list is told, the others count; a tag is passed over, and nothing of it runs
        harmless=frozenset({"yaml-itself", "yaml-tag"}),
    ),
    "adapted-folder": Place(
        "work/paper/requirements.txt",
        _ADAPT,
        _OF_TEXT,
        harmless=frozenset({"utf-16", "latin-1", "cr-alone", "blanks"}),
        said="paper",
    ),
    "adapted-pyproject": Place(
        "work/paper/pyproject.toml",
        _ADAPT,
        _OF_TOML,
        said="paper",
        before=b'[project]\nname = "paper"\ndependencies = ["""\n',
        after=b'"""]\n',
    ),
    "adapted-setup": Place(
        "work/paper/setup.py",
        _ADAPT,
        _OF_TEXT,
        said="paper",
        before=b"from setuptools import setup\nsetup(install_requires=[\n",
        after=b"\n])\n",
    ),
    "adapted-setup-cfg": Place(
        "work/paper/setup.cfg",
        _ADAPT,
        _OF_TEXT,
        named=False,
        before=b"[options]\ninstall_requires =\n    numpy\n    ",
    ),
    "adapted-readme": Place(
        "work/paper/README.md", _ADAPT, _OF_TEXT, named=False, before=b"pip install torch==1.7.1 "
    ),
    "adapted-code": Place("work/paper/train.py", _ADAPT, _OF_JSON, said="paper"),
    "lock": Place(
        "work/pylock.toml", (("create", "x", *_PLAN[1:], "--dry-run", "--from-lock", "{file}"),), _OF_TOML
    ),
    "lab": Place("work/lab.toml", (("create", "x", "--dry-run", "--from", "{file}"),), _OF_TOML),
    "machine": Place("work/machine.json", (("plan", "--offline", "--machine", "{file}"),), _OF_JSON),
    "machine-stdin": Place(
        "work/machine.json",
        (("plan", "--offline", "--machine", "-"),),
        {**TEXTS, **JSONS},
        said="-",
        stdin=True,
    ),
    "machines": Place(
        "work/machines/one.json",
        (("plan", "--offline", "--machines", "machines"),),
        _OF_JSON,
        said="machines",
    ),
    "findings": Place("work/findings.json", (("doctor", "--findings", "{file}"),), _OF_JSON),
    "explained": Place("work/train.log", (("explain", "{file}"),), _OF_JSON, named=False),
    "explained-stdin": Place("work/train.log", (("explain", "-"),), TEXTS, named=False, stdin=True),
    "configuration": Place(
        "home/.config/gpuenv/config.toml",
        (("mirrors", "list"),),
        _OF_TOML,
        harmless=_EMPTY | {"link-to-nothing", "link-to-itself"},
    ),
    "configuration-named": Place(
        "work/mirrors.toml",
        ((*_PLAN, "--mirror", "mine"),),
        _OF_TOML,
        harmless=_EMPTY,
        environ={"GPUENV_CONFIG": "{file}"},
    ),
    "uv-configuration": Place(
        "home/.config/uv/uv.toml",
        (_PLAN,),
        {**_SOME, **TOMLS, **SPECIAL},
        named=False,
        environ={"UV_NO_CONFIG": ""},
    ),
    "pip-configuration": Place(
        "home/.config/pip/pip.conf",
        (_PLAN,),
        {**_SOME, **SPECIAL},
        named=False,
        environ={"PIP_CONFIG_FILE": ""},
    ),
    "pip-constraints": Place(
        "work/constraints.txt",
        (_PLAN,),
        {**_SOME, **SPECIAL},
        named=False,
        environ={"PIP_CONSTRAINT": "{file}"},
    ),
    "condarc": Place("home/.condarc", (("mirrors", "use", "tuna", "--print"),), _OF_YAML, named=False),
    "netrc": Place("home/.netrc", (_PLAN,), {**_SOME, **SPECIAL}, named=False),
    "project-uv": Place("work/uv.toml", (_PLAN,), {**_SOME, **TOMLS, **SPECIAL}, named=False),
    "record": Place(
        f"{_ENVIRONMENT}/gpuenv.json",
        (
            ("list",),
            ("info", "paper"),
            ("doctor", "paper"),
            ("run", "paper", "--", "true"),
            ("export", "paper"),
        ),
        _OF_JSON,
        named=False,
    ),
    "pyvenv": Place(f"{_ENVIRONMENT}/pyvenv.cfg", (("list",), ("doctor", "paper")), _OF_TEXT, named=False),
    "overlay": Place("data/matrices/torch.json", (_PLAN,), {**_SOME, **JSONS, **SPECIAL}, named=False),
    "sizes": Place("cache/sizes.json", (_PLAN,), {**_SOME, **JSONS, **SPECIAL}, named=False),
    "hashes": Place("cache/hashes.json", (_PLAN,), {**_SOME, **JSONS, **SPECIAL}, named=False),
    "speeds": Place("cache/mirrors.json", (_PLAN,), {**_SOME, **JSONS, **SPECIAL}, named=False),
    "page-of-links": Place(
        "work/links.html", ((*_PLAN, "--find-links", "{file}"),), {**_SOME, **SPECIAL}, named=False
    ),
    "wheel": Place(
        "work/wheels/torch-2.7.1+cu126-cp312-cp312-linux_x86_64.whl",
        ((*_PLAN, "--find-links", "wheels"),),
        {**_SOME, **SPECIAL},
        named=False,
    ),
}


def lay(place: Place, make: Make, program: Program) -> tuple[Path, list[list[str]], dict[str, str]]:
    """Make the file; return its path, the command lines and the variables."""
    file = program.root / place.file
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.name == "gpuenv.json":
        (file.parent / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8")
    make(file)
    if place.before and file.is_file() and not file.is_symlink() and file.stat().st_size < 1 << 30:
        file.write_bytes(place.before + file.read_bytes() + place.after)
    commands = [[word.replace("{file}", str(file)) for word in words] for words in place.commands]
    given = {name: value.replace("{file}", str(file)) for name, value in place.environ.items()}
    environ = {name: value for name, value in {**program.environ, **given}.items() if value}
    return file, commands, environ
