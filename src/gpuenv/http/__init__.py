"""The one room that speaks HTTP."""

from gpuenv.http.client import (
    HttpClient,
    HttpPage,
    Pending,
    cache_directory,
    fetch_page,
    fetch_size,
    fetch_sizes,
)
from gpuenv.http.errors import FetchLimits, HttpProblem
from gpuenv.http.speed_sample import Sample, read_sample

__all__ = [
    "FetchLimits",
    "HttpClient",
    "HttpPage",
    "HttpProblem",
    "Pending",
    "Sample",
    "cache_directory",
    "fetch_page",
    "fetch_size",
    "fetch_sizes",
    "read_sample",
]  # fmt: skip
