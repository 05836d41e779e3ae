"""Packages of pip's whose name says one release of CUDA, beside a torch for another: `dgl-cu110`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuenv.adapt.model import Project
from gpuenv.adapt.nearest.request import wishes_for
from gpuenv.adapt.parsers.collector import shown
from gpuenv.i18n.messages import N_, tr
from gpuenv.model.plan import Plan
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import parse_variant
from gpuenv.planning.load_knowledge import load_built_releases
from gpuenv.resolution.target import Target

_MAY_BE = re.compile(r"-cu(?:da)?\d")


def other_cudas(project: Project, plan: Plan, target: Target) -> Iterator[str]:
    """Yield a sentence for each such line, where torch's CUDA is not the one that the files lead to."""
    lines = [line for line in project.declared if line.notation != "conda" and not line.hint]
    lines = [line for line in lines if _MAY_BE.search(line.project)]
    variant = parse_variant(plan.variant) if lines else None
    if variant is None or not variant.cuda:
        return
    if variant == wishes_for(project, target, PythonOffer(plan.python)).variant:
        return
    built = load_built_releases()
    for line in lines:
        package, match = built.bound(line.project) or (None, None)
        digits = match.groupdict().get("digits") if match else None
        if package is None or package.bound != "cuda" or digits in (None, str(variant.cuda).replace(".", "")):
            continue
        template = N_("{place}: `{text}` is built for CUDA {own}; torch is for CUDA {cuda} now")
        place = f"{shown(line.file)}:{line.line}"
        own = f"{digits[:-1]}.{digits[-1]}"
        yield tr(template, place=place, text=shown(line.text.strip()), own=own, cuda=variant.cuda)
