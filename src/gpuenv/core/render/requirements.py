"""Format `requirements.txt`: for `pip install -r` and `uv pip install -r`."""

from __future__ import annotations

from gpuenv.core.render.text import summary
from gpuenv.values.plan import Plan


def render_requirements(plan: Plan) -> str:
    """Return a requirements file: where from, the pinned torch stack, the user's others, the workarounds."""
    sources = plan.sources
    options = ["--no-index"] if sources.no_index else []
    if sources.index_url and not sources.no_index:
        options.append(f"--index-url {sources.index_url}")
    options += [f"--extra-index-url {url}" for url in sources.extra_index_urls if not sources.no_index]
    options += [f"--find-links {place}" for place in sources.find_links]
    lines = [f"# {line}" for line in summary(plan)]
    return "\n".join([*lines, *options, *plan.pins, *plan.requirements, *plan.constraints]) + "\n"
