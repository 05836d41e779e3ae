"""What a text with a card of AMD's or Intel's is told comes from the tables, never NVIDIA's advice."""

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


ARC = """PS C:\\dev> python -c "import torch; print(torch.__version__, torch.xpu.is_available())"
2.11.0+cpu False
Intel(R) Arc(TM) A770 Graphics 32.0.101.6987
{"gpu_available":false}
"""
CUBLAS = """RuntimeError: CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling \
`cublasGemmEx(handle, opa, opb, m, n, k, &falpha, a, CUDA_R_16BF, lda)`
GPU 0: {name} (UUID: GPU-0f21d3c0-9a1b-4c55-8a55-3f1f0c1b2d3e)
"""


def test_a_build_for_the_cpu_beside_an_intel_card_is_replaced_by_that_for_intel() -> None:
    match = explain_text(ARC, {}).matches[0]
    assert '"torch==2.11.0+xpu" --index-url https://download.pytorch.org/whl/xpu' in match.fix
    assert "NVIDIA" not in match.cause


def test_an_intel_card_that_torch_uses_is_no_error() -> None:
    text = ARC.replace("2.11.0+cpu False", "").replace('{"gpu_available":false}', "")
    session = ">>> torch.__version__, torch.xpu.is_available()\n('2.12.0+xpu', True)\n"
    assert explain_text(f"{text}{session}>>> torch.cuda.is_available()\nFalse", {}).matches == ()


@pytest.mark.parametrize(("name", "is_told"), [("Tesla M40 24GB", True), ("NVIDIA A10", False)])
def test_bfloat16_is_the_cause_on_cards_that_lack_it(name: str, *, is_told: bool) -> None:
    assert ("float32" in fix_of(CUBLAS.replace("{name}", name))) == is_told


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        (r"D:\work\env\lib\site-packages\a.py", 'set "NCCL_P2P_DISABLE=1" & set "NCCL_IB_DISABLE=1"'),
        ("/home/u/env/lib/python3.10/site-packages/a.py", "export "),
    ],
)
def test_variables_are_set_as_the_shell_of_the_text_has_it(path: str, typed: str) -> None:
    told = "NotImplementedError: Using RTX 4000 series doesn't support faster communication broadband via P2P"
    assert typed in fix_of(f'  File "{path}", line 3, in <module>\n{told} or IB.')


CUDNN = """pytorch                   1.4.0           py3.6_cuda10.1.243_cudnn7.6.3_0    pytorch
GPU 0: {name} (UUID: GPU-5f4e1f6a-b6c1-21e7-8c55-7d0bd1d5d9a0)
RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED
"""


@pytest.mark.parametrize(("name", "is_told"), [("NVIDIA GeForce RTX 3090", True), ("Tesla T4", False)])
def test_cudnn_of_a_cuda_older_than_the_card_is_replaced_by_the_nearest_build(
    name: str, *, is_told: bool
) -> None:
    assert ('"torch==1.7.0+cu110"' in fix_of(CUDNN.replace("{name}", name))) == is_told


DKMS = """NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.
$ uname -r
{running}
nvidia/535.183.01, 5.10.0-28-cloud-amd64, x86_64: installed
PRETTY_NAME="Debian GNU/Linux 11 (bullseye)"
"""


@pytest.mark.parametrize(
    ("running", "is_told"), [("5.10.0-30-cloud-amd64", True), ("5.10.0-28-cloud-amd64", False)]
)
def test_the_headers_of_the_kernel_that_dkms_did_not_build_for_are_named(
    running: str, *, is_told: bool
) -> None:
    assert (f"apt install linux-headers-{running}" in fix_of(DKMS.replace("{running}", running))) == is_told


def test_a_poetry_project_gets_the_build_by_its_source() -> None:
    text = """D:\\> poetry run python -c "import torch; print(torch.__version__, torch.cuda.is_available())"
2.1.1+cpu False
| NVIDIA-SMI 546.33                 Driver Version: 546.33       CUDA Version: 12.3     |
D:\\> python --version
Python 3.11.7"""
    assert "poetry add --source pytorch-cu121 torch==2.1.1+cu121" in fix_of(text)
