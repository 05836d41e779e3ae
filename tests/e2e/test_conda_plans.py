"""The 22 machines planned with a conda tool; each build is judged by the raw rows of the matrices.

Nothing is asked of any server: what is decided follows from the matrices that are shipped.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from mirrored import Table, row_of, runs_here, tables
from packaging.version import Version
from running import Program
from sampling import every

from gpuenv import matrices
from gpuenv.formats.environment_yml import render_environment
from gpuenv.formats.json import render_plan_data
from gpuenv.formats.text import render_text
from gpuenv.host.software.package_managers import find_conda_tools
from gpuenv.model.errors import GpuenvError, Unsatisfiable, UsageError
from gpuenv.model.machine_json import render_machine
from gpuenv.model.plan import Plan
from gpuenv.planning.make_plan import make_plan
from gpuenv.planning.options import PlanOptions

ROWS = matrices.load("conda")
TABLES = {table.name: table for table in tables()}
H100_535, T4_418, NO_GPU = "table-12-h100-535", "table-22-t4-418", "table-21-no-gpu"
BROKEN = "table-20-driver-broken"
CHANNELS = ("conda-forge", "pytorch")
TUNA = "https://mirrors.tuna.tsinghua.edu.cn/anaconda/cloud"
OFFICIAL = "https://conda.anaconda.org"
HAS_CONDA = bool(find_conda_tools({"PATH": ""}, Path("/")))  # in a folder that is found without a PATH
FILE = """\
name: paper
channels: [pytorch, nvidia, bioconda]
dependencies:
  - python=3.10
  - pytorch=2.1
  - torchvision
  - samtools>=1.9  # [linux]
  - pip:
    - timm==0.9.12
variables: {OMP_NUM_THREADS: 4}
"""


@dataclass(frozen=True)
class Desk:
    """Where plans are made: a home of its own, a PATH without anything on it."""

    root: Path

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.root),
            "PATH": str(self.root / "bin"),
            "GPUENV_CACHE_DIR": str(self.root / "cache"),
            "GPUENV_DATA_DIR": str(self.root / "data"),
            "PIP_CONFIG_FILE": os.devnull,
            "UV_NO_CONFIG": "1",
        }

    def machine(self, table: Table) -> Path:
        file = self.root / f"{table.name}.json"
        file.write_text(json.dumps(render_machine(table.machine)), encoding="utf-8")
        return file

    def plan(self, table: Table, **options: Any) -> Plan:
        typed: dict[str, Any] = {"manager": "mamba", "python": table.python, "offline": True, **options}
        return make_plan(PlanOptions(machines=(self.machine(table),), **typed), self.environ, target=".venv")

    def outcome(self, table: Table, **options: Any) -> Plan | GpuenvError:
        try:
            return self.plan(table, **options)
        except GpuenvError as error:
            return error


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("desk"))


# the channels


def fitting(table: Table, channel: str) -> list[dict[str, Any]]:
    """The raw rows of a channel that run on every GPU of a machine, with a Python that was asked for."""
    variants = {"cpu"} if table.machine.without_gpu else {row["variant"] for row in ROWS} - {"cpu"}
    python = f"cp{table.python.replace('.', '')}" if table.python else None
    return [
        row
        for row in ROWS
        if (row["channel"], row["platform"]) == (channel, "linux-64")
        if row["variant"] in variants
        if runs_here(row, table) and (python is None or python in row["pythons"])
    ]


def row_planned(plan: Plan, channel: str) -> dict[str, Any]:
    torch = plan.packages[0]
    wanted = (channel, torch.version, torch.variant, torch.subdir)
    (row,) = [
        entry
        for entry in ROWS
        if (entry["channel"], entry["torch"], entry["variant"], entry["platform"]) == wanted
    ]
    return row


@pytest.mark.parametrize(("name", "channel"), every(3, product(TABLES, CHANNELS)))
def test_a_machine_gets_a_build_that_runs_on_it_or_a_refusal(desk: Desk, name: str, channel: str) -> None:
    table = TABLES[name]
    outcome = desk.outcome(table, channel=channel)
    rows = [] if name == BROKEN else fitting(table, channel)
    if not rows:
        assert isinstance(outcome, Unsatisfiable), outcome
        return
    assert isinstance(outcome, Plan), outcome
    row = row_planned(outcome, channel)
    assert row in rows
    assert Version(row["torch"]) == max(Version(entry["torch"]) for entry in rows)
    assert f"cp{outcome.python.replace('.', '')}" in row["pythons"]
    assert (outcome.variant == "cpu") == table.machine.without_gpu


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("name", [H100_535, T4_418, NO_GPU])
def test_the_solver_is_told_the_very_build(desk: Desk, name: str, channel: str) -> None:
    """Trap 5: without a build in the spec a solver falls back to the CPU in silence."""
    plan = desk.plan(TABLES[name], channel=channel)
    assert plan.conda is not None
    torch, *companions = plan.conda.pins
    row = row_planned(plan, channel)
    assert (torch.name, torch.version) == ("pytorch", plan.packages[0].version)
    assert torch.build == row["build"].replace("{python}", plan.python)
    assert {pin.spec for pin in (torch, *companions)} <= set(plan.conda.specs)
    assert set(row["requires"]) <= set(plan.conda.specs)
    assert f"python {plan.python}.*" in plan.conda.specs
    assert "pip" in plan.conda.specs
    assert [item.name for item in plan.conda.channels] == row["channels"]
    driver = TABLES[name].machine.driver
    assert plan.conda.cuda == (str(driver.cuda) if driver else None)


def test_a_refused_channel_leads_to_what_works(desk: Desk) -> None:
    """The pytorch channel ended before the RTX 5090: what is offered has been tried."""
    table = TABLES["table-13-rtx-5090-570"]
    outcome = desk.outcome(table, channel="pytorch")
    assert isinstance(outcome, Unsatisfiable)
    commands = [fix.command for fix in outcome.fixes if fix.command]
    offered = [
        command.rpartition("--channel ")[2].split()[0] for command in commands if "--channel" in command
    ]
    assert offered == ["conda-forge", "wheels"]
    for channel in offered:
        assert isinstance(desk.outcome(table, channel=channel), Plan)


def test_what_would_not_work_is_not_offered(desk: Desk) -> None:
    outcome = desk.outcome(TABLES["table-18-t4-418-python-3-11"], channel="conda-forge")
    assert isinstance(outcome, Unsatisfiable)
    assert not any("wheel" in fix.text for fix in outcome.fixes)


def test_a_cpu_build_is_planned_where_it_is_asked_for(desk: Desk) -> None:
    for channel in CHANNELS:
        plan = desk.plan(TABLES[H100_535], channel=channel, cuda="cpu")
        assert plan.variant == "cpu"
        assert plan.conda is not None
        assert "cpu" in plan.conda.pins[0].build
        assert render_text(plan).startswith("a CPU build")


# wheels beside conda's Python


@pytest.mark.parametrize("name", every(4, TABLES))
def test_wheels_are_those_that_another_manager_would_take(desk: Desk, name: str) -> None:
    table = TABLES[name]
    outcome = desk.outcome(table, channel="wheels")
    other = desk.outcome(table, manager="uv", channel="wheels")
    if isinstance(other, GpuenvError):
        assert isinstance(outcome, Unsatisfiable)
        return
    assert isinstance(outcome, Plan), outcome
    torch = outcome.packages[0]
    row = row_of(torch)
    assert row is not None
    assert runs_here(row, table)
    assert (torch.variant == "cpu") == table.machine.without_gpu
    assert torch.version == other.packages[0].version
    assert outcome.conda is not None
    assert outcome.conda.mixed
    assert outcome.conda.specs == (f"python {outcome.python}.*", "pip")
    assert outcome.python_path is None
    create, install = outcome.steps
    assert create.argv[:2] == ("mamba", "create")
    assert set(outcome.pins) <= set(install.argv)


# mirrors


def channels_in(argv: tuple[str, ...]) -> list[str]:
    return [word for before, word in pairwise(argv) if before == "-c"]


def test_tsinghua_alone_is_conda_forge_at_tsinghua(desk: Desk) -> None:
    """It carries no wheels of torch's."""
    plan = desk.plan(TABLES[H100_535], mirrors=("tuna",))
    assert plan.packages[0].channel == "conda-forge"
    assert channels_in(plan.steps[0].argv) == [f"{TUNA}/conda-forge"]


def test_a_channel_that_a_mirror_lacks_is_read_at_its_own_place(desk: Desk) -> None:
    plan = desk.plan(TABLES[H100_535], channel="pytorch", mirrors=("tuna",))
    assert channels_in(plan.steps[0].argv) == [f"{TUNA}/pytorch", f"{OFFICIAL}/nvidia", f"{TUNA}/conda-forge"]
    assert plan.conda is not None
    assert [channel.name for channel in plan.conda.channels] == ["pytorch", "nvidia", "conda-forge"]
    assert all(channel.urls[-1].startswith(OFFICIAL) for channel in plan.conda.channels)


def test_the_next_mirror_stands_in(desk: Desk) -> None:
    plan = desk.plan(TABLES[H100_535], channel="pytorch", mirrors=("ustc", "tuna"))
    assert plan.conda is not None
    pytorch, _, forge = plan.conda.channels
    assert pytorch.urls == (f"{TUNA}/pytorch", f"{OFFICIAL}/pytorch")
    assert forge.urls[1:] == (f"{TUNA}/conda-forge", f"{OFFICIAL}/conda-forge")


@pytest.mark.parametrize("mirrors", [("nju",), ("tuna", "nju"), ("tuna", "official"), ("tuna", "auto"), ()])
def test_where_wheels_can_be_had_torch_is_a_wheel(desk: Desk, mirrors: tuple[str, ...]) -> None:
    plan = desk.plan(TABLES[H100_535], mirrors=mirrors)
    assert plan.conda is not None
    assert plan.conda.mixed
    assert plan.packages[0].version == "2.14.1+cu126"


def test_without_a_mirror_the_persons_own_configuration_leads_to_the_channels(desk: Desk) -> None:
    plan = desk.plan(TABLES[H100_535], channel="pytorch")
    assert channels_in(plan.steps[0].argv) == ["pytorch", "nvidia", "conda-forge"]


def test_a_name_that_no_mirror_has_is_bad_usage(desk: Desk) -> None:
    outcome = desk.outcome(TABLES[H100_535], channel="conda-forge", mirrors=("tunaa",))
    assert isinstance(outcome, UsageError)
    assert outcome.code == "unknown-mirror"


# a person's file


def with_file(desk: Desk, text: str, **options: Any) -> Plan:
    file = desk.root / "environment.yml"
    file.write_text(text, encoding="utf-8")
    return desk.plan(TABLES[H100_535], environment_file=file, **options)


def test_a_file_is_the_request_for_a_conda_tool(desk: Desk) -> None:
    plan = with_file(desk, FILE, channel="pytorch")
    assert plan.conda is not None
    assert [package.version for package in plan.packages] == ["2.1.2", "0.16.2"]
    assert plan.python == "3.10"
    assert "samtools>=1.9" in plan.conda.specs
    assert [channel.name for channel in plan.conda.channels] == [
        "pytorch",
        "nvidia",
        "conda-forge",
        "bioconda",
    ]
    assert plan.requirements == ("timm==0.9.12",)
    assert "timm==0.9.12" in plan.steps[-1].argv
    assert dict(plan.conda.kept) == {"name": "paper", "variables": {"OMP_NUM_THREADS": 4}}


def test_a_files_channels_on_a_mirror_become_names_that_lead_there(desk: Desk) -> None:
    text = FILE.replace(
        "[pytorch, nvidia, bioconda]", f"[{TUNA}/pytorch/, {TUNA}/bioconda, https://lab.example.com/c]"
    )
    plan = with_file(desk, text, channel="pytorch")
    assert plan.conda is not None
    names = {channel.name: channel.urls for channel in plan.conda.channels}
    assert names["pytorch"] == (f"{TUNA}/pytorch",)
    assert names["bioconda"] == (f"{TUNA}/bioconda",)
    assert names["https://lab.example.com/c"] == ("https://lab.example.com/c",)
    assert names["conda-forge"] == ()


@pytest.mark.parametrize("secret", ["ada:secret@lab.example.com/c", "lab.example.com/t/ab-secret-12345/c"])
def test_what_opens_a_channel_is_in_the_command_and_nowhere_else(desk: Desk, secret: str) -> None:
    plan = with_file(desk, FILE.replace("bioconda", f"https://{secret}"), channel="pytorch")
    assert f"https://{secret}" in channels_in(plan.steps[0].argv)
    data = render_plan_data(plan)
    message = json.dumps({**data, "steps": [step["why"] for step in data["steps"]]}) + render_environment(
        plan
    )
    assert "secret" not in message
    assert "lab.example.com" in message


def test_defaults_are_never_among_the_channels(desk: Desk) -> None:
    """The terms of Anaconda are the user's to accept, and `defaults` goes with no other channel."""
    listed = f"[defaults, nodefaults, {TUNA.replace('/cloud', '/pkgs/main')}]"
    plan = with_file(desk, FILE.replace("[pytorch, nvidia, bioconda]", listed), channel="conda-forge")
    assert plan.conda is not None
    assert [channel.name for channel in plan.conda.channels] == ["conda-forge"]


# on the command line


@pytest.fixture
def typed(shared: Program) -> tuple[str, ...]:
    file = shared.root / "machine.json"
    file.write_text(json.dumps(render_machine(TABLES[H100_535].machine)), encoding="utf-8")
    return ("plan", "--offline", "--machine", str(file))


def test_a_channel_with_a_manager_that_reads_none_is_bad_usage(
    shared: Program, typed: tuple[str, ...]
) -> None:
    for manager in ("uv", "pip"):
        done = shared.run(*typed, "--channel", "conda-forge", "--manager", manager, "--json")
        assert done.status == 2
        assert done.error["code"] == "channel-without-conda"


def test_a_conda_package_has_channel_build_and_subdir_in_place_of_a_file(
    shared: Program, typed: tuple[str, ...]
) -> None:
    done = shared.run(*typed, "--channel", "conda-forge", "--manager", "mamba", "--json")
    torch = done.package("torch")
    assert "filename" not in torch
    assert (torch["channel"], torch["subdir"]) == ("conda-forge", "linux-64")
    assert torch["build"].startswith("cuda")
    assert torch["variant"] == torch["build"].rstrip("*").replace("cuda", "cu")
    assert torch["evidence"] == "assumed"
    assert done.data["manager"] == "mamba"
    assert set(done.data["conda"]) == {"channels", "specs", "cuda"}
    wheel = shared.run(*typed, "--manager", "mamba", "--json").package("torch")
    assert wheel["filename"].endswith(".whl")
    assert not {"channel", "build", "subdir"} & set(wheel)


def test_the_same_data_comes_from_the_library(desk: Desk) -> None:
    packages = render_plan_data(desk.plan(TABLES[H100_535], channel="conda-forge"))["packages"]
    assert [("filename" in package, package["channel"]) for package in packages] == [
        (False, "conda-forge")
    ] * 2


def put(program: Program, *names: str) -> None:
    """Put programs on the PATH; a plan finds them without starting them."""
    for name in names:
        file = program.bin / name
        file.write_text("#!/bin/sh\nexit 70\n")
        file.chmod(0o755)


@pytest.mark.parametrize(
    ("there", "manager"),
    [(("conda",), "conda"), (("conda", "mamba"), "mamba"), (("conda", "micromamba", "mamba"), "micromamba")],
)
def test_auto_takes_the_fastest_conda_tool_that_is_there(
    program: Program, there: tuple[str, ...], manager: str
) -> None:
    put(program, *there)
    done = program.run("plan", "--offline", "--gpu", "9.0", "--driver", "535.104.05", "--json")
    assert done.data["manager"] == manager
    assert done.torch == "2.14.1+cu126"


@pytest.mark.skipif(HAS_CONDA, reason="this machine has a conda tool where each user's would be found")
def test_auto_is_uv_where_there_is_no_conda_tool(shared: Program, typed: tuple[str, ...]) -> None:
    assert shared.run(*typed, "--json").data["manager"] == "uv"


def test_a_file_is_the_request_for_uv_too(shared: Program, typed: tuple[str, ...]) -> None:
    file = shared.root / "environment.yml"
    file.write_text("dependencies: [python=3.10, pytorch=2.1, torchvision]\n", encoding="utf-8")
    done = shared.run(*typed, "-f", file, "--manager", "uv", "--json")
    assert done.torch.startswith("2.1.2")
    assert done.data["python"] == "3.10"
    assert done.data["manager"] == "uv"


def test_a_file_that_is_no_environment_is_bad_input(shared: Program, typed: tuple[str, ...]) -> None:
    file = shared.root / "bad.yml"
    file.write_text("dependencies:\n\t- torch\n", encoding="utf-8")
    done = shared.run(*typed, "-f", file, "--json")
    assert done.status == 2
    assert done.error["code"] == "bad-environment-file"
    assert "line 2" in done.error["message"]


@pytest.mark.parametrize("channel", ["conda-forge", "pytorch", "wheels"])
def test_the_format_is_written_to_a_file(shared: Program, typed: tuple[str, ...], channel: str) -> None:
    file = shared.root / f"{channel}.yml"
    done = shared.run(*typed, "--channel", channel, "--format", "environment.yml", "-o", file)
    assert done.status == 0, done.err
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# made by gpuenv for\n# NVIDIA H100")
    again = shared.run(*typed, "-f", file, "--channel", channel, "--manager", "conda", "--json")
    assert again.torch == shared.run(*typed, "--channel", channel, "--manager", "conda", "--json").torch


def test_a_format_of_another_manager_is_bad_usage(shared: Program, typed: tuple[str, ...]) -> None:
    done = shared.run(*typed, "--manager", "uv", "--format", "environment.yml", "--json")
    assert done.status == 2
    assert shared.run(*typed, "--channel", "bioconda", "--json").status == 2
