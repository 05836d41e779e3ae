"""`gpuenv doctor`: read an environment, prove it, and say what is wrong with it, the root first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gpuenv import matrices
from gpuenv.doctor.diagnosis import Diagnosis, diagnose
from gpuenv.doctor.findings_json import parse_findings, render_findings
from gpuenv.doctor.read_findings import proof_of, read_findings
from gpuenv.files.private import write_private
from gpuenv.files.read_text import read_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import UsageError
from gpuenv.model.findings import Findings
from gpuenv.model.machine import Machine
from gpuenv.operations.verify import VerifyOptions, find_by_name, only_environment, verify
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.secrets.url_credentials import redact_credentials
from gpuenv.untrusted.documents import load_json
from gpuenv.verification.locate import LocatedPython, locate
from gpuenv.verification.owner import other_owner
from gpuenv.verification.run import TIMEOUT_S


@dataclass(frozen=True, slots=True)
class DoctorOptions:
    """How to look: with verify's child (which imports torch) or without, and its limit in seconds.

    `trust`: the Python of an environment that another user owns may be run.
    """

    verify: bool = True
    timeout_s: float = TIMEOUT_S
    trust: bool = False


@dataclass(frozen=True, slots=True)
class Examination:
    """What was read of an environment, and what is made of it.

    `other_owner` is the user whose environment it is, where only its files were read.
    """

    located: LocatedPython
    findings: Findings
    diagnosis: Diagnosis
    other_owner: str | None = None


def locate_environment(env: str | None, environ: Mapping[str, str]) -> LocatedPython:
    """Return the environment that is meant, broken or not; raise UsageError where there is none."""
    by_name = partial(find_by_name, environ=environ)
    return locate(env, environ, by_name, choose=lambda: only_environment(environ, "doctor"), broken=True)


def examine(
    env: str | None,
    environ: Mapping[str, str],
    machine: Machine,
    options: DoctorOptions,
    *,
    root: Path = Path("/"),
) -> Examination:
    """Read ENV (None: the active one) without importing torch, then with verify's child, and judge both."""
    located = locate_environment(env, environ)
    # what is active, or first on PATH, runs anyway
    owner = None if env is None or options.trust else other_owner(located)
    findings = read_findings(
        located, machine, environ, named=env is not None, root=root, files_only=owner is not None
    )
    if options.verify and owner is None and can_be_proven(findings):
        limits = VerifyOptions(timeout_s=options.timeout_s, trust=True)
        python = str(located.python)
        result = verify(python, environ, machine=machine, remember=lambda *_: None, options=limits)
        findings = replace(findings, proof=proof_of(result))
    return Examination(located, findings, judge(findings, environ), owner)


def can_be_proven(findings: Findings) -> bool:
    """Tell whether there is a torch that can be put to work, here or on the path."""
    there = findings.torch is not None or bool(findings.foreign_torch) or bool(findings.dists)
    return findings.python.problem is None and there


def judge(findings: Findings, environ: Mapping[str, str]) -> Diagnosis:
    """Return the diagnosis of findings, of this machine's or of another's."""
    return diagnose(findings, load_knowledge(environ), matrices.load("checks"))


def save_findings(findings: Findings, file: Path) -> None:
    """Write findings to a file, to be judged elsewhere; raise UsageError where that can't be done."""
    try:
        write_private(file, redact_credentials(json.dumps(render_findings(findings), indent=1)) + "\n")
    except OSError as error:
        message = tr("`{file}` cannot be written: {error}", file=file, error=reason_of(error))
        raise UsageError(message, code="output-unwritable") from None


def load_findings(file: Path) -> Findings:
    """Read findings that `doctor --save` wrote; raise UsageError for anything else."""
    try:
        return parse_findings(load_json(read_text(file)))
    except (OSError, ValueError, RecursionError) as error:
        message = tr("`{file}` does not contain valid findings: {reason}", file=file, reason=reason_of(error))
        raise UsageError(message, code="bad-findings") from None
