"""Requirements that name a file by its address, a folder or a version control: which a plan may look into."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement

from gpuenv.i18n.messages import series, tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.plan import PlanWarning
from gpuenv.secrets.url_credentials import redact_credentials

NOT_RESOLVED = "not-resolved"
_VARIABLE = "${"


class Parted(Struct, frozen=True):
    """Requirements by what it takes to learn what they depend on.

    `listed` are of an index, `wheels` tell without being run, what is `built` runs its author's code, and
    what is `filled` in from variables, as uv and pip do, tells them to whoever the address belongs to.
    """

    listed: tuple[str, ...]
    wheels: tuple[str, ...]
    built: tuple[str, ...]
    filled: tuple[str, ...] = ()


def part_by_address(requirements: Iterable[str]) -> Parted:
    """Part requirements; what can't be parsed counts as listed, as its resolver refuses it."""
    kinds: dict[str, list[str]] = {"listed": [], "wheels": [], "built": [], "filled": []}
    for text in requirements:
        kinds[_kind(text)].append(text)
    return Parted(*(tuple(kinds[kind]) for kind in ("listed", "wheels", "built", "filled")))


def _kind(text: str) -> str:
    try:
        url = Requirement(text).url
    except InvalidRequirement:
        return "listed"
    if url is None:
        return "listed"
    if _VARIABLE in url:
        return "filled"
    parts = urlsplit(url)
    is_file = parts.scheme.lower() in {"", "http", "https", "file"}
    return "wheels" if is_file and unquote(parts.path).lower().endswith(".whl") else "built"


def refuse_building(requirements: Iterable[str]) -> None:
    """Raise UsageError where something would have to be built, and nothing may be."""
    for text in part_by_address(requirements).built:
        raise UsageError(
            tr(
                "`{requirement}` must be built, which --only-binary disallows",
                requirement=redact_credentials(text),
            ),
            code="needs-building",
            fixes=(Fix(tr("specify a wheel or a release of it, or omit --only-binary")),),
        )


def warn_of_unresolved(requirements: tuple[str, ...]) -> tuple[PlanWarning, ...]:
    """Warn of requirements that a plan leaves out of its resolution: to read them would run their code."""
    filled = set(part_by_address(requirements).filled)
    run = series(redact_credentials(requirement) for requirement in requirements if requirement not in filled)
    sent = series(redact_credentials(requirement) for requirement in requirements if requirement in filled)
    texts = (
        run
        and tr(
            "{requirements}: not resolved in the plan, as that would run their code; built during "
            "installation, with their dependencies",
            requirements=run,
        ),
        sent
        and tr(
            "{requirements}: not resolved in the plan, as that would send your variables to these "
            "URLs; downloaded during installation, with their dependencies",
            requirements=sent,
        ),
    )
    return tuple(PlanWarning(NOT_RESOLVED, text) for text in texts if text)


def warn_of_building(names: tuple[str, ...]) -> tuple[PlanWarning, ...]:
    """Warn of packages of an index that have no wheel: their metadata was built, which runs their code."""
    if not names:
        return ()
    text = tr(
        "{packages}: the index has no wheel; building it, for its metadata and at install, runs its code"
        " (--only-binary refuses that)",
        packages=series(names),
    )
    return (PlanWarning("built-for-metadata", text),)
