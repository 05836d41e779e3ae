import types
from typing import Any

import torch

_GPUS = torch.SETTINGS["gpus"]


class device:  # noqa: N801 - torch's name
    def __init__(self, index: int) -> None:
        self.index = index

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def is_available() -> bool:
    return bool(_GPUS)


def device_count() -> int:
    return len(_GPUS)


def init() -> None:
    torch.suffer("init", "cuda")
    if torch.SETTINGS["error"]:
        raise RuntimeError(torch.SETTINGS["error"])


def get_device_name(index: int) -> str:
    torch.suffer("name", f"cuda:{index}")
    return str(_GPUS[index][0])


def get_device_capability(index: int) -> Any:
    return tuple(_GPUS[index][1])


def get_device_properties(index: int) -> Any:
    torch.suffer("properties", f"cuda:{index}")
    return types.SimpleNamespace(gcnArchName=torch.SETTINGS["gfx"][index])


def is_bf16_supported() -> bool:
    return True
