"""A stack that installs, on every shelf of the network of replicas; and what is in an environment."""

from __future__ import annotations

import sys
from importlib.metadata import distributions
from pathlib import Path

from replica_network import Network
from tiny_wheels import TAG, tiny_torch, tiny_torchvision, tiny_wheel

TORCH = ("torch==2.14.1", "torchvision")
CPU = ("--cuda", "cpu", "--python", f"{sys.version_info[0]}.{sys.version_info[1]}")
WANTED = {
    "torch": "2.14.1+cpu", "torchvision": "0.29.1+cpu", "mylib": "2.0", "tinydep": "1.0",
    "nvidia-tiny": "1.0",
}  # fmt: skip


def publish_stack(network: Network, here: Path) -> None:
    """Put on every shelf a stack that installs; PyPI holds newer torches, as ever."""
    network.publish(tiny_torch(here / "torch", "2.14.1+cpu"), "cpu")
    network.publish(tiny_torchvision(here, "0.29.1+cpu"), "cpu")
    network.publish(tiny_torch(here / "newer", "2.15.0"))
    network.publish(tiny_wheel(here, "tinydep", "1.0"))
    network.publish(tiny_wheel(here, "nvidia_tiny", "1.0"))
    network.publish(
        tiny_wheel(here, "mylib", "2.0", requires=("tinydep>=1", "nvidia-tiny", "torch>=2"), tag=TAG)
    )


def publish_torches(network: Network, here: Path) -> None:
    """Put two tiny torches on the official index: 2.15.0+cu130 for new GPUs, 2.14.1+cu126 for old ones."""
    for version, cuda in (("2.15.0", "13.0"), ("2.14.1", "12.6")):
        variant = f"cu{cuda.replace('.', '')}"
        wheel = tiny_torch(
            here / variant, f"{version}+{variant}", cuda=cuda, architectures=("sm_60", "sm_100")
        )
        network.publish(wheel, variant)


def installed(environment: Path) -> dict[str, str]:
    """Return the versions in an environment by normalized name, without what a venv starts with."""
    places = [str(path) for path in environment.glob("lib/*/site-packages")]
    fields = {str(item.metadata["Name"]).lower(): item.version for item in distributions(path=places)}
    renamed = {name.replace("_", "-"): version for name, version in fields.items()}
    return {name: version for name, version in renamed.items() if name not in {"pip", "setuptools"}}
