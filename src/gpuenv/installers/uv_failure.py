"""Parse why uv found no solution."""

from __future__ import annotations

import re

from msgspec import Struct

from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, InstallFailed, Unreachable

_NO_SOLUTION = "No solution found"
_OFFLINE = "the network was disabled"
_NETWORK = re.compile(
    r"Failed to fetch|error sending request|Failed to read `--find-links` URL|operation timed out|dns error"
    r"|invalid peer certificate|HTTP status"
)
_UNBUILT = re.compile(r"Failed to (?:download and )?build `([^`]+)`")
# `vllm==0.6.0 depends on torch==2.4.0`, `xformers{marker}==0.0.29 depends on torch{...}>=2,<3`
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?"
_RANGE = r"(?:\{[^}]*\})?(?:(?:===|==|>=|<=|!=|~=|<|>)[^\s,]+,?)*"
_DEPENDS = re.compile(
    rf"(?P<by>{_NAME}{_RANGE}) depends? on (?!(?:one|all|any) of)(?P<on>{_NAME})(?P<range>{_RANGE})"
)
_MARKER = re.compile(r"\{[^}]*\}")


class Demand(Struct, frozen=True):
    """A package that forces another's version: `vllm==0.6.0` needs `torch==2.4.0`."""

    package: str
    needs: str


class Unresolvable(Struct, frozen=True):
    """Conflicting requirements: uv's message, who demands what, and a requirement that cannot be built."""

    message: str
    demands: tuple[Demand, ...]
    unbuilt: str | None = None

    def demands_on(self, names: tuple[str, ...]) -> tuple[Demand, ...]:
        """Return the demands on some projects, which another torch could meet."""
        name = re.compile(r"[^A-Za-z0-9._-]")
        return tuple(demand for demand in self.demands if name.split(demand.needs)[0].lower() in names)


def parse_failure(stderr: str) -> Unresolvable:
    """Parse why uv could not resolve; raise Unreachable or InstallFailed unless it is a conflict.

        error: No solution found when resolving dependencies
          cause: Because vllm==0.6.0 depends on torch==2.4.0 and you require vllm==0.6.0, ...

    Older versions of uv draw a tree of `x` and arrows and wrap lines at 80 columns.
    """
    words = " ".join(re.sub(r"[╰├─▶│×]", " ", stderr).split())
    if _NO_SOLUTION in words and _OFFLINE not in words:
        return Unresolvable(words[max(0, words.find("Because")) :], parse_demands(words))
    because = (Because(stderr.strip()[-2000:], "uv pip compile"),)
    if _OFFLINE in words or _NETWORK.search(words):
        raise Unreachable(
            tr("uv could not read an index that the requirements need"),
            code="index-unreachable",
            because=because,
            fixes=(Fix(tr("see above which URL did not respond, or name another index")),),
        )
    unbuilt = _UNBUILT.search(words)  # such as flash-attn, whose set-up imports torch
    if unbuilt:
        return Unresolvable(stderr.strip()[-2000:], (), unbuilt[1])
    raise InstallFailed(tr("uv could not resolve the requirements"), code="resolver-failed", because=because)


def parse_demands(words: str) -> tuple[Demand, ...]:
    """Return each distinct `A depends on B` of uv's explanation, without markers."""
    matches = (
        (_MARKER.sub("", match["by"]).rstrip(","), match["on"], _MARKER.sub("", match["range"]))
        for match in _DEPENDS.finditer(words)
    )
    return tuple(dict.fromkeys(Demand(by, (on + bounds).rstrip(",.")) for by, on, bounds in matches))
