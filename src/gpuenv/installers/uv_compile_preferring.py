"""Resolve with preferred releases, as uv does with those in its output file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from gpuenv.files.private import write_private
from gpuenv.files.read_limited import read_limited_text
from gpuenv.installers.uv_compile import (
    CompileInput,
    Resolved,
    ResolvedFile,
    resolving_arguments,
    run_resolver,
    without_building,
)
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.process.guardian import temporary_folder


def compile_preferring(
    question: CompileInput, preferred: tuple[str, ...], environ: Mapping[str, str], *, uv: str | None = None
) -> Resolved | Unresolvable:
    """Resolve with the releases `preferred` (`numpy==1.19.5`) that fit, to names and versions alone."""

    def compile_one(query: CompileInput, environ: Mapping[str, str]) -> Resolved | Unresolvable:
        with temporary_folder("gpuenv-") as folder:
            # uv prefers the releases in its output file
            output = Path(folder, "requirements.txt")
            write_private(output, "\n".join(preferred) + "\n")
            arguments = ("pip", "compile", "-", "--output-file", str(output), *resolving_arguments(query))
            variables = {**environ, **query.variables}
            done = run_resolver(arguments, query.sources, query.lines, variables, uv=uv)
            return done if isinstance(done, Unresolvable) else Resolved(parse_pins(read_limited_text(output)))

    return without_building(question, environ, compile_one)


def parse_pins(text: str) -> tuple[ResolvedFile, ...]:
    r"""Parse the pins that uv writes; all other lines are ignored.

    numpy==1.26.4
    clip @ https://example.com/clip-1.0-py3-none-any.whl
    """
    return tuple(file for line in text.splitlines() if (file := _parse_pin(line)) is not None)


def _parse_pin(line: str) -> ResolvedFile | None:
    try:
        requirement = Requirement(line.partition(" #")[0].strip().removesuffix("\\"))
    except InvalidRequirement:
        return None
    version = next((item.version for item in requirement.specifier), None)
    if version is None:
        return None
    return ResolvedFile(requirement.name, version, None, None, None, None, None)
