"""Of several indexes the first that has a name serves it; what could be meant otherwise is told by name."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacks import attack, held_off
from index_server import IndexServer, serve_indexes
from running import Done, Program
from tiny_stack import installed
from tiny_wheels import TAG, tiny_wheel

from gpuenv.process.uv_binary import find_embedded_uv

CPU = ("--cuda", "cpu", "--python", f"{sys.version_info[0]}.{sys.version_info[1]}")
BOTH = pytest.mark.parametrize("manager", ["uv", "pip"])


@pytest.fixture(autouse=True)
def _with_pip(request: pytest.FixtureRequest) -> None:
    if "create" in request.node.name and "pip" in request.node.name:
        pytest.importorskip("ensurepip")


@pytest.fixture
def extra() -> Iterator[IndexServer]:
    """A second index, with nothing on it yet."""
    with serve_indexes() as index:
        index.files.clear()
        yield index


@pytest.fixture
def public(server: IndexServer, tmp_path: Path) -> Iterator[IndexServer]:
    """The public index, on which a stranger has published a newer package of the lab's own name."""
    before = dict(server.files)
    server.publish(tiny_wheel(tmp_path / "stranger", "labtool", "99.0"), "pypi")
    yield server
    server.files = before
    server._pages.clear()


def configured(program: Program, manager: str, server: IndexServer, extra: str, **more: str) -> Program:
    """Write the user's own configuration: PyPI, and an index besides."""
    if manager == "pip":
        file = program.home / "pip.conf"
        file.write_text(f"[global]\nindex-url = {server.pypi}\nextra-index-url = {extra}\n")
        return program.with_(PIP_CONFIG_FILE=str(file))
    file = program.home / ".config" / "uv" / "uv.toml"
    file.parent.mkdir(parents=True)
    settings = {"index-url": server.pypi, **more}
    lines = "".join(f"{key} = {value!r}\n" for key, value in settings.items())
    file.write_text(f"{lines}[[index]]\nname = 'lab'\nurl = {extra!r}\n")
    return program


def decide(program: Program, server: IndexServer, *words: str, manager: str = "uv") -> Done:
    done = program.run(
        "plan", "torch==2.14.1", *words, *CPU, "--manager", manager, "--json", "--mirror", server.pytorch
    )
    assert done.status == 0, (done.out[-3000:], done.err[-2000:])
    return done


def told(done: Done, code: str) -> list[str]:
    return [item["message"] for item in done.envelope["warnings"] if item["code"] == code]


@attack(
    "publishes a newer package of a lab's own name on a public index",
    "theirs installed for the lab's",
    without="any-index-serves",
)
@BOTH
def test_a_plan_takes_the_labs_package_and_not_a_strangers(
    program: Program, public: IndexServer, extra: IndexServer, tmp_path: Path, manager: str
) -> None:
    extra.publish(tiny_wheel(tmp_path / "lab", "labtool", "1.0"), "pypi")
    user = configured(program, manager, public, extra.pypi)
    done = decide(user, public, "labtool", "tinydep", manager=manager)
    held_off(done.package("labtool")["version"] == "1.0")
    assert done.package("tinydep")["version"] == "1.0"
    (message,) = told(done, "index-shadowed")
    assert message.startswith("labtool:")
    assert extra.pypi in message
    assert public.pypi in message


@pytest.mark.slow
def test_what_an_extra_index_alone_has_is_no_reason_to_warn(
    program: Program, server: IndexServer, extra: IndexServer, tmp_path: Path
) -> None:
    extra.publish(tiny_wheel(tmp_path / "lab", "labtool", "1.0"), "pypi")
    done = decide(configured(program, "uv", server, extra.pypi), server, "labtool", "mylib")
    assert done.package("labtool")["version"] == "1.0"
    assert not told(done, "index-shadowed")


@pytest.mark.slow
@BOTH
def test_an_old_package_on_a_copy_of_the_pytorch_index_hides_none(
    program: Program, server: IndexServer, extra: IndexServer, tmp_path: Path, manager: str
) -> None:
    """As `extra-index-url = https://download.pytorch.org/whl/cu126`, which many have."""
    extra.publish(tiny_wheel(tmp_path / "old", "tinydep", "0.1"), "pytorch", "cpu")
    user = configured(program, manager, server, f"{extra.pytorch}/cpu")
    done = decide(user, server, "mylib", manager=manager)  # mylib needs tinydep>=0.9
    assert done.package("tinydep")["version"] == "1.0"
    assert done.torch == "2.14.1+cpu"


def test_an_extra_index_that_lists_torch_is_named_and_does_not_give_it(
    program: Program, server: IndexServer, extra: IndexServer, tmp_path: Path
) -> None:
    extra.publish(tiny_wheel(tmp_path / "lab", "torch", "2.14.1+cpu"), "pypi")
    done = decide(configured(program, "uv", server, extra.pypi), server)
    assert done.package("torch")["index"].startswith(server.pytorch)
    messages = told(done, "index-shadowed")
    assert any(
        "torch" in message and extra.pypi in message and server.pytorch in message for message in messages
    )


@pytest.mark.slow
def test_the_users_own_index_strategy_counts_and_is_told(
    program: Program, server: IndexServer, extra: IndexServer, tmp_path: Path
) -> None:
    extra.publish(tiny_wheel(tmp_path / "lab", "tinydep", "0.5"), "pypi")
    user = configured(program, "uv", server, extra.pypi, **{"index-strategy": "unsafe-best-match"})
    done = decide(user, server, "tinydep")
    assert done.package("tinydep")["version"] == "1.0"
    (message,) = told(done, "index-strategy")
    assert "uv.toml" in message


@pytest.mark.slow
@attack(
    "publishes a package of a lab's own name, and waits until the lab's index is down",
    "theirs installed for the lab's",
    without="what-is-unread-is-let-be",
)
@BOTH
def test_a_private_index_that_is_down_is_not_passed_over(
    program: Program, public: IndexServer, extra: IndexServer, manager: str
) -> None:
    extra.faults["/simple/"] = "500"
    user = configured(program, "pip", public, extra.pypi)
    words = ("plan", "torch==2.14.1", "labtool", *CPU, "--manager", manager, "--json")
    done = user.run(*words, "--mirror", public.pytorch)
    held_off(done.status != 0)
    assert (done.status, done.error["code"]) == (4, "index-unread")
    assert extra.pypi in done.error["message"]
    assert "labtool" in done.error["message"]


def test_a_private_index_that_is_down_does_not_keep_torch_back(
    program: Program, server: IndexServer, extra: IndexServer
) -> None:
    extra.faults["/simple/"] = "500"
    decide(configured(program, "pip", server, extra.pypi), server, manager="pip")


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        '[[index]]\nname = "inner"\nurl = "{url}"',
        'find-links = ["{url}"]',
        '[pip]\nextra-index-url = ["{url}"]',
    ],
    ids=["index", "find-links", "pip"],
)
def test_an_index_that_stops_uv_is_named_with_its_file(
    program: Program, server: IndexServer, extra: IndexServer, line: str
) -> None:
    extra.faults["/simple"] = "500"
    file = program.home / ".config/uv/uv.toml"
    file.parent.mkdir(parents=True)
    file.write_text(line.format(url=f"http://ada:hunter2@{extra.pypi.removeprefix('http://')}"))
    program = program.with_(UV_HTTP_RETRIES="0")
    done = program.run(
        "plan", "torch==2.14.1", "mylib", *CPU, "--mirror", server.pytorch, "--mirror", server.pypi, "--json"
    )
    assert (done.status, done.error["code"]) == (4, "index-unreachable"), done.out
    assert extra.pypi in done.error["message"]
    assert str(file) in str(done.error["because"][0]["source"])
    assert str(file) in done.error["fixes"][1]["text"]
    assert "hunter2" not in done.out


@BOTH
def test_create_installs_the_labs_package_and_not_a_strangers(
    program: Program, public: IndexServer, extra: IndexServer, tmp_path: Path, manager: str
) -> None:
    """Both have 1.0 too: the stranger's is another file of the same name."""
    extra.publish(tiny_wheel(tmp_path / "lab", "labtool", "1.0"), "pypi")
    evil = {"labtool/__init__.py": "EVIL = True\n"}
    for version in ("1.0", "1.0+cu128"):
        public.publish(tiny_wheel(tmp_path / "evil", "labtool", version, files=evil), "pypi")
    user = configured(program, manager, public, extra.pypi).with_(PIP_FORCE_REINSTALL="1")
    done = user.run(
        "create", "trial", "torch==2.14.1", "labtool", *CPU, "--manager", manager, "--yes", "--no-verify",
        "--json", "--mirror", public.pytorch,
    )  # fmt: skip
    assert done.status == 0, (done.out[-3000:], done.err[-2000:])
    path = program.environments / "trial"
    assert installed(path)["labtool"] == "1.0"
    (module,) = path.glob("lib/*/site-packages/labtool/__init__.py")
    assert "EVIL" not in module.read_text(encoding="utf-8")

    extra.publish(tiny_wheel(tmp_path / "lab", "labtool", "1.1"), "pypi")
    public.publish(tiny_wheel(tmp_path / "evil", "labtool", "1.1", files=evil), "pypi")
    done = user.run("update", "trial", "--yes", "--no-verify", "--json")
    assert done.status == 0, (done.out[-3000:], done.err[-2000:])
    assert installed(path)["labtool"] == "1.1"
    assert "EVIL" not in module.read_text(encoding="utf-8")


@pytest.mark.slow
def test_pasted_commands_of_uv_take_torch_from_its_address_whatever_is_configured_there(
    program: Program, server: IndexServer, extra: IndexServer, tmp_path: Path
) -> None:
    evil = {"torch/__init__.py": "EVIL = True\n", "torch/version.py": "cuda = None\n"}
    extra.publish(tiny_wheel(tmp_path / "evil", "torch", "2.14.1+cpu", tag=TAG, files=evil), "pypi")
    done = program.run(
        "plan", "torch==2.14.1", *CPU, "--manager", "uv", "--format", "uv", "--mirror", server.pytorch
    )
    assert done.status == 0, done.err
    configured(program, "uv", server, extra.pypi, **{"index-strategy": "unsafe-best-match"})
    environ = {**program.environ, "UV_CACHE_DIR": str(tmp_path / "uv")}
    for line in done.out.splitlines():
        words = shlex.split(line, comments=True)
        if words:
            argv = [str(find_embedded_uv()), *words[1:]]
            subprocess.run(argv, env=environ, cwd=tmp_path, check=True, capture_output=True)
    (module,) = tmp_path.glob(".venv/lib/*/site-packages/torch/__init__.py")
    assert "EVIL" not in module.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", [("install", "trial", "labtool"), ("doctor", "trial", "--fix")])
def test_only_binary_is_an_option_of_whatever_installs(program: Program, command: tuple[str, ...]) -> None:
    """The environment is unknown: what is refused is not the option."""
    done = program.run(*command, "--only-binary", "--yes", "--json")
    assert done.error["code"] != "usage"
