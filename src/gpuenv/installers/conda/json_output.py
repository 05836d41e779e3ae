"""The JSON that conda tools print, and what stands around it."""

from __future__ import annotations

import json
import re
from typing import Any

from gpuenv.i18n.messages import tr

_STARTS = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_TRIED = 50  # lines that begin like a document


def last_document(text: str) -> dict[str, Any]:
    r"""Return the last JSON object of what a tool printed; raise ValueError without one.

    Conda before 26.7 prints one document after the other, with NULs between them; micromamba lets pip's lines
    go before its own:

        {"fetch": "pytorch", "maxval": 1, "progress": 0.5}\0{"success": true, "actions": {}}

        Collecting fake
        {
            "success": true
        }
    """
    last = next((part for part in reversed(text.split("\0")) if part.strip()), "")
    for number, start in enumerate(_STARTS.finditer(last)):
        if number == _TRIED:
            break
        document = _whole(last[start.end() :])
        if document is not None:
            return document
    raise ValueError(tr("it printed no JSON"))


def _whole(text: str) -> dict[str, Any] | None:
    try:
        document, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    except RecursionError:
        raise ValueError(tr("the JSON document is nested too deeply")) from None
    return document if isinstance(document, dict) and not text[end:].strip() else None


def texts(value: Any) -> tuple[str, ...]:
    """Return a list of texts; null is an empty one (micromamba 1.5). Raises ValueError for anything else."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(tr("`{value}` is not a list of texts", value=str(value)[:80]))
    return tuple(value)
