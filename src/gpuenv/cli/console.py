"""How a command prints, by the options that every command has; `cli.options` declares them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gpuenv.cli import output
from gpuenv.i18n.messages import tr
from gpuenv.tracing.drawing import draws

if TYPE_CHECKING:
    from gpuenv.cli.color import Style
    from gpuenv.model.errors import GpuenvError
    from gpuenv.model.plan import PlanWarning
    from gpuenv.on_disk.places import EnvironmentPaths
    from gpuenv.operations.verify import VerifyResult


class Console(Struct, frozen=True):
    """How a command prints; two fields count how often `-q` and `-v` are given."""

    as_json: bool = False
    quietness: int = 0
    verbosity: int = 0

    @property
    def quiet(self) -> bool:
        """Whether only the result is printed, and errors."""
        return self.quietness > 0

    @property
    def verbose(self) -> bool:
        """Whether reasons and sources are printed as well."""
        return self.verbosity > 0

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

    def note(self, text: str, style: Style | None = None) -> None:
        """Print a message to stderr, unless quiet."""
        if not self.quiet:
            output.note(text, style)

    def detail(self, text: str) -> None:
        """Print a message to stderr with -v, unless quiet."""
        if self.verbose:
            self.note(text)

    def print_proof(self, lines: tuple[str, ...]) -> None:
        """Print what a verification found."""
        if self.is_chatty:
            output.print_data("\n".join(lines))

    def write_result(
        self,
        command: str,
        data: Any,
        text: str,
        file: Path | None,
        warnings: tuple[PlanWarning, ...],
        *,
        is_prose: bool = False,
    ) -> int:
        """Write a text to a file, else to stdout, where prose fits the terminal; --json prints the data."""
        if file is not None:
            from gpuenv.files.write_output import write_file  # noqa: PLC0415 - few commands write

            write_file(file, text)
        if self.as_json:
            return self.print_json(command, data, warnings)
        self.warn(warnings)
        if file is None:
            (output.print_data if is_prose else output.print_file)(text)
        else:
            self.note(tr("wrote {file}", file=file))
        return 0

    def print_created(
        self, command: str, environment: EnvironmentPaths, data: dict[str, Any], proof: VerifyResult | None
    ) -> int:
        """Print a new environment and its verification; raise VerificationFailed if that failed."""
        if proof is not None:
            self.print_proof(proof.lines)
        if proof is not None and proof.error is not None:
            kept = tr("{path} is kept, recorded as not verified", path=environment.path)
            raise output.with_outcome(proof.error, kept, data)
        name = shlex.quote(environment.name)
        created = tr("created {path}: `gpuenv run {name} -- python`", path=environment.path, name=name)
        warnings = proof.warnings if proof else ()
        return self.print_result(command, data, None if self.quiet else created, warnings)

    @contextmanager
    def working(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show on a terminal that something is in progress; what is yielded changes the text."""
        if self.quiet or not draws():
            yield lambda _: None
            return
        from gpuenv.cli.progress import display  # noqa: PLC0415 - only where it draws

        with display(quiet=False) as shown:
            shown.draw("spinner", text)
            yield lambda text: shown.move(description=text)
