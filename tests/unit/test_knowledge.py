"""Look-ups over the matrices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.knowledge.gpu_names import parse_pci_id
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.variant import CudaVersion, Variant
from gpuenv.planning.load_knowledge import load_knowledge

KNOWLEDGE = load_knowledge()
PRINTED = Path(__file__).parents[1] / "fixtures" / "gpu-names.txt"
NAMES = [gpu["name"] for gpu in KNOWLEDGE.gpu_rows]


def capability(name: str) -> str | None:
    fact = KNOWLEDGE.gpu_names.find(name)
    return str(fact.capability) if fact else None


# builds


def test_every_build_is_found_by_its_own_key() -> None:
    for build in KNOWLEDGE.builds:
        assert KNOWLEDGE.find_build(build.torch, build.variant, build.platform, build.index) is build


def test_a_build_of_the_other_kind_of_index_stands_in() -> None:
    build = KNOWLEDGE.find_build(Version("2.14.1"), Variant("cu126"), "linux-64", "pypi")
    assert build
    assert build.index == "pytorch"


def test_a_local_version_and_a_post_release_find_their_release() -> None:
    for text in ("1.0.1.post2", "1.0.1+cu90", "1.0.1"):
        build = KNOWLEDGE.find_build(Version(text), Variant("cu90"), "linux-64", "pytorch")
        assert build
        assert build.torch == Version("1.0.1")


@pytest.mark.parametrize("text", ["2.15.0rc1", "2.15.0.dev20261101", "9.9", "0.4.1"])
def test_no_other_release_stands_in_for_an_unknown_one(text: str) -> None:
    assert KNOWLEDGE.find_build(Version(text), Variant("cu130"), "linux-64", "pytorch") is None
    assert KNOWLEDGE.pypi_variant(Version(text), "linux-64") is None
    assert KNOWLEDGE.companions_of(Version(text)) == {}


@pytest.mark.parametrize(
    ("torch", "platform", "variant"),
    [
        ("1.13.1", "linux-64", "cu117"),
        ("2.10.0", "linux-64", "cu128"),
        ("2.11.0", "linux-64", "cu130"),
        ("2.15.0", "linux-64", "cu132"),
        ("2.15.0", "win-64", "cpu"),
        ("2.10.0", "linux-aarch64", "cpu"),
        ("2.11.0", "linux-aarch64", "cu130"),
    ],
)
def test_the_variant_of_pypis_build_is_known(torch: str, platform: str, variant: str) -> None:
    assert KNOWLEDGE.pypi_variant(Version(torch), platform) == Variant(variant)  # type: ignore[arg-type]


def test_builds_of_a_platform_are_all_of_it() -> None:
    builds = KNOWLEDGE.builds_of("linux-aarch64")
    assert builds
    assert {build.platform for build in builds} == {"linux-aarch64"}


# CUDA and drivers


@pytest.mark.parametrize(
    ("cuda", "os", "floor"),
    [
        ((10, 2), "linux", "440.33"),
        ((10, 2), "windows", "441.22"),
        ((9, 2), "linux", "396.37"),  # the update's, which is stricter
        ((12, 6), "linux", "560.35.05"),
        ((13, 4), "linux", "615"),  # known by its branch alone
    ],
)
def test_the_floor_of_a_release_is_its_strictest(cuda: tuple[int, int], os: str, floor: str) -> None:
    driver_floor = KNOWLEDGE.release_floor(CudaVersion(*cuda), os)  # type: ignore[arg-type]
    assert driver_floor
    assert driver_floor.version == Version(floor)
    assert driver_floor.source


@pytest.mark.parametrize(
    ("major", "os", "floor"),
    [
        (11, "linux", "450.80.02"),
        (12, "linux", "525.60.13"),
        (13, "linux", "580.65.06"),
        (11, "windows", "452.39"),
        (12, "windows", "527.41"),
    ],
)
def test_the_floor_of_a_family_is_the_published_one(major: int, os: str, floor: str) -> None:
    driver_floor = KNOWLEDGE.family_floor(major, os)  # type: ignore[arg-type]
    assert driver_floor
    assert driver_floor.version == Version(floor)


def test_before_cuda_11_there_was_no_family() -> None:
    assert KNOWLEDGE.family_floor(10, "linux") is None


def test_an_unknown_release_has_no_floor() -> None:
    assert KNOWLEDGE.release_floor(CudaVersion(99, 0), "linux") is None


@pytest.mark.parametrize(
    ("driver", "os", "cuda"),
    [
        ("570.133.07", "linux", CudaVersion(12, 8)),
        ("450.80.02", "linux", CudaVersion(11, 0)),
        ("470.239.06", "linux", CudaVersion(11, 4)),
        ("537.13", "windows", CudaVersion(12, 2)),
        ("999.1", "linux", CudaVersion(13, 4)),
        ("300.1", "linux", None),
    ],
)
def test_a_driver_supports_the_cuda_of_its_branch(driver: str, os: str, cuda: CudaVersion | None) -> None:
    assert KNOWLEDGE.driver_cuda(Version(driver), os) == cuda  # type: ignore[arg-type]


@given(st.integers(300, 700), st.integers(300, 700))
def test_a_newer_driver_never_supports_less(one: int, other: int) -> None:
    older, newer = (KNOWLEDGE.driver_cuda(Version(str(v)), "linux") for v in sorted((one, other)))
    assert older is None or (newer is not None and older <= newer)


@pytest.mark.parametrize(
    ("text", "name", "last"),
    [("3.7", "Kepler", 470), ("7.0", "Volta", 580), ("8.6", "Ampere", None), ("12.0", "Blackwell", None)],
)
def test_a_capability_belongs_to_a_generation(text: str, name: str, last: int | None) -> None:
    support = KNOWLEDGE.architecture_of(parse_compute_capability(text))
    assert support
    assert (support.name, support.last_driver_branch) == (name, last)


@pytest.mark.parametrize(
    ("text", "cuda"),
    [("8.9", (11, 0)), ("9.0", (11, 8)), ("12.1", (12, 8)), ("7.5", (9, 0)), ("5.2", (6, 5))],
)
def test_a_generation_is_a_major_version(text: str, cuda: tuple[int, int]) -> None:
    first = KNOWLEDGE.first_generation(parse_compute_capability(text))
    assert first
    assert first.first_cuda == CudaVersion(*cuda)


def test_integrated_devices_run_their_own_code_until_cuda_says_otherwise() -> None:
    orin = parse_compute_capability("8.7")
    assert KNOWLEDGE.is_integrated(orin, None)
    assert KNOWLEDGE.is_integrated(orin, CudaVersion(12, 6))
    assert not KNOWLEDGE.is_integrated(orin, CudaVersion(13, 2))
    assert KNOWLEDGE.is_integrated(parse_compute_capability("5.3"), CudaVersion(13, 2))
    assert not KNOWLEDGE.is_integrated(parse_compute_capability("8.6"), None)


# GPUs


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Tesla K80", "3.7"),
        ("GeForce GTX 1080 Ti", "6.1"),
        ("NVIDIA GeForce GTX 1080 Ti", "6.1"),
        ("NVIDIA A100-SXM4-80GB", "8.0"),
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", "8.0"),
        ("NVIDIA H100 PCIe", "9.0"),
        ("NVIDIA H100 80GB HBM3", "9.0"),
        ("GRID T4-8Q", "7.5"),
        ("TITAN X (Pascal)", "6.1"),
        ("GeForce GTX TITAN X", "5.2"),
        ("Quadro RTX 4000", "7.5"),
        ("NVIDIA RTX 4000 Ada Generation", "8.9"),
        ("NVIDIA GeForce RTX 3080 Ti Laptop GPU", "8.6"),
    ],
)
def test_names_as_nvidia_smi_prints_them_are_found(name: str, expected: str) -> None:
    assert capability(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("RTX 3080 Ti", "8.6"), ("rtx3080ti", "8.6"), ("3080 Ti", "8.6"), ("H100", "9.0"), ("V100", "7.0"),
        ("A100", "8.0"), ("T4", "7.5"), ("K80", "3.7"), ("P100", "6.0"), ("B200", "10.0"), ("B300", "10.3"),
        ("RTX 4090", "8.9"), ("RTX 5090", "12.0"), ("GTX 1080 Ti", "6.1"), ("GTX 1080", "6.1"),
        ("TITAN V", "7.0"), ("RTX A6000", "8.6"), ("L40S", "8.9"), ("GH200", "9.0"), ("RTX PRO 6000", "12.0"),
    ],
)  # fmt: skip
def test_names_as_people_type_them_are_found(name: str, expected: str) -> None:
    assert capability(name) == expected


@pytest.mark.parametrize(
    "name", ["RTX 4000", "RTX 6000", "TITAN X", "TITAN", "RTX", "NVIDIA", "", "RTX 9090", "K"]
)
def test_a_name_that_may_mean_unlike_cards_means_none(name: str) -> None:
    assert capability(name) is None


@pytest.mark.parametrize("name", ["RTX 3080 Ti Super", "GTX 1080 Mega", "A100X Pro", "RTX 4090 Blackwell"])
def test_an_unknown_card_is_not_taken_for_the_one_it_is_named_after(name: str) -> None:
    assert capability(name) is None


def printed() -> Iterator[tuple[str, str]]:
    """The names of the fixture, each with the compute capability that it stands under."""
    under = ""
    for line in PRINTED.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            under = line.strip("[]")
        elif line and not line.startswith("#"):
            yield line, under


def test_every_name_that_a_driver_prints_is_known_in_any_case_with_and_without_the_maker() -> None:
    unknown = [
        form
        for name, expected in printed()
        for form in (name, name.lower(), name.upper(), name.removeprefix("NVIDIA "), f" {name} ")
        if capability(form) != expected
    ]
    assert unknown == []


def test_a_name_sold_with_several_capabilities_says_so() -> None:
    fact = KNOWLEDGE.gpu_names.find("GeForce GT 730")
    assert fact
    assert fact.ambiguous
    assert str(fact.capability) == "3.5"


def test_every_name_in_the_table_finds_a_capability_that_the_table_gives_it() -> None:
    for row in KNOWLEDGE.gpu_rows:
        known = {
            r["compute_capability"] for r in KNOWLEDGE.gpu_rows if r["name"].lower() == row["name"].lower()
        }
        assert capability(row["name"]) in known


@given(st.sampled_from(NAMES), st.integers(1, 6))
def test_a_shortened_name_finds_a_capability_only_if_all_it_begins_have_it(name: str, count: int) -> None:
    short = " ".join(name.split()[:count])
    fact = KNOWLEDGE.gpu_names.find(short)
    begun = {
        row["compute_capability"]
        for row in KNOWLEDGE.gpu_rows
        if row["preferred"] and f"{row['name']} ".startswith(f"{short} ")
    }
    whole_name = short in NAMES
    assert fact is None or whole_name or {str(fact.capability)} == begun


@given(st.text(max_size=40))
def test_any_text_is_answered(text: str) -> None:
    assert KNOWLEDGE.gpu_names.find(text) is None or KNOWLEDGE.gpu_names.find(text)
    assert len(KNOWLEDGE.gpu_names.suggest(text)) <= 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RTX 9090", "NVIDIA GeForce RTX 5090"),
        ("RTX 4000", "Quadro RTX 4000"),
        ("gtx 1080it", "GeForce GTX 1080 Ti"),
        ("TITAN X", "GeForce GTX TITAN X"),
    ],
)
def test_suggestions_hold_what_was_meant(text: str, expected: str) -> None:
    assert expected in KNOWLEDGE.gpu_names.suggest(text)


@pytest.mark.parametrize("text", ["2208", "0x2208", "0x220810DE", "10de:2208", " 2208\n"])
def test_a_pci_id_is_read_in_every_spelling(text: str) -> None:
    fact = KNOWLEDGE.capability_by_pci(text)
    assert fact
    assert fact.name == "NVIDIA GeForce RTX 3080 Ti"


@given(st.text(max_size=12))
def test_a_pci_id_is_four_hexadecimal_digits_or_refused(text: str) -> None:
    try:
        value = parse_pci_id(text)
    except ValueError:
        return
    assert 0 <= int(value, 16) <= 0xFFFF


@given(st.integers(0, 0xFFFF))
def test_every_pci_id_reads_back(number: int) -> None:
    assert parse_pci_id(f"0x{number:04X}10DE") == f"{number:04x}" == parse_pci_id(f"10DE:{number:04X}")


def test_an_unknown_pci_id_is_no_card() -> None:
    assert KNOWLEDGE.capability_by_pci("ffff") is None


# companions and the rest


def test_companions_come_best_first() -> None:
    companions = KNOWLEDGE.companions_of(Version("2.14.1+cu126"))
    assert list(map(str, companions["torchvision"])) == ["0.29.1", "0.29.2"]
    assert list(map(str, companions["torchaudio"])) == ["2.11.0"]
    assert "triton" not in companions


def test_triton_is_a_specifier() -> None:
    triton, vision = (KNOWLEDGE.companions(Version("2.14.1"), name) for name in ("triton", "torchvision"))
    assert triton is not None
    assert triton.specifier == SpecifierSet("~=3.8.0")
    assert KNOWLEDGE.companions(Version("1.13.1"), "triton") is None
    assert vision is not None
    assert vision.specifier is None


def test_a_companion_release_tells_its_own_conditions() -> None:
    release = KNOWLEDGE.companion_release("torchvision", Version("0.29.2"))
    assert release
    assert release.requires_python == SpecifierSet(">=3.10,!=3.14.1")
    assert dict(release.pypi_cuda) == {"linux-64": CudaVersion(13, 2)}


def test_torches_of_a_companion_are_those_it_is_paired_with() -> None:
    torches = KNOWLEDGE.torches_of("torchvision", Version("0.29.1"))
    assert torches == (Version("2.14.0"), Version("2.14.1"))


@pytest.mark.parametrize(
    ("project", "version", "expected"),
    [
        ("torchvision", "0.15.2", False),
        ("torchvision", "0.16.0", True),
        ("torchvision", "0.29.2", True),
        ("torchaudio", "2.11.0", False),
        ("torchvision", "99.0", False),
    ],
)
def test_how_closely_cuda_must_match(project: str, version: str, *, expected: bool) -> None:
    assert KNOWLEDGE.matches_by_major(project, Version(version)) is expected


def test_known_bad_conditions_are_specifiers_or_words() -> None:
    row = next(row for row in KNOWLEDGE.known_bad if row.id == "numpy2-windows")
    (item,) = row.when
    assert dict(item) == {"torch": SpecifierSet("<2.4.1"), "numpy": SpecifierSet(">=2"), "os": "windows"}
    assert row.constrain == ("numpy<2",)


def test_known_bad_prose_has_no_condition_and_does_nothing() -> None:
    prose = [row for row in KNOWLEDGE.known_bad if not row.when]
    assert prose
    assert all(row.judge != "known-bad" and not row.constrain and not row.forbid for row in prose)


def test_cudnn_left_kepler_and_then_volta() -> None:
    floors = {
        str(floor.since): str(floor.min_capability)
        for floor in KNOWLEDGE.libraries
        if floor.library == "cudnn"
    }
    assert floors["9.0"] == "5.0"
    assert floors["9.11"] == "7.5"


def test_a_garbled_row_raises_value_error_when_its_table_is_read() -> None:
    broken = Knowledge(library_rows=[{**KNOWLEDGE.library_rows[0], "from": "nine"}])
    assert broken.builds == ()
    with pytest.raises(ValueError, match="nine"):
        _ = broken.libraries
