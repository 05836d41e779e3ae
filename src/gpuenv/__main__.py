"""Start gpuenv: `gpuenv` and `python -m gpuenv`."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` itself takes time to load, in which Ctrl-C comes

try:  # as long as there is nothing to undo, Ctrl-C ends this process as any other, without a traceback
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
except ValueError:  # in a thread
    pass

import gc
import os
import sys


def _print(text: str) -> None:
    try:
        print(text, flush=True)  # noqa: T201
    except OSError as error:  # the reader has gone, or the disk is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"error: {error.strerror}", file=sys.stderr)  # noqa: T201
            sys.exit(2)


def main() -> None:
    """Run the command line; exit with its status."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from gpuenv import __version__  # noqa: PLC0415 - asked for by scripts: no need to load the commands

        _print(f"gpuenv {__version__}")
        return
    # a short run makes many values and throws few away: looking for cycles among them would take longer than
    # deciding
    gc.set_threshold(50_000, 50, 50)
    from gpuenv.cli.main import run  # noqa: PLC0415

    status = run(sys.argv[1:])
    _ignore_signals()
    gc.freeze()
    sys.exit(status)


def _ignore_signals() -> None:
    """Let no signal change the status of a run that has ended and was told."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(_signal, name, None)
        if number is not None:
            try:  # noqa: SIM105 - contextlib takes time to load
                _signal.signal(number, _signal.SIG_IGN)
            except ValueError:  # in a thread
                pass


def _forget_folder() -> None:
    """Import nothing from the folder one stands in, which `python -m` puts first; gpuenv may lie there."""
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - no pathlib yet
    try:
        here = os.getcwd()  # noqa: PTH109
    except OSError:
        return
    if sys.path and sys.path[0] in {"", here} and here != ours:
        del sys.path[0]


if __name__ == "__main__":
    _forget_folder()
    main()
