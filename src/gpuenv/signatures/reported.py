"""What a text reports of the machine and the environment that it comes from: pure, and bounded in time.

Sessions in an interpreter, `nvidia-smi`, lists of packages, paths of a traceback: how each writes a fact is
a row of matrices/reports.json.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

from gpuenv.i18n.messages import tr

FailureKind = Literal["missing", "unbuilt"]

_START, _END = 64 << 10, 128 << 10  # letters that are looked at: versions are printed first, errors last
_MOST_GPUS = 64
_PACKAGE, _VERSION, _INSTALLED = "name", "version", "installed"
_GPU, _INDEX = "gpu", "index"
_FAILED: tuple[FailureKind, ...] = ("missing", "unbuilt")  # groups that name a package that failed
_MOST_FAILED = 64
_OTHER_GPU = "other_gpu_available"  # the fact that torch can use a GPU of Apple or Intel
_NO = ("False", "No", "0")
_MEANT_FOR_CPU = ("ci_runner", "no_gpu_said")  # facts of a machine that has no GPU on purpose

_SAID = {"driver_said": "driver", "python_said": "python", "platform_said": "platform"}  # in a sentence
_OF_LINUX = ("docker", "linux_path", "ubuntu", "wsl")  # facts beside which a named Windows is the host

_OF_PROCESS = re.compile(  # what torchrun and vLLM put before the lines of an error
    r"(?m)^(?:\[rank\d{1,5}\]: ?"
    r"|\([^()\n]{1,60}\bpid=\d+[^()\n]{0,60}\) (?:ERROR [\d-]{5,10} [\d:]{8} \[[^\]\n]{1,60}\] ?)?"
    r"(?=  |Traceback|[\w.]{1,60}(?:Error|Exception)\b))"
)

SYMPTOMS = ("available", "device_count")  # facts by which torch says whether it has a GPU


class FactPattern(Struct, frozen=True):
    """How one program writes facts: the named groups of its pattern are their names.

    `name` and `version` are a package that is installed, `installed` is a list of `name-version`, `gpu` is
    the name of a GPU, `index` its number. `missing` is a package that no index has as it was asked for,
    `unbuilt` one that was not built; the other groups are then facts of this failure too.
    """

    program: str
    regex: str
    needs: tuple[tuple[str, ...], ...]

    def may_match(self, lower: str) -> bool:
        """Whether a text, in lower case, has the words of a way to match."""
        return any(all(word in lower for word in way) for way in self.needs)

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when it is first needed."""
        return re.compile(self.regex, re.MULTILINE)


class ReportedFact(Struct, frozen=True):
    """A fact as it was written, and the line that it stands on, counted from 1."""

    value: str
    line: int


def read_parts(text: str) -> list[tuple[int, int]]:
    """Return what is looked at of a text, a long one's beginning and its end, as (start, end)."""
    if len(text) <= _START + _END:
        return [(0, len(text))]
    return [(0, _START), (len(text) - _END, len(text))]


class PackageFailure(Struct, frozen=True):
    """A package that an installer could not bring, with all that is said of that, and the lines of it."""

    kind: FailureKind
    package: str  # canonical
    facts: Mapping[str, str]
    first_line: int
    last_line: int


class Reported(Struct, frozen=True):
    """What a text reports: of each fact and package what it says last, and the GPUs in their order.

    `varied` are the facts of which it says several things: those of two interpreters, before and after.
    `failures` are the packages that failed, each once, in the order in which they are last named.
    """

    facts: Mapping[str, ReportedFact]
    packages: Mapping[str, ReportedFact]
    gpus: tuple[ReportedFact, ...]
    varied: frozenset[str] = frozenset()
    failures: tuple[PackageFailure, ...] = ()

    @property
    def values(self) -> dict[str, str]:
        """All facts, packages by their names, `torch_release`, `gpu_count`, and `gpus`, `varied` in words."""
        values = {name: fact.value for source in (self.packages, self.facts) for name, fact in source.items()}
        if "python" in values:
            values["python"] = re.sub(r"^3(?=\d{1,2}$)", "3.", values["python"])  # paths of Windows
        if "torch" in values:
            values["torch_release"] = values["torch"].partition("+")[0]
        count = str(len(self.gpus) or "")
        names = ", ".join(gpu.value for gpu in self.gpus)
        words = {"gpus": names, "gpu_count": count, "varied": " ".join(sorted(self.varied))}
        return values | {name: text for name, text in words.items() if text}

    def value(self, name: str) -> str | None:
        """Return what is reported of a fact, None where it is not."""
        fact = self.facts.get(name)
        return fact.value if fact else None


def parse_report(row: Mapping[str, Any]) -> FactPattern:
    r"""Parse one row of matrices/reports.json; raise ValueError.

    {"program": "nvidia-smi", "pattern": "Driver Version: (?P<driver>\\d{3}\\.[\\d.]+)",
     "needs": [["driver", "version"]], "sample": "...", "facts": {"driver": "535.129.03"}, "source": "..."}
    """
    try:
        return FactPattern(str(row["program"]), str(row["pattern"]), tuple(map(tuple, row["needs"])))
    except (KeyError, TypeError) as error:
        raise ValueError(tr("is not a valid row of reports: {error}", error=error)) from None


def read_reported(text: str, reports: Iterable[FactPattern]) -> Reported:
    """Return what a text reports; of a long one its beginning and its end are read."""
    facts: dict[str, tuple[int, str]] = {}
    packages: dict[str, tuple[int, str]] = {}
    gpus: dict[int, tuple[int, str]] = {}
    varied: set[str] = set()
    failed: dict[tuple[FailureKind, str], list[re.Match[str]]] = {}
    text = _without_processes(text)
    spans = read_parts(text)
    lower = "\n".join(text[start:end] for start, end in spans).lower()
    for report in reports:
        if not report.may_match(lower):
            continue
        for start, end in spans:
            for match in report.pattern.finditer(text, start, end):
                found = {name: value.strip() for name, value in match.groupdict().items() if value}
                _keep_packages(found, match.start(), packages)
                _keep_failed(found, match, failed)
                index = found.pop(_INDEX, None)
                if _GPU in found and len(gpus) < _MOST_GPUS:
                    gpus[int(index or 0)] = match.start(_GPU), found.pop(_GPU)
                for name, value in found.items():
                    if facts.get(name, (0, value))[1] != value:
                        varied.add(name)
                    if name not in facts or facts[name][0] <= match.start(name):
                        facts[name] = match.start(name), value
    _take_said(facts)
    lines = _LineNumbers(text, spans[-1][0])
    return Reported(
        {name: _placed(item, lines) for name, item in facts.items()},
        {name: _placed(item, lines) for name, item in packages.items()},
        tuple(_placed(gpus[index], lines) for index in sorted(gpus)),
        frozenset(varied),
        _failures(failed, lines),
    )


def _take_said(facts: dict[str, tuple[int, str]]) -> None:
    """Take what a person says of the machine in a sentence where no program prints it."""
    for said, name in _SAID.items():
        found = facts.pop(said, None)
        is_host = name == "platform" and any(fact in facts for fact in _OF_LINUX)
        if found and name not in facts and not is_host:
            facts[name] = found


def canonical(name: str) -> str:
    """Return the name of a package as PEP 503 has it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _without_processes(text: str) -> str:
    """Return a text without the names of processes before its lines, but that of the first of them."""
    named = text.find("pid=")
    if named < 0 and "[rank" not in text:
        return text
    kept = 0 if named < 0 else text.find("\n", named) + 1 or len(text)
    return text[:kept] + _OF_PROCESS.sub("", text[kept:])


def _keep_failed(
    found: Mapping[str, str],
    match: re.Match[str],
    failed: dict[tuple[FailureKind, str], list[re.Match[str]]],
) -> None:
    """Take what a match tells of a package that failed."""
    for kind in _FAILED:
        if kind in found and len(failed) < _MOST_FAILED:
            failed.setdefault((kind, canonical(found[kind])), []).append(match)


def _failures(
    failed: Mapping[tuple[FailureKind, str], list[re.Match[str]]], numbers: _LineNumbers
) -> tuple[PackageFailure, ...]:
    """Return each package that failed once, with what all the places that name it say."""
    failures = []
    for (kind, package), matches in failed.items():
        ordered = sorted(matches, key=re.Match.start)
        facts: dict[str, str] = {}
        for match in ordered:
            facts |= {name: value.strip() for name, value in match.groupdict().items() if value}
        first, last = ordered[0].start(kind), max(match.end() for match in ordered)
        failures.append((last, PackageFailure(kind, package, facts, numbers.of(first), numbers.of(last))))
    return tuple(failure for _, failure in sorted(failures, key=lambda item: item[0]))


def is_without_gpu(reported: Reported) -> bool:
    """Whether the text shows torch saying that it has no GPU, where there should be one."""
    has_card = bool(reported.gpus) or "driver" in reported.facts
    if not has_card and any(name in reported.facts for name in _MEANT_FOR_CPU):
        return False
    return any(reported.value(name) in _NO for name in SYMPTOMS)


def names_torch(reported: Reported) -> bool:
    """Whether a text tells its torch: a sentence will do beside a list of what it has code for."""
    listed = reported.facts.keys() >= {"torch_named", "architectures"}
    return listed or "torch" in reported.facts or "torch" in reported.packages


def uses_other_gpu(reported: Reported) -> bool:
    """Whether torch last says that it can use a GPU without CUDA: a build for the CPU put in later cannot."""
    said, torch = reported.facts.get(_OTHER_GPU), reported.facts.get("torch")
    if said is None or said.value != "True":
        return False
    return torch is None or not torch.value.endswith("+cpu") or torch.line < said.line


def _keep_packages(found: dict[str, str], at: int, packages: dict[str, tuple[int, str]]) -> None:
    """Take the packages out of what a match found."""
    pairs = [(name, found.pop(_VERSION, "")) for name in (found.pop(_PACKAGE, None),) if name]
    for item in found.pop(_INSTALLED, "").split():
        name, _, version = item.rpartition("-")
        pairs.append((name, version))
    if not pairs:
        return
    from packaging.utils import canonicalize_name  # noqa: PLC0415 - takes long to load; few texts need it

    for name, version in pairs:
        canonical = canonicalize_name(name)
        if name and version and (canonical not in packages or packages[canonical][0] <= at):
            packages[canonical] = at, version


class _LineNumbers:
    """Counts the lines up to a place, those before the end of a long text only once."""

    def __init__(self, text: str, end: int) -> None:
        self._text, self._end = text, end

    @cached_property
    def _before_end(self) -> int:
        return self._text.count("\n", 0, self._end)

    def of(self, at: int) -> int:
        if at < self._end:
            return self._text.count("\n", 0, at) + 1
        return self._before_end + self._text.count("\n", self._end, at) + 1


def _placed(item: tuple[int, str], lines: _LineNumbers) -> ReportedFact:
    at, value = item
    return ReportedFact(value, lines.of(at))
