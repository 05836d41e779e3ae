"""`gpuenv bootstrap`: one script that makes a lab's environments on a bare machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gpuenv import __version__
from gpuenv.bootstrap.build_wheel import choose_gpuenv
from gpuenv.bootstrap.lab import Lab, check_no_path, is_anywhere, lock_of, with_lab
from gpuenv.bootstrap.model import (
    BesideFile,
    Bootstrap,
    CarriedWheel,
    HeldFile,
    ScriptEnvironment,
    ScriptPath,
    Word,
)
from gpuenv.bootstrap.render import TEMPLATE, render_bootstrap
from gpuenv.bootstrap.resolve import asked_python, fitting_python, pythons_to_bring
from gpuenv.bootstrap.sources import files_of_lock, files_of_plan, find_indexes, find_micromamba
from gpuenv.bootstrap.wheels import find_wheels
from gpuenv.bootstrap.without_secrets import script_without_secrets
from gpuenv.files.read_text import read_text
from gpuenv.formats.pylock import render_pylock
from gpuenv.formats.toml import document, tables
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.mirrors.load import Mirrors, load_mirrors, own_tables
from gpuenv.indexes.mirrors.lookup import find_mirror
from gpuenv.locks.lock_plan import lock_plan
from gpuenv.locks.read import read_lock
from gpuenv.model.access import Access
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.plan import PlanWarning
from gpuenv.planning.make_plan import make_plan
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.listings import configuration_for
from gpuenv.planning.requirements import gather_requirements, with_files_read
from gpuenv.resolution.request import parse_cuda_option, parse_python

_PROJECT = "gpuenv"
_TARGET = ".venv"
_CONFIGURATION = "config.toml"
_FROM_BESIDE: tuple[Word, ...] = ("--find-links", ScriptPath("beside", "wheels"), "--offline")
_DESCRIBING = (
    "machines", "machine_folder", "driver", "gpus", "platform", "glibc", "macos", "l4t", "jetpack", "cann",
    "amdgpu", "wsl",
)  # fmt: skip


class BootstrapOptions(Struct, frozen=True):
    """What a script is asked for beside the options of its environments.

    `name` is that of the one environment, of a lab's file the one to take; `pin` decides here what is
    installed there; `version` is what the gpuenv that makes it must be, such as `0.1.0` or `>=0.1`; `carried`
    tells that what the script needs will lie beside it.
    """

    name: str | None
    pin: bool
    version: str | None
    launcher: bool
    verify: bool
    carried: bool = False


class Script(Struct, frozen=True):
    """A script, the names of its environments, and what to tell of it.

    `gpuenv` is what it carries. `beside` are the files that it needs from elsewhere: those of gpuenv's, and
    those of the environments `pinned`, which are not decided on the machine.
    """

    text: str
    gpuenv: CarriedWheel
    beside: tuple[BesideFile, ...]
    pinned: tuple[str, ...]
    access: Access
    names: tuple[str, ...]
    warnings: tuple[PlanWarning, ...]


class _Wanted(Struct, frozen=True):
    """One environment: its options with paths that hold here, `links` as they hold beside the script."""

    name: str
    options: PlanOptions
    links: tuple[str, ...]
    lock: Path | None
    verify: bool


class _Made(Struct, frozen=True):
    """One environment of the script's, the release of Python it asks for, and its files if they are known."""

    environment: ScriptEnvironment
    python: str | None
    beside: tuple[BesideFile, ...] | None = None


DEFAULT_NAME = "torch"


def make_bootstrap(
    typed: PlanOptions, chosen: BootstrapOptions, lab: Lab | None, environ: Mapping[str, str]
) -> Script:
    """Return a script for the environment that is asked for, or for all of a lab's.

    Without `pin` nothing is decided here: each machine decides for itself. Raises UsageError, and with `pin`
    Unsatisfiable and Unreachable as a plan does.
    """
    environ = lab.variables(environ) if lab else environ
    mirrors = load_mirrors(environ)
    read = [(file, *with_files_read(file.options)) for file in _wanted(typed, chosen, lab)]
    wanted = tuple(replace(file, options=options) for file, options, _ in read)
    reported = tuple(dict.fromkeys(warn for *_, warnings in read for warn in warnings))
    for item in wanted:
        _check(item, chosen)
    made = tuple(_make(file, number, chosen, environ) for number, file in enumerate(wanted, 1))
    first = with_lab(typed, lab.file.everywhere, lab.path.parent) if lab else typed  # for gpuenv itself
    indexes = tuple(dict.fromkeys(find_indexes(first.mirrors, mirrors)))
    gpuenv = choose_gpuenv(chosen.version, lab)
    needed = find_wheels(gpuenv.requires, indexes, first, mirrors, environ, carried=chosen.carried)
    channels, micromamba, unread = find_micromamba(first, mirrors, environ)
    requested = tuple(dict.fromkeys(pair.python for pair in made if pair.python))
    script = Bootstrap(
        made_by=f"{_PROJECT} {__version__}",
        gpuenv=gpuenv,
        wheels=needed.wheels,
        indexes=indexes,
        channels=channels,
        micromamba=micromamba,
        pythons=pythons_to_bring(requested, needed.wheels),
        asked=requested if first.mirrors else (),
        launcher=chosen.launcher or bool(lab and lab.file.launcher),
        environments=tuple(pair.environment for pair in made),
        files=_configuration(wanted, lab, mirrors, environ),
    )
    script, secret = script_without_secrets(script)
    text = render_bootstrap(script, files("gpuenv.bootstrap").joinpath(TEMPLATE).read_text(encoding="utf-8"))
    names = tuple(file.name for file in wanted)
    needs = (BesideFile(it.filename, it.sha256, it.size, (it.url,) if it.url else ()) for it in needed.wheels)
    pinned = tuple(it for it in made if it.beside is not None)
    every = (*needs, *(file for it in pinned for file in it.beside or ()))
    beside = tuple({file.filename: file for file in every}.values())
    own = tuple(it.environment.name for it in pinned)
    access = configuration_for(first, environ).access
    return Script(text, gpuenv, beside, own, access, names, (*reported, *needed.warnings, *unread, *secret))


def _wanted(typed: PlanOptions, chosen: BootstrapOptions, lab: Lab | None) -> Iterator[_Wanted]:
    if lab is None:
        name = chosen.name or DEFAULT_NAME
        check_no_path(name)
        yield _Wanted(name, typed, typed.find_links, None, chosen.verify)
        return
    for name in (chosen.name,) if chosen.name else lab.names:
        lab_options, folder = lab.options_of(name), lab.path.parent
        options = with_lab(typed, lab_options, folder)
        links = typed.find_links or lab_options.find_links or ()
        verify = chosen.verify and lab_options.verify is not False
        yield _Wanted(name, options, links, lock_of(typed, lab_options, folder), verify)


def _check(file: _Wanted, chosen: BootstrapOptions) -> None:
    """Raise UsageError here for what would fail on each machine."""
    gather_requirements(file.options)
    parse_cuda_option(file.options.cuda)
    if file.options.python:
        parse_python(file.options.python)
    if not chosen.pin and any(getattr(file.options, name) for name in _DESCRIBING):
        raise UsageError(
            tr("the script decides on the machine where it runs, so a machine cannot be described for it"),
            code="usage",
            fixes=(
                Fix(tr("decide now for that machine: --pin")),
                Fix(tr("or omit what describes the machine, such as --driver and --gpu")),
            ),
        )


def _make(file: _Wanted, number: int, chosen: BootstrapOptions, environ: Mapping[str, str]) -> _Made:
    beside = None
    if chosen.pin or file.lock:
        held, words, python, beside = _locked(file, number, environ)
    else:
        held, words = _decided_there(file, number)
        python = asked_python(file.options)
    carried = chosen.carried and beside is not None
    if carried:
        file = replace(file, options=replace(file.options, mirrors=(), offline=False), links=())
    where = _FROM_BESIDE if carried else ()
    arguments = (*words, *_options(file), *where, *(() if file.verify else ("--no-verify",)))
    return _Made(ScriptEnvironment(file.name, arguments, file.verify, carried, held), python, beside)


def _decided_there(wanted: _Wanted, number: int) -> tuple[tuple[HeldFile, ...], tuple[Word, ...]]:
    """Return the requirements, and an environment.yml that the script holds."""
    options = wanted.options
    words: tuple[Word, ...] = options.requirements
    if options.environment_file is None:
        return (), words
    file = _held(options.environment_file, f"{number}.environment.yml")
    return (file,), (*words, "-f", ScriptPath("files", file.name))


def _locked(
    file: _Wanted, number: int, environ: Mapping[str, str]
) -> tuple[tuple[HeldFile, ...], tuple[Word, ...], str | None, tuple[BesideFile, ...]]:
    """Return a lock that the script holds, the lab's own or of a plan made here, its Python and its files."""
    name = f"{number}.pylock.toml"
    words = ("--from-lock", ScriptPath("files", name))
    if file.lock:
        document = read_lock(file.lock).document
        specifiers = document.requires_python
        python = fitting_python(specifiers) if specifiers else asked_python(file.options)
        return (_held(file.lock, name),), words, python, tuple(files_of_lock(document))
    plan = make_plan(file.options, environ, target=_TARGET)
    locked = lock_plan(plan, file.options, environ)
    return (HeldFile(name, render_pylock(locked)),), words, plan.python, tuple(files_of_plan(locked))


def _held(path: Path, name: str) -> HeldFile:
    try:
        return HeldFile(name, read_text(path))
    except (OSError, ValueError) as error:
        raise UsageError(
            tr("`{path}` cannot be read: {reason}", path=path, reason=reason_of(error)), code="bad-file"
        ) from None


def _options(file: _Wanted) -> Iterator[Word]:
    """Yield the options that say how and from where."""
    options = file.options
    if options.python:
        yield from ("--python", options.python)
    for name in ("cuda", "manager", "channel"):
        value = getattr(options, name)
        if value != "auto":
            yield from (f"--{name}", value)
    for mirror in options.mirrors:
        yield from ("--mirror", mirror)
    for link in file.links:
        yield from ("--find-links", link if is_anywhere(link) else ScriptPath("beside", link))
    for device in options.devices:
        yield from ("--device", str(device))
    if options.offline:
        yield "--offline"


def _configuration(
    wanted: tuple[_Wanted, ...], lab: Lab | None, mirrors: Mirrors, environ: Mapping[str, str]
) -> tuple[HeldFile, ...]:
    """Return the own mirrors that are named, which other machines do not know."""
    named = {
        mirror.name
        for file in wanted
        for word in file.options.mirrors
        if (mirror := find_mirror(word, mirrors.all))
    }
    own = frozenset(named & mirrors.own)
    if lab and lab.file.own_mirrors:
        entries = lab.file.own_mirrors
    else:
        entries = own_tables(environ, own) if own else ()
    return (HeldFile(_CONFIGURATION, document((), {"mirror": tables(entries)})),) if entries else ()
