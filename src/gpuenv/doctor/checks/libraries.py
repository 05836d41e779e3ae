"""Checks of the libraries that torch loads."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuenv.doctor.checks import known_combinations
from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, check, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings, ForeignLibrary
from gpuenv.resolution.markers import marker_environment

_CUDA_PACKAGES = ("nvidia-", "triton", "cuda-toolkit", "cuda-bindings")
_RUNTIME_ERRORS = ("winerror 126", "winerror 127", "winerror 1114", "winerror 182")
_PAGE_FILE = "winerror 1455"


def other_cuda_packages(findings: Findings) -> tuple[str, ...]:
    """Return the packages of another CUDA generation than torch's whose component torch's has too."""
    cuda = subject.cuda_of(findings)
    results = tuple(subject.nvidia_dists(findings))
    if cuda is None:
        return ()
    own = {component for component, major, _ in results if major == cuda.major}
    return tuple(dist.name for component, major, dist in results if major != cuda.major and component in own)


@check("D32")  # libraries of two CUDA generations in one environment
def mixed_cuda_majors(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for a component installed for two CUDA majors, and for files that both claim."""
    cuda, others = subject.cuda_of(findings), other_cuda_packages(findings)
    if cuda is None or not tuple(subject.nvidia_dists(findings)):
        return skipped(tr("CUDA's libraries are not separate packages here"))
    if not others:
        return ok(tr("all for CUDA {major}", major=cuda.major))
    clash = next((file for file in findings.shared_files if set(file.owners) & set(others)), None)
    if clash:
        facts = {"path": clash.path, "owners": ", ".join(clash.owners), "others": " ".join(others)}
        return problem("overwrite", clash.path, major=cuda.major, **facts)
    return warning("beside", " ".join(others), others=" ".join(others), major=cuda.major)


def wanted_cuda_packages(findings: Findings) -> tuple[Requirement, ...]:
    """Return what the torch's metadata asks for of CUDA's libraries, on this platform and Python."""
    platform, torch = subject.platform_of(findings), subject.dist_of(findings, "torch")
    if platform is None or torch is None or not findings.python.version:
        return ()
    environment = marker_environment(platform, findings.python.version)
    parsed = (_parse_requirement(line) for line in torch.requires)
    return tuple(
        item
        for item in parsed
        if item
        and item.name.lower().startswith(_CUDA_PACKAGES)
        and (item.marker is None or item.marker.evaluate({**environment, "extra": ""}))
    )


def _parse_requirement(line: str) -> Requirement | None:
    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


@check("D30")  # CUDA's libraries are missing
def cuda_packages(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare what torch asks for, and is linked with, with what is there."""
    torch, files = subject.dist_of(findings, "torch"), findings.torch
    if torch is None or subject.cuda_of(findings) is None:
        return skipped(tr("no torch for CUDA"))
    if files and files.lacking and not subject.proven(findings):
        return problem("library", " ".join(files.lacking), library=files.lacking[0])
    if torch.installer == "conda":
        return ok(tr("conda's packages bring them"))
    requirements = wanted_cuda_packages(findings)
    missing = [
        item for item in requirements if subject.dist_of(findings, canonicalize_name(item.name)) is None
    ]
    if missing:
        names = " ".join(item.name for item in missing)
        make = warning if subject.proven(findings) else problem
        return make("missing", names, names=names, name=missing[0].name)
    for item in requirements:
        version = subject.installed(findings, canonicalize_name(item.name))
        if version and not item.specifier.contains(version, prereleases=True):
            return warning(
                "other-version", f"{item.name} {version}", name=item.name, found=version, needs=item.specifier
            )
    return ok(
        tr("{count} packages", count=len(requirements)) if requirements else tr("they are in torch itself")
    )


@check("D31")  # libraries of the system stand before the bundled ones
def ld_library_path(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for CUDA's libraries in LD_LIBRARY_PATH: an older one breaks the bundled ones."""
    libraries = tuple(
        foreign_library
        for foreign_library in findings.foreign_libraries
        if not _is_passed_over(foreign_library, findings)
    )
    if not libraries:
        return ok(tr("no other library comes before the bundled ones"))
    older = next((item for item in libraries if _is_older(item)), None)
    library = older or libraries[0]
    facts = {"name": library.name, "path": library.path, "via": library.via}
    read = f"{library.path} ({library.version or '?'}; {library.bundled or '?'})"
    if subject.proven(findings):
        return ok(tr("{path}, and torch works with it", path=library.path))
    if older or any(item.name.split(".")[0].lower() in subject.said(findings) for item in libraries):
        return problem("shadows", read, have=library.version or "?", needs=library.bundled or "?", **facts)
    if all(_is_same(item) for item in libraries):
        return ok(read)
    return warning("before", read, **facts)


def _is_passed_over(library: ForeignLibrary, findings: Findings) -> bool:
    """Whether the loader takes torch's own all the same: an RPATH goes before LD_LIBRARY_PATH."""
    torch = findings.torch
    return torch is not None and torch.finds_own and library.name in torch.needs


def _is_older(library: ForeignLibrary) -> bool:
    have, bundled = subject.version_of(library.version), subject.version_of(library.bundled)
    return have is not None and bundled is not None and have.release[:2] < bundled.release[:2]


def _is_same(library: ForeignLibrary) -> bool:
    have, bundled = subject.version_of(library.version), subject.version_of(library.bundled)
    return have is not None and bundled is not None and have.release[:2] >= bundled.release[:2]


@check("D33")  # an MKL that lost a symbol that old conda builds of torch need
def mkl(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Judge conda's torch and mkl by the known-bad combinations."""
    mkl, torch = subject.conda_of(findings, "mkl"), subject.conda_of(findings, "pytorch")
    if mkl is None or torch is None:
        return skipped(tr("no torch and mkl from conda"))
    read = f"mkl {mkl.version}, pytorch {torch.version} {torch.build}"
    row = known_combinations.applying(findings, knowledge, about="mkl")
    if row is None or subject.proven(findings):
        return ok(read)
    return problem("symbol", read, mkl=mkl.version, torch=torch.version, remedy=row.remedy)


@check("D48")  # Windows' runtime libraries
def windows_libraries(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for the VC++ runtime, and for the errors that tell of a missing or too old one."""
    windows = findings.windows
    if windows is None:
        return skipped(tr("this is not Windows"))
    words = subject.said(findings)
    if _PAGE_FILE in words:
        return problem("page-file", _PAGE_FILE)
    if windows.runtime is None:
        return problem("no-runtime", tr("no vcruntime140_1.dll"))
    if any(word in words for word in _RUNTIME_ERRORS):
        return problem("runtime", windows.runtime, runtime=windows.runtime)
    if windows.media_pack is False and subject.failed(findings):
        return warning("media-pack", tr("no media features"))
    return ok(windows.runtime)
