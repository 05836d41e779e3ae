"""Start gpuenv: `gpuenv` and `python -m gpuenv`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line; exit with its status."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from gpuenv import __version__  # noqa: PLC0415 - asked for by scripts: no need to load the commands

        print(f"gpuenv {__version__}")  # noqa: T201
        return
    # a short run makes many values and throws few away: looking for cycles among them would take longer than
    # deciding
    gc.set_threshold(50_000, 50, 50)
    try:
        from gpuenv.cli.main import run  # noqa: PLC0415

        status = run(sys.argv[1:])
        gc.freeze()
        sys.exit(status)
    except KeyboardInterrupt:  # before there was anything to undo
        sys.exit(130)


if __name__ == "__main__":
    main()
