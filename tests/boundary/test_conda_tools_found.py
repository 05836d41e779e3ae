"""Finding conda tools, what they tell about themselves, and the configuration they are given."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from fake_conda import Transcript, a_wanted, called, fake_conda, faked, transcript
from msgspec.structs import replace

from gpuenv.installers.conda.solve import solve
from gpuenv.installers.conda.tool import Calling, CondaTool, find, find_fastest, read_info
from gpuenv.model.conda import CondaChannel
from gpuenv.model.errors import InstallFailed, UsageError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fakes are shell scripts")


@pytest.fixture
def calling(tmp_path: Path) -> Calling:
    return called(tmp_path)


def test_a_condarc_of_the_users_keeps_its_proxies(tmp_path: Path, calling: Calling) -> None:
    """Trap 9: ours takes the place of what CONDARC names, so that it has all that this says."""
    fake, tool = faked(tmp_path, "conda")
    fake.answers("plan", "condalm-dry")
    theirs = tmp_path / "theirs.yml"
    theirs.write_text("proxy_servers:\n  http: http://proxy.example.com\n", encoding="utf-8")
    environ = {**calling.environ, "CONDARC": str(theirs)}
    channels = (CondaChannel("conda-forge", ("https://mirror.example.com/anaconda/cloud/conda-forge",)),)
    wanted = a_wanted(tmp_path / "env", channels=channels)
    solve(tool, wanted, replace(calling, environ=environ))
    ours = Path(fake.variables["CONDARC"])
    text = ours.read_text(encoding="utf-8")
    assert "proxy.example.com" in text
    assert "conda-forge: https://mirror.example.com/anaconda/cloud\n" in text
    assert ours.stat().st_mode & 0o077 == 0
    assert theirs.read_text(encoding="utf-8") == "proxy_servers:\n  http: http://proxy.example.com\n"


def test_without_a_mirror_conda_is_given_no_configuration(tmp_path: Path, calling: Calling) -> None:
    fake, tool = faked(tmp_path, "conda")
    fake.answers("plan", "condalm-dry")
    wanted = a_wanted(tmp_path / "env", channels=(CondaChannel("conda-forge", ()),))
    solve(tool, wanted, calling)
    assert fake.variables["CONDARC"] == ""
    assert "-c conda-forge" in fake.calls[0]
    assert not calling.cache.exists()


def test_a_broken_condarc_is_told(tmp_path: Path, calling: Calling) -> None:
    _, tool = faked(tmp_path, "conda")
    theirs = tmp_path / "theirs.yml"
    theirs.write_text("{", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        solve(tool, a_wanted(tmp_path / "env"), replace(calling, environ={"CONDARC": str(theirs)}))
    assert caught.value.code == "condarc-unwritable"


def test_what_a_tool_can_is_asked_once_for_each_state_of_its_file(tmp_path: Path, calling: Calling) -> None:
    fake, tool = faked(tmp_path, "micromamba")
    first = read_info(tool, calling)
    assert read_info(tool, calling) == first
    assert len(fake.calls) == 1
    assert first.caches == ("/home/user/mamba/pkgs", "/home/user/.mamba/pkgs")
    os.utime(fake.program, ns=(1, 1))
    fake.answers("info", "m1-info")
    assert read_info(tool, calling).version == "1.5.12"


@pytest.mark.parametrize(
    "file",
    [
        "home/.condarc",
        "home/.config/conda/.condarc",
        "home/.mambarc",
        "home/.mamba/mambarc.d/a.yml",
        "condarc.d/a.yml",
        "named.yml",
        "prefix/.condarc",
    ],
)
def test_a_changed_configuration_is_asked_for_anew(tmp_path: Path, calling: Calling, file: str) -> None:
    """A changed `envs_dirs` was ignored, as the tool's own file was the same."""
    fake, tool = faked(tmp_path, "micromamba")
    named = {"CONDARC": str(tmp_path / "named.yml"), "CONDA_PREFIX": str(tmp_path / "prefix")}
    calling = replace(calling, environ={**calling.environ, **named})
    path = tmp_path / file
    for number, text in enumerate((None, "envs_dirs: [/a]\n", "envs_dirs: [/bcd]\n", "envs_dirs: [/efg]\n")):
        if text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(number, number))
        read_info(tool, calling)
        read_info(tool, calling)
        assert len(fake.calls) == number + 1


def test_a_changed_configuration_of_the_root_is_asked_for_anew(tmp_path: Path, calling: Calling) -> None:
    """A script in another place than its installation, such as a shim, leads to no root by its own path."""
    fake, tool = faked(tmp_path, "conda")
    root = tmp_path / "opt" / "conda"
    document = {**json.loads(transcript("conda-info").out), "root_prefix": str(root)}
    fake.answers("info", Transcript(0, json.dumps(document), ""))
    root.mkdir(parents=True)
    for number in (1, 2):
        read_info(tool, calling)
        read_info(tool, calling)
        assert len(fake.calls) == number
        (root / ".condarc").write_text("envs_dirs: [/bcd]\n", encoding="utf-8")


def test_a_broken_cache_is_asked_anew(tmp_path: Path, calling: Calling) -> None:
    fake, tool = faked(tmp_path, "conda")
    before = read_info(tool, calling)
    for file in (calling.cache / "conda-tools").iterdir():
        file.write_text("[", encoding="utf-8")
    assert read_info(tool, calling) == before
    assert len(fake.calls) == 2


def test_a_kept_answer_with_no_version_is_asked_anew(tmp_path: Path, calling: Calling) -> None:
    fake, tool = faked(tmp_path, "micromamba")
    before = read_info(tool, calling)
    (kept,) = (calling.cache / "conda-tools").iterdir()
    kept.write_text(kept.read_text(encoding="utf-8").replace("2.8.1", "two"), encoding="utf-8")
    assert read_info(tool, calling) == before
    assert len(fake.calls) == 2


def test_a_tool_that_is_too_old_is_refused(tmp_path: Path, calling: Calling) -> None:
    """The JSON of mamba 1 is that of the conda it is built into."""
    fake, tool = faked(tmp_path, "mamba")
    fake.answers("info", "conda-info")
    with pytest.raises(UsageError, match="too old") as caught:
        read_info(tool, calling)
    assert caught.value.code == "manager-too-old"


def test_a_tool_that_says_nothing_is_broken(tmp_path: Path, calling: Calling) -> None:
    fake, tool = faked(tmp_path, "conda")
    fake.answers("info", Transcript(1, "", "Traceback (most recent call last)"))
    with pytest.raises(InstallFailed, match="info") as caught:
        read_info(tool, calling)
    assert "Traceback" in caught.value.because[0].text


def test_a_missing_tool_is_told_with_the_one_that_is_there(tmp_path: Path, calling: Calling) -> None:
    faked(tmp_path, "micromamba")
    with pytest.raises(UsageError, match="conda was not found") as caught:
        find("conda", calling.environ, tmp_path)
    assert caught.value.fixes[0].command == "--manager micromamba"


def test_the_fastest_tool_is_taken_where_any_will_do(tmp_path: Path, calling: Calling) -> None:
    assert find_fastest(calling.environ, tmp_path) is None
    for tool in ("conda", "mamba"):
        fake_conda(tmp_path / "bin", tool)
    conda_tool = find_fastest(calling.environ, tmp_path)
    assert conda_tool == CondaTool("mamba", str(tmp_path / "bin" / "mamba"))
