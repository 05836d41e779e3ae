"""lab.toml: what it says, and what it must not say."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.bootstrap.lab import lock_of, read_lab, with_lab
from gpuenv.bootstrap.lab_toml import LabOptions, parse_lab_file
from gpuenv.model.errors import UsageError
from gpuenv.planning.options import PlanOptions
from gpuenv.untrusted.documents import load_toml

WHOLE = """
mirrors = ["nju", "tuna"]
python = "3.11"

[gpuenv]
version = ">=0.1"
launcher = true

[environments.paper]
requirements = ["torch==2.14.*"]
devices = [0, 1]

[environments.course]
requirement_files = ["course/requirements.txt"]
find_links = ["wheels", "/srv/wheels", "https://wheels.lab.example/"]
python = "3.12"
offline = false
verify = false

[[mirror]]
name = "lab"
pypi = {simple = "https://mirror.lab.example/simple"}
"""


def test_what_is_said_for_all_holds_where_an_environment_says_nothing_else() -> None:
    file = parse_lab_file(load_toml(WHOLE))
    assert file.environments == (
        (
            "paper",
            LabOptions(
                requirements=("torch==2.14.*",), devices=(0, 1), python="3.11", mirrors=("nju", "tuna")
            ),
        ),
        (
            "course",
            LabOptions(
                requirement_files=("course/requirements.txt",), python="3.12", mirrors=("nju", "tuna"),
                find_links=("wheels", "/srv/wheels", "https://wheels.lab.example/"), offline=False,
                verify=False,
            ),
        ),
    )  # fmt: skip
    assert file.everywhere == LabOptions(mirrors=("nju", "tuna"), python="3.11")
    assert (file.version, file.wheel, file.launcher) == (">=0.1", None, True)
    assert [dict(own_mirror)["name"] for own_mirror in file.own_mirrors] == ["lab"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it has no environment: add `[environments.NAME]`"),
        ("[environments]", "it has no environment: add `[environments.NAME]`"),
        ("environments = 3", "`environments` is not a table"),
        ("[environments]\nx = 3", "`environments.x` is not a table"),
        ("[enviroments.x]", "there is no key `enviroments`: did you mean `environments`?"),
        (
            "[environments.x]\nmirror = ['nju']",
            "there is no key `environments.x.mirror`: did you mean `environments.x.mirrors`?",
        ),
        ("pythons = '3'\n[environments.x]", "there is no key `pythons`: did you mean `python`?"),
        (
            "[gpuenv]\nqq = 1\n[environments.x]",
            "there is no key `gpuenv.qq`: the keys are `version`, `wheel`, `launcher`",
        ),
        ("[environments.x]\npython = 3.11", "`environments.x.python` is not a text"),
        ("[environments.x]\nrequirements = 'torch'", "`environments.x.requirements` is not a list of texts"),
        ("[environments.x]\ndevices = [true]", "`environments.x.devices` is not a list of numbers"),
        ("[environments.x]\noffline = 1", "`environments.x.offline` is not true or false"),
        (
            "[gpuenv]\nversion = '1'\nwheel = 'x'\n[environments.x]",
            "`gpuenv.version` and `gpuenv.wheel` are mutually exclusive",
        ),
        ("mirror = 3\n[environments.x]", "`mirror` is not a list of tables"),
    ],
)  # fmt: skip
def test_what_it_can_not_mean_is_told_by_its_key(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        parse_lab_file(load_toml(text))


_KEYS = ("environments", "gpuenv", "mirror", "mirrors", "python", "version", "wheel", "devices", "verify")
keys = st.sampled_from(_KEYS) | st.text(max_size=4)
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(keys, anything, max_size=5))
def test_any_tables_are_read_or_refused(document: dict[str, Any]) -> None:
    with suppress(ValueError):
        parse_lab_file(document)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[environments.x]\nmanager = 'poetry'", "`environments.x.manager` is not one of auto, uv, pip"),
        ("channel = 'forge'\n[environments.x]", "`environments.x.channel` is not one of auto, wheels"),
        ("[environments.x", "lab.toml` cannot be read: "),
        ("a = " + "[" * 100_000, "lab.toml` cannot be read: "),
        ("[environments.x]\n[environments.x]", "lab.toml` cannot be read: "),
    ],
)
def test_a_file_that_can_not_be_read_is_named(tmp_path: Path, text: str, part: str) -> None:
    file = tmp_path / "lab.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_lab(file)
    assert caught.value.code == "bad-lab-file"
    assert part in caught.value.message


def test_an_environment_has_a_name_that_create_takes(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    file.write_text("[environments.'../x']\n")
    with pytest.raises(UsageError) as caught:
        read_lab(file)
    assert caught.value.code == "bad-name"


def test_a_name_that_it_does_not_have_is_told_with_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    file.write_text("[environments.paper]\n[environments.course]\n")
    with pytest.raises(UsageError) as caught:
        read_lab(file).options_of("papr")
    assert caught.value.fixes[0].text == "did you mean `paper`?"


def test_paths_are_those_beside_the_file() -> None:
    lab_options = LabOptions(
        requirement_files=("r.txt",), environment_file="e.yml", lock="l.toml",
        find_links=("wheels", "/srv/wheels", "https://x.example/"),
    )  # fmt: skip
    folder = Path("/lab")
    options = with_lab(PlanOptions(), lab_options, folder)
    assert options.requirement_files == (Path("/lab/r.txt"),)
    assert options.environment_file == Path("/lab/e.yml")
    assert options.find_links == (str(Path("/lab/wheels")), "/srv/wheels", "https://x.example/")
    assert lock_of(PlanOptions(), lab_options, folder) == Path("/lab/l.toml")


def test_what_is_typed_goes_before_what_the_file_says() -> None:
    lab_options = LabOptions(
        requirements=("torch==2.14.*",), requirement_files=("r.txt",), lock="l.toml", python="3.11",
        mirrors=("nju",), cuda="cu126",
    )  # fmt: skip
    typed = PlanOptions(requirements=("torch==2.15.*",), mirrors=("tuna",), python="3.12")
    options = with_lab(typed, lab_options, Path("/lab"))
    assert (options.requirements, options.requirement_files) == (("torch==2.15.*",), ())
    assert (options.mirrors, options.python, options.cuda) == (("tuna",), "3.12", "cu126")
    assert lock_of(typed, lab_options, Path("/lab")) is None
