"""The one room that speaks HTTP."""

from gpuenv.http.client import HttpClient, Page, Pending, cache_directory, fetch_page, fetch_size, fetch_sizes
from gpuenv.http.errors import HttpProblem, Limits
from gpuenv.http.speed_sample import Sample, read_sample

__all__ = [
    "HttpClient", "HttpProblem", "Limits", "Page", "Pending", "Sample",
    "cache_directory", "fetch_page", "fetch_size", "fetch_sizes", "read_sample",
]  # fmt: skip
