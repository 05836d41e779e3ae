"""What a text with a failed build, or with a torch that has no code for its GPU, is told by what it shows."""

from __future__ import annotations

from gpuenv.explanation.explain import explain_text

WARNING = """\
NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.
The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90."""
IMAGE = """\
#12 [8/12] RUN pip install flash-attn==2.5.8 --no-build-isolation
#12 11.41       RuntimeError: Error compiling objects for extension
#12 11.42   ERROR: Failed building wheel for flash-attn
#12 ERROR: process "/bin/sh -c pip install flash-attn==2.5.8 --no-build-isolation" did not complete \
successfully: exit code: 1"""
HEADERS = "tmpn8c04nql/main.c:4:10: fatal error: Python.h: No such file or directory"


def test_a_gpu_that_an_unnamed_torch_has_no_code_for_gets_the_line_of_its_plan() -> None:
    fix = explain_text(WARNING, {}).matches[0].fix
    assert "python -m pip install torch==" in fix
    assert "https://download.pytorch.org/whl/cu128" in fix


def test_the_command_that_failed_in_an_image_is_no_advice_of_a_package() -> None:
    match = explain_text(IMAGE, {}).matches[0]
    assert match.id == "ext-compile-failed"
    assert match.cause.startswith("flash-attn ")


def test_who_is_root_installs_without_sudo() -> None:
    assert "`sudo apt install" in explain_text(HEADERS, {}).matches[0].fix
    assert "sudo" not in explain_text(f"#14 22.11 {HEADERS}", {}).matches[0].fix
    assert "sudo" not in explain_text(f"root@3f1c2d4e:/w# python a.py\n{HEADERS}", {}).matches[0].fix


def test_what_the_compiler_says_is_told_where_the_text_has_it() -> None:
    failed = "  ERROR: Failed building wheel for mesh-ops"
    assert "not in this text" in explain_text(failed, {}).matches[0].cause
    said = 'mesh.cu(7): error: expected a ";"'
    assert said.partition(": ")[2] in explain_text(f"{said}\n{failed}", {}).matches[0].cause


def test_a_package_with_wheels_on_a_page_of_its_own_gets_the_line_for_its_torch() -> None:
    text = "Python: 3.8.10\nPyTorch version: 1.8.1+cu102\n  ERROR: Failed building wheel for mmcv-full"
    assert (
        "https://download.openmmlab.com/mmcv/dist/cu102/torch1.8.0" in explain_text(text, {}).matches[0].fix
    )


def test_the_odd_tensor_of_two_devices_is_named_by_its_place_in_the_message() -> None:
    told = "RuntimeError: Expected all tensors to be on the same device, but found at least \
two devices, {} and {}! \
(when checking argument for argument mat1 in method wrapper_CUDA_addmm)"
    assert "input is on the CPU" in explain_text(told.format("cuda:0", "cpu"), {}).matches[0].cause
    assert "weights are on the CPU" in explain_text(told.format("cpu", "cuda:0"), {}).matches[0].cause


def test_what_a_process_holds_is_not_told_where_the_error_does_not_say() -> None:
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 594.00 MiB. GPU 0 has a total \
capacity of 15.77 GiB of which 411.50 MiB is free."
    match = explain_text(text, {}).matches[0]
    assert match.id == "cuda-oom"
    assert "0 MiB of" not in match.cause


def test_a_head_of_another_size_is_one_of_other_classes_and_a_layer_of_another_width_is_not() -> None:
    told = "size mismatch for {}: copying a param with shape torch.Size([{}]) from checkpoint, the shape in \
current model is torch.Size([{}])."
    head = explain_text(told.format("fc.weight", "1000, 2048", "10, 2048"), {}).matches[0]
    assert "number of classes" in head.cause
    width = explain_text(told.format("fc.weight", "1000, 512", "1000, 2048"), {}).matches[0]
    assert "number of classes" not in width.cause
