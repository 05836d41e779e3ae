"""`gpuenv mirrors use` and `mirrors reset`: people's own configuration, changed and restored."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.environments.store import find_store
from gpuenv.files import config_files
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.locations import ConfigurationFolders, Scope
from gpuenv.indexes.mirrors.load import Mirrors, load_mirrors
from gpuenv.mirrors import undo_journal as journal
from gpuenv.mirrors.settings import (
    FORMATS,
    TOOLS,
    UseOptions,
    carries,
    chosen_mirror,
    precedence_warnings,
    put_back,
    wanted_settings,
)
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.mirror import Mirror, Tool
from gpuenv.model.plan import PlanWarning
from gpuenv.process.surroundings import find_executable
from gpuenv.secrets.url_credentials import has_userinfo, redact_credentials


class ConfigurationChange(Struct, frozen=True):
    """One file: what it holds and what it would; None where there is none."""

    tool: Tool
    path: Path
    before: bytes | None
    after: bytes | None
    settings: tuple[tuple[str, Any, Any], ...] = ()
    left: tuple[str, ...] = ()  # keys that were changed by hand since, and stay
    private: bool = False  # a password comes into a file of the user's own

    @property
    def diff(self) -> str:
        """The change as a unified diff, without the passwords in addresses: a terminal is looked at."""
        before, after = (
            redact_credentials((side or b"").decode("utf-8", "replace")).splitlines(keepends=True)
            for side in (self.before, self.after)
        )
        lines = difflib.unified_diff(before, after, fromfile=str(self.path), tofile=str(self.path))
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


class Changes(Struct, frozen=True):
    """What would be done, in all files, and what a reader should know of it."""

    mirror: str
    changes: tuple[ConfigurationChange, ...]
    warnings: tuple[PlanWarning, ...]


def plan_use(name: str, options: UseOptions, environ: Mapping[str, str]) -> Changes:
    """Return what using a mirror would change; raise UsageError for one that can't be used."""
    mirrors = load_mirrors(environ)
    mirror = chosen_mirror(name, options, mirrors)
    places = _places(environ)
    changes: list[ConfigurationChange] = []
    there = tuple(tool for tool in TOOLS if carries(mirror, tool) and _is_there(tool, options.scope, places))
    files = {"pip": places.pip_file, "uv": places.uv_file, "conda": places.conda_file}
    for tool in options.tools or there:
        path = files[tool](options.scope)
        if path is not None:
            change = _change(tool, path, mirror, mirrors)
            changes.append(replace(change, private=options.scope == "user" and _brings_secret(change)))
        elif options.tools:
            facts = {"tool": tool, "scope": options.scope}
            raise UsageError(
                tr("{tool} has no configuration file for the scope `{scope}`", **facts),
                code="no-such-scope",
                fixes=(Fix(tr("give --scope user")),),
            )
    warnings = (precedence_warnings(item.tool, item.path, options.scope, places) for item in changes)
    changed = tuple(change for change in changes if change.before != change.after)
    return Changes(mirror.name, changed, tuple(chain.from_iterable(warnings)))


def apply_use(planned: Changes, environ: Mapping[str, str]) -> None:
    """Write the files, all or none; what each held before is kept first."""
    directory = _directory(environ)
    for change in planned.changes:
        config_files.check_writable(change.path)
        _check_unchanged(change)
    done: list[tuple[ConfigurationChange, journal.SavedFile | None]] = []
    try:
        for change in planned.changes:
            done.append((change, journal.load(directory, change.path)))
            journal.keep(directory, _kept(change, planned.mirror, done[-1][1]))
            config_files.replace_bytes(change.path, change.after or b"", private=change.private)
    except UsageError:
        for change, earlier in done:
            _undo(directory, change, earlier)
        raise


def _undo(directory: Path, change: ConfigurationChange, earlier: journal.SavedFile | None) -> None:
    """Take back a change that others of the same command could not follow."""
    if config_files.read_bytes(change.path) == change.after:
        if change.before is None:
            config_files.remove(change.path)
        else:
            config_files.replace_bytes(change.path, change.before)
    if earlier is None:
        journal.forget(directory, change.path)
    else:
        journal.keep(directory, earlier)


def _check_unchanged(change: ConfigurationChange) -> None:
    if config_files.read_bytes(change.path) != change.before:
        raise UsageError(
            tr("`{file}` changed while it was read", file=change.path),
            code="settings-changed",
            fixes=(Fix(tr("check again")),),
        )


def plan_reset(tools: tuple[Tool, ...], environ: Mapping[str, str]) -> Changes:
    """Return what would restore the files that gpuenv changed."""
    entries = [file for file in journal.load_all(_directory(environ)) if not tools or file.tool in tools]
    return Changes("", tuple(_back(kept) for kept in entries), ())


def apply_reset(planned: Changes, environ: Mapping[str, str]) -> None:
    """Restore the files, then drop what was kept of them."""
    directory = _directory(environ)
    folders: list[Path] = []
    for change in planned.changes:
        _check_unchanged(change)
        kept = journal.load(directory, change.path)
        if change.after is None:
            config_files.remove(change.path)
            folders += kept.folders if kept else ()
        elif change.after != change.before:
            config_files.replace_bytes(change.path, change.after)
        journal.forget(directory, change.path)
    config_files.remove_folders(tuple(folders))


def _places(environ: Mapping[str, str]) -> ConfigurationFolders:
    try:
        home = Path.home()
    except RuntimeError:
        raise UsageError(
            tr("there is no home directory with a configuration to change"),
            code="no-home",
            fixes=(Fix(tr("set HOME, or give --scope environment")),),
        ) from None
    active = environ.get("VIRTUAL_ENV") or environ.get("CONDA_PREFIX")
    return ConfigurationFolders(environ, home, Path("/"), Path(active or sys.prefix), sys.platform)


def _is_there(tool: Tool, scope: Scope, places: ConfigurationFolders) -> bool:
    """Whether a tool is used here: pip and uv come with Python and gpuenv, conda need not be there."""
    if tool != "conda":
        return True
    path = any(find_executable(name, places.environ) for name in ("conda", "mamba", "micromamba"))
    named = places.environ.get("CONDA_EXE") or places.environ.get("MAMBA_EXE")
    return bool(path or named) or places.conda_file(scope).exists()


def _change(tool: Tool, path: Path, mirror: Mirror, mirrors: Mirrors) -> ConfigurationChange:
    before = config_files.read_bytes(path)
    text = config_files.decoded(path, before)
    form = FORMATS[tool]
    try:
        present = form.read_settings(text)
        wanted = wanted_settings(tool, mirror, present, mirrors.all)
        after = form.write_settings(text, wanted)
    except ValueError as error:
        raise _garbled(path, tool, error) from None
    settings = tuple((key, present.get(key), value) for key, value in wanted.items())
    return ConfigurationChange(tool, path, before, before if after == text else after.encode(), settings)


def _brings_secret(change: ConfigurationChange) -> bool:
    """Tell whether a password comes into a file: who could read the file could read it too."""
    before, after = ((side or b"").decode("utf-8", "replace") for side in (change.before, change.after))
    return has_userinfo(after) and not has_userinfo(before)


def _garbled(path: Path, tool: str, error: ValueError) -> UsageError:
    return UsageError(
        tr("`{file}` cannot be changed: {error}", file=path, error=reason_of(error)),
        code="settings-unusable",
        because=(Because(reason_of(error), str(path)),),
        fixes=(Fix(tr("fix it first: {tool} cannot read it either; nothing was changed", tool=tool)),),
    )


def _kept(change: ConfigurationChange, mirror: str, earlier: journal.SavedFile | None) -> journal.SavedFile:
    """What to keep: the oldest original counts, and of each key the value before the first change."""
    oldest = {key: before for key, before, _ in earlier.settings} if earlier else {}
    newest = {key: after for key, _, after in earlier.settings} if earlier else {}
    newest |= {key: after for key, _, after in change.settings}
    first = {key: before for key, before, _ in change.settings} | oldest
    return journal.SavedFile(
        path=change.path,
        tool=change.tool,
        mirror=mirror,
        when=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        original=earlier.original if earlier else change.before,
        written=config_files.digest(change.after or b""),
        settings=tuple((key, first[key], after) for key, after in newest.items()),
        folders=earlier.folders if earlier else config_files.missing_folders(change.path),
    )


def _back(kept: journal.SavedFile) -> ConfigurationChange:
    """What brings a file back: its former bytes if nobody touched it since, else its own keys alone."""
    now = config_files.read_bytes(kept.path)
    tool = kept.tool
    if now == kept.original or (now is not None and config_files.digest(now) == kept.written):
        return ConfigurationChange(tool, kept.path, now, kept.original)
    if now is None:  # removed by hand: there is nothing of ours left in it
        return ConfigurationChange(tool, kept.path, None, None)
    text = config_files.decoded(kept.path, now)
    form = FORMATS[tool]
    try:
        back, left = put_back(form.read_settings(text), kept.settings)
        after = form.write_settings(text, back) if back else text
    except ValueError as error:
        raise _garbled(kept.path, tool, error) from None
    return ConfigurationChange(tool, kept.path, now, after.encode("utf-8"), left=left)


def _directory(environ: Mapping[str, str]) -> Path:
    return Path(os.path.abspath(find_store(environ).root / "settings"))  # noqa: PTH100 - not through links
