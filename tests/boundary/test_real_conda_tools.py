"""The conda tools that are on PATH, on channels of conda-forge's shape; skipped where there is none."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, cast

import pytest
from conda_channel import ChannelServer
from conda_packages import CondaPackage
from conda_world import make_world
from msgspec.structs import replace
from serving import Site, serve

from gpuenv.environments.conda.create import CondaRunning
from gpuenv.environments.conda.create_somewhere import create_somewhere
from gpuenv.installers.conda.check_solution import Tool
from gpuenv.installers.conda.explicit import takes_lists
from gpuenv.installers.conda.solve import Solved, solve_somewhere
from gpuenv.installers.conda.tool import Calling, CondaTool, read_info, tool_versions
from gpuenv.model.conda import CondaChannel, CondaPin, CondaWanted
from gpuenv.model.errors import GpuenvError, InstallFailed, Unreachable
from gpuenv.process import interruption

pytestmark = pytest.mark.slow

SPECS = ("python 3.11.*", "pip", "pytorch 2.8.0 cuda*")
REQUESTED = ("requested_spec", "requested_specs", "_requested_specs")
OF_THE_CHANNEL = ("timestamp",)  # libmamba records seconds from repodata, milliseconds from a package
OF_THE_CACHE = ("link", "package_tarball_full_path", "extracted_package_dir")


@pytest.fixture(scope="module")
def packages() -> tuple[CondaPackage, ...]:
    """conda-forge's torch 2.8 as small packages."""
    return make_world(keep=lambda row: row["torch"] == "2.8.0" and row["channel"] == "conda-forge")[
        "conda-forge"
    ]


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as item:
        yield item


@pytest.fixture
def channel(site: Site, packages: tuple[CondaPackage, ...]) -> CondaChannel:
    """conda-forge on two mirrors."""
    server = ChannelServer(site)
    urls = (server.publish("conda-forge", packages, under=f"/{name}").urls for name in ("first", "second"))
    return CondaChannel("conda-forge", tuple(url for (url,) in urls))


class Lab:
    """A tool with a home, a cache and a log of its calls of its own."""

    def __init__(self, tool: Tool, program: str, root: Path) -> None:
        self.root, self.said = root, list[str]()
        wrapper = root / "bin" / tool
        wrapper.parent.mkdir()
        lines = ("#!/bin/sh", f'echo "$*" >> {shlex.quote(str(root / "calls"))}', f'exec {program} "$@"')
        wrapper.write_text("\n".join(lines), encoding="utf-8")
        wrapper.chmod(0o755)
        self.tool = CondaTool(tool, str(wrapper))
        environ = {
            "PATH": os.environ["PATH"], "HOME": str(root / "home"), "NO_PROXY": "127.0.0.1",
            "CONDA_PKGS_DIRS": str(root / "pkgs"), "MAMBA_ROOT_PREFIX": str(root / "mamba"),
            "CONDA_REMOTE_MAX_RETRIES": "1", "CONDA_REMOTE_BACKOFF_FACTOR": "0",
        }  # fmt: skip
        self.calling = Calling(environ, root / "cache", shards=False, tell=self.said.append)

    @property
    def calls(self) -> list[str]:
        lines = (self.root / "calls").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.startswith("create")]

    def solve(self, channel: CondaChannel, name: str = "lab") -> Solved:
        pins = (CondaPin("pytorch", "2.8.0", "cuda*"),)
        wanted = CondaWanted((channel,), SPECS, pins, "12.8", "linux-64", str(self.root / "envs" / name))
        return solve_somewhere(self.tool, wanted, self.calling)

    def make(self, solved: Solved, *, lists: bool = True, **settings: Any) -> Path:
        info = read_info(self.tool, self.calling)
        if lists and not takes_lists(info, tool_versions()):
            pytest.skip(f"{info.tool} {info.version} installs no lists")
        log = self.root / "log"
        running = CondaRunning(self.calling, log, caches=info.caches, lists=lists, **settings)
        create_somewhere(self.tool, solved, running, "linux", lambda _: None)
        return Path(solved.wanted.prefix)


@pytest.fixture(params=["conda", "mamba", "micromamba"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"{request.param} is not on PATH")
    with interruption.heeded():
        yield Lab(cast("Tool", request.param), program, tmp_path)
    with interruption.heeded():  # a Ctrl-C of the test is forgotten
        pass


def records(prefix: Path) -> dict[str, dict[str, Any]]:
    files = sorted((prefix / "conda-meta").glob("*.json"))
    return {file.name: json.loads(file.read_text(encoding="utf-8")) for file in files}


def torch_file(packages: tuple[CondaPackage, ...], solved: Solved) -> CondaPackage:
    (record,) = (record for record in solved.fetch if record.name == "pytorch")
    return next(package for package in packages if package.filename == record.filename)


def test_it_solves_once_and_later_installs_know_what_was_asked_for(lab: Lab, channel: CondaChannel) -> None:
    prefix = lab.make(lab.solve(channel))
    solve, make = lab.calls
    assert ("--dry-run" in solve, "--file" in make) == (True, True)
    done = subprocess.run(
        (lab.tool.path, "env", "export", "-p", str(prefix), "--from-history"),
        env={**lab.calling.environ}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    specs = [line.strip(" -").rpartition("::")[2] for line in done.stdout.splitlines() if "- " in line]
    wanted = {re.split(r"[\s=\[]", spec)[0] for spec in specs}
    assert {"python", "pip", "pytorch"} <= wanted
    assert "numpy" not in wanted


def test_from_a_list_the_records_are_those_of_a_solve(lab: Lab, channel: CondaChannel) -> None:
    listed = records(lab.make(lab.solve(channel, "listed")))
    shutil.rmtree(lab.root / "pkgs")
    solved = records(lab.make(lab.solve(channel, "solved"), lists=False))
    for record in (*listed.values(), *solved.values()):
        for key in (*REQUESTED, *OF_THE_CHANNEL, *OF_THE_CACHE):
            record.pop(key, None)
    assert listed == solved


@pytest.mark.parametrize("fault", ["corrupt", "cut off", "gone"])
def test_a_package_that_cannot_be_had_whole_comes_from_the_next_mirror(
    lab: Lab, site: Site, channel: CondaChannel, packages: tuple[CondaPackage, ...], fault: str
) -> None:
    solved = lab.solve(channel)
    package = torch_file(packages, solved)

    def cut(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(package.content)))
        request.end_headers()
        request.wfile.write(package.content[:500])
        request.close_connection = True

    path = f"/first/conda-forge/{package.subdir}/{package.filename}"
    if fault == "corrupt":
        site.page(path, b"rubbish" * 200)
    elif fault == "cut off":
        site.at(path, cut)
    else:
        del site.routes[path]
    prefix = lab.make(solved)
    assert sum("--file" in call for call in lab.calls) == 2
    assert [record["url"] for record in records(prefix).values() if record["name"] == "pytorch"] == [
        f"{channel.urls[1]}/{package.subdir}/{package.filename}"
    ]


@pytest.mark.parametrize("fault", ["corrupt", "gone"])
def test_without_another_mirror_nothing_is_left(
    lab: Lab, site: Site, channel: CondaChannel, packages: tuple[CondaPackage, ...], fault: str
) -> None:
    solved = lab.solve(CondaChannel(channel.name, channel.urls[:1]))
    package = torch_file(packages, solved)
    path = f"/first/conda-forge/{package.subdir}/{package.filename}"
    if fault == "corrupt":
        site.page(path, b"rubbish" * 200)
    else:
        del site.routes[path]
    with pytest.raises(GpuenvError) as raised:
        lab.make(solved)
    assert isinstance(raised.value, InstallFailed if fault == "corrupt" else Unreachable)
    assert "pytorch-2.8.0" in raised.value.message
    assert not (lab.root / "envs" / "lab").exists()
    assert not Path(lab.calls[-1].partition("--file ")[2]).exists()


def test_offline_a_filled_cache_is_enough(lab: Lab, site: Site, channel: CondaChannel) -> None:
    lab.make(lab.solve(channel, "first"))
    before = len(site.asked)
    lab.calling = replace(lab.calling, offline=True)
    solved = lab.solve(channel, "again")
    prefix = lab.make(solved)
    assert len(site.asked) == before
    assert len(records(prefix)) == len(solved.records)


@pytest.mark.parametrize("login", ["/t/ab-12345-s3cret", "/t/ab-12345-s3cret/anaconda/cloud", "ada:s3cret@"])
def test_no_password_stays_in_the_environment_or_the_log(
    lab: Lab, site: Site, packages: tuple[CondaPackage, ...], login: str
) -> None:
    under = login if login.startswith("/") else ""
    (url,) = ChannelServer(site).publish("conda-forge", packages, under=under).urls
    channel = CondaChannel("conda-forge", (url if under else url.replace("://", f"://{login}"),))
    prefix = lab.make(lab.solve(channel))
    texts = [file.read_text(encoding="utf-8") for file in (prefix / "conda-meta").iterdir() if file.is_file()]
    assert not any("s3cret" in text for text in (*texts, (lab.root / "log").read_text(encoding="utf-8")))


def test_ctrl_c_in_a_download_leaves_neither_environment_nor_list(
    lab: Lab, site: Site, channel: CondaChannel, packages: tuple[CondaPackage, ...]
) -> None:
    solved = lab.solve(CondaChannel(channel.name, channel.urls[:1]))
    package = torch_file(packages, solved)

    def stall(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(package.content)))
        request.end_headers()
        request.wfile.write(package.content[:500])
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        site.closing.wait(60)

    site.at(f"/first/conda-forge/{package.subdir}/{package.filename}", stall)
    with pytest.raises(KeyboardInterrupt):
        lab.make(solved)
    assert not (lab.root / "envs" / "lab").exists()
    assert not Path(lab.calls[-1].partition("--file ")[2]).exists()


def test_two_at_once_are_both_whole(lab: Lab, channel: CondaChannel) -> None:
    plans = [lab.solve(channel, name) for name in ("one", "two")]
    failures: list[BaseException] = []

    def make(solved: Solved) -> None:
        try:
            lab.make(solved)
        except BaseException as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=make, args=(solved,)) for solved in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [len(records(Path(solved.wanted.prefix))) for solved in plans] == [len(plans[0].records)] * 2
