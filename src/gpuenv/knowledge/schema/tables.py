"""The fields of the matrices' rows, table by table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from packaging.utils import parse_wheel_filename

from gpuenv.i18n.messages import marked
from gpuenv.knowledge.records import BASES, JUDGES, SYSTEMS
from gpuenv.knowledge.schema.api_changes import API_CHANGE_FIELDS
from gpuenv.knowledge.schema.dependencies import DEPENDENCIES
from gpuenv.knowledge.schema.ecosystem import ECOSYSTEM
from gpuenv.knowledge.schema.field_types import (
    ORIGIN,
    Field,
    is_capability,
    is_conditions,
    is_cuda,
    is_flag,
    is_number,
    is_python,
    is_requirement,
    is_specifier,
    is_text,
    is_variant,
    is_version,
    is_wheel_python,
    list_of,
    mapping,
    matching,
    one_of,
    or_null,
    readable,
)
from gpuenv.knowledge.schema.mirrors import SHIPPED_FIELDS
from gpuenv.knowledge.schema.programs import CONDA_TOOLS, INSTALLER_FAULTS, NVIDIA_SMI, TEGRA
from gpuenv.knowledge.schema.signatures import SIGNATURE_FIELDS
from gpuenv.model.capability import parse_architecture
from gpuenv.model.plan import RULES
from gpuenv.model.wheel import PLATFORMS

_FLOORS = (Field("linux", or_null(is_version)), Field("windows", or_null(is_version)))

# Table -> kind of row -> fields; a table whose rows are all of one kind has no `kind` field.
FIELDS: Mapping[str, Mapping[str | None, tuple[Field, ...]]] = {
    "torch": {
        None: (
            Field("torch", is_version),
            Field("variant", readable(is_variant)),
            Field("platform", one_of(*PLATFORMS)),
            Field("index", one_of("pypi", "pytorch")),
            Field("cuda", or_null(is_cuda)),
            Field("pythons", list_of(is_python, least=1)),
            Field("architectures", list_of(readable(parse_architecture))),
            Field("cudnn", or_null(is_version)),
            Field("requires_cuda", is_cuda, optional=True),  # that of its METADATA, where it names one
            Field("tags", list_of(is_text, least=1)),
            Field("triton", or_null(is_specifier)),
            Field("torchvision", list_of(is_version)),
            Field("torchaudio", list_of(is_version)),
            Field("torchtext", list_of(is_version)),
            *ORIGIN,
        )
    },
    "cuda": {
        "release": (
            Field("kind", is_text),
            Field("cuda", is_cuda),
            Field("release", is_version),
            Field("label", is_text),
            Field("branch", is_number),
            *_FLOORS,
            *ORIGIN,
        ),
        "family": (Field("kind", is_text), Field("major", is_number), *_FLOORS, *ORIGIN),
        "branch": (
            Field("kind", is_text),
            Field("os", one_of(*SYSTEMS)),
            Field("branch", is_number),
            Field("cuda", is_cuda),
            *ORIGIN,
        ),
        "architecture": (
            Field("kind", is_text),
            Field("architecture", is_text),
            Field("compute_capabilities", list_of(is_capability, least=1)),
            Field("first_cuda", is_cuda),
            Field("last_cuda", or_null(is_cuda)),
            Field("last_driver_branch", or_null(is_number)),
            *ORIGIN,
        ),
        "integrated": (
            Field("kind", is_text),
            Field("compute_capability", is_capability),
            Field("until_cuda", or_null(is_cuda)),
            *ORIGIN,
        ),
    },
    "gpus": {
        None: (
            Field("name", is_text),
            Field("compute_capability", is_capability),
            Field("architecture", is_text),
            Field("family", is_text),
            Field("pci_ids", list_of(matching(r"[0-9a-f]{4}", marked("PCI id such as 1b06")))),
            Field("preferred", is_flag),
            *ORIGIN,
        )
    },
    "companions": {
        "pair": (
            Field("kind", is_text),
            Field("torch", is_version),
            Field("project", is_text),
            Field("versions", list_of(is_version, least=1), optional=True),
            Field("specifier", is_specifier, optional=True),
            Field("basis", one_of(*BASES)),
            *ORIGIN,
        ),
        "release": (
            Field("kind", is_text),
            Field("project", is_text),
            Field("version", is_version),
            Field("requires_torch", or_null(is_specifier)),
            Field("requires_python", or_null(is_specifier)),
            Field("pythons", list_of(is_wheel_python)),
            Field("yanked", is_flag),
            Field("pypi_cuda", mapping(is_cuda)),
            Field("cuda_match", one_of("exact", "major", None)),
            Field("architectures", list_of(readable(parse_architecture), least=1), optional=True),
            *ORIGIN,
        ),
    },
    "known-bad": {
        None: (
            Field("id", is_text),
            Field("area", is_text),
            Field("judge", one_of(*RULES, *JUDGES)),
            Field("when", list_of(is_conditions)),
            Field("unless", list_of(is_text)),
            Field("when_text", list_of(is_text)),
            Field("constrain", list_of(readable(is_requirement))),
            Field("add", list_of(readable(is_requirement))),
            Field("forbid", is_flag),
            Field("avoid", is_flag),
            Field("warn", is_flag),
            Field("effect", is_text),
            Field("error", or_null(is_text)),
            Field("remedy", is_text),
            Field("confidence", one_of("high", "medium", "low")),
            *ORIGIN,
        )
    },
    "mirrors": {None: SHIPPED_FIELDS},
    "signatures": {None: SIGNATURE_FIELDS},
    "checks": {
        None: (
            Field("id", matching(r"D\d{2}", marked("id of a check"))),
            Field("group", is_text),
            Field("title", is_text),
            Field("cases", mapping(mapping(or_null(is_text)))),
            Field("instead", or_null(is_text)),
            Field("common", is_text),
            *ORIGIN,
        )
    },
    "conda": {
        None: (
            Field("channel", is_text),
            Field("torch", is_version),
            Field("variant", readable(is_variant)),
            Field("cuda", or_null(is_cuda)),
            Field("platform", one_of(*PLATFORMS)),
            Field("pythons", list_of(is_python, least=1)),
            Field("architectures", list_of(readable(parse_architecture))),
            Field("cudnn", or_null(is_version)),
            Field("glibc", or_null(is_version)),
            Field("build", is_text),  # a pattern; `{python}` stands for MAJOR.MINOR
            Field("requires", list_of(is_text)),
            Field("channels", list_of(is_text, least=1)),
            Field("torchvision", list_of(is_version)),
            Field("torchaudio", list_of(is_version)),
            *ORIGIN,
        )
    },
    "conda-tools": CONDA_TOOLS,
    "installer-faults": INSTALLER_FAULTS,
    "nvidia-smi": NVIDIA_SMI,
    "tegra": TEGRA,
    "images": {
        None: (
            Field("registry", is_text),
            Field("repository", is_text),
            Field("tag", is_text),
            Field("digest", or_null(matching(r"sha256:[0-9a-f]{64}", marked("digest, sha256:...")))),
            Field("digest_source", or_null(is_text)),
            Field("flavour", one_of("slim", "cuda-runtime", "cuda-devel")),
            Field("distribution", is_text),
            Field("glibc", is_version),
            Field("python", is_version),
            Field("cuda", or_null(is_cuda)),
            Field("release", or_null(is_version)),
            Field("packages", list_of(is_text)),
            Field("build_packages", list_of(is_text)),
            Field("platforms", list_of(one_of(*PLATFORMS), least=1)),
            *ORIGIN,
        )
    },
    "pythons": {
        None: (
            Field("version", matching(r"3\.\d{1,2}", marked("Python release such as 3.12"))),
            Field("released", readable(date.fromisoformat)),
            Field("uv", list_of(one_of(*PLATFORMS))),
            *ORIGIN,
        )
    },
    "dependencies": DEPENDENCIES,
    "ecosystem": ECOSYSTEM,
    "api-changes": {None: API_CHANGE_FIELDS},
    "libraries": {
        "floor": (
            Field("kind", is_text),
            Field("library", is_text),
            Field("name", is_text),
            Field("counts", one_of("release", "cuda")),
            Field("from", is_version),
            Field("cuda", or_null(is_specifier)),
            Field("min_compute_capability", is_capability),
            Field("least_gpus", is_number),
            Field("platforms", list_of(one_of(*PLATFORMS), least=1)),
            Field("confidence", one_of("high", "medium", "low")),
            *ORIGIN,
        ),
        "family": (
            Field("kind", is_text),
            Field("library", is_text),
            Field("major", is_number),
            Field("cuda", is_specifier),
            *ORIGIN,
        ),
        "bundled": (
            Field("kind", is_text),
            Field("library", is_text),
            Field("torch", is_version),
            Field("cuda", is_cuda),
            Field("version", is_version),
            *ORIGIN,
        ),
    },
    "wheels": {
        None: (
            Field("project", is_text),
            Field("filename", readable(parse_wheel_filename)),
            Field("index", one_of("pypi", "pytorch")),
            Field("subdir", readable(is_variant), optional=True),
            Field("sha256", matching(r"[0-9a-f]{64}", marked("SHA-256 digest")), optional=True),
            Field("requires_python", is_text, optional=True),
            Field("yanked", is_flag, optional=True),
        )
    },
}
