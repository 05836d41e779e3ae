"""`gpuenv doctor`: read an environment, prove it, judge it; findings as JSON, to be judged elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from gpuenv import matrices
from gpuenv.checks.diagnosis import Diagnosis, diagnose
from gpuenv.doctor.read_findings import proof_of, read_findings
from gpuenv.files.private import write_private
from gpuenv.files.read_text import read_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import series, tr
from gpuenv.model.errors import UsageError
from gpuenv.model.findings import Findings
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import parse_machine, render_machine
from gpuenv.operations.verify import VerifyOptions, find_by_name, only_environment, verify
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.secrets.url_credentials import redact_credentials
from gpuenv.untrusted.documents import load_json
from gpuenv.verification.locate import LocatedPython, locate
from gpuenv.verification.owner import other_owner
from gpuenv.verification.run import TIMEOUT_S

SCHEMA = 1
T = TypeVar("T")


class DoctorOptions(Struct, frozen=True):
    """How to look: with verify's child (which imports torch) or without, and its limit in seconds.

    `trust`: the Python of an environment that another user owns may be run.
    """

    verify: bool = True
    timeout_s: float = TIMEOUT_S
    trust: bool = False


class Examination(Struct, frozen=True):
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


def render_findings(findings: Findings) -> dict[str, Any]:
    """Return findings as a JSON document."""
    names = [name for name in findings.__struct_fields__ if name != "machine"]
    rendered = {name: _rendered(getattr(findings, name)) for name in names}
    return {"schema": SCHEMA, "machine": render_machine(findings.machine), **rendered}


def _rendered(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_rendered(item) for item in value]
    return to_builtins(value) if isinstance(value, Struct) else value


def parse_findings(document: object) -> Findings:
    """Parse what `render_findings` made; raise ValueError for anything else."""
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(tr("these are not findings of version {version}", version=SCHEMA))
    facts = {name: value for name, value in document.items() if name != "schema"}
    return _parse_object(facts, Findings, "findings")


def _parse_object(answer: object, kind: type[T], where: str) -> T:
    if not isinstance(answer, dict):
        raise ValueError(tr("`{where}` is not an object", where=where))
    types = get_type_hints(kind)
    unknown = answer.keys() - types.keys()
    if unknown:
        named = series(sorted(map(str, unknown)))
        raise ValueError(tr("`{where}` has unknown fields: {unknown}", where=where, unknown=named))
    values = {name: _parse(value, types[name], f"{where}.{name}") for name, value in answer.items()}
    try:
        return kind(**values)
    except TypeError as error:  # a field without a default is missing
        raise ValueError(f"`{where}`: {error}") from None


def _parse(value: Any, kind: Any, where: str) -> Any:
    if kind is Machine:
        return parse_machine(value)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = [item for item in inner if item is not type(None)]
        return None if value is None else _parse(value, kinds[0], where)
    if origin is tuple:
        return _parse_tuple(value, inner, where)
    if kind in (str, int, bool):
        if type(value) is not kind:
            raise ValueError(tr("`{where}` is not a {name}", where=where, name=kind.__name__))
        return value
    return _parse_object(value, kind, where)


def _parse_tuple(value: Any, inner: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError(tr("`{where}` is not a list", where=where))
    if inner[-1] is Ellipsis:
        return tuple(_parse(item, inner[0], where) for item in value)
    if len(value) != len(inner):
        facts = {"where": where, "count": len(value), "wanted": len(inner)}
        raise ValueError(tr("`{where}` has {count} items, not {wanted}", **facts))
    return tuple(_parse(item, entry, where) for item, entry in zip(value, inner, strict=True))
