"""What axe-core, the checker of accessibility, finds wrong with a page."""

from __future__ import annotations

import json
from importlib.resources import files

from chromium import Page


def violations(page: Page) -> list[str]:
    """Return the rules that the page breaks, each with the elements that do."""
    page.evaluate((files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8") + ";0")
    read = "violations.map((one) => [one.id, ...one.nodes.slice(0, 3).map((node) => node.html)].join(' '))"
    return list(json.loads(page.evaluate(f"axe.run().then(({{violations}}) => JSON.stringify({read}))")))
