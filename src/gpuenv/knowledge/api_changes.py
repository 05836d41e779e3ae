"""The rows of api-changes.json as values: what changed in the API of torch and of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal, get_args

from msgspec import Struct
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.signatures.catalogue import checked_choice

ChangeKind = Literal["removed", "changed", "deprecated", "added"]
CodeLanguage = Literal["python", "c++", "shell"]

KINDS = get_args(ChangeKind)  # the gravest first
CODE_LANGUAGES = get_args(CodeLanguage)


class ApiChange(Struct, frozen=True):
    """What a release of a project changed: code that matches `regex` is concerned.

    `version` is the first release where it holds. Without `regex` code can't tell. `needs` are ways of words
    in lower case: a text must have all words of one for the regex to match. None: any text may match.
    """

    id: str
    project: str
    version: Version
    kind: ChangeKind
    often: bool
    regex: str | None
    needs: tuple[tuple[str, ...], ...]
    languages: tuple[CodeLanguage, ...]
    texts: tuple[tuple[str, str], ...]
    source: str

    @property
    def compiled(self) -> re.Pattern[str] | None:
        """The expression, compiled when it is first needed; `^` is the beginning of any line."""
        return _compile(self.regex) if self.regex else None

    def text(self, language: str) -> str:
        """Return what happens and what to write instead; English where there is no other."""
        texts = dict(self.texts)
        return texts.get(language, texts["en"])


@cache
def _compile(regex: str) -> re.Pattern[str]:
    return re.compile(regex, re.MULTILINE)


def parse_api_change(row: Mapping[str, Any]) -> ApiChange:
    r"""Parse one row of api-changes.json; raise ValueError.

    {"id": "torch-symeig", "project": "torch", "version": "2.0.0", "kind": "removed", "often": true,
     "names": ["torch.symeig"], "pattern": "\\.symeig\\(", "needs": [[" symeig "]], "languages": ["python"],
     "text_en": "…", "text_zh": "…", "sample": "…", "source": "https://…", "evidence": "matrix"}
    """
    try:
        return ApiChange(
            id=str(row["id"]),
            project=str(row["project"]),
            version=Version(row["version"]),
            kind=checked_choice(row["kind"], KINDS),
            often=bool(row["often"]),
            regex=None if row["pattern"] is None else str(row["pattern"]),
            needs=tuple(tuple(word.strip() for word in way) for way in row["needs"]),
            languages=tuple(checked_choice(language, CODE_LANGUAGES) for language in row["languages"]),
            texts=(("en", str(row["text_en"])), ("zh", str(row["text_zh"]))),
            source=str(row["source"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(tr("is not a valid row of api-changes: {error}", error=error)) from None


def parse_api_changes(rows: Iterable[Mapping[str, Any]]) -> tuple[ApiChange, ...]:
    """Parse the rows of api-changes.json; raise ValueError."""
    return tuple(parse_api_change(row) for row in rows)
