"""The devices of a torch that was built for XPU."""

from typing import Any

import torch

_DEVICES = torch.SETTINGS["gpus"] if torch.SETTINGS["xpu"] is not None else []


class device:  # noqa: N801 - torch's name
    def __init__(self, index: int) -> None:
        self.index = index

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def _is_compiled() -> bool:
    return torch.SETTINGS["xpu"] is not None


def is_available() -> bool:
    return bool(_DEVICES)


def device_count() -> int:
    return len(_DEVICES)


def get_device_name(index: int) -> str:
    return str(_DEVICES[index])


def get_arch_list() -> Any:
    return torch.SETTINGS["architectures"]
