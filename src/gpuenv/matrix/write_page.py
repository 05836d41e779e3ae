"""`gpuenv matrix show --html`: the matrices as a page for people who look rather than read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from gpuenv import __version__
from gpuenv.files.write_output import write_file
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.matrix.page.machine import Here
from gpuenv.matrix.page.other_builds import render_other_builds
from gpuenv.matrix.page.render import PageParts, render_matrix_page
from gpuenv.model.errors import Because, Fix, GpuenvError, UsageError
from gpuenv.model.machine import Machine
from gpuenv.model.plan import PlanWarning
from gpuenv.planning.detect import detect
from gpuenv.planning.load_knowledge import load_accelerators, load_knowledge, overlay_warnings
from gpuenv.resolution.target import choose_target


class WrittenPage(Struct, frozen=True):
    """The page that was written; `host` is the one highlighted in it, None where it has no NVIDIA GPU."""

    path: Path
    size: int  # bytes
    machine: Machine | None
    warnings: tuple[PlanWarning, ...]


def write_matrix_page(path: Path, environ: Mapping[str, str]) -> WrittenPage:
    """Write the matrices, the overlay's rows over them, as one HTML page; raise UsageError if it can't be."""
    here = _here(detect(environ))
    try:
        knowledge = load_knowledge(environ)
        folder = files("gpuenv.matrix.page")
        html, style, script = (
            (folder / f"matrix_page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")
        )
        others = render_other_builds(load_accelerators(environ))
        page = render_matrix_page(
            PageParts(html, style, script, others),
            knowledge,
            here,
            made_by=f"gpuenv {__version__}",
            made_on=_today(),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(error) from error
    write_file(path, page)
    machine = here.machine if here else None
    return WrittenPage(path, len(page.encode()), machine, overlay_warnings(environ))


def _today() -> str:
    return datetime.now(tz=timezone.utc).date().isoformat()


def _here(machine: Machine) -> Here | None:
    if machine.without_gpu:
        return None
    try:
        return Here(machine, choose_target((machine,), (), cpu=False))
    except GpuenvError as error:  # its driver is broken, or nothing is published for its platform
        return Here(machine, None, error.message)


def _unreadable(error: Exception) -> UsageError:
    return UsageError(
        tr("the page cannot be generated from the matrices"),
        code="matrix-unreadable",
        because=(Because(reason_of(error), "matrices"),),
        fixes=(Fix(tr("see the errors"), "gpuenv matrix check"),),
    )
