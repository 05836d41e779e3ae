"""Doctor's core: whatever was read, every check judges it, and says what its texts are filled with."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest
from any_findings import FINDINGS
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import gpuenv.checks
from gpuenv import matrices
from gpuenv.checks.diagnosis import CheckVerdict, Diagnosis, diagnose, render_diagnosis, render_diagnosis_text
from gpuenv.checks.registry import CHECKS
from gpuenv.doctor.examine import parse_findings, render_findings
from gpuenv.doctor.repair import is_better
from gpuenv.doctor.repair_steps import NoRepair, Repair, superseded, what_repairs
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.findings import Dist, Findings, Interpreter, SharedFile, TorchFiles
from gpuenv.model.machine import Driver, DriverVersion, Gpu, Machine, System
from gpuenv.model.variant import CudaVersion, Variant
from gpuenv.planning.load_knowledge import load_knowledge

FOLDER = Path(gpuenv.checks.__file__).parent
BY_ID = {check.id: check for check in CHECKS}
ROWS = matrices.load("checks")


@cache
def knowledge() -> Knowledge:
    return load_knowledge()


def judge(findings: Findings) -> Diagnosis:
    return diagnose(findings, knowledge(), ROWS)


@examples(20, 600)
@given(FINDINGS)
def test_whatever_was_read_is_judged_by_every_check_and_told(findings: Findings) -> None:
    diagnosis = judge(findings)
    assert len({check.id for check in diagnosis.checks}) == len(diagnosis.checks) == len(ROWS)
    for verdict in diagnosis.checks:
        explained = verdict.verdict in ("problem", "warning")
        assert (
            explained
            == (verdict.cause is not None)
            == (verdict.fix is not None)
            == (verdict.needs is not None)
        )
    wrong = [check for check in diagnosis.checks if check.verdict == "problem"]
    beside = [item for item in wrong if item.id in ("D29", "D60")]  # torch does without them
    assert diagnosis.problems == (*(item for item in wrong if item not in beside), *beside)
    assert diagnosis.root == next(iter(diagnosis.problems), None)
    json.dumps(render_diagnosis(diagnosis))
    for signs in (True, False):
        shown = render_diagnosis_text(diagnosis, signs=signs, verbose=True)
        assert "\x1b" not in shown
    repair = what_repairs(diagnosis, findings)
    assert isinstance(repair, Repair | NoRepair)


@given(FINDINGS)
def test_saved_findings_are_the_same_findings(findings: Findings) -> None:
    document = json.loads(json.dumps(render_findings(findings)))
    again = parse_findings(document)
    assert replace(again, machine=findings.machine) == findings
    assert render_findings(again) == render_findings(findings)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["schema", "machine", "python", "environment", "dists", "x"]), inner
            )
        ),
        max_leaves=8,
    )
)
def test_a_document_of_another_kind_is_a_value_error(document: object) -> None:
    document = {**document, "schema": 1} if isinstance(document, dict) else document
    with pytest.raises(ValueError, match=r".") as caught:
        parse_findings(document)
    assert type(caught.value) is ValueError


# Texts and checks agree.


_FROM_FINDINGS = {"pythonpath", "user-site", "user-only"}  # how another torch was found is its case


def _cases(source: str) -> set[str]:
    """The cases that a check tells of: texts given to `problem`, `warning` or what stands for them."""
    constants = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return {
        value for value in constants if isinstance(value, str) and re.fullmatch(r"[a-z][a-z0-9-]+", value)
    }


def _source(name: str) -> str:
    """The text of a check, with what it uses of its module: private functions and constants."""
    judge = BY_ID[name].judge
    module = ast.parse(Path(judge.__code__.co_filename).read_text())
    parts = {
        target: node
        for node in module.body
        for target in [getattr(node, "name", None) or ast.unparse(node).partition(" = ")[0]]
    }
    used, left = set(), {judge.__name__}
    while left:
        used |= left
        names = (node for part in left for node in ast.walk(parts[part]) if isinstance(node, ast.Name))
        left = {node.id for node in names if node.id in parts} - used
    return "\n".join(ast.unparse(parts[part]) for part in sorted(used))


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_check_has_a_function_with_its_cases_or_says_who_looks(row: dict[str, object]) -> None:
    cases = row["cases"]
    assert isinstance(cases, dict)
    if row["instead"] is not None:
        assert cases == {}
        assert row["id"] not in BY_ID
        return
    messages = _cases(_source(str(row["id"])))
    assert {case.partition("@")[0] for case in cases} <= messages | _FROM_FINDINGS
    for case in cases.values():
        assert case["needs"]
        assert case["cause"]
        assert case["fix"]


@pytest.mark.parametrize("name", BY_ID)
def test_what_a_check_calls_a_case_has_texts(name: str) -> None:
    direct = set(re.findall(r"(?:problem|warning|make)\(\s*'([a-z0-9-]+)'", _source(name)))
    row = next(row for row in ROWS if row["id"] == name)
    assert direct <= set(row["cases"])


def test_groups_stand_in_the_order_of_dependence() -> None:
    groups = list(dict.fromkeys(verdict.group for verdict in judge(_plain()).checks))
    assert groups == [
        "machine", "container", "driver", "build", "libraries", "packages", "environment variables", "running"
    ]  # fmt: skip


def _plain(**changed: object) -> Findings:
    machine = Machine(System("linux", "x86_64", "glibc", "2.39"))
    python = Interpreter("/e/bin/python", "3.12.4", "/e", "/usr", "x86_64", 64, packages=("/e/site",))
    return replace(Findings("/e", machine, python), **changed)  # type: ignore[arg-type]


# Repairs.

GPU = Machine(
    System("linux", "x86_64", "glibc", "2.39"),
    Driver(DriverVersion("570.133.07"), CudaVersion(12, 8)),
    (Gpu(0, "NVIDIA L4", ComputeCapability(8, 9)),),
)


def _with(version: str, variant: str, *dists: Dist, machine: Machine = GPU, **torch: object) -> Findings:
    files = TorchFiles("/e/site", version, variant, **torch)  # type: ignore[arg-type]
    own = Dist("torch", version, "/e/site", "uv")
    return _plain(machine=machine, torch=files, dists=(own, *dists))


def _repair(findings: Findings) -> Repair:
    repair = what_repairs(judge(findings), findings)
    assert isinstance(repair, Repair), repair
    return repair


def test_a_cpu_build_is_repaired_by_the_same_release_first() -> None:
    vision = Dist("torchvision", "0.22.1+cpu", "/e/site", "uv")
    repair = _repair(_with("2.7.1+cpu", "cpu", vision))
    assert repair.attempts == (
        ("torch==2.7.1", "torchvision"), ("torch==2.7.*", "torchvision"), ("torch<2.7.1", "torchvision"),
        ("torch", "torchvision"),
    )  # fmt: skip
    assert repair.cuda == "auto"


def test_a_gpu_newer_than_the_build_asks_for_a_newer_torch() -> None:
    new = replace(GPU, gpus=(Gpu(0, "NVIDIA GeForce RTX 5090", ComputeCapability(12, 0)),))
    repair = _repair(_with("2.6.0+cu126", "cu126", machine=new, architectures=("sm_80", "sm_90")))
    assert "torch>2.6.0" in [attempt[0] for attempt in repair.attempts]


def test_two_generations_are_repaired_without_another_build() -> None:
    shared = (SharedFile("nvidia/nccl/lib/libnccl.so.2", ("nvidia-nccl-cu12", "nvidia-nccl-cu13")),)
    dists = (Dist("nvidia-nccl-cu12", "2.21", "/e/site"), Dist("nvidia-nccl-cu13", "2.27", "/e/site"))
    findings = replace(_with("2.7.1+cu126", "cu126", *dists, architectures=("sm_89",)), shared_files=shared)
    repair = _repair(findings)
    assert (repair.remove, repair.reinstall, repair.cuda) == (
        ("nvidia-nccl-cu13",),
        ("nvidia-nccl-cu12",),
        "cu126",
    )


def test_what_the_old_torch_brought_for_another_cuda_goes_and_nothing_else() -> None:
    names = ("nvidia-nccl-cu13", "nvidia-cudnn-cu13", "nvidia-nccl-cu12", "nvidia-dali-cu13", "nvidia-cublas")
    dists = tuple(Dist(name, "1", "/e/site") for name in names)
    findings = _with("2.15.0", "cu132", *dists)
    own = replace(
        findings.dists[0], requires=("nvidia-nccl-cu13==1", "nvidia-cudnn-cu13==1", "cuda-toolkit==13")
    )
    findings = replace(findings, dists=(own, *dists))
    assert superseded(findings, Variant("cu126")) == ("nvidia-nccl-cu13", "nvidia-cudnn-cu13")
    assert superseded(findings, Variant("cu130")) == superseded(findings, Variant("cpu")) == ()


@pytest.mark.parametrize(
    "changed",
    [
        {
            "python": Interpreter(
                "/e/bin/python", "3.12.4", packages=("/e/site",), locked="/usr/EXTERNALLY-MANAGED"
            )
        },
        {"python": Interpreter("/e/bin/python", "3.12.4", packages=("/e/site",), writable=False)},
        {"dists": (Dist("torch", "2.7.1", "/e/site", "conda"),)},
        {"python": Interpreter("/e/bin/python", "3.13.1", packages=("/e/site",), free_threaded=True)},
    ],
)
def test_what_is_not_gpuenvs_to_change_is_left_alone(changed: dict[str, object]) -> None:
    findings = replace(_with("2.7.1+cpu", "cpu"), **changed)  # type: ignore[arg-type]
    assert isinstance(what_repairs(judge(findings), findings), NoRepair)


@pytest.mark.parametrize(
    ("local", "fits"),
    [
        ("pt27cu126", True), ("pt270cu126", True), ("torch2.7cxx11abiTRUE", True), ("cu12torch2.7", True),
        ("pt271cu126", True), ("pt21cu121", False), ("torch2.10cu126", False), ("pt2100cu126", False),
        ("cu118torch2.7", False), ("abi3", True),
    ],
)  # fmt: skip
def test_what_an_extension_was_built_for_is_read_from_its_version(local: str, fits: bool) -> None:
    findings = _with(
        "2.7.1+cu126", "cu126", Dist("natten", f"1.0+{local}", "/e/site"), architectures=("sm_89",)
    )
    assert ("D29" not in {verdict.id for verdict in judge(findings).problems}) is fits


def _told(*ids: str) -> Diagnosis:
    groups = {row["id"]: row["group"] for row in ROWS}
    return Diagnosis("/e", tuple(CheckVerdict(item, groups[item], "", "problem", "") for item in ids))


@pytest.mark.parametrize(
    ("before", "after", "better"),
    [
        (("D01",), (), True),
        (("D01", "D54"), (), True),
        (("D01", "D54"), ("D54",), False),
        (("D01", "D07", "D54"), ("D07", "D54"), True),
        (("D01",), ("D01",), False),
        (("D01",), ("D40",), False),
        (("D01", "D40"), ("D40",), True),
    ],
)
def test_a_repair_is_kept_where_the_root_is_gone_and_nothing_new_is_wrong(
    before: tuple[str, ...], after: tuple[str, ...], better: bool
) -> None:
    assert is_better(_told(*before), _told(*after)) is better


def test_every_check_is_in_the_list_once() -> None:
    texts = (path.read_text() for path in FOLDER.glob("*.py"))
    there = [name for text in texts for name in re.findall(r'^@check\("(D\d\d)"\)', text, re.MULTILINE)]
    assert sorted(there) == sorted(check.id for check in CHECKS)
    assert len(BY_ID) == len(CHECKS)
