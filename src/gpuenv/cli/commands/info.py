"""`gpuenv info`, `gpuenv version`."""

from __future__ import annotations

import json
import os

from gpuenv import __version__
from gpuenv.cli.options import Common
from gpuenv.cli.output import envelope, print_data, print_json, working
from gpuenv.values.text import tr
from gpuenv.workflow.info import info as read_info


def info(name: str | None, common: Common) -> int:
    """Print what a bug report needs."""
    with working(tr("examining"), quiet=common.quiet):
        told = read_info(name, os.environ)
    if common.as_json:
        print_json(envelope("info", told))
    else:  # to be pasted: the report's readers want all of it, and the same from everybody
        print_data("\n".join(f"{key}: {_shown(value)}" for key, value in told.items() if value is not None))
    return 0


def _shown(value: object) -> str:
    if isinstance(value, (dict, list)):
        return json.dumps(value, indent=1, ensure_ascii=False)
    return str(value)


def version(common: Common) -> int:
    """Print gpuenv's version."""
    if common.as_json:
        print_json(envelope("version", {"version": __version__}))
    else:
        print_data(f"gpuenv {__version__}")
    return 0
