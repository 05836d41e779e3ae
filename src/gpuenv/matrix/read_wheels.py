"""Reading wheels that the matrices do not know, of which little is fetched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gpuenv.http import HttpClient, HttpProblem, fetch_page
from gpuenv.http.ranges import ByteRanges
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.matrix.dependency_rows import Sizes, sizes_of
from gpuenv.matrix.read_wheel import facts_of_name, read_wheel
from gpuenv.matrix_checks.refresh_targets import TORCH, WheelTarget
from gpuenv.wheels.archive import WheelProblem, open_local_wheel, open_wheel
from gpuenv.wheels.metadata import WheelFacts, WheelMetadata, parse_metadata


@dataclass(frozen=True, slots=True)
class WheelAnswer:
    """What a wheel says, and how much was received for it."""

    facts: WheelFacts
    received: int
    sizes: Sizes | None = None


def reading(target: WheelTarget, client: HttpClient, *, thorough: bool) -> Callable[[], WheelAnswer]:
    """Return the work of reading one wheel; it raises HttpProblem."""

    def work() -> WheelAnswer:
        url = target.file.url
        ranges = ByteRanges(client, url, length=target.file.size) if is_remote(url) else None
        sizes = None
        try:
            with open_wheel(ranges) if ranges else open_local_wheel(local_path(url)) as archive:
                facts = read_wheel(archive, target.file, thorough=thorough)
                sizes = sizes_of(archive) if target.project == TORCH else None
        except WheelProblem as problem:
            facts = replace(
                facts_of_name(target.file, _metadata_beside(url, client)),
                missing=(tr("the wheel {reason}", reason=problem.reason),),
            )
        except OSError as error:
            raise HttpProblem(reason_of(error)) from None
        return WheelAnswer(facts, ranges.received if ranges else 0, sizes)

    return work


def _metadata_beside(url: str, client: HttpClient) -> WheelMetadata | None:
    """Read the METADATA that an index may have beside the wheel (PEP 658)."""
    try:
        return parse_metadata(fetch_page(client, f"{url}.metadata", "*/*").text) if is_remote(url) else None
    except (HttpProblem, ValueError):
        return None
