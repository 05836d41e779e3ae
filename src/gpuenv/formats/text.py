"""Format `text`: the plan for a person."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from gpuenv.formats.fact_source import said_source
from gpuenv.formats.machine import describe
from gpuenv.formats.shell import one_line
from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.messages import N_, ngettext, series, tr
from gpuenv.model.plan import CPU_BUILD, CUDA_ON_CPU, Download, Plan, PlannedPackage


def render_text(plan: Plan, *, verbose: bool = False) -> str:
    """Return the plan in a few lines; `verbose` adds the reasons and what was rejected."""
    return _in_lines((*summary(plan), *_details(plan, verbose=verbose)))


def render_stack(plan: Plan, *, verbose: bool = False) -> str:
    """Return the plan as `render_text` does, without the machines."""
    return _in_lines((*stack_lines(plan), *_details(plan, verbose=verbose)))


def _in_lines(lines: Iterable[str]) -> str:
    return "\n".join("  " * line.startswith("  ") + one_line(line) for line in lines) + "\n"


def _details(plan: Plan, *, verbose: bool) -> tuple[str, ...]:
    lines = [f"  {_origin(plan)}"]
    lines += [f"  {reason.text}" for reason in plan.compatibility]
    lines += [f"  {item.text}" for item in plan.advice]
    if verbose:
        lines += [
            tr("  because {text} [{source}]", text=reason.text, source=said_source(reason.source))
            for reason in plan.why
        ]
        lines += [
            tr(
                "  not {build}: {rule}: {text} [{source}]",
                build=f"{rejection.name} {rejection.version} ({rejection.variant})",
                rule=rejection.rule,
                text=rejection.detail,
                source=said_source(rejection.source),
            )
            for rejection in plan.rejected
        ]
    return tuple(lines)


def summary(plan: Plan) -> tuple[str, ...]:
    """Return what the machine is and what it gets, a line each; a CPU build is said in the first line."""
    *warning, stack = stack_lines(plan)
    return (*warning, *map(describe, plan.machines), stack)


def stack_lines(plan: Plan) -> tuple[str, ...]:
    """Return the stack in one line, before it that it is for the CPU where it is."""
    warning: tuple[str, ...] = ()
    if plan.variant == "cpu":
        named = any(machine.accelerators for machine in plan.machines)
        said = tuple(warn.message for warn in plan.warnings if named and warn.code == CPU_BUILD)
        warning = said or (tr("a CPU build: torch will not use a GPU"),)
    if any(warn.code == CUDA_ON_CPU for warn in plan.warnings):
        warning = (tr("on the CPU: this CUDA build will not use a GPU"),)
    stack = [
        f"{package.name} {package.version}{_plain_variant(package)}"
        for package in plan.packages[: len(plan.pins)]
    ]
    others = len(plan.packages) - len(stack)
    more = ngettext("1 other package", "{count} other packages", others)
    parts = [*stack, *([more] if others else plan.requirements)]
    parts += [f"`{text}`" for text in plan.constraints]
    return (*warning, " · ".join([*parts, f"Python {plan.python}", plan.manager]))


def _plain_variant(package: PlannedPackage) -> str:
    """PyPI's builds do not carry their variant in the version."""
    return "" if "+" in package.version or not package.variant else f" ({package.variant})"


def _origin(plan: Plan) -> str:
    hosts = (
        package.channel or urlsplit(package.index).hostname or package.index
        for package in plan.packages
        if package.index
    )
    places = series(dict.fromkeys(hosts))
    if plan.download is not None:
        return _brought(places, plan.download)
    sizes = [package.size for package in plan.packages]
    known = sum(size for size in sizes if size)
    total = _to_fetch(known, least=None in sizes)
    template = N_("from {places}, {files}, {total}")
    if not plan.is_whole:
        template = N_("from {places}, {files}, {total}, and their dependencies")
    return tr(template, places=places, files=_files(len(plan.packages)), total=total)


def _brought(places: str, download: Download) -> str:
    """Say what is fetched, what all takes on disk and what is free; "about" where the matrix was asked."""
    local = ngettext("1 local file", "{count} local files", download.local)
    parts = [local] if download.local else []
    if download.cached:
        parts.append(tr("{files} in the installer's cache", files=_files(download.cached)))
    if download.files:
        about = download.files > 1 and not download.exact
        files = _files(download.files)
        parts.append(tr("about {files}", files=files) if about else files)
        parts.append(_to_fetch(download.size, least=download.least))
    else:
        parts.append(tr("nothing to fetch"))
    if download.installed:
        parts.append(tr("{size} on disk", size=render_size(download.installed)))
    if download.free is not None:
        parts.append(tr("{size} free", size=render_size(download.free)))
    return tr("from {places}, {total}", places=places, total=tr(", ").join(parts))


def _files(count: int) -> str:
    return ngettext("1 file", "{count} files", count)


def _to_fetch(size: int, *, least: bool) -> str:
    if not size:
        return tr("size not known")
    template = N_("at least {size} to fetch") if least else N_("{size} to fetch")
    return tr(template, size=render_size(size))
