"""Format `dockerfile`: an image with the plan's very files, made in one stage and copied into another.

What the build needs, an index, its cache and a compiler, stays in the first stage: neither the image nor its
history knows of it. No heredocs: buildah reads them from 1.33 on only.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable

from gpuenv.formats.dockerfile_syntax import assignments, comment, quoted, written
from gpuenv.i18n.messages import N_, tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.image import BaseImage, ImageRecipe
from gpuenv.model.locked import LockedFile
from gpuenv.secrets.url_credentials import without_userinfo

_ENVIRONMENT = "/opt/venv"
_OWN = "/opt/gpuenv"
CHECK = f"{_OWN}/check.py"
_REQUIREMENTS = f"{_OWN}/requirements.txt"
USER = "gpuenv"
_REMOTE = ("http://", "https://")
_PLATFORMS = {"linux-64": "linux/amd64", "linux-aarch64": "linux/arm64"}
_WORKPLACE = "/workspace"
PYTHON = f"{_ENVIRONMENT}/bin/python"
# The driver's libraries, which the container toolkit of old puts there; not CUDA's own, which must not go
# before those that torch brings.
_LIBRARIES = "/usr/local/nvidia/lib:/usr/local/nvidia/lib64"
_COMPILE_HERE = N_("compile your own code here, into {place}: the compiler stays in this stage")

FILE_NAME = "Dockerfile.gpu"
IGNORED = """\
.git
.env
.venv
venv
**/__pycache__
**/*.py[co]
**/.ipynb_checkpoints
**/.mypy_cache
**/.pytest_cache
**/.ruff_cache
"""


def render_dockerfile(recipe: ImageRecipe) -> str:
    """Return the Dockerfile.

    Raises UsageError for what only this machine has: a wheelhouse, or an address that stays in no line.
    """
    parts = (_head(recipe), _build_stage(recipe), _run_stage(recipe), _end(recipe))
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _head(recipe: ImageRecipe) -> list[str]:
    lines = [
        _title(recipe),
        tr("made by gpuenv {version}: {command}", version=recipe.version, command=recipe.asked),
        *_needs(recipe),
        "",
        f"docker build --platform {_PLATFORMS[recipe.platform]} --file {FILE_NAME} --tag torch .",
        f"docker run --rm {'--gpus all ' if recipe.cuda else ''}torch",
        tr("the second runs torch on every GPU and reports the result")
        if recipe.cuda
        else tr("the second runs torch and reports the result"),
        tr("podman and buildah work as well; docker 23 or newer, or with BuildKit"),
    ]
    registry = [
        "",
        *comment(tr("another registry, such as a mirror: --build-arg REGISTRY=registry.example.com")),
        f"ARG REGISTRY={quoted(recipe.run.registry)}",
    ]
    return [*comment(*lines), *(registry if recipe.run.registry else ())]


def _title(recipe: ImageRecipe) -> str:
    plan = recipe.locked.plan
    stack = [f"{package.name} {package.version}" for package in plan.packages[: len(plan.pins)]]
    cuda = [f"CUDA {recipe.cuda}"] if recipe.cuda else []
    return " · ".join([*stack, *cuda, f"Python {plan.python}"])


def _needs(recipe: ImageRecipe) -> list[str]:
    if not recipe.cuda:
        return [tr("a CPU build: torch will not use a GPU")]
    return [
        tr("for GPU {gpus}", gpus=", ".join(recipe.gpus)),
        tr("needs driver {driver} or newer, and the NVIDIA Container Toolkit", driver=recipe.driver),
    ]


def _build_stage(recipe: ImageRecipe) -> list[str]:
    base, plan = recipe.build, recipe.locked.plan
    return [
        *_from(base, " AS build"),
        *_places(recipe),
        *_packages((*base.packages, *base.build_packages)),
        *_python_check(base, plan.python),
        *_for_compilers(recipe),
        f"WORKDIR {_OWN}",
        *comment(tr("all packages, each file by its hash")),
        *written(_REQUIREMENTS, (_requirement(file) for file in recipe.locked.files)),
        *_installing(recipe),
        f"    python3 -m venv {_ENVIRONMENT} \\",
        f"    && {PYTHON} -m pip --disable-pip-version-check install \\",
        f"        --no-deps --require-hashes --requirement {_REQUIREMENTS}",
        *(comment(tr(_COMPILE_HERE, place=_ENVIRONMENT)) if base.flavour == "cuda-devel" else ()),
        *comment(tr("the check of this image; it needs only torch")),
        *written(CHECK, recipe.check.splitlines()),
    ]


def _run_stage(recipe: ImageRecipe) -> list[str]:
    return [
        *_from(recipe.run),
        *assignments("LABEL", _labels(recipe)),
        *_packages(recipe.run.packages),
        *comment(tr("files written by the container get this user id: --build-arg UID=1000")),
        'ARG UID="1000"',
        f'RUN groupadd --non-unique --gid "${{UID}}" {USER} \\',
        f'    && useradd --non-unique --no-log-init --create-home --uid "${{UID}}" --gid {USER} {USER} \\',
        f"    && install --directory --owner {USER} --group {USER} {_WORKPLACE}",
        f"COPY --from=build {_OWN} {_OWN}",
        f"COPY --from=build {_ENVIRONMENT} {_ENVIRONMENT}",
        f'ENV PATH="{_ENVIRONMENT}/bin:${{PATH}}"',
        *assignments("ENV", _variables(recipe)),
        "USER ${UID}",
        f"WORKDIR {_WORKPLACE}",
    ]


def _end(recipe: ImageRecipe) -> list[str]:
    check = ["python", CHECK]
    health = (
        [
            *comment(tr("queries the driver only: does not start CUDA or use GPU memory")),
            "HEALTHCHECK --interval=5m --timeout=30s --start-period=30s \\",
            f"    CMD {json.dumps([*check, 'driver', '--driver', recipe.driver])}",
        ]
        if recipe.driver
        else ["HEALTHCHECK NONE"]
    )
    return [
        *comment(tr("needs no GPU: fails if this torch has no code for one of the intended GPUs")),
        f"RUN {json.dumps([*check, 'built', *_expected(recipe)])}",
        *health,
        f"CMD {json.dumps([*check, 'gpus'])}",
    ]


def _from(base: BaseImage, stage: str = "") -> list[str]:
    image = f"${{REGISTRY}}/{base.pinned}" if base.registry else base.pinned
    floating = [] if base.is_fixed else comment(tr("by tag, without a digest: the image may change"))
    return [*floating, f"FROM {image}{stage}"]


def _places(recipe: ImageRecipe) -> list[str]:
    """Say where pip looks, as arguments of this stage: pip reads them as variables, the image keeps none."""
    sources = recipe.locked.plan.sources
    facts = {
        "PIP_INDEX_URL": (sources.index_url,) if sources.index_url and not sources.no_index else (),
        "PIP_EXTRA_INDEX_URL": () if sources.no_index else sources.extra_index_urls,
        "PIP_FIND_LINKS": tuple(link for link in sources.find_links if link.lower().startswith(_REMOTE)),
        "PIP_NO_INDEX": ("1",) if sources.no_index else (),
    }
    lines = [f"ARG {name}={quoted(_joined(places))}" for name, places in facts.items() if places]
    if not any(facts.values()):
        return []
    return [*comment(tr("where pip looks; visible in this stage only")), *lines]


def _joined(places: Iterable[str]) -> str:
    """Join addresses as pip splits them; a password is left to netrc."""
    shared = [without_userinfo(where) for where in places]
    for location in shared:
        if not location.isprintable() or " " in location:
            raise UsageError(
                tr("{value} cannot be written into a Dockerfile", value=repr(location)), code="unprintable"
            )
    return " ".join(shared)


def _packages(names: tuple[str, ...]) -> list[str]:
    if not names:
        return []
    return [
        *comment(tr("the distribution does not keep old package versions, so they cannot be pinned")),
        "# hadolint ignore=DL3008",
        "RUN apt-get update \\",
        "    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \\",
        f"        {' '.join(names)} \\",
        "    && rm -rf /var/lib/apt/lists/*",
    ]


def _python_check(base: BaseImage, python: str) -> list[str]:
    """Of an image of the user's own it is not known which Python it has."""
    if base.python:
        return []
    message = tr("Python {python} was planned, this image has", python=python).replace("'", "")
    code = (
        f'import sys; found = "%d.%d" % sys.version_info[:2]; '
        f'sys.exit(found != {json.dumps(python)} and {json.dumps(message)} + " " + found)'
    )
    return [f"RUN python3 -c {shlex.quote(code)}"]


def _for_compilers(recipe: ImageRecipe) -> list[str]:
    if recipe.build.flavour != "cuda-devel" or not recipe.capabilities:
        return []
    return [f"ENV TORCH_CUDA_ARCH_LIST={quoted(';'.join(recipe.capabilities))}"]


def _requirement(file: LockedFile) -> str:
    if not file.url.lower().startswith(_REMOTE):
        raise UsageError(
            tr("`{file}` is on this machine only: the image build cannot access it", file=file.filename),
            code="local-file",
            fixes=(Fix(tr("serve its directory over HTTP, and give that URL with --find-links")),),
        )
    wanted = f"{file.name}=={file.version}" if file.index else f"{file.name} @ {_joined((file.url,))}"
    return f"{wanted} --hash=sha256:{file.sha256}"


def _installing(recipe: ImageRecipe) -> list[str]:
    """Begin the instruction that installs: pip's cache stays on the builder, a password in its secret."""
    cache = "RUN --mount=type=cache,target=/root/.cache/pip \\"
    sources = recipe.locked.plan.sources
    places = (sources.index_url or "", *sources.extra_index_urls, *sources.find_links)
    if all(without_userinfo(location) == location for location in places):
        return [cache]
    how = "docker build --secret id=netrc,src=$HOME/.netrc"
    netrc = "    --mount=type=secret,id=netrc,target=/root/.netrc \\"
    return [*comment(tr("an index requires a password: {command}", command=how)), cache, netrc]


def _labels(recipe: ImageRecipe) -> dict[str, str]:
    plan = recipe.locked.plan
    torch = plan.packages[0]
    facts = {
        "org.opencontainers.image.title": _title(recipe),
        "org.opencontainers.image.base.name": recipe.run.reference,
        "org.opencontainers.image.base.digest": recipe.run.digest or "",
        "gpuenv.version": recipe.version,
        "gpuenv.torch": torch.version,
        "gpuenv.variant": plan.variant,
        "gpuenv.cuda": str(recipe.cuda or ""),
        "gpuenv.python": plan.python,
        "gpuenv.gpus": ", ".join(recipe.gpus),
        "gpuenv.driver": recipe.driver or "",
        "gpuenv.architectures": " ".join(recipe.architectures),
    }
    return {name: value for name, value in facts.items() if value}


def _variables(recipe: ImageRecipe) -> dict[str, str]:
    """Return the variables, for the container toolkit as well.

    It refuses to start the container under an older driver. `driver>=` is what the plan needs; NVIDIA's own
    images ask for `cuda>=`, which keeps out drivers that run newer CUDA by minor-version compatibility.
    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """
    facts = {"VIRTUAL_ENV": _ENVIRONMENT, "PYTHONUNBUFFERED": "1"}
    if recipe.cuda:
        facts["NVIDIA_VISIBLE_DEVICES"] = "all"
        facts["NVIDIA_DRIVER_CAPABILITIES"] = "compute,utility"
    if recipe.driver:
        facts["NVIDIA_REQUIRE_CUDA"] = f"driver>={recipe.driver}"
    if recipe.run.has_toolkit:
        facts["LD_LIBRARY_PATH"] = _LIBRARIES
    return facts


def _expected(recipe: ImageRecipe) -> list[str]:
    words = ["--torch", recipe.locked.plan.packages[0].version]
    if recipe.cuda:
        words += ["--cuda", str(recipe.cuda)]
    words += [word for capability in recipe.capabilities for word in ("--gpu", capability)]
    return words + [word for capability in recipe.alone for word in ("--alone", capability)]
