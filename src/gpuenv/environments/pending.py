"""Whether a change of an environment is under way or was interrupted: looked at by what changes nothing."""

from __future__ import annotations

from gpuenv.environments import ledger
from gpuenv.environments.journal import is_half_done as is_journal_half_done
from gpuenv.environments.journal import read_journal
from gpuenv.model.errors import UsageError
from gpuenv.on_disk.places import EnvironmentPaths


def is_pending(environment: EnvironmentPaths) -> bool:
    """Tell whether a change is under way, or was left by a killed gpuenv.

    Raises UsageError where what tells of it is not our own.
    """
    return read_journal(environment) is not None or ledger.is_left(environment)


def is_half_done(environment: EnvironmentPaths) -> bool:
    """Tell whether what lies there now is neither what was before a change nor what it was to become.

    Looking at it tells nothing then. Raises UsageError where what tells of a change is not our own.
    """
    journal = read_journal(environment)
    return (journal is not None and is_journal_half_done(journal)) or ledger.begun(environment) is not None


def is_left_inside(environment: EnvironmentPaths) -> bool:
    """Tell whether a killed gpuenv has left a change inside an environment: it is one, whatever it lacks."""
    try:
        return ledger.begun(environment) is not None
    except UsageError:  # not our own
        return False


def is_at_work(environment: EnvironmentPaths) -> bool:
    """Tell whether another gpuenv is at work on the environment."""
    from gpuenv.environments.file_lock import locked  # noqa: PLC0415 - most places have no change to ask about

    try:
        with locked(environment, wait_s=0):
            return False
    except UsageError as error:
        return error.code == "environment-busy"
