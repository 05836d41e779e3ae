"""What a mirror gives to read from: indexes of torch and of everything else."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.indexes.mirrors.lookup import host_of, mirror_at, mirror_of_url
from gpuenv.indexes.urls import is_remote
from gpuenv.model.index import IndexConfiguration, IndexSource
from gpuenv.model.mirror import Mirror, TorchPart
from gpuenv.model.variant import Variant
from gpuenv.planning.options import PlanOptions

AUTO = "auto"
OFFICIAL = "official"
DEFAULT = "pypi"  # the name of the installer's own default index
VARIANT = "{variant}"


class SourceContext(Struct, frozen=True):
    """What the choice depends on beside the words of --mirror."""

    mirrors: Mirrors
    configuration: IndexConfiguration
    variants: tuple[Variant, ...]
    environ: Mapping[str, str]
    excluding: frozenset[str] = frozenset()
    conda: bool = False  # whether a conda tool installs, so that a mirror of conda's channels alone serves

    def is_official(self, source: IndexSource) -> bool:
        """Whether a page is the official index's own."""
        mirror = mirror_of_url(source.url, self.mirrors.all) if is_remote(source.url) else None
        return mirror is not None and mirror.kind == OFFICIAL


def parts_of(mirror: Mirror, context: SourceContext, origin: str) -> tuple[IndexSource, ...]:
    """Return the sources of a mirror's torch part, then of its copy of PyPI."""
    pypi = pypi_source(mirror, context, origin)
    return (*torch_sources(mirror, context, origin), *((pypi,) if pypi else ()))


def torch_sources(mirror: Mirror, context: SourceContext, origin: str) -> tuple[IndexSource, ...]:
    """Return a mirror's torch part: a source for each variant where each has a folder."""
    part = mirror.torch
    if part is None:
        return ()
    if VARIANT not in part.address:
        return (_source(mirror, part, part.address, origin),)
    folders = (part.of_variant(str(variant)) for variant in context.variants)
    return tuple(_source(mirror, part, folder, origin) for folder in folders)


def _source(mirror: Mirror, part: TorchPart, url: str, origin: str) -> IndexSource:
    kinds = {"pep503": "pytorch", "flat": "flat", "page": "flat"}
    made = IndexSource(kinds[part.layout], url, origin, mirror.name)  # type: ignore[arg-type]
    return known_source(made, mirror)


def pypi_source(mirror: Mirror, context: SourceContext, origin: str) -> IndexSource | None:
    """Return a mirror's copy of PyPI; that of the official indexes is the installer's own default."""
    if mirror.pypi is None:
        return None
    url = mirror.pypi.simple or default_index(context.environ)
    if url is None:
        return None
    name = mirror.name if mirror.pypi.simple else DEFAULT
    return known_source(IndexSource("pypi", url, origin, name), mirror)


def known_source(source: IndexSource, mirror: Mirror) -> IndexSource:
    """Return the source with what is known of its mirror; of the installer's default without hosts."""
    files = (
        *mirror.hosts, *mirror.intranet,
        *(mirror.pypi.files if mirror.pypi else ()), *(mirror.torch.files if mirror.torch else ()),
    )  # fmt: skip
    hosts = () if source.name == DEFAULT else tuple(dict.fromkeys(files))
    public = mirror.kind == OFFICIAL and source.name != DEFAULT
    return replace(source, hosts=hosts, missing_status=mirror.missing_status, public=public)


_OFFICIAL = "official"


def label_of(url: str, mirrors: Mirrors) -> str:
    """Return the name of the mirror that a URL is on, of others the host."""
    mirror = mirror_at(url, mirrors.all)
    return mirror.name if mirror else host_of(url) or url


def is_mirror(url: str, options: PlanOptions, mirrors: Mirrors) -> bool:
    """Whether an index is a mirror: a known one, or one that `--mirror` names by its URL."""
    mirror = mirror_at(url, mirrors.all)
    if mirror is not None:
        return mirror.kind != _OFFICIAL
    return host_of(url) in {host_of(named) for named in options.mirrors if "://" in named}
