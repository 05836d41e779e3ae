"""Mirrors whose files are wrong: `create` finds out, takes the next, and keeps nothing of the first."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import pytest
import tiny_stack
from replica_network import Network
from replica_server import Fault
from running import Done, Program
from sampling import every
from tiny_wheels import TAG, tiny_torch, tiny_torchvision, tiny_wheel

CPU = ("torch==2.14.1", "--cuda", "cpu", "--python", f"{sys.version_info[0]}.{sys.version_info[1]}")
TORCH = "torch-2.14.1"


@pytest.fixture(scope="module", autouse=True)
def _wheels(network: Network, tmp_path_factory: pytest.TempPathFactory) -> None:
    here = tmp_path_factory.mktemp("wheels")
    network.publish(tiny_torch(here, "2.14.1+cpu"), "cpu")
    network.publish(tiny_torchvision(here, "0.29.1+cpu"), "cpu")
    network.publish(tiny_wheel(here, "tinydep", "1.0"))
    network.publish(tiny_wheel(here, "mylib", "2.0", requires=("tinydep>=1",), tag=TAG))


@pytest.fixture(autouse=True)
def _nothing_asked_yet(network: Network) -> None:
    network.forget()


def create(user: Program, *mirrors: str, more: tuple[str, ...] = ()) -> Done:
    named = [word for mirror in mirrors for word in ("--mirror", mirror)]
    return user.run("create", "trial", *CPU, *more, "--yes", "--json", *named)


def installed(user: Program) -> dict[str, str]:
    return tiny_stack.installed(user.environments / "trial")


def told(done: Done, network: Network, mirror: str, *words: str) -> bool:
    """Whether what a person reads names the mirror and has one of the words."""
    text = done.err + json.dumps([done.envelope["warnings"], done.envelope["error"]])
    named = mirror in text or network.replicas[mirror].host in text
    return named and any(word in text.lower() for word in words)


def left_over(user: Program, content: bytes) -> list[Path]:
    """The files under the user's directories that begin as the wrong file did."""
    start = content[:200]
    places = [user.root / name for name in ("data", "cache", "tmp", "home", "work")]
    files = [path for location in places for path in location.rglob("*") if path.is_file()]
    return [path for path in files if start in path.read_bytes()]


# the fault of NJU's wheels, a word of which one must be told
WRONG: tuple[tuple[Fault, tuple[str, ...]], ...] = (
    ("truncated", ("hash", "digest", "sha256", "short", "size")),  # FM16
    ("wrong", ("hash", "digest", "sha256")),  # FM16
    ("403", ("403",)),  # FM01
    ("404", ("404", "missing", "not there", "does not have")),
    ("504", ("504",)),  # FM06
    ("reset", ("connection",)),  # FM15
    ("hang", ("timed out", "stall", "nothing")),
    ("soft-404", ("hash", "digest", "sha256", "text", "no wheel", "html", "size")),
    ("portal", ("hash", "digest", "sha256", "text", "no wheel", "html", "size")),
    ("loop", ("redirect",)),
)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "words"), every(3, WRONG))
def test_a_file_that_is_not_what_was_listed_is_had_from_the_next_mirror(
    user: Program, network: Network, fault: Fault, words: tuple[str, ...]
) -> None:
    held = network.shelf("nju").torch("torch", "cpu")
    content = next(file.content for file in held if file.content)
    quick = user.with_(UV_HTTP_TIMEOUT="2", GPUENV_HTTP_TIMEOUT="2")
    with network.failing("nju", fault, TORCH):
        done = create(quick, "nju", "sjtu", "tuna")
    assert done.status == 0, done.out + done.err
    assert installed(user) == {"torch": "2.14.1+cpu"}
    assert "sjtu_store" in network.files_from()
    assert told(done, network, "nju", *words), (done.err, done.envelope["warnings"])
    if fault == "wrong":
        assert left_over(user, bytes(byte ^ 0x55 for byte in content)) == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["truncated", "wrong"])
def test_a_file_that_no_mirror_has_whole_is_never_installed(
    user: Program, network: Network, fault: Fault
) -> None:
    with network.failing("nju", fault, TORCH):
        done = create(user, "nju", "tuna")
    if done.status == 0:  # another release than the one that is broken was asked for: there is none
        pytest.fail(done.out)
    assert done.status == 5
    assert told(done, network, "nju", "hash", "digest", "sha256")
    assert "ignore" not in json.dumps(done.error["fixes"])
    assert "--no-" not in json.dumps(done.error["fixes"])
    assert not (user.environments / "trial").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_what_came_before_an_interruption_is_not_fetched_again(user: Program, network: Network) -> None:
    size = next(len(file.content) for file in network.shelf("nju").torch("torch", "cpu") if file.content)
    with network.failing("nju", "stall", TORCH):
        process = user.start(
            "create", "trial", *CPU, "--yes", "--json", "--mirror", "nju", "--mirror", "tuna"
        )
        part = _part_of(user, size // 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130, out + err
    assert part.stat().st_size == size // 2
    wheels = part.parents[1]
    assert [path for path in wheels.rglob("*.whl") if path.name.startswith(TORCH)] == []
    assert not (user.environments / "trial").exists()
    network.forget()
    network.replicas["nju"].sent = 0
    assert create(user, "nju", "tuna").status == 0
    assert network.replicas["nju"].sent == size - size // 2
    assert not part.exists()


def _part_of(user: Program, size: int) -> Path:
    """Wait until so much of a file has come."""
    for _ in range(2000):
        parts = (path for path in user.root.rglob("wheels/parts/*.part") if path.stat().st_size >= size)
        if (part := next(parts, None)) is not None:
            return part
        time.sleep(0.01)
    return pytest.fail("nothing came")


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["cut", "cut-once", "reset-once", "503-once"])
def test_a_download_that_breaks_goes_on_where_it_was(user: Program, network: Network, fault: Fault) -> None:
    """FM15: connections are reset on large files; a ranged request has the rest."""
    with network.failing("aliyun", fault, TORCH):
        done = create(user, "aliyun", "tuna")
    assert done.status == 0, done.out + done.err
    assert installed(user) == {"torch": "2.14.1+cpu"}
    if fault == "cut-once":
        held = network.shelf("aliyun").torch("torch", "cpu")
        size = next(len(file.content) for file in held if file.content)
        assert network.aliyun.sent <= size + (1 << 16)


@pytest.mark.slow
def test_a_mirror_without_ranges_is_read_from_the_start_again(user: Program, network: Network) -> None:
    with network.failing("aliyun", "no-ranges", TORCH):
        done = create(user, "aliyun", "tuna")
    assert done.status == 0, done.out + done.err
    assert installed(user) == {"torch": "2.14.1+cpu"}


@pytest.mark.slow
def test_a_wrong_file_of_a_mirror_without_digests_is_no_wheel_and_had_from_another(
    user: Program, network: Network
) -> None:
    """Aliyun tells no digests, and NJU's word does not condemn Aliyun's file: that it is no wheel does."""
    with network.failing("aliyun", "wrong", TORCH):
        done = create(user, "aliyun", "nju", "tuna")
    assert done.status == 0, done.out + done.err
    assert installed(user) == {"torch": "2.14.1+cpu"}
    assert told(done, network, "aliyun", "not a zip file")


@pytest.mark.slow
def test_a_wrong_file_that_nobody_knows_the_digest_of_is_no_wheel(user: Program, network: Network) -> None:
    with network.failing("aliyun", "wrong", TORCH):
        done = create(user, "aliyun", "tuna")
    assert done.status == 5
    assert not (user.environments / "trial").exists()


@pytest.mark.slow
def test_the_rest_is_had_from_a_mirror_of_pypi_that_serves_it(user: Program, network: Network) -> None:
    """FM06: SJTU sends PyPI's files on to storage that answers 504."""
    with network.failing("sjtu_store", "504", "packages"):
        done = create(user, "nju", "sjtu", "tuna", more=("mylib",))
    assert done.status == 0, done.out + done.err
    assert installed(user) == {"torch": "2.14.1+cpu", "mylib": "2.0", "tinydep": "1.0"}


@pytest.mark.slow
def test_metadata_that_is_announced_and_missing_is_done_without(user: Program, network: Network) -> None:
    """FM36: PEP 658 on the page, 404 for the file, at which uv and pip give up."""
    with network.failing("nju", "404", ".metadata"):
        done = create(user, "nju", "tuna")
    assert done.status == 0, done.out + done.err
    assert installed(user) == {"torch": "2.14.1+cpu"}
    assert set(network.files_from()) == {"nju"}


@pytest.mark.slow
def test_another_mirror_of_pypi_is_taken_where_metadata_is_missing(user: Program, network: Network) -> None:
    """FM36: whatever uv reads there fails."""
    with network.failing("tuna", "404", ".metadata"):
        done = create(user, "nju", "tuna", "huawei", more=("mylib",))
    assert done.status == 0, done.out + done.err
    assert installed(user) == {"torch": "2.14.1+cpu", "mylib": "2.0", "tinydep": "1.0"}
    assert told(done, network, "tuna", "404", "metadata")


@pytest.mark.slow
def test_another_package_does_not_bring_another_torch(user: Program, network: Network) -> None:
    """FM20: the mirror of PyPI has a newer torch, of another build."""
    made = tiny_wheel(user.root / "wheels", "wantstorch", "1.0", requires=("torch>=2",), tag=TAG)
    network.publish(made)
    network.publish(tiny_torch(user.root / "wheels", "2.15.0"))
    done = create(user, "nju", "tuna", more=("wantstorch",))
    assert done.status == 0, done.out + done.err
    assert installed(user)["torch"] == "2.14.1+cpu"


@pytest.mark.slow
def test_dependencies_come_from_the_mirror_of_pypi(user: Program, network: Network) -> None:
    """FM11, FM37: torch's index links theirs to elsewhere, or drops them."""
    made = tiny_wheel(user.root / "wheels", "nvidia_tiny", "1.0")
    network.publish(made)
    network.publish(tiny_wheel(user.root / "wheels", "wantscuda", "1.0", requires=("nvidia-tiny",)))
    done = create(user, "nju", "tuna", more=("wantscuda",))
    assert done.status == 0, done.out + done.err
    assert installed(user)["nvidia-tiny"] == "1.0"
    assert not network.nvidia.asked
    assert set(network.files_from()) == {"nju", "tuna"}
