"""The options that several commands share; each has an environment variable."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:  # `detect` starts without what only the commands of mirrors need
    from gpuenv.model.mirror import Tool


class ManagerName(str, Enum):
    """Who installs."""

    auto = "auto"
    uv = "uv"
    pip = "pip"
    conda = "conda"
    mamba = "mamba"
    micromamba = "micromamba"
    rattler = "rattler"


class ChannelName(str, Enum):
    """Where torch itself comes from when the manager is a conda tool."""

    auto = "auto"
    wheels = "wheels"
    forge = "conda-forge"
    pytorch = "pytorch"


class PlatformName(str, Enum):
    """Platforms that CUDA builds of torch are published for."""

    linux_64 = "linux-64"
    linux_aarch64 = "linux-aarch64"
    win_64 = "win-64"


class FormatName(str, Enum):
    """Formats of a plan."""

    text = "text"
    json = "json"
    environment = "environment.yml"
    requirements = "requirements.txt"
    pylock = "pylock.toml"
    pyproject = "pyproject"
    pixi = "pixi.toml"
    dockerfile = "dockerfile"
    devcontainer = "devcontainer"
    bootstrap = "bootstrap"
    ansible = "ansible"
    slurm = "slurm"
    pip = "pip"
    uv = "uv"


class ConfiguredTool(str, Enum):
    """Tools whose configuration names mirrors."""

    pip = "pip"
    uv = "uv"
    conda = "conda"
    mamba = "mamba"


class ScopeName(str, Enum):
    """Whose configuration."""

    user = "user"
    environment = "environment"
    site = "site"


class ShellName(str, Enum):
    """Shells that an environment can be activated in."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"
    sh = "sh"
    dash = "dash"
    ash = "ash"
    ksh = "ksh"
    powershell = "powershell"
    pwsh = "pwsh"
    cmd = "cmd"
    csh = "csh"
    tcsh = "tcsh"
    nu = "nu"
    xonsh = "xonsh"


class LanguageName(str, Enum):
    """Languages of the texts."""

    auto = "auto"
    en = "en"
    zh = "zh"


def complete_environment(incomplete: str) -> Iterable[str]:
    """Offer the names of the environments that gpuenv made."""
    import os  # noqa: PLC0415 - only while completing

    from gpuenv.model.errors import GpuenvError  # noqa: PLC0415
    from gpuenv.operations.manage import list_all  # noqa: PLC0415

    try:
        return [name for item in list_all(os.environ) if (name := item.place.name).startswith(incomplete)]
    except (GpuenvError, OSError):  # nobody wants to read of it in the middle of a command line
        return []


def configured_tools(named: list[ConfiguredTool] | None) -> tuple[Tool, ...]:
    """Return the tools whose files are meant, each once; mamba reads conda's."""
    same: dict[str, Tool] = {"pip": "pip", "uv": "uv", "conda": "conda", "mamba": "conda"}
    return tuple(dict.fromkeys(same[one.value] for one in named or ()))


def complete_mirror(incomplete: str) -> Iterable[str]:
    """Offer the names of the mirrors."""
    import os  # noqa: PLC0415 - only while completing

    from gpuenv.indexes.mirrors.load import load_mirrors  # noqa: PLC0415
    from gpuenv.model.errors import GpuenvError  # noqa: PLC0415

    try:
        mirrors = load_mirrors(os.environ).all
    except (GpuenvError, OSError):
        return []
    return [name for mirror in mirrors if (name := mirror.name).startswith(incomplete.lower())]


Requirements = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[REQ]...",
        help="PEP 508 requirements; without any: torch, with torchvision and numpy if available.",
        show_default=False,
    ),
]
RequirementFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "-r",
        "--requirement",
        metavar="FILE",
        envvar="GPUENV_REQUIREMENT",
        help="Read requirements from FILE as well; repeatable.",
    ),
]
EnvironmentFile = Annotated[
    Path | None,
    typer.Option(
        "-f",
        "--file",
        metavar="FILE",
        envvar="GPUENV_FILE",
        help="Read an environment.yml as well.",
    ),
]
Python = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="VERSION",
        envvar="GPUENV_PYTHON",
        help="A Python version or specifier, such as 3.11 or '>=3.10,<3.13'.",
    ),
]
Cuda = Annotated[
    str,
    typer.Option(
        "--cuda",
        metavar="VARIANT",
        envvar="GPUENV_CUDA",
        help="12.6, cu126, cpu or auto; auto never means CPU where there is an NVIDIA GPU.",
    ),
]
Machines = Annotated[
    list[Path] | None,
    typer.Option(
        "--machine",
        metavar="FILE",
        envvar="GPUENV_MACHINE",
        help="Plan for a saved `gpuenv detect --json`; several: one plan for all, or the fewest.",
    ),
]
MachineFolder = Annotated[
    Path | None,
    typer.Option(
        "--machines",
        metavar="DIR",
        envvar="GPUENV_MACHINES",
        help="Plan for all saved machines (*.json) in DIR: one environment, or the fewest.",
    ),
]
Driver = Annotated[
    str | None,
    typer.Option(
        "--driver",
        metavar="VERSION",
        envvar="GPUENV_DRIVER",
        help="Describe the machine: its NVIDIA driver, such as 535.104.05.",
    ),
]
GpuNames = Annotated[
    list[str] | None,
    typer.Option(
        "--gpu",
        metavar="NAME|CC",
        help="Describe the machine: a GPU by name or compute capability (8.6); repeatable. "
        "[env var: GPUENV_GPU, separated by commas]",
    ),
]
PlatformOption = Annotated[
    PlatformName | None,
    typer.Option("--platform", envvar="GPUENV_PLATFORM", help="Describe the machine: its platform."),
]
Glibc = Annotated[
    str | None,
    typer.Option(
        "--glibc",
        metavar="VERSION",
        envvar="GPUENV_GLIBC",
        help="Describe the machine: its glibc, such as 2.17.",
    ),
]
Devices = Annotated[
    list[int] | None,
    typer.Option("--device", metavar="N", envvar="GPUENV_DEVICE", help="Only this GPU counts; repeatable."),
]
Manager = Annotated[
    ManagerName,
    typer.Option(
        "--manager",
        envvar="GPUENV_MANAGER",
        help="Who installs; auto is a conda tool where there is one, else uv.",
    ),
]
Channel = Annotated[
    ChannelName,
    typer.Option(
        "--channel",
        envvar="GPUENV_CHANNEL",
        help="Where torch itself comes from when a conda tool installs; auto is wheels, or conda-forge where "
        "--mirror names none that carries wheels.",
    ),
]
Mirrors = Annotated[
    list[str] | None,
    typer.Option(
        "--mirror",
        metavar="NAME|URL",
        envvar="GPUENV_MIRROR",
        autocompletion=complete_mirror,
        help="Where from: a mirror's name (`gpuenv mirrors list`), an address, auto or official; "
        "repeatable, in order.",
    ),
]
FindLinks = Annotated[
    list[str] | None,
    typer.Option(
        "--find-links",
        metavar="DIR|URL",
        envvar="GPUENV_FIND_LINKS",
        help="A wheelhouse to look into as well; repeatable.",
    ),
]
Offline = Annotated[
    bool,
    typer.Option(
        "--offline", envvar="GPUENV_OFFLINE", help="Decide from the matrices, caches and wheelhouses only."
    ),
]
FetchHashes = Annotated[
    bool,
    typer.Option(
        "--fetch-hashes",
        envvar="GPUENV_FETCH_HASHES",
        help="Where a format needs a hash that no page states: download the file and compute it.",
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust", envvar="GPUENV_TRUST", help="Run the Python of an environment that another user owns."
    ),
]
OnlyBinary = Annotated[
    bool,
    typer.Option(
        "--only-binary",
        envvar="GPUENV_ONLY_BINARY",
        help="Build nothing: take only packages that have wheels.",
    ),
]
Json = Annotated[bool, typer.Option("--json", envvar="GPUENV_JSON", help="Print JSON.")]
Language = Annotated[
    LanguageName,
    typer.Option("--lang", envvar="GPUENV_LANG", help="The language of the texts; auto is the locale's."),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", envvar="GPUENV_QUIET", help="Say less.")]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", envvar="GPUENV_VERBOSE", help="Give the reasons as well.")
]
Verify = Annotated[
    bool,
    typer.Option("--verify/--no-verify", envvar="GPUENV_VERIFY", help="Prove the result on every GPU."),
]
LabFile = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        envvar="GPUENV_FROM",
        help="A lab.toml with environments; what is typed goes before what it says.",
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        envvar="GPUENV_FORCE",
        help="Replace an existing environment; it comes back if this fails.",
    ),
]
Compile = Annotated[
    bool, typer.Option("--compile", envvar="GPUENV_COMPILE", help="Try torch.compile as well.")
]
Nccl = Annotated[
    bool, typer.Option("--nccl", envvar="GPUENV_NCCL", help="Try NCCL between the GPUs as well.")
]
Yes = Annotated[bool, typer.Option("-y", "--yes", envvar="GPUENV_YES", help="Ask nothing.")]
EnvironmentName = Annotated[str, typer.Argument(metavar="NAME", autocompletion=complete_environment)]
Shell = Annotated[
    ShellName | None,
    typer.Option("--shell", envvar="GPUENV_SHELL", help="The shell; left out: the one this is typed into."),
]
Environment = Annotated[
    str | None,
    typer.Argument(
        metavar="[ENV]",
        help="A name, a path to an environment or to a Python; left out: the active environment, else "
        "gpuenv's only one, else the python on PATH.",
        show_default=False,
        autocompletion=complete_environment,
    ),
]


@dataclass(frozen=True, slots=True)
class PlanArguments:
    """The options that `plan`, `create` and their kin share."""

    requirements: Requirements = None
    requirement_files: RequirementFiles = None
    environment_file: EnvironmentFile = None
    python: Python = None
    cuda: Cuda = "auto"
    machines: Machines = None
    machine_folder: MachineFolder = None
    driver: Driver = None
    gpus: GpuNames = None
    platform: PlatformOption = None
    glibc: Glibc = None
    devices: Devices = None
    manager: Manager = ManagerName.auto
    channel: Channel = ChannelName.auto
    mirrors: Mirrors = None
    find_links: FindLinks = None
    offline: Offline = False
    fetch_hashes: FetchHashes = False
    only_binary: OnlyBinary = False


@dataclass(frozen=True, slots=True)
class CreateArguments:
    """The options that only `create` has."""

    from_lock: Annotated[
        Path | None,
        typer.Option(
            "--from-lock",
            metavar="FILE",
            envvar="GPUENV_FROM_LOCK",
            help="Install the very files of a pylock.toml, if its torch works on this machine.",
        ),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", envvar="GPUENV_DRY_RUN", help="Stop after the plan.")
    ] = False
    yes: Yes = False
    verify: Verify = True
    force: Force = False


@dataclass(frozen=True, slots=True)
class AdaptArguments:
    """The options that take what was left, and change it as little as need be."""

    adapt: Annotated[
        bool,
        typer.Option(
            "--adapt",
            envvar="GPUENV_ADAPT",
            help="Take what a paper left (-r, -f, or a path: pyproject.toml, setup.py, a folder) and find "
            "the nearest set that works here, as a patch of that very file.",
        ),
    ] = False
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            envvar="GPUENV_ADAPT_WRITE",
            help="With --adapt: change the files; what they held is kept beside.",
        ),
    ] = False
    exclude_newer: Annotated[
        str | None,
        typer.Option(
            "--exclude-newer",
            metavar="DATE|git",
            envvar="GPUENV_EXCLUDE_NEWER",
            help="With --adapt: the other packages as of a day (2021-06-30), or of the last commit (git).",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class DoctorArguments:
    """The options that only `doctor` has, but where from a repair may take packages."""

    python: Annotated[
        Path | None,
        typer.Option(
            "--python", metavar="PATH", envvar="GPUENV_DOCTOR_PYTHON", help="The Python to look at."
        ),
    ] = None
    fix: Annotated[
        bool, typer.Option("--fix", envvar="GPUENV_FIX", help="Show the repair, and make it after a yes.")
    ] = False
    yes: Yes = False
    verify: Annotated[
        bool,
        typer.Option("--verify/--no-verify", envvar="GPUENV_VERIFY", help="Put torch to work as well."),
    ] = True
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", envvar="GPUENV_SAVE", help="Write what was read to FILE."),
    ] = None
    trust: Trust = False
    findings: Annotated[
        Path | None,
        typer.Option(
            "--findings", metavar="FILE", envvar="GPUENV_FINDINGS", help="Judge what --save wrote elsewhere."
        ),
    ] = None
    mirrors: Mirrors = None
    find_links: FindLinks = None
    offline: Offline = False
    only_binary: OnlyBinary = False


@dataclass(frozen=True, slots=True)
class ChangeArguments:
    """The options of the commands that change an environment."""

    torch: Annotated[
        bool,
        typer.Option(
            "--torch", envvar="GPUENV_TORCH", help="Torch may change as well; --yes alone is not enough."
        ),
    ] = False
    mirrors: Mirrors = None
    find_links: FindLinks = None
    offline: Offline = False
    only_binary: OnlyBinary = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", envvar="GPUENV_DRY_RUN", help="Only show what would change.")
    ] = False
    yes: Yes = False
    verify: Verify = True


@dataclass(frozen=True, slots=True)
class KernelArguments:
    """The options that only `kernel` has, and where from it may take ipykernel."""

    remove: Annotated[
        bool, typer.Option("--remove", envvar="GPUENV_KERNEL_REMOVE", help="Remove the kernel again.")
    ] = False
    prefix: Annotated[
        Path | None,
        typer.Option(
            "--prefix",
            metavar="DIR",
            envvar="GPUENV_KERNEL_PREFIX",
            help="Register below DIR/share/jupyter, not with the user's own Jupyter.",
        ),
    ] = None
    mirrors: Mirrors = None
    find_links: FindLinks = None
    offline: Offline = False
    yes: Yes = False


@dataclass(frozen=True, slots=True)
class BootstrapArguments:
    """The options that only `bootstrap` has."""

    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            envvar="GPUENV_NAME",
            help="The environment that the script makes; torch if left out. Of a lab.toml: this one alone.",
        ),
    ] = None
    pin: Annotated[
        bool,
        typer.Option(
            "--pin", envvar="GPUENV_PIN", help="Decide here, once for all: the script holds a lock."
        ),
    ] = False
    version: Annotated[
        str | None,
        typer.Option(
            "--gpuenv",
            metavar="VERSION",
            envvar="GPUENV_BOOTSTRAP_GPUENV",
            help="What the gpuenv that the script carries, this one, has to be: 0.1.0, '>=0.1'.",
        ),
    ] = None
    launcher: Annotated[
        bool,
        typer.Option(
            "--launcher", envvar="GPUENV_LAUNCHER", help="The script puts gpuenv into ~/.local/bin unasked."
        ),
    ] = False
    verify: Verify = True


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command has."""

    as_json: Json = False
    lang: Language = LanguageName.auto
    quiet: Quiet = False
    verbose: Verbose = False


def check_without_adapt(asked: AdaptArguments) -> None:
    """Raise UsageError for options that mean nothing without `--adapt`."""
    options = (("--write", asked.write), ("--exclude-newer", asked.exclude_newer))
    given = next((name for name, value in options if value), None)
    if given is not None:
        from gpuenv.i18n.messages import tr  # noqa: PLC0415
        from gpuenv.model.errors import Fix, UsageError  # noqa: PLC0415 - only where it goes wrong

        raise UsageError(
            tr("{option} goes with --adapt only", option=given),
            code="usage",
            fixes=(Fix(tr("give --adapt as well, or leave it out")),),
        )


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """Let a command take a group of options as one parameter: typer sees the group's fields in its place."""
    # not get_type_hints: up to Python 3.10 it hides the options of what defaults to None
    named = inspect.signature(command, eval_str=True).parameters
    groups = {name: item.annotation for name, item in named.items() if _is_group(item.annotation)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in named.items():
        parameters += _parameters_of(groups[name]) if name in groups else [parameter]

    @functools.wraps(command)
    def spread(**given: Any) -> int:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        return command(**given)

    spread.__signature__ = inspect.Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread


def _is_group(annotation: Any) -> bool:
    return isinstance(annotation, type) and is_dataclass(annotation)


def _parameters_of(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(group)
    ]
