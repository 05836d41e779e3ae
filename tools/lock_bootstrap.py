"""Write src/gpuenv/bootstrap/bootstrap_wheels.json: what gpuenv needs on each Python and platform, by hash.

    python tools/lock_bootstrap.py

To be run after a change of `dependencies` in pyproject.toml, and before a release. It asks PyPI's pages; a
bootstrap script of this gpuenv takes these files and no others from any copy of PyPI.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from gpuenv.bootstrap.model import LockedWheel
from gpuenv.bootstrap.resolve import resolve, targets
from gpuenv.bootstrap.wheels import SHIPPED
from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.model.access import ANYBODY
from gpuenv.own_metadata import metadata_text, requires_of


def main() -> int:
    """Resolve, and write the file unless a target has nothing."""
    requires = requires_of(metadata_text())
    index = default_index(os.environ)
    if index is None:
        print("neither uv nor pip tells the default index", file=sys.stderr)
        return 1
    resolution = resolve(requires, index, os.environ, ANYBODY)
    for problem in resolution.problems:
        print(problem, file=sys.stderr)
    missing = {f"{python}/{platform}" for python, platform in targets()} - {
        target for wheel in resolution.wheels for target in wheel.targets
    }
    if missing and "--partial" not in sys.argv:
        print(f"nothing for {', '.join(sorted(missing))} (--partial: leave them out)", file=sys.stderr)
        return 1
    write(SHIPPED, requires, resolution.wheels)
    print(f"{len(resolution.wheels)} files, {sum(wheel.size or 0 for wheel in resolution.wheels)} bytes")
    return 0


def write(path: Path, requires: tuple[str, ...], wheels: tuple[LockedWheel, ...]) -> None:
    """Write one wheel a line, so that differences can be read."""
    rows = ",\n".join(f"  {json.dumps(_row(wheel))}" for wheel in wheels)
    head = json.dumps(list(requires), indent=1)
    path.write_text(f'{{"requires": {head},\n "wheels": [\n{rows}\n]}}\n', encoding="utf-8")


def _row(wheel: LockedWheel) -> dict[str, object]:
    return {
        "filename": wheel.filename,
        "sha256": wheel.sha256,
        "size": wheel.size,
        "targets": list(wheel.targets),
    }


if __name__ == "__main__":
    sys.exit(main())
