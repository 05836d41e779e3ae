"""Checks of the build: whether its files are whole, and run with this system, driver and GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import Version

from gpuenv.checks import queries
from gpuenv.checks.outcome import Outcome, check, ok, problem, skipped, warning
from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.capability import Architecture, parse_architecture
from gpuenv.model.findings import Dist, Findings
from gpuenv.model.wheel import IndexKind
from gpuenv.resolution.rules.driver import is_native, least_driver, runs
from gpuenv.resolution.rules.gpu_code import code_in
from gpuenv.resolution.target import driver_os

_LITTLE_ROOM = 200 * 1000 * 1000
_REPAIRED = ("torch", "torchvision", "torchaudio", "triton")
_MANYLINUX = re.compile(r"manylinux_(\d{1,2})_(\d{1,3})_")
_OLD_MANYLINUX = {"manylinux2014": "2.17", "manylinux2010": "2.12", "manylinux1": "2.5"}


def damaged(findings: Findings) -> tuple[str, ...]:
    """Return the names of the distributions whose files are not as their RECORD says, torch first."""
    names = [dist.name for dist in findings.dists if dist.missing or dist.changed or dist.problem]
    names += [dists[0].name for dists in _installed_over(findings)]
    names += ["torch"] if findings.torch and findings.torch.problem else []
    return tuple(sorted(dict.fromkeys(names), key=lambda name: (name not in _REPAIRED, name)))


@check("D44")  # an installation that was cut short, and disks that are full
def damaged_files(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare the files of the torch stack with their RECORD; look for leftovers and for room."""
    if findings.unread and not queries.works(findings):
        return skipped(tr("not all of this environment can be read by this user"))
    parts = (_of_torch, _over_others, _of_dists, _traces)
    return next(filter(None, (judge(findings) for judge in parts)), None) or _room(findings)


def _over_others(findings: Findings) -> Outcome | None:
    for dists in _installed_over(findings):
        # where it works all the same: what asks which version is installed gets either
        versions = series(dist.version or "?" for dist in dists)
        return problem("over-another", versions, name=dists[0].name, versions=versions, place=dists[0].place)
    return None


def _installed_over(findings: Findings) -> Iterator[tuple[Dist, ...]]:
    """Yield the records of one name that lie beside each other, as no installer leaves them on purpose."""
    for name, location in dict.fromkeys((dist.name, dist.place) for dist in findings.dists):
        dists = tuple(dist for dist in queries.dists_of(findings, name) if dist.place == location)
        # conda's beside pip's are told as mixed
        own = location in findings.python.packages and all(dist.installer != "conda" for dist in dists)
        if name in _REPAIRED and own and len({dist.version for dist in dists}) > 1:
            yield dists


def _of_dists(findings: Findings) -> Outcome | None:
    for dist in findings.dists:
        if dist.problem and dist.name in _REPAIRED:
            return problem("metadata", dist.problem, name=dist.name, reason=dist.problem)
        if dist.missing:
            # images are often made smaller by deleting what is not needed
            make = warning if queries.works(findings) else problem
            read = tr("{count} files missing", count=dist.missing)
            return make("missing", read, name=dist.name, count=dist.missing, example=dist.example)
    return None


def _of_torch(findings: Findings) -> Outcome | None:
    if findings.torch and findings.torch.problem:
        return problem("unreadable", findings.torch.problem, reason=findings.torch.problem)
    elsewhere = any(why == "user-only" for _, why in findings.foreign_torch)  # which has a check of its own
    gone = queries.dist_of(findings, "torch") and findings.torch is None and not elsewhere
    if gone and not queries.works(findings):  # one that is being developed lies elsewhere
        return problem("gone", tr("torch has metadata but no files"))
    return None


def _traces(findings: Findings) -> Outcome | None:
    changed = next((dist for dist in findings.dists if dist.changed), None)
    if changed and not queries.works(findings):
        facts = {"name": changed.name, "count": changed.changed, "example": changed.example}
        return warning("changed", changed.example or "", **facts)
    if findings.leftovers:
        return warning("leftovers", findings.leftovers[0], path=findings.leftovers[0])
    return None


def _room(findings: Findings) -> Outcome:
    for free in (findings.limits.disk_free, findings.limits.temporary_free):
        if free is not None and free < _LITTLE_ROOM:
            return warning("full", tr("{free} MB are free", free=free // 1_000_000), free=free // 1_000_000)
    if not queries.has_torch(findings):
        return skipped(tr("torch is not installed"))
    return ok(tr("all files match their RECORD"))


@check("D34")  # a C library that the build does not run with
def glibc(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare glibc with the platform tag of torch's wheel."""
    system, torch = findings.machine.system, queries.dist_of(findings, "torch")
    if system.os != "linux" or system.libc is None:
        return skipped(tr("this is not Linux"))
    read = f"{system.libc} {system.libc_version or '?'}"
    needed = _needed_glibc(torch.tags if torch else ())
    return _libc_error(findings, read) or _compared_libc(findings, needed, read)


def _libc_error(findings: Findings, read: str) -> Outcome | None:
    """Return what torch's own error says."""
    words = queries.said(findings)
    if "executable stack" in words:
        return problem("executable-stack", read, libc=read)
    return problem("libstdcxx", read) if "glibcxx" in words or "cxxabi" in words else None


def _compared_libc(findings: Findings, needed: Version | None, read: str) -> Outcome:
    system = findings.machine.system
    if needed is None:
        return ok(read)
    if system.libc != "glibc":
        return problem("musl", read, needs=needed)
    have = queries.version_of(system.libc_version)
    if have is not None and have < needed and not queries.proven(findings):
        return problem("too-old", read, needs=needed, libc=read, torch=queries.torch_label(findings))
    return ok(read)


def _needed_glibc(tags: tuple[str, ...]) -> Version | None:
    """Return the least glibc that any of the tags asks for: a wheel may carry several."""
    versions = [Version(f"{match[1]}.{match[2]}") for tag in tags if (match := _MANYLINUX.search(tag))]
    old = _OLD_MANYLINUX.items()
    versions += [Version(floor) for tag in tags for name, floor in old if f"{name}_" in tag]
    return min(versions, default=None)


@check("D02")  # a driver older than the CUDA of the build
def driver_floor(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Compare the driver with the floor of the CUDA that torch was built with."""
    cuda, machine = queries.cuda_of(findings), findings.machine
    if cuda is None or machine.driver is None:
        return skipped(tr("no CUDA build, or no driver"))
    floor = least_driver(cuda, driver_os(machine), knowledge)
    version = machine.driver.version
    read = tr("driver {driver}, built for CUDA {cuda}", driver=version, cuda=cuda)
    if floor is None:
        return skipped(read)
    facts = {"torch": queries.torch_label(findings), "cuda": cuda, "floor": floor.version, "driver": version}
    if not runs(cuda, machine, knowledge) and not queries.proven(findings):
        return problem("too-old", read, **facts)
    if not is_native(cuda, machine, knowledge) and queries.failed(findings):
        return warning("minor", read, **facts)
    return ok(read)


@check("D16")  # a build without code for this GPU, or with PTX alone
def gpu_code(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Compare what libtorch_python lists, else what the matrix knows of the build, with each GPU."""
    cuda, gpus = queries.cuda_of(findings), queries.target_gpus(findings)
    listed = architectures(findings, knowledge)
    if cuda is None or not gpus or not listed:
        return skipped(tr("no CUDA build, no GPU, or no list of what the build has code for"))
    words = " ".join(map(str, listed))
    facts = {"torch": queries.torch_label(findings), "listed": words}
    codes = [(gpu, code_in(listed, cuda, gpu, knowledge)) for gpu in gpus]
    for gpu, code in codes:
        if code is None and not queries.proven(findings):
            case = "newer" if gpu.capability > max(item.capability for item in listed) else "older"
            return problem(case, words, gpu=gpu.label, **facts)
        if code == "ptx-needs-driver" and not queries.proven(findings):
            return problem("ptx-driver", words, gpu=gpu.label, cuda=cuda, **facts)
    slow = next((gpu for gpu, code in codes if code == "ptx"), None)
    return warning("ptx", words, gpu=slow.label, **facts) if slow else ok(words)


def architectures(findings: Findings, knowledge: Knowledge) -> tuple[Architecture, ...]:
    """Return what the torch has code for."""
    texts = findings.torch.architectures if findings.torch else ()
    read = tuple(filter(None, map(_parse_architecture, texts)))
    return read or _known_architectures(findings, knowledge)


def _parse_architecture(text: str) -> Architecture | None:
    try:
        return parse_architecture(text)
    except ValueError:  # gfx90a of ROCm
        return None


def _known_architectures(findings: Findings, knowledge: Knowledge) -> tuple[Architecture, ...]:
    version, variant = queries.torch_version(findings), queries.variant_of(findings)
    platform = queries.platform_of(findings)
    if version is None or variant is None or platform is None:
        return ()
    index: IndexKind = "pytorch" if version.local else "pypi"
    build = knowledge.find_build(Version(version.public), variant, platform, index)
    return build.architectures if build else ()
