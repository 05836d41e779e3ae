"""What a shell offers while a command line is typed."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MAKERS = re.compile(r"^(NVIDIA|AMD|Intel)-(GeForce-|Radeon-)?|^GeForce-")  # what people do not type


def complete_environment(incomplete: str) -> Iterable[str]:
    """Offer the names of the environments that gpuenv made."""
    import os  # noqa: PLC0415 - only while completing

    from gpuenv.model.errors import GpuenvError  # noqa: PLC0415
    from gpuenv.operations.find import list_all  # noqa: PLC0415

    try:
        return [name for item in list_all(os.environ) if (name := item.paths.name).startswith(incomplete)]
    except (GpuenvError, OSError):  # no error in the middle of a command line
        return []


def complete_mirror(incomplete: str) -> Iterable[str]:
    """Offer the names of the mirrors."""
    import os  # noqa: PLC0415 - only while completing

    from gpuenv.indexes.mirrors.load import load_mirrors  # noqa: PLC0415
    from gpuenv.model.errors import GpuenvError  # noqa: PLC0415

    try:
        mirrors = load_mirrors(os.environ).all
    except (GpuenvError, OSError):
        return []
    return [name for mirror in mirrors if (name := mirror.name).startswith(incomplete.lower())]


def complete_table(incomplete: str) -> Iterable[str]:
    """Offer the names of the matrices."""
    from gpuenv import matrices  # noqa: PLC0415 - only while completing

    return [table for table in matrices.TABLES if table.startswith(incomplete)]


def complete_variant(incomplete: str) -> Iterable[str]:
    """Offer the variants that torch is built for, the newest CUDA first."""
    from gpuenv import matrices  # noqa: PLC0415 - only while completing
    from gpuenv.model.variant import Variant  # noqa: PLC0415

    named = {row["variant"] for table in ("torch", "accelerator-builds") for row in matrices.load(table)}
    known = sorted(map(Variant, named), key=lambda variant: (variant.kind, variant.release), reverse=True)
    ordered = sorted(known, key=lambda variant: variant.kind != "cuda")
    return _beginning(incomplete, ("auto", *map(str, ordered)))


def complete_python(incomplete: str) -> Iterable[str]:
    """Offer the Pythons that torch has wheels for, the newest first."""
    from gpuenv import matrices  # noqa: PLC0415 - only while completing

    tags = {tag for row in matrices.load("torch") for tag in row["pythons"] if tag[2:].isdecimal()}
    versions = sorted(((int(tag[2]), int(tag[3:])) for tag in tags), reverse=True)
    return _beginning(incomplete, (f"{major}.{minor}" for major, minor in versions))


def complete_gpu(incomplete: str) -> Iterable[str]:
    """Offer products and architectures, each as one word: `RTX-3090` is read as `RTX 3090`."""
    from gpuenv import matrices  # noqa: PLC0415 - only while completing

    gpus, devices = matrices.load("gpus"), matrices.load("accelerator-devices")
    names = [row["name"] for row in gpus if row["preferred"]] + [row["name"] for row in devices]
    capabilities = {row["compute_capability"] for row in gpus}
    others = {row["architecture"] for row in devices if row["kind"] == "rocm" and row["architecture"]}
    words = ("-".join(name.split()) for name in names)
    short = (_MAKERS.sub("", word) for word in words)
    return _beginning(incomplete, (*short, *sorted(capabilities, key=float), *sorted(others)))


def complete_pack(incomplete: str) -> Iterable[str]:
    """Offer the subjects that `explain` knows causes of."""
    from gpuenv.signatures.packs import PACKS  # noqa: PLC0415 - only while completing

    return _beginning(incomplete, PACKS)


def _beginning(incomplete: str, words: Iterable[str]) -> list[str]:
    """Return the words that begin so, in capitals or not, each once, and as far as typed as it is typed."""
    found = (word for word in dict.fromkeys(words) if word.lower().startswith(incomplete.lower()))
    return [incomplete + word[len(incomplete) :] for word in found]


def complete_scene(incomplete: str) -> Iterable[str]:
    """Offer the scenes of the demo."""
    from gpuenv.demo.scenes import read_scenes  # noqa: PLC0415 - only while completing

    return [scene.name for scene in read_scenes() if scene.name.startswith(incomplete)]
