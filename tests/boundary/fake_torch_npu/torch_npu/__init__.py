"""A torch_npu that can be imported, or not."""

import torch

torch.suffer("import", "npu")
