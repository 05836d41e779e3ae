"""A mirror of conda channels, as gpuenv's configuration file names it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from conda_channel import ChannelServer
from conda_world import Packages
from running import Program
from serving import Site, serve

ROOT = "/anaconda"


@contextmanager
def serve_mirror(world: Packages) -> Iterator[Site]:
    """Serve channels below a mirror's root."""
    with serve() as site:
        server = ChannelServer(site)
        for name, packages in world.items():
            server.publish(name, packages, under=f"{ROOT}/cloud")
        yield site


def with_mirror(program: Program, site: Site) -> Program:
    """Let gpuenv know the server as the mirror `lab`."""
    file = program.home / "config.toml"
    channels = json.dumps(["conda-forge", "pytorch", "nvidia"])
    lines = (
        "[[mirror]]", 'name = "lab"', "[mirror.conda]", f'root = "{site.url}{ROOT}"', "pkgs = []",
        f"cloud = {channels}",
    )  # fmt: skip
    file.write_text("\n".join(lines), encoding="utf-8")
    return program.with_(GPUENV_CONFIG=str(file), NO_PROXY="127.0.0.1")
