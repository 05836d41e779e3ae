"""The parts of TOML documents: tomlkit does the quoting, and is imported only where one is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gpuenv.formats.shell import one_line
from gpuenv.secrets.url_credentials import without_userinfo

if TYPE_CHECKING:
    from tomlkit.items import AoT, Item, Table


def document(comment: Iterable[str], parts: Mapping[str, Any]) -> str:
    """Return the document: the comment in lines of its own at the top, then the tables by their names.

    No user name and password is left in an address of the comment.
    """
    import tomlkit  # noqa: PLC0415

    made = tomlkit.document()
    for line in comment:
        made.add(tomlkit.comment(without_userinfo(one_line(line))))
    for name, part in parts.items():
        made.add(name, part)
    return tomlkit.dumps(made)


def table(values: Mapping[str, Any], *, headless: bool = False) -> Table:
    """Return a table: a tuple has a line for each item, lists and mappings are written inline.

    `headless` is for tables with nothing but tables in them: `[tool.uv]` needs no `[tool]`.
    """
    import tomlkit  # noqa: PLC0415

    made = tomlkit.table(is_super_table=headless)
    for key, value in values.items():
        made.add(key, _item(value))
    return made


def tables(rows: Iterable[Mapping[str, Any]]) -> AoT:
    """Return an array of tables: `[[index]]`."""
    import tomlkit  # noqa: PLC0415

    made = tomlkit.aot()
    for row in rows:
        made.append(table(row))
    return made


def _item(value: Any) -> Item:
    import tomlkit  # noqa: PLC0415
    from tomlkit.items import AbstractTable, AoT  # noqa: PLC0415

    if isinstance(value, (AbstractTable, AoT)):
        return value
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        inline.update(value)
        return inline
    if isinstance(value, (tuple, list)):
        array = tomlkit.array()
        array.extend(_item(item) for item in value)
        return array.multiline(multiline=isinstance(value, tuple))
    plain: Item = tomlkit.item(value)
    return plain
