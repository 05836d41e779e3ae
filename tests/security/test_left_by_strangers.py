"""What looks like a change of gpuenv's that was killed is a stranger's until gpuenv's own ledger proves it.

Whoever may write into an environment, or hands one on, can put such things there; whoever owns a data folder
that GPUENV_DATA_DIR names can put journals there. Nothing outside the environment changes, nothing hangs.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from attacks import attack, held_off
from running import Program

from gpuenv.environments import ledger, renaming, snapshot
from gpuenv.environments import transaction as apply
from gpuenv.environments.contents import last_use as usage
from gpuenv.environments.contents.last_use import mark_used
from gpuenv.environments.journal import write_journal
from gpuenv.environments.pending import is_half_done
from gpuenv.environments.renaming import MovedKernel
from gpuenv.model.errors import InstallFailed, UsageError
from gpuenv.on_disk.directories import identity_of
from gpuenv.on_disk.journal import new_journal
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore
from gpuenv.operations.find import existing, list_all, list_interrupted
from gpuenv.operations.interrupted_change import mend, place_at
from gpuenv.operations.manage import remove

STRANGER = 12345
SITE = Path("lib", "python3.12", "site-packages")
as_root = pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0, reason="only root can give files to somebody else"
)
Plant = Callable[[EnvironmentPaths, Path], None]


@pytest.fixture
def store(tmp_path: Path) -> EnvironmentStore:
    return EnvironmentStore(tmp_path / "data")


@pytest.fixture
def environ(store: EnvironmentStore, tmp_path: Path) -> dict[str, str]:
    return {"GPUENV_DATA_DIR": str(store.root), "GPUENV_CACHE_DIR": str(tmp_path / "cache"), "PATH": ""}


@pytest.fixture
def place(store: EnvironmentStore) -> EnvironmentPaths:
    return make(EnvironmentPaths(store, "paper", store.environments / "paper"))


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a folder of the user's own, with what nobody may change."""
    folder = tmp_path / "thesis"
    (folder / "torch").mkdir(parents=True)
    for name in ("thesis.tex", "torch/version.py", "torch-1.0.pyc"):
        (folder / name).write_text("mine")
    return folder


def make(place: EnvironmentPaths) -> EnvironmentPaths:
    site = place.path / SITE
    info = site / "torch-2.14.1.dist-info"
    info.mkdir(parents=True)
    (place.path / "bin").mkdir()
    for file, text in {
        place.path / "pyvenv.cfg": "home = /usr/bin\n",
        place.path / "bin" / "python": "#!/bin/sh\n",
        info / "METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.14.1\n",
        info / "RECORD": "torch/version.py,,\n",
        place.path / "gpuenv.json": json.dumps(
            {"schema_version": 1, "state": "complete", "name": "paper", "created": "", "manager": "uv",
             "plan": {}, "verified": None}
        ),
    }.items():  # fmt: skip
        file.write_text(text)
    (site / "torch").mkdir()
    (site / "torch" / "version.py").write_text("cuda = None\n")
    return place


def state(root: Path) -> dict[str, tuple[int, int, str]]:
    """Return all that lies in a folder: kinds and modes, times, contents."""
    strs = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = ""
        if path.is_file():
            with path.open("rb") as file:
                content = hashlib.sha256(file.read(1 << 20)).hexdigest()
        strs[str(path)] = (status.st_mode, status.st_mtime_ns, content)
    return strs


def attempt(act: Callable[[], object]) -> None:
    """Do something that may be refused: exit 2 or 5."""
    with suppress(UsageError, InstallFailed):
        act()


def change(place: EnvironmentPaths) -> None:
    """Do what each command that changes an environment does first, then a change that fails."""
    from gpuenv.environments.file_lock import locked  # noqa: PLC0415
    from gpuenv.environments.snapshot import changing_in_place  # noqa: PLC0415

    with locked(place):
        apply.recover(place)
        with changing_in_place(place, (str(place.path / SITE),), ("torch",)):
            pass


def replace_it(place: EnvironmentPaths) -> None:
    """Do what `create --force` does first."""
    with apply.changing(place, force=True):
        pass


# --- planted in the environment, by what older gpuenvs and this one call their folders


def plant_manifest(place: EnvironmentPaths, outside: Path, folder: str) -> Path:
    kept = place.path / folder
    (kept / "files").mkdir(parents=True)
    up = os.path.relpath(outside, place.path)
    document = {
        "names": ["torch"], "places": [str(SITE), up, str(outside)], "before": [], "cleared": False,
        "old": str(outside), "new": str(place.path), "token": folder.rpartition("-")[2],
        "kernels": [{"before": str(outside), "after": str(outside), "text": "{}"}],
    }  # fmt: skip
    for name in ("manifest.json", "journal.json", "token"):
        (kept / name).write_text(json.dumps(document))
    return kept


def _linked_file(place: EnvironmentPaths, outside: Path, folder: str) -> None:
    (plant_manifest(place, outside, folder) / "files" / "thesis.tex").symlink_to(outside / "thesis.tex")


def _linked_folder(place: EnvironmentPaths, outside: Path, folder: str) -> None:
    (plant_manifest(place, outside, folder) / "files" / "lib").symlink_to(outside)


def _whole_folder_is_a_link(place: EnvironmentPaths, outside: Path, folder: str) -> None:
    kept = plant_manifest(place, outside, folder)
    kept.rename(outside.with_name("elsewhere"))
    kept.symlink_to(outside.with_name("elsewhere"))


def _packages_are_a_link(place: EnvironmentPaths, outside: Path, folder: str) -> None:
    plant_manifest(place, outside, folder)
    theirs = place.path / SITE / "torch"
    for file in theirs.iterdir():
        file.unlink()
    theirs.rmdir()
    theirs.symlink_to(outside / "torch")


def _hard_link(place: EnvironmentPaths, outside: Path, folder: str) -> None:
    kept = plant_manifest(place, outside, folder)
    os.link(outside / "thesis.tex", kept / "files" / "gpuenv.json")
    os.link(outside / "thesis.tex", place.path / ".gpuenv-used")


def _pipe(place: EnvironmentPaths, outside: Path, folder: str) -> None:
    kept = plant_manifest(place, outside, folder)
    (kept / "manifest.json").unlink()
    os.mkfifo(kept / "manifest.json")
    os.mkfifo(kept / "files" / "gpuenv.json")


def _huge(place: EnvironmentPaths, outside: Path, folder: str) -> None:
    with (plant_manifest(place, outside, folder) / "manifest.json").open("r+") as file:
        file.truncate(1 << 40)


def _truncated(place: EnvironmentPaths, outside: Path, folder: str) -> None:
    (plant_manifest(place, outside, folder) / "manifest.json").write_text('{"names": ["tor')


INSIDE = [
    _linked_file, _linked_folder, _whole_folder_is_a_link, _packages_are_a_link, _hard_link, _pipe, _huge,
    _truncated,
]  # fmt: skip
FOLDERS = [".gpuenv-repair", ".gpuenv-renaming", f".gpuenv-repair-{'a' * 32}", f".gpuenv-renaming-{'a' * 32}"]


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("plant", INSIDE, ids=lambda plant: plant.__name__.strip("_"))
def test_what_is_planted_in_an_environment_is_no_change_of_ours(
    place: EnvironmentPaths, outside: Path, environ: dict[str, str], plant: Callable[..., None], folder: str
) -> None:
    plant(place, outside, folder)
    before, inside = state(outside), state(place.path)
    assert list_interrupted(environ) == ()
    assert [environment.paths.name for environment in list_all(environ)] == ["paper"]
    assert existing("paper", environ).paths.path == place.path
    assert not is_half_done(place)
    assert not mend(place)
    assert state(place.path) == inside
    mark_used(place.path)
    attempt(lambda: change(place))
    assert state(outside) == before
    assert os.path.lexists(place.path / folder)  # it may be what a gpuenv with another data folder needs


def test_the_token_of_another_environment_is_of_no_use(
    place: EnvironmentPaths, store: EnvironmentStore, outside: Path, environ: dict[str, str]
) -> None:
    other = make(EnvironmentPaths(store, "other", store.environments / "other"))
    entry = snapshot.take(other, (str(other.path / SITE),), ("torch",))
    kept = place.path / entry.folder(other.path).name
    (kept / "files").mkdir(parents=True)
    (kept / "files" / "thesis.tex").symlink_to(outside)
    inside = state(place.path)
    assert not mend(place)
    assert state(place.path) == inside
    assert [environment.path for environment in list_interrupted(environ)] == [other.path]
    assert mend(other)


# --- a change of ours that was killed, in an environment that others may write


def kill(place: EnvironmentPaths) -> Path:
    """Leave a change of ours half-done; return where its files are kept."""
    return snapshot.take(place, (str(place.path / SITE),), ("torch",)).folder(place.path) / "files"


@attack(
    "puts a link into an environment in which a change was killed",
    "a file outside replaced by the repair",
    without="links-are-followed",
)
def test_a_link_among_the_kept_files_leads_nowhere(place: EnvironmentPaths, outside: Path) -> None:
    kept = kill(place)
    (kept / "share").mkdir()
    (kept / "share" / "thesis.tex").write_text("theirs")
    (place.path / "share").symlink_to(outside)
    before, inside = state(outside), state(place.path / SITE)
    attempt(lambda: mend(place))
    held_off(state(outside) == before)
    assert state(place.path / SITE) == inside  # nothing was begun
    with pytest.raises(InstallFailed) as raised:
        mend(place)
    assert (raised.value.code, raised.value.exit_code) == ("roll-back-failed", 5)


@attack(
    "makes a package a link in an environment in which a change was killed",
    "files outside removed by the repair",
    without="links-are-followed",
)
def test_packages_that_have_become_a_link_are_not_emptied(place: EnvironmentPaths, outside: Path) -> None:
    kill(place)
    for file in (place.path / SITE / "torch").iterdir():
        file.unlink()
    (place.path / SITE / "torch").rmdir()
    (place.path / SITE / "torch").symlink_to(outside / "torch")
    before = state(outside)
    attempt(lambda: mend(place))
    held_off(state(outside) == before)


@attack(
    "puts a link in place of what was kept for a change",
    "files outside moved by the repair",
    without="links-are-followed+any-folder-is-own",
)
def test_a_link_in_place_of_the_kept_folder_is_refused(place: EnvironmentPaths, outside: Path) -> None:
    folder = kill(place).parent
    folder.rename(outside / "files-of-others")
    (outside / "files").mkdir()
    (outside / "files" / "thesis.bib").write_text("mine")
    folder.symlink_to(outside)
    before = state(outside)
    attempt(lambda: mend(place))
    held_off(state(outside) == before)
    with pytest.raises(UsageError) as raised:
        mend(place)
    assert (raised.value.code, raised.value.exit_code) == ("not-own", 2)


@as_root
@attack("owns what was kept for a change", "their files in the environment", without="any-owner")
@pytest.mark.parametrize("part", ["folder", "file"])
def test_files_of_another_user_are_not_brought_back(place: EnvironmentPaths, part: str) -> None:
    kept = kill(place)
    given = {"folder": kept.parent, "file": kept / SITE / "torch" / "version.py"}[part]
    os.chown(given, STRANGER, STRANGER)
    before = state(place.path)
    attempt(lambda: mend(place))
    held_off(state(place.path) == before)
    with pytest.raises((UsageError, InstallFailed)) as raised:
        mend(place)
    assert raised.value.code in {"not-own", "roll-back-failed"}


@attack(
    "puts a link into an environment of which a renaming was killed",
    "a file outside replaced",
    without="links-are-followed",
)
@pytest.mark.parametrize("kind", ["gone", "whole"])
def test_a_renaming_of_ours_does_not_write_through_links(
    place: EnvironmentPaths, outside: Path, kind: str
) -> None:
    target = EnvironmentPaths(place.store, "second", place.store.environments / "second")
    entry = ledger.note(place, ledger.new_entry("renaming"))
    folder = entry.folder(place.path)
    (folder / "share").mkdir(parents=True)
    (folder / "share" / "thesis.tex").write_text("theirs")
    kernel = MovedKernel(str(outside), str(outside), "{}")
    renaming.begin(place, target, entry, (kernel,) if kind == "whole" else ())
    place.path.rename(target.path)
    (target.path / "share").symlink_to(outside)
    before = state(outside)
    attempt(lambda: mend(target))
    held_off(state(outside) == before)


# --- planted in a data folder


def building(place: EnvironmentPaths, outside: Path) -> str:
    """Return a journal that makes the user's own folder look like a half-made environment."""
    victim = EnvironmentPaths(place.store, outside.name, outside)
    file = write_and_forget(victim).journal
    text = file.read_text()
    file.unlink()
    return text


def write_and_forget(victim: EnvironmentPaths) -> EnvironmentPaths:
    from dataclasses import replace  # noqa: PLC0415

    write_journal(
        victim, replace(new_journal(victim.path, replaces=False), identity=identity_of(victim.path))
    )
    return victim


def put(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o600)
    return file


def plant_journal(place: EnvironmentPaths, outside: Path) -> tuple[EnvironmentPaths, Path]:
    victim = EnvironmentPaths(place.store, outside.name, outside)
    return victim, put(victim.journal, building(place, outside))


def look_and_mend(victim: EnvironmentPaths, environ: dict[str, str]) -> None:
    assert list_all(environ)
    list_interrupted(environ)
    attempt(lambda: is_half_done(victim))
    attempt(lambda: mend(victim))
    attempt(lambda: remove(str(victim.path), environ, wait_s=0))


def test_the_way_a_journal_would_succeed(
    place: EnvironmentPaths, outside: Path, environ: dict[str, str]
) -> None:
    """The same journal, were it the user's own: what the tests below are held against."""
    victim, _ = plant_journal(place, outside)
    assert [environment.path for environment in list_interrupted(environ)] == [outside]
    assert mend(victim)
    assert not outside.exists()


@as_root
@attack(
    "owns a data folder, or a journal in one",
    "a folder of the user's removed",
    without="journals-are-believed",
)
@pytest.mark.parametrize("part", ["file", "folder", "both"])
def test_a_journal_of_another_user_is_not_followed(
    place: EnvironmentPaths, outside: Path, environ: dict[str, str], part: str
) -> None:
    victim, file = plant_journal(place, outside)
    for path in (file,) * (part != "folder") + (file.parent,) * (part != "file"):
        os.chown(path, STRANGER, STRANGER)
    before = state(outside)
    look_and_mend(victim, environ)
    held_off(state(outside) == before)


@attack(
    "may write a journal in the user's data folder",
    "a folder of the user's removed",
    without="journals-are-believed",
)
@pytest.mark.parametrize("how", ["link", "hard-link", "writable"])
def test_a_journal_that_others_may_have_written_is_not_followed(
    place: EnvironmentPaths, outside: Path, environ: dict[str, str], how: str
) -> None:
    victim, _ = plant_journal_as(how, place, outside)
    before = state(outside)
    look_and_mend(victim, environ)
    held_off(state(outside) == before)


@pytest.mark.parametrize("how", ["pipe", "folder", "huge", "truncated"])
def test_a_journal_that_is_none_holds_nobody_up(
    place: EnvironmentPaths, outside: Path, environ: dict[str, str], how: str
) -> None:
    victim, _ = plant_journal_as(how, place, outside)
    before = state(outside)
    look_and_mend(victim, environ)
    assert state(outside) == before
    with pytest.raises(UsageError) as raised:
        mend(victim)
    assert (raised.value.code, raised.value.exit_code) == ("journal-unreadable", 2)


def plant_journal_as(how: str, place: EnvironmentPaths, outside: Path) -> tuple[EnvironmentPaths, Path]:
    """Plant a journal, or something in its place."""
    victim, file = plant_journal(place, outside)
    text, theirs = file.read_text(), put(file.parent / "theirs", file.read_text())
    file.unlink()
    match how:
        case "link":
            file.symlink_to(theirs)
        case "hard-link":
            os.link(theirs, file)
        case "writable":
            put(file, text).chmod(0o666)
        case "pipe":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case "huge":
            with put(file, text).open("a") as opened:
                opened.truncate(1 << 40)
        case _:
            put(file, text[: len(text) // 2])
    return victim, file


@pytest.mark.parametrize("field", ["path", "old", "trash"])
def test_a_journal_names_nothing_but_its_own_environment(
    place: EnvironmentPaths, outside: Path, environ: dict[str, str], field: str
) -> None:
    document = json.loads(building(place, outside))
    own = json.loads(building(place, place.path))
    put(place.journal, json.dumps({**own, field: document["path"]}))
    before, inside = state(outside), state(place.path)
    with pytest.raises(UsageError) as raised:
        mend(place)
    assert raised.value.code == "journal-unreadable"
    assert (state(outside), state(place.path)) == (before, inside)


def test_what_was_put_in_place_of_the_old_environment_does_not_come_back(place: EnvironmentPaths) -> None:
    write_journal(place, journal := new_journal(place.path, replaces=True))
    assert journal.old is not None
    place.path.rename(place.path.with_name("stolen"))
    make(EnvironmentPaths(place.store, "theirs", journal.old))
    with pytest.raises(UsageError) as raised:
        mend(place)
    assert (raised.value.code, raised.value.exit_code) == ("recovery-blocked", 2)
    assert not place.path.exists()


@as_root
@pytest.mark.parametrize("folder", ["journals", "changes", "locks"])
def test_a_folder_of_another_user_in_the_data_folder_is_refused_before_a_change(
    place: EnvironmentPaths, folder: str
) -> None:
    (place.store.root / folder).mkdir(parents=True)
    os.chown(place.store.root / folder, STRANGER, STRANGER)
    with pytest.raises(UsageError) as raised:
        (replace_it if folder == "journals" else change)(place)
    assert (raised.value.code, raised.value.exit_code) == ("data-dir-foreign", 2)
    assert place.path.exists()


def test_an_entry_of_the_ledger_that_others_may_have_written_is_not_followed(place: EnvironmentPaths) -> None:
    kill(place)
    (file,) = place.store.changes.iterdir()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    file.chmod(0o666)
    before = state(place.path)
    for act in (mend, is_half_done):
        with pytest.raises(UsageError) as raised:
            act(place)
        assert raised.value.code == "journal-unreadable"
    assert state(place.path) == before


def test_an_entry_of_the_ledger_is_of_one_environment(
    place: EnvironmentPaths, store: EnvironmentStore
) -> None:
    kill(place)
    (file,) = store.changes.iterdir()
    other = make(EnvironmentPaths(store, "other", store.environments / "other"))
    ledger.note(other, ledger.new_entry("repair"))
    (second,) = set(store.changes.iterdir()) - {file}
    second.write_bytes(file.read_bytes())
    with pytest.raises(UsageError) as raised:
        mend(other)
    assert raised.value.code == "journal-unreadable"


# --- small files that looking reads or writes


@attack(
    "puts a link in place of the note of an environment's last use",
    "a file outside made, or its time changed, by `run`",
    without="any-note-is-touched",
)
@pytest.mark.parametrize("kind", ["link", "hard-link", "dangling"])
def test_the_note_of_the_last_use_is_no_way_out(place: EnvironmentPaths, outside: Path, kind: str) -> None:
    note = place.path / ".gpuenv-used"
    match kind:
        case "link":
            note.symlink_to(outside / "thesis.tex")
        case "dangling":
            note.symlink_to(outside / "new")
        case _:
            os.link(outside / "thesis.tex", note)
    os.utime(outside / "thesis.tex", (1, 1))
    before = state(outside)
    usage.mark_used(place.path)
    held_off(state(outside) == before)


def test_a_pipe_in_place_of_the_note_of_the_last_use_holds_nobody_up(place: EnvironmentPaths) -> None:
    os.mkfifo(place.path / ".gpuenv-used")
    mark_used(place.path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["gpuenv.json", ".gpuenv-kernels", "pip.conf", str(SITE / "torch-2.14.1.dist-info" / "METADATA"),
             str(SITE / "torch" / "version.py"), "pyvenv.cfg"]
)  # fmt: skip
def test_a_pipe_in_place_of_a_file_holds_nobody_up(program: Program, name: str) -> None:
    environment = make(
        EnvironmentPaths(EnvironmentStore(program.root / "data"), "paper", program.environments / "paper")
    )
    (environment.path / name).unlink(missing_ok=True)
    os.mkfifo(environment.path / name)
    for words in (("list", "--json"), ("info", "paper"), ("doctor", environment.path, "--no-verify")):
        done = program.run(*words, timeout_s=30)
        assert done.status in {0, 2, 6}, (words, done.out, done.err)


# --- with the program itself


def test_doctor_and_the_other_looking_commands_change_nothing(program: Program) -> None:
    environment = make(
        EnvironmentPaths(EnvironmentStore(program.root / "data"), "paper", program.environments / "paper")
    )
    outside = program.home / "thesis"
    (outside / "torch").mkdir(parents=True)
    (outside / "thesis.tex").write_text("mine")
    for folder in (*FOLDERS, f".gpuenv-repair-{secrets.token_hex(16)}"):
        _linked_folder(environment, outside, folder)
    program = program.with_(UV_CACHE_DIR=str(program.root / "cache" / "uv"))
    before, inside = state(program.home), state(environment.path)
    for words in (
        ("doctor", environment.path, "--no-verify"), ("doctor", "paper", "--no-verify"), ("list", "--all"),
        ("info", "paper"), ("export", "paper", "--offline"), ("activate", "--shell", "sh", "paper"),
    ):  # fmt: skip
        done = program.run(*words)
        assert done.status in {0, 2, 3, 4, 6}, (words, done.out, done.err)
        assert state(program.home) == before, words
        assert {
            path: reported for path, reported in state(environment.path).items() if "gpuenv-used" not in path
        } == inside
    assert mend(place_at(environment.path, program.environ)) is False
