"""Environment files whose torch is conda's: what is written is what channels have."""

from __future__ import annotations

from pathlib import Path

import pytest
from adapted_papers import MACHINES, adapt_for, bare_environ, save_machine

from gpuenv import matrices
from gpuenv.adapt.model import Adaptation
from gpuenv.model.match_spec import parse_match_spec

NEW, OLD = "RTX 5090", "V100"
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


def specs_in(adaptation: Adaptation) -> dict[str, str]:
    """What the adapted file says of each package, by name."""
    lines = [line.strip() for line in adaptation.files[0].text.splitlines()]
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


def test_a_torch_that_moves_to_builds_with_parts_of_cuda_gets_the_channel_that_has_those(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MACHINES, "H100", {"gpus": ["NVIDIA H100 80GB HBM3"], "driver": "535.104.05"})
    text = environment("pytorch, defaults", "python=3.9", "pytorch=1.12.1", "cudatoolkit=11.3")
    value = adapted(text, "H100", tmp_path, monkeypatch)
    assert specs_in(value)["pytorch"].startswith("2.0")
    assert specs_in(value)["pytorch-cuda"] == "11.8"
    assert "channels: [nvidia, pytorch, defaults]" in value.files[0].text


def test_python_3_6_stays_where_the_channel_has_that_torch_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = environment("pytorch, defaults", "python=3.6.9", "pytorch=1.10.1", "cudatoolkit=11.3")
    value = adapted(text, OLD, tmp_path, monkeypatch)
    assert value.plan.python == "3.6"
    assert not [change for change in value.changes if change.project == "python"]
