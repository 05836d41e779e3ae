"""The page of all commands: a table of them, the exit codes, and a section for each with its options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reference.read import Command, Option, Reference
from reference.words import EXIT_CODES, WORDS

_CODE = re.compile(r"(`[^`]*`)")


def render_page(reference: Reference) -> str:
    """Write the page; links lead to sections as GitHub and the site name them."""
    return "\n".join(_page(reference)) + "\n"


def _page(reference: Reference) -> Iterator[str]:
    words = WORDS[reference.language]
    yield from (f"# {words['title']}", "", words["intro"], "", words["more"], "")
    yield from _head(words["command"], words["does"])
    for command in reference.commands:
        anchor = command.words.replace(" ", "-")
        yield f"| [`{command.words}`](#{anchor}) | {_cell(command.summary)} |"
    yield from ("", f"## {words['codes']}", "", *_head(words["code"], words["meaning"]))
    for code in reference.exit_codes:
        yield f"| {code} | {EXIT_CODES[reference.language][code]} |"
    yield from ("", f"## {words['common']}", "", words["precedence"], "", *_table(reference.common, words))
    yield from ("", f"## {words['root']}", "", *_table(reference.root, words))
    for command in reference.commands:
        yield from _section(command, words)


def _section(command: Command, words: dict[str, str]) -> Iterator[str]:
    yield from ("", f"## `{command.words}`", "")
    for paragraph in command.paragraphs:
        yield from (_text(paragraph), "")
    yield from ("```text", command.usage, "```", "")
    if command.arguments:
        yield from _head(words["argument"], words["meaning"])
        yield from (f"| {_code(one.names)} | {_cell(one.text)} |" for one in command.arguments)
        yield ""
    if command.options:
        yield from (*_table(command.options, words), "")
    yield words["also"]


def _table(options: Sequence[Option], words: dict[str, str]) -> Iterator[str]:
    yield from _head(words["option"], words["meaning"], words["variable"], words["default"])
    for option in options:
        meaning = _cell(option.text)
        if option.choices:
            listed = words["between"].join(_code(choice) for choice in option.choices)
            meaning += f"{words['one of']}{listed}{words['stop']}"
        variable = re.sub(r"^\w+", lambda match: f"`{match[0]}`", option.variable)
        default = _code(option.default) if option.default else ""
        yield f"| {_code(option.names)} | {meaning} | {variable} | {default} |"


def _head(*names: str) -> Iterator[str]:
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * len(names)}"


def _code(text: str) -> str:
    """Write code in a cell; GitHub and the site agree on a `|` in it only where it is an entity."""
    if "|" not in text:
        return f"`{text}`"
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")
    return f"<code>{escaped}</code>"


def _cell(text: str) -> str:
    parts = (
        _code(part.strip("`")) if part.startswith("`") else _text(part).replace("|", "&#124;")
        for part in _CODE.split(text)
    )
    return "".join(parts)


def _text(text: str) -> str:
    parts = _CODE.split(text)
    return "".join(
        part if part.startswith("`") else part.replace("*", r"\*").replace("<", "&lt;") for part in parts
    )
