"""Which fact forces a change: the project is resolved once more, with all that ranks before it fixed."""

from __future__ import annotations

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from gpuenv.adapt.nearest.known_bad_dependencies import with_others_free
from gpuenv.adapt.nearest.request import Wishes, copied
from gpuenv.i18n.messages import clauses, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.errors import Because
from gpuenv.resolution.candidate import Failure
from gpuenv.resolution.decision import RejectedCandidate, Solution
from gpuenv.resolution.gpu_coverage import candidate_of, failures_on
from gpuenv.resolution.report.refusal import asked_for, explain_failures, no_such_release
from gpuenv.resolution.request import COMPANIONS, Request, admits
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules import companion, torch_bound


class Reasons:
    """Says why a solution is not what the project declares; solves the question with single wishes restored.

    `known` are builds that tell of a torch which a channel lacks.
    """

    def __init__(
        self, question: ResolutionInput, solution: Solution, wishes: Wishes, known: Knowledge | None = None
    ) -> None:
        self._known = known or question.knowledge
        self._question = question.with_request(with_others_free(question.request))
        self._solution, self._wishes = solution, wishes

    def for_torch(self) -> Because:
        """Say why no build of the torch asked for runs."""
        wanted = self._wishes.of("torch")
        reason = self._unfit(wanted) or self._refused(_with(self._question.request, "torch", wanted))
        if reason is None:
            return Because(
                tr("none of the requested torch versions is compatible with the other requirements"),
                "matrix torch.json",
            )
        if "torch" in reason.text:
            return reason
        named = f"torch {requested}" if (requested := _release_in(wanted)) else f"torch{wanted}"
        return replace(reason, text=tr("{torch}: {reason}", torch=named, reason=reason.text))

    def _unfit(self, wanted: SpecifierSet) -> Because | None:
        """Say why none of the known builds runs here, where the channel has none of that release."""
        target = self._question.target
        if any(admits(wanted, candidate.torch) for candidate in self._question.candidates):
            return None
        builds = self._known.builds_of(target.platform)
        rejected = tuple(
            RejectedCandidate(candidate_of(build), failures_on(build, target, self._known))
            for build in builds
            if build.cuda and admits(wanted, build.torch)
        )
        if not all(candidate.failures for candidate in rejected):
            label = self._solution.candidate.label
            text = tr("{torch} is not available where {build} is", torch=f"torch{wanted}", build=label)
            return Because(text, self._solution.candidate.source)
        return _joined(explain_failures(rejected))

    def for_variant(self) -> Because:
        """Say why it can't be the build of that torch that the files lead to."""
        wanted = self._wishes.variant
        reason = self._refused(replace(self._fixed(), variant=wanted)) if wanted else self._of_pypi()
        return reason or Because(
            tr(
                "the unchanged files resolve to a build other than {build}",
                build=self._solution.candidate.label,
            ),
            self._solution.candidate.source,
        )

    def _of_pypi(self) -> Because | None:
        """Say what is wrong with PyPI's builds, of the newest torch that is asked for."""
        request = _with(self._question.request, "torch", self._wishes.of("torch"))
        rejected = asked_for(decide(self._question.with_request(request)).rejected)
        newest = [candidate for candidate in rejected if candidate.candidate.kind == "pypi"][:1]
        return _joined(explain_failures(tuple(newest))) if newest else None

    def for_python(self) -> Because:
        """Say why it can't be the Python asked for."""
        reason = self._refused(replace(self._fixed(companions=True), python=self._wishes.python))
        facts = {"torch": self._solution.candidate.torch, "python": self._solution.python.short}
        text = tr("torch {torch} supports Python {python}", **facts)
        return reason or Because(text, self._solution.candidate.source)

    def for_companion(self, project: str) -> Because:
        """Say which release of a companion goes with the torch."""
        torch = self._solution.candidate.torch
        pair = self._question.knowledge.companions(torch, project)
        release = next(item.release for item in self._solution.companions if item.file.name == project)
        facts = {"torch": torch, "project": project, "release": release}
        if pair is not None:
            text = tr("torch {torch} is compatible with {project} {release}", **facts)
            return Because(text, f"matrix companions.json: {pair.source}")
        text = tr("{project} {release} is built for {build}", build=self._solution.candidate.label, **facts)
        return Because(text, "matrix ecosystem.json")

    def for_gone(self, project: str, requested: Request) -> Because:
        """Say why a project goes with nothing that runs here, by what is wrong beside this choice."""
        candidate, question = self._solution.candidate, self._question
        own = tuple(item for item in requested.requirements if item.name == project)
        request = with_others_free(replace(requested, requirements=own))
        rule = companion.match if project in COMPANIONS else torch_bound.match
        result = rule(candidate, request, question.target, question.knowledge, question.available)
        if isinstance(result, Failure):
            return Because(result.detail, result.source)
        text = tr("nothing that runs here is compatible with {project}", project=project)
        return Because(text, "matrix companions.json")

    def _fixed(self, *, companions: bool = False) -> Request:
        """The request with torch, and its companions, as they were chosen."""
        request = _with(self._question.request, "torch", SpecifierSet(f"=={self._solution.candidate.torch}"))
        for item in self._solution.companions if companions else ():
            if item.file.name in COMPANIONS:
                request = _with(request, str(item.file.name), SpecifierSet(f"=={item.release}"))
        python = SpecifierSet(f"=={self._solution.python.short}.*")
        return request if companions else replace(request, python=python)

    def _refused(self, request: Request) -> Because | None:
        question = self._question.with_request(request)
        decision = decide(question)
        if decision.choices:
            return None
        rejected = asked_for(decision.rejected)
        return _joined(explain_failures(rejected) if rejected else no_such_release(question))


def _release_in(wanted: SpecifierSet) -> str | None:
    """Return the release of `==1.4.0`, conda's `==1.4.0.*` too; None for a range."""
    only = list(wanted)
    is_pin = len(only) == 1 and only[0].operator in ("==", "===")
    return only[0].version.removesuffix(".*") if is_pin else None


def _with(request: Request, project: str, wanted: SpecifierSet) -> Request:
    """Return the request with another specifier of a project; markers and extras stay."""
    requirements = tuple(
        _asking(requirement, wanted) if requirement.name == project else requirement
        for requirement in request.requirements
    )
    return replace(request, requirements=requirements)


def _asking(requirement: Requirement, wanted: SpecifierSet) -> Requirement:
    requirement = copied(requirement)
    requirement.specifier = wanted
    return requirement


def _joined(because: tuple[Because, ...]) -> Because | None:
    if not because:
        return None
    texts = dict.fromkeys(reason.text for reason in because)
    sources = dict.fromkeys(reason.source for reason in because)
    return Because(clauses(texts), "; ".join(sources))
