"""What an environment really holds, against what was planned; and what is shown of a log."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuenv.environments.check_installed import check_installed, parse_torch_cuda
from gpuenv.environments.os_errors import convert_os_error
from gpuenv.environments.run_steps import StepEnvironment, step_failed
from gpuenv.model.errors import InstallFailed
from gpuenv.model.plan import Plan, Sources, Step
from gpuenv.model.variant import CudaVersion
from gpuenv.on_disk.directories import remove_tree
from gpuenv.on_disk.installed import installed_versions
from gpuenv.process.subprocesses import Completed
from gpuenv.signatures.log_pages import readable_lines

LOG = Path("/data/logs/paper.log")


def plan(*pins: str, variant: str = "cpu") -> Plan:
    return Plan((), "3.12", None, variant, "uv", (), pins, (), (), Sources(None, (), ()), (), (), (), (), ())


def install(environment: Path, name: str, version: str, layout: str = "lib/python3.12/site-packages") -> None:
    info = environment / layout / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )


@pytest.mark.parametrize("layout", ["lib/python3.12/site-packages", "Lib/site-packages"])
def test_versions_are_read_from_metadata_in_every_layout(tmp_path: Path, layout: str) -> None:
    install(tmp_path, "torch", "2.14.1+cu126", layout)
    (tmp_path / layout / "broken-1.0.dist-info").mkdir()
    assert installed_versions(tmp_path) == {"torch": "2.14.1+cu126"}


@pytest.mark.parametrize(
    ("pin", "version"),
    [
        ("torch==2.14.1+cu126", "2.14.1+cu126"), ("torch===2.15.0", "2.15.0"), ("Torch==2.15", "2.15.0"),
        ("torch==2.*", "2.15.0"), ("torch", "2.15.0"),
    ],
)  # fmt: skip
def test_the_very_version_passes(tmp_path: Path, pin: str, version: str) -> None:
    install(tmp_path, "torch", version)
    check_installed(plan(pin), tmp_path, LOG)


@pytest.mark.parametrize(
    ("pin", "version"),
    [
        ("torch==2.14.1+cu126", "2.14.1"), ("torch==2.15.0", "2.15.0+cpu"), ("torch===2.15.0", "2.15.0+cpu"),
        ("torch==2.14.1+cu126", "nonsense"), ("torchvision==1", "1"),
    ],
)  # fmt: skip
def test_another_version_or_local_part_fails(tmp_path: Path, pin: str, version: str) -> None:
    install(tmp_path, "torch", version)
    with pytest.raises(InstallFailed) as raised:
        check_installed(plan(pin), tmp_path, LOG)
    assert raised.value.code == "not-as-planned"


@pytest.mark.parametrize(("variant", "ok"), [("cu130", True), ("cu126", False), ("cpu", False)])
def test_a_build_without_a_local_part_is_told_by_its_own_cuda(
    tmp_path: Path, variant: str, *, ok: bool
) -> None:
    install(tmp_path, "torch", "2.15.0")
    version = tmp_path / "lib/python3.12/site-packages/torch/version.py"
    version.parent.mkdir()
    version.write_text("cuda: Optional[str] = '13.0'\n", encoding="utf-8")
    if ok:
        check_installed(plan("torch==2.15.0", variant=variant), tmp_path, LOG)
        return
    with pytest.raises(InstallFailed, match=r"13\.0"):
        check_installed(plan("torch==2.15.0", variant=variant), tmp_path, LOG)


@pytest.mark.parametrize(
    ("line", "cuda"),
    [
        ("cuda = '9.0.176'", CudaVersion(9, 0)),
        ('cuda: Optional[str] = "12.6"', CudaVersion(12, 6)),
        ("__version__ = '2.0'\ncuda: Optional[str] = None\nhip = '6.3'", None),
    ],
)
def test_the_forms_of_torch_version(line: str, cuda: CudaVersion | None) -> None:
    assert parse_torch_cuda(line) == cuda


@given(st.text(max_size=100))
def test_any_other_text_is_a_cuda_or_a_value_error(text: str) -> None:
    try:
        parse_torch_cuda(text)
    except ValueError:
        return


def test_a_terminals_log_is_shown_as_it_last_looked() -> None:
    log = "\x1b[2mPreparing\x1b[0m...\r\n10%\r50%\r100%\r\n\x1b]0;title\x07done\x1b[?25h\n"
    assert readable_lines(log) == ["Preparing...", "100%", "done", ""]


@given(st.text(max_size=200))
def test_any_log_can_be_shown(log: str) -> None:
    assert isinstance(readable_lines(log), list)


def test_a_failed_step_shows_its_last_lines_only() -> None:
    lines = [f"line {number}" for number in range(100)]
    error = step_failed(
        Step(("uv", "pip", "install", "--secret", "x"), "why"), Completed(1, "\n".join(lines), ""), LOG
    )
    assert error.because[0].text.splitlines() == lines[-15:]
    assert "`uv pip install`" in error.message
    assert str(LOG) in error.fixes[0].text


def test_a_full_disk_is_told_as_one() -> None:
    full = convert_os_error(Path("/x"), OSError(errno.ENOSPC, "No space left on device"))
    assert (full.code, full.exit_code) == ("disk-full", 5)
    words = Completed(2, "error: No space left on device (os error 28)", "")
    assert step_failed(Step(("uv",), ""), words, LOG).code == "disk-full"


def test_read_only_directories_are_removed(tmp_path: Path) -> None:
    closed = tmp_path / "tree" / "closed"
    closed.mkdir(parents=True)
    (closed / "file").touch()
    (closed / "file").chmod(stat.S_IREAD)
    closed.chmod(0o500)
    (tmp_path / "kept").touch()
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "tree")
    remove_tree(tmp_path / "tree")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_running_says_nothing_unless_asked() -> None:
    assert StepEnvironment({}, LOG, {}).tell("x") is None
    assert replace(plan("torch"), variant="cu126").variant == "cu126"
