"""What a text with an AMD card is told comes from the tables: code first, an override where there is none."""

from __future__ import annotations

import pytest

from gpuenv.explanation.explain import explain_text

NO_BINARY = """\
      Name:                    amdgcn-amd-amdhsa--{gfx}
RuntimeError: HIP error: invalid device function"""


def fix_of(text: str) -> str:
    return explain_text(text, {}).matches[0].fix


@pytest.mark.parametrize(
    ("gfx", "index"),
    [
        ("gfx1031", '"torch[device-gfx1031]=='),
        pytest.param("gfx1102", "https://download.pytorch.org/whl/rocm", marks=pytest.mark.slow),
        pytest.param("gfx900", "https://download.pytorch.org/whl/rocm6.3", marks=pytest.mark.slow),
    ],
)
def test_a_build_with_code_for_the_card_is_named_and_no_override(gfx: str, index: str) -> None:
    fix = fix_of(NO_BINARY.format(gfx=gfx))
    assert index in fix
    assert "export HSA_OVERRIDE" not in fix


def test_the_torch_of_the_text_stays_where_a_build_of_it_has_code_for_the_card() -> None:
    text = NO_BINARY.format(gfx="gfx1102") + "\n>>> torch.__version__\n'2.8.0+rocm7.0.2'"
    assert '"torch==2.8.0+rocm6.4"' in fix_of(text)


@pytest.mark.slow
def test_an_override_is_named_only_without_a_build_for_the_python_and_as_unsupported() -> None:
    fix = fix_of("Python version: 3.9.18\n" + NO_BINARY.format(gfx="gfx1031"))
    assert "unsupported" in fix
    assert "HSA_OVERRIDE_GFX_VERSION=10.3.0" in fix


@pytest.mark.slow
def test_a_card_that_no_build_has_code_for_is_told_to_stay_without_torch_for_amd() -> None:
    fix = fix_of(NO_BINARY.format(gfx="gfx803"))
    assert "pip install" not in fix
    assert "HSA_OVERRIDE" not in fix
