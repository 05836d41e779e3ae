"""Programs in the place of the one that gpuenv sends to machines."""

from __future__ import annotations

import io
import zipfile


def packed(text: str) -> bytes:
    """Pack a program in Python as a zipapp."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("__main__.py", text)
    return archive.getvalue()
