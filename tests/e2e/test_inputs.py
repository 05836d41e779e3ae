"""Bad input, strange terminals, strange places: one clear message, the documented code, nothing lost."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from index_server import IndexServer
from running import Program, make_program

from gpuenv import matrices
from gpuenv.cli.choices import FormatName

H100 = ("--driver", "535.104.05", "--gpu", "9.0")
NO_SUCH_PLACE = "/no/such/place"

# arguments, what the message names
BAD = (
    (("nope",), "nope"),
    (("plan", "--nope"), "--nope"),
    (("plan", "--python", "three"), "three"),
    (("plan", "--cuda", "banana"), "banana"),
    (("plan", "--machine", NO_SUCH_PLACE), NO_SUCH_PLACE),
    (("plan", "--machine", "/"), "/"),
    (("plan", "--machine", sys.executable), "UTF-8"),
    (("plan", "--driver", "new", "--gpu", "8.6"), "new"),
    (("plan", "--driver", "535.104.05", "--gpu", "Frobnicator 9000"), "Frobnicator 9000"),
    (("plan", "--gpu", ""), "GPU"),
    (("plan", "--platform", "amiga"), "amiga"),
    (("plan", "--glibc", "new"), "new"),
    (("plan", "--device", "first"), "first"),
    (("plan", "--device", "-1", *H100), "-1"),
    (("plan", "--manager", "apt"), "apt"),
    (("plan", "--mirror", "nowhere"), "nowhere"),
    (("plan", "--mirror", "http://["), "http://["),
    (("plan", "--mirror", "a" * 5000), "aaa"),
    (("plan", "--find-links", "http://["), "http://["),
    (("plan", "--lang", "tlh"), "tlh"),
    (("plan", "--format", "docx"), "docx"),
    (("plan", "--format", "pip", "--manager", "uv"), "pip"),
    (("plan", "-r", NO_SUCH_PLACE), NO_SUCH_PLACE),
    (("plan", "-r", "/"), "/"),
    (("plan", "-r", sys.executable), sys.executable),
    (("plan", "what is this"), "what is this"),
    (("plan", ""), "requirement"),
    (("plan", "torch==new"), "torch==new"),
    (("plan", "torch @ https://example.com/torch.whl"), "torch"),
    (("plan", "torch==="), "torch==="),
    (("plan", "torch==" + "1" * 10_000), "digits"),
    (("plan", "--python", "3." + "1" * 10_000), "Python version"),
    (("plan", f"torch; {'(' * 5_000}python_version > '3'{')' * 5_000}"), "brackets"),
    (("plan", "--mirror", Path("/etc/passwd").as_uri()), "/etc/passwd"),
    (("create",), "NAME"),
    (("create", ""), "empty"),
    (("create", "a b"), "a b"),
    (("create", "con"), "con"),
    (("create", "/"), "/"),
    (("create", "~"), "~"),
    (("create", "trial", "--offline", "--cuda", "cpu", "--manager", "uv"), "terminal"),
    (("verify", NO_SUCH_PLACE), NO_SUCH_PLACE),
    (("verify", "nope"), "nope"),
    (("verify", "--timeout", "0"), "timeout"),
    (("verify", "--timeout", "nan"), "nan"),
    (("verify", "--timeout", "inf"), "inf"),
    (("verify", "--timeout", "soon"), "soon"),
    (("list", "more"), "more"),
    (("remove",), "NAME"),
    (("remove", "nope", "--yes"), "nope"),
    (("remove", "nope"), "nope"),
    (("matrix", "show", "nope"), "nope"),
    (("matrix", "show", "--nope"), "--nope"),
    (("matrix", "nope"), "nope"),
)


@pytest.mark.parametrize(
    ("arguments", "named"), BAD, ids=lambda value: " ".join(value)[:40] if value else "-"
)
def test_bad_input_is_one_clear_message_and_one_json_document(
    shared: Program, arguments: tuple[str, ...], named: str
) -> None:
    as_json = shared.run(*arguments, "--json")
    assert as_json.status == 2, as_json
    assert named in as_json.error["message"]
    assert as_json.envelope["command"] == " ".join(arguments[: 2 if arguments[0] == "matrix" else 1])
    assert "Traceback" not in as_json.err


@pytest.mark.parametrize("arguments", [("plan", "--python", "three"), ("remove", "nope"), ("plan", "--nope")])
def test_a_person_reads_an_error_and_a_hint_on_stderr(shared: Program, arguments: tuple[str, ...]) -> None:
    done = shared.run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert "hint: " in done.err
    assert done.err.count("error: ") == 1


def test_an_error_is_one_document_where_the_file_of_save_can_not_be_written(shared: Program) -> None:
    done = shared.run("doctor", sys.executable, "--json", "--save", f"{NO_SUCH_PLACE}/findings.json")
    assert (done.status, done.error["code"]) == (2, "output-unwritable")
    assert done.envelope["command"] == "doctor"


@pytest.mark.parametrize("command", ["list", "detect", "plan"])
def test_json_that_is_typed_too_late_still_gives_one_document(shared: Program, command: str) -> None:
    done = shared.run(command, "--", "--json")
    assert done.status == 2
    assert "--json" in done.error["message"]


def test_run_tells_its_own_errors_as_text(shared: Program) -> None:
    """What follows the name belongs to the command that is run, `--json` too."""
    done = shared.run("run", "nope", "python", "--json")
    assert (done.status, done.out) == (2, "")
    assert "nope" in done.err
    assert shared.run("run", "--json", "nope").error["code"] == "unknown-environment"


def test_options_have_environment_variables(program: Program, server: IndexServer) -> None:
    variables = {
        "GPUENV_JSON": "1",
        "GPUENV_DRIVER": "550.54.14",
        "GPUENV_GPU": "GeForce RTX 4090, 8.6",
        "GPUENV_MIRROR": f"{server.pytorch} {server.pypi}",
        "GPUENV_PYTHON": "3.11",
        "GPUENV_CUDA": "12.4",
        "GPUENV_DEVICE": "0 1",
    }
    done = program.with_(**variables).run("plan")
    assert done.torch == "2.6.0+cu124"
    assert [gpu["compute_capability"] for gpu in done.data["machines"][0]["gpus"]] == ["8.9", "8.6"]
    assert program.with_(GPUENV_JSON="1", GPUENV_PYTHON="three").run("plan").error["code"]
    assert program.with_(GPUENV_JSON="1").run("nope").error["code"] == "usage"
    assert program.with_(GPUENV_JSON="perhaps").run("list").status == 2


def test_a_bad_time_limit_for_nvidia_smi_is_bad_input(program: Program) -> None:
    done = program.with_(GPUENV_NVIDIA_SMI_TIMEOUT="soon").run("detect", "--json")
    assert (done.status, done.error["code"]) == (2, "bad-limit")


@pytest.mark.slow
def test_every_command_prints_one_json_document(program: Program, mirrors: tuple[str, ...]) -> None:
    commands = {
        "detect": ("detect",),
        "plan": ("plan", *H100, *mirrors),
        "create": ("create", "trial", "--dry-run", *H100, *mirrors),
        "list": ("list",),
        "matrix show": ("matrix", "show", "cuda"),
        "matrix check": ("matrix", "check"),
    }
    for command, arguments in commands.items():
        done = program.run(*arguments, "--json")
        assert done.envelope["command"] == command
        assert done.data
        assert done.err == ""


@pytest.mark.slow
def test_a_check_tells_notes_and_holds(program: Program) -> None:
    answer = program.run("matrix", "check")
    assert (answer.status, answer.err) == (0, "the matrices are valid\n")
    assert "gpus GeForce 410M 2.1: no build runs on compute capability 2.1" in answer.out
    assert "more such notes; use -v to show them" in answer.out
    assert len(program.run("matrix", "check", "-v").out.splitlines()) > len(answer.out.splitlines())
    assert program.run("matrix", "check", "-q").out == ""
    data = program.run("matrix", "check", "--json").data
    assert data["faults"] == []
    assert {"table", "row_key", "message", "code"} == set(data["notes"][0])


@pytest.mark.slow
def test_a_check_against_a_copy_names_what_vanished(program: Program) -> None:
    copy = program.root / "copy"
    copy.mkdir()
    row = {"name": "Voodoo 2", "compute_capability": "1.0"}
    (copy / "gpus.json").write_text(json.dumps({"rows": [row]}), encoding="utf-8")
    done = program.run("matrix", "check", "--against", copy)
    assert (done.status, done.out) == (2, "")
    assert "Voodoo 2 1.0: has vanished" in done.err
    faults = program.run("matrix", "check", "--against", copy, "--json").envelope["data"]["faults"]
    assert [(fault["table"], fault["row_key"]) for fault in faults] == [("gpus", "Voodoo 2 1.0")]
    assert program.run("matrix", "check", "--against", program.root / "nowhere").status == 2


@pytest.mark.slow
def test_the_plan_goes_to_a_file_whole_or_not_at_all(program: Program, mirrors: tuple[str, ...]) -> None:
    file = program.root / "work" / "plan.txt"
    file.write_text("before", encoding="utf-8")
    file.chmod(0o600)
    refused = program.run("plan", "-o", file, "torch==9.9", *H100, *mirrors)
    assert (refused.status, file.read_text(encoding="utf-8")) == (3, "before")
    done = program.run("plan", "-o", file, *H100, *mirrors)
    assert (done.status, done.out) == (0, "")
    assert "torch 2.14.1+cu126" in file.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o777 == 0o600
    assert os.listdir(file.parent) == ["plan.txt"]  # noqa: PTH208 - names alone are wanted
    both = program.run("plan", "-o", file, "--format", "requirements.txt", "--json", *H100, *mirrors)
    assert both.torch == "2.14.1+cu126"
    assert "torch==2.14.1+cu126" in file.read_text(encoding="utf-8").splitlines()
    as_json = program.run("plan", "--format", "json", *H100, *mirrors)
    assert as_json.torch == "2.14.1+cu126"


@pytest.mark.parametrize("place", ["/no/such/place/plan.txt", "/", "."])
def test_a_file_that_can_not_be_written_is_told(
    program: Program, mirrors: tuple[str, ...], place: str
) -> None:
    done = program.run("plan", "-o", place, "--json", *H100, *mirrors)
    assert (done.status, done.error["code"]) == (2, "unwritable")


@pytest.mark.parametrize("place", ["/dev/stdout", "-"])
def test_the_plan_can_be_written_to_stdout(program: Program, mirrors: tuple[str, ...], place: str) -> None:
    done = program.run("plan", "-o", place, "-q", *H100, *mirrors)
    assert (done.status, "torch 2.14.1+cu126" in done.out) == (0, True)


def test_a_device_is_written_to_and_never_replaced(program: Program, mirrors: tuple[str, ...]) -> None:
    link = program.root / "work" / "link"
    link.symlink_to(os.devnull)
    assert program.run("plan", "-o", link, *H100, *mirrors).status == 0
    assert link.is_symlink()
    assert Path(os.devnull).is_char_device()


@pytest.mark.slow
def test_names_in_a_saved_machine_may_be_anything(program: Program, mirrors: tuple[str, ...]) -> None:
    saved = program.root / "work" / "machine.json"
    text = program.run("detect", "--json").out
    gpu = (
        '"gpus": [{"index": 0, "name": "A \\ud800 \\u001b[31m$(touch pwned)", "compute_capability": "9.0",'
        ' "memory_mib": null, "uuid": null, "pci_id": null, "mig": null, "visible": true}]'
    )
    driver = '"driver": {"version": "570.133.07", "cuda": "12.8"}'
    changed = text.replace('"gpus": []', gpu, 1).replace('"driver": null', driver, 1)
    saved.write_text(changed, encoding="utf-8")
    if gpu not in saved.read_text(encoding="utf-8"):
        pytest.skip("this machine has GPUs of its own")
    for options in (("-o", "plan.sh", "--format", "uv"), ("--format", "uv"), ("--json",), ()):
        done = program.run("plan", "--machine", saved, *options, *mirrors)
        assert done.status in {0, 2}, done
        assert "Traceback" not in done.err
        assert "\x1b" not in done.out


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["C", "en_US.ISO-8859-1"])
def test_any_locale_will_do(program: Program, mirrors: tuple[str, ...], locale: str) -> None:
    foreign = program.with_(LANG=locale, LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    for arguments in (
        ("plan", *H100, *mirrors),
        ("plan", "日本"),
        ("create", "ümlaut", "--dry-run", *mirrors),
    ):
        done = foreign.run(*arguments, errors="replace")
        assert done.status in {0, 2}, done
        assert "Traceback" not in done.err
    assert foreign.run("plan", "--json", *H100, *mirrors).torch == "2.14.1+cu126"


def test_what_can_not_be_resolved_offline_says_what_offline_leaves_out(program: Program) -> None:
    done = program.run("plan", *H100, "--offline", "tinydep==99", "--json")
    assert (done.status, done.error["code"]) == (4, "index-unreachable")  # uv has no page in its cache
    assert "--offline" in done.error["fixes"][0]["text"]


def test_a_lock_of_a_build_that_no_index_here_has_is_not_called_a_conflict_offline(program: Program) -> None:
    page = program.root / "simple" / "torch" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text('<a href="torch-1.0.0-cp312-cp312-manylinux1_x86_64.whl">torch</a>')
    user = program.with_(PIP_INDEX_URL=page.parents[1].as_uri())
    done = user.run("plan", "--gpu", "RX 7900 XTX", "--offline", "--format", "pyproject", "--json")
    assert (done.status, done.error["code"]) == (4, "dependencies-unread")
    assert "without --offline" in done.error["fixes"][0]["text"]


@pytest.mark.parametrize("place", ["/proc/nonexistent", "/etc/passwd", "https://"])
def test_a_wheelhouse_that_is_none_is_bad_input(program: Program, place: str) -> None:
    done = program.run("plan", *H100, "--offline", "--find-links", place, "--json")
    assert (done.status, done.error["code"]) == (2, "bad-address")
    assert place in done.error["message"]


@pytest.mark.parametrize("columns", ["1", "20", "500", "wide"])
def test_any_width_of_the_terminal_will_do(program: Program, columns: str) -> None:
    done = program.with_(COLUMNS=columns).run("plan", "--help")
    assert done.status == 0
    assert "--cuda" in done.out


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_streams_may_be_closed(program: Program, mirrors: tuple[str, ...], closed: str) -> None:
    sign = {"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-"}[closed]
    words = [sys.executable, "-m", "gpuenv", "plan", *H100, *mirrors]
    script = f'exec "$@" {sign}'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *words],
        env=program.environ, cwd=program.root / "work", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("create x --cpu", "`--cuda cpu`"),
        ("create -n x torch", "`gpuenv create NAME`"),
        ("plan --index-url https://mirror.example/simple", "`--mirror URL`"),
        ("export x -c nvidia", None),
    ],
)
def test_an_option_of_another_tool_is_told_by_its_name_here(
    shared: Program, words: str, meant: str | None
) -> None:
    done = shared.run(*words.split())
    assert done.status == 2
    assert ("write it as" in done.err) == bool(meant)
    assert (meant or "no such option: -c") in done.err


def test_the_help_of_plan_names_each_format(shared: Program) -> None:
    named = re.sub(r"\s+", " ", shared.run("plan", "--help").out).partition("Output format:")[2]
    assert all(re.search(rf"[ ,]{re.escape(name)}[ ,.]", named) for name in get_args(FormatName))


@pytest.mark.parametrize("words", ["matrix show torch", "--version", "--help", "plan --help"])
def test_a_reader_that_leaves_is_no_error(program: Program, words: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = program.start(*words.split(), stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", ["matrix show cuda", "matrix show cuda --json", "--version", "--help"])
def test_a_full_disk_behind_stdout_is_told(program: Program, words: str) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = program.run(*words.split(), stdout=full)
    assert done.status == 2
    assert "error: " in done.err
    assert "Traceback" not in done.err
    assert done.err.count("\n") == 1


@pytest.mark.slow
def test_a_home_that_can_not_be_written_or_found_is_no_hindrance(
    program: Program, mirrors: tuple[str, ...]
) -> None:
    places = dict.fromkeys(
        ("GPUENV_CACHE_DIR", "GPUENV_DATA_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    )
    homeless = program.with_(HOME=None, **places)
    (program.root / "home").chmod(0o500)
    for user in (program.with_(**places), program.with_(HOME="/proc/nonexistent", **places), homeless):
        done = user.run("plan", "--json", *H100, *mirrors)
        assert done.torch == "2.14.1+cu126"
        assert user.run("list", "--json").data == {"environments": []}
    assert not list((program.root / "work").iterdir())


@pytest.fixture
def nobody() -> Iterator[Program]:
    """Run gpuenv as a number without a name or home, as in a container; skip where that can't be done."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # pytest's own directories are for its user alone
        program = make_program(Path(folder) / "user")
        try:
            process = subprocess.run(
                [sys.executable, "-c", "import gpuenv"], user=54321, env=program.environ, check=False
            )
        except PermissionError:
            process = None
        if process is None or process.returncode != 0:
            pytest.skip("this Python, or these sources, are for root alone")
        gone = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "GPUENV_CACHE_DIR"))
        yield program.with_(**gone)


def test_a_user_without_a_name_or_home_can_plan(nobody: Program, mirrors: tuple[str, ...]) -> None:
    assert nobody.run("plan", "--json", *H100, *mirrors, user=54321).torch == "2.14.1+cu126"


def test_a_directory_that_is_gone_is_told(program: Program) -> None:
    gone = program.root / "gone"
    gone.mkdir()
    words = [sys.executable, "-m", "gpuenv", "plan", "--json"]
    script = f'"{shutil.which("rmdir")}" "{gone}"; exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *words],
        env=program.environ, cwd=gone, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert '"no-directory"' in done.stdout


def test_a_data_directory_that_can_not_be_made_is_told(program: Program, mirrors: tuple[str, ...]) -> None:
    blocked = program.with_(GPUENV_DATA_DIR=os.devnull + "/data")
    done = blocked.run("create", "trial", "--yes", "--json", "--cuda", "cpu", *mirrors)
    assert done.status in {2, 5}
    assert "data" in done.error["message"]


@pytest.mark.parametrize("table", matrices.TABLES)
def test_each_table_can_be_looked_at(shared: Program, table: str) -> None:
    done = shared.run("matrix", "show", table)
    assert done.status == 0, done.err
    assert len(done.out.splitlines()) > 1
    assert table in shared.run("matrix", "show", "--help").out
