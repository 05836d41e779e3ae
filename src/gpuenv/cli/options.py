"""The options that several commands share; each has an environment variable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gpuenv.cli.choices import LanguageName, ShellName
from gpuenv.cli.completion import complete_environment, complete_mirror
from gpuenv.cli.declaration import Language, argument, option

Requirements = Annotated[
    list[str] | None,
    argument(
        "[REQ]...", "PEP 508 requirements; without any: torch, with torchvision and numpy if available."
    ),
]
RequirementFiles = Annotated[
    list[Path] | None, option("-r --requirement FILE", "Read requirements from FILE as well; repeatable.")
]
EnvironmentFile = Annotated[Path | None, option("-f --file FILE", "Read an environment.yml as well.")]
Python = Annotated[
    str | None, option("--python VERSION", "A Python version or specifier, such as 3.11 or '>=3.10,<3.13'.")
]
Cuda = Annotated[
    str,
    option("--cuda VARIANT", "12.6, cu126, cpu or auto; auto never means CPU where there is an NVIDIA GPU."),
]
Devices = Annotated[list[int] | None, option("--device N", "Only this GPU counts; repeatable.")]
Mirrors = Annotated[
    list[str] | None,
    option(
        "--mirror NAME|URL",
        "Where from: a mirror's name (`gpuenv mirrors list`), an address, auto or official; "
        "repeatable, in order.",
        autocompletion=complete_mirror,
    ),
]
FindLinks = Annotated[
    list[str] | None, option("--find-links DIR|URL", "A wheelhouse to look into as well; repeatable.")
]
Offline = Annotated[bool, option("--offline", "Decide from the matrices, caches and wheelhouses only.")]
Trust = Annotated[bool, option("--trust", "Run the Python of an environment that another user owns.")]
OnlyBinary = Annotated[bool, option("--only-binary", "Build nothing: take only packages that have wheels.")]
Verify = Annotated[bool, option("--verify/--no-verify", "Prove the result on every GPU.")]
LabFile = Annotated[
    Path | None,
    option("--from FILE", "A lab.toml with environments; what is typed goes before what it says."),
]
Force = Annotated[bool, option("--force", "Replace an existing environment; it comes back if this fails.")]
Compile = Annotated[bool, option("--compile", "Try torch.compile as well.")]
Nccl = Annotated[bool, option("--nccl", "Try NCCL between the GPUs as well.")]
Yes = Annotated[bool, option("-y --yes", "Ask nothing.")]
EnvironmentName = Annotated[str, argument("NAME", autocompletion=complete_environment)]
Shell = Annotated[ShellName | None, option("--shell", "The shell; left out: the one this is typed into.")]
Environment = Annotated[
    str | None,
    argument(
        "[ENV]",
        "A name, a path to an environment or to a Python; left out: the active environment, else "
        "gpuenv's only one, else the python on PATH.",
        autocompletion=complete_environment,
    ),
]


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command has."""

    as_json: Annotated[bool, option("--json", "Print JSON.")] = False
    lang: Language = LanguageName.auto
    quiet: Annotated[bool, option("-q --quiet", "Say less.")] = False
    verbose: Annotated[bool, option("-v --verbose", "Give the reasons as well.")] = False
