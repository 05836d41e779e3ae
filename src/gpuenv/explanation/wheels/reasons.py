"""Why no wheel of torch, torchvision or torchaudio fits what was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from gpuenv.explanation.wheels.facts import WheelFact, lies_on, nearness, runs
from gpuenv.explanation.wheels.question import ALL, PYPI, WheelQuestion
from gpuenv.i18n.messages import N_, gettext, series, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import Platform
from gpuenv.resolution.target import Target

_SYSTEMS: dict[Platform, str] = {
    "linux-64": N_("Linux (x86_64)"),
    "linux-aarch64": N_("Linux on ARM (aarch64)"),
    "win-64": N_("Windows"),
}


class Asker(Struct, frozen=True):
    """A question with all that it is answered by; `minor` is that of CPython 3."""

    question: WheelQuestion
    facts: tuple[WheelFact, ...]
    minor: int | None
    target: Target | None
    knowledge: Knowledge
    text: str

    def on_platform(self, facts: Iterable[WheelFact]) -> list[WheelFact]:
        """Return those for the platform, or all where it is not known."""
        platform = self.question.platform
        return [fact for fact in facts if platform in (None, fact.build.platform)]

    def with_python(self, facts: Iterable[WheelFact]) -> list[WheelFact]:
        """Return those for the Python, or all where it is not known."""
        return [fact for fact in facts if self.minor is None or self.minor in fact.pythons]

    def listed(self, facts: Iterable[WheelFact]) -> list[WheelFact]:
        """Return those of which files for the Python are known."""
        return [fact for fact in facts if self.minor is None or self.minor in fact.listed]

    def on_page(self, facts: Iterable[WheelFact]) -> list[WheelFact]:
        """Return those on a page that was looked at."""
        return [fact for fact in facts if lies_on(fact, self.question)]

    def best(self, facts: Iterable[WheelFact]) -> WheelFact | None:
        """Return the newest release, of the build that is nearest to what was asked for and runs there."""
        facts = list(facts)
        running = [fact for fact in facts if runs(fact, self.target, self.knowledge)] or facts
        return min(running, key=self._rank, default=None)

    def _rank(self, fact: WheelFact) -> tuple[object, ...]:
        asked = self.wanted_variant
        newest_first = tuple(-part for part in fact.version.release)
        platform = ("linux-64", "win-64", "linux-aarch64").index(fact.build.platform)
        return (
            _is_of_other_major(fact, asked),
            newest_first,
            asked is None and fact.page != PYPI,
            nearness(fact, asked),
            fact.page == PYPI,
            platform,
        )

    @property
    def wanted_variant(self) -> str | None:
        """The variant that was asked for, by a local version or by an index."""
        pages = (page for page in self.question.pages if page not in {PYPI, ALL})
        return self.question.local or next(pages, None)


def _is_of_other_major(fact: WheelFact, asked: str | None) -> bool:
    """Whether a build's CUDA needs another generation of drivers than the one that was asked for."""
    own, wanted = fact.variant.cuda, Variant(asked).cuda if asked else None
    return wanted is not None and (own is None or own.major != wanted.major)


def reasons_of(asker: Asker, on_platform: list[WheelFact]) -> Iterator[str]:
    """Yield why nothing fits what was asked for; `on_platform` is what there is of it for the platform."""
    question = asker.question
    what = _what(question)
    if not on_platform:
        name = gettext(_SYSTEMS[question.platform or "linux-64"])
        yield tr("{what} has no wheel for {system}.", what=what, system=name)
        return
    on_page = asker.on_page(on_platform)
    if not on_page:
        yield _why_not_on_page(asker, what, on_platform)
    of_page = on_page or on_platform
    if not asker.with_python(of_page) and asker.minor is not None:
        minors = sorted({minor for fact in of_page for minor in fact.pythons})
        python = f"3.{asker.minor}"
        if question.exact is None and not question.specifier and question.pages != (PYPI,):
            last = max(fact.version for fact in of_page)
            yield tr(
                "The index {page} ends with {project} {last}, which has no wheel for Python {python}.",
                page=" ".join(question.pages),
                project=question.project,
                last=last,
                python=python,
            )
            return
        yield tr(
            "{what} has no wheel for Python {python}: there are wheels for 3.{first} to 3.{last}.",
            what=what,
            python=python,
            first=minors[0],
            last=minors[-1],
        )


def _what(question: WheelQuestion) -> str:
    if question.exact is not None:
        return f"{question.project} {question.exact}"
    return f"{question.project}{question.specifier}" if question.specifier else question.project


def _why_not_on_page(asker: Asker, what: str, on_platform: list[WheelFact]) -> str:
    question = asker.question
    pages = sorted(
        {fact.page for fact in on_platform if fact.page != PYPI}, key=lambda page: (len(page), page)
    )
    known = {fact.page for fact in asker.facts}
    if question.local and question.local not in pages:
        return tr(
            "{what} was not built as +{local}: there are {pages}.",
            what=what,
            local=question.local,
            pages=series(pages),
        )
    if question.local:
        return tr(
            "{what}+{local} lies on PyTorch's own index {local} alone, which was not looked at.",
            what=what,
            local=question.local,
        )
    page = asker.wanted_variant
    if page is None:
        return tr("{what} is not on PyPI: PyTorch's indexes {pages} have it.", what=what, pages=series(pages))
    if page not in known:
        return tr(
            "There is no index `{page}`: PyTorch builds for some CUDA releases only, {what} for {pages}.",
            page=page,
            what=what,
            pages=series(pages),
        )
    there = [fact.version for fact in asker.on_platform(asker.facts) if fact.page == page]
    if not there:
        name = gettext(_SYSTEMS[question.platform or "linux-64"])
        return tr("The index {page} has no wheels for {system}.", page=page, system=name)
    return tr(
        "The index {page} has {project} {first} to {last}, not {what}, which is on {pages}.",
        page=page,
        project=question.project,
        first=min(there),
        last=max(there),
        what=what,
        pages=series(pages) or "PyPI",
    )
