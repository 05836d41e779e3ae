"""What a plan says of the conda tool that makes its environment, as far as it is known without running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gpuenv.installers.conda.tool import TOOLS, Calling, known_version, tool_versions
from gpuenv.installers.conda.tool_info import nodefaults_is_safe, warnings_for
from gpuenv.model.plan import Plan
from gpuenv.process.surroundings import cache_root


def with_known_tool(plan: Plan, environ: Mapping[str, str], root: Path = Path("/")) -> Plan:
    """Return the plan with warnings of its tool's flaws, and whether that one knows `nodefaults`."""
    if plan.conda is None or plan.manager not in TOOLS:
        return plan
    tool, known = plan.manager, tool_versions()
    version = known_version(tool, Calling(environ, cache_root(environ)), root)
    warnings = warnings_for(tool, version, known) if version else ()
    part = replace(plan.conda, nodefaults=nodefaults_is_safe(tool, version, known))
    return replace(plan, conda=part, warnings=(*plan.warnings, *warnings))
