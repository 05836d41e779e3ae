"""An environment.yml adapted with its channels at hand: judged by their repodata, solved by py-rattler."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from adapted_papers import bare_environ, save_machine
from conda_channel import ChannelServer
from conda_packages import CondaPackage, abi_of
from conda_world import make_world
from fake_conda import Transcript, fake_conda
from index_server import serve_indexes
from serving import Site, serve

from gpuenv.adapt.adapt import AdaptOptions, adapt
from gpuenv.adapt.model import Adaptation
from gpuenv.model.errors import Unsatisfiable
from gpuenv.planning.options import PlanOptions
from gpuenv.process import interruption

pytest.importorskip("rattler")

CUDA_11 = "V100"
TORCHES = ("1.12.1", "1.10.2", "2.1.2")

CUDA_10, NEW = "V100", "RTX 5090"
Answer = Callable[..., Adaptation]


def python_needs(minor: str) -> tuple[str, ...]:
    major, _, rest = minor.partition(".")
    return (f"python >={minor},<{major}.{int(rest) + 1}.0a0", f"python_abi {minor}.* *_{abi_of(minor)}")


def built(name: str, version: str, *minors: str, needs: tuple[str, ...] = ()) -> Iterator[CondaPackage]:
    """A release for some Pythons, as conda-forge has them."""
    for minor in minors:
        build = f"py{minor.replace('.', '')}h1234567_0"
        yield CondaPackage(name, version, build, depends=(*python_needs(minor), *needs))


def plain(name: str, version: str, *needs: str, build: str = "h1234567_0") -> CondaPackage:
    return CondaPackage(name, version, build, depends=needs)


def others() -> Iterator[CondaPackage]:
    """What papers ask for beside torch; 3.9 and later have no first release of anything compiled."""
    yield from built("numpy", "1.19.2", "3.7", "3.8")
    yield from built("numpy", "1.21.6", "3.7", "3.8", "3.9", "3.10")
    yield from built("numpy", "1.26.4", "3.9", "3.10", "3.11", "3.12")
    yield from built("scipy", "1.5.2", "3.7", "3.8", needs=("numpy >=1.19.2,<2.0a0",))
    yield from built("scipy", "1.9.3", "3.8", "3.9", "3.10", needs=("numpy >=1.21.6,<2.0a0",))
    yield from built("scipy", "1.13.1", "3.9", "3.10", "3.11", "3.12", needs=("numpy >=1.22.4,<2.3",))
    for version in ("1.0", "1.1", "1.2", "1.3", "2.0", "2.1"):
        yield plain("helper", version)
    yield plain("widget", "1.0", "helper >=1.1,<1.3")
    yield plain("gadget", "1.0", "sympy <1")
    yield plain("openssl", "1.1.1k")
    yield plain("_libgcc_mutex", "0.1", build="conda_forge")
    yield from (built("py2only", "1.0", "2.7"))


@pytest.fixture(scope="module")
def forge() -> tuple[CondaPackage, ...]:
    kept = {("1.10.2", "cu102"), ("1.10.2", "cu112"), ("2.7.1", "cu129")}
    world = make_world(
        keep=lambda row: row["channel"] == "conda-forge" and (row["torch"], row["variant"]) in kept
    )
    return (*(item for item in world["conda-forge"] if item.name != "numpy"), *others())


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


@pytest.fixture
def adapted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forge: tuple[CondaPackage, ...], site: Site
) -> Answer:
    """Adapt an environment.yml where conda-forge is a server here."""
    ChannelServer(site).publish("conda-forge", forge, under="/cloud")
    paper = tmp_path / "paper"
    paper.mkdir()
    monkeypatch.chdir(paper)
    configuration = tmp_path / "config.toml"
    lines = ("[[mirror]]", 'name = "lab"', "[mirror.conda]", f'root = "{site.url}"', "pkgs = []",
             f"cloud = {json.dumps(['conda-forge'])}")  # fmt: skip
    configuration.write_text("\n".join(lines), encoding="utf-8")
    environ = {
        **bare_environ(tmp_path),
        "GPUENV_CONFIG": str(configuration),
        "NO_PROXY": "127.0.0.1",
        "PATH": str(tmp_path / "bin"),
    }

    def answer(
        machine: str,
        *specs: str,
        tell: Callable[[int], None] = lambda _: None,
        offline: bool = False,
        manager: str = "conda",
        channel: str = "auto",
        **more: str,
    ) -> Adaptation:
        listed = "".join(f"  - {spec}\n" for spec in specs)
        Path("environment.yml").write_text(
            f"channels: [conda-forge]\ndependencies:\n{listed}", encoding="utf-8"
        )
        options = PlanOptions(
            machines=(save_machine(machine, tmp_path),),
            mirrors=("lab",),
            manager=manager,
            channel=channel,
            offline=offline,
        )
        adapting = AdaptOptions((Path(),), None, patch_alone=True)
        return adapt(adapting, options, environ | more, target=".venv", tell=tell)

    return answer


OLD = ("python=3.7", "pytorch=1.10.2", "cudatoolkit=10.2")


def changed(value: Adaptation) -> dict[str, str | None]:
    """The changed lines of other packages."""
    own = ("torch", "python", "cuda", "index")
    return {
        item.declared.text: item.new for item in value.changes if item.declared and item.project not in own
    }


def checked(value: Adaptation) -> list[str]:
    return [item.message for item in value.plan.warnings if item.code == "not-checked"]


def test_a_pin_without_a_build_for_the_python_moves_to_the_nearest_that_has_one(
    adapted: Answer,
) -> None:
    value = adapted(NEW, *OLD, "numpy=1.19.2=py37h1234567_0", "scipy=1.5.2")
    assert value.plan.python == "3.9"
    assert changed(value) == {"numpy=1.19.2=py37h1234567_0": "numpy==1.21.6", "scipy=1.5.2": "scipy==1.9.3"}
    assert checked(value) == []
    because = {item.project: (item.why, item.source) for item in value.changes}
    assert because["scipy"] == ("scipy 1.5.2 requires python >=3.8,<3.9.0a0", "channel conda-forge")


def test_a_file_that_solves_as_it_stands_stays_as_it_is(adapted: Answer) -> None:
    value = adapted(CUDA_10, *OLD, "numpy=1.19.2=py37h1234567_0", "scipy=1.5.2", "helper=1.2", "widget=1.0")
    assert value.changes == ()
    assert checked(value) == []


def test_a_build_that_no_channel_has_is_dropped_and_its_release_stays(adapted: Answer) -> None:
    specs = ("numpy=1.19.2=py37h54aff64_0", "openssl=1.1.1k=h27cfd23_0", "_libgcc_mutex=0.1=main")
    value = adapted(CUDA_10, *OLD, *specs)
    assert changed(value) == {
        "numpy=1.19.2=py37h54aff64_0": "numpy==1.19.2",
        "openssl=1.1.1k=h27cfd23_0": "openssl===1.1.1k",
        "_libgcc_mutex=0.1=main": None,
    }
    assert "- openssl=1.1.1k\n" in value.files[0].text


def test_what_no_channel_has_and_what_is_of_no_such_python_is_taken_out_and_named(adapted: Answer) -> None:
    value = adapted(CUDA_10, *OLD, "nobodys=1.0", "py2only=1.0")
    assert changed(value) == {"nobodys=1.0": None, "py2only=1.0": None}
    because = {item.project: item.why for item in value.changes}
    assert because["nobodys"] == "no package `nobodys` for linux-64 is on conda-forge"
    assert because["py2only"] == "py2only 1.0 requires python >=2.7,<2.8.0a0"


def test_what_the_solver_cannot_hold_moves_by_as_few_releases_as_can_be(adapted: Answer) -> None:
    """`widget` takes 1.1 and 1.2 of `helper` alone: 1.2 is nearer to the 2.1 asked for."""
    value = adapted(CUDA_10, *OLD, "widget=1.0", "helper=2.1", "numpy=1.19.2")
    assert changed(value) == {"helper=2.1": "helper==1.2"}
    (change,) = (item for item in value.changes if item.project == "helper")
    assert change.source == "py-rattler"
    assert "helper" in change.why
    assert "widget" in change.why


def test_a_file_that_cannot_be_solved_is_no_plan(adapted: Answer) -> None:
    with pytest.raises(Unsatisfiable) as caught:
        adapted(CUDA_10, *OLD[:1], "pytorch=1.10.2", "gadget=1.0")
    assert caught.value.exit_code == 3
    because = caught.value.because[0].text
    assert "gadget" in because
    assert "sympy" in because


def test_of_what_was_read_before_lines_are_judged_offline_too(adapted: Answer, site: Site) -> None:
    online = adapted(NEW, *OLD, "numpy=1.19.2=py37h1234567_0", "scipy=1.5.2")
    asked = len(site.asked)
    offline = adapted(NEW, *OLD, "numpy=1.19.2=py37h1234567_0", "scipy=1.5.2", offline=True)
    assert changed(offline) == changed(online)
    assert len(site.asked) == asked


def test_channels_that_cannot_be_read_leave_it_to_what_ships(adapted: Answer, site: Site) -> None:
    site.routes.clear()
    value = adapted(NEW, *OLD, "numpy=1.19.2=py37h1234567_0")
    assert changed(value)["numpy=1.19.2=py37h1234567_0"] is not None
    assert checked(value) != []


def test_beside_a_torch_of_pip_the_packages_of_conda_are_solved_too(adapted: Answer) -> None:
    specs = (
        "python=3.7",
        "numpy=1.19.2=py37h54aff64_0",
        "widget=1.0",
        "helper=2.1",
        "pip",
        "pip: [torch==1.10.2]",
    )
    with serve_indexes() as index:
        value = adapted(
            CUDA_10, *specs, channel="wheels", UV_DEFAULT_INDEX=index.pypi, UV_INDEX=index.pytorch
        )
    assert {change.project: change.new for change in value.changes} == {
        "numpy": "numpy==1.19.2",
        "helper": "helper==1.2",
    }
    assert value.plan.conda is not None
    assert value.plan.conda.mixed


@pytest.fixture
def heeded() -> Iterator[None]:
    """Signals as in a command."""
    with interruption.heeded():
        yield
    with interruption.heeded():  # the next test knows nothing of them
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="a signal cannot be sent to oneself there")
@pytest.mark.usefixtures("heeded")
def test_interrupted_it_tells_what_is_known_by_then(adapted: Answer) -> None:
    value = adapted(
        NEW, *OLD, "numpy=1.19.2", "helper=2.1", tell=lambda _: os.kill(os.getpid(), signal.SIGINT)
    )
    assert changed(value) == {"numpy=1.19.2": "numpy==1.21.6"}
    (message,) = checked(value)
    assert "interrupted" in message


@pytest.fixture
def without_rattler(monkeypatch: pytest.MonkeyPatch) -> None:
    """py-rattler as if it were not installed."""
    version = importlib.metadata.version

    def lacking(name: str) -> str:
        if name == "py-rattler":
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", lacking)


def linked(*packages: CondaPackage) -> Transcript:
    """What micromamba prints of a dry run that planned these."""
    rows = [
        {**package.index, "fn": package.filename, "url": f"https://conda.example/conda-forge/linux-64/{package.filename}",
         "channel": "https://conda.example/conda-forge"}
        for package in packages
    ]  # fmt: skip
    return Transcript(0, json.dumps({"success": True, "actions": {"LINK": rows, "FETCH": rows}}), "")


@pytest.mark.usefixtures("without_rattler")
def test_without_py_rattler_the_conda_tool_that_is_there_solves(
    adapted: Answer, forge: tuple[CondaPackage, ...], tmp_path: Path
) -> None:
    fake = fake_conda(tmp_path / "bin", "micromamba")
    wanted = {("pytorch", "1.10.2"), ("numpy", "1.19.2")}
    chosen = [item for item in forge if (item.name, item.version) in wanted and "py37" in item.build]
    fake.answers("plan", linked(*(item for item in chosen if "cuda112" not in item.build)))
    value = adapted(CUDA_10, *OLD, "numpy=1.19.2", manager="micromamba")
    assert value.changes == ()
    assert checked(value) == []
    (call,) = (call for call in fake.calls if "--dry-run" in call)
    assert call.startswith("create")


@pytest.mark.usefixtures("without_rattler")
def test_what_a_conda_tool_cannot_solve_is_no_plan_and_says_who_requires_what(
    adapted: Answer, tmp_path: Path
) -> None:
    fake = fake_conda(tmp_path / "bin", "micromamba").answers("plan", "mm-err-unsat")
    fake.answers("words", "mm-quiet-unsat")
    with pytest.raises(Unsatisfiable) as caught:
        adapted(CUDA_10, *OLD, "numpy=1.19.2", manager="micromamba")
    assert caught.value.because[0].text == "pytorch 2.9.1 requires cuda-version >=12.8,<13"


@pytest.mark.usefixtures("without_rattler")
def test_without_a_solver_lines_are_judged_and_it_is_said_that_nothing_was_solved(adapted: Answer) -> None:
    value = adapted(NEW, *OLD, "numpy=1.19.2=py37h1234567_0", "helper=2.1", "widget=1.0")
    assert changed(value) == {"numpy=1.19.2=py37h1234567_0": "numpy==1.21.6"}
    (message,) = checked(value)
    assert "no solver" in message
