"""The pack of each signature: what it is about, so that the causes of some projects can be left out."""

from __future__ import annotations

from collections.abc import Container

from gpuenv.signatures.packs import PACKS
from matrix_tables.facts import DATA, Row, UnusableFacts, read_toml

_CODE = ("code", "data")
_CORE, _OWN = "core", "own-code"


class Packs:
    """The packs of packs.toml."""

    def __init__(self, known: Container[str]) -> None:
        packs: list[Row] = read_toml(DATA / "packs.toml")["pack"]
        names = [pack["name"] for pack in packs]
        if sorted(names) != sorted(PACKS):
            raise UnusableFacts(f"packs.toml: has {', '.join(names)}")
        self._named = {name: str(pack["name"]) for pack in packs for name in pack.get("ids", ())}
        if unknown := [name for name in self._named if name not in known]:
            raise UnusableFacts(f"packs.toml: no such signature: {', '.join(unknown)}")
        self._by_word = {word: str(pack["name"]) for pack in packs for word in pack["words"]}

    def pack_of(self, name: str, kind: str) -> str:
        """Return the pack of a signature, by its id and its class."""
        if name in self._named:
            return self._named[name]
        packs = (self._by_word[word] for word in name.split("-") if word in self._by_word)
        return next(packs, _OWN if kind in _CODE else _CORE)
