"""Resolving that keeps to given releases wherever they fit, as uv does with what it wrote before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from gpuenv.files.private import write_private
from gpuenv.files.read_limited import read_limited_text
from gpuenv.i18n.messages import tr
from gpuenv.installers import uv as uv_manager
from gpuenv.installers.uv_compile import (
    LIMIT_S,
    CompileInput,
    Resolved,
    ResolvedFile,
    resolving_arguments,
    without_building,
)
from gpuenv.installers.uv_failure import Unresolvable, parse_failure
from gpuenv.process import subprocesses as process
from gpuenv.process.guardian import temporary_folder


def compile_preferring(
    question: CompileInput, preferred: tuple[str, ...], environ: Mapping[str, str], *, uv: str | None = None
) -> Resolved | Unresolvable:
    """Resolve the requirements, taking each of the releases `preferred` (`numpy==1.19.5`) that fits.

    The files told have a name and a version alone. Raises what `compile_requirements` raises.
    """
    return without_building(
        question, environ, lambda compile_input, environ: _compile(compile_input, preferred, environ, uv)
    )


def _compile(
    question: CompileInput, preferred: tuple[str, ...], environ: Mapping[str, str], uv: str | None
) -> Resolved | Unresolvable:
    requested = "\n".join((*question.pins, *question.requirements, *question.constraints)) + "\n"
    with temporary_folder("gpuenv-") as folder:
        # uv keeps to the releases in the file that it is to write
        before = Path(folder, "requirements.txt")
        write_private(before, "\n".join(preferred) + "\n")
        answer = process.run(
            (
                uv or uv_manager.find(),
                *("pip", "compile", "-", "--output-file", str(before)),
                *resolving_arguments(question),
            ),
            timeout_s=LIMIT_S,
            environ=uv_manager.environment(environ, question.sources),
            stdin=requested,
        )
        text = read_limited_text(before)
    if answer.ok:
        return Resolved(parse_pins(text))
    return parse_failure(answer.stderr or answer.error or tr("uv timed out"))


def parse_pins(text: str) -> tuple[ResolvedFile, ...]:
    r"""Parse the requirements that uv writes, whatever is no pin passed over.

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
