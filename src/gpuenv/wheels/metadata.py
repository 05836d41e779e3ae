"""What a wheel says of itself in its small members: version.py, METADATA, WHEEL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

from msgspec import Struct
from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.model.capability import Architecture
from gpuenv.model.variant import CudaVersion, Variant, parse_cuda_version
from gpuenv.model.wheel import Platform
from gpuenv.resolution.markers import marker_environment
from gpuenv.wheels.torch_wheel import MAJOR_MINOR, major_minor, stated_builds, variant_of

_VERSION = re.compile(r"^__version__\b[^=\n]*=[ \t]*['\"]([^'\"\n]+)['\"][ \t\r]*$", re.MULTILINE)
_CUDNN = re.compile(r"nvidia-cudnn-cu\d+")
_MACOS = re.compile(r"macosx_(\d+)_(\d+)_")
_DEVICE_EXTRA = re.compile(r"extra\s*==\s*['\"]device-(gfx[0-9a-f]+)['\"]")
_PYTHONS = ("2.7", *(f"3.{minor}" for minor in range(5, 21)))


class VersionFile(Struct, frozen=True):
    """What `torch/version.py` and its like tell; `variant` is None where nothing names one."""

    version: Version | None
    variant: Variant | None

    @property
    def cuda(self) -> CudaVersion | None:
        """The CUDA release of the variant."""
        return self.variant.cuda if self.variant else None


class WheelMetadata(Struct, frozen=True):
    """What a wheel's METADATA tells; `requires` are the Requires-Dist lines as they stand there."""

    name: str
    version: Version
    requires: tuple[str, ...]
    requires_python: str | None


class WheelFacts(Struct, frozen=True):
    """What was read from one wheel.

    `pythons` and `tags` are those of its name. `missing` says what could not be read, and why: then the rest
    is all there is, and what is made of it is assumed. `remarks` are odd, and change nothing.
    """

    filename: str
    metadata: WheelMetadata
    version: Version  # public
    variant: Variant | None
    pythons: tuple[str, ...]
    tags: tuple[str, ...]
    platform: Platform | None
    architectures: tuple[Architecture, ...] = ()
    targets: tuple[str, ...] = ()  # of ROCm and XPU
    wheel_tags: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def cudnn(self) -> str | None:
        """The cuDNN that the wheel requires; None where it brings its own."""
        return cudnn_of(self.metadata, self.platform)

    @property
    def least_macos(self) -> str | None:
        """The least macOS that its tags allow: `macosx_14_0_arm64` is 14.0."""
        floors = [(int(match[1]), int(match[2])) for tag in self.tags for match in _MACOS.finditer(tag)]
        return ".".join(map(str, min(floors))) if floors else None


def parse_version_file(text: str) -> VersionFile:
    """Read `torch/version.py`, or a companion's; raise ValueError for a CUDA version that can't be read.

    __version__ = '2.13.0+cu126'
    debug = False
    cuda: Optional[str] = '12.6'
    hip: Optional[str] = None

    A companion's has only the first line, and perhaps no variant in it.
    """
    match = _VERSION.search(text)
    version = Version(match[1]) if match else None
    facts = stated_builds(text)
    if "cuda" in facts:
        return VersionFile(version, variant_of(facts))
    local = Variant(version.local) if version and version.local else None
    return VersionFile(version, local if local and local.is_known else None)


def parse_metadata(text: str) -> WheelMetadata:
    """Read a wheel's METADATA; raise ValueError without a name or a version.

    Name: torch
    Version: 2.15.0
    Requires-Python: >=3.11
    Requires-Dist: nvidia-cudnn-cu13==9.26.0.51; platform_system == "Linux"
    """
    read, _ = parse_email(text)
    name, version = read.get("name"), read.get("version")
    if not name or not version:
        raise ValueError(tr("names no project and version"))
    return WheelMetadata(
        canonicalize_name(name),
        Version(version),
        tuple(read.get("requires_dist") or ()),
        read.get("requires_python") or None,
    )


def parse_wheel_tags(text: str) -> tuple[str, ...]:
    """Read the tags of a WHEEL file.

    Wheel-Version: 1.0
    Tag: cp312-cp312-manylinux_2_28_x86_64
    """
    lines = (line.partition(":") for line in text.splitlines())
    return tuple(value.strip() for name, _, value in lines if name == "Tag" and value.strip())


def requirements_on(
    metadata: WheelMetadata,
    platform: Platform | None,
    *,
    extras: Iterable[str] = (),
    pythons: tuple[str, ...] = _PYTHONS,
) -> Iterator[Requirement]:
    """Yield what is required on a platform, with any of the Pythons, without extras and with those named.

    With no platform, what any requires counts. Lines that can't be read are passed over.
    """
    wanted = tuple(product(pythons, ("", *extras)))
    for line in metadata.requires:
        requirement = _requirement(line, platform, wanted)
        if requirement:
            yield requirement


def _requirement(
    line: str, platform: Platform | None, wanted: tuple[tuple[str, str], ...]
) -> Requirement | None:
    try:
        requirement = Requirement(line)
        return requirement if platform is None or _holds(requirement, platform, wanted) else None
    except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
        return None


def _holds(requirement: Requirement, platform: Platform, wanted: tuple[tuple[str, str], ...]) -> bool:
    # torch 2.2 asks for triton below Python 3.12 only
    return requirement.marker is None or any(
        requirement.marker.evaluate({**marker_environment(platform, f"{python}.0"), "extra": extra})
        for python, extra in wanted
    )


def targets_of_extras(metadata: WheelMetadata) -> tuple[str, ...]:
    """Tell for which chips a wheel of AMD's index has an extra that brings their code.

    Requires-Dist: amd-torch-device-gfx1201==2.12.0+rocm7.14.0; extra == "device-gfx1201"
    """
    found = (match[1] for line in metadata.requires for match in _DEVICE_EXTRA.finditer(line))
    return tuple(dict.fromkeys(found))


def specifier_of(metadata: WheelMetadata, project: str, platform: Platform | None) -> str | None:
    """Tell what a wheel asks of another project: `==3.7.1`; an empty text where any version will do."""
    requirements = [
        item for item in requirements_on(metadata, platform) if canonicalize_name(item.name) == project
    ]
    return str(requirements[0].specifier) if requirements else None


def cudnn_of(metadata: WheelMetadata, platform: Platform | None) -> str | None:
    """Tell the cuDNN that a wheel requires: `9.26.0.51`."""
    for requirement in requirements_on(metadata, platform):
        if _CUDNN.fullmatch(canonicalize_name(requirement.name)):
            return _exact(requirement)
    return None


def required_cuda(metadata: WheelMetadata, platform: Platform | None) -> CudaVersion | None:
    """Tell the CUDA whose runtime a wheel requires, where no other member tells.

    Wheels from 2.15 on ask for `cuda-toolkit==13.2.2`, those before for `nvidia-cuda-runtime-cu12==12.8.90`.
    """
    for requirement in requirements_on(metadata, platform):
        name = canonicalize_name(requirement.name)
        if name == "cuda-toolkit" or name.startswith("nvidia-cuda-runtime"):
            exact = _exact(requirement)
            if exact and MAJOR_MINOR.match(exact):
                return parse_cuda_version(".".join(major_minor(exact)))
    return None


def _exact(requirement: Requirement) -> str | None:
    exact = [item.version for item in requirement.specifier if item.operator == "=="]
    return exact[0].removesuffix(".*") if exact else None
