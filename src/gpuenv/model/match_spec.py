"""Conda's match specs as people write them: `numpy=1.26`, `conda-forge::numpy >=1.2,<2 py312*`."""

from __future__ import annotations

import re

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from gpuenv.i18n.messages import tr

_SPEC = re.compile(
    r"(?:(?P<channel>[\w./:-]+)::)?(?P<name>[A-Za-z0-9_][\w.-]*)(?P<rest>(?:\s|[=<>!~\[]|$).*)?",
    re.DOTALL,
)
# `version` and `build` in brackets go before what stands outside of them
_BRACKET = re.compile(r"(?P<key>\w+)\s*=\s*(?:'(?P<one>[^']*)'|\"(?P<two>[^\"]*)\"|(?P<bare>[^,\s\]]*))")
# a version goes on after a comma, an operator or `|`, whatever blanks are around: `>=1.2, <2`
_FIELDS = re.compile(
    r"(?P<version>[=<>!~]*\s*[^\s=<>!~,|]+(?:\s*[,|]\s*[=<>!~]*\s*[^\s=<>!~,|]+|[<>!~][^\s,|]*)*)"
    r"(?:(?:\s+|\s*=\s*)(?P<build>[^\s=]+))?"
)
_RELEASE = re.compile(r"\d+(?:\.\d+)*")
_OPERATOR = re.compile(r"(?P<operator>===|[<>!~=]=|[<>=])?\s*(?P<version>.*)", re.DOTALL)


class MatchSpec(Struct, frozen=True):
    """A spec in its fields: `version` and `build` as conda writes them, empty where any will do."""

    name: str  # in lower case
    version: str = ""
    build: str = ""
    channel: str | None = None

    @property
    def release(self) -> str | None:
        """The one release that the version names (`11.8` in `=11.8.*`), None where it is open."""
        match = _OPERATOR.fullmatch(self.version)
        plain = match["version"].rstrip("*").rstrip(".") if match else ""
        named = match is not None and match["operator"] in (None, "=", "==", "~=")
        return plain if named and _RELEASE.fullmatch(plain) else None


def parse_match_spec(text: str) -> MatchSpec:
    """Parse a spec: `pytorch=1.13`, `numpy >=1.2,<2 py312*`, `a::b[version='>=1']`; raise ValueError."""
    match = _SPEC.fullmatch(text.partition(" #")[0].strip())
    if match is None:
        raise ValueError(tr("`{text}` is not a valid match spec (example: numpy>=1.26)", text=text))
    version, build = split_spec(match["rest"] or "")
    return MatchSpec(match["name"].lower(), version, build, match["channel"])


def split_spec(rest: str) -> tuple[str, str]:
    """Split what follows a name into version and build: `=1.26=py312_0`, ` >=1,<2 py*`, `[version='1.*']`.

    `=1.26` alone is any 1.26, but `=1.26=py312_0` that very one: it gives `1.26`. Raises ValueError.
    """
    outside, bracket, inside = rest.strip().partition("[")
    named = {
        match["key"]: match["one"] or match["two"] or match["bare"] or ""
        for match in _BRACKET.finditer(inside)
    }
    version, build = _fields(outside.strip())
    version, build = named.get("version", version).strip(), named.get("build", build).strip()
    if bracket and "]" not in inside:
        raise ValueError(tr("`{text}` has no closing `]`", text=rest.strip()))
    if build and re.match(r"=[^=]", version):
        version = version[1:].strip()
    return version, build


def _fields(text: str) -> tuple[str, str]:
    if not text:
        return "", ""
    match = _FIELDS.fullmatch(text)
    if match is None:
        raise ValueError(tr("`{text}` is not a valid version and build", text=text))
    return match["version"].strip(), match["build"] or ""


def as_specifier(spec: MatchSpec) -> str:
    """Return the version as PEP 440 writes it, empty for any; raise ValueError where it can't be written."""
    clauses = [_as_clause(part.strip()) for part in spec.version.split(",")]
    try:
        return str(SpecifierSet(",".join(clause for clause in clauses if clause)))
    except InvalidSpecifier:
        raise ValueError(
            tr("the version in `{name} {version}` cannot be read", name=spec.name, version=spec.version)
        ) from None


def _as_clause(part: str) -> str:
    """`=1.13` and `1.13*` are any 1.13, `1.13` and `==1.13` that very one; `>=1.8.*` is `>=1.8`."""
    match = _OPERATOR.fullmatch(part)
    operator, version = (match["operator"] or "", match["version"].strip()) if match else ("", part)
    plain = version.rstrip("*").rstrip(".")
    if not plain:
        return ""
    open_ended = (version != plain or operator == "=") and _RELEASE.fullmatch(plain) is not None
    if operator in ("", "=", "=="):
        return f"=={plain}.*" if open_ended else f"=={version}"
    # PEP 440 has no local version in a bound: `>=1.3.2+ecbda83`
    return f"{operator}{version if operator == '!=' else plain.partition('+')[0]}"


def as_requirement(text: str) -> str | None:
    """Return a conda spec as a requirement of PyPI's, by its name; None where it can't be written so."""
    try:
        spec = parse_match_spec(text)
        return str(Requirement(f"{canonicalize_name(spec.name)}{as_specifier(spec)}"))
    except (ValueError, InvalidRequirement):
        return None
