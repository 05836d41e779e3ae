"""The day on which a project's files last changed, from git; nothing that a checkout configures is run."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from gpuenv.host.executables import find_executable
from gpuenv.process.subprocesses import run

_LIMIT_S = 5.0
_MOST = 8  # files that are looked up
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
# A checkout's own configuration can name programs: hooks, a monitor, a pager, gpg, a transport that fetches
# what a partial clone lacks. https://git-scm.com/docs/git-config
_SAFELY = (
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.allow=never"),
    *("-c", "log.showSignature=false"),
    *("-c", "safe.bareRepository=explicit"),
    "--no-pager",
    "--literal-pathspecs",
    "--no-replace-objects",
)
_ASKING_NOTHING = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "LC_ALL": "C",
}


def last_changed(files: tuple[Path, ...], environ: Mapping[str, str]) -> str | None:
    """Return the day of the last commit that touched any of the files, `2020-03-14`; None without git."""
    git = find_executable("git", environ)
    if git is None:
        return None
    own = {name: value for name, value in environ.items() if not name.startswith("GIT_")} | _ASKING_NOTHING
    return max(filter(None, (_day(git, file, own) for file in files[:_MOST])), default=None)


def _day(git: Path, file: Path, environ: Mapping[str, str]) -> str | None:
    """Read `2020-03-14T10:21:07+01:00`, of which the day is the committer's own."""
    log = ("log", "-1", "--no-show-signature", "--format=%cI", "--", file.name)
    argv = [str(git), "-C", str(file.absolute().parent), *_SAFELY, *log]
    done = run(argv, timeout_s=_LIMIT_S, environ=environ)
    match = _DAY.match(done.stdout) if done.ok else None
    return match[0] if match else None
