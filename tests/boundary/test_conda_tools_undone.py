"""Ctrl-C and failures of conda tools: what they made goes, what was there before comes back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conda_making import PLAN, a_tool, make, solved
from fake_conda import FakeConda, planned, transcript
from msgspec.structs import replace

from gpuenv.environments.conda.create import CondaRunning
from gpuenv.environments.conda.meta import is_conda_environment
from gpuenv.environments.transaction import changing
from gpuenv.installers.conda.tool import Calling
from gpuenv.model.errors import InstallFailed
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore
from gpuenv.process import subprocesses as process

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fakes are shell scripts")


@pytest.fixture
def calling(tmp_path: Path) -> Calling:
    return Calling({"PATH": "", "HOME": str(tmp_path)}, tmp_path / "cache")


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    return tmp_path / "envs" / "paper"


@pytest.fixture
def running(tmp_path: Path, calling: Calling) -> CondaRunning:
    return CondaRunning(calling, tmp_path / "log", every_s=0.01)


def interrupting(fake: FakeConda) -> Callable[[int, int], None]:
    """Press Ctrl-C once the tool is at work."""

    def press(_: int, __: int) -> None:
        if (fake.folder / "hanging").exists():
            raise KeyboardInterrupt

    return press


@pytest.mark.parametrize(("stubborn", "signals"), [(False, ["INT"]), (True, ["INT", "TERM"])])
def test_ctrl_c_ends_the_tool_and_takes_away_what_it_made(
    tmp_path: Path,
    prefix: Path,
    running: CondaRunning,
    monkeypatch: pytest.MonkeyPatch,
    *,
    stubborn: bool,
    signals: list[str],
) -> None:
    """Trap 12: micromamba does not heed SIGINT before its download has ended."""
    if stubborn:
        monkeypatch.setattr(process, "_INTERRUPTED_S", 0.05)
    records = planned(PLAN, "micromamba")
    fake = a_tool(tmp_path).makes(records).hangs(stubborn=stubborn)
    with pytest.raises(KeyboardInterrupt):
        make(fake, replace(running, progress=interrupting(fake)), solved(prefix, records))
    assert fake.signals == signals
    assert not prefix.exists()


def test_with_force_a_failure_brings_the_old_environment_back(
    tmp_path: Path, prefix: Path, running: CondaRunning
) -> None:
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "conda-meta" / "history").write_text("old", encoding="utf-8")
    environment = EnvironmentPaths(EnvironmentStore(tmp_path / "data"), "paper", prefix)
    fake = a_tool(tmp_path, answer="mm-lock-timeout").makes(())
    with pytest.raises(InstallFailed), changing(environment, force=True, foreign=True) as change:
        make(fake, replace(running, made=change.mark), solved(prefix))
    assert (prefix / "conda-meta" / "history").read_text(encoding="utf-8") == "old"
    assert [path.name for path in prefix.parent.iterdir()] == ["paper"]


def test_with_force_ctrl_c_brings_the_old_environment_back(
    tmp_path: Path, prefix: Path, running: CondaRunning
) -> None:
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "conda-meta" / "history").write_text("old", encoding="utf-8")
    environment = EnvironmentPaths(EnvironmentStore(tmp_path / "data"), "paper", prefix)
    records = planned(PLAN, "micromamba")
    fake = a_tool(tmp_path).makes(records).hangs()
    following = replace(running, progress=interrupting(fake))
    with pytest.raises(KeyboardInterrupt), changing(environment, force=True, foreign=True) as change:
        make(fake, replace(following, made=change.mark), solved(prefix, records))
    assert (prefix / "conda-meta" / "history").read_text(encoding="utf-8") == "old"


def test_an_environment_is_marked_while_it_is_made(
    tmp_path: Path, prefix: Path, running: CondaRunning
) -> None:
    """So that a gpuenv that is killed leaves nothing that the next one does not know for its own."""
    environment = EnvironmentPaths(EnvironmentStore(tmp_path / "data"), "paper", prefix)
    records = planned(PLAN, "micromamba")
    fake = a_tool(tmp_path).makes(records).hangs()

    def look(_: int, __: int) -> None:
        if (prefix / ".gpuenv-building").exists():
            (fake.folder / "let-go").touch()

    with changing(environment, force=False) as change:
        make(fake, replace(running, made=change.mark, progress=look), solved(prefix, records))
        change.commit()
    assert is_conda_environment(prefix)
    assert not (prefix / ".gpuenv-building").exists()


def test_the_log_has_what_an_interrupted_tool_printed(
    tmp_path: Path, prefix: Path, running: CondaRunning
) -> None:
    records = planned(PLAN, "micromamba")
    fake = a_tool(tmp_path, answer=transcript("mm-lock-timeout")).makes(records).hangs()
    with pytest.raises(KeyboardInterrupt):
        make(fake, replace(running, progress=interrupting(fake)), solved(prefix, records))
    assert running.log.read_text(encoding="utf-8").startswith(f"$ {fake.program} create")
