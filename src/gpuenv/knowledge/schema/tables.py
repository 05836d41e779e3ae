"""The fields of the matrices' rows, table by table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from packaging.utils import parse_wheel_filename

from gpuenv.i18n.messages import N_
from gpuenv.knowledge.api_changes import CODE_LANGUAGES, KINDS
from gpuenv.knowledge.built_releases import BOUND
from gpuenv.knowledge.dependencies import ANY
from gpuenv.knowledge.families import CLASHES
from gpuenv.knowledge.records import BASES, JUDGES, SYSTEMS
from gpuenv.knowledge.schema.accelerators import ACCELERATOR_FIELDS
from gpuenv.knowledge.schema.field_types import (
    ARCHITECTURE,
    CAPABILITY,
    CONDITIONS,
    CUDA,
    FLAG,
    NAME,
    NUMBER,
    ORIGIN,
    PLATFORM,
    PYTHON,
    REGEX,
    REQUIREMENT,
    SPECIFIER,
    TEXT,
    TEXTS,
    VARIANT,
    VERSION,
    WHEEL_PYTHON,
    Fields,
    list_of,
    mapping,
    matching,
    number,
    object_of,
    one_of,
    optional,
    or_null,
    readable,
)
from gpuenv.knowledge.schema.mirrors import SHIPPED_FIELDS
from gpuenv.model.plan import RULES
from gpuenv.model.wheel import CUDA_PLATFORMS, PLATFORMS
from gpuenv.signatures.catalogue import CLASSES, REPLANS
from gpuenv.signatures.packs import PACKS

Kinds = Mapping[str | None, Fields]


def _kinds(**kinds: Fields) -> Kinds:
    return {name: {"kind": one_of(name), **fields} for name, fields in kinds.items()}


_INDEX = one_of("pypi", "pytorch")
_CONFIDENCE = one_of("high", "medium", "low")
_ID = matching(r"[a-z0-9]+(-[a-z0-9]+)*", N_("id such as driver-too-old"))
_CHECK_ID = matching(r"D[0-9]{2}", N_("id of a check"))
_MINOR_PYTHON = matching(r"3\.[0-9]{1,2}", N_("Python release such as 3.12"))
_ADDRESS = matching(r"https?://[!-~]+", N_("address"))
_TEMPLATE = matching(r"https?://([!-z|~]|\{(torch|variant|version)\})+", N_("address"))
_PAGE_VARIANT = matching(r"cpu|cu[0-9]{2,3}", N_("variant such as cu126, cu12 or cpu"))
_TEXTS, _VERSIONS, _PYTHONS = list_of(TEXT, least=1), list_of(VERSION), list_of(PYTHON, least=1)
_CODE, _KNOWN_CODE = list_of(ARCHITECTURE, least=1), list_of(ARCHITECTURE)
_PATTERN_OF_NAMES = matching(r"[a-z0-9*\[\]-]+", N_("shell pattern for names of projects"))
_PCI_IDS = list_of(matching(r"[0-9a-f]{4}", N_("PCI id such as 1b06")))
_PACKAGES = list_of(matching(r"[a-z0-9][a-z0-9.+-]+"))
_CASE = object_of({"needs": TEXT, "cause": TEXT, "fix": TEXT, "command": or_null(TEXT)})
_FLOORS: Fields = {"linux": or_null(VERSION), "windows": or_null(VERSION)}
# bytes, null where no wheel was read; `requires` have no markers: they hold on the platform
_SIZES: Fields = {
    "requires": list_of(REQUIREMENT), "size": or_null(NUMBER), "installed": or_null(NUMBER), **ORIGIN
}  # fmt: skip
_NEEDS = list_of(_TEXTS, least=1)
_PATTERN = object_of({"regex": REGEX, "needs": _NEEDS})
_SOURCE: Fields = {"source": TEXT}
_TOOL = one_of("conda", "mamba", "micromamba", "rattler")
_MEANS = one_of(
    "missing", "unsatisfiable", "channel", "terms", "lock", "disk-full", "corrupt", "interrupted", "existing",
    "no-gpu", "usage",
)  # fmt: skip
_SMI: Fields = {"contains": TEXT, "code": or_null(TEXT), "repair": or_null(TEXT), **_SOURCE}

# Table -> kind of row -> fields; a table whose rows are all of one kind has no `kind` field.
FIELDS: Mapping[str, Kinds] = {
    "torch": {None: {
        "torch": VERSION, "variant": VARIANT, "platform": PLATFORM, "index": _INDEX, "cuda": or_null(CUDA),
        "pythons": _PYTHONS, "architectures": _KNOWN_CODE, "cudnn": or_null(VERSION),
        "requires_cuda": optional(CUDA),  # that of its METADATA, where it names one
        "tags": _TEXTS, "triton": or_null(SPECIFIER),
        "torchvision": _VERSIONS, "torchaudio": _VERSIONS, "torchtext": _VERSIONS, **ORIGIN,
    }},
    "cuda": _kinds(
        release={"cuda": CUDA, "release": VERSION, "label": TEXT, "branch": NUMBER, **_FLOORS, **ORIGIN},
        family={"major": NUMBER, **_FLOORS, **ORIGIN},
        branch={"os": one_of(*SYSTEMS), "branch": NUMBER, "cuda": CUDA, **ORIGIN},
        architecture={
            "architecture": TEXT, "compute_capabilities": list_of(CAPABILITY, least=1), "first_cuda": CUDA,
            "last_cuda": or_null(CUDA), "last_driver_branch": or_null(NUMBER), **ORIGIN,
        },
        integrated={"compute_capability": CAPABILITY, "until_cuda": or_null(CUDA), **ORIGIN},
    ),
    "gpus": {None: {
        "name": TEXT, "compute_capability": CAPABILITY, "architecture": TEXT, "family": TEXT,
        "pci_ids": _PCI_IDS, "preferred": FLAG, "platform": optional(PLATFORM), **ORIGIN,
    }},
    "companions": _kinds(
        pair={
            "torch": VERSION, "project": TEXT, "versions": optional(list_of(VERSION, least=1)),
            "specifier": optional(SPECIFIER), "basis": one_of(*BASES), **ORIGIN,
        },
        release={
            "project": TEXT, "version": VERSION, "requires_torch": or_null(SPECIFIER),
            "requires_python": or_null(SPECIFIER), "pythons": list_of(WHEEL_PYTHON), "yanked": FLAG,
            "pypi_cuda": mapping(CUDA), "cuda_match": one_of("exact", "major", None),
            "architectures": optional(_CODE), **ORIGIN,
        },
    ),
    "known-bad": {None: {
        "id": TEXT, "area": TEXT, "judge": one_of(*RULES, *JUDGES), "when": list_of(CONDITIONS),
        "unless": TEXTS, "when_text": TEXTS, "constrain": list_of(REQUIREMENT), "add": list_of(REQUIREMENT),
        "forbid": FLAG, "avoid": FLAG, "warn": FLAG, "effect": TEXT, "error": or_null(TEXT), "remedy": TEXT,
        "confidence": _CONFIDENCE, **ORIGIN,
    }},
    "mirrors": {None: SHIPPED_FIELDS},
    "signatures": {None: {
        "id": _ID, "class": one_of(*CLASSES), "pack": one_of(*PACKS), "case_of": or_null(_ID),
        "wrapper": FLAG, "priority": number(0, 100),
        "patterns": list_of(_PATTERN, least=1), "unless": list_of(_PATTERN), "reads": list_of(REGEX),
        "cause_en": TEXT, "cause_zh": TEXT, "fix_en": TEXT, "fix_zh": TEXT,
        "detail_en": or_null(TEXT), "detail_zh": or_null(TEXT),
        "replan": one_of(*REPLANS), "replan_how": or_null(TEXT), "wants": TEXTS,
        "checks": list_of(matching(r"D[0-9]{2}", N_("check such as D01"))), "samples": _TEXTS,
        "source": TEXT, "evidence": one_of("matrix", "assumed"), "note": optional(TEXT),
        "cases": optional(list_of(object_of({  # what is said where each condition on the text's facts holds
            "when": mapping(TEXT), "cause_en": optional(TEXT), "cause_zh": optional(TEXT),
            "fix_en": TEXT, "fix_zh": TEXT, "replans": optional(FLAG), "sample": TEXT,
        }), least=1)),
        "clauses": optional(list_of(object_of({  # of a fix, counted from 0, that are for some machines only
            "at": number(0, 100), "facts": mapping(TEXT), "leads": optional(FLAG),
        }), least=1)),
    }},
    "checks": {None: {
        "id": _CHECK_ID, "group": TEXT, "title": TEXT, "cases": mapping(_CASE),
        "instead": or_null(TEXT), "common": TEXT,
        "signature": optional(_ID),  # by which `explain` tells it, where a text has all that the check reads
        **ORIGIN,
    }},
    "conda": {None: {
        "channel": TEXT, "torch": VERSION, "variant": VARIANT, "cuda": or_null(CUDA), "platform": PLATFORM,
        "pythons": _PYTHONS, "architectures": _KNOWN_CODE, "cudnn": or_null(VERSION),
        "glibc": or_null(VERSION), "build": TEXT,  # a pattern; `{python}` stands for MAJOR.MINOR
        "requires": TEXTS, "channels": _TEXTS, "torchvision": _VERSIONS, "torchaudio": _VERSIONS, **ORIGIN,
    }},
    # what other programs say: the conda tools, pip, uv, nvidia-smi
    "conda-tools": _kinds(
        exception={"tool": _TOOL, "name": TEXT, "means": _MEANS, **_SOURCE},
        text={"tool": _TOOL, "means": _MEANS, "pattern": REGEX, **_SOURCE},
        advice={"tool": _TOOL, "pattern": REGEX, **_SOURCE},
        least={"tool": _TOOL, "version": VERSION, **_SOURCE},
        # installs `@EXPLICIT` lists by SHA-256, with whole records, and (hides) without passwords in these
        list={"tool": _TOOL, "version": VERSION, "hides": FLAG, **_SOURCE},
        flaw={"tool": _TOOL, "flaw": TEXT, "first": VERSION, "last": VERSION, **_SOURCE},
    ),
    "installer-faults": {None: {
        "fault": one_of("hash", "broken-file", "missing", "status", "redirects", "timeout", "connection"),
        "tool": one_of("pip", "uv"), "pattern": REGEX, "problem": TEXT, **_SOURCE,
    }},
    "reports": {None: {
        "program": TEXT, "pattern": REGEX,
        "needs": list_of(list_of(TEXT, least=1), least=1),  # words, of one group of which a text has all
        "sample": TEXT, "facts": mapping(TEXT), **_SOURCE,
    }},
    "nvidia-smi": _kinds(field=_SMI, message=_SMI, refusal=_SMI),
    "tegra": {None: {
        "chip": TEXT, "board": TEXT,
        "compute_capability": CAPABILITY,  # no other GPU has it
        "called": optional(_TEXTS),  # what its driver calls the GPU
        "wheels": one_of("nvidia", "pytorch"),  # whose wheels of torch have code for its GPU
        "first_release": optional(NUMBER),  # of Jetson Linux with which those run
        **_SOURCE,
    }},
    "images": {None: {
        "registry": TEXT, "repository": matching(r"[a-z0-9._/-]+"),
        "tag": matching(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"),
        "digest": or_null(matching(r"sha256:[0-9a-f]{64}", N_("digest, sha256:..."))),  # of the index
        "digest_source": or_null(TEXT), "flavour": one_of("slim", "cuda-runtime", "cuda-devel"),
        "distribution": TEXT, "glibc": VERSION, "python": VERSION, "cuda": or_null(CUDA),
        "release": or_null(VERSION), "packages": _PACKAGES, "build_packages": _PACKAGES,
        "platforms": list_of(PLATFORM, least=1), **ORIGIN,
    }},
    "pythons": {None: {
        "version": _MINOR_PYTHON, "released": readable(date.fromisoformat, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
        "uv": list_of(one_of(*PLATFORMS)), **ORIGIN,
    }},
    "dependencies": _kinds(
        build={"torch": VERSION, "variant": VARIANT, "platform": PLATFORM, "index": _INDEX, **_SIZES},
        file={"project": TEXT, "version": VERSION, "platform": one_of(*CUDA_PLATFORMS, ANY), **_SIZES},
    ),
    # projects bound to torch, and where wheels for which torch lie
    "ecosystem": _kinds(
        set={
            "set": NAME, "projects": list_of(NAME, least=1),
            "page": _TEMPLATE,  # {torch} MAJOR.MINOR, {variant}, {version} of the project
            "match": one_of("exact", "major"),  # of the CUDA of torch and of a wheel
            "ended": FLAG,  # whether no page for a newer torch is to be expected
            "missing_status": list_of(NUMBER), **ORIGIN,
        },
        project={
            "project": NAME, "set": or_null(NAME),
            "form": one_of("requires_dist", "find_links", "github_assets", "index", "docs_table", "none"),
            "rule": TEXT, "least_compute_capability": or_null(CAPABILITY),
            "least_for": or_null(SPECIFIER),  # releases of the project; null: all
            "gpu_only": FLAG,
            "pins": optional(list_of(NAME, least=1)),  # of the torch stack, by the metadata of its releases
            "built_for_pypi": optional(FLAG),  # for the CUDA of PyPI's build of that torch
            "through": optional(NAME),  # the project of the same version whose metadata pins it
            **ORIGIN,
        },
        code={"project": NAME, "versions": SPECIFIER, "architectures": _CODE, **ORIGIN},
        abi={
            "torch": SPECIFIER, "variants": list_of(_PAGE_VARIANT),  # none: all
            "cxx11": FLAG, **ORIGIN,
        },
        wheels={
            "set": NAME, "by": or_null(TEXT),  # who built them, where it was not the project
            "torch": matching(r"[0-9]{1,2}\.[0-9]{1,3}", N_("release MAJOR.MINOR")),
            "variant": _PAGE_VARIANT,  # `cu12` is any CUDA 12
            "platform": or_null(PLATFORM),  # null: the page tells
            "pythons": list_of(WHEEL_PYTHON),  # none: the page tells
            "versions": _VERSIONS,  # the newest first; none: the page tells
            "pages": list_of(_ADDRESS),  # none: the set's
            **ORIGIN,
        },
        name={  # on PyPI, that is not what most who ask for it mean
            "project": NAME, "what": one_of("another-project", "sources", "ended"), "instead": TEXT,
            "families": list_of(NAME),  # one for each CUDA major
            **ORIGIN,
        },
        framework={  # another than torch
            "pattern": _PATTERN_OF_NAMES, "releases": or_null(SPECIFIER),  # null: all
            "python": or_null(SPECIFIER),  # that those releases have files for
            **ORIGIN,
        },
        **{"brings-torch": {"pattern": _PATTERN_OF_NAMES, **ORIGIN}},
        member={  # of a family: wheels of one library, a project or an extra for each CUDA major
            "family": NAME, "project": NAME, "extra": or_null(NAME), "cuda": number(1, 99),
            "versions": or_null(SPECIFIER),  # of the project, for that CUDA; null: all
            "clash": one_of(*CLASHES, None),  # why it must be of torch's CUDA major
            **ORIGIN,
        },
        requires={
            "project": NAME, "version": VERSION, "requires_torch": or_null(SPECIFIER),
            "requires_python": or_null(SPECIFIER), "pythons": TEXTS, "platforms": TEXTS, "yanked": FLAG,
            **ORIGIN,
        },
    ),
    # releases by the Pythons that they are built for, and what of conda's goes with one torch or CUDA
    "releases": _kinds(
        pythons={
            "project": NAME, "pythons": list_of(PYTHON, least=1), "versions": list_of(VERSION, least=1),
            **ORIGIN,
        },
        bound={"package": REGEX, "bound": one_of(*BOUND), **ORIGIN},
        system={"package": REGEX, "system": one_of(*SYSTEMS), **ORIGIN},
        tied={"project": NAME, "by": NAME, **ORIGIN},
        same={"project": NAME, **ORIGIN},  # its package on conda's channels is named so, too
    ),
    "api-changes": {None: {
        "id": _ID, "project": NAME, "version": VERSION, "kind": one_of(*KINDS), "often": FLAG,
        "names": _TEXTS, "pattern": or_null(REGEX), "needs": list_of(_TEXTS),
        "languages": list_of(one_of(*CODE_LANGUAGES), least=1), "text_en": TEXT, "text_zh": TEXT,
        "sample": or_null(TEXT), **ORIGIN,
    }},
    "libraries": _kinds(
        floor={
            "library": TEXT, "name": TEXT, "counts": one_of("release", "cuda"), "from": VERSION,
            "cuda": or_null(SPECIFIER), "min_compute_capability": CAPABILITY, "least_gpus": number(1),
            "platforms": list_of(PLATFORM, least=1), "confidence": _CONFIDENCE, **ORIGIN,
        },
        family={"library": TEXT, "major": NUMBER, "cuda": SPECIFIER, **ORIGIN},
        bundled={"library": TEXT, "torch": VERSION, "cuda": CUDA, "version": VERSION, **ORIGIN},
    ),
    "wheels": {None: {
        "project": TEXT, "filename": readable(parse_wheel_filename, r"\.whl$"), "index": _INDEX,
        "subdir": optional(VARIANT), "sha256": optional(matching(r"[0-9a-f]{64}", N_("SHA-256 digest"))),
        "requires_python": optional(TEXT), "yanked": optional(FLAG),
    }},
    **ACCELERATOR_FIELDS,
}  # fmt: skip
