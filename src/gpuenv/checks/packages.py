"""Checks of other packages beside torch, and of what they are installed with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.version import Version

from gpuenv.checks import known_combinations, queries
from gpuenv.checks.outcome import Outcome, check, ok, problem, skipped, warning
from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import ConfiguredIndex, Dist, Findings
from gpuenv.model.variant import Variant
from gpuenv.resolution.request import COMPANIONS, STACK
from gpuenv.resolution.rules.companion import WITHOUT_CUDA, fits_variant, pypi_variant

_FROM_PYPI = ("pip", "uv")  # a distribution's own build has another installer, or none
# `0.6.3+pt21cu121`, `2.8.3+cu12torch2.3cxx11abiFALSE`, `0.17.1+torch240cu121`
_LOCAL_TORCH = re.compile(r"(?:pt|torch)(\d)(\.?)(\d{1,3})")
_LOCAL_CUDA = re.compile(r"cu(\d{2})\d?")
_ONNX_RUNTIMES = ("onnxruntime", "onnxruntime-gpu")
_INDEX_FAULTS = ("retired", "wrong", "bogus")
_LONGEST_MEMBER = 160  # the longest paths within torch's wheel
_LONGEST_PATH = 260


@check("D40")  # torchvision or torchaudio of another torch
def companions(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Compare each companion with the matrix, its own metadata, and its variant with torch's."""
    torch = queries.torch_version(findings)
    there = [(name, version) for name in COMPANIONS if (version := queries.installed(findings, name))]
    if torch is None or not there:
        return skipped(tr("no torch, or no companion of it"))
    if torch.is_prerelease:
        return skipped(tr("torch {torch} is not a release: compatible packages are not known", torch=torch))
    read = series(f"{name} {version}" for name, version in there)
    outcomes = (_judge(name, version, torch, findings, knowledge, read) for name, version in there)
    return next(filter(None, outcomes), ok(f"torch {torch}, {read}"))


def _judge(
    name: str, version: Version, torch: Version, findings: Findings, knowledge: Knowledge, read: str
) -> Outcome | None:
    facts = {"name": name, "version": version, "torch": queries.torch_label(findings)}
    paired = knowledge.companions_of(Version(torch.public)).get(name, ())
    public = Version(version.public)
    fits = tr(" or ").join(map(str, paired)) or "?"
    pinned = next(_asked_torch(findings, name), None)
    if pinned and not pinned.specifier.contains(Version(torch.public), prereleases=True):
        return problem("other-torch", read, needs=str(pinned), fits=fits, **facts)
    if paired and public not in paired and knowledge.companion_release(name, public) and not pinned:
        torches = knowledge.torches_of(name, public)
        needs = (
            f"torch {torches[-1]}" if torches else tr("torch of {name} {version}", name=name, version=public)
        )
        return problem("other-torch", read, needs=needs, fits=fits, **facts)
    own, wanted = _variant(name, version, torch, findings, knowledge), queries.variant_of(findings)
    loose = knowledge.matches_by_major(name, public)
    if own and own.is_known and wanted and not fits_variant(own, wanted, loose=loose):
        return problem("other-variant", read, own=own, wanted=wanted, **facts)
    if name == "torchvision" and queries.failed(findings) and "torchvision::nms" in queries.said(findings):
        return warning("suspect", read, fits=fits, **facts)
    return None


def _variant(
    name: str, version: Version, torch: Version, findings: Findings, knowledge: Knowledge
) -> Variant | None:
    """Return a companion's variant: its version tells it, or it is PyPI's beside a torch that is not."""
    if version.local:
        return Variant(version.local)
    dist, platform = queries.dist_of(findings, name), queries.platform_of(findings)
    proven = queries.works(findings) and name == "torchvision"  # verify counts on its operators
    if dist is None or dist.installer not in _FROM_PYPI or not torch.local or proven:
        return None
    if platform is None or name in WITHOUT_CUDA:
        return None
    return pypi_variant(name, version, platform, knowledge)


def _asked_torch(findings: Findings, name: str) -> Iterator[Requirement]:
    """Return what the companion's metadata requires of torch; a lower bound alone says little."""
    dist = queries.dist_of(findings, name)
    parsed = map(queries.parse_requirement, dist.requires if dist else ())
    return (item for item in parsed if item and item.name == "torch" and item.specifier)


@check("D41")  # NumPy 2 with a torch built for NumPy 1
def numpy(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Judge numpy and torch by the known-bad combinations."""
    numpy, torch = queries.installed(findings, "numpy"), queries.torch_version(findings)
    if numpy is None or torch is None:
        return skipped(tr("no torch, or no numpy"))
    row = known_combinations.applying(findings, knowledge, about="numpy")
    read = f"numpy {numpy}, torch {torch}"
    if row is None:
        return ok(read)
    needs = " ".join(row.constrain) or row.remedy
    return problem("too-new", read, numpy=numpy, torch=queries.torch_label(findings), wanted=needs)


@check("D29")  # extensions that were built for another torch
def extensions(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare the torch and CUDA that local versions name with those that are here."""
    torch, cuda = queries.torch_version(findings), queries.cuda_of(findings)
    if torch is None:
        return skipped(tr("torch is not installed"))
    seen = []
    for dist in findings.dists:
        version = queries.version_of(dist.version)
        if version is None or not version.local or dist.name in STACK or not _is_extension(dist, version):
            continue
        seen.append(f"{dist.name} {version}")
        other = _other_torch(version, torch) or _other_cuda(version, str(cuda.major) if cuda else None)
        if other:
            facts = {"name": dist.name, "version": version, "built": other}
            return problem("other-torch", seen[-1], torch=queries.torch_label(findings), **facts)
    return ok(series(seen) or tr("no extension records what it was built for"))


def _is_extension(dist: Dist, version: Version) -> bool:
    local = version.local or ""
    needs_torch = any("torch" in line for line in dist.requires)
    return bool(_LOCAL_TORCH.search(local) or (_LOCAL_CUDA.match(local) and needs_torch))


def _other_torch(version: Version, torch: Version) -> str | None:
    match = _LOCAL_TORCH.search(version.local or "")
    if not match:
        return None
    minors = _minors(match[3], dotted=bool(match[2]))
    if torch.release[:2] in {(int(match[1]), minor) for minor in minors}:
        return None
    return f"torch {match[1]}.{minors[0]}"


def _minors(digits: str, *, dotted: bool) -> tuple[int, ...]:
    """Return what the digits behind the major may mean: `24`, `240` and `2100` have no dots."""
    if dotted or len(digits) == 1:
        return (int(digits),)
    likely = (int(digits[:1]), int(digits[:2]))
    return likely if digits.endswith("0") else likely[::-1]


def _other_cuda(version: Version, major: str | None) -> str | None:
    match = _LOCAL_CUDA.search(version.local or "")
    return f"CUDA {match[1]}" if match and major and match[1] != major else None


@check("D60")  # both packages of ONNX Runtime
def onnxruntime(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for the CPU's and the GPU's package, which write the same files."""
    there = [name for name in _ONNX_RUNTIMES if queries.dist_of(findings, name)]
    if not there:
        return skipped(tr("no ONNX Runtime"))
    return problem("both", " ".join(there)) if len(there) == len(_ONNX_RUNTIMES) else ok(there[0])


@check("D42")  # the toolkit that extensions would be built with is not of torch's CUDA
def cuda_toolkit(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare torch's CUDA with the nvcc that torch finds: by CUDA_HOME, on PATH, in /usr/local/cuda."""
    cuda, toolkit = queries.cuda_of(findings), findings.machine.toolkit
    home = queries.variable(findings, "CUDA_HOME") or queries.variable(findings, "CUDA_PATH")
    if findings.machine.system.os != "windows" and home and ":" in home:
        return warning("list", home, home=home)
    if cuda is None or toolkit is None or toolkit.cuda is None:
        return skipped(tr("no CUDA toolkit: it is only needed to build extensions"))
    read = tr("nvcc {nvcc}, torch for CUDA {cuda}", nvcc=toolkit.cuda, cuda=cuda)
    if toolkit.cuda.major == cuda.major:
        return ok(read)
    facts = {"nvcc": toolkit.cuda, "cuda": cuda, "path": toolkit.nvcc, "major": cuda.major}
    return warning("other-major-conda" if findings.conda else "other-major", read, **facts)


@check("D59")  # a Python that belongs to the system
def permissions(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for EXTERNALLY-MANAGED, and for a torch that went to the user site because of it."""
    python = findings.python
    if python.problem:
        return skipped(python.problem)
    own = findings.torch.place if findings.torch else ""
    in_user_site = bool(python.user_site and own.startswith(python.user_site))
    if in_user_site and python.prefix == python.base_prefix:
        return warning("user-site", own, place=own)
    if python.locked:
        return ok(tr("{path} belongs to the operating system", path=python.path))
    return ok(tr("packages can be installed") if python.writable else tr("this user cannot install packages"))


@check("D45")  # a mirror that was shut down, a wrong address, a certificate file that is not there
def index_configuration(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look at what pip and uv are told of indexes; none is asked, which is `gpuenv mirrors check`'s."""
    for variable, path in findings.lost_certificates:
        return warning("certificate", f"{variable}={path}", variable=variable, path=path)
    for index in findings.indexes:
        if index.fault and index.fault in _INDEX_FAULTS:
            facts = {"mirror": index.mirror or "?", "instead": index.instead or "?"}
            return warning(index.fault, _index_label(index), url=index.url, origin=index.origin, **facts)
    if not findings.indexes:
        return skipped(tr("no index is configured: pip and uv use their defaults"))
    return ok(series(map(_index_label, findings.indexes)))


def _index_label(index: ConfiguredIndex) -> str:
    return f"{index.url} [{index.origin}]"


@check("D46")  # Windows refuses long paths
def long_paths(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare the length of the environment's path with what Windows takes."""
    windows = findings.windows
    if windows is None or windows.long_paths is None:
        return skipped(tr("this is not Windows"))
    location = max(findings.python.packages, key=len, default=findings.environment)
    if windows.long_paths or len(location) + _LONGEST_MEMBER <= _LONGEST_PATH:
        return ok(tr("{count} characters", count=len(location)))
    return warning("too-long", location, place=location, count=len(location))
