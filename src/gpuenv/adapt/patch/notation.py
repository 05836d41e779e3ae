"""A changed requirement in the words of the place where it stands: pip's, conda's, poetry's."""

from __future__ import annotations

import re

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, Specifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gpuenv.adapt.model import DeclaredRequirement
from gpuenv.i18n.messages import tr

_PIP = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*)(?P<extras>\s*\[[^\]]*\])?(?P<gap>\s*)"
    r"\(?(?:[=<>!~][^;@]*?)?\)?(?P<marker>\s*;.*)?",
    re.DOTALL,
)
_CONDA = re.compile(r"(?P<name>(?:[\w./:-]+::)?[A-Za-z0-9_][\w.-]*)(?P<rest>.*)", re.DOTALL)
_CONDAS_PYTHON = re.compile(r"(?P<name>(?:[\w./:-]+::)?python)(?P<rest>.*)", re.DOTALL)
_PYTHON = re.compile(r"\d+\.\d+(?:\.\d+)?")
_CUDA = re.compile(r"\d+\.\d+")
_QUOTES = "\"'"


def rendered(declared: DeclaredRequirement, new: str, channel: str | None = None) -> str:
    """Return what replaces `asked.text` so that it says `new`; raise ValueError where it can't be said there.

    `new` is PEP 508, a Python (`3.10`, or a specifier), a CUDA (`12.8`, `cpu`, or conda's spec of it,
    `cuda-version=12.8`), an option line or an address; `channel` replaces the one that conda's spec names.
    """
    if declared.project == "index":
        return _index(declared.text, new)
    if declared.project == "python":
        return _python(declared, new)
    if declared.project == "cuda":
        return _cuda(declared.text, new)
    try:
        requirement = Requirement(new.partition(" --hash")[0])
    except InvalidRequirement:
        raise ValueError(tr("`{text}` is not a valid requirement", text=new)) from None
    if declared.notation == "conda":
        text = _conda(declared.text, requirement)
        return f"{channel}::{text.rpartition('::')[2]}" if channel else text
    if declared.notation == "poetry":
        version = _poetry_version(declared.text, requirement)
        return f'"{version}"' if declared.text.startswith("{") else version
    return _pip(declared.text, requirement) + new[len(new.partition(" --hash")[0]) :]


def added(project: str, new: str, notation: str) -> str:
    """Return a new entry of a list of requirements that says `new`; raise ValueError as `rendered` does."""
    if notation == "conda":
        if project == "python":
            return f"python={new}" if _PYTHON.fullmatch(new) else f"python{new}"
        if project == "cuda":
            return _cuda("cuda-version", new)
        if project != "index":
            name = "pytorch" if project == "torch" else project
            return _conda(name, Requirement(new))
    return new


def _index(text: str, new: str) -> str:
    """An option with its address as the line was; an address alone (TOML), a channel."""
    if not text.startswith("-"):
        return re.split(r"[=\s]+", new.strip(), maxsplit=1)[-1] if new.startswith("-") else new
    option = re.match(r"--[a-z-]+(?:\s*=\s*|\s+)|-[fi]\s*", text)
    return f"{option[0]}{new}" if option and not new.startswith("-") else new


def _pip(text: str, new: Requirement) -> str:
    bare = re.sub(r"\\\r?\n\s*", "", text)
    bare = re.split(r"(?<!\s)\s+--?[a-zA-Z]", bare, maxsplit=1)[0]
    old = _PIP.fullmatch(bare.strip())
    if old is None or new.url is not None:  # an address before, or one now
        return str(new)
    is_same = canonicalize_name(old["name"]) == canonicalize_name(new.name)
    name = old["name"] if is_same else new.name
    extras = f"[{','.join(sorted(new.extras))}]" if new.extras else old["extras"] or ""
    gap = (" " if old["gap"] else "") if new.specifier else ""
    marker = f"; {new.marker}" if new.marker and not old["marker"] else old["marker"] or ""
    return f"{name}{extras}{gap}{gap_after(str(_ordered(new.specifier)), gap)}{marker}"


def gap_after(specifier: str, gap: str) -> str:
    """Write `==1.7` as `== 1.7` where the line had blanks around its operator."""
    return re.sub(r"([=<>!~]+)", r"\1" + gap, specifier) if gap else specifier


def _ordered(specifier: SpecifierSet) -> str:
    """Return the clauses with the lower bound first, as people write them."""
    clauses = sorted(specifier, key=lambda clause: (clause.operator[0] != ">", str(clause)))
    return ",".join(map(str, clauses))


def _conda(text: str, new: Requirement) -> str:
    if new.url is not None:
        raise ValueError(tr("`{text}` is not a valid conda requirement", text=str(new)))
    old = _CONDA.fullmatch(text)
    name, rest = (old["name"], old["rest"]) if old else (new.name, "")
    blank = " " if rest[:1].isspace() else ""
    exact = "==" if rest.lstrip().startswith("==") else "=" if not blank else ""
    return f"{name}{blank}{_conda_version(new.specifier, exact)}".rstrip()


def _conda_version(specifier: SpecifierSet, exact: str) -> str:
    clauses = list(specifier)
    if len(clauses) == 1 and clauses[0].operator in ("==", "==="):
        version = clauses[0].version.partition("+")[0]
        return f"{'=' if version.endswith('.*') and exact else exact}{version.removesuffix('.*')}"
    return _ordered(specifier)


def _poetry_version(text: str, new: Requirement) -> str:
    clauses = list(new.specifier)
    if new.url is not None:
        raise ValueError(tr("`{text}` is not a valid poetry requirement", text=str(new)))
    if len(clauses) != 1 or clauses[0].operator not in ("==", "==="):
        return _ordered(new.specifier) or "*"
    version = clauses[0].version
    old = text.strip()
    if old[:1] in ("^", "~") and old[:2] != "~=":
        return f"{old[0]}{version.partition('+')[0].removesuffix('.*')}"
    return f"=={version}" if old.startswith("==") else version


def _python(declared: DeclaredRequirement, new: str) -> str:
    if declared.notation == "conda":
        old = _CONDAS_PYTHON.fullmatch(declared.text)
        name, rest = (old["name"], old["rest"]) if old else ("python", "")
        if not _PYTHON.fullmatch(new):
            return f"{name}{new}"
        if re.match(r"\s*(?:[<>!~]|.*,)", rest):
            return name + (" " if rest[:1].isspace() else "") + admitting(rest.strip(), new)
        return f"{name}{' ' if rest[:1].isspace() else '='}{new}"
    if not _PYTHON.fullmatch(new):
        return new
    text = declared.text.strip()
    if declared.notation == "poetry" and re.match(r"(?:\^|~(?!=)|\d)", text):
        return f"{text[0] if text[0] in '^~' else ''}{new}{'.*' if text.endswith('.*') else ''}"
    return admitting(text, new)


def admitting(specifier: str, python: str) -> str:
    """Change the least of a specifier that admits `python`: `>=3.6,<3.8` for 3.10 to `>=3.6,<3.11`."""
    clauses = [item.strip() for item in specifier.split(",") if item.strip()]
    return ",".join(filter(None, (_clause(clause, python) for clause in clauses))) or f">={python}"


def _clause(text: str, python: str) -> str:
    try:
        clause = Specifier(text)
        if clause.contains(Version(python if python.count(".") > 1 else f"{python}.99"), prereleases=True):
            return text
    except (InvalidSpecifier, InvalidVersion):
        return f">={python}"
    major, minor = python.split(".")[:2]
    if clause.operator in ("<", "<="):
        return f"<{major}.{int(minor) + 1}"
    if clause.operator in (">", ">="):
        return f">={python}"
    if clause.operator == "!=":
        return ""
    return f"=={python}{'.*' if python.count('.') == 1 else ''}"


def _cuda(text: str, new: str) -> str:
    """A release goes where the old one stood; what is chosen by another name is a whole spec."""
    if new == "cpu":
        return "cpuonly"
    if _CUDA.fullmatch(new) is None:
        return new
    name = (_CONDA.fullmatch(text) or {"name": text})["name"]
    gap = " " if re.match(r"[^=]*\s\d", text) else "="
    return f"{name}{gap}{new}"


def quoted_within(text: str, quote: str) -> str:
    """Return a text as it stands between quotes, its own quotes being of the other kind; raise ValueError."""
    other = _QUOTES.replace(quote, "")
    safe = text.replace(quote, other) if other not in text else text
    if quote in safe or "\\" in safe or not safe.isprintable():
        raise ValueError(tr("`{text}` cannot be written in quotes", text=text))
    return safe
