"""What an environment was asked for, as a digest: two commands with the same one ask for the same."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from gpuenv.files.read_limited import read_limited
from gpuenv.planning.options import PlanOptions
from gpuenv.secrets.url_credentials import redact_credentials

_LARGEST = 64 << 20  # bytes


def request_digest(options: PlanOptions) -> str:
    """Return a digest of the requirements, the options as typed and the content of the files they name."""
    files = (*options.requirement_files, options.environment_file, options.from_lock)
    request = {
        "requirements": options.requirements,
        "options": options.as_typed,
        "files": [_content(file) for file in files if file is not None],
    }
    return sha256(redact_credentials(json.dumps(request)).encode()).hexdigest()


def _content(file: Path) -> tuple[str, str | None]:
    """Return a file's name and digest; None where it can't be read, which planning tells."""
    try:
        return str(file), sha256(read_limited(file, _LARGEST, patient=True)).hexdigest()
    except (OSError, ValueError):
        return str(file), None
