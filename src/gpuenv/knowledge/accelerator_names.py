"""Finds accelerators that are not NVIDIA's by the names that people type, and by their architecture."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from msgspec import Struct

from gpuenv.knowledge.accelerators import AcceleratorDevice

# words that people leave out
_NOISE = frozenset({"amd", "intel", "apple", "huawei", "radeon", "instinct", "graphics", "gpu", "r", "tm"})
_MAKERS = frozenset({"amd", "intel", "apple", "huawei"})
_SUGGESTIONS = 3


class NamedDevices(Struct, frozen=True):
    """What a name may mean: devices of one architecture, or `architectures` of several."""

    device: AcceleratorDevice
    architectures: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def is_ambiguous(self) -> bool:
        """Whether the name is that of devices for which other builds count."""
        return len(self.architectures) > 1


class AcceleratorNames:
    """An index over product names."""

    def __init__(self, devices: Iterable[AcceleratorDevice]) -> None:
        self._exact: dict[tuple[str, ...], list[AcceleratorDevice]] = {}
        self._short: dict[tuple[str, ...], list[AcceleratorDevice]] = {}
        for device in devices:
            for name in (device.name, *device.names):
                words = words_of(name)
                _add(self._exact, words, device)
                _add(self._short, _without_noise(words), device)

    def find(self, text: str) -> NamedDevices | None:
        """Find a device by its name with or without its maker and brand (`RX 7900 XTX`, `Apple M1`)."""
        words = words_of(text)
        found = self._exact.get(words) or self._of_maker(words)
        if not found:
            return None
        known = dict.fromkeys(device.architecture or "" for device in found)
        names = tuple(dict.fromkeys(device.name for device in found))
        return NamedDevices(found[0], tuple(known), names)

    def _of_maker(self, words: tuple[str, ...]) -> list[AcceleratorDevice]:
        makers = _MAKERS.intersection(words)
        found = self._short.get(_without_noise(words), [])
        return [device for device in found if not makers or makers <= set(words_of(device.name))]

    def suggest(self, text: str) -> tuple[str, ...]:
        """Names that `text` may mean, likeliest first: those that begin with it, then those it resembles."""
        words = _without_noise(words_of(text))
        begun = [name for name in self._short if words and name[: len(words)] == words]
        names = {" ".join(name): name for name in self._short}
        near = difflib.get_close_matches(" ".join(words), names, n=_SUGGESTIONS, cutoff=0.6)
        likely = dict.fromkeys((*sorted(begun, key=len), *(names[name] for name in near)))
        return tuple(dict.fromkeys(self._short[name][0].name for name in likely))[:_SUGGESTIONS]


def words_of(text: str) -> tuple[str, ...]:
    """Split a name into words: `RX7900XTX` is that of `Radeon RX 7900 XTX`."""
    spaced = re.sub(r"[^a-z0-9]+", " ", text.lower())
    spaced = re.sub(r"\b(rx|arc|ascend|mtt|vega)(?=[a-z]?\d)", r"\1 ", spaced)
    spaced = re.sub(r"\b(\d{3,4})(xtx|xt|gre)\b", r"\1 \2", spaced)
    return tuple(spaced.split())


def _without_noise(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _NOISE) or words


def _add(
    index: dict[tuple[str, ...], list[AcceleratorDevice]], words: tuple[str, ...], device: AcceleratorDevice
) -> None:
    if words:
        index.setdefault(words, []).append(device)
