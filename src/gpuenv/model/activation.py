"""What activating an environment changes in a shell or a process."""

from __future__ import annotations

from msgspec import Struct


class Activation(Struct, frozen=True):
    """One environment's activation; paths are texts, as shells have them.

    `folders` go before PATH, `variables` are set and `dropped` are removed until it is left. `scripts` and
    `leaving` are the scripts that packages of a conda environment bring, without their endings.
    """

    prompt: str
    folders: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    dropped: tuple[str, ...]
    scripts: tuple[str, ...] = ()
    leaving: tuple[str, ...] = ()
