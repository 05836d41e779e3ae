from typing import Any

import torch


class Kept:
    def __init__(self, indices: Any) -> None:
        self.indices = indices

    def cpu(self) -> "Kept":
        return self

    def tolist(self) -> Any:
        return self.indices


def nms(boxes: Any, scores: Any, threshold: float) -> Kept:
    torch.suffer("nms", boxes.device)
    return Kept([3, 1] if torch.is_wrong("nms", boxes.device) else [3, 2])
