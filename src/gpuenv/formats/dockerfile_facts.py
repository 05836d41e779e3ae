"""What an image says of itself: labels, variables, and what its check has to find."""

from __future__ import annotations

from gpuenv.model.image import ImageRecipe

ENVIRONMENT = "/opt/venv"
OWN = "/opt/gpuenv"
REQUIREMENTS = f"{OWN}/requirements.txt"
# The driver's libraries, which the container toolkit of old puts there; not CUDA's own, which must not go
# before those that torch brings.
_LIBRARIES = "/usr/local/nvidia/lib:/usr/local/nvidia/lib64"


def title(recipe: ImageRecipe) -> str:
    """Return what the image has, in a line."""
    plan = recipe.locked.plan
    stack = [f"{package.name} {package.version}" for package in plan.packages[: len(plan.pins)]]
    cuda = [f"CUDA {recipe.cuda}"] if recipe.cuda else []
    return " · ".join([*stack, *cuda, f"Python {plan.python}"])


def labels(recipe: ImageRecipe) -> dict[str, str]:
    """Return the labels, those of OCI too; `gpuenv.packages` is the file with every package and its hash."""
    plan = recipe.locked.plan
    torch = plan.packages[0]
    facts = {
        "org.opencontainers.image.title": title(recipe),
        "org.opencontainers.image.base.name": recipe.run.reference,
        "org.opencontainers.image.base.digest": recipe.run.digest or "",
        "gpuenv.version": recipe.version,
        "gpuenv.packages": REQUIREMENTS,
        "gpuenv.torch": torch.version,
        "gpuenv.variant": plan.variant,
        "gpuenv.cuda": str(recipe.cuda or ""),
        "gpuenv.python": plan.python,
        "gpuenv.gpus": ", ".join(recipe.gpus),
        "gpuenv.driver": recipe.driver or "",
        "gpuenv.architectures": " ".join(recipe.architectures),
    }
    return {name: value for name, value in facts.items() if value}


def variables(recipe: ImageRecipe) -> dict[str, str]:
    """Return the variables, for the container toolkit as well.

    It refuses to start the container under an older driver. `driver>=` is what the plan needs; NVIDIA's own
    images ask for `cuda>=`, which keeps out drivers that run newer CUDA by minor-version compatibility.
    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """
    facts = {"VIRTUAL_ENV": ENVIRONMENT, "PYTHONUNBUFFERED": "1"}
    if recipe.cuda:
        facts["NVIDIA_VISIBLE_DEVICES"] = "all"
        facts["NVIDIA_DRIVER_CAPABILITIES"] = "compute,utility"
    if recipe.driver:
        facts["NVIDIA_REQUIRE_CUDA"] = f"driver>={recipe.driver}"
    if recipe.run.has_toolkit:
        facts["LD_LIBRARY_PATH"] = _LIBRARIES
    return facts


def expected(recipe: ImageRecipe) -> list[str]:
    """Return what the check of the image is told to find."""
    words = ["--torch", recipe.locked.plan.packages[0].version]
    if recipe.cuda:
        words += ["--cuda", str(recipe.cuda)]
    if recipe.is_for_rocm:
        words += ["--rocm"]
    words += [word for capability in recipe.capabilities for word in ("--gpu", capability)]
    return words + [word for capability in recipe.alone for word in ("--alone", capability)]
