"""`gpuenv dockerfile`: what a container image is made of, for a plan."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from msgspec.structs import replace
from packaging.version import Version

from gpuenv import __version__, matrices
from gpuenv.files.write_output import write_file
from gpuenv.formats.dockerfile import IGNORED, render_dockerfile
from gpuenv.i18n.messages import series, tr
from gpuenv.images.base_images import SLIM, alone, bases_for, choose_bases, least_driver, parse_images
from gpuenv.installers import WHEEL_MANAGERS
from gpuenv.locks.lock_plan import lock_plan
from gpuenv.model.accelerator import AcceleratorKind
from gpuenv.model.capability import parse_architecture
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.image import BaseImage, ImageRecipe
from gpuenv.model.locked import Locked
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.model.variant import Variant
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.make_plan import make_plan
from gpuenv.planning.options import Container, PlanOptions
from gpuenv.resolution.accelerators.kinds import choose_accelerated
from gpuenv.resolution.target import Target, choose_target
from gpuenv.secrets.url_credentials import redact_credentials

_ROCM: AcceleratorKind = "rocm"
_KINDS: tuple[AcceleratorKind, ...] = ("cuda", _ROCM, "cpu")  # whose devices the images of Python can use
_INSTALLER = "pip"  # which the images contain
_IGNORE_FILE = ".dockerignore"


def plan_image(options: PlanOptions, base: str, environ: Mapping[str, str]) -> tuple[Plan, str]:
    """Return a plan for a container image and the Dockerfile that makes it.

    `base` is slim, cuda-runtime, cuda-devel, or the name of an image. Raises what `make_plan` and `lock_plan`
    raise, and Unsatisfiable where no image fits.
    """
    images = parse_images(matrices.load("images"))
    _refuse_windows(options.platform)
    inside = _in_container(options, base, bases_for(base, images))
    plan = make_plan(inside, environ, target=".venv")
    _refuse_other_kinds(plan)
    target = _target(plan, options)
    _refuse_windows(target.platform)
    build, run = choose_bases(base, plan.python, Variant(plan.variant).cuda, target.platform, images)
    locked = lock_plan(plan, inside, environ)
    planned = replace(locked.plan, warnings=(*locked.plan.warnings, *_warnings(locked, build, options)))
    return planned, render_dockerfile(compose(locked, build, run, target, _typed_command(inside)))


def compose(locked: Locked, build: BaseImage, run: BaseImage, target: Target, requested: str) -> ImageRecipe:
    """Return what the Dockerfile is written from."""
    knowledge = load_knowledge()
    cuda = Variant(locked.plan.variant).cuda
    codes = tuple(parse_architecture(text) for text in locked.architectures)
    floor = least_driver(codes, cuda, target, knowledge) if cuda else None
    return ImageRecipe(
        locked=locked,
        build=build,
        run=run,
        platform=target.platform,
        gpus=tuple(dict.fromkeys(_labels(target))),
        capabilities=_capabilities(target, locked.plan),
        driver=str(floor) if floor else None,
        cuda=cuda,
        is_for_rocm=target.kind == "rocm",
        architectures=locked.architectures,
        alone=alone(target, cuda, knowledge) if cuda else (),
        check=(files("gpuenv.verification") / "image_check.py").read_text(encoding="utf-8"),
        version=__version__,
        asked=requested,
    )


def write_ignore_file(output: Path) -> Path | None:
    """Write a .dockerignore next to the Dockerfile if there is none; return its path."""
    path = output.parent / _IGNORE_FILE
    if path.exists() or path.is_symlink() or not output.is_file():
        return None
    write_file(path, IGNORED)
    return path


def _in_container(options: PlanOptions, base: str, bases: tuple[BaseImage, ...]) -> PlanOptions:
    if options.manager not in ("auto", *WHEEL_MANAGERS):
        raise UsageError(
            tr("an image uses wheels, `--manager {manager}` uses conda packages", manager=options.manager),
            code="usage",
            fixes=(Fix(tr("omit it")),),
        )
    pythons = tuple(dict.fromkeys(image.python for image in bases if image.python))
    if not pythons and options.python is None:
        raise UsageError(
            tr("the Python of `{base}` is not known", base=base),
            code="usage",
            fixes=(Fix(tr("specify it, such as --python 3.12")),),
        )
    glibc = min((image.glibc for image in bases if image.glibc), key=Version, default=None)
    container = Container(pythons, glibc)
    program = options.program if base == SLIM else (*options.program, "--base", base)
    return replace(options, manager=_INSTALLER, container=container, program=program)


def _target(plan: Plan, options: PlanOptions) -> Target:
    variant = Variant(plan.variant)
    if variant.kind == _ROCM:
        return choose_accelerated(plan.machines, options.devices, _ROCM, load_knowledge())
    return choose_target(plan.machines, options.devices, cpu=variant.is_cpu)


def _labels(target: Target) -> Iterator[str]:
    yield from (gpu.label for gpu in target.gpus)
    yield from (device.label for device in target.devices)


def _capabilities(target: Target, plan: Plan) -> tuple[str, ...]:
    """Return what torch must have code for; AMD's own index has a device's in a package beside torch."""
    if plan.packages[0].extras:
        return ()
    devices = {device.accelerator.architecture for device in target.devices}
    return (*map(str, sorted({gpu.capability for gpu in target.gpus})), *sorted(filter(None, devices)))


def _refuse_other_kinds(plan: Plan) -> None:
    variant = Variant(plan.variant)
    if variant.kind not in _KINDS:
        raise UsageError(
            tr("a Dockerfile is for builds for CUDA, ROCm and the CPU, not for {variant}", variant=variant),
            code="usage",
            fixes=(Fix(tr("describe a machine with an NVIDIA GPU: --gpu 8.6")), Fix(tr("or add --cuda cpu"))),
        )


def _refuse_windows(platform: str | None) -> None:
    if platform == "win-64":
        reason = tr("containers with a GPU run on Linux, and on Windows within WSL2")
        raise UsageError(
            tr("an image is built for Linux, but the plan is for Windows"),
            code="usage",
            because=(Because(reason, "containers"),),
            fixes=(Fix(tr("add --platform linux-64")),),
        )


def _warnings(locked: Locked, build: BaseImage, options: PlanOptions) -> Iterator[PlanWarning]:
    plan = locked.plan
    if plan.variant == "cpu" and options.cuda != "cpu":
        text = tr(
            "this would be a CPU build, as this machine has no GPU: specify the target, such as --gpu 8.6"
        )
        yield PlanWarning("cpu-image", text)
    sources = [file.filename for file in locked.files if not file.is_wheel]
    if sources and build.flavour == SLIM:
        text = tr("{files}: add --base cuda-devel if a compiler is needed", files=series(sources))
        yield PlanWarning("image-compiles", text)
    if plan.sources.access.ca_bundle:
        text = tr("the image is built without the certificates in {file}", file=plan.sources.access.ca_bundle)
        yield PlanWarning("ca-bundle-left-out", text)


def _typed_command(options: PlanOptions) -> str:
    """Return the command that would write the file again, without passwords."""
    words = [*options.program, *options.requirements]
    words += [word for pair in options.as_typed for word in pair if word]
    if options.environment_file:
        words += ["-f", str(options.environment_file)]
    return redact_credentials(shlex.join(words))
