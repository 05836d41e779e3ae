"""In which order an installer asks the indexes: of several that have a package, the first serves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpuenv.indexes.installer import default_index
from gpuenv.values.index import IndexConfiguration, IndexSource
from gpuenv.workflow.mirror_choice import DEFAULT


def served_by(
    index: IndexSource | None, configuration: IndexConfiguration, environ: Mapping[str, str]
) -> IndexConfiguration:
    """Return the configuration with an index for everything, which comes after the user's extra ones.

    A copy of the PyTorch index has some old releases of what others publish too, and uv would ask it first
    where it is configured: there the index for everything goes before it. Torch's own pages are named.
    """
    extra = tuple(one for one in configuration.extra_index_urls if one.kind != "pytorch")
    if extra == configuration.extra_index_urls:
        return replace(configuration, index_url=_unless_default(index, configuration))
    default = default_index(environ)
    index = index or (IndexSource("pypi", default, "", DEFAULT) if default else None)
    return replace(configuration, index_url=index, extra_index_urls=(*extra, *((index,) if index else ())))


def _unless_default(index: IndexSource | None, configuration: IndexConfiguration) -> IndexSource | None:
    """An index to be named: the installer's own default needs no naming where no other is configured."""
    if index is not None and index.name == DEFAULT and configuration.index_url is None:
        return None
    return index
