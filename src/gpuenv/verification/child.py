"""Test torch on every GPU with an environment's own Python, and write the results as JSON.

    python child.py RESULT [--devices 0,1] [--compile] [--nccl] [--limit 100]

RESULT is rewritten after every step, so that a crash or a hang loses nothing: `running` then names the last
step. It is a file because torch and its libraries print on stdout.

Libraries of ROCm, XPU, MPS and NPU end the process where they lack code for a device. There each device is
tested in a process of its own; where that crashes, or a test takes more than --limit seconds, another goes on
behind it.

This file runs in other Pythons, from 3.6 (torch 1.x) on, with the standard library alone.
"""

import argparse
import contextlib
import faulthandler
import importlib
import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys
import time
import traceback
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

SCHEMA = 1
_KEPT_LINES = 12
_KEPT_WARNINGS = 50
# Largest error allowed, as a share of the result's root mean square. float32 is held to the looser one on
# GPUs that may compute it as TF32 (10 bits of mantissa; the default differs between torch releases).
_EXACT, _ROUNDED, _COARSE = 1e-3, 1e-2, 5e-2
_TF32_FROM = (8, 0)
_BF16_FROM = (8, 0)
_LIMIT_S = 100.0  # the first convolution of a ROCm release compiles for a minute
_POLL_S = 0.05
_TERMINATED_S = 5.0  # until it is killed

Outcome = Tuple[bool, str]


class Skipped(Exception):  # noqa: N818 - not an error
    """Why a test was skipped."""


class Result:
    """The JSON document, rewritten after every step."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.warnings = []  # type: List[str]
        self.document = {
            "schema": SCHEMA,
            "python": platform.python_version(),
            "executable": sys.executable,
            "prefix": sys.prefix,
            "torch": None,
            "failure": None,
            "devices": [],
            "running": None,
            "warnings": self.warnings,
            "complete": False,
        }  # type: Dict[str, Any]

    def write(self) -> None:
        beside = self.path + ".part"
        with open(beside, "w", encoding="ascii") as sink:
            json.dump(self.document, sink, default=str)
        _replace(beside, self.path)

    def start(self, what: str, device: Optional[int] = None) -> None:
        self.document["running"] = {"what": what, "device": device}
        self.write()

    def fail(self, stage: str, error: BaseException) -> None:
        """Record an error with its causes and the end of its traceback; `missing`: torch is not installed."""
        lines = traceback.format_exc().strip().splitlines()
        missing = isinstance(error, ImportError) and error.name == "torch" and not _installed("torch")
        self.document["failure"] = {"stage": stage, "missing": missing, "lines": lines[-_KEPT_LINES:]}
        self.document["failure"]["errors"] = _chain(error)

    def finish(self) -> None:
        self.document["running"] = None
        self.document["complete"] = True
        self.write()

    def note_warning(self, message: Any, category: Any, *_: Any, **__: Any) -> None:
        text = "{}: {}".format(category.__name__, message)
        if text not in self.warnings and len(self.warnings) < _KEPT_WARNINGS:
            self.warnings.append(text)


def _replace(source: str, target: str) -> None:
    for _ in range(20):
        try:
            os.replace(source, target)
        except PermissionError:  # Windows: a virus scanner has it open
            time.sleep(0.05)
        else:
            return
    os.replace(source, target)


class Kind:
    """One kind of accelerator: the module of torch that drives it, and its device type.

    `name` is `cuda`, `rocm` (whose API is torch.cuda), `xpu`, `mps` or `npu`.
    """

    def __init__(self, torch: Any, name: str) -> None:
        self.name = name
        self.type = "cuda" if name == "rocm" else name
        self.api = torch.backends.mps if name == "mps" else getattr(torch, self.type)

    def count(self) -> int:
        if not self.api.is_available():
            return 0
        return 1 if self.name == "mps" else int(self.api.device_count())

    def device_name(self, index: int) -> str:
        if self.name == "mps":  # named from torch 2.9 on
            return str(self.api.get_name()) if hasattr(self.api, "get_name") else "MPS"
        return str(self.api.get_device_name(index))

    def architecture(self, index: int) -> Optional[str]:
        # gfx90a:sramecc+:xnack-
        if self.name != "rocm":
            return None
        found = getattr(self.api.get_device_properties(index), "gcnArchName", None)
        return str(found).split(":")[0] if found else None

    def start(self) -> None:
        if hasattr(self.api, "init"):
            self.api.init()

    def entered(self, index: Optional[int]) -> Any:
        # ExitStack: contextlib.nullcontext is newer than Python 3.6
        return contextlib.ExitStack() if index is None or self.name == "mps" else self.api.device(index)


class Bench:
    """One device, and what the tests need of it."""

    def __init__(self, torch: Any, kind: Optional[Kind], index: Optional[int], nms: Any) -> None:
        self.torch = torch
        self.kind = kind
        self.index = index
        self.nms = nms  # None: torchvision is not installed; a string: why it could not be imported
        self.capability = None  # type: Optional[Tuple[int, int]]
        self.architecture = None  # type: Optional[str]
        self.name = "cpu"
        if kind is not None and index is not None:
            self.name = kind.device_name(index)
            self.architecture = kind.architecture(index)
            if kind.name == "cuda":
                self.capability = tuple(torch.cuda.get_device_capability(index))

    @property
    def is_gpu(self) -> bool:
        return self.index is not None

    @property
    def is_cuda(self) -> bool:
        return self.kind is not None and self.kind.name == "cuda"

    @property
    def tolerance(self) -> float:
        if self.is_gpu and not self.is_cuda:  # HF32 and its like
            return _ROUNDED
        return _ROUNDED if self.capability is not None and self.capability >= _TF32_FROM else _EXACT

    def put(self, tensor: Any) -> Any:
        if self.kind is None or self.index is None:
            return tensor.to("cpu")
        return tensor.to("mps" if self.kind.name == "mps" else "{}:{}".format(self.kind.type, self.index))

    def random(self, *shape: int) -> Any:
        """Return float32 numbers on the CPU, the same in every run."""
        self.torch.manual_seed(len(shape) + sum(shape))
        return self.torch.randn(*shape)

    def compare(self, got: Any, expected: Any, tolerance: float) -> Outcome:
        """Compare with the CPU's float64; a NaN compares as wrong."""
        difference = float((got.detach().cpu().double() - expected).abs().max())
        error = difference / float(expected.pow(2).mean()) ** 0.5
        if error <= tolerance:
            return True, "largest error {:.1e}".format(error)
        text = "differs from the CPU's float64 by {:.1e} of its size; {:.0e} is allowed"
        return False, text.format(error, tolerance)


def test_zeros(bench: Bench) -> Outcome:
    # only copies memory: proves the driver and the context, no kernel
    back = bench.put(bench.torch.zeros(1)).cpu()
    return float(back[0]) == 0.0, ""


def test_first_kernel(bench: Bench) -> Outcome:
    # the driver compiles PTX here, if the build has no machine code for the GPU
    item = bench.put(bench.torch.zeros(64)) + 1
    return float(item.sum().cpu()) == len(item), ""


def test_arithmetic(bench: Bench) -> Outcome:
    torch = bench.torch
    a, b = bench.random(1000), bench.random(1000, 1)[:, 0]
    got = torch.exp(-bench.put(a).abs()) * torch.sin(bench.put(b)) + bench.put(a) / (bench.put(b).abs() + 1)
    exact, divisor = a.double(), b.double()
    expected = torch.exp(-exact.abs()) * torch.sin(divisor) + exact / (divisor.abs() + 1)
    return bench.compare(got, expected, _EXACT)


def test_matmul(bench: Bench) -> Outcome:
    a, b = bench.random(192, 320), bench.random(320, 256)
    got = bench.torch.matmul(bench.put(a), bench.put(b))
    return bench.compare(got, bench.torch.matmul(a.double(), b.double()), bench.tolerance)


def _convolve(torch: Any, image: Any, weight: Any, grad: Any) -> Tuple[Any, ...]:
    image, weight = image.detach().requires_grad_(), weight.detach().requires_grad_()
    out = torch.nn.functional.conv2d(image, weight, padding=1)
    return (out,) + tuple(torch.autograd.grad(out, (image, weight), grad))


def test_convolution(bench: Bench) -> Outcome:
    torch = bench.torch
    inputs = bench.random(2, 8, 32, 32), bench.random(16, 8, 3, 3), bench.random(2, 16, 32, 32)
    got = _convolve(torch, *[bench.put(tensor) for tensor in inputs])
    expected = _convolve(torch, *[tensor.double() for tensor in inputs])
    outcomes = [
        (what,) + bench.compare(mine, right.detach(), bench.tolerance)
        for what, mine, right in zip(("forward", "input gradient", "weight gradient"), got, expected)
    ]
    wrong = ["{}: {}".format(what, detail) for what, ok, detail in outcomes if not ok]
    if wrong or not bench.is_cuda:
        return not wrong, " | ".join(wrong)
    return True, "with cuDNN" if torch.backends.cudnn.is_available() else "without cuDNN"


def test_reduction(bench: Bench) -> Outcome:
    torch, size = bench.torch, 100003
    numbers = bench.put(torch.arange(size))
    total = int(numbers.sum().cpu())
    if total != size * (size - 1) // 2:
        return False, "the sum of 0 to {} came out as {}".format(size - 1, total)
    values = bench.random(512, 129)
    largest = bench.put(values).max(dim=1)[0].cpu()
    if not bool((largest == values.max(dim=1)[0]).all()):
        return False, "the largest of a row differs from the CPU's"
    return bench.compare(bench.put(values).sum(dim=0), values.double().sum(dim=0), _EXACT)


def _low_precision(bench: Bench, dtype: Any, tolerance: float) -> Outcome:
    a, b = bench.random(96, 128).to(dtype), bench.random(128, 64).to(dtype)
    try:
        got = bench.torch.matmul(bench.put(a), bench.put(b))
    except (RuntimeError, TypeError) as error:
        if bench.is_gpu and not bench.is_cuda and "bfloat16" in str(error).lower():
            raise Skipped("not supported by this GPU") from error
        if bench.is_gpu or not isinstance(error, RuntimeError):
            raise
        reason = "not supported by this build on the CPU: {}"
        raise Skipped(reason.format((_lines(error) or [type(error).__name__])[0])) from error
    return bench.compare(got, bench.torch.matmul(a.float().double(), b.float().double()), tolerance)


def test_fp16(bench: Bench) -> Outcome:
    return _low_precision(bench, bench.torch.float16, _ROUNDED)


def test_bf16(bench: Bench) -> Outcome:
    torch = bench.torch
    if not hasattr(torch, "bfloat16"):
        raise Skipped("not supported by this torch")
    if bench.capability is not None:
        # newer releases call emulation on older GPUs supported, so the capability is asked too
        if bench.capability < _BF16_FROM:
            raise Skipped("not supported by this GPU")
        if not hasattr(torch.cuda, "is_bf16_supported") or not torch.cuda.is_bf16_supported():
            raise Skipped("not supported by this torch")
    return _low_precision(bench, torch.bfloat16, _COARSE)


def test_attention(bench: Bench) -> Outcome:
    # rocm and mps have kernels of their own for it, which are wrong on some chips where products are right
    torch = bench.torch
    fused = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    if fused is None:
        raise Skipped("not supported by this torch")
    query, key, value = bench.random(1, 2, 64, 32), bench.random(1, 2, 64, 32), bench.random(1, 2, 64, 32)
    got = fused(bench.put(query), bench.put(key), bench.put(value))
    weights = torch.matmul(query.double(), key.double().transpose(-2, -1)) / 32**0.5
    return bench.compare(got, torch.matmul(weights.softmax(dim=-1), value.double()), bench.tolerance)


def test_nms(bench: Bench) -> Outcome:
    if isinstance(bench.nms, str):
        return False, bench.nms
    corners = bench.random(200, 2).abs() * 50
    boxes = bench.torch.cat([corners, corners + 5 + bench.random(200, 2, 1)[:, :, 0].abs() * 40], dim=1)
    scores = bench.torch.linspace(0, 1, 200)
    try:
        got = bench.nms(bench.put(boxes), bench.put(scores), 0.5).cpu().tolist()
    except NotImplementedError as error:  # torchvision is made for ROCm and CUDA, and in part for others
        if bench.kind is None or bench.kind.type == "cuda":
            raise
        raise Skipped("not supported by this torchvision") from error
    expected = bench.nms(boxes, scores, 0.5).tolist()
    if got != expected:
        return False, "keeps {} boxes where the CPU keeps {}".format(len(got), len(expected))
    if not 0 < len(got) < len(scores):
        return False, "keeps {} of {} boxes".format(len(got), len(scores))
    return True, ""


def _compiled(x: Any) -> Any:
    return (x.sin() * 2 + x.cos()).sum(dim=1)


def test_compile(bench: Bench) -> Outcome:
    torch = bench.torch
    if not hasattr(torch, "compile"):
        raise Skipped("this torch has no torch.compile")
    x = bench.random(64, 128)
    return bench.compare(torch.compile(_compiled)(bench.put(x)), _compiled(x.double()), _EXACT)


def test_nccl(torch: Any, indices: List[int]) -> Outcome:
    if len(indices) < 2:  # noqa: PLR2004
        raise Skipped("requires two GPUs")
    importlib.import_module("torch.cuda.nccl")
    if not hasattr(torch._C, "_nccl_all_reduce"):
        raise Skipped("this build of torch has no NCCL")
    tensors = [torch.ones(1024).to("cuda:{}".format(index)) * rank for rank, index in enumerate(indices, 1)]
    torch.cuda.nccl.all_reduce(tensors)
    expected = len(indices) * (len(indices) + 1) / 2.0
    wrong = [index for index, got in zip(indices, tensors) if not bool((got.cpu() == expected).all())]
    text = "wrong sum on GPUs {}" if wrong else "over GPUs {}"
    return not wrong, text.format(", ".join(map(str, wrong or indices)))


TESTS = [
    ("zeros", test_zeros),
    ("first-kernel", test_first_kernel),
    ("arithmetic", test_arithmetic),
    ("matmul", test_matmul),
    ("convolution", test_convolution),
    ("reduction", test_reduction),
    ("fp16", test_fp16),
    ("bf16", test_bf16),
]  # type: List[Tuple[str, Callable[[Bench], Outcome]]]


def _lines(error: BaseException) -> List[str]:
    return [line.strip() for line in str(error).splitlines() if line.strip()]


def _summary(error: BaseException) -> str:
    """Return the error as one line, with CUDA's hints, which follow the first."""
    return "{}: {}".format(type(error).__name__, " | ".join(_lines(error)[:6]))


def _chain(error: BaseException) -> List[str]:
    """Return the chained errors, oldest first: a missing library often shows only in the first."""
    chain = [error]
    while len(chain) < _KEPT_LINES:
        last = chain[-1]
        before = last.__cause__ or (None if last.__suppress_context__ else last.__context__)
        if before is None or before in chain:
            break
        chain.append(before)
    return [_summary(exception) for exception in reversed(chain)]


def _attempt(body: Callable[[], Outcome]) -> Dict[str, Any]:
    began = time.perf_counter()
    try:
        ok, detail = body()
    except Skipped as reason:
        return {"ok": True, "ms": None, "detail": "skipped: {}".format(reason)}
    except Exception as error:
        ok, detail = False, _summary(error)
    return {"ok": bool(ok), "ms": round((time.perf_counter() - began) * 1000, 3), "detail": detail}


def _test(result: Result, device: Dict[str, Any], name: str, body: Callable[[], Outcome]) -> None:
    result.start(name, device["index"])
    device["tests"].append(dict(_attempt(body), id=name))


def test_device(
    result: Result,
    torch: Any,
    kind: Optional[Kind],
    index: Optional[int],
    nms: Any,
    compiled: bool,
    done: Sequence[str],
) -> None:
    device = _new_device(kind, index)
    result.document["devices"].append(device)
    result.start("device", index)
    try:
        bench = Bench(torch, kind, index, nms)
    except Exception as error:
        device["tests"].append({"id": "zeros", "ok": False, "ms": None, "detail": _summary(error)})
        return
    device["name"], device["architecture"] = bench.name, bench.architecture
    if bench.capability is not None:
        device["compute_capability"] = "{}.{}".format(*bench.capability)
    tests = list(TESTS)
    tests += [("attention", test_attention)] if bench.is_gpu and not bench.is_cuda else []
    tests += [("nms", test_nms)] if nms is not None else []
    tests += [("compile", test_compile)] if compiled else []
    with kind.entered(index) if kind is not None else contextlib.ExitStack():
        for name, body in tests:
            if name not in done:
                _test(result, device, name, lambda body=body: body(bench))  # type: ignore[misc]


def _new_device(kind: Optional[Kind], index: Optional[int]) -> Dict[str, Any]:
    name = kind.name if kind is not None and index is not None else "cpu"
    return {"index": index, "name": None, "compute_capability": None, "kind": name, "tests": []}


class DeviceProcess:
    """The tests of one device in processes of their own, one after another until all have run."""

    def __init__(self, result: Result, device: Dict[str, Any], limit_s: float, compiled: bool) -> None:
        self.result = result
        self.device = device
        self.limit_s = limit_s
        self.compiled = compiled
        self.path = result.path + ".device"
        self.running = None  # type: Optional[str]

    def run(self) -> None:
        while True:
            before = list(self.device["tests"])
            ended = self._run_process(before)
            if ended is None:
                return
            step = self.running or "zeros"
            at_start = step in _STARTING
            name = "zeros" if at_start and not before else step
            self.device["tests"].append({"id": name, "ok": False, "ms": None, "detail": "", "ended": ended})
            if at_start:  # so would the next
                return

    def _run_process(self, before: List[Dict[str, Any]]) -> Optional[Dict[str, Any]]:
        """Run what is left; return how the process ended where it did not run to its end."""
        if os.path.exists(self.path):
            os.remove(self.path)
        self.running = "import torch"
        done = ",".join(test["id"] for test in before)
        argv = [sys.executable, os.path.abspath(__file__), self.path, "--done", done]
        argv += ["--devices", str(self.device["index"])] + ["--compile"] * self.compiled
        process = subprocess.Popen(argv)
        since, seen = time.monotonic(), None  # type: float, Any
        while True:
            status = _wait(process, _POLL_S)
            document = self._read()
            if document is not None and document != seen:
                since, seen = time.monotonic(), document
                self._take(before, document)
            if status is not None:
                complete = seen is not None and seen["complete"]
                return None if complete else {"timed_out": False, "status": status, "limit_s": self.limit_s}
            if time.monotonic() - since > self.limit_s:
                process.terminate()
                if _wait(process, _TERMINATED_S) is None:
                    process.kill()
                    process.wait()
                return {"timed_out": True, "status": None, "limit_s": self.limit_s}

    def _read(self) -> Any:
        try:
            with open(self.path, encoding="ascii") as source:
                return json.load(source)
        except (OSError, ValueError):  # not yet there; Windows: being replaced
            return None

    def _take(self, before: List[Dict[str, Any]], document: Dict[str, Any]) -> None:
        for device in document["devices"]:
            self.device.update(device, tests=before + device["tests"])
        for warning in document["warnings"]:
            if warning not in self.result.warnings:
                self.result.warnings.append(warning)
        if document["running"] is not None:
            self.running = document["running"]["what"]
            self.result.start(str(self.running), self.device["index"])


_STARTING = ("import torch", "import torch_npu", "import torchvision", "device")


def _wait(process: Any, seconds: float) -> Optional[int]:
    try:
        return int(process.wait(seconds))
    except subprocess.TimeoutExpired:
        return None


def _query(result: Result, ask: Callable[[], Any]) -> Any:
    """Ask torch about itself; None where it has no such function, or that fails."""
    try:
        return ask()
    except AttributeError:
        return None
    except Exception as error:
        result.warnings.append(_summary(error))
        return None


def _architectures(torch: Any, kind: Kind) -> List[str]:
    if kind.name == "xpu":
        return [str(arch) for arch in torch.xpu.get_arch_list()]
    # get_arch_list() is empty where no GPU is usable; the flags it reads are there all the same
    flags = torch._C._cuda_getArchFlags() if hasattr(torch._C, "_cuda_getArchFlags") else None
    return [str(arch) for arch in (flags.split() if flags else torch.cuda.get_arch_list())]


def kind_of(result: Result, torch: Any) -> Optional[Kind]:
    """Tell for which accelerator torch was built; None for a build for the CPU alone."""
    if _query(result, lambda: torch.version.cuda):
        return Kind(torch, "cuda")
    if _query(result, lambda: torch.version.hip):
        return Kind(torch, "rocm")
    # torch.version.xpu is newer than torch.xpu
    if _query(result, lambda: torch.version.xpu) or _query(result, lambda: torch.xpu._is_compiled()):
        return Kind(torch, "xpu")
    if _installed("torch_npu"):
        result.start("import torch_npu")
        try:
            importlib.import_module("torch_npu")
            return Kind(torch, "npu")
        except Exception as error:
            result.fail("import torch_npu", error)
            return None
    return Kind(torch, "mps") if _query(result, lambda: torch.backends.mps.is_built()) else None


def describe_torch(result: Result, torch: Any, kind: Optional[Kind]) -> Dict[str, Any]:
    cuda = _query(result, lambda: torch.version.cuda)
    about = {
        "kind": kind.name if kind else "cpu",
        "xpu": _query(result, lambda: torch.version.xpu),
        "version": str(torch.__version__),
        "file": _query(result, lambda: torch.__file__),
        "cuda": cuda,
        "hip": _query(result, lambda: torch.version.hip),
        "architectures": None,
        "available": bool(kind and _query(result, lambda: kind.api.is_available())),
        "cudnn": None,
        "error": None,
    }
    if kind is not None and kind.name in ("cuda", "rocm", "xpu"):
        about["architectures"] = _query(result, lambda: _architectures(torch, kind))
    result.document["torch"] = about
    result.start("cuDNN")
    about["cudnn"] = _query(result, lambda: torch.backends.cudnn.version()) if cuda or kind is None else None
    result.start("CUDA")
    if kind is not None:
        try:
            kind.start()
        except Exception as error:
            about["error"] = _summary(error)
    return about


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # it was put in sys.modules by hand
        return module in sys.modules


def import_nms(result: Result) -> Any:
    if not _installed("torchvision"):
        return None
    result.start("import torchvision")
    try:
        operators = importlib.import_module("torchvision.ops")
    except ImportError as error:
        # torchvision before 0.3 has no operators
        return None if getattr(error, "name", None) == "torchvision.ops" else _summary(error)
    except Exception as error:
        return _summary(error)
    return operators.nms


def import_torch(result: Result) -> Any:
    result.start("import torch")
    try:
        torch = importlib.import_module("torch")
        torch.__version__, torch.cuda, torch.version  # noqa: B018 - an empty directory imports as well
    except (Exception, SystemExit) as error:
        result.fail("import torch", error)
        return None
    return torch


def verify(
    result: Result, wanted: Optional[List[int]], compiled: bool, nccl: bool, limit_s: float = _LIMIT_S
) -> None:
    torch = import_torch(result)
    if torch is None:
        return
    kind = kind_of(result, torch)
    about = describe_torch(result, torch, kind)
    nms = import_nms(result)
    count = _query(result, kind.count) if kind and about["available"] else 0
    indices = list(range(count or 0)) if wanted is None else wanted
    for index in indices or [None]:  # type: ignore[list-item]
        if kind is None or kind.name == "cuda" or index is None:
            test_device(result, torch, kind, index, nms, compiled, ())
        else:
            device = _new_device(kind, index)
            result.document["devices"].append(device)
            DeviceProcess(result, device, limit_s, compiled).run()
    if nccl and indices and kind is not None and kind.type == "cuda":
        first = result.document["devices"][0]
        _test(result, first, "nccl", lambda: test_nccl(torch, indices))


def verify_rest(result: Result, index: int, compiled: bool, done: Sequence[str]) -> None:
    """Run the tests of one device that are not done yet; its report is read by a `DeviceProcess`."""
    torch = import_torch(result)
    if torch is not None:
        test_device(result, torch, kind_of(result, torch), index, import_nms(result), compiled, done)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("result")
    parser.add_argument("--devices")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--nccl", action="store_true")
    parser.add_argument("--limit", type=float, default=_LIMIT_S)
    parser.add_argument("--done")  # by the process that started this one
    options = parser.parse_args()
    if sys.path and os.path.abspath(sys.path[0]) == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]  # modules beside this script must not shadow the environment's
    if sys.platform != "win32":  # on Windows it also reports exceptions that are handled
        faulthandler.enable()
        faulthandler.register(signal.SIGTERM, chain=True)  # gpuenv ends a hang with it: shows where
    result = Result(options.result)
    warnings.showwarning = result.note_warning
    wanted = [int(index) for index in options.devices.split(",")] if options.devices else None
    if options.done is not None and wanted is not None:
        verify_rest(result, wanted[0], options.compile, options.done.split(","))
    else:
        verify(result, wanted, options.compile, options.nccl, options.limit)
    result.finish()


if __name__ == "__main__":
    main()
