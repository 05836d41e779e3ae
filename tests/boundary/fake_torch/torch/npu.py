"""The devices of a torch that was built for the CPU, with torch_npu beside it."""

import torch

_DEVICES = torch.SETTINGS["gpus"] if torch.SETTINGS["cuda"] is None else []


class device:  # noqa: N801 - torch's name
    def __init__(self, index: int) -> None:
        self.index = index

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def is_available() -> bool:
    return bool(_DEVICES)


def device_count() -> int:
    return len(_DEVICES)


def get_device_name(index: int) -> str:
    return str(_DEVICES[index])
