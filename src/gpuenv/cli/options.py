"""The options that several commands share; each has an environment variable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from gpuenv.cli.choices import PreviewName, ShellName
from gpuenv.cli.completion import complete_environment, complete_mirror, complete_python, complete_variant
from gpuenv.cli.console import Console
from gpuenv.cli.declaration import Color, Language, NoProgress, argument, level, option

Requirements = Annotated[
    list[str] | None,
    argument("[REQ]...", "PEP 508 requirements; default: torch, with torchvision and numpy if available."),
]
RequirementFiles = Annotated[
    list[Path] | None, option("-r --requirement FILE", "Also read requirements from FILE; repeatable.")
]
EnvironmentFile = Annotated[Path | None, option("-f --file FILE", "Also read an environment.yml.")]
Python = Annotated[
    str | None,
    option(
        "--python VERSION",
        "A Python version or specifier, such as 3.11 or '>=3.10,<3.13'.",
        autocompletion=complete_python,
    ),
]
Cuda = Annotated[
    str,
    option(
        "--cuda VARIANT",
        "12.6, cu126, cpu or auto; auto never means CPU on a machine with an NVIDIA GPU.",
        autocompletion=complete_variant,
    ),
]
Devices = Annotated[list[int] | None, option("--device N", "Use only this GPU; repeatable.")]
Mirrors = Annotated[
    list[str] | None,
    option(
        "--mirror NAME|URL",
        "Package source: a mirror's name (`gpuenv mirrors list`), a URL, auto or official; "
        "repeatable, in order.",
        autocompletion=complete_mirror,
    ),
]
FindLinks = Annotated[
    list[str] | None, option("--find-links DIR|URL", "Also search this wheelhouse; repeatable.")
]
Offline = Annotated[
    bool, option("--offline", "Use only the matrices, caches and wheelhouses; do not access the network.")
]
Trust = Annotated[bool, option("--trust", "Run the Python of an environment that is owned by another user.")]
OnlyBinary = Annotated[bool, option("--only-binary", "Do not build packages: use wheels only.")]
Verify = Annotated[
    bool, option("--verify/--no-verify", "Verify the environment by running real operations on every GPU.")
]
DryRun = Annotated[bool, option("--dry-run", "Only show what would be done.")]
Output = Annotated[str | None, option("-o --output FILE", "Write to FILE; - is standard output.")]
Thorough = Annotated[
    bool,
    option(
        "--thorough",
        "Read the kernels if the wheel has no list of architectures: torch before 1.6, up to 90 "
        "MB per wheel.",
    ),
]
Preview = Annotated[
    PreviewName | None,
    option("--preview", "What is only a draft as yet; variants: wheel variants, PEP 825."),
]
LabFile = Annotated[
    Path | None,
    option("--from FILE", "A lab.toml with environments; the command line overrides it."),
]
Force = Annotated[bool, option("--force", "Replace an existing environment; it is restored if this fails.")]
ReplaceForeign = Annotated[
    bool,
    option(
        "--replace-foreign",
        "With --force: also replace a conda environment that gpuenv did not create; an export is kept.",
    ),
]
Compile = Annotated[bool, option("--compile", "Also test torch.compile.")]
Nccl = Annotated[bool, option("--nccl", "Also test NCCL between the GPUs.")]
Yes = Annotated[bool, option("-y --yes", "Do not prompt.")]
EnvironmentName = Annotated[str, argument("NAME", autocompletion=complete_environment)]
Shell = Annotated[ShellName | None, option("--shell", "The shell; default: the current one.")]
Environment = Annotated[
    str | None,
    argument(
        "[ENV]",
        "A name, or the path of an environment or a Python; default: the active environment, "
        "else gpuenv's only one, else the python on PATH.",
        autocompletion=complete_environment,
    ),
]


def path_of(output: str | None) -> Path | None:
    """Return the file that `--output` names; None for stdout."""
    return None if output in (None, "-") else Path(output or "")


class CommonOptions(Console, frozen=True):
    """The options that every command has; language, colours and bars are chosen before they are parsed."""

    as_json: Annotated[bool, option("--json", "Print JSON.")] = False
    lang: Language = "auto"
    color: Color = "auto"
    quietness: Annotated[int, level("-q --quiet", "Print only the result and errors; -qq: only errors.")] = 0
    verbosity: Annotated[int, level("-v --verbose", "Show the reasons; -vv: also commands and requests.")] = 0
    no_progress: NoProgress = False
