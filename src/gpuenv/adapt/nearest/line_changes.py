"""The lines that change so that what was left leads to a choice: the torch stack, Python, CUDA.

What needs no change is none: a line that admits what was chosen stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.adapt.model import DeclaredRequirement, Project, RequirementChange
from gpuenv.adapt.nearest.dependency_line_changes import other_changes
from gpuenv.adapt.nearest.index_line_changes import address_of, index_changes
from gpuenv.adapt.nearest.index_pages import variant_of_page
from gpuenv.adapt.nearest.reasons import Reasons, of_variant
from gpuenv.adapt.nearest.request import Wishes, public, python_of, requirement_of, variant_in, wishes_for
from gpuenv.adapt.nearest.resolves_to import is_condas, resolves_to
from gpuenv.adapt.nearest.search import Nearest
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.errors import Because
from gpuenv.resolution.candidate import IndexedFile
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import COMPANIONS, STACK, admits
from gpuenv.resolution.rules import torch_bound as bound
from gpuenv.resolution.rules.python import admitted
from gpuenv.resolution.rules.requested import version_of

_BY_PIP = "matrix torch.json"


def stack_changes(
    nearest: Nearest, solution: Solution, project: Project, known: Knowledge | None = None
) -> tuple[RequirementChange, ...]:
    """Return the changes that lead from what was left to one of the nearest choices, without risks.

    The stack's, Python's and CUDA's lines, the pages that torch comes from, and other packages as far as
    they are known to fail. In an environment.yml a torch that conda does not bring becomes a requirement with
    a local version or a page, which belongs to its pip part. `known` tells of builds that a channel lacks.
    """
    changing = _Changing(nearest, solution, project, known)
    stack = tuple(changing.stack())
    wishes = changing.wishes
    pages = index_changes(nearest.question, solution, wishes, stack)
    others = other_changes(nearest, solution, wishes)
    changes = (*stack, *changing.python(), *changing.cuda(stack), *pages, *others)
    return tuple(sorted(changes, key=_place))


def _place(change: RequirementChange) -> tuple[bool, str, int]:
    declared = change.asked
    return (declared is None, declared.file if declared else "", declared.start if declared else 0)


class _Changing:
    """Finds the changes of one choice."""

    def __init__(
        self, nearest: Nearest, solution: Solution, project: Project, known: Knowledge | None
    ) -> None:
        self.nearest, self.choice, self.left = nearest, solution, project
        self.question = nearest.question
        self.wishes: Wishes = wishes_for(project, self.question.target, solution.python)
        self.reasons = Reasons(self.question, solution, self.wishes, known)

    def stack(self) -> Iterator[RequirementChange]:
        """Yield the changes of torch, its companions, and the projects bound to it."""
        changes = [
            *self._torch(),
            *(change for item in self.choice.companions for change in self._companion(item)),
        ]
        if self._leaves_conda and changes:
            changes = [*changes, *self._left_behind({id(change.asked) for change in changes})]
            changes = [replace(change, pip=True) for change in changes]
        yield from changes
        kept = {*(str(page.project) for page in self.nearest.unread), *self.nearest.unknown}
        for project in (item for item in self.nearest.given_up if item not in kept):
            because = self.reasons.for_gone(project, self.nearest.asked.request)
            for line in self.wishes.lines.get(project, ()):
                yield _change(line, None, because)

    @property
    def _leaves_conda(self) -> bool:
        """Whether torch, which the files ask of conda, is a wheel."""
        return is_condas(self.wishes) and self.choice.candidate.kind != "conda"

    def _torch(self) -> Iterator[RequirementChange]:
        candidate = self.choice.candidate
        moves = not admits(self.wishes.of("torch"), candidate.torch)
        leads = resolves_to(self.choice, self.wishes, self.question)
        if not moves and leads:
            return
        because = self.reasons.for_torch() if moves else self.reasons.for_variant()
        lines = self._torch_lines()
        new = str(version_of(candidate))
        for line in lines:
            yield self._changed(line, _pinned(line, new), because)
        if not lines and not self._of_conda_cuda():
            hinted = (
                declared for declared in self.left.asked if declared.project == "torch" and declared.hint
            )
            old = next((declared.requirement for declared in hinted), None)
            yield RequirementChange("torch", None, old, f"torch=={new}", because.text, because.source)

    def _torch_lines(self) -> tuple[DeclaredRequirement, ...]:
        """The lines of torch that do not admit it, else those that leave its build open."""
        lines = self.wishes.lines.get("torch", ())
        failing = tuple(line for line in lines if not self._admits(line, self.choice.torch))
        if failing or self._of_conda_cuda():
            return failing
        return tuple(line for line in lines if not line.constraint)

    def _of_conda_cuda(self) -> bool:
        """Whether a line of its own says which CUDA conda's torch is for."""
        return self.choice.candidate.kind == "conda" and bool(self.wishes.lines.get("cuda"))

    def _admits(self, line: DeclaredRequirement, item: IndexedFile) -> bool:
        requirement = requirement_of(line)
        if requirement is None:
            return False
        local = variant_in(line) if line.project in STACK else None
        if local is not None and local != self.choice.candidate.variant:
            return False
        return admits(public(requirement.specifier), item.release)

    def _companion(self, item: IndexedFile) -> Iterator[RequirementChange]:
        project = str(item.file.name)
        lines = self.wishes.lines.get(project, ())
        failing = [line for line in lines if not self._admits(line, item) or self._is_unreached(line, item)]
        if not failing and (self._would_be_newer(item, lines) or self._is_one_of_many(item, lines)):
            failing = [line for line in lines if not line.constraint]
        because = self.reasons.for_companion(project) if failing else None
        for line in failing:
            if because is not None:
                yield self._changed(line, self._pinned_file(line, item), because)

    def _is_unreached(self, line: DeclaredRequirement, item: IndexedFile) -> bool:
        """Whether a wheel bound to torch lies on a page that the files do not name."""
        if not bound.is_by_address(item, self.question.request, self.question.knowledge):
            return False
        local = item.file.version.local
        if local and local in (line.requirement or ""):
            return False
        pages = map(address_of, self.wishes.lines.get("index", ()))
        return not any(page.split("#")[0] == item.listing.page for page in pages)

    def _pinned_file(self, line: DeclaredRequirement, item: IndexedFile) -> str:
        if bound.is_by_address(item, self.question.request, self.question.knowledge):
            digest = f"#sha256={item.file.sha256}" if item.file.sha256 else ""
            return f"{_named(line)} @ {item.file.url}{digest}{_marker(line)}"
        return _pinned(line, str(item.file.version))

    def _would_be_newer(self, item: IndexedFile, lines: tuple[DeclaredRequirement, ...]) -> bool:
        """Whether an installer would take a newer release, because its metadata names no one torch."""
        project, torch = str(item.file.name), self.choice.candidate.torch
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
        return self.choice.candidate.variant not in pages and not is_condas(self.wishes)

    def _left_behind(self, changed: set[int]) -> Iterator[RequirementChange]:
        """Yield the changes of conda's other lines of the stack: half of it can't come from pip."""
        text = tr("torch comes from there: {build} is a wheel", build=self.choice.candidate.label)
        because = Because(text, _BY_PIP)
        for item in self.choice.files:
            for line in self.wishes.lines.get(str(item.file.name), ()):
                if id(line) not in changed and line.notation == "conda":
                    yield self._changed(line, self._pinned_file(line, item), because)

    def _changed(self, line: DeclaredRequirement, new: str, because: Because) -> RequirementChange:
        return replace(_change(line, new, because), pip=line.notation == "conda" and self._leaves_conda)

    def python(self) -> Iterator[RequirementChange]:
        """Yield the changes of the lines that ask for another Python."""
        python = self.choice.python
        lines = [
            line
            for line in self.wishes.lines.get("python", ())
            if (wanted := python_of(line)) is not None and not admitted((python,), wanted)
        ]
        because = self.reasons.for_python() if lines else None
        for line in lines:
            if because is not None:
                yield _change(line, python.short, because)

    def cuda(self, stack: tuple[RequirementChange, ...]) -> Iterator[RequirementChange]:
        """Yield the changes of conda's lines that name another CUDA, or that nothing needs any more."""
        if not is_condas(self.wishes):
            return
        variant = self.choice.candidate.variant
        gone = self._leaves_conda and bool(stack)
        lines = [
            line
            for line in self.wishes.lines.get("cuda", ())
            if gone or (line.requirement is not None and variant_in(line) != variant)
        ]
        for line in lines:
            if gone:
                text = tr("torch wheels bring the CUDA that they need")
                yield _change(line, None, Because(text, _BY_PIP))
            else:
                because = self.reasons.for_variant()
                yield _change(line, of_variant(variant), because)


def _change(line: DeclaredRequirement, new: str | None, because: Because) -> RequirementChange:
    old = line.requirement or line.text.strip()
    return RequirementChange(line.project, line, old, new, because.text, because.source)


def _pinned(line: DeclaredRequirement, version: str) -> str:
    return f"{_named(line)}=={version}{_marker(line)}"


def _named(line: DeclaredRequirement) -> str:
    requirement = requirement_of(line)
    extras = sorted(requirement.extras) if requirement else []
    return f"{line.project}[{','.join(extras)}]" if extras else line.project


def _marker(line: DeclaredRequirement) -> str:
    requirement = requirement_of(line)
    return f" ; {requirement.marker}" if requirement and requirement.marker else ""
