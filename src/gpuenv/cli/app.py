"""The program: its commands, and in which module each is declared."""

from __future__ import annotations

import copy
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gpuenv.cli.declaration import Color, Language, declared_in, option, outlined_in
from gpuenv.cli.output import Interrupted

_MODULES = {  # in the order of the help
    "detect": "app",
    "plan": "plan.app",
    "dockerfile": "plan.app",
    "create": "plan.app",
    "bootstrap": "plan.app",
    "verify": "app",
    "explain": "app",
    "doctor": "app",
    "list": "environments.app",
    "run": "environments.app",
    "activate": "environments.app",
    "shell": "environments.app",
    "kernel": "environments.app",
    "remove": "environments.app",
    "clone": "environments.app",
    "rename": "environments.app",
    "install": "environments.app",
    "uninstall": "environments.app",
    "update": "environments.app",
    "export": "environments.app",
    "info": "app",
    "demo": "app",
    "version": "app",
    "help": "app",
    "matrix": "matrix.app",
    "mirrors": "mirrors.app",
    "fleet": "fleet.app",
    "cache": "app",
    "self": "app",
}


class _Commands(TyperGroup):
    """Lets Ctrl-C through to `main`, which reports it; typer would only set a status."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._modules = {name: f"gpuenv.cli.commands.{module}" for name, module in _MODULES.items()}
        self.commands = declared_in(self._modules)  # type: ignore[assignment]  # typer only reads them

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # noqa: ARG002 - typer's
        return list(self.commands)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        outlined = copy.copy(self)
        outlined.commands = outlined_in(self._modules)  # type: ignore[assignment]
        super(_Commands, outlined).format_commands(ctx, formatter)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        try:  # the options are parsed here
            return super().make_context(*arguments, **options)
        except KeyboardInterrupt:
            raise Interrupted from None


app = typer.Typer(
    cls=_Commands,
    name="gpuenv",
    help="Create PyTorch environments that really work on your GPU: gpuenv create NAME",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        from gpuenv import __version__  # noqa: PLC0415

        typer.echo(f"gpuenv {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, option("--version -V", "Print the version.", variable="", callback=_version, is_eager=True)
    ] = False,
    lang: Language = "auto",
    color: Color = "auto",
) -> None: ...
