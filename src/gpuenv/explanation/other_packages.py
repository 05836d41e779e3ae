"""Why a package beside torch could not be had or built, by the matrices and by what the text says of it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from gpuenv.explanation.wheels.answer import PackageAnswer
from gpuenv.explanation.wheels.commands import after_python, index_address, install_line, python_line
from gpuenv.explanation.wheels.facts import JUDGED
from gpuenv.explanation.wheels.question import PYPI, Tool, WheelQuestion
from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.built_releases import BuiltReleases
from gpuenv.knowledge.ecosystem import Ecosystem, WheelSet, minor_of
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import Platform
from gpuenv.signatures.reported import PackageFailure, read_parts

_BUILD_TOOLS = frozenset(
    {"setuptools", "wheel", "hatchling", "flit-core", "poetry-core", "ninja", "packaging"}
)
_UV_INDEX = re.compile(r"\[\[tool\.uv\.index\]\]\s{1,8}name ?= ?[\"']([\w-]{1,60})[\"']")
_UV_ADD = re.compile(r"\buv add ([^\n`]{1,200}?) --(?:default-index|index-url)[ =]\S")


def on_torchs_index_only(
    question: WheelQuestion, failures: tuple[PackageFailure, ...], text: str
) -> PackageAnswer | None:
    """Answer for a package that was looked for on PyTorch's index, which has it not, or not for all."""
    if question.project in JUDGED or PYPI in question.pages:
        return None
    page = " ".join(question.pages)
    named = question.project
    built = next((item for item in reversed(failures) if item.kind == "unbuilt"), None)
    version = question.exact
    if named in _BUILD_TOOLS and built is not None:
        cause = tr(
            "{project} has to be built, for which {tool} is needed: PyTorch's index {page}, the only one "
            "looked at, does not have it.",
            project=built.package,
            tool=named,
            page=page,
        )
        named, text_version = built.package, built.facts.get("unbuilt_version")
        version = Version(text_version) if text_version else None
    elif re.match(r"(?:nvidia|triton|pytorch-triton|cuda)(?:-|$)", named):
        return None
    else:
        cause = tr(
            "{project} was looked for on PyTorch's index {page}, which has only some of its files, if any: "
            "it is a package of PyPI's, and torch is not at fault.",
            project=named,
            page=page,
        )
    wanted = f"{named}=={version}" if version else named
    index = _UV_INDEX.search(text)
    if question.tool == "uv project":
        fix = _explicit(index[1], named) if index else _beside_pypi(question, text)
        return PackageAnswer(cause, fix or _explicit("pytorch", named))
    line = install_line(question.tool, (wanted,), PYPI)
    fix = tr("`{line}` first, without the index of PyTorch's, then the same line again.", line=line)
    return PackageAnswer(cause, fix)


def _beside_pypi(question: WheelQuestion, text: str) -> str | None:
    """Return the line that was typed for uv with PyTorch's index beside PyPI, not in its place."""
    typed = _UV_ADD.search(text)
    if typed is None or len(question.pages) != 1:
        return None
    (page,) = question.pages
    line = f"uv add {typed[1].strip()} --index pytorch-{page}={index_address(page)}"
    return tr(
        "`{line}`: --index is looked at beside PyPI, --index-url and --default-index in its place.", line=line
    )


def _explicit(index: str, project: str) -> str:
    return tr(
        "In pyproject.toml add `explicit = true` under the [[tool.uv.index]] `{index}`, and tie torch alone "
        'to it: `[tool.uv.sources]` with `torch = {{ index = "{index}" }}` (torchvision, torchaudio alike); '
        "then `uv lock --upgrade-package {project} && uv sync`. Python stays as it is.",
        index=index,
        project=project,
    )


def not_built_for_python(
    project: str,
    version: Version,
    python: int,
    known: BuiltReleases,
    *,
    tool: Tool,
    platform: Platform | None,
    text: str,
) -> PackageAnswer | None:
    """Answer for a release without wheels for the Python, which is built from its sources, and fails."""
    rows = dict(known.pythons.get(project, ()))
    tags = rows.get(version)
    if not tags or f"cp3{python}" in tags:
        return None
    minors = sorted(int(tag[3:]) for tag in tags if re.fullmatch(r"cp3\d{1,2}", tag))
    if not minors:
        return None
    cause = tr(
        "{project} {version} has wheels for Python 3.{first} to 3.{last}, not for 3.{python}: so it is built "
        "from its sources, which fails.",
        project=project,
        version=version,
        first=minors[0],
        last=minors[-1],
        python=python,
    )
    major = SpecifierSet(f"<{version.major + 1}")
    nearest = known.nearest(project, SpecifierSet(f"=={version}"), f"cp3{python}", major)
    other = min(minors, key=lambda minor: abs(minor - python))
    same = install_line(tool, (f"{project}=={version}",), PYPI)
    made = tr(
        "Take Python 3.{minor}: `{made}`, {then}.",
        minor=other,
        made=python_line(tool, other, platform, text),
        then=after_python(tool, other, same),
    )
    if nearest is None:
        return PackageAnswer(cause, made)
    line = install_line(tool, (f"{project}=={nearest}",), PYPI)
    if re.search(r"python_embed?ded", text):  # a program's own Python cannot be another
        return PackageAnswer(cause, tr("Install it so: `{line}`.", line=line))
    fix = tr(
        "`{line}`: the nearest release with wheels for Python 3.{python}; where a file pins {project} "
        "{version}, change it there. To keep {version}: {made}",
        line=line,
        python=python,
        project=project,
        version=version,
        made=made,
    )
    return PackageAnswer(cause, fix)


def from_its_own_page(
    project: str,
    asked: str,
    torch: Version,
    variant: Variant,
    platform: Platform | None,
    ecosystem: Ecosystem,
    tool: Tool,
) -> PackageAnswer | None:
    """Answer for a project whose wheels are made for one torch, and lie on pages of its own."""
    wheels = ecosystem.set_of(project)
    if wheels is None or wheels.by_version:
        return None
    fitting = [
        item
        for item in ecosystem.wheels(wheels.name, platform or "linux-64")
        if item.torch == minor_of(torch) and item.variant == str(variant)
    ]
    what = f"torch {torch.public}+{variant}"
    if fitting:
        page = _page(wheels, torch, variant)
        version = next(iter(sorted(fitting[0].versions, reverse=True)), None)
        pin = asked or (f"=={version}" if version and project == "mmcv" else "")
        program = "uv pip install" if tool.startswith("uv") else "pip install"
        line = f"{program} {_quoted(project + pin)} -f {page}"
        cause = tr(
            "{project} has wheels for each torch on a page of its own, that for {torch} too; elsewhere there "
            "are its sources alone, which are built.",
            project=project,
            torch=what,
        )
        fix = tr("`{line}`: then nothing is built. torch stays as it is.", line=line)
        return PackageAnswer(cause, fix)
    known = ecosystem.wheels(wheels.name, platform or "linux-64")
    newest = ecosystem.newest_torch(wheels.name)
    if not known or (minor_of(torch) > newest and not wheels.ended):
        return None
    cause = tr(
        "{project} has no ready wheel for {torch}: the newest torch that it has wheels for is {newest}.",
        project=project,
        torch=what,
        newest=".".join(map(str, newest)),
    )
    line = _without_isolation(tool, project + asked)
    fix = tr(
        "Build it against the torch that is there: `{line}` (after `setuptools`, `wheel` and `ninja`; it "
        "needs nvcc of CUDA {cuda}). torch stays as it is.",
        line=line,
        cuda=variant.cuda or "-",
    )
    return PackageAnswer(cause, fix, is_root=False) if variant.cuda else None


def _page(wheels: WheelSet, torch: Version, variant: Variant) -> str:
    return wheels.page.format(torch=f"{torch.major}.{torch.minor}", variant=variant)


def _quoted(requirement: str) -> str:
    return f'"{requirement}"' if re.search(r"[<>~!]", requirement) else requirement


def _without_isolation(tool: Tool, requirement: str) -> str:
    program = "uv pip install" if tool.startswith("uv") else "pip install"
    source = (
        "git+https://github.com/facebookresearch/detectron2" if requirement == "detectron2" else requirement
    )
    return f"{program} --no-build-isolation {_quoted(source)}"


def as_uv_says(failure: PackageFailure, tool: Tool) -> PackageAnswer | None:
    """Answer by uv's own hint, which tells for which Pythons or platforms there are files."""
    facts = failure.facts
    version, local = facts.get("asked_version", "").partition("+")[::2]
    tags = [int(minor) for minor in re.findall(r"`cp3(\d{1,2})`", facts.get("offered_tags", ""))]
    if tags and "missing_python" in facts:
        own = int(facts["missing_python"].partition(".")[2])
        nearest = min(tags, key=lambda minor: abs(minor - own))
        cause = tr(
            "{what} has no wheel for Python {python}: there are wheels for 3.{first} to 3.{last}.",
            what=f"{failure.package} {version}",
            python=facts["missing_python"],
            first=min(tags),
            last=max(tags),
        )
        made = python_line(tool, nearest, None, "")
        same = install_line(tool, (f"{failure.package}=={version}",), PYPI)
        then = after_python(tool, nearest, same)
        fix = tr("Take Python 3.{minor}: `{made}`, {then}.", minor=nearest, made=made, then=then)
        return PackageAnswer(cause, fix)
    processor = facts.get("missing_platform", "").partition("_")[2].lstrip("0123456789_")
    offered = facts.get("offered_platforms", "")
    if not offered or (facts["missing_platform"].startswith("manylinux") and f"{processor}`" in offered):
        return None  # where the processor has files, glibc is too old for them
    cause = tr(
        "{project} {version} has wheels for {platforms} alone, and this is {platform}.",
        project=failure.package,
        version=facts["asked_version"],
        platforms=series(re.findall(r"`([\w.]+)`", offered)),
        platform=facts["missing_platform"],
    )
    if not local:
        return PackageAnswer(cause, _left_out(failure.package, facts["missing_platform"]))
    fix = tr(
        "Ask for {project} {version} without `+{local}`, with a marker for this system, where the index "
        "has such a file, and lock again: `uv lock --upgrade-package {project} && uv sync`. "
        "Python stays as it is.",
        project=failure.package,
        version=version,
        local=local,
    )
    return PackageAnswer(cause, fix)


def _left_out(project: str, platform: str) -> str:
    system = "win32" if platform.startswith("win") else "darwin" if platform.startswith("macos") else "linux"
    return tr(
        "Leave {project} out for this system (`{project}; sys_platform != '{system}'` in pyproject.toml), or "
        "take a release of it with a wheel for it; then `uv lock && uv sync`.",
        project=project,
        system=system,
    )


def version_of(failure: PackageFailure, text: str) -> Version | None:
    """Return the release that was to be built: as the failure says it, or as it was asked for."""
    said = failure.facts.get("unbuilt_version")
    name = re.sub(r"[-_.]+", "[-_.]", failure.package)
    if said is None:
        release = r"(?:==|-)(\d[\w.]{0,20}?)(?=\.tar\.gz|\.zip|[\s'\",;)]|$)"
        asked = re.compile(rf"(?<![\w-]){name}{release}", re.IGNORECASE)
        match = next(filter(None, (asked.search(text, *part) for part in read_parts(text))), None)
        said = match[1] if match else None
    try:
        return Version(said) if said else None
    except InvalidVersion:
        return None


def torch_of(values: Mapping[str, str]) -> Version | None:
    """Return the torch that a text names as installed."""
    try:
        return Version(values["torch"])
    except (KeyError, InvalidVersion):
        return None
