"""A Python with Debian's `site`: dist-packages are its own, site-packages those of virtual environments."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

# getsitepackages as python3.11 3.11.2-6+deb12u6 has it, for a Linux
_SITE = """
import os, site, sys
sys.base_prefix = sys.prefix = sys.exec_prefix = {base!r}
def getsitepackages(prefixes):
    version, places = "python%d.%d" % sys.version_info[:2], []
    is_virtual_environment = sys.base_prefix != sys.prefix or hasattr(sys, "real_prefix")
    for prefix in prefixes:
        if is_virtual_environment:
            places.append(os.path.join(prefix, "lib", version, "site-packages"))
        places.append(os.path.join(prefix, "local/lib", version, "dist-packages"))
        places.append(os.path.join(prefix, "lib", "python3", "dist-packages"))
        places.append(os.path.join(prefix, "lib", version, "dist-packages"))
    return places
site.getsitepackages = getsitepackages
"""


def debian_python(file: Path, base: Path) -> None:
    """Put a Python whose packages lie below `base` at a path; it takes `-I -S -c CODE` alone."""
    patch = shlex.quote(_SITE.format(base=str(base)))
    real = shlex.quote(getattr(sys, "_base_executable", sys.executable))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'#!/bin/sh\ncode="$4"\nshift 4\nexec {real} -I -S -c {patch}"\n$code" "$@"\n')
    file.chmod(0o755)
