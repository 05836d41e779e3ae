"""Logs of several kinds, each with an error at its end: what `explain` looks through."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path

TRAINING = "training"
_END = (
    '\nTraceback (most recent call last):\n  File "train.py", line 12, in <module>\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
)
_PROSE = (
    "the model was trained on images with a batch size of many and then evaluated over validation data using "
    "accuracy while gradient checkpointing enabled memory usage remains high device tensor shape input "
    "layer attention kernel compile warning info loading checkpoint from disk worker process started finished"
)
_chance = random.Random(5)  # noqa: S311 - no secret


def _training(number: int) -> str:
    return f"[2026-03-04 10:11:12] epoch {number:5} step {number:9} loss 0.{number:06} images/s 812.5\n"


def _downloads(number: int) -> str:
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    name = f"package_{number % 400}-1.{number % 97}.{number % 13}-cp311-cp311-manylinux_2_17_x86_64.whl"
    return f"  Downloading https://files.example.org/packages/{digest}/{name} (12.{number % 10} MB)\n"


def _bars(number: int) -> str:
    done = "█" * (number % 20)
    times = f"00:{number % 60:02}<01:{number % 60:02}, 12.{number % 99:02}it/s"
    return f"\rEpoch {number // 500}: {number % 100:3}%|{done:20}| {number}/100000 [{times}]" + (
        "\n" if number % 100 == 99 else ""  # noqa: PLR2004 - the last state of a bar
    )


def _records(number: int) -> str:
    metrics = {"loss": _chance.random(), "accuracy": _chance.random()}
    record = {"ts": 1.7e9 + number, "level": "info", "epoch": number // 100, "metrics": metrics}
    return json.dumps({**record, "host": f"node-{number % 64}"}) + "\n"


def _errors(number: int) -> str:
    rank = f"[rank{number % 8}]:"
    return (
        f"{rank} Traceback (most recent call last):\n"
        f'{rank}   File "/opt/train_{number % 100}.py", line {number}, in main\n'
        f"{rank} RuntimeError: CUDA error: an illegal memory access was encountered\n"
    )


def _chinese(number: int) -> str:
    return f"[2026-03-04 10:11:12] 第 {number // 100} 轮 步骤 {number} 损失 0.{number % 9999:04} 正在训练\n"


def _prose(number: int) -> str:
    return f"{' '.join(_chance.choices(_PROSE.split(), k=14))} {number}\n"


def _encoded(_number: int) -> str:
    return base64.b64encode(_chance.randbytes(900)).decode() + "\n"


KINDS: dict[str, Callable[[int], str]] = {
    TRAINING: _training,
    "downloads": _downloads,
    "bars": _bars,
    "records": _records,
    "errors": _errors,
    "chinese": _chinese,
    "prose": _prose,
    "encoded": _encoded,
}


def write_log(path: Path, kind: str, size_mb: int) -> None:
    """Write a log of one of the KINDS, the same one every time."""
    _chance.seed(5)
    line, written, number = KINDS[kind], 0, 0
    with path.open("w", encoding="utf-8", newline="") as file:
        while written < size_mb << 20:
            text = line(number)
            file.write(text)
            written, number = written + len(text.encode()), number + 1
        file.write(_END)
