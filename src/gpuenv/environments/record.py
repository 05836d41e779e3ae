"""What gpuenv keeps inside each environment: `gpuenv.json`, with its plan, machine and last verify report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpuenv.files.read_limited import read_limited_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.on_disk.places import RECORD
from gpuenv.on_disk.replace import replace_file
from gpuenv.secrets.url_credentials import redact_credentials
from gpuenv.untrusted.documents import load_json

SCHEMA_VERSION = 1
LARGEST = 64 * 1024 * 1024  # bytes; a plan with its rejections has some hundred thousand


class Record(Struct, frozen=True):
    """One environment's record; `plan`, `host` and `verify` are data of the JSON envelope.

    `created` is UTC in ISO 8601, `verified` None where verify has not run, `proof` when it ran and on what
    driver and GPUs (`verification.proof_age`), `request` what was asked for (`operations.request_digest`).
    Of a record that can't be read `problem` says why; nothing else is known then but the environment's name.
    """

    name: str
    created: str
    manager: str
    plan: dict[str, Any]
    machine: dict[str, Any] | None = None
    verify: dict[str, Any] | None = None
    verified: bool | None = None
    problem: str | None = None
    proof: dict[str, Any] | None = None
    request: str | None = None

    def package(self, name: str) -> dict[str, Any] | None:
        """Return what the plan says of a package."""
        packages = self.plan.get("packages")
        for package in packages if isinstance(packages, list) else ():
            if isinstance(package, dict) and package.get("name") == name:
                return package
        return None

    def planned(self, field: str) -> str | None:
        """Return a text of the plan, such as `variant` or `python`."""
        value = self.plan.get(field)
        return value if isinstance(value, str) else None


def render_record(record: Record) -> str:
    """Render the record as the text of gpuenv.json, without the passwords in index addresses."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "name": record.name,
        "created": record.created,
        "manager": record.manager,
        "state": "complete",
        "verified": record.verified,
        "verify": record.verify,
        "proof": record.proof,
        "machine": record.machine,
        "plan": record.plan,
        "request": record.request,
    }
    # ASCII: paths may hold bytes that are no UTF-8
    return redact_credentials(json.dumps(document, indent=1)) + "\n"


def parse_record(text: str) -> Record:
    """Parse the text of a gpuenv.json; raise ValueError for any other version.

    {"schema_version": 1, "name": "paper", "created": "2026-11-20T10:00:00+00:00", "manager": "uv",
     "state": "complete", "verified": true, "verify": {...}, "machine": {...}, "plan": {...}}
    """
    document = load_json(text)
    if not isinstance(document, dict):
        raise ValueError(tr("the record is not a JSON object"))
    if document.get("schema_version") != SCHEMA_VERSION or document.get("state") != "complete":
        raise ValueError(tr("the record is not of version {version}", version=SCHEMA_VERSION))
    verified, request = document.get("verified"), document.get("request")
    if verified is not None and not isinstance(verified, bool):
        raise ValueError(tr("`verified` of the record is not true, false or null"))
    return Record(
        name=_field(document, "name", str),
        created=_field(document, "created", str),
        manager=_field(document, "manager", str),
        plan=_field(document, "plan", dict),
        machine=_optional(document, "machine"),
        verify=_optional(document, "verify"),
        verified=verified,
        proof=_optional(document, "proof"),
        request=request if isinstance(request, str) else None,
    )


def _field(document: dict[str, Any], name: str, kind: type) -> Any:
    if not isinstance(document.get(name), kind):
        raise ValueError(tr("`{name}` of the record is missing or of the wrong kind", name=name))
    return document[name]


def _optional(document: dict[str, Any], name: str) -> dict[str, Any] | None:
    return None if document.get(name) is None else _field(document, name, dict)


def read_record(environment: Path) -> Record | None:
    """Return the record inside an environment, None without one; for a damaged one its problem."""
    file = environment / RECORD
    try:
        if file.stat().st_size > LARGEST:
            return _damaged(environment, tr("the record is larger than any that gpuenv writes"))
        return parse_record(read_limited_text(file))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        return _damaged(environment, reason_of(error))


def _damaged(environment: Path, problem: str) -> Record | None:
    """Return what is left to say of an environment; a file of that name elsewhere is something else's."""
    try:
        is_one = (environment / "pyvenv.cfg").is_file() or (environment / "conda-meta").is_dir()
    except PermissionError:  # before Python 3.14; what may not be entered may be one
        is_one = True
    if not is_one:
        return None
    return Record(environment.name, "", "", {}, problem=problem)


def write_record(environment: Path, record: Record) -> None:
    """Write gpuenv.json; after a crash it is the old one or the new one, whole."""
    replace_file(environment / RECORD, render_record(record))
