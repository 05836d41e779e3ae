"""How commands and options are declared; a command becomes one of typer's when it is called for."""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, Final, cast, get_type_hints

import typer
import typer.main
from msgspec import StructMeta
from msgspec.structs import fields
from typer.core import TyperCommand
from typer.models import CommandInfo, TyperInfo

from gpuenv.cli.choices import ColorName, LanguageName
from gpuenv.i18n.messages import ENGLISH, current_language

_PLAIN: Final[Any] = {"pretty_exceptions_short": False, "rich_markup_mode": None}


_YES, _NO = frozenset({"true", "t", "yes", "y", "on"}), frozenset({"", "false", "f", "no", "n", "off"})


def option(usage: str, text: str, *, variable: str | None = None, **settings: Any) -> Any:
    """Declare an option by the way it is typed: `-r --requirement FILE`.

    Its environment variable is that of its longest name, GPUENV_REQUIREMENT, unless another one is given.
    """
    words = usage.split()
    names = tuple(word for word in words if word.startswith("-"))
    if variable is None:
        variable = "GPUENV_" + max(names, key=len).strip("-").partition("/")[0].replace("-", "_").upper()
    metavar = None if words[-1] in names else words[-1]
    return typer.Option(*names, metavar=metavar, envvar=variable or None, help=text, **settings)


def level(usage: str, text: str) -> Any:
    """Declare an option that counts how often it is given; its variable may be a number, or yes."""
    return option(usage, text, count=True, parser=_level, show_default=False)


def _level(given: int | str) -> int:
    """Read a number, or a yes or no as the variables of other options have them; raise ValueError."""
    word = str(given).strip().lower()
    return 1 if word in _YES else 0 if word in _NO else int(word)


def argument(metavar: str, text: str | None = None, *, show_default: bool = False, **settings: Any) -> Any:
    """Declare an argument by its name in the help."""
    return typer.Argument(metavar=metavar, help=text, show_default=show_default, **settings)


Language = Annotated[LanguageName, option("--lang", "Language of the output; auto uses the locale.")]

NoProgress = Annotated[bool, option("--no-progress", "Print lines instead of progress bars.")]

Color = Annotated[ColorName, option("--color", "Colours in messages; auto: as the terminal is.")]


_LIKE_AN_OPTION = re.compile(r"--?[A-Za-z]")


class _Command(TyperCommand):
    """A command whose options don't take another option for their value: `-o -v` would write a file `-v`.

    What is meant so can be written: `--report=-v`, `-o ./-v`. A value called OPTION is an option of another
    program.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            self._check_values(ctx, args)
        return super().parse_args(ctx, args)

    def _check_values(self, ctx: Any, args: list[str]) -> None:
        valued = {
            name: parameter.metavar
            for parameter in self.params
            for name in (*parameter.opts, *parameter.secondary_opts)
            if not (getattr(parameter, "is_flag", True) or getattr(parameter, "count", True))
        }
        words = iter(args)
        for word in words:
            if word == "--" or not (word.startswith("-") or ctx.allow_interspersed_args):
                return
            value = next(words, "") if word in valued else ""
            if valued.get(word) != "OPTION" and _LIKE_AN_OPTION.match(value):
                ctx.fail(f"Option '{word}' requires an argument.")


class Declared(typer.Typer):
    """Commands as a module declares them, none of them put together yet."""

    def group(self, name: str, text: str) -> Declared:
        """Declare a command that has commands, which are declared with what this returns."""
        below = Declared(help=text, no_args_is_help=True, rich_markup_mode=None)
        below.callback()(_spoken)
        self.add_typer(below, name=name)
        return below

    def by_name(self) -> dict[str, CommandInfo]:
        """Return the commands that have none below them."""
        return {
            command.name or command.callback.__name__: command
            for command in self.registered_commands
            if command.callback
        }


def _spoken(lang: Language = "auto", color: Color = "auto") -> None: ...


class OnDemand(Mapping[str, Any]):
    """Commands by name, each put together when it is first needed: all of them take as long as to detect."""

    def __init__(self, commands: Mapping[str, Callable[[], Any]]) -> None:
        self._makers = commands
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            command = self._makers[name]()
            if current_language() != ENGLISH:
                from gpuenv.cli.help_text import translate_help  # noqa: PLC0415 - as typer has it

                translate_help(command)
            self._made[name] = command
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def declared_in(modules: Mapping[str, str]) -> OnDemand:
    """Return commands of which it is known which module's `declared` has them."""
    return OnDemand({name: functools.partial(_loaded, name, module) for name, module in modules.items()})


def outlined_in(modules: Mapping[str, str]) -> OnDemand:
    """Return the same commands without their options, which a list of commands does not show."""
    return OnDemand({name: functools.partial(_outlined, name, module) for name, module in modules.items()})


def _loaded(name: str, module: str) -> Any:
    command, group = _find(name, module)
    return _group(group) if group else _command(command)


def _outlined(name: str, module: str) -> Any:
    command, group = _find(name, module)
    return _group(group) if group else _outline(command)


def _find(name: str, module: str) -> tuple[CommandInfo, TyperInfo | None]:
    declared: Declared = import_module(module).declared
    group = next((info for info in declared.registered_groups if info.name == name), None)
    return declared.by_name().get(name, CommandInfo()), group


def _group(info: TyperInfo) -> Any:
    declared = cast("Declared", info.typer_instance)
    bare = copy.copy(info)
    bare.typer_instance = copy.copy(declared)
    bare.typer_instance.registered_commands = []
    group = typer.main.get_group_from_info(bare, **_PLAIN, suggest_commands=True)
    makers = {name: functools.partial(_command, command) for name, command in declared.by_name().items()}
    group.commands = OnDemand(makers)  # type: ignore[assignment]  # typer only reads it
    return group


def _command(info: CommandInfo) -> Any:
    spread = copy.copy(info)
    spread.callback = _spread(cast("Callable[..., Any]", info.callback))
    spread.cls = _Command
    return typer.main.get_command_from_info(spread, **_PLAIN)


def _outline(info: CommandInfo) -> Any:
    def nothing() -> None: ...

    outline = copy.copy(info)
    nothing.__doc__ = info.callback.__doc__
    outline.callback = nothing
    return typer.main.get_command_from_info(outline, **_PLAIN)


def _spread(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take a group of options as one parameter, which typer sees as the group's fields."""
    # not get_type_hints: up to Python 3.10 it hides the options of what defaults to None
    named = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {
        name: item.annotation for name, item in named.items() if isinstance(item.annotation, StructMeta)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in named.items():
        parameters += _parameters_of(groups[name]) if name in groups else [parameter]

    @functools.wraps(command)
    def spread(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group(**{field: given.pop(field) for field in group.__struct_fields__})
        return command(**given)

    spread.__signature__ = inspect.Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread


def _parameters_of(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(group)
    ]
