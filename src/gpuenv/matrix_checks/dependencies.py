"""What can be wrong with dependencies.json beyond single rows: builds that torch.json lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuenv.i18n.messages import tr

Row = Mapping[str, Any]
Complaints = Iterator[tuple[Row, str]]
_KEY = ("torch", "variant", "platform", "index")


def _builds_are_known(dependencies: Sequence[Row], torch: Sequence[Row]) -> Complaints:
    known = {tuple(row[name] for name in _KEY) for row in torch}
    for row in dependencies:
        if row["kind"] == "build" and tuple(row[name] for name in _KEY) not in known:
            yield row, tr("torch.json has no such build")


# The tables that a comparison needs (complaints are about the first), and the function that makes it.
DEPENDENCY_CHECKS = ((("dependencies", "torch"), _builds_are_known),)
