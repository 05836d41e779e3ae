"""Where conda tools keep what they make and fetch, whether it fits, and what they are told of mirrors."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_conda import FakeConda, Transcript, fake_conda, planned
from msgspec.structs import replace
from plans import plan

from gpuenv.environments.run_steps import StepEnvironment
from gpuenv.explanation.installer_failure import with_cause
from gpuenv.files import disk_space as room
from gpuenv.files.disk_space import first_writable
from gpuenv.i18n.amounts import render_size
from gpuenv.installers.conda.commands import steps
from gpuenv.model.conda import CondaChannel, CondaPin, CondaPlan
from gpuenv.model.errors import GpuenvError, InstallFailed
from gpuenv.model.plan import Plan
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore
from gpuenv.operations.create_conda import CondaCreation, environments_home, make_conda_environment
from gpuenv.planning.steps import conda_wanted

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fakes are shell scripts")

ROOT = os.geteuid() == 0 if hasattr(os, "geteuid") else True
PIN = CondaPin("pytorch", "2.8.0", "cuda128*")
PLANNED = planned("mm-dry-json", "micromamba")
SIZE = sum(record.size or 0 for record in PLANNED)
TUNA = "https://mirrors.tuna.tsinghua.edu.cn/anaconda/cloud/conda-forge"
OFFICIAL = "https://conda.anaconda.org/conda-forge"
ROTTEN, WHOLE = "https://rotten.example/a/conda-forge", "https://whole.example/a/conda-forge"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": str(tmp_path / "bin"),
        "HOME": str(tmp_path / "home"),
        "GPUENV_CACHE_DIR": str(tmp_path / "cache"),
    }


def tool_with(
    tmp_path: Path, *, environments: tuple[Path, ...] = (), caches: tuple[Path, ...] = ()
) -> FakeConda:
    """A micromamba that tells these folders."""
    sequences = {
        "micromamba version": "2.8.1", "platform": "linux-64", "package cache": list(map(str, caches)),
        "envs directories": list(map(str, environments)),
    }  # fmt: skip
    fake = fake_conda(tmp_path / "bin", "micromamba").answers(
        "info", Transcript(0, json.dumps(sequences), "")
    )
    fake.answers("plan", "mm-dry-json").makes(PLANNED)
    return fake.answers("make", Transcript(0, '{"success": true}', ""))


def make(tmp_path: Path, environ: dict[str, str], *urls: str, offline: bool = False) -> list[str]:
    """Make the environment of the transcripts at `envs/paper`; return what was told."""
    messages: list[str] = []
    urls = urls or ("file:///srv/channel/conda-forge",)
    part = CondaPlan(
        (CondaChannel("conda-forge", urls),), ("python 3.11.*", PIN.spec), (PIN,), "linux-64", "12.8"
    )
    environment = EnvironmentPaths(EnvironmentStore(tmp_path / "data"), "paper", tmp_path / "envs" / "paper")
    made: Plan = replace(plan(), manager="micromamba", conda=part, requirements=())
    made = replace(made, sources=replace(made.sources, offline=offline))
    made = replace(made, steps=steps("micromamba", conda_wanted(part, str(environment.path))))
    running = StepEnvironment(environ=environ, log=tmp_path / "log", executables={}, tell=messages.append)
    making = CondaCreation(running, lambda _, __: None, lambda: None)
    make_conda_environment(made, part, environment, making)
    return messages


Free = Callable[[Path], int]


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch) -> Callable[[Free], None]:
    """Let disks have as much room as a test says."""

    def have(free: Free) -> None:
        usage = shutil.disk_usage("/")
        monkeypatch.setattr(room.shutil, "disk_usage", lambda path: usage._replace(free=free(Path(path))))

    return have


def test_the_first_folder_that_can_be_written_has_the_environments(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """As conda does: of a conda in /opt, that is the one at home."""
    (tmp_path / "file").touch()
    folders = (tmp_path / "file" / "envs", Path(os.devnull), tmp_path / "home" / "envs", tmp_path / "other")
    tool_with(tmp_path, environments=folders)
    assert environments_home("micromamba", environ) == tmp_path / "home" / "envs"
    assert not (tmp_path / "home").exists()


def test_where_none_can_be_written_gpuenv_keeps_them(tmp_path: Path, environ: dict[str, str]) -> None:
    tool_with(tmp_path, environments=(Path(os.devnull) / "envs",))
    assert environments_home("micromamba", environ) is None


@pytest.mark.skipif(ROOT, reason="root may write anywhere")
def test_a_folder_of_another_user_is_passed_over(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert first_writable((str(closed), str(tmp_path / "open"))) == tmp_path / "open"


def test_nothing_is_left_where_it_was_tried(tmp_path: Path) -> None:
    assert first_writable((str(tmp_path),)) == tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("full", "way_out"), [("pkgs", "CONDA_PKGS_DIRS"), ("envs", "a path on a larger disk")]
)
def test_a_download_that_does_not_fit_is_not_begun(
    tmp_path: Path, environ: dict[str, str], disks: Callable[[Free], None], full: str, way_out: str
) -> None:
    for name in ("pkgs", "envs"):
        (tmp_path / name).mkdir()
    fake = tool_with(tmp_path, caches=(Path(os.devnull), tmp_path / "pkgs"))
    disks(lambda path: SIZE - 1 if path.name == full else 3 * SIZE)
    with pytest.raises(InstallFailed) as caught:
        make(tmp_path, environ)
    assert caught.value.code == "disk-full"
    assert caught.value.because[0].source == str(tmp_path / full)
    assert way_out in caught.value.fixes[0].text
    assert [call.split()[0] for call in fake.calls] == ["info", "create"]  # the plan alone
    assert list((tmp_path / "envs").iterdir()) == []


def test_a_download_that_just_fits_is_made(
    tmp_path: Path, environ: dict[str, str], disks: Callable[[Free], None]
) -> None:
    tool_with(tmp_path, caches=(tmp_path / "pkgs",))
    disks(lambda _: 3 * SIZE)
    make(tmp_path, environ)
    assert (tmp_path / "envs" / "paper" / "conda-meta" / "history").is_file()


def test_room_is_needed_for_what_packages_are_unpacked_too(
    tmp_path: Path, environ: dict[str, str], disks: Callable[[Free], None]
) -> None:
    """By the factor of packages that are there already, as repodata do not tell it."""
    info = tmp_path / "pkgs" / "https" / "h.example" / "linux-64" / "other-1.0-0" / "info"
    info.mkdir(parents=True)
    (info / "repodata_record.json").write_text('{"size": 2000000}', encoding="utf-8")
    paths = [{"_path": "a", "size_in_bytes": 3_000_000}, {"_path": "b", "size_in_bytes": 5_000_000}]
    (info / "paths.json").write_text(json.dumps({"paths": paths}), encoding="utf-8")
    tool_with(tmp_path, caches=(tmp_path / "pkgs",))
    disks(lambda _: 5 * SIZE - 1)
    with pytest.raises(InstallFailed) as caught:
        make(tmp_path, environ)
    assert caught.value.code == "disk-full"
    assert f"about {render_size(5 * SIZE)} are needed" in caught.value.message
    disks(lambda _: 5 * SIZE)
    make(tmp_path, environ)


@pytest.mark.parametrize("name", ["mm-corrupt", "other"])
def test_a_disk_that_is_full_while_packages_are_unpacked_is_named_as_such(
    tmp_path: Path, environ: dict[str, str], disks: Callable[[Free], None], name: str
) -> None:
    """Whatever the tool says, and although it takes away what it could not finish."""
    (tmp_path / "pkgs").mkdir()
    answer = name if name != "other" else Transcript(1, "", "critical libmamba Extraction failed")
    fake = tool_with(tmp_path, caches=(tmp_path / "pkgs",)).is_rotten_at("rotten.example", answer)
    disks(lambda _: 10**9 if len(fake.calls) < 3 else 1000)
    with pytest.raises(InstallFailed) as caught:
        make(tmp_path, environ, ROTTEN)
    assert caught.value.code == "disk-full"
    assert "1 kB were free on the disk of" in caught.value.because[0].text
    assert caught.value.message == "micromamba failed (1): the disk is full"
    assert "CONDA_PKGS_DIRS" in caught.value.fixes[0].text


@pytest.mark.parametrize(
    ("urls", "off"),
    [
        ((OFFICIAL,), False),
        ((TUNA,), True),
        ((TUNA, OFFICIAL), True),
        ((OFFICIAL, TUNA), True),
        (("https://channels.example.com/conda-forge",), False),
    ],
)
def test_sharded_repodata_are_looked_for_where_they_may_be(
    tmp_path: Path, environ: dict[str, str], urls: tuple[str, ...], *, off: bool
) -> None:
    """Trap 10: mirrors answer 404 for them; one of the addresses may stand in for another."""
    fake = tool_with(tmp_path)
    make(tmp_path, environ, *urls)
    text = Path(fake.variables["CONDARC"]).read_text(encoding="utf-8")
    assert ("repodata_use_shards: false" in text) is off


@pytest.mark.parametrize("offline", [True, False])
def test_a_tool_is_told_that_it_is_offline(tmp_path: Path, environ: dict[str, str], *, offline: bool) -> None:
    fake = tool_with(tmp_path)
    make(tmp_path, environ, offline=offline)
    told = fake.variables["CONDA_OFFLINE"], fake.variables["MAMBA_OFFLINE"]
    assert told == (("true", "true") if offline else ("", ""))


@pytest.mark.parametrize("name", ["mm-corrupt", "conda-corrupt", "conda-cut"])
def test_a_package_that_can_not_be_had_is_taken_from_the_next_mirror(
    tmp_path: Path, environ: dict[str, str], name: str
) -> None:
    (tmp_path / "pkgs").mkdir()
    fake = tool_with(tmp_path, caches=(tmp_path / "pkgs",)).is_rotten_at("rotten.example", name)
    messages = make(tmp_path, environ, ROTTEN, WHOLE)
    assert (tmp_path / "envs" / "paper" / "conda-meta").is_dir()
    assert any("trying the next mirror" in message for message in messages)
    assert len([call for call in fake.calls if "--dry-run" not in call and call.startswith("create")]) == 2
    with pytest.raises(GpuenvError) as caught:
        make(tmp_path / "once", environ, ROTTEN)
    assert caught.value.exit_code == (4 if name == "conda-cut" else 5)


@pytest.mark.parametrize(("name", "status"), [("mm-corrupt", 5), ("conda-cut", 4)])
def test_what_went_wrong_first_is_told_where_the_next_mirror_cannot_be_read(
    tmp_path: Path, environ: dict[str, str], name: str, status: int
) -> None:
    """Behind a mirror stands the official channel, which many machines do not reach: it is not the cause."""
    (tmp_path / "pkgs").mkdir()
    fake = tool_with(tmp_path, caches=(tmp_path / "pkgs",)).is_rotten_at("rotten.example", name)
    fake.is_dead_at("whole.example", "conda-err-neterr")
    with pytest.raises(GpuenvError) as caught:
        make(tmp_path, environ, ROTTEN, WHOLE)
    assert caught.value.exit_code == status
    assert "cannot read the channel" not in caught.value.message
    assert any("cannot read the channel" in reason.text for reason in caught.value.because)


def test_what_went_wrong_first_is_told_where_the_next_mirror_has_no_packages(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """With repodata that it kept micromamba solves, and then fetches nothing."""
    (tmp_path / "pkgs").mkdir()
    fake = tool_with(tmp_path, caches=(tmp_path / "pkgs",)).is_rotten_at("rotten.example", "mm-corrupt")
    missing = "https://whole.example/a/conda-forge/linux-64/libzlib-1.3.1-hb9d3cd8_2.conda"
    fake.answers(
        "make", Transcript(1, "", f"error    libmamba Download error (6) Couldn't resolve [{missing}]")
    )
    with pytest.raises(InstallFailed) as caught:
        make(tmp_path, environ, ROTTEN, WHOLE)
    assert (caught.value.data or {})["kind"] == "corrupt"
    assert caught.value.because[-1].text == f"micromamba cannot fetch {missing}"


def test_a_corrupt_package_is_named_with_the_cache_that_holds_it(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    cache = tmp_path / "pkgs" / "https" / "rotten.example%3A80" / "a" / "conda-forge" / "linux-64"
    cache.mkdir(parents=True)
    *others, broken = [record for record in PLANNED if record.subdir == "linux-64"]
    for record in others:
        (cache / record.filename.removesuffix(".conda")).mkdir()
    for record in PLANNED:
        if record.subdir == "noarch":
            (tmp_path / "pkgs" / record.filename.removesuffix(".conda")).mkdir()
    (cache / broken.filename).write_bytes(b"half")
    tool_with(tmp_path, caches=(tmp_path / "pkgs",)).is_rotten_at("rotten.example", "mm-corrupt")
    with pytest.raises(InstallFailed) as caught:
        make(tmp_path, environ, ROTTEN)
    assert caught.value.message == f"micromamba got a corrupt package: {broken.filename}"
    assert str(cache / broken.filename) in caught.value.because[-1].text
    commands = [fix.command for fix in with_cause(caught.value).fixes]
    assert "micromamba clean --packages --tarballs" in commands
    assert commands[0] == "gpuenv mirrors list"
    assert not any("this means" in reason.text for reason in caught.value.because)
