"""What is written as environment.yml holds for every program that reads such files."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from conda_deciding import plan_of_channel
from deciding import gpu_machine
from msgspec.structs import replace
from packaging.requirements import Requirement
from plans import plan
from ruamel.yaml import YAML

from gpuenv.formats.environment_yml import render_environment
from gpuenv.model.plan import Plan
from gpuenv.resolution.conda.plan_part import with_conda_python
from gpuenv.resolution.target import choose_target

H100 = gpu_machine("535.104.05", "NVIDIA H100")
ROOT = "https://conda.anaconda.org"


def of_channel(channel: str) -> Plan:
    made = plan_of_channel(channel, H100, "torch", "torchvision", more=("pandas >=2", "jq"))
    assert made.conda is not None
    kept = (("variables", {"OMP_NUM_THREADS": 4, "SCALE": 0.5, "NAMED": "x: y"}),)
    return replace(made, conda=replace(made.conda, kept=kept), requirements=("einops>=0.8",))


def of_wheels() -> Plan:
    return with_conda_python(plan(manager="conda"), choose_target((H100,), (), cpu=False))


PLANS = {"conda-forge": of_channel("conda-forge"), "pytorch": of_channel("pytorch"), "wheels": of_wheels()}


@pytest.fixture(params=PLANS)
def made(request: pytest.FixtureRequest) -> Plan:
    return PLANS[request.param]


def read(made: Plan) -> dict[str, Any]:
    document = YAML(typ="safe", pure=True).load(StringIO(render_environment(made)))
    assert isinstance(document, dict)
    return document


def conda_part(document: dict[str, Any]) -> list[str]:
    return [item for item in document["dependencies"] if isinstance(item, str)]


def pip_part(document: dict[str, Any]) -> list[str]:
    return [line for item in document["dependencies"] if isinstance(item, dict) for line in item["pip"]]


@pytest.mark.parametrize("manager", ["conda", "mamba", "micromamba", "rattler"])
def test_the_file_is_the_same_whoever_makes_it_and_names_channels_alone(made: Plan, manager: str) -> None:
    """`nodefaults` is a channel to pixi, and to conda 26.7, which then fails with HTTP 404."""
    channels = read(replace(made, manager=manager))["channels"]
    assert channels == read(made)["channels"]
    assert channels
    assert not {"nodefaults", "defaults"} & set(channels)


def test_py_rattler_reads_each_spec_as_it_is_meant(made: Plan) -> None:
    """Its Rust library reads the lines for pixi, too."""
    rattler = pytest.importorskip("rattler")
    assert made.conda is not None
    document = read(made)
    for spec in conda_part(document):
        name, *rest = spec.split()
        matched = rattler.MatchSpec(spec, strict=False)
        assert name in str(matched.name)
        assert (matched.version is None) == (not rest)
        assert (matched.build is None) == (len(rest) < 2)
    bases = [rattler.Channel(name).base_url for name in document["channels"]]
    assert bases == [f"{ROOT}/{channel.name}/" for channel in made.conda.channels]


def test_pixi_imports_it(made: Plan) -> None:
    """The fields as pixi declares them: a wrong type ends the import.

    https://github.com/prefix-dev/pixi/blob/main/crates/pixi_utils/src/conda_environment_file.rs
    """
    document = read(made)
    assert isinstance(document["name"], str)
    assert all(isinstance(channel, str) for channel in document["channels"])
    variables = document["variables"]
    assert all(isinstance(item, str) for pair in variables.items() for item in pair), variables
    assert all(isinstance(item, str) or set(item) == {"pip"} for item in document["dependencies"])


def test_of_the_pip_part_pixi_reads_requirements_only() -> None:
    """Indexes of torch's wheels are options of pip, which pixi does not read: `--format pixi` names them."""
    for channel in ("conda-forge", "pytorch"):
        assert "einops" in [Requirement(line).name for line in pip_part(read(PLANS[channel]))]
    options = [line.partition(" ")[0] for line in pip_part(read(PLANS["wheels"])) if line.startswith("-")]
    assert set(options) <= {"--index-url", "--extra-index-url", "--find-links", "--no-index"}
