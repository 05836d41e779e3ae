"""What can be wrong with ecosystem.json beyond single rows: sets and projects that do not name each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuenv.i18n.messages import tr

Row = Mapping[str, Any]
Complaints = Iterator[tuple[Row, str]]


def _sets_are_there(rows: Sequence[Row]) -> Complaints:
    known = {row["set"] for row in rows if row["kind"] == "set"}
    for row in rows:
        name = row.get("set")
        if name is not None and name not in known:
            yield row, tr("no set is called `{name}`", name=name)


def _projects_name_their_sets(rows: Sequence[Row]) -> Complaints:
    sets = {row["project"]: row["set"] for row in rows if row["kind"] == "project"}
    for row in rows:
        for project in row["projects"] if row["kind"] == "set" else ():
            if sets.get(project) != row["set"]:
                yield row, tr("the row of {project} does not name this set", project=project)


# The tables that a comparison needs (complaints are about the first), and the function that makes it.
ECOSYSTEM_CHECKS = (
    (("ecosystem",), _sets_are_there),
    (("ecosystem",), _projects_name_their_sets),
)
