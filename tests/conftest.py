"""How many examples Hypothesis tries: few where somebody waits, many in `nox -s slow`, which CI runs too.

The few are the same each time, so that what fails has a cause in what was changed. No example is too slow.
"""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

_ANY_SPEED = {"deadline": None, "suppress_health_check": (HealthCheck.too_slow,)}

settings.register_profile("default", max_examples=20, derandomize=True, database=None, **_ANY_SPEED)
settings.register_profile("ci", max_examples=60, print_blob=True, **_ANY_SPEED)
settings.load_profile("default")  # `--hypothesis-profile ci` loads the other one after this

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # begun in the background: what the tests start is not
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
