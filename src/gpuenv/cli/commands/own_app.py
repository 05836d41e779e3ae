"""`gpuenv cache` and `gpuenv self`: what keeps gpuenv's own house."""

from __future__ import annotations

from typing import Annotated

import typer

from gpuenv.cli import options as o

cache_app = typer.Typer(
    help="gpuenv's own cache: where it is, what is in it, emptying it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
self_app = typer.Typer(help="gpuenv itself: its version.", no_args_is_help=True, rich_markup_mode=None)


@cache_app.callback()
@self_app.callback()
def _group(lang: o.Language = o.LanguageName.auto) -> None: ...


@cache_app.command("dir")
@o.grouped
def cache_directory(
    *,
    common: o.Common,
) -> int:
    """Print the cache directory."""
    from gpuenv.cli.commands import cache as command  # noqa: PLC0415

    return command.directory(common)


@cache_app.command("size")
@o.grouped
def cache_size(
    *,
    common: o.Common,
) -> int:
    """List what is in the cache and how much it takes; uv's own cache is shared with uv and not counted."""
    from gpuenv.cli.commands import cache as command  # noqa: PLC0415

    return command.size(common)


@cache_app.command("clean")
@o.grouped
def cache_clean(
    with_uv: Annotated[
        bool,
        typer.Option("--uv", envvar="GPUENV_CLEAN_UV", help="Also run `uv cache clean`: all of uv's cache."),
    ] = False,
    yes: o.Yes = False,
    *,
    common: o.Common,
) -> int:
    """Remove what is in the cache; environments keep working, and uv's own cache stays.

    What a running gpuenv uses is kept. The next plan reads the indexes anew.
    """
    from gpuenv.cli.commands import cache as command  # noqa: PLC0415

    return command.clean(common, with_uv=with_uv, yes=yes)


@self_app.command("version")
@o.grouped
def self_version(
    check: Annotated[
        bool,
        typer.Option(
            "--check", envvar="GPUENV_SELF_CHECK", help="Also ask your indexes whether they list a newer one."
        ),
    ] = False,
    offline: o.Offline = False,
    *,
    common: o.Common,
) -> int:
    """Print gpuenv's version; nothing is asked of any index without --check."""
    from gpuenv.cli.commands import own_version as command  # noqa: PLC0415

    return command.own_version(common, check=check, offline=offline)
