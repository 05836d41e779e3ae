"""Check that torch in this image supports its GPUs; written by gpuenv.

check.py built ...    when the image is built, without a GPU
check.py driver ...   where it runs: the driver alone, quickly, without CUDA
check.py gpus         where it runs: tests on every GPU, compared with the CPU
check.py start ...    where it runs: a command, after `--`, under a driver that is new enough
"""

import argparse
import ctypes
import importlib
import os
import sys
from functools import partial
from typing import Any, Dict, Iterator, Set, Tuple

Pair = Tuple[int, ...]


def read_code(code: str) -> Tuple[str, Pair, str]:
    """Split sm_86, sm_90a or compute_120 into kind, capability, suffix."""
    kind, _, number = code.partition("_")
    suffix = number[-1] if number[-1] in "af" else ""
    digits = number[: len(number) - len(suffix)]
    return kind, (int(digits[:-1]), int(digits[-1])), suffix


def runs(code: str, gpu: Pair, alone: Set[Pair]) -> bool:
    """Tell whether code runs on a GPU: PTX (compute_) also on newer ones, compiled by the driver."""
    kind, made_for, suffix = read_code(code)
    if made_for == gpu:
        return True
    if suffix == "a" or made_for > gpu:
        return False
    if kind == "compute" and not suffix:
        return True
    return made_for[0] == gpu[0] and (kind == "compute" or not {made_for, gpu} & alone)


def is_for_rocm(torch: Any) -> bool:
    return bool(getattr(torch.version, "hip", None))


def version(text: str) -> Pair:
    return tuple(int(part) for part in text.split("."))


def built(requested: Any) -> Iterator[str]:
    torch = importlib.import_module("torch")
    cuda, alone = torch.version.cuda, {version(text) for text in requested.alone}
    if torch.__version__.split("+")[0] != requested.torch.split("+")[0]:
        yield "torch {} was planned, {} is installed".format(requested.torch, torch.__version__)
    if cuda != requested.cuda:
        planned, value = ("CUDA {}".format(item) if item else "the CPU" for item in (requested.cuda, cuda))
        yield "a build for {} was planned, this one is for {}".format(planned, value)
    rocm = is_for_rocm(torch)
    if rocm != requested.rocm:
        yield "a build for ROCm was planned, this is none" if requested.rocm else "this build is for ROCm"
    codes = torch._C._cuda_getArchFlags().split() if cuda or rocm else []
    for gpu in requested.gpu:
        known = gpu in codes if rocm else any(runs(code, version(gpu), alone) for code in codes)
        if not known:
            text = "GPU {} is not supported: torch {} has code for {}"
            yield text.format(gpu, torch.__version__, " ".join(codes) or "no GPU")


def driver(requested: Any) -> Iterator[str]:
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        yield "no NVIDIA driver was found: start the container with --gpus all"
        return
    count, buffer = ctypes.c_uint(), ctypes.create_string_buffer(96)
    calls = (
        partial(nvml.nvmlInit_v2),
        partial(nvml.nvmlDeviceGetCount_v2, ctypes.byref(count)),
        partial(nvml.nvmlSystemGetDriverVersion, buffer, 96),
    )
    for call in calls:
        status = call()
        if status:
            yield "the driver does not answer: NVML error {}".format(status)
            return
    if not count.value:
        yield "no GPU was found: start the container with --gpus all"
    if version(buffer.value.decode()) < version(requested.driver):
        yield "driver {} is too old: {} or newer is required".format(buffer.value.decode(), requested.driver)


def gpus(_: Any) -> Iterator[str]:
    torch = importlib.import_module("torch")
    names = ["CPU"]
    on_gpus = torch.version.cuda is not None or is_for_rocm(torch)
    if on_gpus:
        torch.cuda.init()
        names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    for index, name in enumerate(names):
        for what, error in measure(torch, "cuda:{}".format(index) if on_gpus else "cpu"):
            if not error < 1e-2:
                yield "{}: {} differs from the CPU by {:.1e} of its size".format(name, what, error)
        print("{}: done".format(name))


def measure(torch: Any, location: str) -> Iterator[Tuple[str, float]]:
    """Yield the largest error of each kind of work, against float64 on the CPU."""
    torch.manual_seed(1)
    numbers = torch.randn(256, 256)
    results = work(torch, numbers.to(location))
    for what, expected in work(torch, numbers.double()).items():
        difference = results[what].cpu().double() - expected
        yield what, float(difference.abs().max()) / float(expected.pow(2).mean()) ** 0.5


def work(torch: Any, x: Any) -> Dict[str, Any]:
    image, weight = x[None, None], x[:3, :3][None, None]
    return {
        "arithmetic": torch.exp(-x.abs()) * torch.sin(x),
        "a matrix product": torch.matmul(x, x),
        "a convolution": torch.nn.functional.conv2d(image, weight, padding=1),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("built", "driver", "gpus", "start"))
    parser.add_argument("--torch")
    parser.add_argument("--cuda")
    parser.add_argument("--gpu", action="append", default=[])
    parser.add_argument("--alone", action="append", default=[])
    parser.add_argument("--driver")
    parser.add_argument("--rocm", action="store_true")
    words, command = sys.argv[1:], ["python"]
    if "--" in words:
        words, command = words[: words.index("--")], words[words.index("--") + 1 :]
    namespace = parser.parse_args(words)
    checks = {"built": built, "driver": driver, "gpus": gpus, "start": driver}
    try:
        faults = list(checks[namespace.what](namespace))
        if namespace.what == "start" and not faults:
            os.execvp(command[0], command)
    except Exception as error:
        faults = ["{}: {}".format(type(error).__name__, error)]
    for fault in faults:
        print("error: " + fault, file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
