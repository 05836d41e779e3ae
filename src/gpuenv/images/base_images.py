"""Which container image to start from: rows of matrices/images.json, or one that the user names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.capability import Architecture
from gpuenv.model.errors import Because, Fix, Unsatisfiable, UsageError
from gpuenv.model.image import BaseImage
from gpuenv.model.machine import DriverVersion
from gpuenv.model.variant import CudaVersion, parse_cuda_version
from gpuenv.resolution.rules import driver, gpu_code
from gpuenv.resolution.target import Target

SLIM = "slim"
CUDA_BASES = ("cuda-runtime", "cuda-devel")
# [registry[:port]/]path[:tag][@digest], as github.com/distribution/reference has it
_PATH = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?P<name>(?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?{_PATH}(?:/{_PATH})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


def parse_images(rows: Iterable[Mapping[str, Any]]) -> tuple[BaseImage, ...]:
    """Read the rows of images.json; raise ValueError or KeyError for one that is none."""
    return tuple(_parse_image(row) for row in rows)


def _parse_image(row: Mapping[str, Any]) -> BaseImage:
    """Read a row: `{"repository": "nvidia/cuda", "tag": "12.6.3-devel-ubuntu24.04", "cuda": "12.6", ...}`."""
    return BaseImage(
        registry=row["registry"],
        name=f"{row['repository']}:{row['tag']}",
        flavour=row["flavour"],
        python=row["python"],
        glibc=row["glibc"],
        cuda=parse_cuda_version(row["cuda"]) if row["cuda"] else None,
        packages=tuple(row["packages"]),
        build_packages=tuple(row["build_packages"]),
        platforms=tuple(row["platforms"]),
        source=row["source"],
        digest=row["digest"],
    )


def parse_reference(text: str) -> str:
    """Check the name of an image, `registry.example.com/lab/base:1.2`; raise UsageError for anything else.

    A tag or a digest is wanted: what has none, or `latest`, is another image tomorrow.
    """
    match = _REFERENCE.fullmatch(text)
    if not match:
        raise UsageError(
            tr("`{text}` is not a valid image name", text=text),
            code="bad-image",
            fixes=(Fix(tr("write it as --base registry.example.com/lab/base:1.2")),),
        )
    if not match["digest"] and match["tag"] in (None, "latest"):
        raise UsageError(
            tr("`{text}` is not a fixed image: it may change", text=text),
            code="unpinned-image",
            fixes=(Fix(tr("name its tag or its digest: --base {text}:1.2", text=match["name"])),),
        )
    return text


def bases_for(requested: str, images: tuple[BaseImage, ...]) -> tuple[BaseImage, ...]:
    """Return the images among which `requested` leaves a choice: slim, cuda-runtime, cuda-devel or a name.

    What is named by its tag is meant by its tag, without the digest: so one gets an image's newest build.
    """
    if requested in (SLIM, *CUDA_BASES):
        return tuple(image for image in images if image.flavour == requested)
    known = tuple(
        replace(image, digest=None)
        for image in images
        if requested in (image.reference, image.name, image.name.removeprefix("library/"))
    )
    return known or (BaseImage("", parse_reference(requested), "own"),)


def choose_bases(
    requested: str, python: str, cuda: CudaVersion | None, platform: str, images: tuple[BaseImage, ...]
) -> tuple[BaseImage, BaseImage]:
    """Return the images that the environment is made in and that it runs in.

    What is compiled in an image with a compiler runs in the one without. Raises Unsatisfiable if none fits.
    """
    base_images = [image for image in bases_for(requested, images) if _fits(image, python, cuda, platform)]
    if not base_images:
        raise _no_image(requested, python, cuda, images)
    run = build = base_images[0]
    if build.flavour == "cuda-devel":
        alike = (build.cuda, build.python, build.platforms)
        runtimes = (image for image in images if image.flavour == "cuda-runtime")
        twin = next(image for image in runtimes if (image.cuda, image.python, image.platforms) == alike)
        run = twin if requested in CUDA_BASES else replace(twin, digest=None)
    return build, run


def _fits(image: BaseImage, python: str, cuda: CudaVersion | None, platform: str) -> bool:
    return (
        (image.python is None or image.python == python)
        and (image.cuda is None or image.cuda == cuda)
        and (not image.platforms or platform in image.platforms)
    )


def _no_image(
    requested: str, python: str, cuda: CudaVersion | None, images: tuple[BaseImage, ...]
) -> Unsatisfiable:
    if cuda is None and requested in CUDA_BASES:
        return Unsatisfiable(
            tr("`--base {base}` is not useful for a CPU build", base=requested),
            code="no-image",
            fixes=(Fix(tr("omit it")),),
        )
    offered = bases_for(requested, images)
    pythons = dict.fromkeys(image.python for image in offered if image.cuda in (None, cuda) and image.python)
    releases = dict.fromkeys(str(image.cuda) for image in offered if image.cuda and image.python == python)
    fixes = [Fix(tr("use a Python that they have: --python {python}", python=item)) for item in pythons]
    if releases and not pythons:
        fixes.append(Fix(tr("or use another CUDA: --cuda {cuda}", cuda=list(releases)[-1])))
    wanted = tr("CUDA {cuda} and Python {python}", cuda=cuda, python=python) if cuda else f"Python {python}"
    return Unsatisfiable(
        tr("no image of `--base {base}` has {wanted}", base=requested, wanted=wanted),
        code="no-image",
        because=(Because(tr("{count} such images are known", count=len(offered)), "matrix images.json"),),
        fixes=(*fixes, Fix(tr("or name an image of your own: --base registry.example.com/lab/base:1.2"))),
    )


def least_driver(
    architectures: tuple[Architecture, ...], cuda: CudaVersion, target: Target, knowledge: Knowledge
) -> DriverVersion | None:
    """Return the least Linux driver for code on the target's GPUs: PTX wants the CUDA release's own."""
    assumed = target.with_driver_assumed().gpus
    codes = {gpu_code.code_in(architectures, cuda, gpu, knowledge) for gpu in assumed}
    floor = driver.least_driver(cuda, "linux", knowledge)
    if "ptx" in codes:
        floor = knowledge.release_floor(cuda, "linux") or floor
    return floor.version if floor else None


def alone(target: Target, cuda: CudaVersion, knowledge: Knowledge) -> tuple[str, ...]:
    """Return the capabilities of integrated devices (Tegra) near the target's: their code runs on them alone.

    A device of the target that runs other code as well, with this CUDA, is left out.
    """
    here = {gpu.capability for gpu in target.gpus}
    majors = {capability.major for capability in here}
    return tuple(
        str(capability)
        for capability in sorted(knowledge.generations)
        if capability.major in majors
        and knowledge.is_integrated(capability, cuda if capability in here else None)
    )
