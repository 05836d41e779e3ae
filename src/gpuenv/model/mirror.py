"""A mirror: who runs it, what it carries and where, and what it is known to get wrong."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

MirrorStatus = Literal["alive", "partial", "redirector", "stale", "retired"]
# pep503: a page a project; flat: one listing of files; page: `torch_stable.html`, of all variants
TorchLayout = Literal["pep503", "flat", "page"]
Tool = Literal["pip", "uv", "conda"]  # whose configuration names mirrors; mamba reads conda's


class PypiPart(Struct, frozen=True):
    """A copy of PyPI: `simple` is the root to give to pip and uv, `wrong` are addresses that people copy."""

    simple: str | None  # without a trailing slash; None: the installer's own default
    aliases: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # hosts that its files may lie on beside its own


class TorchPart(Struct, frozen=True):
    """Torch's wheels: `address` holds `{variant}` where each variant has a folder.

    `hashes` tells whether its pages state digests; `files` are the hosts that its links may lead to beside
    its own, such as its operator's storage; `wrong` are addresses that people copy and that never worked.
    """

    address: str  # without a trailing slash
    layout: TorchLayout
    hashes: bool
    files: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()

    def of_variant(self, variant: str) -> str:
        """Return the address of a variant's folder."""
        return self.address.replace("{variant}", variant)


class CondaPart(Struct, frozen=True):
    """Conda channels: `cloud` and `pkgs` below `root`/cloud and `root`/pkgs, `elsewhere` at other URLs."""

    root: str  # without a trailing slash
    pkgs: tuple[str, ...]
    cloud: tuple[str, ...]
    missing: tuple[str, ...] = ()
    elsewhere: tuple[tuple[str, str], ...] = ()  # channel, the location above its name
    shards: bool = False


class MirrorFault(Struct, frozen=True):
    """What a mirror is known to get wrong; `code` as in the failure modes, None where it has none."""

    code: str | None
    text: str
    source: str


class Mirror(Struct, frozen=True):
    """A mirror; `name` is what a user types, `aliases` are other words for it.

    `hosts` are all it answers on; `intranet` those only from inside its operator's network. `bogus` are
    addresses in circulation at which it never had torch. `missing_status` are HTTP statuses by which it says
    that a file is not there, besides 404.
    """

    name: str
    title: str
    kind: str  # "university", "commercial", "router", "official", "own"
    status: MirrorStatus
    source: str
    aliases: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    intranet: tuple[str, ...] = ()
    pypi: PypiPart | None = None
    torch: TorchPart | None = None
    conda: CondaPart | None = None
    bogus: tuple[str, ...] = ()
    missing_status: tuple[int, ...] = ()
    faults: tuple[MirrorFault, ...] = ()
