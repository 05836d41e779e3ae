"""Finds GPUs by the names that drivers print and people type, and by PCI id."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.i18n.messages import tr
from gpuenv.model.capability import ComputeCapability, parse_compute_capability

# words that people leave out: a query may lack them, but one that has them keeps them
_BRANDS = frozenset({"geforce", "quadro", "tesla", "gtx", "rtx", "gt", "jetson"})
# words that say nothing about the chip's capability: makers, vGPU product lines
_NOISE = frozenset({"nvidia", "grid", "graphics"})
# what may follow a known name without making another card of it: memory sizes, boards, MIG and vGPU profiles
_SUFFIX = re.compile(
    r"\d+gb?|pcie|sxm\d*|nvl\d*|hbm\d\w*|laptop|mobile|gpu|max|q|design|with|mig|me|\d+[abcq]"
    r"|active|developer|devkit|kit|lite|hash|rate|lhr|collectors|edition|v\d"
)
_SUGGESTIONS = 3
_PCI_ID = re.compile(r"(?:0x)?([0-9a-f]{4})(?:10de)?|10de:([0-9a-f]{4})")


class GpuFact(Struct, frozen=True):
    """A product and its compute capability; `ambiguous`: the name was sold with others too.

    `platform` is that of all machines that have it, where it is on one alone.
    """

    name: str
    capability: ComputeCapability
    source: str
    ambiguous: bool
    pci_ids: tuple[str, ...] = ()
    preferred: bool = True
    platform: str | None = None


def parse_gpu_fact(row: Mapping[str, Any]) -> GpuFact:
    """Read a row of gpus.json.

    {"name": "GeForce GTX 1080 Ti", "compute_capability": "6.1", "pci_ids": ["1b06"], "preferred": true, ...}
    """
    capability = parse_compute_capability(row["compute_capability"])
    ambiguous = "same name also sold" in row.get("note", "")
    return GpuFact(
        row["name"],
        capability,
        row["source"],
        ambiguous,
        tuple(row["pci_ids"]),
        row["preferred"],
        row.get("platform"),
    )


def parse_pci_id(text: str) -> str:
    """Read a PCI device id in any spelling; raise ValueError for anything else.

    `2208` as in pci.ids, `0x2208` as in sysfs, `10de:2208` as lspci and `0x220810DE` as nvidia-smi prints it.
    """
    match = _PCI_ID.fullmatch(text.strip().lower())
    if not match:
        raise ValueError(tr("`{text}` is not a valid PCI device id (example: 2208)", text=text))
    return match[1] or match[2]


class _Name(Struct, frozen=True):
    brands: frozenset[str]
    model: tuple[str, ...]
    gpu: GpuFact


class GpuNames:
    """An index over product names."""

    def __init__(self, gpus: Iterable[GpuFact]) -> None:
        preferred = [gpu for gpu in gpus if gpu.preferred]
        self._exact = {" ".join(_words(gpu.name)): gpu for gpu in preferred}
        self._by_first_word: dict[str, list[_Name]] = {}
        for gpu in preferred:
            brands, model = _split(_words(gpu.name))
            self._by_first_word.setdefault(model[0] if model else "", []).append(_Name(brands, model, gpu))

    def find(self, text: str) -> GpuFact | None:
        """Find a GPU by its product name, as nvidia-smi prints it or as people type it (`RTX 3080 Ti`).

        None where the name is unknown, or could mean cards of different compute capabilities.
        """
        words = _words(text)
        exact = self._exact.get(" ".join(words))
        if exact:
            return exact
        brands, model = _split(words)
        names = self._candidates(brands, model)
        return _agreed(
            _begun_by(model, names)
            or _followed_by_suffixes(model, names)
            or _begun_by(_without_suffixes(model), names)
        )

    def suggest(self, text: str) -> tuple[str, ...]:
        """Product names that `text` may mean, likeliest first: those it begins, then those it resembles."""
        brands, model = _split(_words(text))
        begun = _begun_by(model, self._candidates(brands, model))
        by_model = {" ".join(model): gpu.name for model, gpu in self._models()}
        near = difflib.get_close_matches(" ".join(model), by_model, n=_SUGGESTIONS, cutoff=0.6)
        names = [*_one_a_capability(begun), *(by_model[model] for model in near)]
        return tuple(dict.fromkeys(names))[:_SUGGESTIONS]

    def _candidates(self, brands: frozenset[str], model: tuple[str, ...]) -> list[_Name]:
        known = self._by_first_word.get(model[0], ()) if model else ()
        return [name for name in known if brands <= name.brands]

    def _models(self) -> Iterator[tuple[tuple[str, ...], GpuFact]]:
        return ((name.model, name.gpu) for names in self._by_first_word.values() for name in names)


def _words(text: str) -> tuple[str, ...]:
    # `A100-SXM4-80GB`, `TITAN X (Pascal)`, `RTX3080Ti`, `RTXA6000-48Q`, `RTX 4090D`
    spaced = re.sub(r"[^a-z0-9]+", " ", text.lower())
    spaced = re.sub(r"\b(rtx|gtx|gt)(?=a?\d)", r"\1 ", spaced)
    # the letters between a chip and a vGPU profile name its memory: `A100DX-80C`, `H100XM-80C`
    spaced = re.sub(r"(?<=\d)(?:dx|xm|[dxl])(?= \d+[abcq]\b)", "", spaced)
    spaced = re.sub(r"(?<=\d)(ti|super)\b|(?<=\d{4})(d)\b", r" \1\2", spaced)
    return tuple(word for word in spaced.split() if word not in _NOISE)


def _split(words: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    count = next((i for i, word in enumerate(words) if word not in _BRANDS), len(words))
    return frozenset(words[:count]), words[count:]


def _begun_by(model: tuple[str, ...], names: list[_Name]) -> list[GpuFact]:
    return [name.gpu for name in names if model and name.model[: len(model)] == model]


def _without_suffixes(model: tuple[str, ...]) -> tuple[str, ...]:
    """The chip's own words: `A100-SXM-64GB` is an A100, though no known name has all of these words."""
    count = len(model)
    while count and _SUFFIX.fullmatch(model[count - 1]):
        count -= 1
    return model[:count]


def _followed_by_suffixes(model: tuple[str, ...], names: list[_Name]) -> list[GpuFact]:
    fitting = [name for name in names if _is_suffixed(model, name.model)]
    longest = max((len(name.model) for name in fitting), default=0)
    return [name.gpu for name in fitting if len(name.model) == longest]


def _one_a_capability(gpus: list[GpuFact]) -> list[str]:
    longest_first = sorted(gpus, key=lambda gpu: len(gpu.name), reverse=True)
    return list({gpu.capability: gpu.name for gpu in longest_first}.values())


def _is_suffixed(model: tuple[str, ...], known: tuple[str, ...]) -> bool:
    return model[: len(known)] == known and all(_SUFFIX.fullmatch(word) for word in model[len(known) :])


def _agreed(gpus: list[GpuFact]) -> GpuFact | None:
    """The card with the shortest name, if all have one capability: a wrong card is worse than none."""
    if len({gpu.capability for gpu in gpus}) != 1:
        return None
    nearest = min(gpus, key=lambda gpu: (len(gpu.name), gpu.name))
    return replace(nearest, ambiguous=any(gpu.ambiguous for gpu in gpus))
