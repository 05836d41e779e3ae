"""Planning with conda tools: what the real ones printed is read, and no lie is believed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from fake_conda import Transcript, a_wanted, called, faked, planned, transcript
from msgspec.structs import replace

from gpuenv.installers.conda import tool as conda_tool
from gpuenv.installers.conda.check_solution import Tool
from gpuenv.installers.conda.solve import solve, solve_somewhere
from gpuenv.installers.conda.tool import Calling, CondaTool
from gpuenv.model.conda import CondaChannel, CondaPin
from gpuenv.model.errors import InstallFailed, Unreachable, Unsatisfiable, UsageError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fakes are shell scripts")

FAMILY: tuple[Tool, ...] = ("mamba", "micromamba")
PLANS = (
    ("conda", "condalm-dry"), ("mamba", "mm-dry-json"), ("micromamba", "mm-dry-json"),
    ("micromamba", "m1-dry-json"),
)  # fmt: skip


@pytest.fixture
def calling(tmp_path: Path) -> Calling:
    return called(tmp_path)


@pytest.mark.parametrize(("tool", "name"), PLANS)
def test_a_plan_is_what_the_tool_would_link(tmp_path: Path, calling: Calling, tool: Tool, name: str) -> None:
    fake, result = faked(tmp_path, tool)
    fake.answers("plan", name)
    solved = solve(result, a_wanted(tmp_path / "env"), calling)
    torch = next(record for record in solved.records if record.name == "pytorch")
    assert (torch.version, torch.build, torch.channel, torch.subdir) == (
        "2.8.0", "cuda128_mkl_py311_h128abc_300", "conda-forge", "linux-64",
    )  # fmt: skip
    assert solved.size == sum(record.size or 0 for record in solved.fetch)
    assert len(fake.calls) == 1


@pytest.mark.parametrize("name", conda_tool.TOOLS)
def test_each_manager_finds_its_tool_and_solves(tmp_path: Path, calling: Calling, name: Tool) -> None:
    fake, tool = faked(tmp_path, name)
    fake.answers("plan", "condalm-dry" if name == "conda" else "mm-dry-json")
    assert conda_tool.find(name, calling.environ) == tool
    records = solve_somewhere(tool, a_wanted(tmp_path / "env"), calling).records
    assert {"pytorch", "python"} <= {record.name for record in records}


def test_the_question_hangs_on_nothing_that_the_user_has_set(tmp_path: Path, calling: Calling) -> None:
    """Trap 8: channels of a condarc or of variables do not count; the machine's CUDA is told (trap 6)."""
    fake, tool = faked(tmp_path, "micromamba")
    fake.answers("plan", "mm-dry-json")
    solve(tool, a_wanted(tmp_path / "env"), calling)
    call = fake.calls[0]
    assert "--override-channels -c conda-forge --strict-channel-priority --dry-run --json -q" in call
    assert "nodefaults" not in call  # trap 7
    assert "env create" not in call  # trap 1
    variables = fake.variables
    assert Path(variables.pop("CONDARC")).name.endswith(".yml")  # trap 9: conda ignores any other name
    assert variables == {
        "CONDA_OVERRIDE_CUDA": "12.8", "CONDA_SUBDIR": "linux-64", "CONDA_CHANNELS": "", "PYTHONPATH": "",
        "CONDA_OFFLINE": "", "MAMBA_OFFLINE": "",
    }  # fmt: skip


def test_a_machine_without_a_gpu_is_told_to_be_one(tmp_path: Path, calling: Calling) -> None:
    fake, tool = faked(tmp_path, "micromamba")
    fake.answers("plan", "mm-cuda-none")
    wanted = a_wanted(tmp_path / "env", CondaPin("pytorch", "2.9.1", "cpu*"), cuda=None)
    assert solve(tool, wanted, replace(calling, environ={**calling.environ, "CONDA_OVERRIDE_CUDA": "9"}))
    assert fake.variables["CONDA_OVERRIDE_CUDA"] == ""


def test_pip_is_asked_for_beside_python(tmp_path: Path, calling: Calling) -> None:
    """Trap 15: not every tool adds it."""
    fake, tool = faked(tmp_path, "micromamba")
    fake.answers("plan", "mm-dry-json")
    solve(tool, a_wanted(tmp_path / "env", specs=("python 3.11.*", "pytorch 2.8.0 cuda128*")), calling)
    assert fake.calls[0].endswith("python 3.11.* pytorch 2.8.0 cuda128* pip")


@pytest.mark.parametrize("tool", ["conda", "mamba", "micromamba"])
def test_the_plan_is_made_for_a_path_that_does_not_exist(
    tmp_path: Path, calling: Calling, tool: Tool
) -> None:
    """Trap 4: for one that does mamba plans nothing, and conda fails."""
    fake, result = faked(tmp_path, tool)
    fake.answers("plan", "condalm-dry" if tool == "conda" else "mm-dry-json")
    (tmp_path / "env" / "conda-meta").mkdir(parents=True)
    solve(result, a_wanted(tmp_path / "env"), calling)
    words = fake.calls[0].split()
    path = Path(words[words.index("-p") + 1])
    assert path != tmp_path / "env"
    assert path.parent == tmp_path


@pytest.mark.parametrize("tool", FAMILY)
def test_already_installed_is_no_plan(tmp_path: Path, calling: Calling, tool: Tool) -> None:
    fake, result = faked(tmp_path, tool)
    fake.answers("plan", "mm-dry-existing")
    with pytest.raises(InstallFailed, match="already installed") as caught:
        solve(result, a_wanted(tmp_path / "env"), calling)
    assert caught.value.code == "manager-broken"


@pytest.mark.parametrize(("tool", "name"), [("conda", "conda-silent-cpu"), ("micromamba", "mm-cuda-none")])
def test_a_cpu_build_is_refused_with_both_facts(
    tmp_path: Path, calling: Calling, tool: Tool, name: str
) -> None:
    """Trap 5: at exit 0, and the newest one at that."""
    fake, result = faked(tmp_path, tool)
    fake.answers("plan", name)
    wanted = a_wanted(tmp_path / "env", CondaPin("pytorch", "2.9.1", "cuda126*"), cuda="11.8")
    with pytest.raises(Unsatisfiable) as caught:
        solve(result, wanted, calling)
    assert caught.value.code == "solved-to-cpu"
    message = " ".join(reason.text for reason in caught.value.because)
    assert "pytorch 2.9.1 cpu_mkl" in message
    assert "pytorch 2.9.1 cuda126*" in message
    assert "11.8" in message


def test_a_build_for_a_newer_cuda_than_planned_is_refused(tmp_path: Path, calling: Calling) -> None:
    """Trap 6: a driver of CUDA 12.4 is given a build for 12.9."""
    fake, tool = faked(tmp_path, "micromamba")
    fake.answers("plan", "mm-cuda-12.4")
    wanted = a_wanted(tmp_path / "env", CondaPin("pytorch", "2.9.1", "cuda124*"), cuda="12.4")
    with pytest.raises(Unsatisfiable, match=r"cuda129.* is not pytorch 2.9.1 cuda124") as caught:
        solve(tool, wanted, calling)
    assert caught.value.code == "solved-otherwise"


def test_another_torch_is_refused(tmp_path: Path, calling: Calling) -> None:
    fake, tool = faked(tmp_path, "micromamba")
    fake.answers("plan", "mm-dry-json")
    pins = (CondaPin("pytorch", "2.7.1", "cuda128*"), CondaPin("torchaudio", "2.7.1"))
    with pytest.raises(Unsatisfiable) as caught:
        solve(tool, a_wanted(tmp_path / "env", *pins), calling)
    assert len((caught.value.data or {})["differences"]) == 2


def test_success_at_exit_1_is_not_believed(tmp_path: Path, calling: Calling) -> None:
    """Trap 3: micromamba's JSON says success although it failed."""
    fake, tool = faked(tmp_path, "micromamba")
    fake.answers("plan", "MM-pip-fail").answers("words", "MM-pip-fail")
    with pytest.raises(InstallFailed):
        solve(tool, a_wanted(tmp_path / "env"), calling)


def test_a_dry_run_that_makes_an_environment_is_no_dry_run(tmp_path: Path, calling: Calling) -> None:
    """Trap 16: the next mamba takes --json for --yes."""
    fake, tool = faked(tmp_path, "mamba")
    fake.answers("plan", "mm-create-json").makes(planned("mm-create-json", "mamba"), "plan")
    with pytest.raises(InstallFailed, match="instead of a plan"):
        solve(tool, a_wanted(tmp_path / "env"), calling)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "cache"]


def test_lines_before_the_json_do_not_matter(tmp_path: Path, calling: Calling) -> None:
    """Trap 3: pip's own; trap 13: conda's progress, with NULs."""
    fake, tool = faked(tmp_path, "micromamba")
    answer = transcript("mm-dry-json")
    fake.answers("plan", Transcript(0, f"Collecting {{fake}}\n{{no json\n{answer.out}", "a warning\n"))
    assert solve(tool, a_wanted(tmp_path / "env"), calling).records == planned("mm-dry-json", "micromamba")


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("condalm-err-missing", "conda-missing", "nosuchpkg"),
        ("condalm-err-unsat", "conda-unsatisfiable", "cuda-version =11.8"),
        ("condalm-err-nogpu", "conda-no-gpu", "__cuda"),
    ],
)
def test_conda_says_itself_why_nothing_fits(
    tmp_path: Path, calling: Calling, name: str, code: str, words: str
) -> None:
    fake, tool = faked(tmp_path, "conda")
    fake.answers("plan", name)
    with pytest.raises(Unsatisfiable) as caught:
        solve(tool, a_wanted(tmp_path / "env"), calling)
    assert caught.value.code == code
    assert words in caught.value.because[0].text
    assert len(fake.calls) == 1


@pytest.mark.parametrize(
    ("name", "again", "code", "words"),
    [
        ("mm-err-missing", "mm-err-missing-text", "conda-missing", "nosuchpkg"),
        ("mm-err-unsat", "mm-quiet-unsat", "conda-unsatisfiable", "cuda-version >=12.9"),
        ("m1-err-missing", "m1-err-missing-text", "conda-missing", "nosuchpkg"),
    ],
)
def test_mamba_is_asked_again_for_words(
    tmp_path: Path, calling: Calling, name: str, again: str, code: str, words: str
) -> None:
    """Trap 14: its JSON says `unsupported request` for a missing package."""
    fake, tool = faked(tmp_path, "micromamba")
    fake.answers("plan", name).answers("words", again)
    with pytest.raises(Unsatisfiable) as caught:
        solve(tool, a_wanted(tmp_path / "env"), calling)
    assert caught.value.code == code
    assert words in caught.value.because[0].text
    assert "--json" not in fake.calls[1]
    assert "-q" in fake.calls[1].split()


@pytest.mark.parametrize(("tool", "name"), [("conda", "conda-err-badchan"), ("micromamba", "mm-err-badchan")])
def test_a_channel_missing_on_a_mirror_is_read_elsewhere(
    tmp_path: Path, calling: Calling, tool: Tool, name: str
) -> None:
    """Trap 10: mirrors carry some channels only."""
    fake, result = faked(tmp_path, tool)
    fake.answers("plan", "condalm-dry" if tool == "conda" else "mm-dry-json")
    fake.is_dead_at('nosuchchannel: "file:///srv/channel"', name).answers("words", name)
    here, elsewhere = "file:///srv/channel/nosuchchannel", "https://conda.example.com/nosuchchannel"
    forge = CondaChannel("conda-forge", ("https://mirror.example.com/cloud/conda-forge", "https://x.example"))
    channels = (CondaChannel("nosuchchannel", (here, elsewhere)), forge)
    messages: list[str] = []
    wanted = a_wanted(tmp_path / "env", channels=channels)
    solved = solve_somewhere(result, wanted, replace(calling, tell=messages.append))
    assert solved.missed[0][0] == here
    assert here in messages[0]
    assert [channel.urls for channel in solved.wanted.channels] == [(elsewhere,), forge.urls]


def test_a_channel_that_is_nowhere_is_told(tmp_path: Path, calling: Calling) -> None:
    fake, tool = faked(tmp_path, "micromamba")
    fake.answers("plan", "mm-err-neterr").answers("words", "mm-err-neterr")
    urls = ("http://127.0.0.1:1/conda-forge", "http://127.0.0.1:1/b/conda-forge")
    channels = (CondaChannel("conda-forge", urls),)
    with pytest.raises(Unreachable, match=r"127.0.0.1:1") as caught:
        solve_somewhere(tool, a_wanted(tmp_path / "env", channels=channels), calling)
    assert caught.value.code == "channel-unreachable"
    assert urls[0] in [reason.source for reason in caught.value.because]


def test_packages_from_elsewhere_are_told(tmp_path: Path, calling: Calling) -> None:
    """A configuration of the user's that goes before ours."""
    fake, tool = faked(tmp_path, "micromamba")
    fake.answers("plan", "mm-dry-json")
    messages: list[str] = []
    channels = (CondaChannel("conda-forge", ("https://mirror.example.com/conda-forge",)),)
    solve(tool, a_wanted(tmp_path / "env", channels=channels), replace(calling, tell=messages.append))
    assert len(messages) == 2
    assert "file:///srv/channel/conda-forge/noarch" in messages[0]


def test_of_what_is_cached_it_does_not_matter_where_it_once_came_from(
    tmp_path: Path, calling: Calling
) -> None:
    fake, tool = faked(tmp_path, "micromamba")
    document = json.loads(transcript("mm-dry-json").out)
    document["actions"]["FETCH"] = []
    fake.answers("plan", Transcript(0, json.dumps(document), ""))
    messages: list[str] = []
    channels = (CondaChannel("conda-forge", ("https://mirror.example.com/conda-forge",)),)
    solve(tool, a_wanted(tmp_path / "env", channels=channels), replace(calling, tell=messages.append))
    assert messages == []


def test_an_address_with_its_token_masked_is_no_other(tmp_path: Path, calling: Calling) -> None:
    fake, tool = faked(tmp_path, "micromamba")
    masked = transcript("mm-dry-json").out.replace("file:///srv/channel", "https://h.example:8080/t/*****")
    fake.answers("plan", Transcript(0, masked, ""))
    messages: list[str] = []
    channels = (CondaChannel("conda-forge", ("https://ada:pw@h.example:8080/t/s3cret/conda-forge",)),)
    solve(tool, a_wanted(tmp_path / "env", channels=channels), replace(calling, tell=messages.append))
    assert messages == []


def test_a_tool_that_does_not_end_is_ended(tmp_path: Path, calling: Calling) -> None:
    fake, tool = faked(tmp_path, "conda")
    fake.hangs()
    with pytest.raises(InstallFailed, match="resolving took longer"):
        solve(tool, a_wanted(tmp_path / "env"), replace(calling, solve_limit_s=0.05))


def test_terms_are_shown_and_never_accepted(tmp_path: Path, calling: Calling) -> None:
    """Trap 11."""
    fake, tool = faked(tmp_path, "conda")
    command = "conda tos accept --override-channels --channel https://repo.example.com/pkgs/main"
    words = f"Terms of Service have not been accepted.\nTo accept them, run:\n    {command}\n"
    answer = {"exception_name": "CondaToSNonInteractiveError", "message": words}
    fake.answers("plan", Transcript(1, json.dumps(answer), ""))
    with pytest.raises(UsageError) as caught:
        solve(tool, a_wanted(tmp_path / "env"), calling)
    assert caught.value.code == "terms-of-service"
    assert caught.value.fixes[0].command == command
    assert not [call for call in fake.calls if "tos" in call]


def test_a_tool_that_can_not_be_started_is_told(tmp_path: Path, calling: Calling) -> None:
    with pytest.raises(InstallFailed):
        solve(CondaTool("conda", str(tmp_path / "gone")), a_wanted(tmp_path / "env"), calling)
