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
    """What a name may mean: a device by that `name`, or devices of several `architectures`."""

    device: AcceleratorDevice
    name: str
    architectures: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def is_ambiguous(self) -> bool:
        """Whether the name is that of devices for which other builds count."""
        return len(self.architectures) > 1


_Index = dict[tuple[str, ...], list[tuple[AcceleratorDevice, str]]]


class AcceleratorNames:
    """An index over product names, and the names of chips."""

    def __init__(self, devices: Iterable[AcceleratorDevice]) -> None:
        self._exact: _Index = {}
        self._short: _Index = {}
        self._chips: _Index = {}
        self._ends: _Index = {}
        self._recognized: list[tuple[tuple[str, ...], AcceleratorDevice]] = []
        for device in devices:
            for name in (device.name, *device.names):
                words = words_of(name)
                self._exact.setdefault(words, []).append((device, name))
                if device.kind is None:
                    self._recognized.append((words, device))
                short = _without_noise(words)
                self._short.setdefault(short, []).append((device, name))
                for start in range(1, len(short)):
                    self._ends.setdefault(short[start:], []).append((device, name))
            if device.chip:
                self._chips.setdefault(words_of(device.chip), []).append((device, device.name))

    def find(self, text: str) -> NamedDevices | None:
        """Find a device by its name with or without its maker, brand and series, or by its chip.

        `AMD Radeon RX 7900 XTX`, `RX 7900 XTX`, `7900 XTX` and `rx7900xtx` are one, `Strix Halo` is a chip.
        """
        words = words_of(text)
        if _NOISE.issuperset(words):  # `AMD Radeon Graphics`: that of many processors is called so
            return None
        short = _without_noise(words)
        found = self._exact.get(words) or _of_maker(self._short.get(short, []), words)
        found = (
            found
            or self._chips.get(words)
            or (_of_maker(self._ends.get(short, []), words) if _says_much(short) else [])
        )
        if not found:
            return self._of_recognized(words, text)
        known = dict.fromkeys(device.architecture or "" for device, _ in found)
        device, name = min(found, key=lambda pair: (len(pair[1]), pair[1]))
        if _without_noise(words_of(device.name)) == _without_noise(words_of(name)):
            name = device.name
        return NamedDevices(device, name, tuple(known), tuple(dict.fromkeys(name for _, name in found)))

    def _of_recognized(self, words: tuple[str, ...], text: str) -> NamedDevices | None:
        """Find a device that nothing is planned for: a name of its maker's says so, whichever model it is."""
        inside = [
            (len(name), device)
            for name, device in self._recognized
            if f" {' '.join(name)} " in f" {' '.join(words)} "
        ]
        if not inside:
            return None
        _, device = max(inside, key=lambda pair: pair[0])
        return NamedDevices(device, text.strip(), (device.architecture or "",), (device.name,))

    def suggest(self, text: str) -> tuple[str, ...]:
        """Names that `text` may mean, likeliest first: those that begin with it, then those it resembles."""
        words = _without_noise(words_of(text))
        begun = [name for name in self._short if words and name[: len(words)] == words]
        names = {" ".join(name): name for name in self._short}
        near = difflib.get_close_matches(" ".join(words), names, n=_SUGGESTIONS, cutoff=0.6)
        likely = dict.fromkeys((*sorted(begun, key=len), *(names[name] for name in near)))
        return tuple(dict.fromkeys(self._short[name][0][0].name for name in likely))[:_SUGGESTIONS]


def words_of(text: str) -> tuple[str, ...]:
    """Split a name into words: `RX7900XTX` is that of `Radeon RX 7900 XTX`."""
    spaced = re.sub(r"[^a-z0-9]+", " ", text.lower())
    spaced = re.sub(r"\b(rx|arc|uhd|bc|ascend|mtt|mlu|dcu|gaudi|vega)(?=[a-z]?\d)", r"\1 ", spaced)
    spaced = re.sub(r"\b(\d{3,4})(xtx|xt|gre)\b", r"\1 \2", spaced)
    return tuple(spaced.split())


def _without_noise(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _NOISE) or words


def _of_maker(
    found: list[tuple[AcceleratorDevice, str]], words: tuple[str, ...]
) -> list[tuple[AcceleratorDevice, str]]:
    """Leave the devices of the maker that a text names, if it names one."""
    makers = _MAKERS.intersection(words)
    return [pair for pair in found if makers <= {pair[0].vendor.lower()}]


def _says_much(words: tuple[str, ...]) -> bool:
    """Whether the end of a name is enough: `7900 XTX` and `W7900`, but not `8` or `XT`."""
    return any(len(word) > 2 and any(map(str.isdigit, word)) for word in words)  # noqa: PLR2004 - digits
