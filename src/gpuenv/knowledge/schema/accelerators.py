"""The fields of the tables of accelerators that are not NVIDIA's on a PC."""

from __future__ import annotations

from gpuenv.i18n.messages import N_
from gpuenv.knowledge.accelerators import DEVICE_CLASSES, LAYOUTS, TARGETS_HOW
from gpuenv.knowledge.records import JUDGES
from gpuenv.knowledge.schema.field_types import (
    CAPABILITY,
    CUDA,
    FLAG,
    NUMBER,
    ORIGIN,
    PYTHON,
    SPECIFIER,
    TEXT,
    TEXTS,
    VERSION,
    Fields,
    list_of,
    mapping,
    matching,
    object_of,
    one_of,
    optional,
    or_null,
)
from gpuenv.model.plan import RULES
from gpuenv.model.wheel import PLATFORMS

ACCELERATORS = ("rocm", "xpu", "mps", "npu", "cpu")
# what builds for the platforms of other accelerators have beside those of CUDA
_PLATFORM = one_of(*dict.fromkeys((*PLATFORMS, "osx-arm64", "osx-64")))
_KIND = one_of(*ACCELERATORS)
_VARIANT = matching(
    r"cpu|xpu|mps|npu|cu[0-9]{2,3}|rocm[0-9]{1,2}(\.[0-9]{1,2}){1,2}", N_("variant such as rocm7.2 or xpu")
)
_HEX = matching(r"[0-9a-f]{4}", N_("PCI id such as 1b06"))
_REVISION = matching(r"[0-9a-f]{2}", N_("revision of a PCI device such as c8"))
_DOTTED = matching(r"[0-9]{1,3}(\.[0-9]{1,3}){1,2}", N_("release such as 36.4.3"))
_ADDRESS = matching(r"https?://([!-z|~]|\{(variant|family|folder|torch|X\.Y\[\.Z\])\})+", N_("address"))


def _kinds(**kinds: Fields) -> dict[str | None, Fields]:
    return {name: {"kind": one_of(name), **fields} for name, fields in kinds.items()}


_CONDITION = object_of({
    "kind": optional(one_of("cuda", *ACCELERATORS)), "architectures": optional(list_of(TEXT, least=1)),
    "capabilities": optional(list_of(CAPABILITY, least=1)), "variants": optional(list_of(_VARIANT, least=1)),
    "platforms": optional(list_of(_PLATFORM, least=1)), "indexes": optional(list_of(TEXT, least=1)),
    "torch": optional(SPECIFIER), "rocm": optional(SPECIFIER), "macos": optional(SPECIFIER),
    "l4t": optional(SPECIFIER), "python": optional(SPECIFIER),
    "environment": optional(mapping(TEXT)),  # a variable and its value, `*` for any
    "packages": optional(mapping(SPECIFIER)), "native": optional(FLAG), "extra": optional(FLAG),
    "os": optional(one_of("linux", "windows", "macos", "wsl")),
})  # fmt: skip

ACCELERATOR_FIELDS: dict[str, dict[str | None, Fields]] = {
    "accelerator-devices": {None: {
        "kind": or_null(_KIND),  # null: recognised, and nothing is planned for it
        "vendor": TEXT, "name": TEXT,
        "names": TEXTS,  # what else people call it
        "pci_vendor": or_null(_HEX), "pci_id": or_null(_HEX),
        "revision": or_null(_REVISION),  # null: of any other revision
        "architecture": or_null(TEXT), "chip": or_null(TEXT), "discrete": FLAG, **ORIGIN,
    }},
    "accelerator-architectures": {None: {
        "kind": _KIND, "architecture": TEXT, "chip": TEXT, "generation": TEXT, "products": TEXTS,
        "device_class": one_of(*DEVICE_CLASSES),
        "code": list_of(TEXT, least=1),  # targets of builds that run on it
        "supported": or_null(FLAG),  # null: what a build's targets say counts
        "kfd": optional(NUMBER),  # gfx_target_version of the kernel's topology
        "extra": optional(TEXT), "in_amd_index": optional(FLAG),  # of AMD's own index
        "fp64": optional(FLAG), "least_os": optional(_DOTTED), "compiled_since": optional(VERSION), **ORIGIN,
    }},
    "accelerator-builds": {None: {
        "torch": VERSION, "torch_npu": optional(VERSION), "kind": _KIND, "variant": _VARIANT,
        "platform": _PLATFORM, "index": TEXT,
        "build": optional(TEXT),  # the build tag in the files' names
        "pythons": list_of(PYTHON),  # none: not known
        "tags": TEXTS,
        "targets": TEXTS,  # what there is machine code for
        "targets_how": one_of(*TARGETS_HOW),
        "extra": FLAG,  # whether the code for a device comes by an extra of the requirement
        "requires": object_of({
            "macos": optional(_DOTTED), "mps": optional(_DOTTED), "cann": optional(TEXT),
            "torch": optional(TEXT), "oneapi": optional(TEXT),
        }),
        "triton": or_null(TEXT), "torchvision": list_of(VERSION), "torchaudio": list_of(VERSION),
        "yanked": optional(FLAG), **ORIGIN,
    }},
    "accelerator-indexes": _kinds(
        index={
            "id": TEXT, "index": TEXT, "accelerator": or_null(one_of("cuda", *ACCELERATORS)), "vendor": TEXT,
            "layout": one_of(*LAYOUTS), "address": _ADDRESS, "platforms": list_of(_PLATFORM),
            "content": TEXT, "chooses": TEXT, **ORIGIN,
        },
        package={
            "vendor": TEXT, "device": TEXT, "package": TEXT, "accelerator": or_null(_KIND), "torch": TEXT,
            "runtime": TEXT, "where": TEXT, "binds": TEXT, "detect": TEXT, "state": TEXT, **ORIGIN,
        },
    ),
    "accelerator-known-bad": {None: {
        "id": TEXT, "vendor": TEXT, "judge": one_of(*RULES, *JUDGES), "when": list_of(_CONDITION),
        "when_text": TEXTS, "forbid": FLAG, "warn": FLAG,
        "override": optional(_DOTTED),  # HSA_OVERRIDE_GFX_VERSION that people use, where nothing else is left
        "effect": TEXT, "error": or_null(TEXT), "remedy": TEXT, "silent": FLAG,
        "confidence": one_of("high", "medium", "low"), **ORIGIN,
    }},
    "kernel-drivers": _kinds(
        window={"driver": _DOTTED, "rocm": list_of(_DOTTED, least=1), "fails": list_of(_DOTTED), **ORIGIN},
        module={"module": _DOTTED, "drivers": list_of(_DOTTED, least=1), **ORIGIN},
        rule={"driver": TEXT, "rocm_text": TEXT, **ORIGIN},
    ),
    "jetson": {None: {
        "boards": list_of(TEXT, least=1), "l4t": or_null(_DOTTED), "jetpack": or_null(TEXT), "cuda": CUDA,
        "compute_capabilities": list_of(CAPABILITY, least=1), "python": or_null(VERSION),
        "ubuntu": or_null(VERSION), "userspace": one_of("tegra", "sbsa"),
        "driver": optional(_DOTTED),
        "torch_from": list_of(object_of({
            "index": TEXT, "folder": optional(TEXT), "variant": optional(_VARIANT),
            "torch": optional(SPECIFIER), "pythons": optional(list_of(PYTHON, least=1)),
            "assumed": optional(FLAG),
        }), least=1),
        **ORIGIN,
    }},
}  # fmt: skip
