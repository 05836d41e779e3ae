"""Code as it is written for the newest releases: nothing in it is concerned by a change of an API."""

from __future__ import annotations

PYTHON = '''
"""Train a classifier. Once `loss.data[0]` and torch.symeig() stood here, and `import imp`."""

from __future__ import annotations

import argparse
import collections.abc
import importlib.metadata
import math
import os
import random
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
import torchvision
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor, nn
from torch.autograd import Function
from torch.hub import load_state_dict_from_url
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.parametrizations import weight_norm
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau, StepLR
from torch.utils.checkpoint import checkpoint as rematerialize
from torch.utils.data import DataLoader, Dataset
from torchmetrics.classification import MulticlassAccuracy
from torchvision.models import ResNet50_Weights
from torchvision.transforms import InterpolationMode, v2


class Scale(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.factor, None


class Block(nn.Module):
    def __init__(self, width: int, heads: int = 8) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width)
        self.inner = nn.Linear(width, 3 * width, bias=False)
        self.outer = weight_norm(nn.Linear(width, width))
        self.heads = heads
        self.register_buffer("ones", torch.ones(width))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = self.inner(self.norm(x)).chunk(3, dim=-1)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return x + self.outer(mixed)


class Net(nn.Module):
    def __init__(self, depth: int, width: int, classes: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, classes)
        self.reset()

    def reset(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(
                block,
                x,
                use_reentrant=False,
            )
        return self.head(torch.sigmoid(x).mean(dim=1))


def warp(x: Tensor, flow: Tensor) -> Tensor:
    rows, columns = torch.meshgrid(
        torch.arange(x.shape[2], device=x.device),
        torch.arange(x.shape[3], device=x.device),
        indexing="ij",
    )
    grid = torch.stack((columns, rows), dim=-1).float() + flow
    small = F.interpolate(x, size=(32, 32), mode="bilinear", align_corners=False)
    up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
    return F.grid_sample(
        up(small),
        grid,
        mode="bilinear",
        align_corners=False,
    )


def spectrum(wave: Tensor, window: Tensor) -> Tensor:
    spec = torch.stft(
        wave,
        n_fft=512,
        window=window.to(wave.device),
        return_complex=True,
    )
    back = torch.istft(spec, n_fft=512, window=window)
    power = torch.fft.rfft(back).abs()
    values, vectors = torch.linalg.eigh(power @ power.mT)
    solved = torch.linalg.solve(vectors, values.unsqueeze(-1))
    u, s, vh = torch.linalg.svd(solved)
    q, r = torch.linalg.qr(u)
    return torch.linalg.lstsq(q, r).solution / torch.linalg.norm(s)


def masks(scores: Tensor, labels: Tensor) -> Tensor:
    mask = labels >= 0
    hidden = ~mask
    rest = 1 - mask.float()
    remaining = 1 - (labels > 0).float()
    scores = scores.masked_fill(hidden, float("-inf"))
    rows = torch.div(labels, 7, rounding_mode="floor")
    return scores * rest + remaining * (labels // 7) + rows


def train(model: nn.Module, loader: Iterable, optimizer, scheduler: LRScheduler, args) -> float:
    scaler = torch.amp.GradScaler("cuda", enabled=args.amp)
    criterion = nn.CrossEntropyLoss(reduction="sum", label_smoothing=0.1)
    total = 0.0
    start = time.perf_counter()
    for step, (images, target) in enumerate(loader):
        images = images.cuda(non_blocking=True)
        target = target.to(images.device, non_blocking=True)
        with torch.amp.autocast("cuda"):
            loss = criterion(model(images), target)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
        if step % 100 == 0:
            print("loss", loss.item(), "rate", scheduler.get_last_lr()[0], torch.cuda.max_memory_reserved())
    scheduler.step()
    print(f"{time.perf_counter() - start:.1f} s")
    return total


def evaluate(model: nn.Module, loader: DataLoader) -> float:
    accuracy = MulticlassAccuracy(num_classes=10)
    with torch.inference_mode():
        for images, target in loader:
            accuracy.update(model(images), target)
    return accuracy.compute().item()


def adam(p, exp_avg, exp_avg_sq, beta1, beta2, lr):
    exp_avg.mul_(beta1).add_(p.grad, alpha=1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
    p.data.addcdiv_(exp_avg, exp_avg_sq.sqrt().add_(1e-8), value=-lr)


def load(path: Path, model: nn.Module) -> None:
    state = torch.load(
        os.path.join(path.parent, os.path.basename(path)),
        map_location="cpu",
        weights_only=True,
    )
    model.load_state_dict(state["model"], strict=False)
    labels = np.load(path.with_suffix(".npy"), allow_pickle=False)
    raw = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    flags = np.zeros(len(labels), dtype=bool) & np.asarray(raw[: len(labels)] > 0)
    area = float(np.sum(flags)) / np.float64(3) + np.inf - np.nan * np.int64(2)
    print(np.prod(labels.shape), area, np.float32(1.5), np.bool_(True), np.str_("x"))


def pictures(path: str) -> Image.Image:
    transform = v2.Compose(
        [
            v2.Resize(256, antialias=True),
            v2.RandomResizedCrop(224, antialias=True),
            v2.RandomRotation(10, interpolation=InterpolationMode.BILINEAR, fill=0),
            v2.ToImage(),
        ]
    )
    image = Image.open(path).convert("RGB").resize((256, 256), Image.Resampling.LANCZOS)
    draw = ImageDraw.Draw(image)
    left, top, right, bottom = draw.textbbox((0, 0), "label", font=ImageFont.load_default())
    torchvision.utils.save_image(transform(image), "out.png", normalize=True, value_range=(-1, 1))
    return image


def backbone() -> nn.Module:
    net = torchvision.models.resnet50(weights=ResNet50_Weights.IMAGENET1K_V1)
    net.layer4.register_full_backward_hook(lambda module, inputs, outputs: None)
    return torch.compile(net)


def shuffle(names: set[str], counts: Mapping[str, int]) -> list[str]:
    ordered = sorted(names)
    random.shuffle(ordered)
    picked = random.sample(ordered, 3)
    assert isinstance(counts, collections.abc.Mapping)
    for name, count in counts.items():
        print(name, count, math.gcd(count, 12), Fraction(count, 3))
    return picked


def generate(limit: int):
    for number in range(limit):
        if number > 3:
            return
        yield number


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--local-rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
    parser.add_argument("--amp", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    dist.all_reduce(torch.ones(1), op=dist.ReduceOp.SUM)
    torch.use_deterministic_algorithms(True)
    torch.set_default_dtype(torch.float32)
    model = Net(4, 256, 10).to(args.local_rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    scheduler = StepLR(optimizer, step_size=10)
    plateau = ReduceLROnPlateau(optimizer, patience=5)
    distribution = torch.distributions.Normal(0.0, 1.0, validate_args=False)
    print(importlib.metadata.version("torch"), distribution.sample(), plateau, scheduler)
    raise SystemExit("never write torch.rfft(x, 2) again")
'''

LIGHTNING = """
import lightning.pytorch as pl
import torchmetrics
from lightning.pytorch import LightningModule, Trainer


class Classifier(LightningModule):
    def __init__(self, rate: float) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=10)
        self.outputs = []

    def training_step(self, batch, batch_idx):
        return self.net(batch)

    def on_train_epoch_end(self):
        self.outputs.clear()


trainer = Trainer(accelerator="gpu", devices=2, max_epochs=10, callbacks=[], enable_model_summary=False)
trainer.fit(Classifier(1e-3), ckpt_path="last.ckpt")
"""

SHELL = """
#!/bin/sh
torchrun --nproc-per-node=4 train.py --amp
nvcc -O3 -std=c++20 kernel.cu
"""

CUDA = """
// once #include <THC/THC.h> and AT_CHECK(x) stood here
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <torch/extension.h>

/* AT_DISPATCH_FLOATING_TYPES(x.type(), "old", [&] {}); */
at::Tensor forward(const at::Tensor& input) {
  TORCH_CHECK(input.is_cuda(), "input must be on the GPU: no THCState here");
  auto output = at::empty_like(input);
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "forward", [&] {
    kernel<scalar_t><<<at::ceil_div(input.numel(), int64_t(256)), 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        input.data_ptr<scalar_t>(), output.data_ptr<scalar_t>(), input.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return output;
}
"""

CODE = (("train.py", PYTHON), ("lit.py", LIGHTNING), ("run.sh", SHELL), ("kernel.cu", CUDA))
