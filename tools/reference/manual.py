"""The manual page, gpuenv(1), in the macros of man(7)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reference.read import Command, Option, Reference
from reference.words import EXIT_CODES, WORDS

_HEADS = {
    "en": {
        "name": "NAME", "synopsis": "SYNOPSIS", "description": "DESCRIPTION", "commands": "COMMANDS",
        "options": "OPTIONS", "exit": "EXIT STATUS", "variables": "ENVIRONMENT", "manual": "gpuenv manual",
        "env": " Variable: ", "default": " Default: ", "what": "PyTorch environments that work on the GPU",
        "data": "Where environments are kept.", "cache": "Where downloads are kept.",
    },
    "zh": {
        "name": "名称", "synopsis": "概要", "description": "描述", "commands": "命令",
        "options": "选项", "exit": "退出状态", "variables": "环境变量", "manual": "gpuenv 手册",
        "env": "环境变量：", "default": "默认：", "what": "能用上显卡的 PyTorch 环境",
        "data": "环境的存放位置。", "cache": "下载内容的存放位置。",
    },
}  # fmt: skip

_ESCAPES = {  # the backslash first
    "\\": r"\e", "-": r"\-", '"': r"\(dq", "`": r"\(ga", "'": r"\(aq", "^": r"\(ha", "~": r"\(ti",
}  # fmt: skip


def render_manual(reference: Reference, version: str) -> str:
    """Write the page; the same on every day, so it has the version and no date."""
    return "\n".join(_manual(reference, version)) + "\n"


def _manual(reference: Reference, version: str) -> Iterator[str]:
    heads, words = _HEADS[reference.language], WORDS[reference.language]
    yield r".\" made by tools/build_reference.py"
    yield f'.TH GPUENV 1 "" "gpuenv {_escaped(version)}" "{heads["manual"]}"'
    yield from (f".SH {heads['name']}", rf"gpuenv \- {heads['what']}")
    yield from (f".SH {heads['synopsis']}", r".B gpuenv", r"[\fIOPTIONS\fR] \fICOMMAND\fR [\fIARGS\fR]...")
    yield f".SH {heads['description']}"
    yield from _paragraphs(reference.description)
    yield f".SH {heads['commands']}"
    for command in reference.commands:
        yield from _command(command, words, heads)
    yield f".SH {heads['options']}"
    yield from _options(reference.common + reference.root, words, heads)
    yield from (f".SH {heads['exit']}",)
    for code in reference.exit_codes:
        yield from (".TP", rf"\fB{code}\fR", _escaped(EXIT_CODES[reference.language][code]))
    yield from (f".SH {heads['variables']}", _escaped(re.sub("`", "", words["precedence"])))
    for name, text in (("GPUENV_DATA_DIR", heads["data"]), ("GPUENV_CACHE_DIR", heads["cache"])):
        yield from (".TP", rf"\fB{name}\fR", text)


def _command(command: Command, words: dict[str, str], heads: dict[str, str]) -> Iterator[str]:
    yield f'.SS "{_escaped(command.usage)}"'
    yield from _paragraphs(command.paragraphs)
    yield from _options(command.arguments + command.options, words, heads)


def _options(options: Sequence[Option], words: dict[str, str], heads: dict[str, str]) -> Iterator[str]:
    for option in options:
        text = option.text
        if option.choices:
            text += f"{words['one of']}{words['between'].join(option.choices)}{words['stop']}"
        if option.variable:
            text += f"{heads['env']}{option.variable}{words['stop']}"
        if option.default:
            text += f"{heads['default']}{option.default}{words['stop']}"
        yield from (".TP", rf"\fB{_escaped(option.names)}\fR", _escaped(text))


def _paragraphs(paragraphs: Sequence[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        yield from (".PP", _escaped(paragraph))


def _escaped(text: str) -> str:
    """Write text that no request begins in, whose hyphens can be copied."""
    for letter, escape in _ESCAPES.items():
        text = text.replace(letter, escape)
    return rf"\&{text}" if text.startswith(".") else text
