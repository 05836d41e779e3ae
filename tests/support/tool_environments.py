"""Environments with a tiny torch and a program, to be cloned and renamed."""

from __future__ import annotations

from pathlib import Path

from index_server import IndexServer
from running import Program
from tiny_wheels import tiny_torch, tiny_wheel

_TOOL = {
    "tool.py": "def main():\n    import sys\n    print(sys.prefix)\n",
    "ipykernel_launcher.py": "",
    "tool-1.0.dist-info/entry_points.txt": "[console_scripts]\ntool = tool:main\n",
}


def publish_tool(server: IndexServer, folder: Path) -> None:
    """Put torch, the program (`tool`, which prints where it runs) and one more package on the indexes."""
    server.publish(tiny_torch(folder, "2.14.1+cpu"), "pytorch", "cpu")
    server.publish(tiny_wheel(folder, "tool", "1.0", files=_TOOL), "pypi")
    server.publish(tiny_wheel(folder, "later", "1.0"), "pypi")


def make_with_tool(program: Program, mirrors: tuple[str, ...], name: str, manager: str = "uv") -> Path:
    """Create an environment with torch and the program; return its path."""
    wanted = ("torch==2.14.1", "tool", "--cuda", "cpu", "--manager", manager, "--yes", "--json")
    done = program.run("create", name, *wanted, *mirrors)
    assert done.status == 0, done.out + done.err
    return Path(done.data["environment"]["path"])
