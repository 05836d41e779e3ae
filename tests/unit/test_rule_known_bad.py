"""Rule `known-bad`, and the constraints that keep a plan out of known-bad combinations."""

from __future__ import annotations

import pytest
from building import case, found, on
from deciding import Asked, decided, gpu_machine
from packaging.specifiers import SpecifierSet

from gpuenv.core.knowledge import KnownBad
from gpuenv.core.rules import known_bad
from gpuenv.values.python import PythonOffer
from gpuenv.workflow.knowledge import load_knowledge

KNOWLEDGE = load_knowledge()
A100 = gpu_machine("535.104.05", "8.0")


def ids(torch: str, *companions: str, python: str = "3.11", **short: object) -> set[str]:
    files = tuple(found(f"{name}-py3-none-any.whl") for name in companions)
    offer = PythonOffer(python)
    return {row.id for row in known_bad.applying(case(torch), files, offer, on(**short), KNOWLEDGE)}


def test_a_row_applies_when_all_its_conditions_hold() -> None:
    assert "numpy2-linux" in ids("2.2.2")
    assert "numpy2-linux" not in ids("2.3.0")
    assert "torchaudio-unpinned" in ids("2.10.0", "torchaudio-2.11.0")
    assert "torchaudio-unpinned" not in ids("2.11.0", "torchaudio-2.11.0")
    assert "torchaudio-unpinned" not in ids("2.10.0")
    assert "win-torch240-fbgemm" in ids("2.4.0", platform="win-64")
    assert "win-torch240-fbgemm" not in ids("2.4.0")
    assert "py314.1-torchvision" in ids("2.11.0", "torchvision-0.26.0", python="3.14.1")
    assert "py314.1-torchvision" not in ids("2.11.0", "torchvision-0.26.0", python="3.14")


def test_rows_about_conda_channels_and_mere_prose_never_apply() -> None:
    assert "mkl-2024.1-conda" not in ids("2.2.2")
    assert all(row.when for row in KNOWLEDGE.known_bad if row.id in ids("1.13.1", "torchvision-0.14.1"))


def test_what_has_no_workaround_is_a_failure_that_says_what_helps() -> None:
    rows = known_bad.applying(
        case("2.4.0"), (), PythonOffer("3.11"), on("551.61", "8.9", platform="win-64"), KNOWLEDGE
    )
    (failure,) = known_bad.check(case("2.4.0"), rows)
    assert failure.key == ("known-bad", "win-torch240-fbgemm")
    assert failure.detail.startswith("torch 2.4.0+cu126: fbgemm.dll fails to load")
    assert failure.detail.endswith("; torch 2.4.1 or install the MSVC OpenMP runtime")


def test_a_constraint_concerns_only_what_will_be_installed() -> None:
    row = KnownBad(
        "x",
        (("torch", SpecifierSet("<9")),),
        ("numpy<2",),
        forbid=False,
        effect="it breaks",
        remedy="numpy<2",
        source="here",
    )
    assert known_bad.constraints((row,), frozenset({"torch"})) == ()
    assert known_bad.constraints((row,), frozenset({"torch", "numpy"})) == (("numpy<2", row),)


@pytest.mark.parametrize(
    ("requirements", "constraints"),
    [
        (("torch==1.8.1",), ("numpy<2",)),  # which requires numpy itself
        (("torch==2.1.2",), ()),
        (("torch==2.1.2", "numpy"), ("numpy<2",)),
        (("torch==2.1.2", "NumPy>=1.24"), ("numpy<2",)),
        (("torch==2.1.2", "scipy"), ("numpy<2",)),
        (("torch==2.1.2", "Setuptools"), ("numpy<2", "setuptools<70")),  # the lowest of two bounds
        (("torch==2.3.1", "torchvision"), ()),
        (("torch==2.12.0", "setuptools"), ("setuptools<82",)),
    ],
)
def test_a_plan_constrains_what_it_brings(
    requirements: tuple[str, ...], constraints: tuple[str, ...]
) -> None:
    plan = decided(Asked((A100,), requirements)).plan
    assert plan is not None
    assert plan.constraints == constraints
    assert all(any(text in reason.text for reason in plan.why) for text in constraints)
