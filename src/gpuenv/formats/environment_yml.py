"""Format `environment.yml`: for `conda env create -f`, `mamba create -f` and their kin."""

from __future__ import annotations

from io import StringIO
from typing import Any

from gpuenv.formats.fact_source import said_source
from gpuenv.formats.requirements import source_lines
from gpuenv.formats.shell import one_line
from gpuenv.formats.text import summary
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.plan import Plan
from gpuenv.resolution.conda.plan_part import wheels_beside
from gpuenv.secrets.url_credentials import without_userinfo

_WIDTH = 100_000  # no line is broken: a spec is one line to people's eyes and to grep
_FACTS = 12
_NAME = "gpuenv"
# packages in a person's own site directory would go before the environment's
_VARIABLES = {"PYTHONNOUSERSITE": "1"}


def render_environment(plan: Plan) -> str:
    """Return the file: channels by name, conda's specs in three fields at most, and the pip part.

    A comment says for which machine it was made, and by which facts. Raises UsageError for a plan without a
    conda part, and for an address that would not stay in its line.
    """
    if plan.conda is None:
        raise UsageError(
            tr("environment.yml requires a conda tool as the manager"),
            code="usage",
            fixes=(Fix(tr("choose one of them"), "gpuenv plan --manager conda --format environment.yml"),),
        )
    dependencies: list[Any] = list(plan.conda.specs)
    if wheels := wheels_beside(plan):
        dependencies.append({"pip": list(map(without_userinfo, (*source_lines(plan.sources), *wheels)))})
    document: dict[str, Any] = {
        "name": name_of(plan),
        # no `nodefaults`: to pixi and conda 26.7 it is a channel, https://conda.anaconda.org/nodefaults
        "channels": [channel.name for channel in plan.conda.channels],
        "dependencies": dependencies,
        "variables": variables_of(plan),
        **{key: value for key, value in plan.conda.kept if key not in ("name", "variables")},
    }
    return "".join(f"# {line}\n" for line in _comment(plan)) + without_userinfo(_dump(document))


def name_of(plan: Plan) -> str:
    """Return the name of the environment in the user's own file, else ours."""
    name = _kept(plan, "name")
    return name if isinstance(name, str) else _NAME


def variables_of(plan: Plan) -> dict[str, str]:
    """Return the variables that the environment sets, as texts: pixi reads no file where one is a number."""
    variables = _kept(plan, "variables")
    kept = variables if isinstance(variables, dict) else {}
    return _VARIABLES | {str(name): str(value) for name, value in kept.items()}


def _kept(plan: Plan, key: str) -> Any:
    return dict(plan.conda.kept).get(key) if plan.conda else None


def _comment(plan: Plan) -> list[str]:
    facts = [f"{reason.text} [{said_source(reason.source)}]" for reason in plan.why[:_FACTS]]
    lines = [tr("made by gpuenv for"), *(f"  {line}" for line in summary(plan)), *facts]
    lines.append(
        tr("environment.yml cannot contain mirrors: `gpuenv mirrors use NAME` adds them to the condarc")
    )
    return [one_line(line) for line in lines]


def _dump(document: dict[str, Any]) -> str:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where such a file is written

    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = _WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    text = StringIO()
    yaml.dump(document, text)
    return text.getvalue()
