"""Read a lab.toml (`--from`), and join what it asks for with what was typed."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.bootstrap.lab_toml import LabFile, LabOptions, parse_lab_file
from gpuenv.environments.store import check_name
from gpuenv.files.read_text import read_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import series, tr
from gpuenv.indexes.urls import is_remote
from gpuenv.installers import MANAGERS
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.planning.conda.choose import CHANNELS
from gpuenv.planning.options import PlanOptions
from gpuenv.untrusted.documents import load_toml

_CHOICES = {"manager": ("auto", *MANAGERS), "channel": CHANNELS}
_SAME = ("requirements", "python", "cuda", "manager", "channel", "mirrors", "devices", "offline")


class Lab(Struct, frozen=True):
    """A lab's file and where it lies."""

    path: Path
    file: LabFile

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its environments, in order."""
        return tuple(name for name, _ in self.file.environments)

    def options_of(self, name: str) -> LabOptions:
        """Return the options of an environment; raise UsageError for a name it does not have."""
        options = dict(self.file.environments).get(name)
        if options is None:
            raise self._unknown(name)
        return options

    def variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the variables under which the lab's own mirrors are known: the file stands in for ours."""
        own = {"GPUENV_CONFIG": str(self.path)} if self.file.own_mirrors else {}
        return {**environ, **own}

    def _unknown(self, name: str) -> UsageError:
        near = get_close_matches(name, self.names, n=1)
        names = series(f"`{item}`" for item in self.names)
        text = (
            tr("did you mean `{name}`?", name=near[0])
            if near
            else tr("its environments are {names}", names=names)
        )
        return UsageError(
            tr("{file} has no environment `{name}`", file=self.path, name=name),
            code="unknown-environment",
            fixes=(Fix(text),),
        )


def read_lab(path: Path) -> Lab:
    """Return a lab's file; raise UsageError for one that can't be read or says what it can't mean."""
    try:
        file = parse_lab_file(load_toml(read_text(path)))
        for name, options in (*file.environments, ("", file.everywhere)):
            _check_choices(options, f"environments.{name}." if name else "")
    except (OSError, ValueError, RecursionError) as error:
        reason = reason_of(error)
        raise UsageError(
            tr("`{path}` cannot be read: {reason}", path=path, reason=reason),
            code="bad-lab-file",
            because=(Because(reason, str(path)),),
        ) from None
    for name, _ in file.environments:
        check_no_path(name)
    return Lab(path.absolute(), file)


def check_no_path(name: str) -> None:
    """Raise UsageError for what names no environment; a path, which `create` takes, does not either."""
    try:
        check_name(name)
    except UsageError as error:
        *fixes, _or_a_path = error.fixes
        raise UsageError(error.message, code=error.code, fixes=tuple(fixes)) from None


def _check_choices(options: LabOptions, where: str) -> None:
    for key, choices in _CHOICES.items():
        value = getattr(options, key)
        if value is not None and value not in choices:
            raise ValueError(tr("`{key}` is not one of {choices}", key=where + key, choices=series(choices)))


def with_lab(typed: PlanOptions, options: LabOptions, folder: Path) -> PlanOptions:
    """Return the options of an environment of a lab's; what was typed goes before what the file says.

    The file's paths are relative to its folder.
    """
    usual = PlanOptions()
    given = {name: value for name in _SAME if (value := getattr(options, name)) is not None}
    given["requirement_files"] = tuple(folder / item for item in options.requirement_files or ())
    given["find_links"] = tuple(
        item if is_anywhere(item) else str(folder / item) for item in options.find_links or ()
    )
    given["environment_file"] = folder / options.environment_file if options.environment_file else None
    if typed.requirements or typed.requirement_files or typed.environment_file:
        for name in ("requirements", "requirement_files", "environment_file"):
            given.pop(name, None)
    defaults = {
        name: given[name]
        for name in PlanOptions.__struct_fields__
        if name in given and getattr(typed, name) == getattr(usual, name)
    }
    return replace(typed, **defaults)


def lock_of(typed: PlanOptions, options: LabOptions, folder: Path) -> Path | None:
    """Return the lock that a lab's environment is made from, None where something else was typed."""
    typed_otherwise = typed.requirements or typed.requirement_files or typed.environment_file
    return folder / options.lock if options.lock and not typed_otherwise else None


def is_anywhere(location: str) -> bool:
    """Whether a wheelhouse is named alike from everywhere: an address, or a whole path."""
    return is_remote(location) or location.lower().startswith("file:") or Path(location).is_absolute()
