"""The nearest set against brute force over the matrices, and what changes for it, line by line."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import pytest
from deciding import PYTHONS, Asked, gpu_machine, machine
from examples import examples
from hypothesis import Phase, given
from hypothesis import strategies as st
from lefts import adapted, left, question_of, with_changes
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from published import wheel
from raw_rows import runs

from gpuenv import matrices
from gpuenv.adapt.model import Project, RequirementChange
from gpuenv.adapt.nearest.line_changes import stack_changes
from gpuenv.adapt.nearest.request import request_of
from gpuenv.adapt.nearest.search import find_nearest
from gpuenv.model.errors import Unsatisfiable, UsageError
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.machine import Machine
from gpuenv.model.variant import Variant
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import parse_python, parse_requirements
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules.torch_bound import ORIGIN

MACHINES = {
    f"{gpu}, {driver}": gpu_machine(driver, gpu)
    for gpu, driver in (
        ("Tesla V100", "470.256.02"), ("Tesla V100", "535.183.01"),
        ("GeForce RTX 3090", "470.256.02"), ("GeForce RTX 3090", "535.183.01"),
        ("GeForce RTX 4090", "525.60.13"), ("GeForce RTX 4090", "570.133.07"),
        ("GeForce RTX 5090", "570.133.07"), ("GeForce RTX 5090", "580.95.05"),
        ("Tesla T4", "535.183.01"), ("GeForce GTX 1080 Ti", "535.183.01"),
    )
}  # fmt: skip
V100 = MACHINES["Tesla V100, 535.183.01"]
RTX_3090 = MACHINES["GeForce RTX 3090, 535.183.01"]
RTX_5090 = MACHINES["GeForce RTX 5090, 570.133.07"]
ROWS = [row for row in matrices.load("torch") if row["platform"] == "linux-64" and row["cuda"]]
PAIRS = {
    (row["torch"], row["project"]): tuple(row.get("versions", ()))
    for row in matrices.load("companions")
    if row["kind"] == "pair"
}
TORCHES = sorted({row["torch"] for row in ROWS}, key=Version)
NO_SHRINKING = [phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)]  # it takes minutes
SLOW = examples(4, 24, phases=NO_SHRINKING)


@st.composite
def papers(draw: st.DrawFn) -> tuple[str, ...]:
    """The lines of one paper: pip's, or conda's, which name the CUDA in a line of its own."""
    torch = draw(st.sampled_from(TORCHES))
    variants = sorted({row["variant"] for row in ROWS if row["torch"] == torch})
    conda = draw(st.booleans())
    local = "" if conda else draw(st.sampled_from(["", *(f"+{variant}" for variant in variants)]))
    lines = [draw(st.sampled_from([f"torch=={torch}{local}", f"torch=={torch}{local}", f"torch>={torch}"]))]
    for project in ("torchvision", "torchaudio"):
        paired = PAIRS.get((torch, project), ())
        others = [item for (_, name), ones in PAIRS.items() if name == project for item in ones]
        pin = draw(st.sampled_from([*paired, *paired, draw(st.sampled_from(others))]))
        line = draw(st.sampled_from([None, project, f"{project}=={pin}"]))
        lines += [line] if line else []
    python = draw(st.sampled_from([None, None, "3.7", "3.8", "3.10", "3.12", ">=3.8,<3.10"]))
    lines += [f"python {python}"] if python else []
    lines += draw(st.sampled_from([[], ["numpy==1.19.5"], ["numpy==2.1.0"], ["numpy>=1.20"]]))
    cuda = draw(st.sampled_from(variants))
    lines += draw(st.sampled_from([[], ["cuda 11.1"], [f"cuda {cuda[2:-1]}.{cuda[-1]}"]]))
    return ("conda", *lines) if conda else tuple(lines)


def read(lines: tuple[str, ...]) -> Project:
    return left(*lines[1:], notation="conda") if lines[0] == "conda" else left(*lines)


# brute force


@cache
def known(project: str) -> tuple[Version, ...]:
    """All releases of a project that are published, oldest first."""
    question = Asked((V100,), (project,)).question()
    if project == "torch":
        return tuple(sorted({case.torch for case in question.candidates}))
    return tuple(sorted({release for name, release in question.available.files if name == project}))


def far(project: str, version: Version, wanted: SpecifierSet) -> int:
    """How many releases away; pins of the tests name releases that are known, or none."""
    if wanted.contains(version):
        return 0
    admitted = [release for release in known(project) if wanted.contains(release)] or [
        Version(next(iter(wanted)).version)
    ]
    line = sorted({*known(project), *admitted})
    return min(abs(line.index(version) - line.index(release)) for release in admitted)


class Wanted:
    """What the lines of a left of these tests ask for, read anew from their text."""

    def __init__(self, project: Project) -> None:
        self.asked: dict[str, SpecifierSet] = {}
        self.variant = self.python = cuda = None
        self.others: list[str] = []
        for declared in project.declared:
            text = declared.requirement or ""
            if declared.project == "python":
                self.python = parse_python(text)
            elif declared.project == "cuda":
                cuda = f"cu{text.replace('.', '')}"
            elif declared.project.startswith("torch"):
                bare, _, local = text.partition("+")
                if declared.project == "torch" and local:
                    self.variant = local
                self.asked[declared.project] = SpecifierSet(bare.removeprefix(declared.project))
            elif declared.project != "index":
                self.others.append(text)
        self.conda = any(
            requirement.project == "torch" and requirement.notation == "conda"
            for requirement in project.declared
        )
        self.local = self.variant is not None
        self.variant = self.variant or (cuda if self.conda else None)

    def leads(
        self, torch: Version, companions: dict[str, Version], python: str, variant: str, index: str
    ) -> bool:
        if self.conda:
            return self.variant in (None, variant)
        wanted = "pytorch" if self.local else "pypi"
        if index != wanted or self.variant not in (None, variant):
            return False
        return not self.asked["torch"].contains(torch) or self.newest(torch, companions, python, index)

    def newest(self, torch: Version, companions: dict[str, Version], python: str, index: str) -> bool:
        """Whether an installer would take this one of a range; what moves is pinned."""
        pythons = [item for item in PYTHONS if self.python is None or admits(self.python, item)]
        pythons = pythons if python in pythons else [python]
        return torch == max(self.taken(companions, index, pythons), default=None)

    def taken(self, companions: dict[str, Version], index: str, pythons: Sequence[str]) -> list[Version]:
        tags = {f"cp{python.replace('.', '')}" for python in pythons}
        return [
            Version(row["torch"])
            for row in ROWS
            if row["index"] == index and self.variant in (None, row["variant"])
            if self.asked["torch"].contains(row["torch"]) and tags & set(row["pythons"])
            if all(self.goes(row["torch"], name, version) for name, version in companions.items())
        ]

    def goes(self, torch: str, project: str, release: Version) -> bool:
        wanted = self.asked[project]
        wanted = wanted if wanted.contains(release) else SpecifierSet(f"=={release}")
        return not wanted or any(wanted.contains(item) for item in PAIRS.get((torch, project), ()))

    def rank(
        self, torch: Version, companions: dict[str, Version], python: str, variant: str, index: str
    ) -> tuple[Any, ...]:
        away = far("torch", torch, self.asked["torch"])
        moves = [far(name, version, self.asked[name]) for name, version in companions.items()]
        wanted = self.python
        minor = int(python.partition(".")[2])
        good = [position for position in range(40) if wanted is None or admits(wanted, f"3.{position}")]
        steps = min(abs(minor - position) for position in good)
        return (
            (away, -known("torch").index(torch) if away else 0),
            (sum(map(bool, moves)), sum(moves)),
            (steps, -minor if steps else 0),
            not self.leads(torch, companions, python, variant, index),
        )


def admits(wanted: SpecifierSet, python: str) -> bool:
    return wanted.contains(f"{python}.99") or wanted.contains(f"{python}.0")


def passes(
    question: ResolutionInput,
    torch: str,
    companions: dict[str, Version],
    python: str,
    variant: str,
    index: str,
) -> bool:
    """Whether every rule lets a set pass, with the other packages free."""
    texts = (f"torch=={torch}", *(f"{name}=={version}" for name, version in companions.items()))
    request = replace(
        question.request, requirements=parse_requirements(texts), python=parse_python(python),
        variant=Variant(variant),
    )  # fmt: skip
    candidates = tuple(
        candidate
        for candidate in question.candidates
        if str(candidate.torch) == torch and str(candidate.variant) == variant and candidate.kind == index
    )
    return bool(decide(replace(question, request=request, candidates=candidates)).choices)


@pytest.mark.slow
@SLOW
@given(papers(), st.sampled_from(sorted(MACHINES)))
def test_brute_force_over_the_matrices_finds_no_nearer_set(lines: tuple[str, ...], name: str) -> None:
    project, here = read(lines), MACHINES[name]
    question, wanted = question_of(project, here), Wanted(project)
    solution = find_nearest(question, project).choices[0]
    chosen = chosen_of(solution)
    python, variant = solution.python.short, str(solution.candidate.variant)
    assert passes(question, str(solution.candidate.torch), chosen, python, variant, solution.candidate.kind)
    best = wanted.rank(solution.candidate.torch, chosen, python, variant, solution.candidate.kind)
    (gpu,), driver = here.gpus, here.driver
    assert driver is not None
    for row in ROWS:
        if not runs(row, str(gpu.compute_capability), str(driver.version), "linux"):
            continue
        released = [PAIRS.get((row["torch"], name), ()) for name in chosen]
        for versions, python in product(product(*released), PYTHONS):
            companions = dict(zip(chosen, map(Version, versions), strict=True))
            rank = wanted.rank(Version(row["torch"]), companions, python, row["variant"], row["index"])
            if rank < best:
                set_ = (row["torch"], companions, python, row["variant"], row["index"])
                assert not passes(question, *set_), (set_, rank, best)


# what changes


def stands(project: Project, here: Machine) -> bool:
    """Whether what the lines ask for works as it stands: the build that pip takes, by every rule."""
    wanted = Wanted(project)
    question = question_of(project, here)
    texts = [
        declared.requirement or "" for declared in project.declared if declared.project.startswith("torch")
    ]
    request = replace(
        question.request,
        requirements=parse_requirements((*texts, *wanted.others)),
        python=wanted.python,
        variant=Variant(wanted.variant) if wanted.variant else None,
    )
    solutions = decide(question.with_request(request)).choices
    return any(
        wanted.leads(
            solution.candidate.torch,
            chosen_of(solution),
            solution.python.short,
            str(solution.candidate.variant),
            solution.candidate.kind,
        )
        and takes_companions(project, solution)
        for solution in solutions
    )


def chosen_of(solution: Solution) -> dict[str, Version]:
    return {str(item.file.name): item.release for item in solution.companions}


def takes_companions(project: Project, solution: Solution) -> bool:
    """Whether pip takes the companions' builds: of a page of all it takes the highest local version."""
    addresses = [declared.requirement or "" for declared in project.declared if declared.project == "index"]
    of_all = any("/whl/torch" in address for address in addresses)
    texts = " ".join(declared.text for declared in project.declared)
    locals_ = [item.file.version.local for item in solution.companions]
    return not of_all or all(f"+{item}" in texts for item in locals_ if item)


@pytest.mark.slow
@SLOW
@given(papers(), st.sampled_from(sorted(MACHINES)))
def test_the_changes_lead_to_what_stands_none_is_too_many_and_none_is_missing(
    lines: tuple[str, ...], name: str
) -> None:
    project, here = read(lines), MACHINES[name]
    nearest, changes = adapted(project, here)
    assert stands(with_changes(project, changes), here)
    needed = [change for change in changes if change.declared is not None and not follows(change)]
    assert bool(needed) is not stands(project, here)
    for kept in with_one_undone(changes):
        assert not stands(with_changes(project, kept), here), (kept, changes)
    again, more = adapted(with_changes(project, changes), here)
    assert more == ()
    assert files(again.choices[0]) == files(nearest.choices[0])
    assert all(change.why and change.source for change in changes)


def with_one_undone(changes: tuple[RequirementChange, ...]) -> list[tuple[RequirementChange, ...]]:
    """The changes less one of them; what goes from conda to pip, and the CUDA it leaves, goes together."""
    together = [change for change in changes if change.pip or change.project == "cuda"]
    alone = [
        change
        for change in changes
        if change.declared is not None and change not in together and not follows(change)
    ]
    groups = [*([together] if together else []), *([change] for change in alone)]
    return [tuple(change for change in changes if change not in group) for group in groups]


def follows(change: RequirementChange) -> bool:
    """Whether a line is narrowed lest an installer takes another file: the rules judge what is asked for."""
    old, new = change.old or "", (change.new or "").partition("+")[0]
    return change.project in ("torchvision", "torchaudio", "numpy") and ("==" not in old or old == new)


def files(solution: Solution) -> list[str]:
    return [item.file.filename for item in solution.files]


# cases


def changed(project: Project, here: Machine) -> list[str]:
    """The changes in short."""
    return [f"{item.old} -> {item.new}" for item in adapted(project, here)[1]]


def pages(*projects: str) -> list[str]:
    return [f"None -> --find-links https://torch.example.com/whl/{project}/" for project in projects]


def test_what_works_as_it_stands_is_left_alone() -> None:
    assert changed(left("torch==2.4.1", "torchvision==0.19.1", "numpy==1.26.4", "python 3.10"), V100) == []


def test_a_card_that_came_later_moves_torch_to_the_first_release_with_code_for_it() -> None:
    value = left("torch==1.7.1", "torchvision==0.8.2", "python 3.9", "numpy==1.26.4")
    assert changed(value, RTX_5090) == [
        "torch==1.7.1 -> torch==2.7.0+cu128",
        "torchvision==0.8.2 -> torchvision==0.22.0+cu128",
        *pages("torch", "torchvision"),
    ]


def test_the_build_moves_before_the_release_does() -> None:
    marked = "torch[opt-einsum]==1.10.2{} ; python_version >= {}"
    value = left(marked.format("", "'3'"), "torchvision==0.11.3", "numpy<2", "setuptools<59")
    assert changed(value, RTX_3090) == [
        marked.format("", "'3'") + " -> " + marked.format("+cu113", '"3"'),
        "torchvision==0.11.3 -> torchvision==0.11.3+cu113",
        *pages("torch", "torchvision"),
    ]
    value = left(
        "torch==1.7.1+cu101", "torchvision==0.8.2+cu101", "index https://x.example.com/whl/cu101", "numpy<2"
    )
    assert changed(value, RTX_3090) == [
        "torch==1.7.1+cu101 -> torch==1.7.1+cu110",
        "torchvision==0.8.2+cu101 -> torchvision==0.8.2+cu110",
        "index https://x.example.com/whl/cu101 -> --find-links https://torch.example.com/whl/torch/",
        *pages("torchvision"),
    ]


def test_a_pinned_companion_that_fits_is_not_exchanged_for_a_newer_one() -> None:
    pinned = left("torch==1.13.1", "torchvision==0.14.0", "numpy<2")
    question = question_of(pinned, V100)
    (companion,) = find_nearest(question, pinned).choices[0].companions
    assert str(companion.release) in {"0.14.0", "0.14.1"}
    paired = [pair for pair in PAIRS["2.0.1", "torchaudio"] if pair != PAIRS["2.0.1", "torchaudio"][0]]
    for older in paired:
        (item,) = find_nearest(question, left("torch==2.0.1", f"torchaudio=={older}")).choices[0].companions
        assert str(item.release) == older


def test_a_range_takes_what_a_plan_would_and_stays_where_pip_takes_the_same() -> None:
    newest = gpu_machine("610.12", "NVIDIA H100")
    assert changed(left("torch>=1.7", "python >=3.8"), newest) == []
    nearest, changes = adapted(left("torch>=1.7"), V100)
    planned = decide(Asked((V100,), ("torch",)).question()).choices[0]
    assert files(nearest.choices[0]) == files(planned)
    assert [change.new for change in changes if change.project == "torch"] == [
        f"torch=={planned.torch.file.version}"
    ]


def test_numpy_moves_and_torch_does_not() -> None:
    value = left("torch==2.0.1", "numpy==2.1.0", "torchvision==0.15.2", "setuptools==60.0", "python 3.10")
    assert changed(value, V100) == ["numpy==2.1.0 -> numpy<2"]
    nearest, _ = adapted(value, V100)
    request = nearest.question_for(nearest.choices[0]).request
    assert "numpy<2" in map(str, request.others)


def test_a_companion_that_ended_is_given_up_and_said_so() -> None:
    nearest, changes = adapted(left("torch==1.13.1", "torchtext==0.14.1", "torchvision==0.14.1"), RTX_5090)
    assert nearest.given_up == ("torchtext",)
    (gone,) = (change for change in changes if change.project == "torchtext")
    assert gone.new is None
    assert "torchtext" in gone.why
    assert {item.file.name for item in nearest.choices[0].companions} == {"torchvision"}


def scatter_question(project: Project, page: str, *files: str, problem: str | None = None) -> ResolutionInput:
    """The question with one page of PyG's, read or not."""
    question = question_of(project, RTX_5090)
    question = question.with_request(replace(question.request, extensions=("torch-scatter",)))
    source = IndexSource("flat", page, ORIGIN, "pyg", may_be_missing=True)
    wheels = tuple(replace(wheel(file, "cu128"), url=f"{page}/{file}") for file in files)
    return question.with_listings(
        (Listing(source, canonicalize_name("torch-scatter"), wheels, page, problem),)
    )


def test_a_project_bound_to_torch_moves_with_it_to_the_wheel_for_it() -> None:
    value = left(
        "torch==1.13.1", "torch-scatter==2.0.5", "index https://data.pyg.org/whl/torch-1.13.1+cu117.html"
    )
    page = "https://data.pyg.org/whl/torch-2.7.0+cu128.html"
    tags = "cp312-cp312-linux_x86_64"
    question = scatter_question(value, page, f"torch_scatter-2.1.2+pt27cu128-{tags}.whl")
    nearest = find_nearest(question, value)
    changes = stack_changes(nearest, nearest.choices[0], value)
    by_project = {change.project: change.new for change in changes if change.declared is not None}
    assert by_project["torch-scatter"] == f"torch-scatter @ {page}/torch_scatter-2.1.2+pt27cu128-{tags}.whl"
    assert by_project["torch"] == "torch==2.7.0+cu128"
    assert "index" in by_project
    assert nearest.choices[0].python.short == "3.12"


def test_a_project_whose_page_was_not_read_is_left_alone_and_told() -> None:
    value = left("torch==1.13.1", "torch-scatter==2.0.5")
    page = "https://data.pyg.org/whl/torch-2.7.0+cu128.html"
    nearest = find_nearest(scatter_question(value, page, problem="timed out"), value)
    changes = stack_changes(nearest, nearest.choices[0], value)
    assert [listing.page for listing in nearest.unread] == [page]
    assert "torch-scatter" not in {change.project for change in changes}
    nothing = find_nearest(scatter_question(value, page), value)
    assert nothing.given_up == ("torch-scatter",)
    assert nothing.unread == ()
    (gone,) = (
        change
        for change in stack_changes(nothing, nothing.choices[0], value)
        if change.project == "torch-scatter"
    )
    assert gone.new is None


@pytest.mark.slow
def test_a_readmes_word_counts_where_the_files_leave_it_open() -> None:
    hinted = left("README torch==1.13.1", "README torchvision==0.14.1", "torch", "numpy<2", "setuptools<59")
    assert str(adapted(hinted, V100)[0].choices[0].candidate.torch) == "1.13.1"
    assert changed(hinted, V100) == []
    assert changed(hinted, RTX_5090) == ["torch -> torch==2.7.0+cu128", *pages("torch")]
    pinned = left("README torch==1.13.1", "torch==2.4.1", "numpy<2")
    assert str(adapted(pinned, V100)[0].choices[0].candidate.torch) == "2.4.1"


def test_a_torch_that_only_a_readme_names_is_added_when_it_moves() -> None:
    value = left("README torch==1.13.1", "numpy<2", "setuptools<59", "timm")
    assert changed(value, V100) == []
    assert changed(value, RTX_5090) == ["torch==1.13.1 -> torch==2.7.0+cu128", *pages("torch")]


def test_a_cpu_build_that_was_left_becomes_one_for_the_gpu() -> None:
    assert changed(left("torch==2.4.1+cpu", "numpy<2"), V100)[0].startswith(
        "torch==2.4.1+cpu -> torch==2.4.1"
    )
    assert (
        changed(left("torch==2.4.1+cpu", "index https://x.example.com/whl/cpu", "numpy<2"), gpu_less()) == []
    )


def gpu_less() -> Machine:
    return machine({})


@pytest.mark.slow
def test_condas_torch_keeps_its_cuda_where_that_works_and_becomes_a_wheel_where_it_moves() -> None:
    lines = ("torch==1.7.1", "torchvision==0.8.2", "cuda 11.0", "python 3.8", "numpy==1.19.2")
    assert changed(left(*lines, notation="conda"), RTX_3090) == []
    assert changed(left(*lines[:2], "cuda 10.2", *lines[3:], notation="conda"), RTX_3090) == [
        "torch==1.7.1 -> torch==1.7.1+cu110",
        "torchvision==0.8.2 -> torchvision==0.8.2+cu110",
        "10.2 -> None",
        *pages("torch", "torchvision"),
    ]
    _, changes = adapted(left(*lines, notation="conda"), RTX_5090)
    assert [change.pip for change in changes if change.project.startswith("torch")] == [True, True]


def test_what_stands_in_a_file_is_required() -> None:
    request = request_of(left("torch", "torchvision", "numpy<2"), Asked((V100,), optional=True).request())
    assert request.optional == ()
    assert [requirement.name for requirement in request.to_resolve] == ["numpy"]


def test_different_pins_of_one_project_are_refused_with_their_places() -> None:
    value = left("torch==1.7.1", "torch==1.8.0")
    with pytest.raises(UsageError, match="torch is required in different releases") as refused:
        request_of(value, Asked((V100,)).request())
    assert [reason.text for reason in refused.value.because] == [
        "requirements.txt:1 requires `torch==1.7.1`", "requirements.txt:2 requires `torch==1.8.0`",
    ]  # fmt: skip
    marked = left(
        "torch==1.7.1 ; python_version < '3.9'", "torch==1.8.0 ; python_version >= '3.9'", "torch==1.8"
    )
    assert adapted(marked, V100)[0].choices[0].candidate.torch in {Version("1.7.1"), Version("1.8.0")}


def test_the_command_lines_python_holds_against_the_files() -> None:
    value = left("torch==1.13.1", "python 3.8", "numpy<2", "setuptools<59")
    asking = question_of(value, V100, python="3.10")
    assert find_nearest(asking, value).choices[0].python.short == "3.10"


def test_nothing_at_all_is_refused_as_a_plan_is() -> None:
    too_old = gpu_machine("470.256.02", "GeForce GTX 680")
    with pytest.raises(Unsatisfiable):
        adapted(left("torch==1.7.1", "python >=3.13"), too_old)


TEXTS = st.text(max_size=30) | st.sampled_from(
    ["torch", "torch==", "torch===x", "torch==1.*", "torch~=1.7", "torch @ https://x.example.com/torch.whl",
     "torch @ https://x.example.com/torch-1.11.0%2Bcu113-cp38-cp38-linux_x86_64.whl#sha256=00",
     "torch==1.7.1; python_version ~= '3'", "torch; 'x' in extras", "torch!=1.7", "torch<0", "torch==1!2.0",
     "torch>=99"]
)  # fmt: skip


@given(TEXTS, st.sampled_from(["torch", "torchvision", "numpy", "python", "cuda", "index"]), st.booleans())
@examples(20, 100)
def test_whatever_a_line_says_it_is_adapted_or_refused(text: str, project: str, hint: bool) -> None:
    odd = replace(left("torch").declared[0], project=project, requirement=text, text=text, hint=hint)
    value = left("torch==2.4.1", "numpy<2")
    value = replace(value, declared=(*value.declared, odd))
    with contextlib.suppress(UsageError, Unsatisfiable):
        nearest = find_nearest(replace(few(), request=request_of(value, few().request)), value)
        stack_changes(nearest, nearest.choices[0], value)


@cache
def few() -> ResolutionInput:
    """A question of few builds: what is odd is in the lines."""
    question = Asked((V100,)).question()
    kept = tuple(case for case in question.candidates if str(case.torch) in {"1.11.0", "2.4.1"})
    return replace(question, candidates=kept)
