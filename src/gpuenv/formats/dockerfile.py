"""Format `dockerfile`: an image with the plan's very files, made in one stage and copied into another.

What the build needs, an index, its cache and a compiler, stays in the first stage: neither the image nor its
history knows of it. CUDA's libraries and torch are layers of their own.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable

from gpuenv.formats.dockerfile_facts import ENVIRONMENT, OWN, REQUIREMENTS, expected, labels, title, variables
from gpuenv.formats.dockerfile_syntax import assignments, comment, quoted, written
from gpuenv.i18n.messages import N_, series, tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.image import BaseImage, ImageRecipe
from gpuenv.model.locked import LockedFile
from gpuenv.secrets.url_credentials import without_userinfo

CHECK = f"{OWN}/check.py"
_CONSTRAINTS = f"{OWN}/constraints.txt"
_LAYERS = "/opt/layers"
USER = "gpuenv"
_KFD = "/dev/kfd"
_REMOTE = ("http://", "https://")
_PLATFORMS = {"linux-64": "linux/amd64", "linux-aarch64": "linux/arm64"}
_WORKPLACE = "/workspace"
PYTHON = f"{ENVIRONMENT}/bin/python"
# so that compiled bytecode is the same each time it is made: it names its source by hash, not by time
_EPOCH = "SOURCE_DATE_EPOCH=315532800"
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
        title(recipe),
        tr("made by gpuenv {version}: {command}", version=recipe.version, command=recipe.asked),
        *_needs(recipe),
        "",
        f"docker build --platform {_PLATFORMS[recipe.platform]} --file {FILE_NAME} --tag torch .",
        f"docker run --rm {_with_devices(recipe)}torch",
        tr("the second runs torch on every GPU and reports the result")
        if recipe.gpus
        else tr("the second runs torch and reports the result"),
        tr("docker 23 or newer, or with BuildKit; podman 4.8 or newer and buildah 1.33 or newer"),
        *_to_add_a_package(),
    ]
    registry = [
        "",
        *comment(tr("another registry, such as a mirror: --build-arg REGISTRY=registry.example.com")),
        f"ARG REGISTRY={quoted(recipe.run.registry)}",
    ]
    return [*comment(*lines), *(registry if recipe.run.registry else ())]


def _with_devices(recipe: ImageRecipe) -> str:
    """Return the options by which a container gets its GPUs; AMD's are the group's that owns their device.

    https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
    """
    if recipe.is_for_rocm:
        return f'--device {_KFD} --device /dev/dri --group-add "$(stat -c %g {_KFD})" '
    return "--gpus all " if recipe.cuda else ""


def _needs(recipe: ImageRecipe) -> list[str]:
    if recipe.is_for_rocm:
        return [
            tr("for GPU {gpus}", gpus=series(recipe.gpus)),
            tr("needs AMD's kernel driver (amdgpu) on the host, and no ROCm there"),
        ]
    if not recipe.cuda:
        return [tr("a CPU build: torch will not use a GPU")]
    return [
        tr("for GPU {gpus}", gpus=series(recipe.gpus)),
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
        f"WORKDIR {OWN}",
        *comment(tr("all packages, each file by its hash")),
        *written(REQUIREMENTS, (_requirement(file) for file in recipe.locked.files)),
        *_installing(recipe),
        f"    python3 -m venv {ENVIRONMENT} \\",
        f"    && {_EPOCH} {PYTHON} -m pip --disable-pip-version-check install \\",
        f"        --no-deps --require-hashes --requirement {REQUIREMENTS} \\",
        f"    && {PYTHON} -m pip --disable-pip-version-check freeze > {_CONSTRAINTS}",
        *(comment(tr(_COMPILE_HERE, place=ENVIRONMENT)) if base.flavour == "cuda-devel" else ()),
        *comment(tr("the check of this image; it needs only torch")),
        *written(CHECK, recipe.check.splitlines()),
        *comment(tr("layers of their own: what is as before is not pulled again with a newer torch")),
        *_layers(recipe),
    ]


def _to_add_a_package() -> list[str]:
    return [
        "",
        tr("to add a package, in a Dockerfile of your own, with torch held as it is:"),
        "  FROM torch",
        "  USER root",
        f"  RUN python -m pip install --constraint {_CONSTRAINTS} einops",
        f"  USER {USER}",
    ]


def _folders(recipe: ImageRecipe) -> tuple[str, ...]:
    """Return the folders of site-packages that are most of an environment; CUDA's libraries first."""
    return ("nvidia", "torch") if recipe.cuda else ("torch",)


def _packages_folder(recipe: ImageRecipe) -> str:
    return f"{ENVIRONMENT}/lib/python{recipe.locked.plan.python}/site-packages"


def _layers(recipe: ImageRecipe) -> list[str]:
    folders = " ".join(f"{_packages_folder(recipe)}/{name}" for name in _folders(recipe))
    # releases of torch before 2.0 bring CUDA's libraries within
    return [f"RUN mkdir -p {_LAYERS} {folders} \\", f"    && mv {folders} {_LAYERS}/"]


def _copied_layers(recipe: ImageRecipe) -> list[str]:
    of_cuda, of_torch = (
        [f"COPY --from=build {_LAYERS}/{name} {_packages_folder(recipe)}/{name}" for name in names]
        for names in (_folders(recipe)[:-1], _folders(recipe)[-1:])
    )
    return [*of_cuda, f"COPY --from=build {ENVIRONMENT} {ENVIRONMENT}", *of_torch]


def _run_stage(recipe: ImageRecipe) -> list[str]:
    return [
        *_from(recipe.run),
        *_packages(recipe.run.packages),
        *comment(tr("files written by the container get this user id: --build-arg UID=1000")),
        'ARG UID="1000"',
        f'RUN groupadd --non-unique --gid "${{UID}}" {USER} \\',
        f'    && useradd --non-unique --no-log-init --create-home --uid "${{UID}}" --gid {USER} {USER} \\',
        f"    && install --directory --owner {USER} --group {USER} {_WORKPLACE}",
        *_copied_layers(recipe),
        f"COPY --from=build {OWN} {OWN}",
        f'ENV PATH="{ENVIRONMENT}/bin:${{PATH}}"',
        *assignments("ENV", variables(recipe)),
        *assignments("LABEL", labels(recipe)),  # last: they change with torch
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
        f"RUN {json.dumps([*check, 'built', *expected(recipe)])}",
        *health,
        *_entry_point(recipe, check),
        f"CMD {json.dumps([*check, 'gpus'])}",
    ]


def _entry_point(recipe: ImageRecipe, check: list[str]) -> list[str]:
    """Let the driver be checked before anything runs: with CDI nobody reads NVIDIA_REQUIRE_CUDA."""
    if not recipe.driver:
        return []
    return [
        *comment(tr("refuses a driver that is too old; to go without: docker run --entrypoint COMMAND")),
        f"ENTRYPOINT {json.dumps([*check, 'start', '--driver', recipe.driver, '--'])}",
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
