"""Why a plan holds: the facts that carry it, each with its source."""

from __future__ import annotations

from gpuenv.i18n.messages import N_, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.errors import Because
from gpuenv.model.machine import Machine
from gpuenv.model.variant import CudaVersion
from gpuenv.resolution.candidate import IndexedFile
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.report.torch_bound_fixes import why_not_newer
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules import driver
from gpuenv.resolution.target import TargetGpu, driver_os


def rationale(question: ResolutionInput, solution: Solution) -> tuple[Because, ...]:
    """Return why the chosen build runs on the target."""
    cuda, gpus = solution.candidate.cuda, question.target.gpus
    companions = tuple(
        reason for item in solution.companions if (reason := _companion(item, solution, question))
    )
    if question.target.is_accelerated and not solution.candidate.variant.is_cpu:
        from gpuenv.resolution.report.accelerators import accelerated_rationale  # noqa: PLC0415

        own = accelerated_rationale(question, solution)
        return (*own, *companions, *why_not_newer(question, solution))
    if not gpus or cuda is None:
        return (_cpu(question), *companions, *why_not_newer(question, solution))
    machines = dict.fromkeys(gpu.machine for gpu in gpus)
    drivers = tuple(reason for machine in machines if (reason := _driver(cuda, machine, question)))
    kinds = {gpu.capability: gpu for gpu in reversed(gpus)}.values()
    codes = (_code(solution, gpu) for gpu in kinds)
    by_minor_version = compatibility(question, solution)
    return (*drivers, *by_minor_version, *codes, *companions, *why_not_newer(question, solution))


def _cpu(question: ResolutionInput) -> Because:
    request, unused = question.request, question.target.unused
    option = "option --cuda" if request.variant is not None else "option --accelerator"
    if request.accelerator is None and unused:
        text = tr("{device}: {reason}", device=unused[0].device.label, reason=unused[0].because.text)
        return Because(text, unused[0].because.source)
    if request.accelerator is None:
        return Because(tr("this machine has no NVIDIA GPU"), "detect")
    if request.accelerator == "cpu":
        return Because(tr("a CPU build was requested"), option)
    return Because(tr("a CUDA build was requested, although there is no NVIDIA GPU"), option)


def _driver(cuda: CudaVersion, machine: Machine, question: ResolutionInput) -> Because | None:
    floor = driver.least_driver(cuda, driver_os(machine), question.knowledge)
    if machine.driver is None or floor is None:
        return None
    if machine.driver.version < floor.version:
        text = tr(
            "CUDA {cuda} needs a driver that supports it; {place} has {driver}, for CUDA {supported}",
            place=question.target.machine_label,
            cuda=cuda,
            driver=machine.driver.version,
            supported=machine.driver.cuda,
        )
        return Because(text, f"{floor.source}; {machine.source_of('driver.cuda')}")
    text = tr(
        "CUDA {cuda} needs driver {floor} or newer; {place} has {driver}",
        place=question.target.machine_label,
        cuda=cuda,
        floor=floor.version,
        driver=machine.driver.version,
    )
    return Because(text, f"{floor.source}; {machine.source_of('driver.version')}")


def compatibility(question: ResolutionInput, solution: Solution) -> tuple[Because, ...]:
    """Return why the build runs where its CUDA is newer than the driver's, once for machines alike.

    https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
    """
    cuda = solution.candidate.cuda
    if cuda is None:
        return ()
    machines = dict.fromkeys(gpu.machine for gpu in question.target.gpus)
    reasons = (_compatibility(cuda, machine, question.knowledge) for machine in machines)
    return tuple(dict.fromkeys(reason for reason in reasons if reason))


def _compatibility(cuda: CudaVersion, machine: Machine, knowledge: Knowledge) -> Because | None:
    system = driver_os(machine)
    floor = knowledge.family_floor(cuda.major, system)
    if machine.driver is None or floor is None or driver.is_native(cuda, machine, knowledge):
        return None
    supported = machine.driver.cuda or knowledge.driver_cuda(machine.driver.version, system)
    text = tr(
        "CUDA {cuda} build on a driver for CUDA {supported}: works by CUDA minor-version compatibility"
        " (driver >= {floor})",
        cuda=cuda,
        supported=supported or "?",
        floor=floor.version,
    )
    return Because(text, f"{floor.source}; {machine.source_of('driver.version')}")


def _code(solution: Solution, gpu: TargetGpu) -> Because:
    row = solution.candidate.row
    listed = " ".join(map(str, row.architectures)) if row else ""
    text = tr(
        "{build} has code for {gpu}: {list}", build=solution.candidate.label, gpu=gpu.label, list=listed
    )
    return Because(text, f"{solution.candidate.source}; {gpu.source}")


def _companion(item: IndexedFile, solution: Solution, question: ResolutionInput) -> Because | None:
    """Say by what a companion was paired with the torch, where its metadata does not name that one alone."""
    project = str(item.file.name)
    pair = question.knowledge.companions(solution.candidate.torch, project)
    release = question.knowledge.companion_release(project, item.release)
    if pair is None or release is None or release.pins_torch or release.cuda_match is None:
        return None
    basis = pair.basis if item.release == pair.versions[0] else "metadata"
    template = _BASES[basis]
    text = tr(template, companion=f"{project} {item.release}", torch=solution.candidate.torch, member=basis)
    return Because(text, pair.source)


_BY_MEMBER = N_(
    "{companion} is compatible with torch {torch} according to the CUDA in its `{member}`: "
    "its metadata does not pin torch"
)
_BASES = {
    "metadata": N_(
        "{companion} is compatible with torch {torch} according to the lower bound in its metadata"
    ),
    "version.py": _BY_MEMBER,
    "cpp_lib.json": _BY_MEMBER,
    "documented": N_(
        "{companion} is compatible with torch {torch} according to its project: its metadata "
        "does not pin torch"
    ),
    "number": N_(
        "{companion} is compatible with torch {torch} according to their versions: its metadata "
        "does not mention torch"
    ),
}
