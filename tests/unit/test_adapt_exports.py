"""Exports of an environment: their builds are of one system, one torch, one CUDA."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_adapt_conda import NEW, adapted, changes_of, environment, specs_in, with_pip

WINDOWS = (
    "python=3.9.18=h4de0772_0_cpython", "pytorch=2.0.1=py3.9_cuda11.8_cudnn8_0",
    "pytorch-cuda=11.8=h24eeafa_5", "pytorch-mutex=1.0=cuda", "timm=0.9.7=pyhd8ed1ab_0",
    "numpy=1.26.0=py39hddb5d58_0", "openssl=1.1.1w=hcfcfb64_0", "libblas=3.9.0=18_win64_mkl",
    "cuda-cccl=12.2.140=0", "vc=14.3=h64f974e_17", "m2w64-libwinpthread-git=5.0.0.4634.697f757=2",
)  # fmt: skip


@pytest.mark.slow
def test_an_export_of_windows_keeps_its_releases_and_loses_its_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No build of Windows is on linux-64; what serves Windows alone goes, and what has conda's version."""
    changes = changes_of(adapted(environment("pytorch, nvidia", *WINDOWS), "RTX 4090", tmp_path, monkeypatch))
    text = (tmp_path / "paper" / "environment.yml").read_text(encoding="utf-8")
    kept = [spec for spec in WINDOWS if spec not in changes]
    assert kept == [spec for spec in WINDOWS if spec.split("=")[0] in ("pytorch-mutex", "timm", "cuda-cccl")]
    gone = {spec.split("=")[0] for spec, new in changes.items() if new is None}
    assert gone == {"vc", "m2w64-libwinpthread-git", "openssl"}
    assert all(spec in text for spec in WINDOWS)  # nothing is written
    specs = specs_in(adapted(environment("pytorch, nvidia", *WINDOWS), "RTX 4090", tmp_path, monkeypatch))
    wanted = {
        "python": "3.9.18",
        "numpy": "1.26.0",
        "pytorch": "2.0.1",
        "pytorch-cuda": "11.8",
        "libblas": "3.9.0",
    }
    assert wanted.items() <= specs.items()


def test_an_export_of_this_system_loses_no_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = (
        "python=3.9.18=h955ad1f_0",
        "libstdcxx-ng=11.2.0=h1234567_1",
        "pytorch=2.0.1",
        "pytorch-cuda=11.8",
    )
    assert (
        changes_of(adapted(environment("pytorch, nvidia", *specs), "RTX 4090", tmp_path, monkeypatch)) == {}
    )


def test_a_package_whose_build_or_name_says_the_old_torch_or_cuda_is_freed_or_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = "pytorch-geometric=1.7.2=py38_torch_1.9.0_cu111"
    specs = ("python=3.8", "pytorch=1.9.0", "cudatoolkit=11.1", built)
    text = with_pip(environment("pytorch, conda-forge", *specs), "dgl-cu110==0.6.1")
    value = adapted(text, NEW, tmp_path, monkeypatch)
    assert changes_of(value)[built] == "pytorch-geometric"
    (told,) = (warning.message for warning in value.plan.warnings if "dgl-cu110" in warning.message)
    assert "CUDA 11.0" in told
    assert "12.9" in told
    unmoved = adapted(text, "RTX 3090", tmp_path, monkeypatch)
    assert not [warning for warning in unmoved.plan.warnings if "dgl-cu110" in warning.message]
