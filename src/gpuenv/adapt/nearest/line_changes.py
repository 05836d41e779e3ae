"""The lines that change so that the project leads to a solution: the torch stack, Python, CUDA.

What needs no change is none: a line that admits what was chosen stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.adapt.model import DeclaredRequirement, Project, RequirementChange, changed_line
from gpuenv.adapt.nearest.cuda_lines import channel_of, cuda_changes, named_channel
from gpuenv.adapt.nearest.families import renamed
from gpuenv.adapt.nearest.index_line_changes import address_of, index_changes
from gpuenv.adapt.nearest.known_bad_dependencies import because_of, tightened
from gpuenv.adapt.nearest.reasons import Reasons
from gpuenv.adapt.nearest.request import (
    Wishes,
    public,
    python_of,
    requirement_of,
    variant_in,
    variant_of_page,
    wishes_for,
)
from gpuenv.adapt.nearest.resolves_to import is_condas, resolves_to
from gpuenv.adapt.nearest.search import Nearest
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import KnownBad
from gpuenv.knowledge.version_ranges import lies_within
from gpuenv.model.errors import Because
from gpuenv.resolution.candidate import IndexedFile
from gpuenv.resolution.conda.builds import CondaBuild
from gpuenv.resolution.constraints import constraints_of
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import COMPANIONS, STACK, admits
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules import torch_bound
from gpuenv.resolution.rules.python import admitted
from gpuenv.resolution.rules.requested import version_of

_BY_PIP = "matrix torch.json"
_PYTHON_ABI = "python-abi"  # conda's: it has the release of its Python


def stack_changes(
    nearest: Nearest,
    solution: Solution,
    project: Project,
    known: Knowledge | None = None,
    build: CondaBuild | None = None,
) -> tuple[RequirementChange, ...]:
    """Return the changes that lead from the project to one of the nearest solutions, without risks.

    The stack's, Python's and CUDA's lines, the pages that torch comes from, and other packages as far as
    they are known to fail. In an environment.yml a torch that conda does not bring becomes a requirement with
    a local version or a page, which belongs to its pip part. `known` tells of builds that a channel lacks,
    `build` what a channel's build of torch is chosen by.
    """
    changing = _Changing(nearest, solution, project, known)
    stack = tuple(changing.stack())
    wishes = changing.wishes
    pages = index_changes(nearest.question, solution, wishes, stack, build)
    others = other_changes(nearest, solution, wishes)
    cuda = cuda_changes(solution, wishes, build, changing.reasons, moved=bool(stack))
    changes = (*stack, *changing.python(), *cuda, *pages, *others)
    return tuple(sorted(changes, key=_place))


def _place(change: RequirementChange) -> tuple[bool, str, int]:
    declared = change.declared
    return (declared is None, declared.file if declared else "", declared.start if declared else 0)


class _Changing:
    """Finds the changes of one choice."""

    def __init__(
        self, nearest: Nearest, solution: Solution, project: Project, known: Knowledge | None
    ) -> None:
        self.nearest, self.solution, self.project = nearest, solution, project
        self.question = nearest.question
        self.wishes: Wishes = wishes_for(project, self.question.target, solution.python)
        self.reasons = Reasons(self.question, solution, self.wishes, known)

    def stack(self) -> Iterator[RequirementChange]:
        """Yield the changes of torch, its companions, and the projects bound to it."""
        companions = map(self._companion, self.solution.companions)
        changes = [*self._torch(), *chain.from_iterable(companions)]
        if self._leaves_conda and changes:
            changes = [*changes, *self._left_behind({id(change.declared) for change in changes})]
            changes = [replace(change, pip=True) for change in changes]
        yield from changes
        kept = {*(str(page.project) for page in self.nearest.unread), *self.nearest.unknown}
        for project in (item for item in self.nearest.given_up if item not in kept):
            because = self.reasons.for_gone(project, self.nearest.original.request)
            for line in self.wishes.lines.get(project, ()):
                yield changed_line(line, None, because)

    @property
    def _leaves_conda(self) -> bool:
        """Whether torch, which the files ask of conda, is a wheel."""
        return is_condas(self.wishes) and self.solution.candidate.kind != "conda"

    def _torch(self) -> Iterator[RequirementChange]:
        candidate = self.solution.candidate
        moves = not admits(self.wishes.of("torch"), candidate.torch)
        leads = resolves_to(self.solution, self.wishes, self.question)
        elsewhere = any(map(self._other_channel, self.wishes.lines.get("torch", ())))
        if not moves and leads and not elsewhere:
            return
        because = self.reasons.for_torch() if moves else self.reasons.for_variant()
        lines = self._torch_lines()
        new = str(version_of(candidate))
        for line in lines:
            yield self._changed(line, _pinned(line, new), because)
        if not lines and not self._of_conda_cuda():
            hints = (
                item.requirement for item in self.project.declared if item.project == "torch" and item.hint
            )
            old = next(hints, None)
            yield RequirementChange("torch", None, old, f"torch=={new}", because.text, because.source)

    def _torch_lines(self) -> tuple[DeclaredRequirement, ...]:
        """The lines of torch that do not admit it, else those that leave its build open."""
        lines = self.wishes.lines.get("torch", ())
        failing = tuple(line for line in lines if not self._admits(line, self.solution.torch))
        if failing or self._of_conda_cuda():
            return failing
        return tuple(line for line in lines if not line.constraint)

    def _of_conda_cuda(self) -> bool:
        """Whether a line of its own says which CUDA conda's torch is for."""
        return self.solution.candidate.kind == "conda" and bool(self.wishes.lines.get("cuda"))

    def _admits(self, line: DeclaredRequirement, item: IndexedFile) -> bool:
        requirement = requirement_of(line)
        local = variant_in(line) if line.project in STACK else None
        if requirement is None or (local is not None and local != self.solution.candidate.variant):
            return False
        if self._other_channel(line):
            return False
        return admits(public(requirement.specifier), item.release)

    def _other_channel(self, line: DeclaredRequirement) -> str | None:
        """Return the channel that a line must name, where it names another one."""
        named, own = named_channel(line), channel_of(self.solution.candidate)
        is_condas = self.solution.candidate.kind == "conda" and line.project in STACK
        return own if is_condas and named not in (None, own) else None

    def _companion(self, item: IndexedFile) -> Iterator[RequirementChange]:
        project = str(item.file.name)
        lines = self.wishes.lines.get(project, ())
        failing = [line for line in lines if not self._admits(line, item) or self._is_unreached(line, item)]
        if not failing and (self._would_be_newer(item, lines) or self._is_one_of_many(item, lines)):
            failing = [line for line in lines if not line.constraint]
        if failing:
            because = self.reasons.for_companion(project)
            yield from (self._changed(line, self._pinned_file(line, item), because) for line in failing)

    def _is_unreached(self, line: DeclaredRequirement, item: IndexedFile) -> bool:
        """Whether a wheel bound to torch lies on a page that the files do not name."""
        if not torch_bound.is_by_address(item, self.question.request, self.question.knowledge):
            return False
        local = item.file.version.local
        if local and local in (line.requirement or ""):
            return False
        pages = map(address_of, self.wishes.lines.get("index", ()))
        return not any(page.split("#")[0] == item.listing.page for page in pages)

    def _pinned_file(self, line: DeclaredRequirement, item: IndexedFile) -> str:
        if torch_bound.is_by_address(item, self.question.request, self.question.knowledge):
            digest = f"#sha256={item.file.sha256}" if item.file.sha256 else ""
            return f"{_named(line)} @ {item.file.url}{digest}{_marker(line)}"
        return _pinned(line, str(item.file.version))

    def _would_be_newer(self, item: IndexedFile, lines: tuple[DeclaredRequirement, ...]) -> bool:
        """Whether an installer would take a newer release, because its metadata names no one torch."""
        project, torch = str(item.file.name), self.solution.candidate.torch
        if project not in COMPANIONS or not lines or lines[0].notation == "conda":
            return False  # conda's packages name the torch that they are for
        newer = (
            row
            for row in self.question.knowledge.companion_rows
            if row["kind"] == "release" and row["project"] == project and not row["yanked"]
            if Version(row["version"]) > item.release
            and admits(self.wishes.of(project), Version(row["version"]))
        )
        return any(SpecifierSet(row["requires_torch"] or "").contains(torch) for row in newer)

    def _is_one_of_many(self, item: IndexedFile, lines: tuple[DeclaredRequirement, ...]) -> bool:
        """Whether its page has the release for other CUDAs too: pip takes the highest, be it `+rocm4.2`."""
        local = item.file.version.local
        if local is None or any(f"+{local}" in (line.requirement or "") for line in lines):
            return False
        pages = [variant_of_page(address_of(line)) for line in self.wishes.lines.get("index", ())]
        return self.solution.candidate.variant not in pages and not is_condas(self.wishes)

    def _left_behind(self, changed: set[int]) -> Iterator[RequirementChange]:
        """Yield the changes of conda's other lines of the stack: half of it can't come from pip."""
        text = tr("torch comes from there: {build} is a wheel", build=self.solution.candidate.label)
        because = Because(text, _BY_PIP)
        for item in self.solution.files:
            for line in self.wishes.lines.get(str(item.file.name), ()):
                if id(line) not in changed and line.notation == "conda":
                    yield self._changed(line, self._pinned_file(line, item), because)

    def _changed(self, line: DeclaredRequirement, new: str, because: Because) -> RequirementChange:
        pip = line.notation == "conda" and self._leaves_conda
        return replace(changed_line(line, new, because), pip=pip, channel=self._other_channel(line))

    def python(self) -> Iterator[RequirementChange]:
        """Yield the changes of the lines that ask for another Python."""
        python = self.solution.python
        lines = [
            line
            for line in self.wishes.lines.get("python", ())
            if (wanted := python_of(line)) is not None and not admitted((python,), wanted)
        ]
        if lines:
            because = self.reasons.for_python()
            yield from (changed_line(line, python.short, because) for line in lines)
            for line in self.wishes.lines.get(_PYTHON_ABI, ()):
                requirement = requirement_of(line)
                if requirement and not admits(requirement.specifier, Version(python.short)):
                    yield changed_line(line, f"{_PYTHON_ABI}=={python.short}.*", because)


def _pinned(line: DeclaredRequirement, version: str) -> str:
    return f"{_named(line)}=={version}{_marker(line)}"


def _named(line: DeclaredRequirement) -> str:
    requirement = requirement_of(line)
    extras = sorted(requirement.extras) if requirement else []
    return f"{line.project}[{','.join(extras)}]" if extras else line.project


def _marker(line: DeclaredRequirement) -> str:
    requirement = requirement_of(line)
    return f" ; {requirement.marker}" if requirement and requirement.marker else ""


def other_changes(nearest: Nearest, solution: Solution, wishes: Wishes) -> Iterator[RequirementChange]:
    """Yield what known-bad combinations, and torch, demand of other packages and the files do not keep."""
    moved = nearest.moved(solution)
    yield from renamed(moved, wishes)
    moved = tuple(item for item in moved if not item.whole)
    demands = {pin.project: (Requirement(pin.text), pin.because) for pin in moved if pin.text}
    constraints = _constraints(nearest.question_for(solution), solution)
    demands |= {name: (demand, because_of(row)) for name, (demand, row) in constraints.items()}
    for project, (demand, because) in demands.items():
        lines = wishes.lines.get(project, ())
        if lines and (lies_within(wishes.of(project), demand.specifier) or not demand.specifier):
            continue
        yield from _tightened(project, demand, because, lines)


def _constraints(question: ResolutionInput, solution: Solution) -> dict[str, tuple[Requirement, KnownBad]]:
    """Return the constraints on what will be there, by project; what is added by one may call for another."""
    rows: dict[str, tuple[Requirement, KnownBad]] = {}
    while more := [
        (Requirement(text), row)
        for text, row in constraints_of(question, solution)
        if canonicalize_name(Requirement(text).name) not in rows
    ]:
        for demand, row in more:
            rows[canonicalize_name(demand.name)] = demand, row
            if demand.name not in {requirement.name for requirement in question.request.others}:
                question = question.with_request(question.request.with_requirement(str(demand)))
    return rows


def _tightened(
    project: str, demand: Requirement, because: Because, lines: tuple[DeclaredRequirement, ...]
) -> Iterator[RequirementChange]:
    if not lines:
        yield RequirementChange(project, None, None, str(demand), because.text, because.source)
    for line in lines:
        requirement = requirement_of(line)
        if requirement is None or requirement.url or (line.constraint and not requirement.specifier):
            continue
        if not lies_within(requirement.specifier, demand.specifier):
            requirement.specifier = tightened(requirement.specifier, demand.specifier)
            yield changed_line(line, str(requirement), because)
