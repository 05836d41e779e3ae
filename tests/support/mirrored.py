"""Plans made against the network of replicas in this process, and whether they hold by the raw rows."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from deciding import Asked, decided, machine
from packaging.version import Version
from published import Published
from raw_rows import runs
from replica_network import Network
from replica_pages import Held, Shelf

from gpuenv import matrices
from gpuenv.model.errors import GpuenvError
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import render_machine
from gpuenv.model.plan import Plan, PlannedPackage
from gpuenv.planning.make_plan import make_plan
from gpuenv.planning.options import PlanOptions

SCENARIOS = Path(__file__).parents[1] / "scenarios"
_NOWHERE = "http://127.0.0.1:1"
_PYTHONS = tuple(f"cp3{minor}" for minor in range(8, 16))  # that uv brings


@dataclass(frozen=True)
class Table:
    """One of the 22 machines, and what is asked for on it."""

    name: str
    machine: Machine
    python: str | None

    @property
    def official(self) -> dict[str, str] | None:
        """What the official indexes give: versions by project; None for a refusal."""
        return _official(self.name)


@cache
def tables() -> tuple[Table, ...]:
    result = []
    for path in sorted(SCENARIOS.glob("table-*.json")):
        scenario = json.loads(path.read_text(encoding="utf-8"))
        request = scenario.get("request", {})
        result.append(Table(path.stem, machine(scenario["machine"]), request.get("python")))
    return tuple(result)


@cache
def _official(name: str) -> dict[str, str] | None:
    table = next(item for item in tables() if item.name == name)
    outcome = decided(Asked((table.machine,), python=table.python, published=Published()))
    return (
        None if outcome.plan is None else {package.name: package.version for package in outcome.plan.packages}
    )


@dataclass(frozen=True)
class Planner:
    """Makes plans in this process, for machines that are files, with directories of its own."""

    root: Path
    network: Network

    @property
    def environ(self) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")},
            "HOME": str(self.root),
            "GPUENV_CACHE_DIR": str(self.root / "cache"),
            "GPUENV_DATA_DIR": str(self.root / "data"),
            "GPUENV_CONFIG": str(self.root / "config.toml"),
            "PIP_CONFIG_FILE": os.devnull,
            "UV_NO_CONFIG": "1",
            **isolated(self.network),
        }

    def configure(self) -> None:
        """Write the configuration file that has the mirrors at the replicas' addresses."""
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / "config.toml").write_text(self.network.configuration, encoding="utf-8")

    def plan(self, table: Table, *mirrors: str, more: dict[str, str] | None = None, **options: Any) -> Plan:
        """Plan for a machine; it raises what `make_plan` raises."""
        file = self.root / f"{table.name}.json"
        file.write_text(json.dumps(render_machine(table.machine)), encoding="utf-8")
        plan_options = PlanOptions(machines=(file,), python=table.python, mirrors=mirrors, **options)
        return make_plan(plan_options, {**self.environ, **(more or {})}, target=".venv")

    def outcome(self, table: Table, *mirrors: str, **options: Any) -> Plan | GpuenvError:
        """Plan for a machine, or tell why there is no plan."""
        try:
            return self.plan(table, *mirrors, **options)
        except GpuenvError as error:
            return error


def isolated(network: Network) -> dict[str, str]:
    """Return variables by which no request leaves this machine."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _NOWHERE)
    own = {**proxies, "NO_PROXY": network.no_proxy}
    return {**own, **{name.lower(): value for name, value in own.items()}}


# judging


def versions(plan: Plan) -> dict[str, str]:
    return {package.name: package.version for package in plan.packages}


def official_torch(fields: dict[str, str]) -> str:
    """The torch among some versions, without its variant."""
    return fields["torch"].partition("+")[0]


def judge(plan: Plan, table: Table, network: Network, *allowed: str) -> list[str]:
    """Say what is wrong with a plan whose files may lie on the replicas `allowed`."""
    torch = next(planned for planned in plan.packages if planned.name == "torch")
    row = row_of(torch)
    if row is None:
        return [f"no row of the matrix is torch {torch.version}"]
    values = [f"torch {torch.version} does not run here"] if not runs_here(row, table) else []
    for package in plan.packages:
        values += _faults_of(package, plan.python, network, allowed)
    for package in plan.packages:
        release = package.version.partition("+")[0]
        if package.name in row and release not in row[package.name] and package.name != "torch":
            values.append(
                f"{package.name} {release} is not compatible with the installed torch {row['torch']}"
            )
    return values


def row_of(torch: PlannedPackage) -> dict[str, Any] | None:
    release, _, variant = torch.version.partition("+")
    wanted = variant or torch.variant
    kind = "pytorch" if variant else None  # a plain version may be PyPI's or an old folder's
    for row in matrices.load("torch"):
        same = (row["torch"], row["variant"], row["platform"]) == (release, wanted, "linux-64")
        if same and kind in (None, row["index"]):
            return row
    return None


def runs_here(row: dict[str, Any], table: Table) -> bool:
    """Whether a build runs on every GPU; anything runs where there is none."""
    gpus, driver = table.machine.gpus, table.machine.driver
    if not gpus:
        return True
    return (
        driver is not None
        and bool(row["cuda"])
        and all(
            runs(row, str(gpu.compute_capability), str(driver.version), "linux", len(gpus)) for gpu in gpus
        )
    )


def _faults_of(package: PlannedPackage, python: str, network: Network, allowed: tuple[str, ...]) -> list[str]:
    if not package.url or not package.filename:
        return [f"{package.name} has no address"]
    location = network.replica_of(package.url)
    held = held_at(network, package)
    tag = f"cp{python.replace('.', '')}"
    faults = []
    if location not in allowed:
        faults.append(f"{package.name} lies on {location}, not on {allowed}")
    if held is None:
        faults.append(f"{package.filename} lies nowhere")
    elif package.sha256 not in (None, held.sha256):
        faults.append(f"{package.filename} has the digest of another file")
    if f"-{tag}-" not in package.filename and "-py3-" not in package.filename:
        faults.append(f"{package.filename} does not support Python {python}")
    return faults


def held_at(network: Network, package: PlannedPackage) -> Held | None:
    """The file that a package's address leads to, whichever replica has it."""
    shelf = network.shelf("official")
    folder = str(package.url).rpartition("/")[0].rpartition("/")[2]
    in_folder = shelf.get(str(package.filename), folder)
    return in_folder or shelf.get(str(package.filename), None) or shelf.get(str(package.filename), "")


def best_of_pypi(table: Table, shelf: Shelf) -> Version | None:
    """The newest torch of PyPI's own builds that has a file for a Python on offer and runs here."""
    wanted = _PYTHONS if table.python is None else (f"cp{table.python.replace('.', '')}",)
    files = {(item.version, item.filename.split("-")[2]) for item in shelf.pypi("torch") if _for_linux(item)}
    fitting = [
        Version(row["torch"])
        for row in matrices.load("torch")
        if row["index"] == "pypi" and row["platform"] == "linux-64" and runs_here(row, table)
        if any((row["torch"], tag) in files for tag in row["pythons"] if tag in wanted)
    ]
    return max(fitting, default=None)


def _for_linux(held: Held) -> bool:
    return held.filename.endswith("x86_64.whl") and not held.yanked
