"""What a changed line of requirements risks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from gpuenv import matrices
from gpuenv.adapt.model import RequirementChange, Risk
from gpuenv.adapt.risks.api_risks import MOST_PLACES, MOST_UNSEEN, risks_of
from gpuenv.knowledge.api_changes import KINDS, parse_api_changes

ROWS = matrices.load("api-changes")
KNOWN = {row.id: row for row in parse_api_changes(ROWS)}
OLD_CODE = (
    ("train.py", "import torch\nfrom torch._six import inf\ntotal += loss.data[0]\n"),
    ("ops/kernel.cu", "#include <THC/THC.h>\n"),
)


def risks(project: str, old: str | None, new: str | None, *code: tuple[str, str]) -> tuple[Risk, ...]:
    (change,) = risks_of((RequirementChange(project, None, old, new, "", ""),), ROWS, code)
    return change.risks


def ids(told: tuple[Risk, ...]) -> set[str]:
    return {risk.id for risk in told}


def test_what_the_code_uses_is_told_with_its_place() -> None:
    reported = {risk.id: risk for risk in risks("torch", "torch==0.4.1", "torch==2.7.0+cu128", *OLD_CODE)}
    assert reported["torch-six"].places == ("train.py:2",)
    assert reported["torch-data-zero"].places == ("train.py:3",)
    assert reported["torch-thc"].places == ("ops/kernel.cu:1",)
    assert "2.0.0" in reported["torch-six"].text
    assert reported["torch-symeig" if "torch-symeig" in reported else "others"].places == ()


def test_a_change_that_the_code_does_not_show_is_not_told_where_it_could_be_seen() -> None:
    reported = risks("torch", "torch==1.13.1", "torch==2.7.0", ("a.py", "import torch\n"))
    unseen = [risk for risk in reported if risk.id != "others"]
    assert all(KNOWN[risk.id].regex is None for risk in unseen)


@pytest.mark.parametrize(
    ("old", "new", "crossed"),
    [
        ("torch==1.13.1", "torch==2.0.0", True),
        ("torch==1.13.1+cu117", "torch==2.0.0+cu118", True),
        ("torch==1.13.*", "torch==2.0.0", True),
        ("torch>=1.4", "torch==2.0.0", True),
        ("torch", "torch==2.0.0", True),
        ("torch~=1.4 ; python_version < '3.9'", "torch==2.0.0", True),
        ("torch==2.0.0", "torch==2.7.0", False),
        ("torch>=2.0,<2.3", "torch==2.7.0", False),
        ("torch==1.12.1", "torch==1.13.1", False),
        ("torch==2.7.0", "torch==1.13.1", False),
        ("torch==1.7.1", None, False),
        (None, "torch==2.0.0", False),
        ("torch @ nonsense", "torch==2.0.0", True),
        ("", "", False),
    ],
)
def test_a_change_lies_after_the_old_release_and_up_to_the_new(
    old: str | None, new: str | None, crossed: bool
) -> None:
    assert ("torch-six" in ids(risks("torch", old, new, *OLD_CODE))) is crossed


def test_downwards_only_what_is_missing_is_told() -> None:
    code = ("a.py", "model = torch.compile(model)\nstate = torch.load(p)\n")
    reported = risks("torch", "torch==2.7.0", "torch==1.13.1+cu117", code)
    assert [risk.id for risk in reported if risk.places] == ["torch-has-compile"]
    assert all(KNOWN[risk.id].kind == "added" for risk in reported if risk.id != "others")


@pytest.mark.parametrize(("old", "new"), [("3.7", "3.10"), ("==3.7.*", "3.10"), ("3.7.16", "==3.10.*")])
def test_a_python_is_compared_by_its_release(old: str, new: str) -> None:
    reported = risks("python", old, new, ("a.py", "import collections\nx = collections.Mapping\n"))
    assert [risk.id for risk in reported if risk.places] == ["python-collections"]
    assert "python-imp" not in ids(reported)


def test_without_code_the_few_gravest_are_told_and_the_rest_counted() -> None:
    *reported, rest = risks("torch", "torch==1.4.0", "torch==2.7.0")
    assert len(reported) == MOST_UNSEEN
    assert rest.id == "others"
    assert all(KNOWN[risk.id].kind == "removed" and KNOWN[risk.id].often for risk in reported)


def test_a_range_without_code_says_nothing() -> None:
    assert risks("torch", "torch>=1.0", "torch==2.7.0") == ()


def test_many_places_are_counted() -> None:
    code = ("a.py", "x = torch.symeig(a)\n" * 40)
    (risk,) = [risk for risk in risks("torch", "torch==1.8.0", "torch==2.7.0", code) if risk.places]
    assert len(risk.places) == MOST_PLACES
    assert "40" in risk.text


def test_of_one_thing_told_twice_the_worse_stays() -> None:
    reported = risks("numpy", "numpy==1.16.0", "numpy==1.26.4", ("a.py", "x = np.float(1)\n"))
    assert [risk.id for risk in reported if risk.places] == ["numpy-aliases"]


def test_lightning_is_pytorch_lightning_by_another_name() -> None:
    assert risks("lightning", "lightning==1.9.0", "lightning==2.2.0")


def test_a_project_without_known_changes_is_left_alone() -> None:
    change = RequirementChange("requests", None, "requests==1.0", "requests==2.0", "why", "source")
    assert risks_of((change,), ROWS) == (change,)


_RELEASES = st.sampled_from(["0.4.1", "1.0.1", "1.4.0", "1.7.1+cu110", "1.13.1", "2.0.1", "2.6.0", "2.15.0"])


@given(_RELEASES, _RELEASES, st.lists(st.sampled_from(OLD_CODE), max_size=2))
def test_what_is_told_lies_on_the_way_and_the_gravest_comes_first(
    old: str, new: str, code: list[tuple[str, str]]
) -> None:
    reported = risks("torch", f"torch=={old}", f"torch=={new}", *code)
    low, high = sorted((Version(old), Version(new)))
    for risk in reported:
        if risk.id != "others":
            assert low < KNOWN[risk.id].version <= high
            assert (KNOWN[risk.id].kind == "added") is (Version(new) < Version(old))
    graves = [KINDS.index(KNOWN[risk.id].kind) for risk in reported if risk.places]
    assert graves == sorted(graves)


@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_a_line_says_it_is_no_error(old: str, new: str) -> None:
    risks("torch", old, new, *OLD_CODE)
