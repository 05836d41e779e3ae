"""Whatever a person does, no English is left in Chinese: help, usage errors, bad input of every kind."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from prose import english_in
from running import make_program

from gpuenv.cli.app import app
from gpuenv.cli.main import run
from gpuenv.i18n.messages import install_catalogue

Told = Callable[..., tuple[int, str]]
H100 = ("--driver", "535.104.05", "--gpu", "9.0")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to run in, with nothing of the tester's own around it."""
    program = make_program(tmp_path / "user")
    for name in tuple(os.environ):
        monkeypatch.delenv(name)
    for name, value in program.environ.items():
        monkeypatch.setenv(name, value)
    work = tmp_path / "user" / "work"
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def told(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    """Run gpuenv in Chinese, in this process; return the exit status and all it said."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def told(*arguments: str) -> tuple[int, str]:
        monkeypatch.setenv("GPUENV_LANG", "zh")
        status = run(list(arguments))
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    yield told
    for number, handler in before.items():
        signal.signal(number, handler)
    install_catalogue({})


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands(below, (*path, name))


@pytest.mark.parametrize("path", list(_commands(typer.main.get_command(app))), ids=" ".join)
def test_a_help_is_chinese_all_through(told: Told, path: tuple[str, ...]) -> None:
    status, text = told(*path, "--help")
    assert status == 0
    assert text.startswith("用法：gpuenv")
    assert english_in(text) == []


@pytest.mark.parametrize("path", [(), ("matrix",), ("mirrors",)], ids=" ".join)
def test_a_command_that_is_left_out_gives_the_help(told: Told, path: tuple[str, ...]) -> None:
    helped = told(*path, "--help")[1]
    assert told(*path) == (2, helped)
    assert told(*path, "--lang", "zh") == (2, helped)


USAGE = (
    ("nope",),
    ("lst",),
    ("matrix", "nope"),
    ("plan", "--nope"),
    ("plan", "--jso"),
    ("plan", "--json=1"),
    ("plan", "--gpu"),
    ("plan", "--lang", "tlh"),
    ("plan", "--format", "docx"),
    ("plan", "--manager", "apt"),
    ("plan", "--device", "first"),
    ("verify", "--timeout", "soon"),
    ("remove",),
    ("run", "x"),
    ("list", "more"),
)


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_what_typer_refuses_is_told_in_chinese(told: Told, arguments: tuple[str, ...]) -> None:
    status, text = told(*arguments)
    assert status == 2
    assert text.startswith("错误：" if arguments != ("plan", "--lang", "tlh") else "error:")
    assert arguments[-1].partition("=")[0] in text or arguments[0] in ("remove", "run")
    assert arguments == ("plan", "--lang", "tlh") or english_in(text) == []


def test_a_variable_that_typer_refuses_is_told_in_chinese(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUENV_JSON", "perhaps")
    status, text = told("list")
    assert (status, english_in(text.replace(", no, off, on, ", ""))) == (2, [])
    assert "GPUENV_JSON" in text


def test_completion_is_written_and_told_in_chinese(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer._completion_shared.install", lambda: ("bash", Path("/home/me/gpuenv.sh")))
    status, text = told("--install-completion")
    assert (status, english_in(text)) == (0, [])
    assert "/home/me/gpuenv.sh" in text


BAD = (
    ("plan", "--python", "three"),
    ("plan", "--cuda", "banana"),
    ("plan", "--machine", "nowhere"),
    ("plan", "--machine", "."),
    ("plan", "--driver", "new", "--gpu", "8.6"),
    ("plan", "--driver", "535.104.05", "--gpu", "Frobnicator 9000"),
    ("plan", "--gpu", ""),
    ("plan", "--glibc", "new"),
    ("plan", "--device", "-1", *H100),
    ("plan", "--device", "7", *H100),
    ("plan", "--mirror", "nowhere"),
    ("plan", "--mirror", "http://["),
    ("plan", "--find-links", "http://["),
    ("plan", "--find-links", "nowhere", "--offline", *H100),
    ("plan", "--format", "pip", "--manager", "uv"),
    ("plan", "-r", "nowhere"),
    ("plan", "-r", "."),
    ("plan", "-f", "nowhere"),
    ("plan", "what is this"),
    ("plan", ""),
    ("plan", "torch==new"),
    ("plan", "torch @ https://example.com/torch.whl"),
    ("plan", "--offline", "-v", "--driver", "450.80.02", "--gpu", "9.0"),
    ("plan", "--offline", "-v", *H100, "torch==2.15.0"),
    ("plan", "--offline", "-v", *H100, "torch==9.9"),
    ("plan", "--offline", "-v", *H100, "--python", "2.7"),
    ("plan", "--offline", "-v", *H100, "torch==2.1.0", "torchvision==0.20"),
    ("plan", "--offline", "-v", "--platform", "win-64", *H100, "--cuda", "8.0"),
    ("plan", "--offline", "-v", "--glibc", "2.5", *H100),
    ("plan", "-v", *H100),
    ("create", ""),
    ("create", "a b"),
    ("create", "con"),
    ("create", "/"),
    ("create", "trial"),
    ("verify", "/no/such/place"),
    ("verify", "nope"),
    ("verify", "--timeout", "0"),
    ("doctor", "nope"),
    ("doctor", "--findings", "nowhere"),
    ("explain", "hello there"),
    ("remove", "nope"),
    ("run", "nope", "--", "python"),
    ("mirrors", "use", "nope"),
    ("mirrors", "check", "nope"),
    ("mirrors", "check", "tuna", "--for", "nope =="),
    ("matrix", "show", "nope"),
    ("matrix", "check", "--against", "nowhere"),
    ("matrix", "inspect", "nowhere.whl"),
    ("matrix", "refresh", "--only", "=="),
    ("matrix", "refresh", "--index", "ftp://x"),
)


@pytest.mark.parametrize("arguments", BAD, ids=lambda arguments: " ".join(arguments)[:60])
def test_what_gpuenv_refuses_is_told_in_chinese(told: Told, arguments: tuple[str, ...]) -> None:
    status, text = told(*arguments)
    assert status in (0, 2, 3, 4, 6)
    assert english_in(text) == []


ANSWERS = (
    ("detect", "-v"),
    ("list",),
    ("doctor", "-v"),
    ("plan", "--offline", "-v", *H100),
    ("plan", "--offline", "-v", "--gpu", "3.5"),
    ("plan", "--offline", "-v", "--cuda", "cpu"),
    ("plan", "--offline", "-v", "--platform", "win-64", "--driver", "560.70", "--gpu", "GeForce RTX 3060"),
    ("create", "x", "--offline", "--dry-run", "-v", *H100),
    ("mirrors", "list"),
    ("mirrors", "use", "tuna", "--print"),
    ("mirrors", "reset", "--print"),
)


@pytest.mark.parametrize("arguments", ANSWERS, ids=" ".join)
def test_what_gpuenv_answers_is_chinese(told: Told, arguments: tuple[str, ...]) -> None:
    status, text = told(*arguments)
    assert status in (0, 2, 3, 6)
    assert english_in(text) == []


FILES = {
    "machine.json": (
        "{",
        "[]",
        "[" * 100_000,
        '{"schema_version": 9}',
        '{"schema_version": 1, "command": "plan"}',
        '{"system": 1}',
        '{"system": {"os": "linux", "arch": "x86_64"}, "gpus": [{"index": "x"}]}',
        '{"system": {"os": "linux", "arch": "x86_64"}, "driver": {"version": "new"}}',
        '{"system": {"os": "linux", "arch": "x86_64"}, "gpus": [{"index": 0}, {"index": 0}]}',
    ),
    "environment.yml": (
        "- x",
        "a: [",
        "dependencies: 3",
        "dependencies: [3]",
        "dependencies: ['numpy[']",
        "channels: [3]",
        "dependencies: [{pip: [3]}]",
        "dependencies: [{other: [x]}]",
    ),
    "requirements.txt": ("torch==", "-i https://example.com", "\x00", "--hash x", "-e .", "torch; nonsense"),
    "findings.json": ("{", "[]", '{"schema_version": 1}', '{"version": 99}'),
    "mirrors.toml": (
        "x",
        "mirrors = 3",
        "[mirrors.lab]\nindex = 3",
        '[mirrors."A b"]\n',
        "[[mirror]]\nname = 'lab'",
        "[[mirror]]\nname = 'lab'\npypi = ['ftp://x/']",
    ),
    "uv.toml": ("x", "[[index]]\n", "index = 3", "index-url = 3", "offline = 3"),
    "pip.conf": ("x", "[global]\nno-index = maybe\n", "[global]\nindex-url = http://[\n"),
}
CASES = [(name, text) for name, texts in FILES.items() for text in texts]


@pytest.mark.parametrize(("name", "text"), CASES, ids=[f"{name}-{text[:30]!r}" for name, text in CASES])
def test_a_garbled_file_is_told_in_chinese(
    told: Told, place: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    (place / name).write_text(text, encoding="utf-8")
    arguments: tuple[str, ...] = ("plan", "-v", "--offline", *H100)
    match name:
        case "machine.json":
            arguments = ("plan", "-v", "--offline", "--machine", name)
        case "environment.yml":
            arguments = (*arguments, "-f", name)
        case "requirements.txt":
            arguments = (*arguments, "-r", name)
        case "findings.json":
            arguments = ("doctor", "--findings", name)
        case "mirrors.toml":
            monkeypatch.setenv("GPUENV_CONFIG", str(place / name))
        case "uv.toml":
            monkeypatch.setenv("UV_CONFIG_FILE", str(place / name))
        case "pip.conf":
            monkeypatch.setenv("PIP_CONFIG_FILE", str(place / name))
    status, said = told(*arguments)
    assert status in (0, 2, 3, 4)
    assert english_in(said) == []


def test_json_says_it_in_chinese_too(told: Told) -> None:
    error = json.loads(told("plan", "--python", "three", "--json")[1])["error"]
    assert english_in(error["message"]) == []


def test_prose_is_recognised() -> None:
    """The measure of all the others must be able to fail."""
    for english in (
        "error: no such option: --nope",
        "错误：`x` is no JSON document",
        "提示：see the help",
        "  -h, --help  Show this message and exit.",
        "错误：machine.json: expected an object, got a list",
    ):
        assert english_in(english) == [english]
