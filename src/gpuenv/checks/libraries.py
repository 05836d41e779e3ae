"""Checks of the libraries that torch loads."""

from __future__ import annotations

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.checks import known_combinations, queries
from gpuenv.checks.outcome import Outcome, check, ok, problem, skipped, warning
from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings, ForeignLibrary
from gpuenv.resolution.markers import marker_environment

_CUDA_PACKAGES = ("nvidia-", "triton", "cuda-toolkit", "cuda-bindings")
_RUNTIME_ERRORS = ("winerror 126", "winerror 127", "winerror 1114", "winerror 182")
_PAGE_FILE = "winerror 1455"


def other_cuda_packages(findings: Findings) -> tuple[str, ...]:
    """Return the packages of another CUDA generation than torch's whose component torch's has too."""
    cuda = queries.cuda_of(findings)
    results = tuple(queries.nvidia_dists(findings))
    if cuda is None:
        return ()
    own = {component for component, major, _ in results if major == cuda.major}
    return tuple(dist.name for component, major, dist in results if major != cuda.major and component in own)


@check("D32")  # libraries of two CUDA generations in one environment
def mixed_cuda_majors(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for a component installed for two CUDA majors, and for files that both claim."""
    cuda, others = queries.cuda_of(findings), other_cuda_packages(findings)
    if cuda is None or not tuple(queries.nvidia_dists(findings)):
        return skipped(tr("CUDA's libraries are not separate packages here"))
    if not others:
        return ok(tr("all for CUDA {major}", major=cuda.major))
    clash = next((file for file in findings.shared_files if set(file.owners) & set(others)), None)
    if clash:
        facts = {"path": clash.path, "owners": series(clash.owners), "others": " ".join(others)}
        return problem("overwrite", clash.path, major=cuda.major, **facts)
    return warning("beside", " ".join(others), others=" ".join(others), major=cuda.major)


def wanted_cuda_packages(findings: Findings) -> tuple[Requirement, ...]:
    """Return what the torch's metadata asks for of CUDA's libraries, on this platform and Python."""
    platform, torch = queries.platform_of(findings), queries.dist_of(findings, "torch")
    if platform is None or torch is None or not findings.python.version:
        return ()
    environment = marker_environment(platform, findings.python.version)
    parsed = map(queries.parse_requirement, torch.requires)
    own = (item for item in parsed if item and item.name.lower().startswith(_CUDA_PACKAGES))
    facts = {**environment, "extra": ""}
    return tuple(item for item in own if item.marker is None or item.marker.evaluate(facts))


@check("D30")  # CUDA's libraries are missing
def cuda_packages(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare what torch asks for, and is linked with, with what is there."""
    torch, files = queries.dist_of(findings, "torch"), findings.torch
    if torch is None or queries.cuda_of(findings) is None:
        return skipped(tr("no torch for CUDA"))
    if files and files.lacking and not queries.proven(findings):
        return problem("library", " ".join(files.lacking), library=files.lacking[0])
    if torch.installer == "conda":
        return ok(tr("conda's packages bring them"))
    requirements = wanted_cuda_packages(findings)
    names = ((item.name, canonicalize_name(item.name)) for item in requirements)
    missing = [name for name, project in names if queries.dist_of(findings, project) is None]
    if missing:
        make = warning if queries.proven(findings) else problem
        return make("missing", " ".join(missing), names=" ".join(missing), name=missing[0])
    for item in requirements:
        version = queries.installed(findings, canonicalize_name(item.name))
        if version and not item.specifier.contains(version, prereleases=True):
            facts = {"name": item.name, "found": version, "needs": item.specifier}
            return warning("other-version", f"{item.name} {version}", **facts)
    count = len(requirements)
    return ok(tr("{count} packages", count=count) if count else tr("they are in torch itself"))


@check("D31")  # libraries of the system stand before the bundled ones
def ld_library_path(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for CUDA's libraries in LD_LIBRARY_PATH: an older one breaks the bundled ones."""
    torch = findings.torch
    # an RPATH goes before LD_LIBRARY_PATH: the loader takes torch's own all the same
    bundled = torch.needs if torch and torch.finds_own else ()
    libraries = tuple(item for item in findings.foreign_libraries if item.name not in bundled)
    if not libraries:
        return ok(tr("no other library comes before the bundled ones"))
    older = next((item for item in libraries if _is_older(item)), None)
    library = older or libraries[0]
    facts = {"name": library.name, "path": library.path, "via": library.via}
    read = f"{library.path} ({library.version or '?'}; {library.bundled or '?'})"
    if queries.proven(findings):
        return ok(tr("{path}, and torch works with it", path=library.path))
    if older or any(item.name.split(".")[0].lower() in queries.said(findings) for item in libraries):
        return problem("shadows", read, have=library.version or "?", needs=library.bundled or "?", **facts)
    if all(_is_older(item) is False for item in libraries):
        return ok(read)
    return warning("before", read, **facts)


def _is_older(library: ForeignLibrary) -> bool | None:
    """Whether a library is older than the bundled one; None where a version is not known."""
    have, bundled = queries.version_of(library.version), queries.version_of(library.bundled)
    return None if have is None or bundled is None else have.release[:2] < bundled.release[:2]


@check("D33")  # an MKL that lost a symbol that old conda builds of torch need
def mkl(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Judge conda's torch and mkl by the known-bad combinations."""
    mkl, torch = queries.conda_of(findings, "mkl"), queries.conda_of(findings, "pytorch")
    if mkl is None or torch is None:
        return skipped(tr("no torch and mkl from conda"))
    read = f"mkl {mkl.version}, pytorch {torch.version} {torch.build}"
    row = known_combinations.applying(findings, knowledge, about="mkl")
    if row is None or queries.proven(findings):
        return ok(read)
    return problem("symbol", read, mkl=mkl.version, torch=torch.version, remedy=row.remedy)


@check("D48")  # Windows' runtime libraries
def windows_libraries(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for the VC++ runtime, and for the errors that tell of a missing or too old one."""
    windows = findings.windows
    if windows is None:
        return skipped(tr("this is not Windows"))
    words = queries.said(findings)
    if _PAGE_FILE in words:
        return problem("page-file", _PAGE_FILE)
    if windows.runtime is None:
        return problem("no-runtime", tr("no vcruntime140_1.dll"))
    if any(word in words for word in _RUNTIME_ERRORS):
        return problem("runtime", windows.runtime, runtime=windows.runtime)
    if windows.media_pack is False and queries.failed(findings):
        return warning("media-pack", tr("no media features"))
    return ok(windows.runtime)
