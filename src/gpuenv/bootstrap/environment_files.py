"""The files of environments that were decided where a bootstrap script is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from gpuenv.bootstrap.model import BesideFile
from gpuenv.model.locked import Locked

if TYPE_CHECKING:
    from packaging.pylock import Pylock

_HERE = ("any", "manylinux", "linux")


def files_of_plan(locked: Locked) -> Iterator[BesideFile]:
    """Yield the files of a plan: from where the plan has them, else from their official addresses."""
    planned = {
        package.filename: package.url for package in locked.plan.packages if package.filename and package.url
    }
    for file in locked.files:
        urls = dict.fromkeys(url for url in (planned.get(file.filename), file.url) if url)
        yield BesideFile(file.filename, file.sha256, file.size, tuple(urls))


def files_of_lock(document: Pylock) -> Iterator[BesideFile]:
    """Yield the wheels of a lock that some Linux machine could need."""
    for package in document.packages:
        for wheel in package.wheels or ():
            url, digest = wheel.url, wheel.hashes.get("sha256")
            if url and digest and _is_for_linux(wheel.filename):
                yield BesideFile(wheel.filename, digest, wheel.size, (url,))


def _is_for_linux(filename: str) -> bool:
    try:
        tags = parse_wheel_filename(filename)[3]
    except InvalidWheelFilename:
        return False
    return any(tag.platform.startswith(_HERE) for tag in tags)
