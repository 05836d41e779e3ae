"""`plan --for`: one project for several variants, of which uv, pip and gpuenv take one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from replica_network import Network
from running import Program, make_program
from tiny_stack import installed
from tiny_wheels import PYTHON as WHEEL_TAG
from tiny_wheels import TAG, tiny_torch, tiny_torchvision, tiny_wheel

from gpuenv.process.uv_binary import find_embedded_uv

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
NAMES = ("cpu", "cu126", "cu130")
FOR = (*(word for name in NAMES for word in ("--for", name)), "--python", PYTHON)
HOPPER = ("--gpu", "9.0", "--driver", "580.82.07")
CODE = ("sm_75", "sm_90")
SETS = {
    "cpu": {"torch": "2.14.1+cpu", "torchvision": "0.29.1+cpu", "mylib": "2.0", "tinydep": "1.0"},
    "cu126": {
        "torch": "2.14.1+cu126", "torchvision": "0.29.1+cu126", "mylib": "2.0", "tinydep": "1.0",
        "nvidia-tiny": "1.0",
    },
    "cu130": {
        "torch": "2.14.1+cu130", "torchvision": "0.29.1+cu130", "mylib": "2.0", "tinydep": "1.0",
        "nvidia-tiny": "2.0",
    },
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _wheels(network: Network, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Publish 2.14.1 for all, 2.15.0 for CUDA 13.0 alone; what torch depends on differs by variant."""
    here = tmp_path_factory.mktemp("wheels")
    needs = {"cpu": (), "cu126": ("nvidia-tiny==1.0",), "cu130": ("nvidia-tiny==2.0",)}
    for name, requires in needs.items():
        cuda = f"{name[2:4]}.{name[4:]}" if name != "cpu" else None
        torch = tiny_torch(here / name, f"2.14.1+{name}", cuda=cuda, architectures=CODE, requires=requires)
        network.publish(torch, name)
        network.publish(tiny_torchvision(here / name, f"0.29.1+{name}"), name)
    network.publish(tiny_torch(here / "new", "2.15.0+cu130", cuda="13.0", requires=needs["cu130"]), "cu130")
    network.publish(tiny_torch(here / "pypi", "2.15.0", cuda="13.0"))
    for version in ("1.0", "2.0"):
        network.publish(tiny_wheel(here, "nvidia_tiny", version))
    network.publish(tiny_wheel(here, "tinydep", "1.0"))
    network.publish(tiny_wheel(here, "tinydep", "1.1"))
    network.publish(tiny_wheel(here, "mylib", "2.0", requires=("tinydep<1.1", "torch>=2"), tag=TAG))


@pytest.fixture(scope="module")
def sharer(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Someone else, who has uv and the official indexes, and nothing of gpuenv's."""
    program = make_program(tmp_path_factory.mktemp("sharer") / "user")
    (program.bin / "uv").symlink_to(str(find_embedded_uv() or shutil.which("uv")))
    return program


def uv(
    project: Path, sharer: Program, network: Network, *arguments: object
) -> subprocess.CompletedProcess[str]:
    environ = {
        **sharer.environ, "NO_PROXY": network.no_proxy, "UV_DEFAULT_INDEX": f"{network.pypi.url}/simple",
        "UV_PYTHON": sys.executable,
    }  # fmt: skip
    return subprocess.run(
        [str(sharer.bin / "uv"), *map(str, arguments)], cwd=project, env=environ, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip


def plan(user: Program, *arguments: object, status: int = 0) -> str:
    done = user.run("plan", *FOR, "torch", "torchvision", "mylib", "--mirror", "official", *arguments)
    assert done.status == status, done.err
    return done.err if status else done.out


@pytest.mark.slow
def test_uv_makes_of_one_lock_the_set_of_the_extra_that_is_asked_for(
    user: Program, sharer: Program, network: Network, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    plan(user, "--format", "pyproject", "-o", project / "pyproject.toml")
    locked = uv(project, sharer, network, "lock")
    assert locked.returncode == 0, locked.stderr
    lock = (project / "uv.lock").read_bytes()
    for name, wanted in SETS.items():
        synced = uv(project, sharer, network, "sync", "--locked", "--extra", name)
        assert synced.returncode == 0, synced.stderr
        assert installed(project / ".venv") == wanted
    assert (project / "uv.lock").read_bytes() == lock
    both = uv(project, sharer, network, "sync", "--extra", "cpu", "--extra", "cu126")
    assert both.returncode != 0
    assert "incompatible" in both.stderr
    without = uv(project, sharer, network, "sync", "--locked")
    assert without.returncode == 0, without.stderr
    assert installed(project / ".venv") == {}


def test_the_file_says_what_each_needs_and_that_every_two_conflict(user: Program, network: Network) -> None:
    text = plan(user, "--format", "pyproject")
    document = tomllib.loads(text)
    assert set(document["project"]["optional-dependencies"]) == set(NAMES)
    pairs = {tuple(item["extra"] for item in pair) for pair in document["tool"]["uv"]["conflicts"]}
    assert pairs == {("cpu", "cu126"), ("cpu", "cu130"), ("cu126", "cu130")}
    explicit = {index["name"] for index in document["tool"]["uv"]["index"] if index.get("explicit")}
    assert {row["index"] for row in document["tool"]["uv"]["sources"]["torch"]} == explicit
    assert {row["extra"] for row in document["tool"]["uv"]["sources"]["torch"]} == set(NAMES)
    assert "525.60.13" in text
    assert "580.65.06" in text


@pytest.mark.slow
def test_pixi_has_a_feature_and_an_environment_for_each(user: Program) -> None:
    text = plan(user, "--for", "cpu", "--format", "pixi.toml", "--manager", "rattler")
    document = tomllib.loads(text)
    assert document["environments"] == {name: [name] for name in NAMES}
    assert document["dependencies"] == {"python": f"{PYTHON}.*"}
    sets = {name: feature["pypi-dependencies"] for name, feature in document["feature"].items()}
    versions = {
        name: {package: item if isinstance(item, str) else item["version"] for package, item in of.items()}
        for name, of in sets.items()
    }
    assert versions == {
        name: {package: f"=={version}" for package, version in of.items()} for name, of in SETS.items()
    }
    needs = {name: feature["system-requirements"] for name, feature in document["feature"].items()}
    assert [needs[name].get("cuda") for name in NAMES] == [None, "12.6", "13.0"]


@pytest.mark.slow
def test_a_set_of_locks_is_installed_by_uv_each_as_it_is(
    user: Program, sharer: Program, network: Network, tmp_path: Path
) -> None:
    plan(user, "--format", "pylock.toml", "-o", tmp_path / "locks")
    assert {file.name for file in (tmp_path / "locks").iterdir()} == {f"pylock.{name}.toml" for name in NAMES}
    assert uv(tmp_path, sharer, network, "venv", "env").returncode == 0
    file = tmp_path / "locks" / "pylock.cu126.toml"
    done = uv(tmp_path, sharer, network, "pip", "sync", "--preview", "--python", "env", file)
    assert done.returncode == 0, done.stderr
    assert installed(tmp_path / "env") == SETS["cu126"]


@pytest.fixture(scope="module")
def locks(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a lock for each variant."""
    here = tmp_path_factory.mktemp("locks")
    program = make_program(here / "user")
    (program.home / "mirrors.toml").write_text(network.configuration, encoding="utf-8")
    writer = program.with_(GPUENV_CONFIG=str(program.home / "mirrors.toml"), NO_PROXY=network.no_proxy)
    plan(writer, "--format", "pylock.toml", "-o", here / "locks")
    return here / "locks"


@pytest.mark.parametrize(
    ("machine", "lock"),
    [
        ((), "pylock.cpu.toml"),
        pytest.param(("--gpu", "9.0", "--driver", "535.104.05"), "pylock.cu126.toml", marks=pytest.mark.slow),
        pytest.param(HOPPER, "pylock.cu130.toml", marks=pytest.mark.slow),
        (("--gpu", "6.1", "--driver", "580.82.07"), "pylock.cu126.toml"),
        pytest.param((*HOPPER, "--cuda", "cpu"), "pylock.cpu.toml", marks=pytest.mark.slow),
        pytest.param((*HOPPER, "--cuda", "cu126"), "pylock.cu126.toml", marks=pytest.mark.slow),
    ],
)
def test_of_a_folder_of_locks_the_one_that_fits_the_machine_best_is_taken(
    user: Program, locks: Path, machine: tuple[str, ...], lock: str
) -> None:
    done = user.run("create", "x", "--from-lock", locks, "--dry-run", "--json", *machine)
    assert done.status == 0, done.err
    told = json.loads(done.out)["data"]["lock"]
    assert Path(told["file"]).name == lock
    assert len(told["passed_over"]) == len(NAMES) - 1
    assert all(other["why"] for other in told["passed_over"])


def test_what_the_folder_has_for_this_machine_is_installed(
    user: Program, locks: Path, tmp_path: Path
) -> None:
    done = user.run("create", tmp_path / "env", "--from-lock", locks, "--yes", "--no-verify")
    assert done.status == 0, done.err
    assert "`pylock.cpu.toml`" in done.err
    assert installed(tmp_path / "env") == SETS["cpu"]


def test_where_no_lock_of_the_folder_fits_each_says_why(user: Program, locks: Path, tmp_path: Path) -> None:
    """A Kepler GPU has no code in any of them, and the CPU is nothing that is taken unasked."""
    done = user.run("create", "x", "--from-lock", locks, "--json", "--gpu", "3.5", "--driver", "470.223.02")
    assert done.status == 3
    error = json.loads(done.out)["error"]
    assert error["code"] == "lock-unfit"
    assert [text["text"].partition(":")[0] for text in error["because"]] == [
        f"pylock.{name}.toml" for name in NAMES
    ]
    (tmp_path / "none").mkdir()
    assert user.run("create", "x", "--from-lock", tmp_path / "none").status == 2


@pytest.mark.slow
def test_a_set_of_requirements_files_is_installed_by_pip(
    user: Program, network: Network, tmp_path: Path
) -> None:
    plan(user, "--format", "requirements.txt", "-o", tmp_path / "sets")
    there, file = tmp_path / "there", tmp_path / "sets" / "requirements.cu130.txt"
    environ = {"PATH": os.defpath, "NO_PROXY": network.no_proxy, "PIP_CONFIG_FILE": os.devnull}
    options = ("--isolated", "--quiet", "--target", there, "--index-url", f"{network.pypi.url}/simple")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *map(str, options), "-r", str(file)],
        env=environ, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = {item.name for item in there.iterdir()}
    assert {"torch-2.14.1+cu130.dist-info", "nvidia_tiny-2.0.dist-info"} <= names


def test_where_no_release_is_shared_each_has_its_own_and_that_is_said(user: Program) -> None:
    done = user.run(
        "plan", "--for", "cu118", "--for", "cu130", "--python", PYTHON, "torch", "--mirror", "official",
        "--format", "json",
    )  # fmt: skip
    assert done.status == 0, done.err
    document = json.loads(done.out)
    releases = [item["plan"]["packages"][0]["version"] for item in document["data"]["variants"]]
    assert document["data"]["torch"] is None
    assert len(set(releases)) == 2
    warning = next(item for item in document["warnings"] if item["code"] == "no-shared-torch")
    assert all(release in warning["message"] for release in releases)


def test_a_variant_that_no_build_is_left_of_is_refused_by_its_name(user: Program) -> None:
    done = user.run("plan", "--for", "cpu", "--for", "cu118", "torch>=2.14", "--format", "json", "--json")
    assert done.status == 3
    error = json.loads(done.out)["error"]
    assert "--for cu118" in error["message"]
    assert error["fixes"][-1]["text"] == "or omit --for cu118"
    assert not any(fix["command"] for fix in error["fixes"])


def test_a_machine_that_is_described_counts_for_what_is_for_gpus(user: Program) -> None:
    """A GTX 1080 Ti has no code in builds for CUDA 13.0."""
    described = ("--gpu", "6.1", "--driver", "580.82.07", "--format", "json")
    done = user.run("plan", "--for", "cpu", "--for", "cu126", "torch", *described)
    assert done.status == 0, done.err
    done = user.run("plan", "--for", "cpu", "--for", "cu130", "torch", *described)
    assert done.status == 3
    assert "--for cu130" in done.err


@pytest.mark.slow
def test_another_requirement_moves_all_variants_to_a_release_that_it_allows(
    user: Program, network: Network, tmp_path: Path
) -> None:
    """Alone, the one for CUDA 13.0 would not have to move as far as both."""
    network.publish(tiny_wheel(tmp_path, "bound", "1.0", requires=("torch<2.14",), tag=TAG))
    for name, releases in {"cpu": ("2.12.0",), "cu130": ("2.12.0", "2.13.0")}.items():
        for torch in releases:
            network.publish(tiny_torch(tmp_path / name, f"{torch}+{name}", cuda=None), name)
    done = user.run(
        "plan", "--for", "cpu", "--for", "cu130", "--python", PYTHON, "torch", "bound",
        "--mirror", "official", "--format", "json",
    )  # fmt: skip
    assert done.status == 0, done.err
    data = json.loads(done.out)["data"]
    releases = [item["plan"]["packages"][0]["version"] for item in data["variants"]]
    assert [release.partition("+")[2] for release in releases] == ["cpu", "cu130"]
    assert {release.partition("+")[0] for release in releases} == {data["torch"]}
    assert data["torch"] in {"2.12.0", "2.13.0"}


def test_json_tells_each_plan_by_its_name_and_the_shared_release(user: Program) -> None:
    data = json.loads(plan(user, "--format", "json"))["data"]
    assert data["torch"] == "2.14.1"
    assert [item["name"] for item in data["variants"]] == list(NAMES)
    assert [item["plan"]["variant"] for item in data["variants"]] == list(NAMES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--for", "cpu", "--for", "nonsense", "--format", "pyproject"), "`nonsense`"),
        (("--for", "cpu", "--for", "cu126"), "not text"),
        (("--for", "cpu", "--for", "cu126", "--format", "dockerfile"), "not dockerfile"),
        (("--for", "cpu", "--format", "pylock.toml"), "-o DIR"),
        (("--for", "cpu", "--cuda", "cpu", "--format", "pyproject"), "--cuda"),
        (("--for", "cpu", "--adapt"), "--adapt"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_read(
    user: Program, network: Network, arguments: tuple[str, ...], said: str
) -> None:
    network.forget()
    done = user.run("plan", *arguments)
    assert done.status == 2
    assert said in done.err
    assert not network.asked()


@pytest.mark.slow
def test_other_kinds_of_accelerators_join_each_on_its_platform(
    user: Program, sharer: Program, network: Network, tmp_path: Path
) -> None:
    """On this Linux the extra for macOS brings nothing: its torch here would be PyPI's, for CUDA."""
    for name in ("rocm7.2", "xpu"):
        network.publish(tiny_torch(tmp_path / name, f"2.14.1+{name}"), name)
        network.publish(tiny_wheel(tmp_path / name, f"triton_{name.rstrip('.0123456789')}", "3.8.0"), name)
    files = {"torch/__init__.py": "", "torch/version.py": "__version__ = '2.14.1'\n"}
    for version in ("2.14.1", "2.15.0"):
        network.publish(
            tiny_wheel(tmp_path, "torch", version, tag=f"{WHEEL_TAG}-none-macosx_14_0_arm64", files=files)
        )
    project = tmp_path / "project"
    names = ("cpu", "rocm7.2", "xpu", "mps")
    asked = [word for name in names for word in ("--for", name)]
    done = user.run(
        "plan", *asked, "--python", PYTHON, "torch==2.14.1", "tinydep", "--mirror", "official",
        "--format", "pyproject", "-o", project / "pyproject.toml",
    )  # fmt: skip
    assert done.status == 0, done.err
    text = (project / "pyproject.toml").read_text(encoding="utf-8")
    assert set(tomllib.loads(text)["project"]["optional-dependencies"]) == set(names)
    locked = uv(project, sharer, network, "lock")
    assert locked.returncode == 0, locked.stderr + text
    for name in ("rocm7.2", "xpu", "cpu"):
        synced = uv(project, sharer, network, "sync", "--locked", "--extra", name)
        assert synced.returncode == 0, synced.stderr
        assert installed(project / ".venv")["torch"] == f"2.14.1+{name}"
    assert uv(project, sharer, network, "sync", "--locked", "--extra", "mps").returncode == 0
    assert installed(project / ".venv") == {}
