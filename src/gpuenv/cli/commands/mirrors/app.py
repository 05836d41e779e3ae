"""`gpuenv mirrors`: which there are, which of them serve, and the configuration that names them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

from gpuenv.cli import options as o
from gpuenv.cli.choices import ScopeName
from gpuenv.cli.completion import complete_mirror
from gpuenv.cli.declaration import Declared, argument, option

if TYPE_CHECKING:
    from gpuenv.model.mirror import Tool


class ConfiguredTool(str, Enum):
    """Tools whose configuration names mirrors; of a list of these, typer takes no Literal."""

    pip = "pip"
    uv = "uv"
    conda = "conda"
    mamba = "mamba"


declared = Declared()
mirrors = declared.group(
    "mirrors",
    "List and check mirrors, configure pip, uv and conda.",
)
_Tools = Annotated[
    list[ConfiguredTool] | None,
    option(
        "--for",
        "Only the configuration of this tool; repeatable; mamba reads conda's.",
        variable="GPUENV_TOOL",
    ),
]
_Print = Annotated[bool, option("--print", "Only print what would be written.")]


@mirrors.command("list", short_help="List the mirrors and what each carries.")
def list_mirrors(*, console: o.CommonOptions) -> int:
    """List the mirrors that gpuenv knows, including your own, and what each carries."""
    from gpuenv.cli.commands.mirrors import list as command  # noqa: PLC0415

    return command.show(console)


@mirrors.command("check", short_help="Check which mirrors answer, and how fast.")
def check(
    names: Annotated[
        list[str] | None,
        argument(
            "[NAME|URL]...",
            "Mirrors, by name or URL; default: all.",
            autocompletion=complete_mirror,
        ),
    ] = None,
    asked_for: Annotated[
        str | None,
        option("--for REQ", "Check one file: torch==2.14.1+cu126.", variable="GPUENV_CHECKED_FILE"),
    ] = None,
    again: Annotated[bool, option("--again", "Ignore cached measurements and measure again.")] = False,
    *,
    console: o.CommonOptions,
) -> int:
    """Check which mirrors respond, have this machine's torch and are up to date, and how fast they are.

    A part of the actual wheel is downloaded from each mirror in parallel. Results are cached for a day;
    `--mirror auto` uses them.
    """
    from gpuenv.cli.commands.mirrors import check as command  # noqa: PLC0415
    from gpuenv.mirrors.check import CheckOptions  # noqa: PLC0415

    return command.check(CheckOptions(tuple(names or ()), asked_for, again), console)


@mirrors.command("use", short_help="Configure pip, uv and conda to use a mirror.")
def use(
    name: Annotated[str, argument("NAME|URL", "The mirror.", autocompletion=complete_mirror)],
    tools: _Tools = None,
    scope: Annotated[
        ScopeName,
        option("--scope", "Scope: user, environment or site."),
    ] = "user",
    insecure: Annotated[str | None, option("--insecure NAME", "Allow plain http for this mirror.")] = None,
    print_only: _Print = False,
    yes: o.Yes = False,
    *,
    console: o.CommonOptions,
) -> int:
    """Configure pip, uv and conda to use a mirror; undo with `mirrors reset`."""
    from gpuenv.cli.commands.mirrors import use as command  # noqa: PLC0415
    from gpuenv.mirrors.settings import UseOptions  # noqa: PLC0415

    options = UseOptions(_configured(tools), scope, insecure)
    return command.use(name, options, console, print_only=print_only, yes=yes)


@mirrors.command("reset", short_help="Undo what `mirrors use` changed.")
def reset(
    tools: _Tools = None, print_only: _Print = False, yes: o.Yes = False, *, console: o.CommonOptions
) -> int:
    """Undo what `mirrors use` changed, byte for byte; in a file edited since, only its own keys."""
    from gpuenv.cli.commands.mirrors import use as command  # noqa: PLC0415

    return command.reset(_configured(tools), console, print_only=print_only, yes=yes)


def _configured(named: list[ConfiguredTool] | None) -> tuple[Tool, ...]:
    """Return the tools whose files are meant, each once; mamba reads conda's."""
    same: dict[str, Tool] = {"pip": "pip", "uv": "uv", "conda": "conda", "mamba": "conda"}
    return tuple(dict.fromkeys(same[tool.value] for tool in named or ()))
