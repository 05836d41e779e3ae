"""`gpuenv mirrors check`: which mirrors answer, hold the files of the plan, and how fast they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name

from gpuenv.http import HttpClient
from gpuenv.http.errors import limits_of
from gpuenv.i18n.messages import series, tr
from gpuenv.indexes.mirrors.load import Mirrors, load_mirrors
from gpuenv.indexes.mirrors.lookup import mirror_of_url
from gpuenv.indexes.mirrors.measurements import (
    MeasuredMirror,
    Memory,
    Speed,
    address_of,
    read_memory,
    remember,
)
from gpuenv.indexes.mirrors.probe import Probe, ProbeLimits, probe_mirrors
from gpuenv.indexes.mirrors.verdict import (
    MirrorStatus,
    ProbeResult,
    by_rank,
    judge,
    lengths_agreed,
    not_asked,
)
from gpuenv.indexes.mirrors.wanted_files import WantedFiles, file_to_read
from gpuenv.indexes.urls import is_remote
from gpuenv.mirrors.choose_files import sought_files
from gpuenv.model.errors import Because, Fix, Unreachable, Unsatisfiable
from gpuenv.model.index import IndexSource
from gpuenv.model.mirror import Mirror, PypiPart, TorchPart
from gpuenv.model.variant import Variant
from gpuenv.planning.mirrors.choose import named_source
from gpuenv.planning.mirrors.sources import SourceContext, pypi_source, torch_sources
from gpuenv.planning.pages.listings import choose_sources
from gpuenv.secrets.url_credentials import redact_credentials

_PACE = ProbeLimits()
_CONNECT_S = 5.0
_OFFICIAL = "official"
_OWN = "own"
_TORCH = canonicalize_name("torch")
Follow = Callable[[str, int, int], None]  # a mirror's name, how many are done, of how many


class CheckOptions(Struct, frozen=True):
    """Mirrors by `names` or addresses (none: all), the one file `asked_for`, whether to measure `again`."""

    names: tuple[str, ...] = ()
    asked_for: str | None = None
    again: bool = False


class CheckedMirrors(Struct, frozen=True):
    """The verdicts, the best first; `files` is what was looked for, `remembered` who was not asked again."""

    verdicts: tuple[MirrorStatus, ...]
    files: tuple[str, ...]
    remembered: frozenset[str]

    @property
    def answering(self) -> bool:
        """Whether any mirror answers."""
        return any(status.answers for status in self.verdicts)

    @property
    def holding(self) -> bool:
        """Whether any mirror has the files whole."""
        return any(status.has for status in self.verdicts)


def check_mirrors(options: CheckOptions, environ: Mapping[str, str], follow: Follow) -> CheckedMirrors:
    """Ask the mirrors, side by side; raise UsageError for a name or a file that means nothing."""
    mirrors = load_mirrors(environ)
    pairs = ((name, name.strip()) for name in options.names)
    named = (_at(bare, mirrors) if is_remote(bare) else mirrors.find(name) for name, bare in pairs)
    chosen = tuple({mirror.name: mirror for mirror in (named if options.names else mirrors.all)}.values())
    wanted = sought_files(options.asked_for, mirrors.find(_OFFICIAL), environ)
    memory = Memory() if options.again else read_memory(environ)
    measured_today = {mirror.name: memory.verdict_of(mirror, wanted.label) for mirror in chosen}
    # those that were well; the others may have been mended
    known = {name: status for name, status in measured_today.items() if status and status.bytes_per_s}
    requested = tuple(mirror for mirror in chosen if mirror.name not in known and not_asked(mirror) is None)
    measured = _measured(requested, wanted, mirrors, environ, follow)
    _remember(requested, measured, wanted, environ)
    passed = {mirror.name: verdict for mirror in chosen if (verdict := not_asked(mirror))}
    verdicts = {**known, **measured, **passed}
    return CheckedMirrors(
        by_rank(verdicts[mirror.name] for mirror in chosen),
        tuple(target.filename for target in wanted.groups[0]),
        frozenset(known),
    )


def _at(url: str, mirrors: Mirrors) -> Mirror:
    """The mirror of an address as it is given, with what is known of the one that it is on."""
    source = named_source(url, "--mirror", "mirror")
    known = mirror_of_url(url, mirrors.all)
    made = Mirror(redact_credentials(source.url), redact_credentials(source.url), _OWN, "alive", "--mirror")
    if known is not None:
        made = replace(made, status=known.status, hosts=known.hosts, missing_status=known.missing_status)
    if source.kind == "flat":
        return replace(made, torch=TorchPart(source.url, "page", hashes=False))
    if source.kind != "pytorch":
        return replace(made, pypi=PypiPart(source.url))
    folder = source.url.rpartition("/")[2]
    address = source.url if Variant(folder).is_known else f"{source.url}/{{variant}}"
    return replace(made, torch=TorchPart(address, "pep503", hashes=False))


def _measured(
    mirrors: tuple[Mirror, ...],
    wanted: WantedFiles,
    everything: Mirrors,
    environ: Mapping[str, str],
    follow: Follow,
) -> dict[str, MirrorStatus]:
    configuration, _ = choose_sources((), environ)
    context = SourceContext(everything, configuration, wanted.variants, environ)
    probes = [_probe(mirror, wanted, context) for mirror in mirrors]
    readings: dict[int, ProbeResult] = {}
    limits = replace(limits_of(environ), connect_s=_CONNECT_S, whole_s=_PACE.whole_s)
    with HttpClient(environ, access=configuration.access, limits=limits, fresh=True) as client:
        for position, reading in probe_mirrors(probes, client, _PACE):
            readings[position] = reading
            follow(mirrors[position].name, len(readings), len(mirrors))
    official = next((offset for offset, mirror in enumerate(mirrors) if mirror.name == _OFFICIAL), -1)
    lengths = lengths_agreed(readings.values(), readings.get(official))
    verdicts = (judge(mirrors[offset], reading, wanted, lengths) for offset, reading in readings.items())
    redacted = (
        replace(status, problem=redact_credentials(status.problem or "") or None) for status in verdicts
    )
    now = time.time()
    return {status.name: replace(status, measured_at=now) for status in redacted}


def _probe(mirror: Mirror, wanted: WantedFiles, context: SourceContext) -> Probe:
    """Torch's pages in the folder of the newest release, those of all the files in the others."""
    origin = tr("mirror {name}", name=mirror.name)
    targets = tuple(chain.from_iterable(wanted.groups))
    projects = tuple(dict.fromkeys((_TORCH, *(target.project for target in targets))))
    own = {target.variant for target in targets}
    pages: list[tuple[IndexSource, tuple[NormalizedName, ...]]] = []
    for number, source in enumerate(torch_sources(mirror, context, origin)):
        needed = number >= len(wanted.variants) or wanted.variants[number] in own
        pages += _pages(source, mirror, projects if needed else (_TORCH,))
    pypi = pypi_source(mirror, context, origin)
    if pypi is not None:
        pages += _pages(pypi, mirror, projects)
    return Probe(tuple(pages), partial(file_to_read, wanted))


def _pages(
    source: IndexSource, mirror: Mirror, projects: tuple[NormalizedName, ...]
) -> list[tuple[IndexSource, tuple[NormalizedName, ...]]]:
    """One page for all projects where a source has one listing, else one for each."""
    if source.kind == "flat":
        return [(source, projects)]
    # a mirror that is given by its address may be an index or one page
    source = replace(source, maybe_flat=is_remote(mirror.name))
    return [(source, (name,)) for name in projects]


def _remember(
    mirrors: tuple[Mirror, ...],
    measured: Mapping[str, MirrorStatus],
    wanted: WantedFiles,
    environ: Mapping[str, str],
) -> None:
    results = [(address_of(mirror), measured[mirror.name]) for mirror in mirrors]
    speeds = [Speed(it.name, address, it.measured_at or 0, it.bytes_per_s or 0) for address, it in results]
    remember(environ, speeds, [MeasuredMirror(address, wanted.label, status) for address, status in results])


def raise_unless_served(
    checked: CheckedMirrors, options: CheckOptions, data: dict[str, object], *, shown: bool
) -> None:
    """Raise Unreachable where no mirror answers, Unsatisfiable where none has the file.

    Each mirror's problem is a reason, unless it is `shown` already.
    """
    because = tuple(
        Because(tr("`{name}`: {problem}", name=status.name, problem=status.problem), "mirrors check")
        for status in checked.verdicts
        if status.problem and not shown
    )
    if not checked.answering:
        fix = Fix(tr("check the network, and the proxy variables"))
        if all(status.measured_at is None for status in checked.verdicts):
            fix = Fix(tr("see what is available"), "gpuenv mirrors list")
        message = tr("no mirror responds")
        raise Unreachable(message, code="mirrors-down", because=because, fixes=(fix,), data=data)
    if options.asked_for is not None and not checked.holding:
        raise Unsatisfiable(
            tr("no responding mirror has {file} complete", file=series(checked.files)),
            code="mirrors-without-file",
            because=because,
            fixes=(Fix(tr("check the files of this machine's plan"), "gpuenv mirrors check"),),
            data=data,
        )
