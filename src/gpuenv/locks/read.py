"""A lock that was read: its file, and what it tells of the machine it is for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuenv.files.read_text import read_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.locks.parse_pylock import LockNeeds, needs_of, parse_lock
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.variant import Variant
from gpuenv.resolution.request import COMPANIONS
from gpuenv.untrusted.documents import load_toml

if TYPE_CHECKING:
    from packaging.pylock import Pylock

_TORCH = "torch"


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock that was read, and where it lies."""

    path: Path
    document: Pylock
    needs: LockNeeds

    @property
    def folder(self) -> str:
        """The URL of its folder, where relative paths start."""
        return f"{self.path.absolute().parent.as_uri()}/"


def read_lock(path: Path) -> Lock:
    """Read a pylock.toml; raise UsageError for what is none."""
    try:
        document = parse_lock(load_toml(read_text(path)))
    except RecursionError:
        raise bad_lock(path, tr("it is nested too deeply")) from None
    except (OSError, ValueError) as error:  # the file; TOML, UTF-8 and the fields
        raise bad_lock(path, reason_of(error)) from None
    return Lock(path, document, needs_of(document))


def bad_lock(path: Path, reason: str) -> UsageError:
    """Say why a file can't be used as a lock."""
    return UsageError(
        tr("`{path}` cannot be used as a lock: {reason}", path=path, reason=reason),
        code="bad-lock",
        fixes=(Fix(tr("create one"), "gpuenv plan --format pylock.toml -o pylock.toml"),),
    )


def with_needs(knowledge: Knowledge, lock: Lock) -> Knowledge:
    """Add what the lock tells of a build of torch that no matrix has: it may come from a newer gpuenv."""
    needs = lock.needs
    torch = next((package.version for package in lock.document.packages if package.name == _TORCH), None)
    if torch is None or needs.variant is None or needs.platform is None or not needs.architectures:
        return knowledge
    variant = Variant(needs.variant)
    if knowledge.find_build(torch, variant, needs.platform, "pytorch"):
        return knowledge
    facts = {"torch": torch.public, "source": str(lock.path), "evidence": "assumed"}
    row: dict[str, Any] = {
        **facts, "variant": needs.variant, "platform": needs.platform, "index": "pytorch",
        "cuda": str(variant.cuda) if variant.cuda else None, "pythons": [], "cudnn": None, "tags": [],
        "architectures": list(needs.architectures),
    }  # fmt: skip
    pairs = tuple(
        {
            **facts,
            "kind": "pair",
            "project": package.name,
            "versions": [package.version.public],
            "basis": "lock",
        }
        for package in lock.document.packages
        if package.name in COMPANIONS and package.version
    )
    return replace(
        knowledge,
        torch_rows=(*knowledge.torch_rows, row),
        companion_rows=(*knowledge.companion_rows, *pairs),
    )
