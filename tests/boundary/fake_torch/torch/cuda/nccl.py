from typing import Any

import torch


def all_reduce(tensors: Any) -> None:
    torch.suffer("nccl", "cuda:0")
    total = sum(tensor.value for tensor in tensors)
    for tensor in tensors:
        tensor.value = total
