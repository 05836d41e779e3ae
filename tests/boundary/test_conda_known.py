"""What a plan says of the conda tool that makes its environment: read from files, without running it."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

import pytest
from fake_conda import FakeConda, Transcript, fake_conda
from msgspec.structs import replace
from plans import plan
from ruamel.yaml import YAML

from gpuenv.formats.environment_yml import render_environment
from gpuenv.installers.conda.check_solution import Tool
from gpuenv.installers.conda.tool import Calling, find, known_version, read_info
from gpuenv.model.conda import CondaChannel, CondaPlan
from gpuenv.model.plan import Plan
from gpuenv.planning.conda.plan import with_known_tool

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fakes are shell scripts")

PART = CondaPlan((CondaChannel("conda-forge", ()),), ("python 3.12.*", "pip"), (), "linux-64", mixed=True)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": str(tmp_path / "conda" / "bin"),
        "HOME": str(tmp_path / "home"),
        "GPUENV_CACHE_DIR": str(tmp_path / "cache"),
    }


def there(tmp_path: Path, tool: Tool, recorded: str | None = None) -> FakeConda:
    """A tool, and the record of its package."""
    fake = fake_conda(tmp_path / "conda" / "bin", tool)
    if recorded:
        meta = tmp_path / "conda" / "conda-meta"
        meta.mkdir()
        (meta / f"{tool}-{recorded}-py312h1_0.json").touch()
    return fake


def known(tool: str, environ: dict[str, str], root: Path) -> Plan:
    return with_known_tool(replace(plan(), manager=tool, conda=PART), environ, root)


def channels(made: Plan) -> list[str]:
    document = YAML(typ="safe", pure=True).load(StringIO(render_environment(made)))
    return list(document["channels"])


@pytest.mark.parametrize(
    ("tool", "recorded", "last"),
    [
        ("conda", "25.3.1", "nodefaults"),
        ("conda", "26.7.0", "conda-forge"),
        ("conda", "26.7.1", "conda-forge"),
        ("conda", "26.8.0", "nodefaults"),
        ("conda", "9e9.x", "conda-forge"),
        ("conda", None, "conda-forge"),
        ("mamba", "2.8.1", "nodefaults"),
        ("micromamba", None, "nodefaults"),
    ],
)
def test_nodefaults_stands_where_the_tool_does_not_take_it_for_a_channel(
    tmp_path: Path, environ: dict[str, str], tool: Tool, recorded: str | None, last: str
) -> None:
    """Trap 7; where the version is not known, only what holds for all."""
    fake = there(tmp_path, tool, recorded)
    made = known(tool, environ, tmp_path)
    assert channels(made)[0] == "conda-forge"
    assert channels(made)[-1] == last
    assert fake.calls == []


def test_a_tool_that_is_not_there_has_no_flaws_to_tell(tmp_path: Path, environ: dict[str, str]) -> None:
    made = known("conda", environ, tmp_path)
    assert (channels(made), made.warnings) == (["conda-forge"], plan().warnings)
    assert channels(known("rattler", environ, tmp_path)) == ["conda-forge"]


def test_a_plan_of_wheels_has_no_conda_tool(tmp_path: Path, environ: dict[str, str]) -> None:
    there(tmp_path, "conda", "26.7.1")
    assert with_known_tool(plan(), environ, tmp_path) == plan()


def test_what_a_tool_told_the_last_time_goes_before_its_package(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    fake = there(tmp_path, "conda", "25.3.1")
    calling = Calling(environ, tmp_path / "cache")
    assert known_version("conda", calling, tmp_path) == "25.3.1"
    read_info(find("conda", environ, tmp_path), calling)
    assert known_version("conda", calling, tmp_path) == "26.7.1"
    assert len(fake.calls) == 1


def test_a_kept_answer_with_no_version_is_asked_anew(tmp_path: Path, environ: dict[str, str]) -> None:
    fake = there(tmp_path, "micromamba")
    calling = Calling(environ, tmp_path / "cache")
    tool = find("micromamba", environ, tmp_path)
    before = read_info(tool, calling)
    (kept,) = (tmp_path / "cache" / "conda-tools").iterdir()
    kept.write_text(kept.read_text(encoding="utf-8").replace("2.8.1", "two"), encoding="utf-8")
    assert known_version("micromamba", calling, tmp_path) is None
    assert read_info(tool, calling) == before
    assert len(fake.calls) == 2


def test_a_broken_tool_does_not_keep_a_plan_from_being_made(tmp_path: Path, environ: dict[str, str]) -> None:
    there(tmp_path, "conda").answers("info", Transcript(1, "", "Traceback"))
    assert channels(known("conda", environ, tmp_path)) == ["conda-forge"]
