"""A folder of a user who may not read everything: what permissions keep out is nothing to root."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def as_nobody() -> Iterator[None]:
    """Act as a user without privileges, where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def public_folder() -> Iterator[Path]:
    """Make a folder that every user may enter, as pytest's own are not; what is closed in it goes as well."""
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        for path, names, _ in os.walk(folder):
            for name in names:
                if not Path(path, name).is_symlink():
                    Path(path, name).chmod(0o755)
        shutil.rmtree(folder)
