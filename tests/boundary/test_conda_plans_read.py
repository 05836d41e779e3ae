"""Plans from conda channels that are read over HTTP: what is listed there counts, not what is known of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conda_channel import ChannelServer
from conda_packages import CondaPackage
from deciding import gpu_machine
from index_server import dead_url
from serving import Site, serve

from gpuenv.model.errors import Unsatisfiable
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import render_machine
from gpuenv.model.plan import Plan
from gpuenv.planning.make_plan import make_plan
from gpuenv.planning.options import PlanOptions

H100 = gpu_machine("535.104.05", "NVIDIA H100")
V100 = gpu_machine("535.104.05", "Tesla V100-SXM2-16GB")
NOWHERE = "http://127.0.0.1:1"  # nobody listens on port 1
PYTHON = ("python >=3.12,<3.13.0a0", "python_abi 3.12.* *_cp312")


def torch(
    version: str, cuda: str | None = "12.9", cudnn: str = "9.10.1.4", number: int = 300
) -> CondaPackage:
    """A build of conda-forge's torch, for Python 3.12."""
    flavour = f"cuda{cuda.replace('.', '')}" if cuda else "cpu"
    needs = ("__cuda", f"cudnn >={cudnn},<10.0a0") if cuda else ()
    return CondaPackage(
        "pytorch", version, f"{flavour}_mkl_py312_h{number}_{number}", number, "linux-64",
        depends=(*needs, "__glibc >=2.28,<3.0.a0", *PYTHON),
    )  # fmt: skip


def vision(version: str) -> CondaPackage:
    build = "cuda129_py312_h1_0"
    return CondaPackage("torchvision", version, build, 0, "linux-64", depends=("pytorch * cuda*", *PYTHON))


@dataclass(frozen=True)
class Desk:
    """Where plans are made: a server with conda-forge on it, which the user's configuration calls `lab`."""

    root: Path
    site: Site

    def publish(self, *packages: CondaPackage) -> None:
        ChannelServer(self.site).publish("conda-forge", packages, under="/anaconda/cloud")

    def plan(
        self, machine: Machine, *requirements: str, mirrors: tuple[str, ...] = ("lab",), **more: Any
    ) -> Plan:
        file = self.root / "machine.json"
        file.write_text(json.dumps(render_machine(machine)), encoding="utf-8")
        typed: dict[str, Any] = {"manager": "mamba", "channel": "conda-forge", **more}
        options = PlanOptions(requirements=requirements, machines=(file,), mirrors=mirrors, **typed)
        return make_plan(options, dict(os.environ), target=".venv")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with serve() as site:
        config = tmp_path / "config.toml"
        places = {"lab": site.url, "gone": dead_url()}
        config.write_text(
            "\n".join(
                f'[[mirror]]\nname = "{name}"\n[mirror.conda]\nroot = "{url}/anaconda"\npkgs = []\n'
                'cloud = ["conda-forge"]'
                for name, url in places.items()
            )
        )
        for name in list(os.environ):
            if name.startswith(("PIP_", "UV_", "CONDA", "MAMBA", "GPUENV_")):
                monkeypatch.delenv(name)
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, NOWHERE)
        for name, value in {
            "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "HOME": str(tmp_path), "UV_NO_CONFIG": "1",
            "GPUENV_CACHE_DIR": str(tmp_path / "cache"), "GPUENV_CONFIG": str(config),
            "PIP_CONFIG_FILE": os.devnull,
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        yield Desk(tmp_path, site)


def codes(plan: Plan) -> set[str]:
    return {warn.code for warn in plan.warnings}


def test_a_package_that_is_listed_is_planned_with_all_that_is_told_of_it(desk: Desk) -> None:
    package = torch("2.8.0")
    desk.publish(package, torch("2.8.0", None), vision("0.23.0"))
    plan = desk.plan(H100, "torch", "torchvision")
    planned = plan.packages[0]
    assert (planned.version, planned.build, planned.variant) == ("2.8.0", package.build, "cu129")
    assert planned.url == f"{desk.site.url}/anaconda/cloud/conda-forge/linux-64/{package.filename}"
    assert (planned.sha256, planned.size) == (package.entry["sha256"], package.entry["size"])
    assert planned.evidence == "matrix"
    assert plan.packages[1].version == "0.23.0"
    assert plan.conda is not None
    assert plan.conda.pins[0].spec == "pytorch 2.8.0 cuda129*"
    assert codes(plan) == set()


def test_the_newest_that_is_listed_counts_and_not_the_newest_that_is_known(desk: Desk) -> None:
    desk.publish(torch("2.7.1"), torch("2.8.0"), torch("99.0"))
    assert desk.plan(H100, "torch").packages[0].version == "2.8.0"


def test_a_gpu_machine_gets_no_cpu_build_where_nothing_else_is_listed(desk: Desk) -> None:
    desk.publish(torch("2.8.0", None))
    with pytest.raises(Unsatisfiable):
        desk.plan(H100, "torch")


def test_a_build_that_needs_a_cudnn_without_the_gpu_is_passed_over(desk: Desk) -> None:
    """The matrix knows of cuDNN 9 alone; a channel tells which."""
    desk.publish(torch("2.8.0", cudnn="9.13.0.50"), torch("2.7.1", cudnn="9.10.1.4"))
    plan = desk.plan(V100, "torch")
    assert plan.packages[0].version == "2.7.1"
    assert plan.conda is not None
    assert "cudnn <9.11" in plan.conda.specs
    assert any(rejection.rule == "library" and rejection.version == "2.8.0" for rejection in plan.rejected)
    assert desk.plan(H100, "torch").packages[0].version == "2.8.0"
    assert "cudnn-assumed" not in codes(plan)


def test_without_a_channel_it_is_said_that_the_cudnn_is_assumed(desk: Desk) -> None:
    plan = desk.plan(V100, "torch==2.7.1", offline=True)
    assert plan.conda is not None
    assert "cudnn <9.11" in plan.conda.specs
    assert "cudnn-assumed" in codes(plan)
    assert "cudnn-assumed" not in codes(desk.plan(H100, "torch==2.7.1", offline=True))


def test_of_builds_of_one_release_the_one_that_serves_the_gpu_is_enough(desk: Desk) -> None:
    desk.publish(
        torch("2.8.0", cudnn="9.13.0.50", number=301), torch("2.8.0", cudnn="9.10.1.4"), torch("2.7.1")
    )
    plan = desk.plan(V100, "torch")
    assert plan.packages[0].version == "2.8.0"
    assert plan.conda is not None
    assert "cudnn <9.11" in plan.conda.specs


def test_a_mirror_that_is_down_is_passed_over_aloud(desk: Desk) -> None:
    desk.publish(torch("2.8.0"))
    plan = desk.plan(H100, "torch", mirrors=("gone", "lab"))
    assert str(plan.packages[0].url).startswith(desk.site.url)
    assert codes(plan) == {"channel-passed-over"}


def test_where_no_place_answers_what_is_known_stands_in(desk: Desk) -> None:
    plan = desk.plan(H100, "torch", mirrors=("gone",))
    assert plan.packages[0].url is None
    assert plan.packages[0].build == "cuda129*"
    assert codes(plan) == {"channel-unreadable", "assumed"}


def test_offline_the_listing_that_was_read_before_counts(desk: Desk) -> None:
    desk.publish(torch("2.8.0"))
    before = desk.plan(H100, "torch")
    desk.site.routes.clear()
    assert desk.plan(H100, "torch", offline=True).packages == before.packages


def test_a_package_without_a_python_is_told_and_one_for_pypy_passed_over(desk: Desk) -> None:
    build, needs = "cuda129_mkl_h1_300", ("__cuda", "python >=3.9,<3.10.0a0", "python_abi 3.9 *_pypy39_pp73")
    pypy = CondaPackage("pytorch", "2.9.0", build, 300, "linux-64", depends=needs)
    desk.publish(torch("2.8.0"), pypy)
    plan = desk.plan(H100, "torch")
    assert (plan.packages[0].version, codes(plan)) == ("2.8.0", set())
    desk.publish(torch("2.8.0"), CondaPackage("pytorch", "2.9.0", build, 300, "linux-64", depends=needs[:1]))
    desk.root.joinpath("cache").rename(desk.root / "cache of before")
    plan = desk.plan(H100, "torch")
    assert (plan.packages[0].version, codes(plan)) == ("2.8.0", {"files-unparsed"})


@pytest.mark.parametrize("abi", ["pypy312_pp73", "cp312t", "cp311"])
def test_a_package_for_another_python_than_was_asked_for_is_refused(desk: Desk, abi: str) -> None:
    needs = ("__cuda", "python >=3.12,<3.13.0a0", f"python_abi 3.12.* *_{abi}")
    desk.publish(CondaPackage("pytorch", "2.8.0", "cuda129_mkl_h1_300", 300, "linux-64", depends=needs))
    with pytest.raises(Unsatisfiable):
        desk.plan(H100, "torch", python="3.12")
