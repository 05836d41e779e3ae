"""The matrices as one HTML page that needs no network: torch x CUDA x GPU generation, with filters in it.

What runs on what is decided here, by the rules of the decision; the page's script only filters and shows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import SYSTEMS, DriverOs
from gpuenv.matrix.page.machine import Here, render_here
from gpuenv.matrix.page.texts import page_texts
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.python import PythonOffer, parse_python_tag
from gpuenv.model.variant import CudaVersion, Variant
from gpuenv.model.wheel import CUDA_PLATFORMS, TorchBuild
from gpuenv.resolution.gpu_coverage import (
    Coverage,
    GpuGeneration,
    cover,
    driver_need,
    find_generations,
    runs_on,
)

# One letter a compute capability keeps the page small; the page's texts say what each means.
_LETTERS: dict[Coverage, str] = {
    "native": "n",
    "ptx": "p",
    "no-code": "-",
    "library-left": "x",
    "library-before": "b",
    "no-driver": "d",
    "unknown": "?",
}
_RUNS = frozenset("np")
_INDEXES = {"pypi": "PyPI", "pytorch": "PyTorch"}
_SYSTEM_NAMES: dict[DriverOs, str] = {"linux": "Linux", "windows": "Windows"}
# what could end the script element, or a line of a script
_ESCAPED = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


class PageParts(Struct, frozen=True):
    """The page without its data: HTML with a marker for each of the others, the style, the script.

    `others` is the table of builds for accelerators other than NVIDIA's, as HTML.
    """

    html: str
    style: str
    script: str
    others: str = ""


def render_matrix_page(
    parts: PageParts, knowledge: Knowledge, here: Here | None, *, made_by: str, made_on: str
) -> str:
    """Return the page; `here` is the machine it is made on, `made_on` a date.

    Raises ValueError where the HTML has not each marker once.
    """
    data = page_data(knowledge, here, made_by=made_by, made_on=made_on)
    page = _filled(parts.html, "@STYLE@", parts.style)
    page = _filled(page, "@SCRIPT@", parts.script)
    page = _filled(page, "@OTHERS@", parts.others)
    return _filled(page, "@DATA@", _embedded(data))


def _embedded(data: dict[str, Any]) -> str:
    """Return JSON that can stand in a script element."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPED)


def _filled(page: str, marker: str, text: str) -> str:
    before, value, after = page.partition(marker)
    if not value or marker in after:
        raise ValueError(tr("the page does not have exactly one {marker}", marker=marker))
    return before + text + after


def page_data(knowledge: Knowledge, here: Here | None, *, made_by: str, made_on: str) -> dict[str, Any]:
    """Return all that the page shows, JSON-ready; the script says what it expects of it."""
    capabilities = tuple(sorted(knowledge.generations))
    rows = _rows(knowledge, capabilities, here)
    return {
        "made_by": made_by,
        "made_on": made_on,
        "texts": page_texts(),
        "capabilities": [str(capability) for capability in capabilities],
        "generations": _generations(knowledge, capabilities, rows),
        "products": _products(knowledge),
        "cuda": _cuda(knowledge),
        "branches": {
            system: [(branch, str(cuda)) for branch, cuda in knowledge.branches.get(system, ())]
            for system in SYSTEMS
        },
        "systems": _SYSTEM_NAMES,
        "platforms": list(CUDA_PLATFORMS),
        "indexes": _INDEXES,
        "rows": rows,
        "machine": render_here(here, knowledge) if here else None,
    }


def _rows(
    knowledge: Knowledge, capabilities: tuple[ComputeCapability, ...], here: Here | None
) -> list[dict[str, Any]]:
    """A row for each torch release and variant, the newest first, with its builds."""
    grouped: dict[tuple[Version, CudaVersion, Variant], list[TorchBuild]] = defaultdict(list)
    for build in knowledge.builds:
        grouped[build.torch, build.cuda or _NO_CUDA, build.variant].append(build)
    letters = _Letters(knowledge, capabilities)
    return [
        {
            "torch": str(torch),
            "variant": str(variant),
            "cuda": None if cuda == _NO_CUDA else str(cuda),
            "builds": [
                _build(build, letters.of(build), here=_runs_here(build, here, knowledge))
                for build in grouped[torch, cuda, variant]
            ],
        }
        for torch, cuda, variant in sorted(grouped, reverse=True)
    ]


_NO_CUDA = CudaVersion(0, 0)


class _Letters:
    """What builds do on each compute capability, a letter each; the same question is answered once."""

    def __init__(self, knowledge: Knowledge, capabilities: tuple[ComputeCapability, ...]) -> None:
        self._knowledge = knowledge
        self._capabilities = capabilities
        self._known: dict[tuple[object, ...], str] = {}

    def of(self, build: TorchBuild) -> str:
        """Return the letters of a build, none for a CPU build."""
        if build.cuda is None:
            return ""
        key = (build.cuda, build.architectures, build.cudnn, build.platform)
        if key not in self._known:
            values = (cover(build, capability, self._knowledge) for capability in self._capabilities)
            self._known[key] = "".join(_LETTERS[item] for item in values)
        return self._known[key]


def _runs_here(build: TorchBuild, here: Here | None, knowledge: Knowledge) -> bool:
    return here is not None and here.target is not None and runs_on(build, here.target, knowledge)


def _build(build: TorchBuild, letters: str, *, here: bool) -> dict[str, Any]:
    return {
        "platform": build.platform,
        "index": build.index,
        "pythons": [_python(tag) for tag in build.pythons],
        "runs": letters,
        "architectures": " ".join(map(str, build.architectures)),
        "cudnn": build.cudnn,
        "tags": " ".join(build.tags),
        "evidence": build.evidence,
        "source": build.source,
        "here": here,
    }


def _python(tag: str) -> str:
    offer: PythonOffer = parse_python_tag(tag)
    return f"{offer.short}{'t' if offer.free_threaded else ''}"


def _oldest_served(
    generations: tuple[GpuGeneration, ...], letters: list[str], places: Mapping[str, int]
) -> int:
    """Return the place of the oldest generation that any build runs on: older ones need no column."""
    for number, generation in enumerate(generations):
        columns = [places[str(capability)] for capability in generation.capabilities]
        if any(text[column] in _RUNS for text in letters for column in columns):
            return number
    return 0


def _generations(
    knowledge: Knowledge, capabilities: tuple[ComputeCapability, ...], rows: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    generations = find_generations(knowledge)
    letters = [build["runs"] for row in rows for build in row["builds"] if build["runs"]]
    places = {str(capability): position for position, capability in enumerate(capabilities)}
    first = _oldest_served(generations, letters, places)
    return [_generation(item, shown=number >= first) for number, item in enumerate(generations)]


def _generation(item: GpuGeneration, *, shown: bool) -> dict[str, Any]:
    return {
        "name": item.name,
        "capabilities": [str(capability) for capability in item.capabilities],
        "integrated": [str(capability) for capability in item.integrated],
        "first_cuda": str(item.first_cuda),
        "last_cuda": str(item.last_cuda) if item.last_cuda else None,
        "last_driver_branch": item.last_driver_branch,
        "shown": shown,
    }


def _products(knowledge: Knowledge) -> dict[str, list[str]]:
    """Return the products' names and compute capabilities: some names were sold with several."""
    fields: dict[str, dict[str, None]] = {}
    for row in knowledge.gpu_rows:
        fields.setdefault(row["name"], {})[row["compute_capability"]] = None
    return {name: list(fields[name]) for name in sorted(fields)}


def _cuda(knowledge: Knowledge) -> dict[str, Any]:
    versions = sorted({build.cuda for build in knowledge.builds if build.cuda})
    return {str(cuda): {system: _need(cuda, system, knowledge) for system in SYSTEMS} for cuda in versions}


def _need(cuda: CudaVersion, system: DriverOs, knowledge: Knowledge) -> dict[str, Any] | None:
    need = driver_need(cuda, system, knowledge)
    if need is None:
        return None
    return {
        "least": str(need.least),
        "native": str(need.native) if need.native else None,
        "branch": need.branch,
        "source": need.source,
    }
