"""In which order an installer asks the indexes: of several that have a package, the first serves it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace
from packaging.requirements import Requirement

from gpuenv.i18n.messages import N_, series, tr
from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.indexes.mirrors.lookup import mirror_of_url
from gpuenv.indexes.urls import is_remote
from gpuenv.model.errors import Because, Fix, Unreachable
from gpuenv.model.index import IndexConfiguration, IndexSource, Listing
from gpuenv.model.mirror import Mirror
from gpuenv.planning.mirrors.sources import DEFAULT
from gpuenv.secrets.url_credentials import redact_credentials, without_userinfo

if TYPE_CHECKING:
    from gpuenv.planning.pages.listings import PlanListings


def served_by(
    index: IndexSource | None, configuration: IndexConfiguration, environ: Mapping[str, str]
) -> IndexConfiguration:
    """Return the configuration with an index for everything, which comes after the user's extra ones.

    A copy of the PyTorch index has some old releases of what others publish too, and uv would ask it first
    where it is configured: there the index for everything goes before it. Torch's own pages are named.
    """
    extra = tuple(source for source in configuration.extra_index_urls if source.kind != "pytorch")
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


def unread_private(
    wanted: Iterable[Requirement], listed: PlanListings, known: tuple[Mirror, ...]
) -> Unreachable | None:
    """Return the error for a private extra index that could not be read, from which packages may come.

    Of several indexes the first that has a name serves it. If the private index cannot be read, a package of
    that name published elsewhere would be installed instead. uv stops here, too.
    """
    names = series(dict.fromkeys(item.name for item in wanted if item.url is None))
    extra = (
        {}
        if listed.configured.no_index
        else {source.url: source for source in listed.configured.extra_index_urls}
    )
    for page in listed.listings:
        index = extra.get(page.source.url)
        if names and index and page.problem and mirror_of_url(index.url, known) is None:
            return _unread(index, page, names)
    return None


def with_origin(error: Unreachable, configured: IndexConfiguration) -> Unreachable:
    """Return the error of a resolver that could not read one of the user's own indexes, with who named it."""
    if error.code != "index-unreachable":
        return error
    words = without_userinfo(" ".join(reason.text for reason in error.because))
    own = (configured.index_url, *configured.extra_index_urls, *configured.find_links)
    for index in sorted(filter(None, own), key=lambda source: len(source.url), reverse=True):
        plain = without_userinfo(index.url).rstrip("/")
        if is_remote(plain) and re.search(rf"{re.escape(plain)}(?![\w.-])", words):
            text = N_("{index} could not be read: uv stops where one of the indexes does not answer")
            first = (Because(reason.text, index.origin) for reason in error.because[:1])
            because = (*first, *error.because[1:])
            message = tr(text, index=redact_credentials(plain))
            return Unreachable(message, code=error.code, because=because, fixes=_fixes(index))
    return error


def _unread(index: IndexSource, page: Listing, names: str) -> Unreachable:
    problem = tr("{page} could not be read: {problem}", page=page.page, problem=page.problem)
    return Unreachable(
        tr(
            "{index} could not be read, so it is not known whether it lists {packages}: of several "
            "indexes, the first that lists a name is used",
            index=redact_credentials(index.url),
            packages=names,
        ),
        code="index-unread",
        because=(Because(problem, index.origin),),
        fixes=_fixes(index),
    )


def _fixes(index: IndexSource) -> tuple[Fix, ...]:
    removal = tr("if it is not needed, remove it from {origin}", origin=index.origin)
    return (Fix(tr("try again when it responds")), Fix(removal))
