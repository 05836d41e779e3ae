"""What a wheel on a server or on disk requires, read of it alone."""

from __future__ import annotations

from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.ranges import ByteRanges
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.model.wheel import WheelFile
from gpuenv.wheels.archive import WheelProblem, open_local_wheel, open_wheel
from gpuenv.wheels.metadata import WheelMetadata, parse_metadata

_LARGEST = 4 << 20  # bytes; a METADATA has 40 kB


def metadata_inside(file: WheelFile, client: HttpClient) -> WheelMetadata | None:
    """Return the METADATA in a wheel; None where it can't be read."""
    ranges = ByteRanges(client, file.url, length=file.size) if is_remote(file.url) else None
    try:
        with open_wheel(ranges) if ranges else open_local_wheel(local_path(file.url)) as archive:
            member = archive.find(lambda name: name.endswith(".dist-info/METADATA") and name.count("/") == 1)
            content = archive.read(member or "METADATA", limit=_LARGEST)
        return parse_metadata(content.decode("utf-8", errors="replace"))
    except (HttpProblem, WheelProblem, OSError, ValueError):
        return None
