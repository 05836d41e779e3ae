"""Format `pixi.toml` for several variants: a feature and an environment for each."""

from __future__ import annotations

from typing import Any

from packaging.utils import canonicalize_name

from gpuenv.formats import toml
from gpuenv.formats.pixi import PixiSet, left_out_variables, plain_variables, set_of, workspace_of
from gpuenv.formats.several.comment import comment_lines
from gpuenv.i18n.messages import tr
from gpuenv.model.locked import LockedVariant
from gpuenv.resolution.target import platform_of


def render_pixi_of(variants: tuple[LockedVariant, ...]) -> str:
    """Return a pixi.toml in which `pixi install -e NAME` makes the environment of one variant.

    What all have in common is conda's Python. The name of an environment may have letters, digits and `-`.
    https://pixi.prefix.dev/latest/workspace/multi_environment/
    """
    plans = tuple(variant.locked.plan for variant in variants)
    made = {str(canonicalize_name(variant.name)): variant for variant in variants}
    sets = {name: set_of(variant.locked) for name, variant in made.items()}
    first, *others = sets.values()
    common = {
        name: spec for name, spec in first.conda.items() if all(of.conda.get(name) == spec for of in others)
    }
    workspace = workspace_of(plans)
    several = len(workspace["platforms"]) > 1
    features = {
        name: _feature(sets[name], common, variant, with_platform=several) for name, variant in made.items()
    }
    parts = {
        "workspace": toml.table(workspace),
        "dependencies": toml.table(common),
        "activation": toml.table({"env": plain_variables(plans[0])}),
        "feature": toml.table(features, headless=True),
        "environments": toml.table({name: [name] for name in made}),
    }
    command = f"pixi install -e {next(iter(made))}"
    comment = (
        *comment_lines(variants),
        tr("create the environment of one of them with `{command}`", command=command),
        *left_out_variables(plans[0]),
    )
    return toml.document(comment, parts)


def _common(tables: list[dict[str, Any]]) -> dict[str, Any]:
    first, *others = tables
    return {name: spec for name, spec in first.items() if all(table.get(name) == spec for table in others)}


def _feature(made: PixiSet, common: dict[str, Any], variant: LockedVariant, *, with_platform: bool) -> Any:
    tables = made.tables
    own = {name: spec for name, spec in made.conda.items() if name not in common}
    platforms = {"platforms": (platform_of(variant.locked.plan.machines[0]),)} if with_platform else {}
    filled = {name: toml.table(table) for name, table in (tables | {"dependencies": own}).items() if table}
    return toml.table({**platforms, **filled}, headless=not platforms)
