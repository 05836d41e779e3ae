"""One spec of conda's in a dependency file: `pytorch=1.7.1=py3.8_cuda11.0.221_cudnn8.0.5_0`."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuenv.adapt.parsers.collector import Collector, not_understood
from gpuenv.model.match_spec import MatchSpec, as_specifier, parse_match_spec
from gpuenv.resolution.conda.environment_yml import (
    CUDA_FEATURE,
    TORCH_NAMES,
    WITH_TORCH,
    cuda_in_build,
    cuda_wish,
)
from gpuenv.resolution.request import STACK

_CHOOSING = WITH_TORCH - {"libtorch", "torchtriton"}


def read_conda(collector: Collector, text: str, start: int, end: int) -> None:
    """Note a spec that stands between two places; what is not understood is told."""
    if not collector.is_bounded(text, start):
        return
    try:
        spec = parse_match_spec(text)
    except ValueError:
        collector.tell(start, not_understood(text))
        return
    own = spec.name.startswith("_")  # conda's alone: no name of PyPI's begins so
    project = spec.name if own else TORCH_NAMES.get(spec.name, canonicalize_name(spec.name))
    if spec.name in _CHOOSING or CUDA_FEATURE.fullmatch(spec.name):
        project, requirement = "cuda", cuda_wish(spec)
    elif spec.name == "python":
        requirement = _specifier(spec)
    elif spec.name == "pip" and not spec.version:
        return
    else:
        requirement = _requirement(project, spec)
    # what is a version to conda alone (`9e`, `1.1.1k`) is no fault: whoever plans without conda says so
    if requirement is None and project in ("python", *STACK):
        collector.tell(start, not_understood(text))
    collector.take(project, requirement, start, end, "conda")


def _specifier(spec: MatchSpec) -> str | None:
    try:
        return as_specifier(spec)
    except ValueError:
        return None


def _requirement(project: str, spec: MatchSpec) -> str | None:
    """Return PEP 508; the CUDA that a build of the torch stack names is its local version."""
    specifier = _specifier(spec)
    if specifier is None:
        return None
    wish = "cpu" if spec.name == "pytorch-cpu" else cuda_in_build(spec.build)
    exact = specifier.startswith("==") and "," not in specifier and "*" not in specifier
    if project in STACK and wish and exact:
        specifier += "+cpu" if wish == "cpu" else f"+cu{wish.replace('.', '')}"
    try:
        return str(Requirement(f"{project}{specifier}"))
    except InvalidRequirement:
        return None
