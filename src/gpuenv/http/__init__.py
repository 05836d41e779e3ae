"""The one package that speaks HTTP."""

from gpuenv.http.client import (
    HttpClient,
    fetch_page,
    fetch_size,
    fetch_sizes,
)
from gpuenv.http.errors import FetchLimits, HttpPage, HttpProblem
from gpuenv.http.pending import Pending

__all__ = [
    "FetchLimits",
    "HttpClient",
    "HttpPage",
    "HttpProblem",
    "Pending",
    "fetch_page",
    "fetch_size",
    "fetch_sizes",
]  # fmt: skip
