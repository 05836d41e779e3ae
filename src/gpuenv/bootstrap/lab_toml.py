"""lab.toml: what a lab keeps in git of its environments, their mirrors, and the gpuenv that makes them.

mirrors = ["nju", "tuna"]          # any option of an environment can stand here, for all of them
python = "3.11"

[gpuenv]
version = "0.1.0"

[environments.paper]
requirements = ["torch==2.14.*", "transformers>=5"]

[environments.course]
requirement_files = ["course/requirements.txt"]
cuda = "cu126"

[[mirror]]                         # as in gpuenv's own configuration file
name = "lab"
pypi = {simple = "https://mirror.lab.example/simple"}
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.i18n.messages import N_, series, tr

Table = Mapping[str, Any]

_TOP = ("gpuenv", "environments", "mirror")
_KINDS = {
    "str": (str, N_("a text")),
    "bool": (bool, N_("true or false")),
    "tuple[str, ...]": (str, N_("a list of texts")),
    "tuple[int, ...]": (int, N_("a list of numbers")),
}


class LabOptions(Struct, frozen=True):
    """The options of an environment, as typed, under the names of gpuenv's own.

    Paths are relative to the folder of lab.toml. None: not given.
    """

    requirements: tuple[str, ...] | None = None
    requirement_files: tuple[str, ...] | None = None
    environment_file: str | None = None
    lock: str | None = None
    python: str | None = None
    cuda: str | None = None
    manager: str | None = None
    channel: str | None = None
    mirrors: tuple[str, ...] | None = None
    find_links: tuple[str, ...] | None = None
    devices: tuple[int, ...] | None = None
    offline: bool | None = None
    verify: bool | None = None


class LabFile(Struct, frozen=True):
    """A lab's file: environments by name, in order; `version` of gpuenv, or the `wheel` of it, to install.

    `mirrors` are the tables of the lab's own mirrors, as they stand in the file.
    """

    environments: tuple[tuple[str, LabOptions], ...]
    everywhere: LabOptions
    version: str | None = None
    wheel: str | None = None
    launcher: bool | None = None
    own_mirrors: tuple[Table, ...] = ()


_OPTIONS = {name: kind.removesuffix(" | None") for name, kind in LabOptions.__annotations__.items()}
_GPUENV = {"version": "str", "wheel": "str", "launcher": "bool"}


def parse_lab_file(document: Table) -> LabFile:
    """Read the tables of a lab.toml; ValueError tells what is wrong, of an unknown key the nearest name."""
    _check_names(document, (*_TOP, *_OPTIONS), "")
    everywhere = LabOptions(**_values({key: document[key] for key in document if key in _OPTIONS}, ""))
    own = _table(document, "gpuenv", "")
    _check_names(own, tuple(_GPUENV), "gpuenv.")
    facts = {key: _value(own[key], _GPUENV[key], f"gpuenv.{key}") for key in own}
    if "version" in facts and "wheel" in facts:
        raise ValueError(tr("`{first}` and `{second}` are mutually exclusive", first="gpuenv.version",
                            second="gpuenv.wheel"))  # fmt: skip
    environments = _environments(_table(document, "environments", ""), everywhere)
    return LabFile(environments, everywhere, own_mirrors=_mirrors(document), **facts)


def _environments(tables: Table, everywhere: LabOptions) -> tuple[tuple[str, LabOptions], ...]:
    if not tables:
        raise ValueError(tr("it has no environment: add `[environments.NAME]`"))
    return tuple((name, _environment(tables, name, everywhere)) for name in tables)


def _environment(tables: Table, name: str, everywhere: LabOptions) -> LabOptions:
    own, where = _table(tables, name, "environments."), f"environments.{name}."
    _check_names(own, tuple(_OPTIONS), where)
    return replace(everywhere, **_values(own, where))


def _values(table: Table, where: str) -> dict[str, Any]:
    return {key: _value(value, _OPTIONS[key], where + key) for key, value in table.items()}


def _value(value: Any, kind: str, name: str) -> Any:
    wanted, description = _KINDS[kind]
    if kind.startswith("tuple"):
        if isinstance(value, list) and all(type(item) is wanted for item in value):
            return tuple(value)
    elif type(value) is wanted:
        return value
    raise ValueError(tr("`{key}` is not {kind}", key=name, kind=tr(description)))


def _table(document: Table, key: str, where: str) -> Table:
    value = document.get(key, {})
    if not isinstance(value, Mapping):
        raise ValueError(tr("`{key}` is not a table", key=where + key))
    return value


def _mirrors(document: Table) -> tuple[Table, ...]:
    entries = document.get("mirror", [])
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise ValueError(tr("`mirror` is not a list of tables"))
    return tuple(entries)


def _check_names(table: Table, known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            meant = (
                tr("did you mean `{name}`?", name=where + near[0])
                if near
                else tr("the keys are {keys}", keys=series(f"`{item}`" for item in known))
            )
            raise ValueError(tr("there is no key `{key}`: {help}", key=where + key, help=meant))
