"""Decide in memory: machines in short form, a request, what is published; a plan or a refusal."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any

from packaging.version import Version
from published import Published, listings

from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.errors import GpuenvError
from gpuenv.model.index import IndexConfiguration
from gpuenv.model.machine import Driver, DriverVersion, Gpu, Machine, Problem, System
from gpuenv.model.machine_json import parse_machine
from gpuenv.model.plan import Plan
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import parse_cuda_version
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.plan_builder import build_plan
from gpuenv.resolution.report.refusal import refuse
from gpuenv.resolution.request import OPTIONAL, Request, parse_cuda_option, parse_python, parse_requirements
from gpuenv.resolution.resolve import ResolutionInput, build_input, decide
from gpuenv.resolution.target import choose_target, driver_os, platform_of

NOTHING_CONFIGURED = IndexConfiguration(None, (), ())
PYTHONS = tuple(f"3.{minor}" for minor in range(8, 16))
_SYSTEMS = {
    "linux-64": ("linux", "x86_64"),
    "linux-aarch64": ("linux", "aarch64"),
    "win-64": ("windows", "x86_64"),
}
_MACHINE_KEYS = {
    "driver", "cuda", "gpus", "platform", "os", "arch", "libc", "glibc", "wsl", "container", "hidden",
    "problems",
}  # fmt: skip


def machine(short: dict[str, Any]) -> Machine:
    """Make a machine of the short form of scenarios, or of the whole JSON of `gpuenv detect`."""
    if "system" in short:
        return parse_machine(short)
    unknown = set(short) - _MACHINE_KEYS
    if unknown:
        raise ValueError(f"a machine has no {sorted(unknown)}")
    system = _system(short)
    gpus = tuple(
        _gpu(index, item, visible=index not in short.get("hidden", ()))
        for index, item in enumerate(short.get("gpus", ()))
    )
    problems = tuple(Problem(code, f"{code}: repair it") for code in short.get("problems", ()))
    made = Machine(system, gpus=gpus, problems=problems)
    facts = [("system.arch", "uname"), ("problems", "nvidia-smi")]
    facts += [(f"gpus.{gpu.index}.compute_capability", "nvidia-smi") for gpu in gpus]
    if "driver" in short:
        version = DriverVersion(short["driver"])
        cuda = parse_cuda_version(short["cuda"]) if "cuda" in short else None
        driver = Driver(version, cuda or load_knowledge().driver_cuda(version, driver_os(made)))
        facts.append(("driver.version", "nvidia-smi"))
    return Machine(system, driver if "driver" in short else None, gpus, facts=tuple(facts), problems=problems)


def _system(short: dict[str, Any]) -> System:
    os, arch = _SYSTEMS[short.get("platform", "linux-64")]
    libc = short.get("libc", "glibc" if os == "linux" else None)
    return System(
        short.get("os", os),
        short.get("arch", arch),
        libc,
        short.get("glibc", "2.35" if libc == "glibc" else None),
        wsl=short.get("wsl", False),
        container=short.get("container"),
    )


def _gpu(index: int, text: str, *, visible: bool) -> Gpu:
    """A product name, a compute capability, or a name that nothing is known of, after a question mark."""
    if text.startswith("?"):
        return Gpu(index, text[1:], None, visible=visible)
    if text.replace(".", "").isdigit():
        return Gpu(index, None, parse_compute_capability(text), visible=visible)
    fact = load_knowledge().gpu_names.find(text)
    if fact is None or fact.ambiguous:
        raise ValueError(f"`{text}` names no GPU")
    return Gpu(index, fact.name, fact.capability, visible=visible)


@dataclass(frozen=True)
class Asked:
    """One scenario's question in short form."""

    machines: tuple[Machine, ...]
    requirements: tuple[str, ...] = ()
    python: str | None = None
    cuda: str | None = None
    devices: tuple[int, ...] = ()
    published: Published = field(default_factory=Published)
    pythons: tuple[str, ...] = PYTHONS
    manager: str = "uv"
    optional: bool = False  # nothing was typed: torchvision and numpy are preferences

    def request(self) -> Request:
        options = (("--python", self.python), ("--cuda", self.cuda))
        typed = tuple((name, value) for name, value in options if value is not None)
        return Request(
            requirements=parse_requirements(self.requirements),
            python=parse_python(self.python) if self.python else None,
            variant=parse_cuda_option(self.cuda) if self.cuda else None,
            devices=self.devices,
            manager=self.manager,
            offline=self.published.offline,
            options=(*typed, *(("--device", str(index)) for index in self.devices)),
            optional=OPTIONAL if self.optional else (),
            spelled_out=bool(self.requirements),
        )

    def question(self) -> ResolutionInput:
        """Put the question; raises what `choose_target` raises."""
        request = self.request()
        cpu = request.variant is not None and request.variant.is_cpu
        target = choose_target(self.machines, self.devices, cpu=cpu)
        offers = tuple(PythonOffer(version) for version in self.pythons)
        published = listings(platform_of(self.machines[0]), self.published)
        return build_input(request, target, load_knowledge(), published, offers)

    def again(self, command: str) -> Asked:
        """Ask what a fix's command asks, of the same machines."""
        words = shlex.split(command)
        if words[:2] != ["gpuenv", "plan"]:
            raise ValueError(f"`{command}` is no plan")
        requirements, options = _parse(words[2:])
        return Asked(
            self.machines,
            requirements,
            next(iter(options.get("--python", [])), None),
            next(iter(options.get("--cuda", [])), None),
            tuple(map(int, options.get("--device", []))),
            Published(offline=True) if "--offline" in options else self.published,
            self.pythons,
        )


def _parse(words: list[str]) -> tuple[tuple[str, ...], dict[str, list[str]]]:
    requirements: list[str] = []
    options: dict[str, list[str]] = {}
    remaining = iter(words)
    for word in remaining:
        if word == "--offline":
            options[word] = []
        elif word.startswith("--"):
            options.setdefault(word, []).append(next(remaining))
        else:
            requirements.append(word)
    return tuple(requirements), options


@dataclass(frozen=True)
class Outcome:
    """A plan with the choice behind it, or the error; the question unless it could not be put."""

    plan: Plan | None = None
    choice: Solution | None = None
    error: GpuenvError | None = None
    question: ResolutionInput | None = None
    decision: Decision | None = None


def decided(asked: Asked) -> Outcome:
    """Decide, and assemble the plan or the refusal."""
    try:
        question = asked.question()
    except GpuenvError as error:
        return Outcome(error=error)
    decision = decide(question)
    if not decision.choices:
        return Outcome(error=refuse(question, decision), question=question, decision=decision)
    solution = decision.choices[0]
    plan = build_plan(question, decision, solution, NOTHING_CONFIGURED)
    return Outcome(plan, solution, None, question, decision)


def gpu_machine(driver: str, *gpus: str, **short: Any) -> Machine:
    """Make a machine in one line."""
    return machine({"driver": driver, "gpus": list(gpus), **short})


def releases(decision: Decision) -> set[Version]:
    """Return the torch releases among the choices."""
    return {solution.candidate.torch for solution in decision.choices}
