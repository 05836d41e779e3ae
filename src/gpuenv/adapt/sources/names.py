"""Which files may say what to install, by their names, and how binding each is."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from gpuenv.adapt.model import SOURCE_KINDS, FileKind, SourceKind

Reader = Literal[
    "requirements", "environment", "pyproject", "setup", "toml-lock", "pipfile-lock", "conda-lock", "pipfile",
    "cog", "container", "notebook", "tox", "commands", "document", "python-version",
]  # fmt: skip
PATCHABLE: tuple[FileKind, ...] = ("requirements", "environment", "pyproject", "setup")


class KnownName(Struct, frozen=True):
    """A row: a regex for the path in the project, in lower case; the first row that fits counts.

    `by_content`: the name tells nothing, the file has to look like one.
    """

    path: str
    kind: SourceKind
    reader: Reader
    by_content: bool = False


_ROWS = (
    KnownName(r"(.*/)?(poetry|uv|pdm)\.lock", "lock", "toml-lock"),
    KnownName(r"(.*/)?pipfile\.lock", "lock", "pipfile-lock"),
    KnownName(r"(.*/)?[\w.-]*conda-lock\.ya?ml|(.*/)?conda-[\w.-]+\.lock", "lock", "conda-lock"),
    KnownName(r"(.*/)?[^/]*requirement[^/]*\.(txt|in)|(.*/)?requirements/[^/]*\.txt", "environment",
              "requirements"),
    KnownName(r"\.(github|circleci)/.*\.ya?ml|\.(gitlab-ci|travis)\.yml|azure-pipelines\.yml", "script",
              "container"),
    KnownName(r"(.*/)?(docker-)?compose[^/]*\.ya?ml", "script", "container"),
    KnownName(r"(.*/)?cog\.ya?ml", "script", "cog"),
    KnownName(r"(.*/)?[^/]*(env|conda)[^/]*\.ya?ml|(.*/)?(envs?|environments?|conda)/(.*/)?[^/]*\.ya?ml",
              "environment", "environment"),
    KnownName(r"(.*/)?pipfile", "environment", "pipfile"),
    KnownName(r"[^/]*\.ya?ml", "environment", "environment", by_content=True),
    KnownName(r"(.*/)?pyproject\.toml", "project", "pyproject"),
    KnownName(r"(.*/)?setup\.(py|cfg)", "project", "setup"),
    KnownName(r"(.*/)?[^/]*dockerfile[^/]*|(.*/)?containerfile|(.*/)?(\.devcontainer/)?\.?devcontainer\.json",
              "script", "container"),
    KnownName(r"(.*/)?[^/]*\.ipynb", "script", "notebook"),
    KnownName(r"(.*/)?tox\.ini", "script", "tox"),
    KnownName(r"\.python-version|runtime\.txt", "install", "python-version"),
    KnownName(r"(.*/)?[^/]*(install|setup|env|conda|depend)[^/]*\.(sh|bash)", "script", "commands"),
    KnownName(r"(.*/)?(readme|install)[^/]*(\.(md|rst|txt))?", "install", "document"),
    KnownName(r"(.*/)?[^/]*(install|get[_-]?start|getting[_-]?start|environment|set[_-]?up|requirement)[^/]*"
              r"\.(md|rst)", "install", "document"),
)  # fmt: skip
_COMPILED = tuple((re.compile(row.path), row) for row in _ROWS)
# folders whose files are for something else than what the paper ran
_ASIDE = re.compile(
    r"(^|/)(demos?|docs?|tests?|ci|\.github|\.circleci|examples?|tutorials?|apps?|web|gradio|spaces?|deploy(ment)?"
    r"|colab|notebooks?|benchmarks?|inference|serving|docker|tools|scripts)(/|[_.-])"
)
_CANONICAL = re.compile(
    r"(.*/)?(requirements\.txt|(environment|conda|env)\.ya?ml|dockerfile|readme(\.(md|rst|txt))?|setup\.(py|cfg)"
    r"|pyproject\.toml|\.devcontainer/.*|(poetry|uv|pdm|pipfile)\.lock|conda-lock\.yml|pipfile|cog\.yaml)"
)


class SourceRank(Struct, frozen=True, order=True):
    """How binding a source is, the least most. Equals that collide are asked about."""

    kind: int
    aside: bool
    depth: int
    other_name: bool


_ENVIRONMENT_KEYS = re.compile(r"^dependencies[ ]*:[ ]*(\r?\n|\[)", re.MULTILINE)


def is_environment(text: str) -> bool:
    """Whether a YAML text may be an environment file, whatever it is called."""
    return _ENVIRONMENT_KEYS.search(text) is not None


def known_name(path: str) -> KnownName | None:
    """Return what a file is by its path in the project, `docs/install.md`; None for one that says nothing."""
    lower = path.lower()
    return next((row for pattern, row in _COMPILED if pattern.fullmatch(lower)), None)


def rank_of(path: str, kind: SourceKind) -> SourceRank:
    """Return how binding a file is: its kind, then what its folder is for, nearer the root before deeper."""
    lower = path.lower()
    is_document = kind in ("install", "prose")  # their folder is `docs`
    aside = _ASIDE.search(lower) is not None and not is_document
    return SourceRank(SOURCE_KINDS.index(kind), aside, path.count("/"), not _CANONICAL.fullmatch(lower))
