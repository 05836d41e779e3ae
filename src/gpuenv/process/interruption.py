"""Ctrl-C, SIGTERM and SIGHUP end a run for certain.

A handler that raises can be called inside a callback (of a weak reference that goes, of an import) in which
Python prints "Exception ignored in ..." and goes on. So the signal is kept: an exception that was ignored is
raised once more, and `check` raises it before something is changed for good. Where an exception between two
instructions would leave something half-done (a child that nobody knows of, a change that is half undone),
signals are `held`: only kept, and raised at points that are chosen.
https://docs.python.org/3/library/signal.html#note-on-signal-handlers-and-exceptions
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_NUMBERS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_SOON_S = 0.01


class Interruption(KeyboardInterrupt):
    """What the signals raise; of a plain KeyboardInterrupt in a text it executes (as that of a dataclass)
    Python remembers that it came, and ends itself by SIGINT in the end, whoever has caught it.
    """  # noqa: D205


class _Received:
    """The last signal, whether it is still to be raised, the depth of `held`, whether to ignore more."""

    number: int | None = None
    pending = False
    depth = 0
    settled = False


@contextmanager
def heeded() -> Iterator[None]:
    """Let signals that end a run, unless ignored, raise KeyboardInterrupt; their handlers are restored."""
    numbers = [item for item in _NUMBERS if signal.getsignal(item) not in (signal.SIG_IGN, _receive)]
    if not numbers or not _is_main():
        yield
        return
    _Received.number, _Received.pending, _Received.depth, _Received.settled = None, False, 0, False
    hook, sys.unraisablehook = sys.unraisablehook, _raising_again(sys.unraisablehook)
    handlers = {number: signal.signal(number, _receive) for number in numbers}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook


def came() -> bool:
    """Whether such a signal came since they are heeded."""
    return _Received.number is not None


def check() -> None:
    """Raise KeyboardInterrupt where such a signal came."""
    if came():
        _raise()


@contextmanager
def held() -> Iterator[None]:
    """Keep signals, and raise KeyboardInterrupt at the end of the outermost such block, or by `heed`."""
    if not _is_main():
        yield
        return
    _Received.depth += 1
    try:
        yield
    except BaseException:
        _Received.pending = _Received.pending and _Received.depth > 1  # it ends already
        raise
    finally:
        _Received.depth -= 1
    if not _Received.depth:
        heed()


def settle() -> None:
    """Ignore further signals: the outcome is being printed."""
    _Received.settled = True


def is_pending() -> bool:
    """Whether a signal is kept that was not raised yet."""
    return _Received.pending


def heed() -> None:
    """Raise KeyboardInterrupt where a signal was kept; in a thread: where any came, as the program ends."""
    if _Received.pending if _is_main() else came():
        _raise()


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _raise() -> None:
    _Received.pending = False
    raise Interruption(_Received.number)


def _receive(number: int, _frame: FrameType | None) -> None:
    if _Received.settled:
        return
    _Received.number = number
    if _Received.depth:
        _Received.pending = True
    else:
        _raise()


def _raising_again(report: Callable[[Any], object]) -> Callable[[Any], None]:
    def hook(unraisable: Any) -> None:
        if _Received.number is not None and issubclass(unraisable.exc_type, KeyboardInterrupt):
            _Received.depth += 1  # an exception in here would be ignored again
            try:
                threading.Thread(target=_send_again, args=(_Received.number,), daemon=True).start()
            finally:
                _Received.depth -= 1
        else:
            report(unraisable)

    return hook


def _send_again(number: int) -> None:
    """Send a signal until it was raised: a busy machine may still be within the hook."""
    while True:
        time.sleep(_SOON_S)
        if sys.platform == "win32":
            _thread.interrupt_main(number)
        else:  # which ends a wait of the main thread as well
            signal.pthread_kill(threading.main_thread().ident or 0, number)
        time.sleep(_SOON_S)
        if not _Received.pending:
            return
