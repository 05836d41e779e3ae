"""The options that several commands share; each has an environment variable."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpuenv.cli import output
from gpuenv.cli.choices import ShellName
from gpuenv.cli.completion import complete_environment, complete_mirror
from gpuenv.cli.declaration import Language, argument, option

if TYPE_CHECKING:
    from gpuenv.model.errors import GpuenvError
    from gpuenv.model.plan import PlanWarning

Requirements = Annotated[
    list[str] | None,
    argument("[REQ]...", "PEP 508 requirements; default: torch, with torchvision and numpy if available."),
]
RequirementFiles = Annotated[
    list[Path] | None, option("-r --requirement FILE", "Also read requirements from FILE; repeatable.")
]
EnvironmentFile = Annotated[Path | None, option("-f --file FILE", "Also read an environment.yml.")]
Python = Annotated[
    str | None, option("--python VERSION", "A Python version or specifier, such as 3.11 or '>=3.10,<3.13'.")
]
Cuda = Annotated[
    str,
    option(
        "--cuda VARIANT", "12.6, cu126, cpu or auto; auto never means CPU on a machine with an NVIDIA GPU."
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
LabFile = Annotated[
    Path | None,
    option("--from FILE", "A lab.toml with environments; the command line overrides it."),
]
Force = Annotated[bool, option("--force", "Replace an existing environment; it is restored if this fails.")]
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


@dataclass(frozen=True, slots=True)
class Console:
    """How a command prints, by the options that every command has."""

    as_json: Annotated[bool, option("--json", "Print JSON.")] = False
    lang: Language = "auto"
    quiet: Annotated[bool, option("-q --quiet", "Reduce output.")] = False
    verbose: Annotated[bool, option("-v --verbose", "Show the reasons as well.")] = False

    @property
    def is_chatty(self) -> bool:
        """Whether text is printed that is not the command's result."""
        return not self.as_json and not self.quiet

    @property
    def shows_installers(self) -> bool:
        """Whether what installers print is shown: on stderr, so with --json on a terminal alone."""
        return not self.quiet and not (self.as_json and not sys.stderr.isatty())

    def print_json(
        self,
        command: str,
        data: Any,
        warnings: tuple[PlanWarning, ...] = (),
        error: GpuenvError | None = None,
    ) -> int:
        """Print the JSON document of a command; return its exit status."""
        facts = output.error_data(error) if error else None
        output.print_json(output.envelope(command, data, warnings=warnings, error=facts))
        return error.exit_code if error else 0

    def print_result(
        self, command: str, data: Any, text: str | None, warnings: tuple[PlanWarning, ...] = ()
    ) -> int:
        """Print data with --json, else the warnings and the text that it is for people; return 0."""
        if self.as_json:
            return self.print_json(command, data, warnings)
        self.warn(warnings)
        if text is not None:
            output.print_data(text)
        return 0

    def warn(self, warnings: tuple[PlanWarning, ...]) -> None:
        """Print warnings, a line each, unless quiet."""
        if not self.quiet:
            output.print_warnings(warnings)

    def note(self, text: str) -> None:
        """Print a message to stderr, unless quiet."""
        if not self.quiet:
            output.note(text)

    def print_proof(self, lines: tuple[str, ...]) -> None:
        """Print what a verification found."""
        if self.is_chatty:
            output.print_data("\n".join(lines))

    @contextmanager
    def working(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show on a terminal that something is in progress; what is yielded changes the text."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda _: None
            return
        from gpuenv.cli.progress import display  # noqa: PLC0415 - only where it draws

        with display(quiet=False) as shown:
            shown.draw("spinner", text)
            yield lambda text: shown.move(description=text)
