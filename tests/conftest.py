"""What is tried where somebody waits, what in `nox -s slow` and by CI, and what in `nox -s faults` alone.

Hypothesis tries few examples, the same each time, so that what fails has a cause in what was changed; no
example is too slow. Of a test that runs gpuenv in several cases the first is tried, and a few more by CI; of
other tests with many slow cases CI tries some.
"""

from __future__ import annotations

import gc
import signal
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, settings

_ANY_SPEED = {"deadline": None, "suppress_health_check": (HealthCheck.too_slow,)}

settings.register_profile("default", max_examples=10, derandomize=True, database=None, **_ANY_SPEED)
settings.register_profile("ci", max_examples=40, print_blob=True, **_ANY_SPEED)
settings.load_profile("default")  # `--hypothesis-profile ci` loads the other one after this

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # begun in the background: what the tests start is not
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

gc.disable()  # until all tests are collected: of them nothing is garbage

_OF_RUNS = {  # folders and modules whose tests run gpuenv, other programs, or all of the matrices
    "e2e",
    "security",
    "test_adapt_conda",
    "test_bootstrap_script",
    "test_build_matrices",
    "test_companion_cuda",
    "test_create",
    "test_disks_full",
    "test_hostile_http",
    "test_image_check",
    "test_languages",
    "test_left",
    "test_matrix_files",
    "test_matrix_inspect",
    "test_matrix_refresh",
    "test_mirrors_use",
    "test_node_program",
}
_MOST_RUNS, _MOST = 3, 60  # slow cases of one test that CI tries


def pytest_collection_finish() -> None:
    """Look for garbage again, but not among the tests."""
    gc.enable()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow all cases but the first of a test of runs; of many slow cases, most for the campaign."""
    tried, slow = set(), defaultdict[object, list[pytest.Function]](list)
    for item in items:
        if not isinstance(item, pytest.Function) or item.get_closest_marker("campaign"):
            continue
        if item.get_closest_marker("slow"):
            slow[item.function].append(item)
        elif _runs(item) and item.function in tried:
            item.add_marker(pytest.mark.slow)
            slow[item.function].append(item)
        else:
            tried.add(item.function)
    for alike in slow.values():
        step = -(-len(alike) // (_MOST_RUNS if _runs(alike[0]) else _MOST))
        for number, item in enumerate(alike):
            if number % step:
                item.add_marker(pytest.mark.campaign)


def _runs(item: pytest.Function) -> bool:
    return bool(_OF_RUNS & {item.path.parent.name, item.path.stem})
