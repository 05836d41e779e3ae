"""Finish an environment: pip is installed, and its torch stack held."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gpuenv.concurrency.background import BackgroundTask
from gpuenv.environments.contents.constraints_file import hold_stack, without_hold
from gpuenv.environments.contents.seed_pip import seed_pip
from gpuenv.environments.store import is_path
from gpuenv.i18n.messages import tr
from gpuenv.model.plan import Plan
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.planning.own_constraints import own_pip_constraints


@contextmanager
def settling(
    environment: EnvironmentPaths, plan: Plan, environ: Mapping[str, str], tell: Callable[[str], None]
) -> Iterator[None]:
    """Install pip while the caller looks at what is installed, and hold the torch stack in the end.

    Where the caller raises, nothing is installed any more afterwards. Raises OSError where something cannot
    be written.
    """
    seeding = BackgroundTask(lambda: seed_pip(environment.path, plan.python, plan.sources, environ))
    try:
        yield
        hold_stack(environment.path, word_for(environment))
    except BaseException:
        seeding.wait()
        raise
    if not seeding.result():
        tell(tr("it has no pip: neither its Python nor an index provides one"))


def word_for(environment: EnvironmentPaths) -> str:
    """Return the name of an environment for a command line in any folder."""
    return shlex.quote(str(environment.path) if is_path(environment.name) else environment.name)


def lifted(environ: Mapping[str, str], root: Path) -> dict[str, str]:
    """Return the variables with which an installer may change the torch stack of an environment.

    What constraints the user has configured pip with still count.
    """
    return without_hold(environ, root, own_pip_constraints(environ, root))
