"""The number of examples of a test whose examples take long: how many here, how many in CI."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(few: int, many: int, **options: Any) -> settings:
    """Return the settings of a test that tries so many examples, by the profile of tests/conftest.py."""
    return settings(max_examples=many if settings.get_current_profile_name() == "ci" else few, **options)
