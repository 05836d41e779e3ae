"""py-rattler on real local channels: it solves to the planned build, and the environment's Python runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conda_channel import ChannelServer, put, write_channel
from conda_packages import RUNNING, CondaPackage
from conda_world import Packages, make_world, minor_of
from index_server import dead_url
from msgspec.structs import replace
from plans import plan
from serving import Site, serve

from gpuenv import matrices
from gpuenv.environments.conda.create import CondaRunning
from gpuenv.environments.conda.create_rattler import create_with_rattler
from gpuenv.environments.conda.registry import register_environment, unregister_environment
from gpuenv.environments.run_steps import StepEnvironment
from gpuenv.installers import rattler
from gpuenv.installers.conda.tool import Calling
from gpuenv.model.conda import CondaChannel, CondaPin, CondaPlan, CondaWanted
from gpuenv.model.errors import InstallFailed, Unreachable, Unsatisfiable, UsageError
from gpuenv.model.plan import Sources
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore
from gpuenv.operations.create_conda import CondaCreation, make_conda_environment

pytest.importorskip("rattler")

TORCH = "2.8.0"
GPU = CondaPin("pytorch", TORCH, "cuda129*")
TAG = f"cp{RUNNING.replace('.', '')}"


@pytest.fixture(scope="module")
def world() -> Packages:
    return make_world(keep=lambda row: row["torch"] in (TORCH, "2.5.1") or TAG not in row["pythons"])


@pytest.fixture(scope="module")
def channel(world: Packages, tmp_path_factory: pytest.TempPathFactory) -> CondaChannel:
    """conda-forge in a directory."""
    return CondaChannel("conda-forge", (write_channel(tmp_path_factory.mktemp("cf"), world["conda-forge"]),))


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


@pytest.fixture
def calling(tmp_path: Path) -> Calling:
    return Calling({"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}, tmp_path / "cache")


def wanted(
    tmp_path: Path, *channels: CondaChannel, pin: CondaPin = GPU, cuda: str | None = "12.8"
) -> CondaWanted:
    python = RUNNING if TAG in {"cp310", "cp311", "cp312", "cp313"} else "3.12"
    specs = (f"python {python}.*", pin.spec)
    return CondaWanted(channels, specs, (pin,), cuda, "linux-64", str(tmp_path / "env"))


def running(tmp_path: Path, calling: Calling, told: list[tuple[int, int]] | None = None) -> CondaRunning:
    progress = (lambda _, __: None) if told is None else lambda have, total: told.append((have, total))
    return CondaRunning(calling, tmp_path / "log", progress=progress)


def python_says(prefix: Path, code: str) -> str:
    argv = [str(prefix / "bin" / "python"), "-c", code]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def test_it_solves_to_the_planned_build(tmp_path: Path, channel: CondaChannel, calling: Calling) -> None:
    solved = rattler.solve_somewhere(wanted(tmp_path, channel), calling)
    by_name = {record.name: record for record in solved.records}
    assert by_name["pytorch"].build.startswith("cuda129_")
    assert {"python", "pip", "cuda-version"} <= set(by_name)
    assert {record.channel for record in solved.records} == {"conda-forge"}
    assert all(record.sha256 and record.size for record in solved.records)
    assert (solved.fetch, solved.missed) == (solved.records, ())
    assert not (tmp_path / "env").exists()


@pytest.mark.parametrize("subdir", ["linux-64", "linux-aarch64", "win-64"])
@pytest.mark.parametrize("cuda", [None, "12.4", "13.0"])
def test_it_plans_for_machines_elsewhere(
    tmp_path: Path, calling: Calling, subdir: str, cuda: str | None
) -> None:
    packages = make_world(keep=lambda row: row["torch"] == "2.13.0", subdirs=(subdir,))["conda-forge"]
    there = CondaChannel("conda-forge", (write_channel(tmp_path / "cf", packages),))
    pin = CondaPin("pytorch", "2.13.0", "cuda13*" if cuda == "13.0" else "cuda12*" if cuda else "cpu*")
    conda_wanted = replace(wanted(tmp_path, there, pin=pin, cuda=cuda), subdir=subdir)
    records = {record.name: record for record in rattler.solve(conda_wanted, calling)}
    assert records["pytorch"].subdir == subdir
    assert records["pytorch"].build.startswith(pin.build.rstrip("*"))


def test_a_spec_that_names_its_channel_is_had_from_a_mirror_of_it(
    tmp_path: Path, channel: CondaChannel, calling: Calling
) -> None:
    """To py-rattler a channel of that name is the one at conda.anaconda.org, whatever was read."""
    request = wanted(tmp_path, channel)
    for spec in ("conda-forge::numpy", "conda-forge/noarch::tzdata"):
        records = rattler.solve(replace(request, specs=(*request.specs, spec)), calling)
        name = spec.partition("::")[2].split()[0]
        assert [record.channel for record in records if record.name == name] == ["conda-forge"]
    with pytest.raises(Unsatisfiable, match="compatible"):
        rattler.solve(replace(request, specs=(*request.specs, "nvidia::numpy")), calling)


def test_the_channels_come_in_their_order(tmp_path: Path, world: Packages, calling: Calling) -> None:
    channels = tuple(
        CondaChannel(name, (write_channel(tmp_path / name, world[name]),))
        for name in ("pytorch", "nvidia", "conda-forge")
    )
    pin = CondaPin("pytorch", "2.5.1", "py3.12_cuda12.4*")
    conda_wanted = replace(
        wanted(tmp_path, *channels, pin=pin), specs=("python 3.12.*", pin.spec, "pytorch-cuda 12.4.*")
    )
    by_name = {record.name: record.channel for record in rattler.solve(conda_wanted, calling)}
    assert (by_name["pytorch"], by_name["cuda-cudart"], by_name["python"]) == (
        "pytorch",
        "nvidia",
        "conda-forge",
    )


@pytest.mark.slow
@pytest.mark.parametrize("subdir", ["linux-64", "linux-aarch64", "win-64"])
def test_every_build_of_the_matrix_can_be_had(tmp_path: Path, calling: Calling, subdir: str) -> None:
    channels = {
        name: CondaChannel(name, (write_channel(tmp_path / name, packages),))
        for name, packages in make_world(subdirs=(subdir,)).items()
    }
    for row in (row for row in matrices.load("conda") if row["platform"] == subdir):
        python = minor_of(row["pythons"][-1])
        pin = CondaPin("pytorch", row["torch"], row["build"].replace("{python}", python))
        specs = (f"python {python}.*", pin.spec, *row["requires"])
        among = tuple(channels[name] for name in row["channels"])
        conda_wanted = CondaWanted(among, specs, (pin,), row["cuda"], subdir, str(tmp_path / "env"))
        (torch,) = (record for record in rattler.solve(conda_wanted, calling) if record.name == "pytorch")
        assert torch.channel == row["channel"]


@pytest.mark.parametrize(
    ("pin", "cuda", "code"),
    [
        (GPU, None, "conda-no-gpu"),
        (CondaPin("pytorch", "7.0", "*"), "12.8", "conda-missing"),
        (CondaPin("pytorch", TORCH, "*"), "11.4", "solved-to-cpu"),
    ],
)
def test_what_is_not_what_was_planned_is_refused(
    tmp_path: Path, channel: CondaChannel, calling: Calling, pin: CondaPin, cuda: str | None, code: str
) -> None:
    conda_wanted = wanted(tmp_path, channel, pin=pin, cuda=cuda)
    if code == "solved-to-cpu":  # the spec lets a CPU build pass, the pin does not
        conda_wanted = replace(conda_wanted, pins=(GPU,))
    with pytest.raises(Unsatisfiable) as info:
        rattler.solve(conda_wanted, calling)
    assert info.value.code == code


def test_a_spec_that_is_none_is_told(tmp_path: Path, channel: CondaChannel, calling: Calling) -> None:
    conda_wanted = replace(wanted(tmp_path, channel), specs=("pytorch ===!!",))
    with pytest.raises(UsageError) as info:
        rattler.solve(conda_wanted, calling)
    assert info.value.code == "bad-spec"


def test_an_environment_is_made_and_its_python_runs(
    tmp_path: Path, channel: CondaChannel, calling: Calling
) -> None:
    solved = rattler.solve_somewhere(wanted(tmp_path, channel), calling)
    create_with_rattler(solved, running(tmp_path, calling), "linux")
    prefix = tmp_path / "env"
    assert (
        python_says(prefix, "import sys, torch; print(sys.prefix, torch.__version__)") == f"{prefix} {TORCH}"
    )
    assert (prefix / "conda-meta" / "history").is_file()
    listed = tmp_path / ".conda" / "environments.txt"
    assert listed.read_text(encoding="utf-8") == f"{prefix}\n"
    assert "link pytorch" in (tmp_path / "log").read_text(encoding="utf-8")
    again = replace(wanted(tmp_path, channel), prefix=str(tmp_path / "second"))
    assert rattler.solve_somewhere(again, calling).fetch == ()


def test_progress_is_told_in_bytes(tmp_path: Path, world: Packages, site: Site, calling: Calling) -> None:
    served = ChannelServer(site).publish("conda-forge", world["conda-forge"])
    solved = rattler.solve_somewhere(wanted(tmp_path, served), calling)
    reported: list[tuple[int, int]] = []
    create_with_rattler(solved, running(tmp_path, calling, reported), "linux")
    assert {total for _, total in reported} == {solved.size}
    assert reported[-1] == (solved.size, solved.size)
    assert all(have <= solved.size for have, _ in reported)


def test_offline_the_cache_is_enough_to_plan(tmp_path: Path, world: Packages, calling: Calling) -> None:
    with serve() as site:
        served = ChannelServer(site).publish("conda-forge", world["conda-forge"])
        solved = rattler.solve_somewhere(wanted(tmp_path, served), calling)
    offline = replace(calling, offline=True)
    again = rattler.solve_somewhere(solved.wanted, offline)
    assert again.records == solved.records
    with pytest.raises(Unreachable, match="not in the cache"):
        create_with_rattler(again, running(tmp_path, offline), "linux")
    assert not (tmp_path / "env").exists()


def test_offline_an_environment_is_made_of_what_is_cached(
    tmp_path: Path, world: Packages, calling: Calling
) -> None:
    with serve() as site:
        served = ChannelServer(site).publish("conda-forge", world["conda-forge"])
        conda_wanted = wanted(tmp_path, served)
        create_with_rattler(
            rattler.solve_somewhere(conda_wanted, calling), running(tmp_path, calling), "linux"
        )
    conda_wanted = replace(conda_wanted, prefix=str(tmp_path / "second"))
    offline = replace(calling, offline=True)
    solved = rattler.solve_somewhere(conda_wanted, offline)
    create_with_rattler(solved, running(tmp_path, offline), "linux")
    assert python_says(tmp_path / "second", "import torch; print(torch.__version__)") == TORCH


def test_create_offline_asks_no_channel(
    tmp_path: Path, world: Packages, site: Site, calling: Calling
) -> None:
    """Not for what is new there, and not for packages: `--offline` of the command reaches py-rattler."""
    served = ChannelServer(site).publish("conda-forge", world["conda-forge"])
    conda_wanted = wanted(tmp_path, served)
    rattler.solve_somewhere(conda_wanted, calling)
    site.asked.clear()
    part = CondaPlan((served,), conda_wanted.specs, (GPU,), "linux-64", "12.8")
    made = replace(
        plan(), manager="rattler", conda=part, requirements=(), sources=Sources(None, (), (), offline=True)
    )
    environment = EnvironmentPaths(EnvironmentStore(tmp_path / "data"), "paper", tmp_path / "env")
    environ = {**calling.environ, "GPUENV_CACHE_DIR": str(calling.cache)}
    steps = StepEnvironment(environ=environ, log=tmp_path / "log", executables={})
    with pytest.raises(Unreachable, match="not in the cache"):
        make_conda_environment(
            made, part, environment, CondaCreation(steps, lambda _, __: None, lambda: None)
        )
    assert site.asked == []


def test_it_solves_once_and_installs_what_was_solved(
    tmp_path: Path, channel: CondaChannel, calling: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    import rattler as library  # noqa: PLC0415 - the extra may be missing

    solve, solved = library.solve, []

    async def counting(*args: Any, **options: Any) -> Any:
        solved.append(await solve(*args, **options))
        return solved[-1]

    monkeypatch.setattr(library, "solve", counting)
    request = wanted(tmp_path, channel)
    part = CondaPlan((channel,), request.specs, (GPU,), "linux-64", "12.8")
    made = replace(
        plan(), manager="rattler", conda=part, requirements=(), pins=(), steps=rattler.steps(request)
    )
    environment = EnvironmentPaths(EnvironmentStore(tmp_path / "data"), "paper", tmp_path / "env")
    environ = {**calling.environ, "GPUENV_CACHE_DIR": str(calling.cache)}
    steps = StepEnvironment(environ=environ, log=tmp_path / "log", executables={})
    make_conda_environment(made, part, environment, CondaCreation(steps, lambda _, __: None, lambda: None))
    (records,) = solved
    names = {f"{record.name.normalized}-{record.version}-{record.build}.json" for record in records}
    assert {file.name for file in (tmp_path / "env" / "conda-meta").glob("*.json")} == names


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["missing", "dead"])
def test_the_next_address_of_a_channel_is_tried(
    tmp_path: Path, world: Packages, site: Site, calling: Calling, fault: str
) -> None:
    good = ChannelServer(site).publish("conda-forge", world["conda-forge"])
    bad = f"{site.url}/nowhere/conda-forge" if fault == "missing" else f"{dead_url()}/conda-forge"
    messages: list[str] = []
    conda_wanted = wanted(tmp_path, CondaChannel("conda-forge", (bad, *good.urls)))
    solved = rattler.solve_somewhere(conda_wanted, replace(calling, tell=messages.append))
    create_with_rattler(solved, running(tmp_path, calling), "linux")
    if fault == "missing":
        assert solved.wanted.channels[0].urls == good.urls
        assert [url for url, _ in solved.missed] == [bad]
        assert bad in messages[0]
    assert python_says(tmp_path / "env", "print(1)") == "1"


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["missing", "garbage", "another"])
def test_a_package_that_is_wrong_at_one_address_is_had_at_the_next(
    tmp_path: Path, world: Packages, site: Site, calling: Calling, fault: str
) -> None:
    bad = ChannelServer(site).publish("conda-forge", world["conda-forge"], under="/bad")
    good = ChannelServer(site).publish("conda-forge", world["conda-forge"])
    other = CondaPackage("filelock", "3.16.1", "pyhd8ed1ab_0", subdir="noarch").content
    (path,) = [
        path
        for path in site.routes
        if path.startswith("/bad/") and path.endswith(".conda") and "filelock" in path
    ]
    if fault == "missing":
        del site.routes[path]
    else:
        put(site, path, b"<html>sorry</html>" if fault == "garbage" else other)
    both = CondaChannel("conda-forge", (*bad.urls, *good.urls))
    solved = rattler.solve_somewhere(wanted(tmp_path, both), calling)
    create_with_rattler(solved, running(tmp_path, calling), "linux")
    assert python_says(tmp_path / "env", "import filelock; print(filelock.__version__)") == "3.16.1"
    record = json.loads((tmp_path / "env/conda-meta/filelock-3.16.1-pyhd8ed1ab_0.json").read_text())
    assert record["url"].startswith(good.urls[0])


def test_nothing_is_left_of_what_failed(
    tmp_path: Path, world: Packages, site: Site, calling: Calling
) -> None:
    served = ChannelServer(site).publish("conda-forge", world["conda-forge"])
    solved = rattler.solve_somewhere(wanted(tmp_path, served), calling)
    for path in [path for path in site.routes if "/noarch/pip-" in path]:
        del site.routes[path]
    with pytest.raises(Unreachable) as info:
        create_with_rattler(solved, running(tmp_path, calling), "linux")
    assert "pip-24" in info.value.because[0].text
    assert not (tmp_path / "env").exists()
    assert not (tmp_path / ".conda").exists()


def test_a_package_that_the_channel_has_no_more_is_told(
    tmp_path: Path, world: Packages, site: Site, calling: Calling
) -> None:
    server = ChannelServer(site)
    served = server.publish("conda-forge", world["conda-forge"])
    solved = rattler.solve_somewhere(wanted(tmp_path, served), calling)
    server.publish("conda-forge", tuple(item for item in world["conda-forge"] if item.name != "pip"))
    with pytest.raises((Unreachable, InstallFailed), match=r"."):
        create_with_rattler(solved, running(tmp_path, calling), "linux")
    assert not (tmp_path / "env").exists()


def test_what_is_there_is_left_alone(tmp_path: Path, channel: CondaChannel, calling: Calling) -> None:
    solved = rattler.solve_somewhere(wanted(tmp_path, channel), calling)
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "mine").write_text("mine")
    with pytest.raises(UsageError):
        create_with_rattler(solved, running(tmp_path, calling), "linux")
    assert (tmp_path / "env" / "mine").read_text() == "mine"


_INTERRUPTED = """
import sys
from pathlib import Path
from gpuenv.environments.conda.create import CondaRunning
from gpuenv.environments.conda.create_rattler import create_with_rattler
from gpuenv.environments.run_steps import StepEnvironment
from gpuenv.installers import rattler
from gpuenv.installers.conda.tool import Calling
from gpuenv.model.conda import CondaChannel, CondaPin, CondaPlan, CondaWanted

url, root = sys.argv[1], Path(sys.argv[2])
pin = CondaPin("pytorch", "{torch}", "cuda129*")
specs, channel = ("python 3.12.*", pin.spec), CondaChannel("conda-forge", (url,))
wanted = CondaWanted((channel,), specs, (pin,), "12.8", "linux-64", str(root / "env"))
calling = Calling({{"HOME": str(root)}}, root / "cache")
solved = rattler.solve_somewhere(wanted, calling)
try:
    create_with_rattler(solved, CondaRunning(calling, root / "log"), "linux")
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_it_at_once_and_leaves_nothing(tmp_path: Path, world: Packages, site: Site) -> None:
    served = ChannelServer(site).publish("conda-forge", world["conda-forge"])
    event = threading.Event()
    (path,) = [path for path in site.routes if "/noarch/pip-" in path]

    def stall(_: object) -> None:
        event.set()
        site.closing.wait()

    site.at(path, stall)
    script = _INTERRUPTED.format(torch=TORCH)
    child = subprocess.Popen([sys.executable, "-c", script, served.urls[0], str(tmp_path)])
    try:
        assert event.wait(30)
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == 130
    finally:
        child.kill()
    assert not (tmp_path / "env").exists()


def test_without_the_extra_it_says_how_to_have_it(
    tmp_path: Path, channel: CondaChannel, calling: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("", "0.29.1"):
        monkeypatch.setattr(rattler, "_version", lambda version=version: version)
        assert not rattler.is_there()
        with pytest.raises(UsageError) as info:
            rattler.solve(wanted(tmp_path, channel), calling)
        assert info.value.code == "manager-missing"
        assert info.value.fixes[0].command == "pip install certifi 'py-rattler<0.29,>=0.28'"


def test_its_steps_can_be_pasted(tmp_path: Path, channel: CondaChannel) -> None:
    (step,) = rattler.steps(wanted(tmp_path, channel))
    assert step.argv[:2] == ("micromamba", "create")
    assert GPU.spec in step.argv


def test_an_environment_is_listed_once_and_taken_out_again(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    listed = tmp_path / ".conda" / "environments.txt"
    listed.parent.mkdir()
    listed.write_text("/opt/conda")
    for name in ("a", "b", "a"):
        register_environment(tmp_path / name, environ)
    assert listed.read_text() == f"/opt/conda\n{tmp_path / 'a'}\n{tmp_path / 'b'}\n"
    unregister_environment(tmp_path / "a", environ)
    assert listed.read_text() == f"/opt/conda\n{tmp_path / 'b'}\n"
    register_environment(tmp_path / "c", {**environ, "CONDA_REGISTER_ENVS": "false"})
    register_environment(tmp_path / "c", {})
    assert "/c\n" not in listed.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have certificates")
def test_a_container_without_certificates_will_do(
    tmp_path: Path, channel: CondaChannel, calling: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "nothing"))
    assert rattler.solve(wanted(tmp_path, channel), calling)
    assert os.environ["SSL_CERT_FILE"] == os.devnull
