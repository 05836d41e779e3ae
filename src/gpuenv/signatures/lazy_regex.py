"""Regular expressions that are compiled when they are first needed: few texts need most of them."""

from __future__ import annotations

import re
from functools import cached_property


class LazyRegex:
    """A regular expression, compiled once, when something is looked for."""

    def __init__(self, regex: str) -> None:
        self._regex = regex

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled."""
        return re.compile(self._regex)
