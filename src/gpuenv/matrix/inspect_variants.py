"""`gpuenv matrix inspect --preview variants`: the variants of a wheel or of a release, and which fit here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from gpuenv.files.read_text import read_text
from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.ranges import ByteRanges
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.link import split_url
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.model.errors import Fix, Unreachable, UsageError
from gpuenv.planning.detect import detect
from gpuenv.planning.pages.listings import choose_sources
from gpuenv.resolution.wheel_variants.choose import JudgedVariant, judge_variants
from gpuenv.resolution.wheel_variants.machine import ForcedValue, forced_values, supported_by
from gpuenv.resolution.wheel_variants.metadata import VariantMetadata, parse_variant_metadata
from gpuenv.secrets.url_credentials import redact_credentials
from gpuenv.untrusted.documents import load_json
from gpuenv.wheels.archive import WheelArchive, WheelProblem, open_local_wheel, open_wheel

_INDEX_FILE, _IN_WHEEL = "-variants.json", ".dist-info/variant.json"
_MOST_BYTES = 4 << 20


class VariantInspection(Struct, frozen=True):
    """The variants, those that fit this machine first, the best at the top, and what uv has to be told."""

    place: str
    variants: tuple[JudgedVariant, ...]
    forced: tuple[ForcedValue, ...]


def inspect_variants(location: str, environ: Mapping[str, str]) -> VariantInspection:
    """Read the variants of a wheel or a `*-variants.json`, a path or a URL, and judge them for this machine.

    Raises UsageError for what has none, Unreachable where a server can't be read.
    """
    try:
        metadata = _read(location, environ)
    except HttpProblem as problem:
        place = redact_credentials(location)
        raise Unreachable(
            tr("`{place}` cannot be read: {reason}", place=place, reason=problem.reason),
            code="wheel-unreachable",
        ) from None
    except (WheelProblem, OSError, ValueError) as error:
        reason = error.reason if isinstance(error, WheelProblem) else reason_of(error)
        raise UsageError(
            tr("`{place}` has no variants: {reason}", place=redact_credentials(location), reason=reason),
            code="no-variants",
            fixes=(Fix(tr("give a variant wheel, or the NAME-VERSION-variants.json of an index")),),
        ) from None
    machine = detect(environ)
    judged = judge_variants(metadata, supported_by(machine))
    return VariantInspection(redact_credentials(location), judged, forced_values(machine))


def _read(location: str, environ: Mapping[str, str]) -> VariantMetadata:
    if not is_remote(location):
        path = local_path(location)
        if path.name.endswith(_INDEX_FILE):
            return parse_variant_metadata(load_json(read_text(path)))
        with open_local_wheel(path) as archive:
            return _of_wheel(archive, path.name)
    configuration, _ = choose_sources((location,), environ)  # for the CA bundle
    name = split_url(location)[2]
    with HttpClient(environ, access=configuration.access) as client:
        if name.endswith(_INDEX_FILE):
            return parse_variant_metadata(
                load_json(client.begin_page(location, "application/json").result().text)
            )
        with open_wheel(ByteRanges(client, location), whole=True) as archive:
            return _of_wheel(archive, name)


def _of_wheel(archive: WheelArchive, filename: str) -> VariantMetadata:
    """Read the metadata in a wheel, which must be that of the label in its name; raise ValueError."""
    member = archive.find(lambda name: name.endswith(_IN_WHEEL) and name.count("/") == 1)
    if member is None:
        raise ValueError(tr("it contains no {file}", file="variant.json"))
    metadata = parse_variant_metadata(load_json(archive.read(member, limit=_MOST_BYTES).decode()))
    label = Path(filename).stem.rpartition("-")[2]
    if [variant.label for variant in metadata.variants] != [label]:
        raise ValueError(tr("its name says `{label}`, which its variant.json does not", label=label))
    return metadata
