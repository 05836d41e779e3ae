"""The line that mends an environment in place: versions of a plan or of the matrices, for pip or uv."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from msgspec.structs import replace
from packaging.version import InvalidVersion, Version

from gpuenv.explanation.reported_machine import ReportedMachine, target_of
from gpuenv.explanation.wheels.commands import as_listed, index_address
from gpuenv.explanation.wheels.facts import torch_builds
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import DriverOs
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import Platform, TorchBuild
from gpuenv.resolution.candidate import release_of
from gpuenv.signatures.match import SignatureMatch
from gpuenv.signatures.reported import Reported

_COMPANIONS = ("torchvision", "torchaudio")
_OF_THE_BUILD = ("D01", "D02", "D16")  # checks that another build of torch repairs
_PAIR = "D40"  # the check that the companions are torch's
_CPU, _DRIVER = "D01", "D02"
_BY_CONDA = ("conda_build", "cpuonly")
_NEEDED = re.compile(r": |：")  # behind which the version stands that the line has
_LOCAL = re.compile(r"\+(cu\d{2,3})$")
_ARCHITECTURE = "D16"
_TOLD = {"capability", "architectures"}  # facts by which torch itself says that it lacks a GPU


def with_line(
    match: SignatureMatch,
    command: str | None,
    reported: Reported,
    machine: ReportedMachine,
    knowledge: Knowledge,
) -> SignatureMatch:
    """Return a match that a check told with the line that repairs it where its torch is; else as it is.

    `command` is that of the plan for the text's machine, whose versions count.
    """
    values = reported.values
    if (machine.is_mac and match.check != _PAIR) or any(name in values for name in _BY_CONDA):
        return match
    if match.check is None:
        return _of_unknown_torch(match, command, values)
    line = None
    if match.check == _PAIR:
        line = _companions(values, knowledge)
    elif match.check in _OF_THE_BUILD and command:
        line = _of_plan(command, values)
    elif match.check == _ARCHITECTURE:
        return replace(match, fix=_older_python(values, machine, knowledge) or match.fix)
    elif match.check in (_CPU, _DRIVER):
        line = _same_release(values, machine, knowledge)
    if line is None:
        return match
    same = match.check == _PAIR or f"torch=={_release(values)}+" in line
    fix = match.fix if same else tr("replace it with a build that runs here")
    return replace(match, fix=tr("{fix}: `{line}`", fix=_NEEDED.split(fix)[0], line=line))


def _of_unknown_torch(
    match: SignatureMatch, command: str | None, values: Mapping[str, str]
) -> SignatureMatch:
    """Return a match with the line of the plan for the text's GPU, where that repairs what it tells.

    That is a GPU which torch has no code for, a build for the CPU, or a package that wants a newer torch.
    """
    line = None if match.settled else _of_plan(command or "", values)
    if line is None:
        return match
    if match.checks == (_CPU,) and "torch" not in values:
        cause = tr("torch is installed in its build for the CPU")
        fix = tr("{fix}: `{line}`", fix=tr("put the CUDA build in its place"), line=line)
        return replace(match, cause=cause, fix=fix, settled=True)
    if any(want.startswith("torch>") for want in match.wants):
        fix = tr("{fix}: `{line}`", fix=tr("install the torch that it asks for"), line=line)
        return replace(match, fix=f"{fix}. {match.fix}")
    if match.checks[:1] != (_ARCHITECTURE,) or not _TOLD & {*dict(match.facts)}:
        return match
    kept = tr("a release that your project pins may stay where that index has it")
    fix = tr("{fix}: `{line}`", fix=tr("replace it with a build that runs here"), line=line)
    return replace(match, fix=tr("{fix} ({kept})", fix=fix, kept=kept))


def _older_python(values: Mapping[str, str], machine: ReportedMachine, knowledge: Knowledge) -> str | None:
    """Return what a card is told that no build of torch with the Python of the text has code for.

    None where there are such builds: then it is another rule that they fail.
    """
    target = target_of(machine, knowledge)
    if target is None:
        return None
    platform = machine.platform or "linux-64"
    fitting = [fact for fact in torch_builds(platform, target, knowledge) if fact.listed]
    if any(machine.python == f"3.{minor}" for fact in fitting for minor in fact.listed):
        return None
    if not fitting:
        return tr(
            "no release of torch has code for it any more: run on the CPU (device='cpu') or on another card"
        )
    last = fitting[-1]
    line = install_line(with_companions(last.version, str(last.variant), values, knowledge), values)
    pythons = ", ".join(f"3.{minor}" for minor in last.listed)
    return tr(
        "the last with code for it is torch {torch}, for Python {pythons}: in an environment with that Python"
        " `{line}`, as far as the program runs with it; else the CPU (device='cpu') or another card",
        torch=last.version,
        pythons=pythons,
        line=line,
    )


def _of_plan(command: str, values: Mapping[str, str]) -> str | None:
    return install_line([word for word in shlex.split(command) if "==" in word], values)


def _companions(values: Mapping[str, str], knowledge: Knowledge) -> str | None:
    """Return the line that brings the companions of the torch that is there, those that the text has."""
    try:
        torch = Version(values.get("torch", ""))
    except InvalidVersion:
        return None
    known = knowledge.companions_of(release_of(torch))
    lost = _lost_variant(torch, values, knowledge)
    local = f"+{lost or torch.local}" if lost or torch.local else ""
    wanted = [
        f"{name}=={known[name][0].base_version}{local}"
        for name in _COMPANIONS
        if name in values and known.get(name)
    ]
    if lost:
        wanted.insert(0, f"torch=={release_of(torch)}+{lost}")
    forced = any(_is_other_build(text, values) for text in wanted)
    return install_line(wanted, values, forced=forced)


def _lost_variant(torch: Version, values: Mapping[str, str], knowledge: Knowledge) -> str | None:
    """Return the CUDA that the companions still have, where a build for the CPU took torch's place."""
    found = (_LOCAL.search(values.get(name, "")) for name in _COMPANIONS)
    variants = {match[1] for match in found if match}
    on_windows = values.get("windows_path") and not torch.local
    if len(variants) != 1 or not (on_windows or torch.local == "cpu"):
        return None
    variant = variants.pop()
    platform: Platform = "win-64" if values.get("windows_path") else "linux-64"
    builds = knowledge.builds_of(platform)
    release = release_of(torch)
    return next(
        (variant for build in builds if (build.torch, str(build.variant)) == (release, variant)), None
    )


def _is_other_build(requirement: str, values: Mapping[str, str]) -> bool:
    """Whether what is installed is another build of the very release that is asked for: to pip it will do."""
    name, _, wanted = requirement.partition("==")
    release, _, local = values.get(name, "").partition("+")
    return bool(local) and release == wanted


def _same_release(values: Mapping[str, str], machine: ReportedMachine, knowledge: Knowledge) -> str | None:
    """Return the line of the CUDA build of the same release for a driver, where that tells which."""
    try:
        torch = Version(_release(values))
        driver = Version(machine.driver or "")
    except InvalidVersion:
        return None
    platform = machine.platform or "linux-64"
    system: DriverOs = "windows" if platform == "win-64" else "linux"
    tag = values.get("python_tag") or (f"cp{machine.python.replace('.', '')}" if machine.python else "")
    fitting = [
        build
        for build in knowledge.builds_of(platform)
        if build.torch == torch and build.variant.cuda and (not tag or tag in build.pythons)
    ]
    variant = served(fitting, driver, system, knowledge)
    if variant is None:
        return None
    return install_line(with_companions(torch, str(variant), values, knowledge), values)


def with_companions(
    torch: Version, variant: str, values: Mapping[str, str], knowledge: Knowledge
) -> tuple[str, ...]:
    """Return the requirements of a build of torch, and of its companions that a text has."""
    known = knowledge.companions_of(torch)
    there = values.keys() | {name.removeprefix("wants_") for name in values}
    names = [name for name in _COMPANIONS if name in there and known.get(name)]
    return (f"torch=={torch}+{variant}", *(f"{name}=={known[name][0]}+{variant}" for name in names))


def served(
    builds: Iterable[TorchBuild], driver: Version, system: DriverOs, knowledge: Knowledge
) -> Variant | None:
    """Return the newest CUDA that a driver was made for, else the newest of a major that it bears."""
    newest = knowledge.driver_cuda(driver, system)
    known = sorted(
        {(cuda, build.variant) for build in builds if (cuda := build.variant.cuda)}, key=lambda item: item[0]
    )
    own = [variant for cuda, variant in known if newest and cuda <= newest]
    borne = [
        variant
        for cuda, variant in known
        if (floor := knowledge.family_floor(cuda.major, system)) and driver >= floor.version
    ]
    return next(reversed(own or borne), None)


def install_line(
    requirements: Iterable[str], values: Mapping[str, str], *, forced: bool = False
) -> str | None:
    """Return what is typed to have the requirements in the environment of the text.

    `forced`: in place of what to the installer is the same, and without what depends on it.
    """
    wanted = tuple(requirements)
    if not wanted:
        return None
    if "poetry" in values and (own := _by_poetry(wanted)):
        return own
    if "uv" in values:
        words = "uv pip install"
    elif "embedded_python" in values:
        words = f".\\{values['embedded_python']}python.exe -m pip install"
    else:
        words = "python -m pip install"
    tags = {match[1] if (match := _LOCAL.search(text)) else None for text in wanted}
    named = tuple(map(as_listed, wanted))
    is_alone = len(tags) == 1 and len({"+" in text for text in named}) == 1
    option = "--index-url" if is_alone else "--extra-index-url"
    index = [f"{option} {index_address(tag)}" for tag in sorted(filter(None, tags))]
    is_same = named != wanted and "+" not in named[0]  # as what is installed, by its release
    again = ["--force-reinstall", "--no-deps"] if forced else ["--force-reinstall"] if is_same else []
    if forced and "uv" in values:
        again = [f"--reinstall-package {text.partition('==')[0]}" for text in named]
    folder = [f'--upgrade --target "{values["pip_target"]}"'] if "pip_target" in values else []
    return " ".join((words, *again, *folder, *named, *index))


def _by_poetry(wanted: tuple[str, ...]) -> str | None:
    """Return what makes poetry take builds of one variant: what pip installs beside it, the lock undoes."""
    tags = {match[1] if (match := _LOCAL.search(text)) else "" for text in wanted}
    tag = next(iter(tags))
    if len(tags) > 1 or not tag:
        return None
    source = f"poetry source add --priority explicit pytorch-{tag} {index_address(tag)}"
    return f"{source} && poetry add --source pytorch-{tag} {' '.join(wanted)}"


def _release(values: Mapping[str, str]) -> str:
    return values.get("torch", "").partition("+")[0]
