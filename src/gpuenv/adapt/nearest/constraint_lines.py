"""What a `-c` file bounds: the lines of it count where a project is asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.resolution.request import STACK


def constrained(requirements: Iterable[Requirement], bounds: Iterable[Requirement]) -> Iterator[Requirement]:
    """Yield what is asked for within its bounds; a bound with a marker of its own stands beside it.

    The torch stack is free: its bounds are wishes like all others.
    """
    by_project: defaultdict[str, list[Requirement]] = defaultdict(list)
    for bound in bounds:
        if bound.url is None and bound.specifier:
            by_project[canonicalize_name(bound.name)].append(bound)
    for requirement in requirements:
        name = canonicalize_name(requirement.name)
        own = [] if requirement.url or name in STACK else by_project[name]
        for bound in own:
            if bound.marker is None:
                requirement.specifier &= bound.specifier
        yield requirement
        yield from (bound for bound in own if bound.marker is not None)
