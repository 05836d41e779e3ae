"""What to ask for where no wheel of torch, torchvision or torchaudio fits."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.explanation.wheels.commands import (
    after_python,
    install_line,
    python_line,
    requirements,
)
from gpuenv.explanation.wheels.facts import (
    WheelFact,
    is_offered_to,
    minor_of,
    runs,
    wheel_facts,
)
from gpuenv.explanation.wheels.question import ALL, PYPI, WheelQuestion
from gpuenv.explanation.wheels.reasons import Asker, reasons_of
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.resolution.gpu_coverage import driver_need, driver_system
from gpuenv.resolution.target import Target


class PackageAnswer(Struct, frozen=True):
    """Why a package could not be had, and what brings it; `wants` is what a plan is asked for, if one helps.

    What is not `is_root` may be a consequence of another error that the text tells; `is_ready` is a wheel in
    place of a build.
    """

    cause: str
    fix: str
    wants: tuple[str, ...] = ()
    is_root: bool = True
    is_ready: bool = False


def answer(
    question: WheelQuestion, target: Target | None, knowledge: Knowledge, text: str
) -> PackageAnswer | None:
    """Return what the matrices say of a question; None where they have it, or do not know it."""
    facts = wheel_facts(question.project, knowledge)
    question = _of_mended_release(question)
    offered_to = is_offered_to(question, facts)
    minor = offered_to if offered_to is not None else minor_of(question.python)
    if question.python and question.python.endswith("t"):  # of free-threaded files little is known
        return None
    asker = Asker(question, facts, minor, target, knowledge, text)
    asked = [fact for fact in facts if fact.version in question.specifier]
    if not asked:
        return _never_released(asker)
    on_platform = asker.on_platform(asked)
    if asker.with_python(asker.on_page(on_platform)):
        unknown = minor is None and question.is_other_python
        return _of_its_pythons(asker, on_platform) if unknown else None
    reasons = tuple(reasons_of(asker, on_platform))
    same = asker.best(asker.listed(on_platform))
    if same is not None:
        return _kept(asker, same, reasons)
    other = asker.best(fact for fact in on_platform if fact.listed)
    if other is None:
        return _another_release(asker, reasons)
    return _another_python(asker, other, reasons)


def _of_mended_release(question: WheelQuestion) -> WheelQuestion:
    """Return the question for the release that a post release mends: the matrices have both as one."""
    exact = question.exact
    if exact is None or exact.post is None:
        return question
    release = Version(exact.base_version)
    return replace(question, exact=release, specifier=SpecifierSet(f"=={release}"))


def _never_released(asker: Asker) -> PackageAnswer | None:
    """Answer for a version that does not exist: the nearest one, of the same minor if it has any."""
    exact = asker.question.exact
    if exact is None or not asker.facts or exact > asker.facts[-1].version or exact.is_prerelease:
        return None
    usable = asker.on_platform(asker.listed(asker.facts))
    same_minor = [fact for fact in usable if fact.version.release[:2] == exact.release[:2]]
    later = [fact for fact in usable if fact.version > exact]
    nearest = max(same_minor, key=_version, default=None) or min(later, key=_version, default=None)
    if nearest is None:
        return None
    best = asker.best(fact for fact in usable if fact.version == nearest.version)
    reason = tr(
        "There is no {project} {version}: the nearest release is {nearest}.",
        project=asker.question.project,
        version=exact,
        nearest=nearest.version,
    )
    return _kept(asker, best or nearest, (reason,))


def _another_release(asker: Asker, reasons: tuple[str, ...]) -> PackageAnswer | None:
    best = _nearest_release(asker)
    return None if best is None else _kept(asker, best, reasons)


def _kept(asker: Asker, fact: WheelFact, reasons: tuple[str, ...]) -> PackageAnswer:
    """Answer with the Python that is there."""
    wanted = requirements(fact, asker.question, asker.minor, asker.text, asker.knowledge)
    line = install_line(asker.question.tool, wanted, fact.page)
    fix = tr("Install it so: `{line}`.", line=line)
    return PackageAnswer(
        " ".join(reasons),
        " ".join((fix, *_driver(asker, fact), *_for_cpu(asker, fact, wanted))),
        _planned(fact, wanted),
    )


def _for_cpu(asker: Asker, fact: WheelFact, wanted: tuple[str, ...]) -> Iterator[str]:
    """Say that PyPI's build for Windows is for the CPU, and where the one for a GPU is."""
    if fact.page != PYPI or fact.variant.cuda or asker.question.platform != "win-64":
        return
    others = [
        other for other in asker.facts if other.version == fact.version and other.build.platform == "win-64"
    ]
    cuda = min((other.page for other in others if other.variant.cuda), default=None)
    if cuda is not None:
        yield tr(
            "On Windows that is the build for the CPU; for an NVIDIA GPU: `{line}`.",
            line=install_line(asker.question.tool, wanted, cuda),
        )


def _driver(asker: Asker, fact: WheelFact) -> Iterator[str]:
    """Say what driver a build of another CUDA than was asked for needs, where the text does not settle it."""
    cuda = fact.variant.cuda
    settled = asker.target is not None and asker.target.gpus
    if cuda is None or settled or str(fact.variant) == asker.wanted_variant:
        return
    need = driver_need(cuda, driver_system(fact.build.platform), asker.knowledge)
    if need is not None:
        yield tr("It needs an NVIDIA driver {driver} or newer, and no toolkit.", driver=need.least)


def _another_python(asker: Asker, fact: WheelFact, reasons: tuple[str, ...]) -> PackageAnswer:
    """Answer with the nearest Python for what was asked for, and what there is for the one that is there."""
    question, minor = asker.question, asker.minor or 0
    python = min(fact.listed, key=lambda known: (abs(known - minor), known))
    wanted = requirements(fact, question, python, asker.text, asker.knowledge)
    line = install_line(question.tool, wanted, fact.page)
    made = python_line(question.tool, python, question.platform, asker.text)
    elsewhere = fact.page not in question.pages
    if ALL in question.pages and question.tool in {"pip", "uv pip"} and not made.startswith("FROM "):
        then = tr("activate it, then the same line again")  # as it has old releases without a local version
    else:
        then = after_python(question.tool, python, line, elsewhere=elsewhere, text=asker.text)
    fix = tr("Take Python 3.{minor}: `{made}`, {then}.", minor=python, made=made, then=then)
    return PackageAnswer(" ".join(reasons), " ".join((fix, *_for_cpu(asker, fact, wanted), *_to_stay(asker))))


def _of_its_pythons(asker: Asker, facts: list[WheelFact]) -> PackageAnswer | None:
    """Answer with the Pythons of what was asked for, where the one that is there is not told."""
    listed = sorted({minor for fact in facts for minor in fact.listed})
    if not listed:
        return None
    question, newest = asker.question, listed[-1]
    cause = tr(
        "{project} {version} has wheels for Python 3.{first} to 3.{last}, and the environment's is another.",
        project=question.project,
        version=question.exact or question.specifier,
        first=listed[0],
        last=newest,
    )
    made = python_line(question.tool, newest, question.platform, asker.text)
    fact = next(fact for fact in facts if newest in fact.listed)
    wanted = requirements(fact, question, newest, asker.text, asker.knowledge)
    then = after_python(question.tool, newest, install_line(question.tool, wanted, fact.page))
    return PackageAnswer(
        cause, tr("Take Python 3.{minor}: `{made}`, {then}.", minor=newest, made=made, then=then)
    )


def _to_stay(asker: Asker) -> Iterator[str]:
    nearest = _nearest_release(asker)
    if nearest is None:
        return
    wanted = requirements(nearest, asker.question, asker.minor, asker.text, asker.knowledge)
    yield tr(
        "If Python 3.{minor} has to stay: `{line}`.",
        minor=asker.minor,
        line=install_line(asker.question.tool, wanted, nearest.page),
    )


def _nearest_release(asker: Asker) -> WheelFact | None:
    """Return the lowest release above what was asked for, else the highest, for the Python there is."""
    usable = [
        fact
        for fact in asker.on_platform(asker.listed(asker.facts))
        if runs(fact, asker.target, asker.knowledge)
    ]
    admitted = [fact.version for fact in asker.facts if fact.version in asker.question.specifier]
    if not usable or not admitted:
        return None
    if asker.wanted_variant not in {None, "cpu"} or (asker.target is not None and asker.target.gpus):
        usable = [fact for fact in usable if fact.variant.cuda] or usable  # never the CPU by surprise
    later = [fact.version for fact in usable if fact.version > max(admitted)]
    version = min(later) if later else max(fact.version for fact in usable)
    return asker.best(fact for fact in usable if fact.version == version)


def _version(fact: WheelFact) -> Version:
    return fact.version


def _planned(fact: WheelFact, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a plan is asked for: the releases, whose build it chooses for the machine."""
    names = (text.partition("+")[0] for text in wanted)
    return tuple(dict.fromkeys((f"torch=={fact.build.torch}", *names)))
