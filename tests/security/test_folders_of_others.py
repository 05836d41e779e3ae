"""What other users own or may change is nothing to keep environments in; odd paths are refused."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from gpuenv.cli.main import run
from gpuenv.environments.file_lock import locked
from gpuenv.environments.folders import mounts, owners
from gpuenv.environments.folders.mounts import kind_of, parse_mountinfo
from gpuenv.environments.folders.preconditions import check_beginning
from gpuenv.environments.store import find_place
from gpuenv.model.errors import UsageError
from gpuenv.operations import create as creating

STRANGER = 12345
POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has other owners")
ROOT = pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0, reason="only root can give files to somebody else"
)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    for name in ("data", "cache", "tmp", "home"):
        (tmp_path / name).mkdir(mode=0o755)
    return {
        "GPUENV_DATA_DIR": str(tmp_path / "data"),
        "GPUENV_CACHE_DIR": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path / "tmp"),
        "HOME": str(tmp_path / "home"),
    }


def refusal(environ: dict[str, str], name: str = "paper") -> UsageError:
    with pytest.raises(UsageError) as raised:
        check_beginning(find_place(name, environ), environ)
    assert raised.value.exit_code == 2
    return raised.value


def text_of(error: UsageError) -> str:
    return "\n".join((error.message, *(f"{fix.text} {fix.command or ''}" for fix in error.fixes)))


def test_folders_of_ones_own_are_fine(environ: dict[str, str]) -> None:
    check_beginning(find_place("paper", environ), environ)
    assert not list(Path(environ["GPUENV_DATA_DIR"]).rglob(".trial-*"))


FOLDERS = (("data", "GPUENV_DATA_DIR"), ("cache", "GPUENV_CACHE_DIR"), ("tmp", "TMPDIR"))


@ROOT
@pytest.mark.parametrize(("folder", "variable"), FOLDERS)
def test_a_folder_of_another_user_is_refused_by_its_name(
    environ: dict[str, str], tmp_path: Path, folder: str, variable: str
) -> None:
    os.chown(tmp_path / folder, STRANGER, STRANGER)
    error = refusal(environ)
    assert error.code == "foreign-folder"
    for word in (str(tmp_path / folder), str(STRANGER), variable):
        assert word in text_of(error)


@POSIX
@pytest.mark.parametrize(("folder", "variable"), FOLDERS)
def test_a_folder_that_everybody_may_change_is_refused_by_its_name(
    environ: dict[str, str], tmp_path: Path, folder: str, variable: str
) -> None:
    (tmp_path / folder).chmod(0o777)
    error = refusal(environ)
    assert error.code == "foreign-folder"
    for word in (str(tmp_path / folder), "chmod o-w", variable):
        assert word in text_of(error)


@POSIX
@pytest.mark.parametrize("mode", [0o1777, 0o2775, 0o775, 0o700])
def test_sticky_and_group_folders_of_ones_own_are_fine(
    environ: dict[str, str], tmp_path: Path, mode: int
) -> None:
    """/scratch is sticky; with a umask of 002 all folders are the group's to write."""
    for name in ("data", "cache", "tmp"):
        (tmp_path / name).chmod(mode)
    check_beginning(find_place("paper", environ), environ)


@POSIX
def test_in_a_folder_open_to_all_a_folder_of_ones_own_is_fine(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """A volume of a cluster is often open to all: data goes into a folder in it, which gpuenv makes."""
    tmp_path.chmod(0o777)
    mine = environ | {"GPUENV_DATA_DIR": str(tmp_path / "fresh")}
    check_beginning(find_place("paper", mine), mine)
    assert "own" in text_of(refusal(environ, str(tmp_path / "here")))


@POSIX
def test_modes_that_a_file_system_makes_up_are_nothing_against_it(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows' disks in WSL and CIFS shares show 0777 for all."""
    (tmp_path / "data").chmod(0o777)
    table = tmp_path / "mountinfo"
    table.write_text(f"36 35 0:40 / {tmp_path} rw - 9p drvfs rw\n", encoding="utf-8")
    monkeypatch.setattr(mounts, "_MOUNTS", table)
    check_beginning(find_place("paper", environ), environ)


@ROOT
def test_whom_a_container_or_a_server_does_not_know_is_nobody_else(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(tmp_path / "data", 65534, 65534)
    assert refusal(environ).code == "foreign-folder"
    table = tmp_path / "uid_map"
    table.write_text("0 1000 1\n1 100000 65536\n", encoding="ascii")
    monkeypatch.setattr(owners, "_UID_MAP", table)
    check_beginning(find_place("paper", environ), environ)


@ROOT
def test_root_makes_nothing_in_the_home_of_another(environ: dict[str, str], tmp_path: Path) -> None:
    """As `sudo -E` would: the user could not use it afterwards."""
    os.chown(tmp_path / "home", STRANGER, STRANGER)
    with pytest.raises(UsageError) as raised:
        owners.check_folder(tmp_path / "home" / ".local" / "share" / "gpuenv", owners.DATA, named=False)
    assert "without sudo" in text_of(raised.value)


@ROOT
def test_an_environment_of_another_user_is_not_changed(environ: dict[str, str], tmp_path: Path) -> None:
    environment = find_place("paper", environ)
    environment.path.mkdir(parents=True)
    os.chown(environment.path, STRANGER, STRANGER)
    with pytest.raises(UsageError, match=str(STRANGER)) as raised, locked(environment):
        pass
    assert raised.value.code == "other-owner"


@ROOT
def test_nothing_is_written_into_a_data_folder_of_another_user(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """`list` reads it, as one reads an admin's."""
    os.chown(tmp_path / "data", STRANGER, STRANGER)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    for words in (["create", "paper", "--yes", "--offline"], ["list"]):
        status = run([*words, "--json"])
        answer = json.loads(capsys.readouterr().out)
        assert (status, (answer["error"] or {}).get("code")) in {(2, "foreign-folder"), (0, None)}
        assert list((tmp_path / "data").iterdir()) == []


# what paths hold


@POSIX
@pytest.mark.parametrize("letter", [":", "\n", "\t", "\x7f", "\udcff"])
def test_a_data_path_that_no_script_can_hold_is_refused(environ: dict[str, str], letter: str) -> None:
    odd = environ | {"GPUENV_DATA_DIR": f"{environ['GPUENV_DATA_DIR']}/a{letter}b"}
    error = refusal(odd)
    assert error.code == "bad-path"
    assert "GPUENV_DATA_DIR" in text_of(error)
    assert error.message.isprintable()
    assert not Path(odd["GPUENV_DATA_DIR"]).exists()


@POSIX
def test_a_path_of_the_users_own_is_looked_at_too(environ: dict[str, str], tmp_path: Path) -> None:
    assert refusal(environ, str(tmp_path / "a:b" / "env")).code == "bad-path"


@pytest.mark.parametrize("name", ["a b", "ü", "环境", "a'b", "-x", "a%b"])
def test_paths_that_tools_can_hold_are_fine(environ: dict[str, str], name: str) -> None:
    odd = environ | {"GPUENV_DATA_DIR": str(Path(environ["GPUENV_DATA_DIR"]) / name)}
    check_beginning(find_place("paper", odd), odd)


@POSIX
@pytest.mark.parametrize("path", ["x" * 256 + "/env", "/".join(["y" * 200] * 15), "/".join(["z" * 200] * 25)])
def test_paths_that_are_too_long_are_refused(environ: dict[str, str], path: str) -> None:
    root = environ["GPUENV_DATA_DIR"]
    error = refusal(environ | {"GPUENV_DATA_DIR": f"{root}/{path}"})
    assert "GPUENV_DATA_DIR" in text_of(error)
    assert len(error.message) < 1000
    assert list(Path(root).iterdir()) == []


@POSIX
def test_a_folder_with_a_name_of_255_bytes_is_fine(environ: dict[str, str]) -> None:
    long = environ | {"GPUENV_DATA_DIR": f"{environ['GPUENV_DATA_DIR']}/{'x' * 255}"}
    check_beginning(find_place("paper", long), long)


NAMES = (".", "..", "../x/..", "x" * 255, "./" + "x" * 255, "con", "aux.txt", "-x", "a/../..")


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_none_are_refused_at_the_start(
    environ: dict[str, str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home" / "file").touch()
    monkeypatch.chdir(tmp_path / "home")
    with pytest.raises(UsageError):
        creating.check_name(name, environ=environ, force=True)


def test_names_that_differ_by_case_alone_are_refused(environ: dict[str, str]) -> None:
    find_place("Paper", environ).path.mkdir(parents=True)
    error = refusal(environ, "paper")
    assert error.code == "bad-name"
    assert "Paper" in error.message


# locks


@POSIX
def test_a_file_system_without_locks_is_named(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    table = tmp_path / "mountinfo"
    table.write_text(f"36 35 0:40 / {tmp_path} rw - nfs lab:/home rw\n", encoding="utf-8")
    monkeypatch.setattr(mounts, "_MOUNTS", table)
    monkeypatch.setattr("fcntl.flock", refuse)
    error = refusal(environ)
    assert error.code == "no-locks"
    assert "nfs" in error.because[0].text
    assert "GPUENV_DATA_DIR" in text_of(error)


def test_the_innermost_mount_counts() -> None:
    table = parse_mountinfo(
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "36 22 0:40 / /home rw,noatime shared:1 - nfs4 lab:/home rw,vers=4.2\n"
        "37 36 0:41 / /home/my\\040lab rw - lustre mgs:/lab rw\n"
        "garbled\n"
    )
    assert kind_of("/home/ada/x", table) == "nfs4"
    assert kind_of("/home/my lab/x", table) == "lustre"
    assert kind_of("/homes/x", table) == "ext4"
    assert kind_of("/x", ()) is None
