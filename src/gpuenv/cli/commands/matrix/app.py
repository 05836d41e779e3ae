"""`gpuenv matrix`: the compatibility matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from gpuenv.cli import options as o
from gpuenv.cli.completion import complete_table
from gpuenv.cli.declaration import Declared, argument, option

declared = Declared()
matrix = declared.group("matrix", "The compatibility matrices: show, validate, refresh.")


@matrix.command("show")
def show(
    table: Annotated[
        str | None,
        argument(
            "[TABLE]",
            "torch, cuda, gpus, companions, known-bad, dependencies, libraries, mirrors, conda, "
            "signatures, checks, images, pythons, api-changes, ecosystem, accelerator-devices, "
            "accelerator-architectures, accelerator-builds, accelerator-indexes, accelerator-known-bad, "
            "kernel-drivers or jetson; default: list them.",
            autocompletion=complete_table,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        option(
            "--html FILE",
            "Write an HTML page to FILE instead: torch x CUDA x GPU generation, this machine highlighted.",
        ),
    ] = None,
    *,
    console: o.CommonOptions,
) -> int:
    """Print a matrix, each row with its source and evidence."""
    from gpuenv.cli.commands.matrix import show as command  # noqa: PLC0415

    if html is not None:
        return command.show_page(html, console)
    return command.list_tables(console) if table is None else command.show(table, console)


@matrix.command("check", short_help="Validate the matrices.")
def check(
    against: Annotated[
        Path | None,
        option("--against DIR", "Another copy of the matrices: report its rows that these lack."),
    ] = None,
    *,
    console: o.CommonOptions,
) -> int:
    """Validate the matrices: each row by itself, against other rows and against published files."""
    from gpuenv.cli.commands.matrix import show as command  # noqa: PLC0415

    return command.check(console, against)


@matrix.command("inspect", short_help="Show what a torch wheel is built for.")
def inspect(
    wheel: Annotated[str, argument("WHEEL", "A wheel: a path or a URL.")],
    thorough: o.Thorough = False,
    preview: o.Preview = None,
    *,
    console: o.CommonOptions,
) -> int:
    """Show what a torch wheel is built for, from the wheel itself, without downloading it."""
    from gpuenv.cli.commands.matrix import inspect as command  # noqa: PLC0415

    if preview is not None:
        from gpuenv.cli.commands.matrix import inspect_variants  # noqa: PLC0415

        return inspect_variants.inspect(wheel, console)
    return command.inspect(wheel, console, thorough=thorough)


@matrix.command("refresh", short_help="Read new releases from the indexes and wheels.")
def refresh(
    indexes: Annotated[
        list[str] | None, option("--index URL", "Read this index instead of the configured ones; repeatable.")
    ] = None,
    only: Annotated[
        list[str] | None, option("--only REQ", "Only these releases, such as torch>=2.12; repeatable.")
    ] = None,
    dry_run: o.DryRun = False,
    write: Annotated[Path | None, option("--write DIR", "Merge into the matrices in DIR instead.")] = None,
    reread: Annotated[
        bool, option("--reread", "Also read what the matrices have, except from the same file.")
    ] = False,
    thorough: o.Thorough = False,
    *,
    console: o.CommonOptions,
) -> int:
    """Find releases that the matrices do not have, and read them from the wheels; plans use them at once."""
    from gpuenv.cli.commands.matrix import refresh as command  # noqa: PLC0415
    from gpuenv.matrix.refresh import RefreshOptions  # noqa: PLC0415

    options = RefreshOptions(tuple(indexes or ()), tuple(only or ()), dry_run, write, reread, thorough)
    return command.run(options, console)
