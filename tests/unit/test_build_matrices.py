"""The generator: repeatable, and it writes nothing that contradicts itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matrix_workshop import (
    BUILD,
    CPU,
    ECOSYSTEM,
    FAMILY,
    GPU,
    PAIR,
    RECORD,
    RELEASE,
    TABLES,
    Workshop,
    parse_build_record,
    torch_table,
)


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_facts_become_rows(workshop: Workshop) -> None:
    assert workshop.build() == 0
    cpu, cuda = workshop.rows("torch")
    assert (cpu["variant"], cpu["cuda"], cpu["architectures"]) == ("cpu", None, [])
    assert cuda["architectures"] == ["sm_50", "sm_90", "sm_120", "compute_120"]
    assert cuda["pythons"] == ["cp39", "cp310"]
    assert (cuda["platform"], cuda["index"], cuda["evidence"]) == ("linux-64", "pytorch", "matrix")
    assert workshop.rows("gpus")[0]["evidence"] == "assumed"
    assert workshop.rows("cuda")[-1]["until_cuda"] == "13.2"
    assert workshop.rows("companions")[0]["versions"] == ["0.22.0"]


def test_the_same_facts_give_the_same_bytes(workshop: Workshop) -> None:
    workshop.write_pages()
    assert workshop.build("--pypi-pages", str(workshop.pages)) == 0
    first = workshop.files()
    assert workshop.build("--pypi-pages", str(workshop.pages)) == 0
    assert workshop.files() == first
    assert "wheels.json" in first


@pytest.mark.slow
def test_the_same_facts_give_the_same_signatures_and_who_keeps_them_leaves_them_alone(
    workshop: Workshop,
) -> None:
    assert workshop.build_all() == 0
    first = workshop.files()
    assert workshop.rows("signatures")
    assert workshop.build() == 0
    assert workshop.files() == first
    assert workshop.build_all() == 0
    assert workshop.files() == first


def test_the_order_of_the_facts_does_not_matter(workshop: Workshop) -> None:
    workshop.build()
    first = workshop.files()
    for name, rows in TABLES.items():
        workshop.write(name, rows[::-1])
    workshop.build()
    assert workshop.files() == first


@pytest.mark.parametrize(
    ("change", "evidence"),
    [
        ({"arch_source": "measured in wheel"}, "wheel"),
        ({"evidence": "release-matrix"}, "assumed"),
        ({"evidence": "lock-file release-matrix"}, "matrix"),
        (
            {"variant": "cpu", "cuda": "", "arch_list": "", "ptx": "", "evidence": "pypi", "triton": ""},
            "matrix",
        ),
    ],
)
def test_evidence_tells_how_a_build_is_known(
    workshop: Workshop, change: dict[str, str], evidence: str
) -> None:
    workshop.write("torch_builds.csv", [BUILD | {"channel": "pypi"} | change, BUILD])
    assert workshop.build() == 0
    assert {row["evidence"] for row in workshop.rows("torch") if row["index"] == "pypi"} == {evidence}


def test_a_build_known_from_the_release_matrix_gets_the_tags_its_platform_had_last(
    workshop: Workshop,
) -> None:
    assumed = BUILD | {"torch": "2.8.0", "platform_tags": "", "evidence": "release-matrix", "torchvision": ""}
    workshop.write("torch_builds.csv", [BUILD, assumed])
    assert workshop.build() == 0
    assert workshop.rows("torch")[1]["tags"] == ["manylinux_2_28_x86_64"]


def test_what_is_uncertain_or_foreign_is_left_out(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = [
        {"variant": "rocm6.3"},
        {"platform": "macosx_arm64"},
        {"variant": "cu128", "evidence": "uncertain"},
    ]
    workshop.write("torch_builds.csv", [BUILD, *(BUILD | change for change in odd)])
    assert workshop.build() == 0
    assert len(workshop.rows("torch")) == 1
    assert "left out: torch 2.7.0 cu128" in capsys.readouterr().out


def test_a_cuda_without_a_published_driver_has_its_branch_for_a_floor(workshop: Workshop) -> None:
    new = RELEASE | {"cuda": "13.4.1", "driver_branch": "R615", "linux_x86_64_min_driver": ""}
    workshop.write("cuda_driver.csv", [RELEASE, new | {"note": "driver no longer bundled; branch only"}])
    assert workshop.build() == 0
    assert [row["linux"] for row in workshop.rows("cuda") if row["kind"] == "release"] == ["560.35.05", "615"]


REFUSED: list[tuple[str, list[dict[str, str]], str]] = [
    ("torch_builds.csv", [BUILD, BUILD | {"pythons": "cp311"}], "stands there twice, and the two differ"),
    ("torch_builds.csv", [BUILD | {"cuda": "12.4"}], "variant `cu126` with CUDA 12.4"),
    ("torch_builds.csv", [BUILD | {"platform": "linux_riscv64"}], "`linux_riscv64` is no platform"),
    ("torch_builds.csv", [BUILD | {"variant": "cuda126"}], "`cuda126` is no variant"),
    ("torch_builds.csv", [BUILD | {"arch_list": "5.0 nine"}], "`nine` is not a valid compute capability"),
    ("torch_builds.csv", [BUILD | {"torch": "two"}], "two"),
    ("torch_builds.csv", [BUILD | {"pythons": "3.10"}], "`3.10` is not a valid Python tag"),
    ("torch_builds.csv", [BUILD | {"channel": "conda"}], "conda"),
    ("torch_builds.csv", [BUILD | {"variant": "cu111", "cuda": "11.1"}], "CUDA 11.1 has no driver floor"),
    ("torch_builds.csv", [BUILD | {"torchvision": "0.21.0"}], "torchvision 0.21.0, which no row knows"),
    ("torch_builds.csv", [BUILD, CPU | {"triton": "==3.2.0"}], "asks for triton"),
    ("torch_builds.csv", [{"torch": "2.7.0"}], "a table of the facts has no"),
    ("torch_pairs.csv", [PAIR | {"torch_requirement": "==9.9.0"}], "which does not exist"),
    ("torch_pairs.csv", [PAIR | {"documented_torch": "9.9"}], "names torch 9.9, which does not exist"),
    ("torch_pairs.csv", [PAIR | {"requires_python": "3.9"}], "torch_pairs.csv"),
    ("gpus.csv", [GPU, GPU | {"name": "H2", "compute_capability": "8.7"}], "PCI id 2330"),
    ("gpus.csv", [GPU | {"compute_capability": "9"}], "`9` is not a valid compute capability"),
    ("gpus.csv", [GPU | {"pci_device_ids": "xyzw"}], "no PCI ids"),
    ("cuda_driver.csv", [RELEASE | {"linux_x86_64_min_driver": "five"}], "five"),
    ("cuda_driver.csv", [RELEASE | {"driver_branch": "560"}], "no driver branch"),
]


@pytest.mark.parametrize(("name", "rows", "message"), REFUSED, ids=[refusal[2] for refusal in REFUSED])
def test_bad_facts_are_refused_and_nothing_is_written(
    workshop: Workshop,
    capsys: pytest.CaptureFixture[str],
    name: str,
    rows: list[dict[str, str]],
    message: str,
) -> None:
    assert workshop.build() == 0
    before = workshop.files()
    workshop.write(name, rows)
    assert workshop.build("--allow-shrink") == 2
    assert message in capsys.readouterr().err
    assert workshop.files() == before


@pytest.mark.parametrize(
    "name", [*TABLES, "sources.toml", "known_bad.toml", "torch_device_rules.toml", "mirrors.toml"]
)
def test_an_absent_or_garbled_file_is_refused(
    workshop: Workshop, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    workshop.write_pages()
    for garble in (b"\xff\xfe\x00", b"a,b\n1,2,3\n", None):
        path = workshop.facts / name
        path.write_bytes(garble) if garble else path.unlink()
        assert workshop.build("--pypi-pages", str(workshop.pages)) == 2
        assert name in capsys.readouterr().err
    assert workshop.files() == {}


def test_a_condition_for_an_unknown_entry_is_refused(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    path = workshop.facts / "known_bad.toml"
    path.write_text(path.read_text().replace('id = "numpy2-linux"', 'id = "numpy3"'))
    assert workshop.build() == 2
    assert "numpy2-linux" in capsys.readouterr().err


def test_a_table_that_would_shrink_is_refused_unless_it_should(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    workshop.build()
    workshop.write("torch_builds.csv", [BUILD])
    assert workshop.build() == 2
    assert "`torch.json` would shrink from 2 to 1 rows" in capsys.readouterr().err
    assert len(workshop.rows("torch")) == 2
    assert workshop.build("--allow-shrink") == 0
    assert len(workshop.rows("torch")) == 1


@given(st.lists(st.tuples(st.integers(2, 3), st.integers(5, 15), st.booleans()), min_size=2, max_size=2))
def test_pythons_are_ordered_as_versions(pythons: list[tuple[int, int, bool]]) -> None:
    item, other = pythons
    tags = [f"cp{major}{minor}{'t' if threaded else ''}" for major, minor, threaded in (item, other)]
    assert (torch_table.python_order(tags[0]) < torch_table.python_order(tags[1])) == (item < other)


def test_what_a_wheel_says_wins_and_the_difference_is_told(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    workshop.write("torch_builds.csv", [BUILD | {"channel": "pypi"}])
    assert workshop.build() == 0
    (fact,) = workshop.rows("torch")
    wheel = fact | {"architectures": ["sm_70"], "source": "wheel x", "evidence": "wheel", "torchvision": []}
    other = wheel | {"platform": "linux-aarch64", "tags": ["manylinux_2_28_aarch64"]}
    workshop.read.mkdir()
    (workshop.read / "torch.json").write_text(json.dumps({"rows": [wheel, other]}))
    capsys.readouterr()
    assert workshop.build() == 0
    message = capsys.readouterr().out
    assert "overruled: torch 2.7.0 cu126 linux-64 pypi: architectures `sm_50 sm_90" in message
    assert "only in PyPI's wheels" in message
    first, second = workshop.rows("torch")
    assert (first["architectures"], first["source"], first["torchvision"]) == (
        ["sm_70"],
        "wheel x",
        ["0.22.0"],
    )
    assert second["platform"] == "linux-aarch64"


def test_a_build_script_that_a_wheel_denies_is_denied_for_its_other_builds(workshop: Workshop) -> None:
    own = BUILD | {"channel": "pypi"}
    other = BUILD | {"variant": "cu118", "cuda": "11.8", "arch_list": "5.0 8.0"}
    family = {**FAMILY, "cuda_major": "11", "linux_min_driver": "450.80.02"}
    workshop.write("cuda_minor_version_compat.csv", [FAMILY, family])
    workshop.write("torch_builds.csv", [own, BUILD, other])
    assert workshop.build() == 0
    fact = next(row for row in workshop.rows("torch") if row["index"] == "pypi")
    listed = ["sm_60", "sm_90", "sm_120", "compute_120"]
    wheel = fact | {"architectures": listed, "source": "wheel x", "evidence": "wheel"}
    workshop.read.mkdir(exist_ok=True)
    (workshop.read / "torch.json").write_text(json.dumps({"rows": [wheel]}))
    assert workshop.build() == 0
    anies = {(row["variant"], row["index"]): row for row in workshop.rows("torch")}
    assert anies["cu126", "pytorch"]["architectures"] == listed
    assert anies["cu118", "pytorch"]["architectures"] == ["sm_60", "sm_80", "compute_120"]
    assert "sm_50" in anies["cu118", "pytorch"]["note"]


def record(workshop: Workshop, **changed: object) -> None:
    workshop.read.mkdir(exist_ok=True)
    (workshop.read / "xformers.json").write_text(json.dumps({"rows": [RECORD | changed]}))


def pairs(workshop: Workshop, project: str) -> list[dict[str, object]]:
    rows = workshop.rows("companions")
    return [row for row in rows if row["kind"] == "pair" and row["project"] == project]


def test_xformers_goes_with_the_torch_that_it_pins_and_has_the_code_that_its_wheel_records(
    workshop: Workshop,
) -> None:
    record(workshop)
    assert workshop.build() == 0
    (pair,) = pairs(workshop, "xformers")
    assert (pair["versions"], pair["basis"], pair["evidence"]) == (["0.0.30"], "metadata", "wheel")
    release = next(row for row in workshop.rows("companions") if row.get("version") == "0.0.30")
    assert (release["architectures"], release["pypi_cuda"]) == (["sm_60", "compute_60"], {"linux-64": "12.6"})
    assert release["cuda_match"] == "major"


@pytest.mark.parametrize(("cuda", "basis"), [("12.8", "cpp_lib.json"), ("13.0", "metadata")])
def test_a_lower_bound_is_decided_by_the_cuda_that_the_wheel_records(
    workshop: Workshop, cuda: str, basis: str
) -> None:
    workshop.write("ecosystem_requires.csv", [ECOSYSTEM | {"torch": ">=2.6"}])
    record(workshop, torch="2.6.0", cuda=cuda)
    assert workshop.build() == 0
    (pair,) = pairs(workshop, "xformers")
    assert (pair["basis"], pair["evidence"]) == (basis, "matrix")


def test_a_wheel_without_a_record_is_left_out(workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> None:
    workshop.write(
        "ecosystem_requires.csv", [ECOSYSTEM, ECOSYSTEM | {"version": "0.0.13", "torch": ">=1.12"}]
    )
    record(workshop)
    assert workshop.build() == 0
    assert "left out: xformers 0.0.13" in capsys.readouterr().out
    assert len(pairs(workshop, "xformers")) == 1


def test_a_pin_that_the_record_denies_is_refused(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    record(workshop, torch="2.6.0")
    assert workshop.build() == 2
    assert "asks for torch==2.7.0, and was built with 2.6.0" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "basis", "evidence"),
    [
        ({}, "metadata", "wheel"),
        ({"torch_requirement": ">=2.7", "requirement_state": "bound"}, "version.py", "matrix"),
        (
            {"torch_requirement": ">=2.7", "requirement_state": "bound", "pypi_linux_x86_64_cuda": "12.8"},
            "metadata",
            "matrix",
        ),
        (
            {"torch_requirement": "", "documented_torch": "2.7", "pypi_linux_x86_64_cuda": ""},
            "documented",
            "matrix",
        ),
        ({"torch_requirement": "", "pypi_linux_x86_64_cuda": ""}, "number", "assumed"),
    ],
)
def test_a_pair_says_by_what_it_was_decided(
    workshop: Workshop, change: dict[str, str], basis: str, evidence: str
) -> None:
    workshop.write("torch_builds.csv", [BUILD | {"channel": "pypi"}, CPU])
    workshop.write("torch_pairs.csv", [PAIR | change])
    assert workshop.build() == 0
    (pair,) = pairs(workshop, "torchvision")
    assert (pair["basis"], pair["evidence"]) == (basis, evidence)


def test_the_manifest_counts_what_lies_there(workshop: Workshop) -> None:
    workshop.write_pages()
    workshop.build("--pypi-pages", str(workshop.pages))
    workshop.build()  # without pages the snapshot stays, and is counted all the same
    counts = {row["table"]: row["count"] for row in workshop.rows("manifest")}
    assert counts == {table: len(workshop.rows(table)) for table in counts}
    assert "wheels" in counts


RECORDED = {
    "version": {"cuda": 1208, "torch": "2.8.0+cu128"},
    "env": {"TORCH_CUDA_ARCH_LIST": "7.5 8.0+PTX 8.0 9.0a"},
}


def test_a_build_record_tells_torch_cuda_and_architectures() -> None:
    value = parse_build_record(json.dumps(RECORDED))
    assert (str(value.torch), str(value.cuda)) == ("2.8.0", "12.8")
    assert list(map(str, value.architectures)) == ["sm_75", "sm_80", "compute_80", "sm_90a"]


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "null", '{"version": 3}', json.dumps(RECORDED | {"env": {}}),
        json.dumps(RECORDED | {"env": {"TORCH_CUDA_ARCH_LIST": ""}}),
        json.dumps(RECORDED | {"env": {"TORCH_CUDA_ARCH_LIST": "Turing"}}),
        json.dumps(RECORDED | {"version": {"cuda": None, "torch": "2.8.0"}}),
        json.dumps(RECORDED | {"version": {"cuda": True, "torch": "2.8.0"}}),
        json.dumps(RECORDED | {"version": {"cuda": 1208, "torch": "two"}}),
        json.dumps(RECORDED | {"version": {"cuda": 1208, "torch": None}}),
    ],
)  # fmt: skip
def test_a_garbled_build_record_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_build_record(text)


def test_rows_read_from_wheels_that_can_not_be_read_are_refused(workshop: Workshop) -> None:
    workshop.read.mkdir()
    (workshop.read / "torch.json").write_text("{")
    assert workshop.build() == 2


def test_every_check_of_doctor_has_its_texts_and_no_text_is_without_its_check(workshop: Workshop) -> None:
    answer = json.loads((workshop.facts / "doctor_checks.json").read_text())
    answer["checks"].pop()
    (workshop.facts / "doctor_checks.json").write_text(json.dumps(answer))
    assert workshop.build() == 2
