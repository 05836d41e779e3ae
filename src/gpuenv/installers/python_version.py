"""Ask an interpreter for its patch release, if it is not known from its path."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from gpuenv.i18n.messages import tr
from gpuenv.installers.protocol import MISLEADING, without
from gpuenv.model.python import PythonOffer
from gpuenv.process import subprocesses as process

_LIMIT_S = 10.0
_QUESTION = ("-I", "-S", "-c", "import platform; print(platform.python_version())")
_RELEASE = re.compile(r"(3\.\d{1,2}\.\d{1,2})\+?")


def with_release(offer: PythonOffer, environ: Mapping[str, str]) -> PythonOffer | None:
    """Return the offer with its patch release, None if its interpreter does not run."""
    if offer.version != offer.short:
        return offer
    if offer.path is None:
        return None
    answer = process.run((offer.path, *_QUESTION), timeout_s=_LIMIT_S, environ=without(environ, MISLEADING))
    try:
        return replace(offer, version=parse_release(answer.stdout)) if answer.ok else None
    except ValueError:
        return None


def parse_release(text: str) -> str:
    """Parse `3.11.2`, or `3.13.0+` of a Python built between releases; raise ValueError."""
    match = _RELEASE.fullmatch(text.strip())
    if not match or not text.isascii():
        raise ValueError(tr("`{text}` is not a valid Python release (example: 3.11.4)", text=text[:80]))
    return match[1]
