"""The network of replicas that tests run against: all hosts of `mirror_replicas`, each with all there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mirror_replicas import Files, FlatSite, PypiSite, TorchSite, either
from packaging.version import Version
from replica_pages import Shelf, apache_page
from replica_server import Answer, Asked, Fault, Replica, redirect, serving

TORCH_MIRRORS = ("nju", "aliyun", "sjtu")


@dataclass
class Network:
    """The replicas by name, and the sites that answer for them: `sjtu_pypi` and `sjtu_torch` are one host."""

    official: Replica
    r2: Replica
    pypi: Replica
    pypi_files: Replica
    tuna: Replica
    sjtu: Replica
    sjtu_store: Replica
    nju: Replica
    aliyun: Replica
    cernet: Replica
    huawei: Replica
    nvidia: Replica
    elsewhere: Replica
    sites: dict[str, Any]

    @property
    def replicas(self) -> dict[str, Replica]:
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "sites"}

    @property
    def shelves(self) -> list[Shelf]:
        return list({id(site.shelf): site.shelf for site in self.sites.values()}.values())

    def shelf(self, name: str) -> Shelf:
        """Return what a mirror holds, its copy of PyPI and its torch wheels."""
        return next(site.shelf for key, site in self.sites.items() if key.split("_")[0] == name)

    def publish(self, wheel: Path, variant: str | None = None) -> None:
        """Put a wheel on every shelf: in a folder of the PyTorch index, or on PyPI."""
        for shelf in self.shelves:
            shelf.add(wheel, variant)

    def forget(self) -> None:
        for replica in self.replicas.values():
            replica.forget()

    def asked(self) -> dict[str, int]:
        """Count requests by replica, those without any left out."""
        return {name: len(item.asked) for name, item in self.replicas.items() if item.asked}

    def files_from(self) -> dict[str, int]:
        """Count by replica the wheels that were read."""
        counted = {name: sum(item.files_asked().values()) for name, item in self.replicas.items()}
        return {name: count for name, count in counted.items() if count}

    def replica_of(self, url: str) -> str | None:
        """Tell whose address it is."""
        return next((name for name, item in self.replicas.items() if url.startswith(f"{item.url}/")), None)

    @contextmanager
    def failing(self, name: str, fault: Fault, *parts: str) -> Iterator[None]:
        """Let a replica fail (all of it, or paths with one of `parts` in them) as long as the block lasts."""
        with self.replicas[name].failing(fault, *parts):
            yield

    @contextmanager
    def down(self, *names: str, fault: Fault = "reset") -> Iterator[None]:
        """Let whole hosts be down."""
        for name in names:
            self.replicas[name].faults["/"] = fault
        try:
            yield
        finally:
            for name in names:
                del self.replicas[name].faults["/"]

    @contextmanager
    def stale(self, name: str, torch: str) -> Iterator[None]:
        """Let a mirror hold nothing from a release of torch on."""
        shelf = self.shelf(name)
        shelf.torch_before = Version(torch)
        try:
            yield
        finally:
            shelf.torch_before = None

    @contextmanager
    def lacking(self, name: str, *parts: str) -> Iterator[None]:
        """Let a mirror hold no file whose name has one of `parts` in it."""
        shelf = self.shelf(name)
        shelf.without |= set(parts)
        try:
            yield
        finally:
            shelf.without -= set(parts)

    @contextmanager
    def switched(self, site: str, **switches: Any) -> Iterator[None]:
        """Set switches of a site (`leaks_to`, `metadata`, `bypasses_to`, ...)."""
        before = {name: getattr(self.sites[site], name) for name in switches}
        for name, value in switches.items():
            setattr(self.sites[site], name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(self.sites[site], name, value)

    def address(self, name: str) -> str:
        """Return what stands for a mirror's copy of PyPI, or of the PyTorch index, as `pypi:tuna`."""
        part, _, mirror = name.partition(":")
        row = self.rows[mirror]
        return str(row[part]["simple" if part == "pypi" else "address"])

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        """The mirrors as rows of matrices/mirrors.json."""
        return {
            "official": {
                "title": "the official indexes", "kind": "official", "status": "alive",
                "pypi": {"simple": f"{self.pypi.url}/simple", "files": [self.pypi_files.host]},
                "torch": {
                    "address": f"{self.official.url}/whl", "layout": "pep503", "hashes": True,
                    "files": [self.r2.host],
                },
                "hosts": [self.official.host, self.pypi.host], "missing_status": [403],
            },
            "tuna": {
                "title": "Tsinghua", "kind": "university", "status": "alive", "aliases": ["tsinghua"],
                "hosts": [self.tuna.host],
                "pypi": {
                    "simple": f"{self.tuna.url}/pypi/web/simple", "wrong": [f"{self.tuna.url}/pypi/simple"],
                },
            },
            "nju": {
                "title": "Nanjing", "kind": "university", "status": "alive", "hosts": [self.nju.host],
                "pypi": {"simple": f"{self.nju.url}/pypi/web/simple"},
                "torch": {
                    "address": f"{self.nju.url}/pytorch/whl/{{variant}}", "layout": "pep503", "hashes": True,
                },
            },
            "aliyun": {
                "title": "Alibaba Cloud", "kind": "commercial", "status": "alive",
                "hosts": [self.aliyun.host], "pypi": {"simple": f"{self.aliyun.url}/pypi/simple"},
                "torch": {
                    "address": f"{self.aliyun.url}/pytorch-wheels/{{variant}}", "layout": "flat",
                    "hashes": False,
                },
            },
            "sjtu": {
                "title": "Shanghai Jiao Tong", "kind": "university", "status": "alive",
                "hosts": [self.sjtu.host],
                "pypi": {"simple": f"{self.sjtu.url}/pypi/web/simple", "files": [self.sjtu_store.host]},
                "torch": {
                    "address": f"{self.sjtu.url}/pytorch-wheels/{{variant}}", "layout": "pep503",
                    "hashes": True, "files": [self.sjtu_store.host],
                },
                "missing_status": [403],
            },
            "cernet": {
                "title": "CERNET", "kind": "router", "status": "redirector", "hosts": [self.cernet.host],
                "pypi": {
                    "simple": f"{self.cernet.url}/pypi/web/simple",
                    "files": [self.tuna.host, self.nju.host],
                },
                "torch": {
                    "address": f"{self.cernet.url}/pytorch/whl/{{variant}}", "layout": "pep503",
                    "hashes": True, "files": [self.nju.host],
                },
            },
            "huawei": {
                "title": "Huawei Cloud", "kind": "commercial", "status": "partial",
                "hosts": [self.huawei.host],
                "pypi": {"simple": f"{self.huawei.url}/repository/pypi/simple"},
            },
        }  # fmt: skip

    @property
    def configuration(self) -> str:
        """The configuration file of gpuenv, in which the mirrors lie at the replicas' addresses."""
        return "\n".join(_entry(name, row) for name, row in self.rows.items())

    @property
    def no_proxy(self) -> str:
        return ",".join(replica.host for replica in self.replicas.values())


def _entry(name: str, row: dict[str, Any]) -> str:
    lines = ["[[mirror]]", f"name = {_toml(name)}", f"source = {_toml('the test')}"]
    lines += [f"{key} = {_toml(value)}" for key, value in row.items() if not isinstance(value, dict)]
    for key, value in row.items():
        if isinstance(value, dict):
            lines += [f"[mirror.{key}]", *(f"{inner} = {_toml(answer)}" for inner, answer in value.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


@contextmanager
def serve_network() -> Iterator[Network]:
    """Run all replicas until the block ends."""
    names = [field.name for field in fields(Network) if field.name != "sites"]
    replicas = {name: Replica(name, f"127.0.0.{number}") for number, name in enumerate(names, 1)}
    network = Network(**replicas, sites={})
    with serving(*replicas.values()):
        _furnish(network)
        yield network


def _furnish(network: Network) -> None:
    """Give each replica what it answers with."""
    shelves = {name: Shelf() for name in ("official", "tuna", "sjtu", "nju", "aliyun", "huawei", "elsewhere")}
    official, sjtu, nju, aliyun = (shelves[name] for name in ("official", "sjtu", "nju", "aliyun"))
    pypi_files, nvidia = network.pypi_files, network.nvidia
    mirrored = "/pypi/web/simple"
    sites: dict[str, Any] = {
        "official_torch": TorchSite(
            network.official, official, forbids=True, foreign=nvidia.url, leaks_to=network.r2, json=False
        ),
        "official_pypi": PypiSite(
            network.pypi, official, link=lambda held: f"{pypi_files.url}/{held.hashed}"
        ),
        "tuna_pypi": PypiSite(network.tuna, shelves["tuna"], root=mirrored),
        "sjtu_pypi": PypiSite(
            network.sjtu, sjtu, root=mirrored, storage=network.sjtu_store, json=False,
            link=lambda held: f"/pypi-{held.hashed}",
        ),
        "sjtu_torch": TorchSite(
            network.sjtu, sjtu, root="/pytorch-wheels", storage=network.sjtu_store, foreign=nvidia.url
        ),
        "nju_pypi": PypiSite(network.nju, nju, root=mirrored),
        "nju_torch": TorchSite(
            network.nju, nju, root="/pytorch/whl", all_variants=False, json=False, foreign=nvidia.url
        ),
        "aliyun_pypi": PypiSite(network.aliyun, aliyun, root="/pypi/simple"),
        "aliyun_torch": FlatSite(network.aliyun, aliyun),
        "huawei_pypi": PypiSite(network.huawei, shelves["huawei"], root="/repository/pypi/simple"),
        "elsewhere_torch": TorchSite(network.elsewhere, shelves["elsewhere"]),
        "elsewhere_flat": FlatSite(
            network.elsewhere, shelves["elsewhere"], root="/pub/torch", page=apache_page
        ),
    }  # fmt: skip
    network.sites |= sites
    for name in ("official", "pypi", "tuna", "sjtu", "nju", "aliyun", "huawei", "elsewhere"):
        own = "official_pypi" if name == "pypi" else "official_torch" if name == "official" else ""
        gives = [site.give for key, site in sites.items() if (key == own if own else key.startswith(name))]
        network.replicas[name].give = either(*gives)
    network.r2.give = Files(official, forbids=True).give
    pypi_files.give = Files(official).give
    network.sjtu_store.give = Files(sjtu, forbids=True).give
    network.cernet.give = _route(network)
    network.huawei.give = _soft(network.huawei.give)


def _route(network: Network) -> Any:
    """CERNET: a request for torch goes to NJU, all others to Tsinghua."""

    def give(asked: Asked) -> Answer:
        member = network.nju if asked.path.startswith("/pytorch/") else network.tuna
        return redirect(f"{member.url}{asked.path.replace('+', '%2B')}")

    return give


def _soft(give: Any) -> Any:
    """Huawei: 200 and a page of text where others answer 404."""

    def softly(asked: Asked) -> Answer:
        answer: Answer = give(asked)
        text = b"<!DOCTYPE html><html><head><title>Mirrors</title></head><body>Welcome</body></html>"
        return Answer(text) if answer.status == 404 else answer

    return softly
