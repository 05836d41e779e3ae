"""Format `slurm`: one script for sbatch, a template with what is asked for filled in."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import Any

from msgspec import Struct

from gpuenv.bootstrap.render import case_function, filled_in, quote
from gpuenv.fleet.render.ansible import checked_host
from gpuenv.formats.shell import here_document_end, one_line
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.secrets.url_credentials import without_userinfo

TEMPLATE = "slurm.sh"
_BEGIN = "# >>> what is asked for\n"
_END = "# <<< what is asked for\n"
_WIDTH = 120
_LARGEST = 4 * 1024 * 1024 - 1024  # bytes that Slurm takes by default (max_script_size)


class SlurmGroup(Struct, frozen=True):
    """Nodes that get the same environment, by name; none named: any of the job's.

    `suffix` is what its name ends in, `about` a line for who reads the script, `request` what the node
    program is given.
    """

    hosts: tuple[str, ...]
    suffix: str
    about: str
    request: Mapping[str, Any]


class Carried(Struct, frozen=True):
    """What the script brings to the nodes: the zipapp, and the texts in sh and Python that start it."""

    program: bytes
    shell: str
    python: str


def render_slurm(
    groups: tuple[SlurmGroup, ...], name: str, made_by: str, carried: Carried, template: str
) -> str:
    """Return the script; `template` is the text of slurm.sh.

    Raises UsageError for an invalid host name, and for a script larger than Slurm accepts.
    """
    text = filled_in(template, _BEGIN, _END, _lines(groups, name, made_by, carried))
    if len(text.encode()) > _LARGEST:
        raise UsageError(
            tr("the script is larger than Slurm accepts: {mib} MiB", mib=f"{len(text) / 1024**2:.1f}"),
            code="script-too-large",
            fixes=(Fix(tr("plan for fewer groups: name their machines with --machine FILE")),),
        )
    return text


def _lines(groups: tuple[SlurmGroup, ...], name: str, made_by: str, carried: Carried) -> Iterable[str]:
    for number, group in enumerate(groups, 1):
        yield f"# group {number}: {without_userinfo(one_line(group.about))}"
    yield f"made_by={quote(made_by)}"
    yield f"name={quote(name)}"
    hosts = [" | ".join(map(checked_host, group.hosts)) or "*" for group in groups]
    numbers = [(pattern, str(number)) for number, pattern in enumerate(hosts, 1)]
    yield from case_function("group_of", numbers, None if "*" in hosts else "echo 0")
    suffixes = [(str(number), group.suffix) for number, group in enumerate(groups, 1)]
    yield from case_function("suffix_of", suffixes, "return 1")
    for number, group in enumerate(groups, 1):
        yield from _text(f"request_{number}", json.dumps(group.request, indent=1))
    yield from ("", 'request() { "request_$1"; }')
    yield from _text("shell_text", carried.shell)
    yield from _text("python_text", carried.python)
    yield from _text("program", "\n".join(wrap(b64encode(carried.program).decode(), _WIDTH)))


def _text(name: str, text: str) -> Iterable[str]:
    """Write a function that prints a text, which no shell reads."""
    lines = text.removesuffix("\n").split("\n")
    end = here_document_end(name, lines)
    yield from ("", f"{name}() {{", f"    cat <<'{end}'", *lines, end, "}")
