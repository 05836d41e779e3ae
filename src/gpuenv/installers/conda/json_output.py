"""Find the JSON in the output of conda tools."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

from gpuenv.i18n.messages import tr

_STARTS = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_MOST_STARTS = 50  # lines that begin like a document


def last_document(text: str) -> dict[str, Any]:
    r"""Return the last JSON object of a tool's output; raise ValueError without one.

    Conda before 26.7 prints several documents with NULs between them; micromamba prints pip's lines first:

        {"fetch": "pytorch", "maxval": 1, "progress": 0.5}\0{"success": true, "actions": {}}

        Collecting fake
        {
            "success": true
        }
    """
    last = next((part for part in reversed(text.split("\0")) if part.strip()), "")
    for start in islice(_STARTS.finditer(last), _MOST_STARTS):
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
    """Return a list of texts, empty for null (micromamba 1.5); raise ValueError."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(tr("`{value}` is not a list of texts", value=str(value)[:80]))
    return tuple(value)
