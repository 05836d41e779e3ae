"""Reads the pages of projects bound to torch for one torch after another, as `--adapt` tries them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.adapt.nearest.known_bad_dependencies import with_others_free
from gpuenv.http import HttpClient
from gpuenv.model.index import IndexConfiguration
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.torch_bound import PageReader
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.torch_bound_pages import bound_projects


def with_pages_near(
    question: ResolutionInput,
    torches: Iterable[Version],
    configuration: IndexConfiguration,
    options: PlanOptions,
    environ: Mapping[str, str],
) -> ResolutionInput:
    """Return the question with the pages of the projects bound to torch for one torch after another.

    It stops at the first that serves them all, whatever releases of them are asked for.
    """
    names = bound_projects(question.request, question.target, question.pythons, question.knowledge)
    if not names:
        return question
    question = question.with_request(replace(question.request, bound=names))
    with HttpClient(environ, access=configuration.access, offline=options.offline) as client:
        reader = PageReader(tuple(canonicalize_name(name) for name in names), client)
        question = question.with_listings(reader.read(configuration.find_links))
        for torch in torches:
            request = with_others_free(question.request).with_requirement(f"torch=={torch}")
            read = reader.read_on(question.with_request(request))
            question = question.with_listings(read.listings[len(question.listings) :])
            if decide(read).choices:
                break
    return question
