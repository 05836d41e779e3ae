"""`gpuenv bootstrap`: one script that makes a lab's environments on a bare machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from gpuenv import __version__
from gpuenv.core import render
from gpuenv.core.mirror_names import find_mirror
from gpuenv.core.render.bootstrap import TEMPLATE, render_bootstrap
from gpuenv.core.render.pylock import render_pylock
from gpuenv.core.render.toml import document, tables
from gpuenv.core.request import parse_cuda_option, parse_python
from gpuenv.environments.own_wheel import named_wheel, own_wheel
from gpuenv.managers import CONDA_MANAGERS
from gpuenv.values.bootstrap import (
    Bootstrap,
    CarriedWheel,
    HeldFile,
    Located,
    LockedWheel,
    ScriptEnvironment,
    Word,
)
from gpuenv.values.errors import Fix, UsageError
from gpuenv.values.plan import Warn
from gpuenv.values.python import PythonOffer
from gpuenv.values.system_words import reason_of
from gpuenv.values.text import tr
from gpuenv.values.userinfo import redact
from gpuenv.workflow.bootstrap_resolve import PLATFORMS
from gpuenv.workflow.bootstrap_sources import find_indexes, find_micromamba
from gpuenv.workflow.bootstrap_wheels import find_wheels
from gpuenv.workflow.conda_choice import conda_pythons
from gpuenv.workflow.lab import Lab, check_no_path, is_anywhere, lock_of, with_lab
from gpuenv.workflow.lock import read_lock
from gpuenv.workflow.locking import lock_plan
from gpuenv.workflow.mirrors import Mirrors, load_mirrors, own_tables
from gpuenv.workflow.options import PlanOptions
from gpuenv.workflow.plan import make_plan
from gpuenv.workflow.read import read_text
from gpuenv.workflow.requirements import gather_requirements, with_files_read

_PROJECT = "gpuenv"
_RELEASE = re.compile(r"(3\.\d+)(?:\.\d+)?")
_TARGET = ".venv"
_CONFIGURATION = "config.toml"
_DESCRIBING = ("machines", "machine_folder", "driver", "gpus", "platform", "glibc")


@dataclass(frozen=True, slots=True)
class BootstrapOptions:
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


@dataclass(frozen=True, slots=True)
class Script:
    """A script, the names of its environments, and what to tell of it.

    `gpuenv` is what it carries, `wheels` what that needs.
    """

    text: str
    gpuenv: CarriedWheel
    wheels: tuple[LockedWheel, ...]
    names: tuple[str, ...]
    warnings: tuple[Warn, ...]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One environment: its options with paths that hold here, `links` as they hold beside the script."""

    name: str
    options: PlanOptions
    links: tuple[str, ...]
    lock: Path | None
    verify: bool


@dataclass(frozen=True, slots=True)
class _Made:
    """One environment of the script's, and the release of Python that it asks for."""

    environment: ScriptEnvironment
    python: str | None


DEFAULT_NAME = "torch"


def make_bootstrap(
    typed: PlanOptions, chosen: BootstrapOptions, lab: Lab | None, environ: Mapping[str, str]
) -> Script:
    """Return a script for the environment that is asked for, or for all of a lab's.

    Without `pin` nothing is decided here: each machine decides for itself. Raises UsageError, and with `pin`
    Refused and Unreachable as a plan does.
    """
    environ = lab.variables(environ) if lab else environ
    mirrors = load_mirrors(environ)
    read = [(one, *with_files_read(one.options)) for one in _wanted(typed, chosen, lab)]
    wanted = tuple(replace(one, options=options) for one, options, _ in read)
    told = tuple(dict.fromkeys(warn for *_, warnings in read for warn in warnings))
    for one in wanted:
        _check(one, chosen)
    made = tuple(_make(one, number, chosen, environ) for number, one in enumerate(wanted, 1))
    first = _everywhere(typed, lab)
    indexes = tuple(dict.fromkeys(find_indexes(first.mirrors, mirrors)))
    gpuenv = _gpuenv(chosen.version, lab)
    needed = find_wheels(gpuenv.requires, indexes, first, mirrors, environ, carried=chosen.carried)
    channels, micromamba, unread = find_micromamba(first, mirrors, environ)
    asked = tuple(dict.fromkeys(one.python for one in made if one.python))
    script = Bootstrap(
        made_by=f"{_PROJECT} {__version__}",
        gpuenv=gpuenv,
        wheels=needed.wheels,
        indexes=indexes,
        channels=channels,
        micromamba=micromamba,
        pythons=_pythons(asked, needed.wheels),
        asked=asked if first.mirrors else (),
        launcher=chosen.launcher or bool(lab and lab.file.launcher),
        environments=tuple(one.environment for one in made),
        files=_configuration(wanted, lab, mirrors, environ),
    )
    text = render_bootstrap(script, (files(render) / TEMPLATE).read_text(encoding="utf-8"))
    secret = () if redact(str(script)) == str(script) else (_with_password(),)
    names = tuple(one.name for one in wanted)
    return Script(text, gpuenv, needed.wheels, names, (*told, *needed.warnings, *unread, *secret))


def _wanted(typed: PlanOptions, chosen: BootstrapOptions, lab: Lab | None) -> Iterator[_Wanted]:
    if lab is None:
        name = chosen.name or DEFAULT_NAME
        check_no_path(name)
        yield _Wanted(name, typed, typed.find_links, None, chosen.verify)
        return
    for name in (chosen.name,) if chosen.name else lab.names:
        asked, folder = lab.asked(name), lab.path.parent
        options = with_lab(typed, asked, folder)
        links = typed.find_links or asked.find_links or ()
        verify = chosen.verify and asked.verify is not False
        yield _Wanted(name, options, links, lock_of(typed, asked, folder), verify)


def _everywhere(typed: PlanOptions, lab: Lab | None) -> PlanOptions:
    """Return the options by which gpuenv itself, and a Python for it, are fetched."""
    return with_lab(typed, lab.file.everywhere, lab.path.parent) if lab else typed


def _check(one: _Wanted, chosen: BootstrapOptions) -> None:
    """Raise UsageError here for what would fail on each machine."""
    gather_requirements(one.options)
    parse_cuda_option(one.options.cuda)
    if one.options.python:
        parse_python(one.options.python)
    if not chosen.pin and any(getattr(one.options, name) for name in _DESCRIBING):
        raise UsageError(
            tr("the script decides on the machine that it runs on: a machine can't be described for it"),
            code="usage",
            fixes=(
                Fix(tr("decide here for that machine: --pin")),
                Fix(tr("or leave out what describes it, such as --driver and --gpu")),
            ),
        )


def _make(one: _Wanted, number: int, chosen: BootstrapOptions, environ: Mapping[str, str]) -> _Made:
    if chosen.pin or one.lock:
        held, words, python = _locked(one, number, environ)
    else:
        held, words = _decided_there(one, number)
        python = _asked_python(one.options)
    arguments = (*words, *_options(one), *(() if one.verify else ("--no-verify",)))
    return _Made(ScriptEnvironment(one.name, arguments, one.verify, held), python)


def _decided_there(one: _Wanted, number: int) -> tuple[tuple[HeldFile, ...], tuple[Word, ...]]:
    """Return the requirements, and an environment.yml that the script holds."""
    options = one.options
    words: tuple[Word, ...] = options.requirements
    if options.environment_file is None:
        return (), words
    file = _held(options.environment_file, f"{number}.environment.yml")
    return (file,), (*words, "-f", Located("files", file.name))


def _locked(
    one: _Wanted, number: int, environ: Mapping[str, str]
) -> tuple[tuple[HeldFile, ...], tuple[Word, ...], str | None]:
    """Return a lock that the script holds, the lab's own or that of a plan made here, and its Python."""
    name = f"{number}.pylock.toml"
    words = ("--from-lock", Located("files", name))
    if one.lock:
        asked = read_lock(one.lock).document.requires_python
        python = _fitting(asked) if asked else _asked_python(one.options)
        return (_held(one.lock, name),), words, python
    plan = make_plan(one.options, environ, target=_TARGET)
    return (HeldFile(name, render_pylock(lock_plan(plan, one.options, environ))),), words, plan.python


def _held(path: Path, name: str) -> HeldFile:
    try:
        return HeldFile(name, read_text(path))
    except (OSError, ValueError) as error:
        raise UsageError(
            tr("`{path}` can't be read: {reason}", path=path, reason=reason_of(error)), code="bad-file"
        ) from None


def _options(one: _Wanted) -> Iterator[Word]:
    """Yield the options that say how and from where."""
    options = one.options
    if options.python:
        yield from ("--python", options.python)
    for name in ("cuda", "manager", "channel"):
        value = getattr(options, name)
        if value != "auto":
            yield from (f"--{name}", value)
    for mirror in options.mirrors:
        yield from ("--mirror", mirror)
    for place in one.links:
        yield from ("--find-links", _beside(place))
    for device in options.devices:
        yield from ("--device", str(device))
    if options.offline:
        yield "--offline"


def _beside(place: str) -> Word:
    """A relative folder lies beside the script."""
    return place if is_anywhere(place) else Located("beside", place)


def _gpuenv(typed: str | None, lab: Lab | None) -> CarriedWheel:
    """Return the gpuenv that the script carries: this very one, since it knows the options in the script.

    A lab may name the wheel of another, which lies beside its file. Raises UsageError where this one is not
    the version that is asked for: no index can vouch for another.
    """
    if lab and lab.file.wheel and not typed:
        return named_wheel(lab.path.parent / lab.file.wheel)
    version = typed or (lab.file.version if lab else None)
    if version is not None and not _is_wanted(version):
        raise UsageError(
            tr("the script carries gpuenv {version}, which makes it, and {wanted} is asked for",
               version=__version__, wanted=version),
            code="another-gpuenv",
            fixes=(
                Fix(tr("make it with that gpuenv")),
                Fix(tr("or name its wheel in lab.toml, as `wheel` of `[gpuenv]`")),
            ),
        )  # fmt: skip
    return own_wheel()


def _is_wanted(version: str) -> bool:
    try:
        wanted = SpecifierSet(f"=={Version(version)}" if version[:1].isdigit() else version)
    except (InvalidSpecifier, InvalidVersion):
        raise UsageError(
            tr("`{version}` is no version of gpuenv, such as 0.1.0 or '>=0.1'", version=version),
            code="bad-version",
        ) from None
    return wanted.contains(__version__, prereleases=True)


def _asked_python(options: PlanOptions) -> str | None:
    """Return the release that an environment of wheels asks for; a conda tool brings its own."""
    text = (options.python or "").strip()
    if not text or options.manager in CONDA_MANAGERS:
        return None
    found = _RELEASE.fullmatch(text)
    return found[1] if found else _fitting(parse_python(text))


def _fitting(asked: SpecifierSet) -> str | None:
    return next((one.short for one in _usual_pythons() if asked.contains(f"{one.short}.99")), None)


def _usual_pythons() -> tuple[PythonOffer, ...]:
    return tuple(one for one in conda_pythons(PLATFORMS[0]) if not one.free_threaded)


def _pythons(asked: tuple[str, ...], wheels: tuple[LockedWheel, ...]) -> tuple[str, ...]:
    """Return what is brought where there is no Python: what is asked for, and one that can run gpuenv."""
    can_run = {target.partition("/")[0] for wheel in wheels for target in wheel.targets}
    if can_run & set(asked):
        return asked
    usual = tuple(one.short for one in _usual_pythons())
    return (*asked, next((one for one in usual if one in can_run), usual[0]))


def _configuration(
    wanted: tuple[_Wanted, ...], lab: Lab | None, mirrors: Mirrors, environ: Mapping[str, str]
) -> tuple[HeldFile, ...]:
    """Return the own mirrors that are named, which other machines do not know."""
    named = {
        mirror.name
        for one in wanted
        for word in one.options.mirrors
        if (mirror := find_mirror(word, mirrors.all))
    }
    own = frozenset(named & mirrors.own)
    if lab and lab.file.own_mirrors:
        entries = lab.file.own_mirrors
    else:
        entries = own_tables(environ, own) if own else ()
    return (HeldFile(_CONFIGURATION, document((), {"mirror": tables(entries)})),) if entries else ()


def _with_password() -> Warn:
    return Warn(
        "password-in-script", tr("the script holds a password: give it to nobody who may not know it")
    )
