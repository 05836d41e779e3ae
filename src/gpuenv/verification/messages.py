"""What child.py says of a test, in the language of the texts: it runs in other Pythons, in English.

skipped: not supported by this GPU
forward: differs from the CPU's float64 by 2.1e-01 of its size; 1e-03 is allowed | input gradient: ...
"""

from __future__ import annotations

from gpuenv.i18n.messages import marked, reword

_BETWEEN = " | "
_SAID = (
    marked("skipped: {why}"),
    marked("forward: {detail}"),
    marked("input gradient: {detail}"),
    marked("weight gradient: {detail}"),
    marked("with cuDNN"),
    marked("without cuDNN"),
    marked("largest error {error}"),
    marked("differs from the CPU's float64 by {error} of its size; {allowed} is allowed"),
    marked("the sum of 0 to {last} came out as {sum}"),
    marked("the largest of a row differs from the CPU's"),
    marked("not supported by this build on the CPU: {error}"),
    marked("not supported by this torch"),
    marked("not supported by this GPU"),
    marked("keeps {count} boxes where the CPU keeps {expected}"),
    marked("keeps {count} of {all} boxes"),
    marked("this torch has no torch.compile"),
    marked("takes two GPUs"),
    marked("this build of torch has no NCCL"),
    marked("over GPUs {indices}"),
    marked("wrong sum on GPUs {indices}"),
)


def said_detail(detail: str) -> str:
    """Return a test's detail in the language of the texts; what torch itself said stays as it is."""
    return _BETWEEN.join(reword(part, _SAID) for part in detail.split(_BETWEEN))
