"""Plan, and plan again without a mirror that failed, until one plan can be carried out or none is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gpuenv import matrices
from gpuenv.i18n.messages import series, tr
from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.indexes.mirrors.lookup import mirror_at
from gpuenv.model.errors import Because, GpuenvError, InstallFailed, Unreachable, Unsatisfiable
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.operations.fetch_stack import StackNotFetchedError, not_fetched
from gpuenv.planning.make_plan import make_plan
from gpuenv.planning.mirrors.sources import is_mirror, label_of
from gpuenv.planning.options import PlanOptions

if TYPE_CHECKING:
    from gpuenv.signatures.installer_faults import FoundFault

_MOST = 30  # plans; there are fewer mirrors


class MirrorFailure(Struct, frozen=True):
    """A mirror that failed: what it did wrong, and by what names a plan is made without it.

    The first of `keys` excludes as little as may be enough.
    """

    mirror: str
    problem: str
    keys: tuple[frozenset[str], ...]


class Fallback:
    """The plans of one command; each mirror is given up at most once."""

    def __init__(
        self,
        options: PlanOptions,
        mirrors: Mirrors,
        environ: Mapping[str, str],
        *,
        target: str,
        tell: Callable[[str], None],
        make: Callable[[PlanOptions], Plan] | None = None,
    ) -> None:
        self.options = options
        self._make = make
        self._mirrors = mirrors
        self._environ = environ
        self._target = target
        self._tell = tell
        self._blamed: list[MirrorFailure] = []

    @property
    def warnings(self) -> tuple[PlanWarning, ...]:
        """What was wrong with the mirrors that were given up."""
        return tuple(PlanWarning("mirror-given-up", _fault_text(failure)) for failure in self._blamed)

    def plan(self) -> Plan:
        """Return the first plan; raise what `make_plan` raises where no mirror is left to do without."""
        try:
            return self._plan(self.options)
        except (Unreachable, InstallFailed) as error:
            return self.again(error, None)

    def again(self, error: GpuenvError | StackNotFetchedError, failed: Plan | None) -> Plan:
        """Return another plan after `failed` could not be carried out (None: not made).

        Raises the error, with all that was tried, where no mirror is to blame or no other plan is left.
        """
        while True:
            mirror_failure = self._blame(error, failed)
            failure = error if isinstance(error, GpuenvError) else not_fetched(error, self._mirrors)
            if mirror_failure is None:
                raise self._with_trials(failure)
            self._blamed.append(mirror_failure)
            try:
                plan = self._another(mirror_failure, failed)
            except (Unreachable, InstallFailed) as worse:
                if self._blame(worse, None) is None or len(self._blamed) >= _MOST:
                    raise self._with_trials(failure) from None
                error, failed = worse, None
            except Unsatisfiable:
                raise self._with_trials(failure) from None
            else:
                if plan is None:
                    raise self._with_trials(failure)
                self._tell(self._instead(mirror_failure, plan))
                return plan

    def _plan(self, options: PlanOptions) -> Plan:
        if self._make is not None:
            return self._make(options)
        if options.from_lock is not None:
            from gpuenv.locks.plan_from_lock import plan_from_lock  # noqa: PLC0415 - only where there is a lock

            return plan_from_lock(options.from_lock, options, self._environ, target=self._target)
        return make_plan(options, self._environ, target=self._target)

    def _another(self, failure: MirrorFailure, failed: Plan | None) -> Plan | None:
        """Return a plan that reads other places, None where there is none."""
        for keys in failure.keys:
            options = replace(self.options, excluding=self.options.excluding | keys)
            if options == self.options:
                continue
            plan = self._plan(options)
            if failed is None or (plan.sources, plan.stack) != (failed.sources, failed.stack):
                self.options = options
                return plan
        return None

    def _blame(self, error: GpuenvError | StackNotFetchedError, failed: Plan | None) -> MirrorFailure | None:
        if isinstance(error, StackNotFetchedError):
            return self._blame_of_files(error)
        from gpuenv.signatures.installer_faults import (  # noqa: PLC0415 - after a failure alone
            MISSING,
            find_fault,
            parse_installer_fault,
        )

        faults = map(parse_installer_fault, matrices.load("installer-faults"))
        text = "\n".join(because.text for because in error.because)
        fault = find_fault(text, tuple(faults))
        url = self._blamed_url(fault, failed) if fault else None
        if fault is None or url is None:
            return None
        if fault.fault == MISSING and not is_mirror(url, self.options, self._mirrors):
            return None
        index = failed.sources.index_url if failed else None
        own = index if index and label_of(index, self._mirrors) == label_of(url, self._mirrors) else None
        return self._new(fault.problem, url, (frozenset({own}),) if own else ())

    def _blamed_url(self, fault: FoundFault, failed: Plan | None) -> str | None:
        if fault.url or fault.host:
            return fault.url or f"https://{fault.host}"
        return failed.sources.index_url if failed else None

    def _blame_of_files(self, error: StackNotFetchedError) -> MirrorFailure | None:
        urls = tuple(missed.place.index for missed in error.missed)
        problem = f"{error.file.filename} {error.missed[0].reason}"
        labels = series(dict.fromkeys(label_of(url, self._mirrors) for url in urls))
        keys = frozenset(key for url in urls for key in self._names(url))
        return MirrorFailure(labels, problem, (keys,)) if keys - self.options.excluding else None

    def _new(self, problem: str, url: str, keys: tuple[frozenset[str], ...]) -> MirrorFailure | None:
        label = label_of(url, self._mirrors)
        if any(failure.mirror == label and failure.problem == problem for failure in self._blamed):
            return None
        return MirrorFailure(label, problem, (*keys, frozenset(self._names(url)).union(*keys)))

    def _names(self, url: str) -> Iterable[str]:
        mirror = mirror_at(url, self._mirrors.all)
        return (mirror.name, url) if mirror else (url,)

    def _instead(self, failure: MirrorFailure, plan: Plan) -> str:
        indexes = (plan.sources.index_url, *(item.index for item in plan.packages))
        used = (label_of(index, self._mirrors) for index in indexes if index)
        names = series(dict.fromkeys(used))
        return tr("{fault}; trying again with {used}", fault=_fault_text(failure), used=names)

    def _with_trials(self, error: GpuenvError) -> GpuenvError:
        """Return the error with a reason for each mirror that was given up before."""
        known = {reason.text for reason in error.because}
        before = tuple(Because(_fault_text(failure), failure.mirror) for failure in self._blamed)
        error.because = (*error.because, *(reason for reason in before if reason.text not in known))
        return error


def _fault_text(failure: MirrorFailure) -> str:
    return tr("mirror {mirror}: {problem}", mirror=failure.mirror, problem=failure.problem)
