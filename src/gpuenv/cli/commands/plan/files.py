"""A plan as a file of another tool."""

from __future__ import annotations

import os

from msgspec.structs import replace

from gpuenv.formats.registry import FORMATS, LOCKED_FORMATS
from gpuenv.images.base_images import SLIM
from gpuenv.images.recipe import plan_image
from gpuenv.indexes.mirrors.canonical_urls import canonical_sources
from gpuenv.indexes.mirrors.load import load_mirrors
from gpuenv.locks.lock_plan import lock_if_possible, lock_plan
from gpuenv.locks.official_files import Hashing
from gpuenv.model.locked import Locked
from gpuenv.model.plan import Plan
from gpuenv.planning.hashes import HashProgress
from gpuenv.planning.options import PlanOptions

_ALSO_WITHOUT_HASHES = ("requirements.txt",)
_NAMES_NO_HASH = ("pyproject", "pixi.toml")
_SHARED = ("environment.yml", "pixi.toml")  # those that other people read: no mirrors in them


def render_file(
    decided: Plan, format_name: str, options: PlanOptions, follower: HashProgress | None = None
) -> tuple[Plan, str]:
    """Return the plan, completed by its lock where the format needs one, and its text in a format.

    `follower` follows the files that are fetched for their hashes.
    """
    if format_name in LOCKED_FORMATS and not (format_name in FORMATS and decided.is_condas):
        locked = lock_for(decided, format_name, options, follower)
        if isinstance(locked, Locked):
            return locked.plan, LOCKED_FORMATS[format_name](locked)
        decided = locked
    if format_name in _SHARED:
        decided = replace(decided, sources=canonical_sources(decided, load_mirrors(os.environ).all))
    return decided, FORMATS[format_name](decided)


def lock_for(
    decided: Plan, format_name: str, options: PlanOptions, follower: HashProgress | None = None
) -> Locked | Plan:
    """Lock a plan for a format of locked sets; where that can do without, the plan with a warning."""
    lock = lock_if_possible if format_name in _ALSO_WITHOUT_HASHES else lock_plan
    return lock(decided, options, os.environ, Hashing(format_name not in _NAMES_NO_HASH, follower))


def decide_image(options: PlanOptions, format_name: str) -> tuple[Plan, str]:
    """Return the plan of an image and its Dockerfile, or its devcontainer.json."""
    decided, dockerfile = plan_image(options, SLIM, os.environ)
    return decided, FORMATS[format_name](decided) if format_name in FORMATS else dockerfile
