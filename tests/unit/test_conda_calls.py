"""How conda tools are called: the same for all of them, and nothing of the user's gets in between."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_conda import a_wanted
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.config_edit.condarc import read_settings
from gpuenv.installers import get_conda_manager
from gpuenv.installers.conda.commands import (
    channel_argument,
    condarc_name,
    create_arguments,
    dry_run_arguments,
    environment_python,
    render_condarc,
    specs,
    variables,
)
from gpuenv.installers.conda.tool import TOOLS, program_behind
from gpuenv.model.conda import CondaChannel

PREFIX = Path("/envs/paper")
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True).filter(lambda name: name != "defaults")


def test_a_plan_and_its_creation_differ_in_nothing_but_the_dry_run() -> None:
    wanted = a_wanted(PREFIX)
    plan, create = dry_run_arguments(wanted, str(PREFIX)), create_arguments(wanted)
    assert [word for word in plan if word != "--dry-run"] == [word for word in create if word != "-y"]
    assert "-y" not in plan
    assert "--dry-run" not in create


@pytest.mark.parametrize("name", TOOLS)
def test_the_step_can_be_pasted(name: str) -> None:
    (step,) = get_conda_manager(name).steps(a_wanted(PREFIX))
    assert step.argv[:4] == (name, "create", "-p", "/envs/paper")
    assert "pytorch 2.8.0 cuda128*" in step.argv
    assert "--json" not in step.argv


@pytest.mark.parametrize("spec", ["--offline", "-y", " "])
def test_an_option_is_no_spec(spec: str) -> None:
    with pytest.raises(ValueError, match="is an option"):
        specs(a_wanted(PREFIX, specs=(spec,)))


def test_pip_is_asked_for_once() -> None:
    """Trap 15."""
    assert specs(a_wanted(PREFIX, specs=("python 3.11.*",))) == ("python 3.11.*", "pip")
    assert specs(a_wanted(PREFIX, specs=("python=3.11", "pip", "pip"))) == ("python=3.11", "pip")
    assert specs(a_wanted(PREFIX, specs=("tzdata",))) == ("tzdata",)


def test_a_mirror_is_led_to_by_name() -> None:
    """Trap 9: the value is the base, without the channel's name; `channel_alias` is left alone."""
    forge = CondaChannel("conda-forge", ("https://mirror.example/anaconda/cloud/conda-forge/",))
    defaults = CondaChannel("defaults", ("https://mirror.example/anaconda/pkgs/main",))
    settings = read_settings(render_condarc((forge, defaults)))
    assert settings == {
        "show_channel_urls": True,
        "default_channels": ["https://mirror.example/anaconda/pkgs/main"],
        "custom_channels.conda-forge": "https://mirror.example/anaconda/cloud",
    }
    assert [channel_argument(channel) for channel in (forge, defaults)] == ["conda-forge", "defaults"]


def test_a_channel_whose_address_does_not_end_in_its_name_is_asked_for_by_address() -> None:
    odd = CondaChannel("pkgs/main", ("https://repo.example/pkgs/main",))
    assert channel_argument(odd) == "https://repo.example/pkgs/main"
    assert read_settings(render_condarc((odd,))) == {"show_channel_urls": True}
    assert channel_argument(CondaChannel("nvidia", ("https://x.example/nv",))) == "https://x.example/nv"
    assert channel_argument(CondaChannel("nvidia", ())) == "nvidia"


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://ada:hunter2@conda.example/lab", "lab"),
        ("https://conda.example/t/tk-hunter2-01/lab/", "lab"),
        ("https://ada:hunter2@conda.example/get/lab", "get/lab"),
    ],
)
def test_a_secret_address_is_no_argument_but_a_line_of_the_condarc(address: str, name: str) -> None:
    """Everybody on a machine can read the arguments of its processes."""
    others = (CondaChannel("lab", ()),) if "/" in name else ()
    secret = CondaChannel("https://conda.example/lab", (address,))
    wanted = a_wanted(PREFIX, channels=(*others, secret))
    words = (*dry_run_arguments(wanted, str(PREFIX)), *create_arguments(wanted))
    assert "hunter2" not in " ".join(words)
    assert words.count(name) == 2
    settings = read_settings(render_condarc(wanted.channels))
    assert f"{settings[f'custom_channels.{name}']}/{name}" == address.rstrip("/")


@given(NAMES, st.sampled_from(["https://x.example", "https://me:pw@x.example/a", "file:///srv/c"]))
def test_what_a_condarc_says_leads_back_to_the_address(name: str, base: str) -> None:
    channel = CondaChannel(name, (f"{base}/{name}",))
    answer = read_settings(render_condarc((channel,)))[f"custom_channels.{name}"]
    assert f"{answer}/{channel_argument(channel)}" == channel.urls[0]


@pytest.mark.parametrize(
    "address",
    [
        "https://conda.example/t/tk-hunter2-01/cloud/conda-forge",
        "https://conda.example:8443/mirror/t/tk-hunter2-01/anaconda/cloud/conda-forge/",
    ],
)
def test_a_token_stays_where_it_stands_in_an_address(address: str) -> None:
    """What conda moves: the token of a custom channel's base, to where the server knows none (HTTP 404)."""
    channel = CondaChannel("conda-forge", (address,))
    theirs = "custom_multichannels:\n  lab: [https://lab.example/a]\n"
    settings = read_settings(render_condarc((channel,), theirs))
    assert settings["custom_multichannels"] == {
        "lab": ["https://lab.example/a"],
        "conda-forge": [address.rstrip("/")],
    }
    assert "custom_channels.conda-forge" not in settings
    assert channel_argument(channel) == "conda-forge"


def test_a_token_within_the_address_of_a_channel_without_a_name_stays_there() -> None:
    address = "https://conda.example/t/tk-hunter2-01/get/lab"
    channel = CondaChannel("https://conda.example/lab", (address,))
    words = dry_run_arguments(a_wanted(PREFIX, channels=(channel,)), str(PREFIX))
    assert "hunter2" not in " ".join(words)
    assert read_settings(render_condarc((channel,)))["custom_multichannels"] == {"lab": [address]}


def test_shards_are_not_looked_for_on_a_mirror_without() -> None:
    """Trap 10."""
    assert read_settings(render_condarc((), shards=False))["repodata_use_shards"] is False


@given(st.text(max_size=30))
def test_a_condarc_is_called_what_conda_reads(text: str) -> None:
    """Trap 9: it ignores any other name in silence."""
    assert condarc_name(text).endswith(".yml")


def test_variables_that_would_change_the_question_are_left_out() -> None:
    environ = {"HOME": "/home/user", "CONDA_CHANNELS": "x", "MAMBA_DRY_RUN": "1", "CONDA_JSON": "1",
               "MAMBA_PLATFORM": "win-64", "PYTHONHOME": "/x", "HTTPS_PROXY": "http://p.example"}  # fmt: skip
    assert variables(environ, a_wanted(PREFIX, cuda=None), ca_bundle="/ca.pem") == {
        "HOME": "/home/user", "HTTPS_PROXY": "http://p.example", "CONDA_OVERRIDE_CUDA": "",
        "CONDA_SUBDIR": "linux-64", "MAMBA_NO_BANNER": "1", "REQUESTS_CA_BUNDLE": "/ca.pem",
    }  # fmt: skip


def test_where_channels_are_is_the_users_to_say_unless_gpuenv_does() -> None:
    environ = {"CONDA_CHANNEL_ALIAS": "https://mirror.example", "MAMBA_DEFAULT_CHANNELS": "x"}
    kept = variables(environ, a_wanted(PREFIX))
    assert kept.items() >= environ.items()
    ours = variables(environ, a_wanted(PREFIX), condarc="/cache/condarc.yml")
    assert not ours.keys() & environ.keys()
    assert ours["CONDARC"] == "/cache/condarc.yml"


def test_on_windows_the_program_behind_the_batch_file_is_called(tmp_path: Path) -> None:
    """There cmd would read `<`, `>` and `*` in a spec itself."""
    batch = tmp_path / "condabin" / "conda.bat"
    assert program_behind(str(batch)) == str(batch)
    (tmp_path / "Scripts").mkdir()
    (tmp_path / "Scripts" / "conda.exe").touch()
    assert program_behind(str(batch)) == str(tmp_path / "Scripts" / "conda.exe")
    assert program_behind("/opt/conda/bin/conda") == "/opt/conda/bin/conda"


def test_the_interpreter_of_windows_lies_beside_no_scripts() -> None:
    assert environment_python("C:\\envs\\paper", "windows") == "C:\\envs\\paper\\python.exe"
    assert environment_python("/envs/paper", "linux") == "/envs/paper/bin/python"
