"""What is tried where somebody waits, and what in `nox -s slow` alone, which CI runs too.

Hypothesis tries few examples, the same each time, so that what fails has a cause in what was changed; no
example is too slow. Of a test that runs gpuenv in several cases the first is tried.
"""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

_ANY_SPEED = {"deadline": None, "suppress_health_check": (HealthCheck.too_slow,)}

settings.register_profile("default", max_examples=20, derandomize=True, database=None, **_ANY_SPEED)
settings.register_profile("ci", max_examples=60, print_blob=True, **_ANY_SPEED)
settings.load_profile("default")  # `--hypothesis-profile ci` loads the other one after this

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # begun in the background: what the tests start is not
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

_OF_RUNS = ("e2e", "security")  # whose tests run gpuenv


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow all cases but the first of a test of runs: they are alike."""
    tried = set()
    for item in items:
        if isinstance(item, pytest.Function) and item.path.parent.name in _OF_RUNS:
            if item.function in tried:
                item.add_marker(pytest.mark.slow)
            elif not item.get_closest_marker("slow"):
                tried.add(item.function)
