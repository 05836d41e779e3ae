"""Every known-bad entry that a machine can judge: made true, it is found; made untrue, it is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from building import on
from deciding import Asked, Outcome, decided, machine
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from published import wheel
from sampling import every

from gpuenv import matrices
from gpuenv.knowledge.version_ranges import turning_points
from gpuenv.model.wheel import TorchBuild
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.known_bad_facts import KnownBadFacts
from gpuenv.resolution.request import STACK
from gpuenv.resolution.rules import bundled_libraries, driver, gpu_code, known_bad
from gpuenv.resolution.rules.platform_tags import fits

KNOWLEDGE = load_knowledge()
ROWS = {row["id"]: row for row in matrices.load("known-bad")}
PARSED = {row.id: row for row in KNOWLEDGE.known_bad}
WORDS = {"os", "arch", "platform", "index", "variant", "manager", "channel"}
FACTS = {*STACK, "python", "cuda", "cudnn", "capability", "driver", "glibc", "machines"}
Condition = Mapping[str, str]


def conditions(*judges: str) -> list[Any]:
    return [
        pytest.param(name, item, id=f"{name}-{number}")
        for name, row in ROWS.items()
        if row["judge"] in judges
        for number, item in enumerate(row["when"])
    ]


JUDGED_HERE = conditions("known-bad")


# by the rule alone


def a_version(wanted: str, *, inside: bool) -> Version | None:
    """The newest of the versions at which the range turns that is inside it, or outside."""
    specifier = SpecifierSet(wanted)
    points = sorted(turning_points(specifier), reverse=True)
    return next(
        (version for version in points if specifier.contains(version, prereleases=True) is inside), None
    )


def situation(condition: Condition, outside: str | None = None) -> KnownBadFacts | None:
    """A situation where the condition holds but for the fact `outside`; None where that always holds."""
    versions: dict[str, tuple[Version, ...]] = {"torch": (Version("2.9.1"),)}
    words = {"os": "linux", "platform": "linux-64", "manager": "uv"}
    specifiers: dict[str, SpecifierSet] = {}
    for name, wanted in condition.items():
        if name in WORDS:
            words[name] = wanted if name != outside else "another"
            continue
        version = a_version(wanted, inside=name != outside)
        if version is None and name not in FACTS and name == outside:
            continue  # any version is bad: the package is not asked for
        if version is None:
            return None
        if name in FACTS:
            versions[name] = (version,)
        else:
            specifiers[name.replace("*", "cudnn")] = SpecifierSet(f"=={version}")
    return KnownBadFacts(versions, words, specifiers)


def found(made: KnownBadFacts) -> set[str]:
    return {row.id for row in known_bad.applying(made, KNOWLEDGE)}


@pytest.mark.parametrize(("name", "condition"), JUDGED_HERE)
def test_an_entry_applies_where_its_condition_holds(name: str, condition: Condition) -> None:
    made = situation(condition)
    assert made is not None
    assert name in found(made)


@pytest.mark.parametrize(("name", "condition"), JUDGED_HERE)
def test_it_does_not_apply_where_one_of_its_facts_is_another(name: str, condition: Condition) -> None:
    others = [item for item in PARSED[name].when if item != tuple(item)]
    for fact in condition:
        made = situation(condition, outside=fact)
        if made is not None and len(PARSED[name].when) == 1 and not others:
            assert name not in found(made), fact


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row["unless"]])
def test_it_does_not_apply_where_what_mends_it_is_asked_for(name: str) -> None:
    for condition in ROWS[name]["when"]:
        made = situation(condition)
        assert made is not None
        mended = KnownBadFacts(made.versions, made.words, {ROWS[name]["unless"][0]: SpecifierSet()})
        assert name not in found(mended)


# in a whole plan

# no file of theirs is left, or another rule rejects them first: the plan is kept out of them all the same
OUT_OF_REACH = {
    "distutils-python312", "torchaudio-unpinned", "tv-yanked-local-pin", "ta-yanked-200", "torchtext-end",
    "py36-torch14", "py314.1-torchvision", "torch211-setuptools-cap", "two-nvidia-majors",
    "nccl-shared-cu13",
}  # fmt: skip


def questions(condition: Condition, open_package: bool) -> Iterator[Asked]:
    """A compute capability that the condition is about, with machine code in the build if there is one."""
    for row in reversed(matrices.load("torch")):
        if not meets(row, condition):
            continue
        others = [
            pinned(name, condition[name], open_package) for name in condition if name not in FACTS | WORDS
        ]
        stack = [f"{name}{condition[name]}" for name in condition if name in STACK and name != "torch"]
        pythons = [item for item in row["pythons"] if item.startswith("cp3") and not item.endswith("t")]
        versions = [f"3.{python[3:]}" for python in pythons]
        offers = [
            version
            for version in versions
            if SpecifierSet(condition.get("python", "")).contains(f"{version}.99")
        ]
        if not offers:
            continue
        gpu = a_gpu(row, condition)
        glibc = {"glibc": "2.27"} if "glibc" in condition else {}
        here = machine({"driver": "595.45.04", "gpus": [gpu], "platform": row["platform"], **glibc})
        count = 2 if "machines" in condition else 1
        yield Asked(
            (here,) * count, (f"torch=={row['torch']}", *stack, *others), cuda=row["variant"],
            pythons=tuple(offers[-1:]), manager=condition.get("manager", "uv"),
        )  # fmt: skip


def a_gpu(row: Mapping[str, Any], condition: Condition) -> str:
    """A compute capability that it is about; one with machine code in the build if there is any."""
    meant = [
        item for item in ("7.5", "8.0", "9.0") if SpecifierSet(condition.get("capability", "")).contains(item)
    ]
    built = [item for item in meant if f"sm_{item.replace('.', '')}" in row["architectures"]]
    return next(iter((*built, *meant)))


def meets(row: Mapping[str, Any], condition: Condition) -> bool:
    stated = {"torch": row["torch"], "cuda": row["cuda"], "cudnn": row["cudnn"]}
    words = {"os": "windows" if row["platform"] == "win-64" else "linux", "platform": row["platform"],
             "index": row["index"], "variant": row["variant"]}  # fmt: skip
    return (
        row["cuda"] is not None
        and row["index"] == condition.get("index", "pytorch")
        and row["platform"] != ("linux-aarch64" if "platform" not in condition else "")
        and all(
            value is not None and SpecifierSet(condition[name]).contains(value)
            for name, value in stated.items()
            if name in condition
        )
        and all(condition[name] == value for name, value in words.items() if name in condition)
        and all(
            any(SpecifierSet(condition[name]).contains(item) for item in paired(row, name))
            for name in ("torchvision", "torchaudio", "torchtext", "xformers")
            if name in condition and SpecifierSet(condition[name]) != SpecifierSet("==2.11.0")
        )
    )


def paired(row: Mapping[str, Any], name: str) -> list[str]:
    """The releases that go with a torch, as its row names them, or a pair where it has no column for them."""
    versions = KNOWLEDGE.companions_of(Version(row["torch"])).get(name, ())
    return row[name] if name in row else list(map(str, versions))


def pinned(name: str, wanted: str, open_package: bool) -> str:
    plain = name.replace("*", "cudnn")
    return plain if open_package else f"{plain}=={a_version(wanted, inside=True)}"


def is_told(name: str, outcome: Outcome) -> bool:
    """Whether the plan works around an entry or warns of it, or a build is rejected for it."""
    row = ROWS[name]
    if outcome.plan is not None:
        texts = [*(item.message for item in outcome.plan.warnings), *(item.text for item in outcome.plan.why)]
        tightened = {Requirement(text).name for text in outcome.plan.constraints}
        held = {canonicalize_name(Requirement(text).name) for text in (*row["constrain"], *row["add"])}
        return any(row["effect"] in text for text in texts) or bool(held and held <= tightened)
    failures = (
        failure
        for item in (outcome.decision.rejected if outcome.decision else ())
        for failure in item.failures
    )
    return any((failure.rule, failure.subject) == ("known-bad", name) for failure in failures)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "condition"), every(8, JUDGED_HERE))
def test_a_plan_works_around_it_or_warns_of_it_or_rejects_it(name: str, condition: Condition) -> None:
    outcomes = [
        decided(item) for item, _ in zip(questions(condition, open_package=False), range(8), strict=False)
    ]
    if name in OUT_OF_REACH:
        assert all(outcome.plan is None for outcome in outcomes) or any(
            is_told(name, outcome) for outcome in outcomes
        )
    else:
        assert any(is_told(name, outcome) for outcome in outcomes)
    if ROWS[name]["forbid"]:
        assert all(outcome.plan is None for outcome in outcomes)


@pytest.mark.parametrize(
    ("name", "condition"),
    [item for item in JUDGED_HERE if ROWS[str(item.values[0])]["constrain"]],
)
def test_a_plan_constrains_a_package_that_is_asked_for_without_a_version(
    name: str, condition: Condition
) -> None:
    outcome = next(filter(lambda item: item.plan, map(decided, questions(condition, open_package=True))))
    assert outcome.plan is not None
    constrained = [Requirement(text) for text in outcome.plan.constraints]
    for text in ROWS[name]["constrain"]:
        wanted = Requirement(text)
        (held,) = (item for item in constrained if item.name == wanted.name)
        bad = SpecifierSet(condition[wanted.name])
        assert not any(
            held.specifier.contains(version) and bad.contains(version) for version in turning_points(bad)
        )


# by the other rules of a plan


def builds(condition: Condition) -> list[TorchBuild]:
    met = {
        (row["torch"], row["variant"], row["platform"], row["index"])
        for row in matrices.load("torch")
        if all(name in WORDS | FACTS for name in condition)
        and meets(row, {"index": row["index"], "platform": row["platform"], **condition})
    }
    return [
        build
        for build in KNOWLEDGE.builds
        if (str(build.torch), str(build.variant), build.platform, build.index) in met
    ]


def gpus(condition: Condition) -> list[str]:
    wanted = SpecifierSet(condition.get("capability", "==7.5"))
    return [str(capability) for capability in KNOWLEDGE.generations if wanted.contains(str(capability))]


def failing(build: TorchBuild, gpu: str, stated: str = "595.45.04") -> set[str]:
    candidate = Candidate(build.torch, build.variant, build.index, build, ())
    target = on(stated, gpu, platform=build.platform)
    rules = (gpu_code, bundled_libraries, driver)
    return {failure.rule for rule in rules for failure in rule.check(candidate, target, KNOWLEDGE)}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "condition"), conditions("kernels", "library"))
def test_every_build_that_meets_the_condition_has_nothing_for_the_gpu(
    name: str, condition: Condition
) -> None:
    failed = {
        (str(build.torch), str(build.variant), gpu): failing(build, gpu)
        for build in builds(condition)
        for gpu in gpus(condition)
    }
    assert failed
    assert not [key for key, rules in failed.items() if not rules & {"kernels", "library"}]
    assert any(ROWS[name]["judge"] in rules for rules in failed.values())


@pytest.mark.parametrize(("name", "condition"), conditions("driver"))
def test_every_build_that_meets_the_condition_needs_a_newer_driver(name: str, condition: Condition) -> None:
    assert not SpecifierSet(condition["driver"]).contains("580.65.06"), name
    met = builds({fact: wanted for fact, wanted in condition.items() if fact != "driver"})
    assert met
    assert all("driver" in failing(build, "9.0", "575.51.03") for build in met)


@pytest.mark.parametrize(("name", "condition"), conditions("never"))
def test_what_only_looks_bad_is_never_rejected(name: str, condition: Condition) -> None:
    assert name
    assert builds(condition)
    assert not any(failing(build, gpu) for build in builds(condition) for gpu in gpus(condition))


def macos_builds(condition: Condition) -> list[dict[str, Any]]:
    platform = "osx-64" if condition.get("arch") == "x86_64" else "osx-arm64"
    asked = SpecifierSet(condition["torch"])
    return [
        row
        for row in matrices.load("accelerator-builds")
        if row["platform"] == platform and asked.contains(row["torch"])
    ]


def runs_on_macos_13(row: dict[str, Any]) -> bool:
    return any(Version(tag.split("_")[1]) < Version("14") for tag in row["tags"])


@pytest.mark.parametrize(("name", "condition"), conditions("platform"))
def test_no_build_that_meets_the_condition_fits_the_system(name: str, condition: Condition) -> None:
    if condition.get("os") == "macos":
        assert not any(runs_on_macos_13(row) for row in macos_builds(condition))
        return
    met = builds({fact: wanted for fact, wanted in condition.items() if fact != "glibc"})
    assert met, name
    for platform in {build.platform for build in met} - {"win-64"}:
        old = on("595.45.04", "9.0", platform=platform, glibc="2.27")
        assert not any(fits(wheel(f"torch-{build.torch}-py3-none-{tag}.whl"), old)
                       for build in met if build.platform == platform for tag in build.tags)  # fmt: skip


@pytest.mark.parametrize(("name", "condition"), conditions("request"))
def test_the_builds_are_for_the_cpu_and_no_gpu_gets_one(name: str, condition: Condition) -> None:
    rows = [
        row
        for row in matrices.load("torch")
        if row["platform"] == condition.get("platform", "win-64") and row["index"] == condition["index"]
        if SpecifierSet(condition.get("torch", "")).contains(row["torch"])
    ]
    assert rows, name
    assert {row["variant"] for row in rows} == {"cpu"}


def test_variants_that_were_never_published_are_in_no_matrix() -> None:
    for condition in ROWS["variant-absent"]["when"]:
        assert not builds(condition)


def test_every_entry_says_who_judges_it() -> None:
    assert len({row["id"] for row in ROWS.values()}) == len(ROWS) >= 71
    later = {
        name
        for name, row in ROWS.items()
        if row["judge"] in ("doctor", "explain", "conda", "mirrors", "detect")
    }
    acting = ("constrain", "add", "forbid", "avoid", "warn")
    assert not any(ROWS[name][act] for name in later - {"mkl-2024.1-conda"} for act in acting)
