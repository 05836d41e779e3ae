"""Translate the details of tests, which child.py writes in English.

skipped: not supported by this GPU
forward: differs from the CPU's float64 by 2.1e-01 of its size; 1e-03 is allowed | input gradient: ...
"""

from __future__ import annotations

from gpuenv.i18n.messages import N_, translate_output

_BETWEEN = " | "
_SAID = (
    N_("skipped: {why}"),
    N_("forward: {detail}"),
    N_("input gradient: {detail}"),
    N_("weight gradient: {detail}"),
    N_("with cuDNN"),
    N_("without cuDNN"),
    N_("largest error {error}"),
    N_("differs from the CPU's float64 by {error} of its size; {allowed} is allowed"),
    N_("the sum of 0 to {last} came out as {sum}"),
    N_("the largest of a row differs from the CPU's"),
    N_("not supported by this build on the CPU: {error}"),
    N_("not supported by this torch"),
    N_("not supported by this GPU"),
    N_("not supported by this torchvision"),
    N_("keeps {count} boxes where the CPU keeps {expected}"),
    N_("keeps {count} of {all} boxes"),
    N_("this torch has no torch.compile"),
    N_("requires two GPUs"),
    N_("this build of torch has no NCCL"),
    N_("over GPUs {indices}"),
    N_("wrong sum on GPUs {indices}"),
)


def translate_detail(detail: str) -> str:
    """Translate a test's detail; messages of torch itself stay in English."""
    return _BETWEEN.join(translate_output(part, _SAID) for part in detail.split(_BETWEEN))
