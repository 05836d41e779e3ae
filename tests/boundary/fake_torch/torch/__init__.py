"""A torch with as many GPUs as it is told to have, and with the faults it is told to have.

Every tensor holds one number in all its places: enough for the child script to compare devices.
FAKE_TORCH holds JSON: what this torch says of itself, and `faults`: what goes wrong where, and how.
"""

import json
import math
import os
import signal
import sys
import time
import types
import warnings
from typing import Any

SETTINGS = {
    "version": "2.14.1+cpu",
    "cuda": None,
    "cudnn": None,
    "architectures": [],
    "gpus": [],
    "hip": None,
    "xpu": None,
    "mps": None,
    "gfx": [],
    "error": None,
    "print": "",
    "warn": "",
    "at_exit": None,
    "faults": [],
}
SETTINGS.update(json.loads(os.environ.get("FAKE_TORCH", "{}")))


def suffer(operation: str, device: str) -> None:
    """Do what is to happen when `operation` runs on `device`."""
    for where, at, what in SETTINGS["faults"]:
        if (where, at) == (operation, device):
            harm(what)


def harm(what: str) -> None:
    if what == "hang":
        time.sleep(600)
    elif what == "exit":
        sys.exit("torch has left")
    elif what == "abort":
        os.abort()
    elif what == "out of memory":
        raise MemoryError("CUDA out of memory.\nTried to allocate 20.00 MiB")
    elif what in ("SIGSEGV", "SIGKILL", "SIGILL"):
        os.kill(os.getpid(), getattr(signal, what))
    elif what != "wrong":
        raise RuntimeError(what)


def is_wrong(operation: str, device: str) -> bool:
    return [operation, device, "wrong"] in SETTINGS["faults"]


suffer("import", "cpu")
sys.stdout.write(SETTINGS["print"])
sys.stdout.flush()
if SETTINGS["warn"]:
    warnings.warn(SETTINGS["warn"], stacklevel=1)
if SETTINGS["at_exit"]:
    import atexit

    atexit.register(harm, SETTINGS["at_exit"])


class Tensor:
    def __init__(self, value: float, shape: Any, device: str = "cpu") -> None:
        self.value, self.shape, self.device = value, tuple(shape), device

    def _like(self, value: float, operation: str = "", shape: Any = None) -> "Tensor":
        suffer("kernel", self.device)
        suffer(operation, self.device)
        value = math.nan if is_wrong(operation, self.device) else value
        return Tensor(value, self.shape if shape is None else shape, self.device)

    def to(self, where: Any) -> "Tensor":
        if not isinstance(where, str):
            return self._like(self.value, where)
        suffer("copy", where)
        return Tensor(self.value, self.shape, where)

    def cpu(self) -> "Tensor":
        return Tensor(self.value, self.shape)

    def same(self) -> "Tensor":
        return self

    detach = requires_grad_ = double = float = all = mean = same

    def __add__(self, other: Any) -> "Tensor":
        return self._like(self.value + getattr(other, "value", other))

    def __sub__(self, other: "Tensor") -> "Tensor":
        return self._like(self.value - other.value)

    def __mul__(self, other: Any) -> "Tensor":
        return self._like(self.value * getattr(other, "value", other))

    def __truediv__(self, other: Any) -> "Tensor":
        return self._like(self.value / getattr(other, "value", other))

    def __neg__(self) -> "Tensor":
        return self._like(-self.value)

    def __eq__(self, other: object) -> Any:
        return self._like(self.value == getattr(other, "value", other))

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, _: Any) -> "Tensor":
        return self._like(self.value, shape=self.shape[:-1])

    def __len__(self) -> int:
        return self.shape[0]

    def __float__(self) -> Any:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def abs(self) -> "Tensor":
        return self._like(abs(self.value))

    def pow(self, power: int) -> "Tensor":
        return self._like(self.value**power)

    def max(self, dim: Any = None) -> Any:
        return self if dim is None else (self._like(self.value, "reduction"), None)

    def sum(self, dim: Any = None) -> "Tensor":
        count = math.prod(self.shape) if dim is None else self.shape[dim]
        return self._like(self.value * count, "reduction", ())

    def transpose(self, *_: int) -> "Tensor":
        return self._like(self.value, shape=(*self.shape[:-2], self.shape[-1], self.shape[-2]))

    def softmax(self, dim: int) -> "Tensor":
        return self._like(1 / self.shape[dim], "softmax")

    def sin(self) -> "Tensor":
        return self._like(math.sin(self.value))

    def cos(self) -> "Tensor":
        return self._like(math.cos(self.value))


float16, bfloat16 = "fp16", "bf16"


def zeros(*shape: int) -> Tensor:
    return Tensor(0.0, shape)


def ones(*shape: int) -> Tensor:
    return Tensor(1.0, shape)


def randn(*shape: int) -> Tensor:
    return Tensor(0.5, shape)


def arange(size: int) -> Tensor:
    return Tensor((size - 1) / 2, (size,))


def linspace(_start: float, _end: float, size: int) -> Tensor:
    return Tensor(0.5, (size,))


def cat(tensors: Any, dim: int) -> Tensor:
    return tensors[0]


def exp(tensor: Tensor) -> Tensor:
    return tensor._like(math.exp(tensor.value))


def sin(tensor: Tensor) -> Tensor:
    return tensor.sin()


def matmul(a: Tensor, b: Tensor) -> Tensor:
    return a._like(a.value * b.value * a.shape[-1], "matmul")


def _conv2d(image: Tensor, weight: Tensor, padding: int) -> Tensor:
    return image._like(image.value * weight.value * 72, "convolution")


def _grad(out: Tensor, _: Any, grad: Tensor) -> Any:
    return out._like(out.value * grad.value), out._like(out.value + grad.value)


def _attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return query._like(value.value, "attention")


def manual_seed(_: int) -> None:
    pass


def compile(function: Any) -> Any:  # noqa: A001 - torch's name
    suffer("compile", "cpu")
    return function


def _arch_flags() -> str:
    return " ".join(SETTINGS["architectures"])


def _cudnn_version() -> Any:
    suffer("cudnn", "cpu")
    return SETTINGS["cudnn"]


if SETTINGS["version"]:
    __version__ = SETTINGS["version"]
version = types.SimpleNamespace(cuda=SETTINGS["cuda"], hip=SETTINGS["hip"], xpu=SETTINGS["xpu"])
nn = types.SimpleNamespace(
    functional=types.SimpleNamespace(conv2d=_conv2d, scaled_dot_product_attention=_attention)
)
autograd = types.SimpleNamespace(grad=_grad)
backends = types.SimpleNamespace(
    cudnn=types.SimpleNamespace(version=_cudnn_version, is_available=lambda: SETTINGS["cudnn"] is not None)
)
backends.mps = types.SimpleNamespace(
    is_built=lambda: SETTINGS["mps"] is not None, is_available=lambda: bool(SETTINGS["mps"])
)
_C = types.SimpleNamespace(_nccl_all_reduce=None)
if SETTINGS["architectures"] is not None:
    _C._cuda_getArchFlags = _arch_flags

from torch import cuda, npu, xpu  # noqa: E402, F401
