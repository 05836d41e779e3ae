"""Environment files whose torch is conda's: what is written is what channels have."""

from __future__ import annotations

from pathlib import Path

import pytest
from adapted_papers import FOLDER, MACHINES, NAMES, adapt_for, bare_environ, copy_paper, save_machine
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from raw_rows import runs
from sampling import every

from gpuenv import matrices
from gpuenv.adapt.model import Adaptation
from gpuenv.knowledge.built_releases import parse_built_releases
from gpuenv.model.match_spec import parse_match_spec

NEW, OLD = "RTX 5090", "V100"
BUILT = parse_built_releases(matrices.load("releases"))
_CHOOSING = ("pytorch-cuda", "cudatoolkit", "cuda-version")


def adapted(text: str, machine: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Adaptation:
    """Adapt one environment.yml by what ships with gpuenv."""
    paper = folder / "paper"
    paper.mkdir(exist_ok=True)
    monkeypatch.chdir(paper)
    Path("environment.yml").write_text(text, encoding="utf-8")
    return adapt_for(Path(), save_machine(machine, folder), bare_environ(folder))


def environment(channels: str, *specs: str) -> str:
    """An environment.yml of channels and specs."""
    lines = "".join(f"  - {spec}\n" for spec in specs)
    return f"channels: [{channels}]\ndependencies:\n{lines}"


def with_pip(text: str, *lines: str) -> str:
    """An environment.yml with a pip part."""
    return f"{text}  - pip\n  - pip:\n" + "".join(f"    - {line}\n" for line in lines)


def specs_in(adaptation: Adaptation) -> dict[str, str]:
    """What the adapted file says of each package, by name."""
    conda = adaptation.files[0].text.partition("  - pip:")[0]
    lines = [line.strip() for line in conda.splitlines()]
    specs = (parse_match_spec(line[2:]) for line in lines if line.startswith("- "))
    return {spec.name: spec.release or spec.version for spec in specs}


FILES = {
    "chosen by pytorch-cuda": environment(
        "pytorch, nvidia, conda-forge", "python=3.10", "pytorch=2.1.2", "pytorch-cuda=12.1"
    ),
    "twice": environment(
        "pytorch, nvidia", "python=3.9", "pytorch=2.0.1", "pytorch-cuda=11.8", "cudatoolkit=11.8"
    ),
    "old": environment("pytorch, defaults", "python=3.7", "pytorch=1.2.0", "cudatoolkit=9.2"),
    "no such build": environment("pytorch, defaults", "python=3.8", "pytorch=1.9.0", "cudatoolkit=11.3"),
    "forge": environment("conda-forge", "python=3.9", "pytorch=1.11", "cudatoolkit=11.3"),
    "a feature": environment("pytorch", "python=3.7", "pytorch=1.0.0", "cuda100"),
}


@pytest.mark.parametrize("machine", [OLD, "RTX 4090", NEW])
@pytest.mark.parametrize("name", FILES)
def test_each_cuda_in_an_adapted_file_is_one_that_a_row_of_the_channel_is_chosen_by(
    name: str, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = adapted(FILES[name], machine, tmp_path, monkeypatch)
    channel = value.plan.packages[0].channel
    rows = [
        row
        for row in matrices.load("conda")
        if row["channel"] == channel and row["variant"] == str(value.plan.variant)
    ]
    chosen_by = {(spec.name, spec.release) for row in rows for spec in map(parse_match_spec, row["requires"])}
    written = {item for item in specs_in(value).items() if item[0] in _CHOOSING}
    if channel == "conda-forge" and not chosen_by:
        assert all(spec_name == "cudatoolkit" for spec_name, _ in written)
    else:
        left = {f"{name}={release}" for name, release in written - chosen_by}
        assert not left or all(f"- {item}\n" in FILES[name] for item in left)
    if any(change.project == "cuda" for change in value.changes):
        assert len(written) == 1


def test_a_torch_of_conda_forge_is_not_asked_for_by_the_other_channels_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = adapted(FILES["chosen by pytorch-cuda"], NEW, tmp_path, monkeypatch)
    assert specs_in(value)["cuda-version"] == "12.9"
    assert "pytorch-cuda" not in value.files[0].text
    assert "channels: [conda-forge, nvidia, pytorch]" in value.files[0].text


def test_cuda_libraries_that_a_build_takes_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """conda-forge's builds for CUDA 11.2 are for any later CUDA 11, and bring none of their own."""
    assert adapted(FILES["forge"], OLD, tmp_path, monkeypatch).changes == ()


@pytest.mark.slow
def test_a_torch_that_moves_to_builds_with_parts_of_cuda_gets_the_channel_that_has_those(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MACHINES, "H100", {"gpus": ["NVIDIA H100 80GB HBM3"], "driver": "535.104.05"})
    text = environment("pytorch, defaults", "python=3.9", "pytorch=1.12.1", "cudatoolkit=11.3")
    value = adapted(text, "H100", tmp_path, monkeypatch)
    assert specs_in(value)["pytorch"].startswith("2.0")
    assert specs_in(value)["pytorch-cuda"] == "11.8"
    assert "channels: [nvidia, pytorch, defaults]" in value.files[0].text


def test_a_spec_that_names_its_channel_is_looked_for_there_and_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MACHINES, "H100", {"gpus": ["NVIDIA H100 80GB HBM3"], "driver": "535.104.05"})
    specs = ("conda-forge::python=3.7", "conda-forge::cudatoolkit==11.3.*", "pytorch::pytorch=1.12.*")
    value = adapted(environment("conda-forge, pytorch", *specs), "H100", tmp_path, monkeypatch)
    assert value.plan.packages[0].channel == "pytorch"
    text = value.files[0].text
    assert [spec for spec in ("pytorch::pytorch=2.0.0", "conda-forge::python=3.8") if spec not in text] == []


def test_a_spec_names_the_channel_that_torch_is_taken_from_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The channel pytorch ended before there was code for the RTX 5090."""
    specs = (
        "python=3.10",
        "pytorch::pytorch=2.5.1",
        "pytorch::torchvision=0.20.1",
        "pytorch::pytorch-cuda=12.4",
    )
    text = environment("pytorch, nvidia, conda-forge", *specs)
    value = adapted(text, NEW, tmp_path, monkeypatch)
    assert "conda-forge::pytorch=2.7" in value.files[0].text
    assert "conda-forge::torchvision=0.22" in value.files[0].text
    assert "pytorch::" not in value.files[0].text


def test_a_torch_that_only_a_channel_which_the_file_lacks_has_is_nearer_than_another_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = environment("peterjc123, defaults", "python=3.6", "pytorch=1.1.0")
    value = adapted(text, OLD, tmp_path, monkeypatch)
    assert specs_in(value)["pytorch"] == "1.1.0"
    assert "channels: [pytorch, peterjc123, defaults]" in value.files[0].text


def test_python_3_6_stays_where_the_channel_has_that_torch_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = environment("pytorch, defaults", "python=3.6.9", "pytorch=1.10.1", "cudatoolkit=11.3")
    value = adapted(text, OLD, tmp_path, monkeypatch)
    assert value.plan.python == "3.6"
    assert not [change for change in value.changes if change.project == "python"]


def changes_of(adaptation: Adaptation) -> dict[str, str | None]:
    """The changed lines of other packages, by what stood there."""
    changed = (change for change in adaptation.changes if change.declared)
    return {change.declared.text: change.new for change in changed if change.declared}


BOUND = environment(
    "pytorch, dglteam, conda-forge", "python=3.7", "pytorch=1.8.1", "cudatoolkit=10.2", "dgl-cuda10.2=0.6.1",
    "pytorch3d=0.4.0", "cudnn=7.6", "torchtriton=1.0", "numpy=1.19.2", "scipy=1.5.2", "pillow=8.1.0",
)  # fmt: skip


def test_what_is_bound_to_the_old_torch_or_cuda_moves_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = changes_of(adapted(BOUND, NEW, tmp_path, monkeypatch))
    assert changed["dgl-cuda10.2=0.6.1"] is None
    assert changed["pytorch3d=0.4.0"] == "pytorch3d"
    assert changed["cudnn=7.6"] == "cudnn"
    assert changed["torchtriton=1.0"] is None


def test_pins_move_with_the_python_by_as_few_releases_as_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = adapted(BOUND, NEW, tmp_path, monkeypatch)
    specs = specs_in(value)
    assert value.plan.python == "3.9"
    assert (specs["numpy"], specs["scipy"], specs["pillow"]) == ("1.19", "1.5", "8.1.0")
    (why,) = (change.why for change in value.changes if change.project == "numpy")
    assert "numpy 1.19.2" in why
    assert "Python 3.9" in why


def test_nothing_that_is_bound_moves_while_torch_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = changes_of(adapted(BOUND, OLD, tmp_path, monkeypatch))
    assert changed == {}


def test_of_the_pythons_the_one_is_chosen_that_most_pins_hold_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch 2.7.1 is there for Python 3.9 to 3.13, these three from 3.10 on: 3.9 would be the nearer one."""
    pins = ("numpy=2.1.0", "scipy=1.14.1", "pandas=2.2.3")
    text = environment("conda-forge", "python=3.8", "pytorch=1.13.1", *pins)
    value = adapted(text, NEW, tmp_path, monkeypatch)
    assert value.plan.python == "3.10"
    assert not {"numpy", "scipy", "pandas"} & {change.project for change in value.changes}


def by_hand(project: str, wanted: str, python: str) -> list[str]:
    """The releases of a project for a Python, those nearest to one release first, from the rows."""
    rows = [row for row in matrices.load("releases") if row.get("project") == project and "versions" in row]
    releases = {Version(version): set(row["pythons"]) for row in rows for version in row["versions"]}
    order = sorted(releases)
    own = order.index(Version(wanted))
    near = sorted(order, key=lambda item: (abs(order.index(item) - own), -order.index(item)))
    return [str(item) for item in near if python in releases[item]]


@given(data=st.data())
def test_the_nearest_release_is_the_one_that_brute_force_finds(data: st.DataObject) -> None:
    rows = [row for row in matrices.load("releases") if row["kind"] == "pythons"]
    row = data.draw(st.sampled_from(rows))
    wanted = data.draw(st.sampled_from(row["versions"]))
    python = data.draw(st.sampled_from(["cp36", "cp37", "cp38", "cp39", "cp310", "cp312", "cp313"]))
    found = BUILT.nearest(row["project"], SpecifierSet(f"=={wanted}"), python, SpecifierSet())
    expected = by_hand(row["project"], wanted, python)
    assert (str(found) if found else None) == (expected[0] if expected else None)
    assert BUILT.is_built(row["project"], SpecifierSet(f"=={wanted}"), python) == (python in row["pythons"])


@pytest.mark.slow
def test_another_patch_release_of_python_is_nearer_than_another_minor_one_and_moves_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has that patch release of 3.8; what an export lists is for any 3.8."""
    abi, more = "python_abi=3.8=2_cp38", ("libffi=3.3=he6710b0_2", "setuptools=59.5.0=py38h06a4308_0")
    exported = ("python=3.8.99=h5eee18b_0", abi, *more)
    text = with_pip(environment("conda-forge", *exported), "torch==1.13.1", "numpy==1.21.6")
    value = adapted(text, OLD, tmp_path, monkeypatch)
    assert [(change.project, change.new) for change in value.changes] == [("python", "3.8")]


def test_the_abi_of_python_moves_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exported = ("python=3.6.7=h0371630_0", "python_abi=3.6=1_cp36m", "ninja=1.10.0=hc9558a2_0")
    text = with_pip(environment("conda-forge", *exported), "torch==1.10.1")
    value = adapted(text, OLD, tmp_path, monkeypatch)
    assert value.plan.python == "3.7"
    assert specs_in(value)["python_abi"] == "3.7"


OF_CONDA = tuple(
    name
    for name in NAMES
    for file in (FOLDER / name).glob("environment.y*ml")
    if "pytorch" in file.read_text(encoding="utf-8").partition("dependencies:")[2]
)
CAPABILITIES = {"V100": "7.0", "RTX 3090": "8.6", "RTX 4090": "8.9", "RTX 5090": "12.0"}


def asked_in(paper: str) -> dict[str, str]:
    """The exact versions of a paper's own file, read in a few lines."""
    (file,) = (FOLDER / paper).glob("environment.y*ml")
    _, _, body = file.read_text(encoding="utf-8").partition("dependencies:")
    pins = (line.strip()[2:].replace("==", "=").split("=") for line in body.splitlines() if "=" in line)
    return {name: version for name, version, *_ in pins}


CASES = [(paper, machine) for paper in OF_CONDA for machine in CAPABILITIES]


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "machine"), every(11, CASES))
def test_no_build_of_a_channel_that_runs_is_fewer_releases_from_the_papers_torch(
    paper: str, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brute force over the raw rows of all channels."""
    monkeypatch.chdir(copy_paper(paper, tmp_path))
    value = adapt_for(Path(), save_machine(machine, tmp_path), bare_environ(tmp_path))
    asked = asked_in(paper)
    driver = str(MACHINES[machine]["driver"])
    rows = [
        row
        for row in matrices.load("conda")
        if row["platform"] == "linux-64" and row["cuda"]
        if runs(row, CAPABILITIES[machine], driver, "linux")
    ]
    known = {Version(row["torch"]) for table in ("torch", "conda") for row in matrices.load(table)}
    order = sorted(known)
    own = order.index(Version(asked["pytorch"]))
    chosen = Version(value.plan.pins[0].partition("==")[2].removesuffix(".*"))
    nearest = min(abs(order.index(Version(row["torch"])) - own) for row in rows)
    assert abs(order.index(chosen) - own) == nearest
    if chosen == Version(asked["pytorch"]):
        cuda = "".join((asked.get("cudatoolkit") or asked["pytorch-cuda"]).split(".")[:2])
        there = {row["variant"] for row in rows if Version(row["torch"]) == chosen}
        assert f"cu{cuda}" not in there or str(value.plan.variant) == f"cu{cuda}"


@pytest.mark.parametrize(
    ("package", "is_bound"), [("xformers", True), ("dgl", True), ("ffcv", False), ("numpy", False)]
)
def test_what_is_compiled_against_torch_is_bound_to_it(package: str, is_bound: bool) -> None:
    found = BUILT.bound(package)
    assert (found is not None and found[0].bound == "torch") == is_bound
