"""Which gpuenv a bootstrap script carries."""

from __future__ import annotations

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from gpuenv import __version__
from gpuenv.bootstrap.build_wheel import named_wheel, own_wheel
from gpuenv.bootstrap.lab import Lab
from gpuenv.bootstrap.model import CarriedWheel
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError


def choose_gpuenv(typed: str | None, lab: Lab | None) -> CarriedWheel:
    """Return the gpuenv that the script carries: this very one, since it knows the options in the script.

    A lab may name the wheel of another, which lies beside its file. Raises UsageError where this one is not
    the version that is asked for: no index can vouch for another.
    """
    if lab and lab.file.wheel and not typed:
        return named_wheel(lab.path.parent / lab.file.wheel)
    version = typed or (lab.file.version if lab else None)
    if version is not None and not _is_wanted(version):
        raise UsageError(
            tr("the script would carry this gpuenv, {version}, but {wanted} is required",
               version=__version__, wanted=version),
            code="another-gpuenv",
            fixes=(
                Fix(tr("create the script with that gpuenv")),
                Fix(tr("or name its wheel in lab.toml, as `wheel` of `[gpuenv]`")),
            ),
        )  # fmt: skip
    return own_wheel()


def _is_wanted(version: str) -> bool:
    try:
        wanted = SpecifierSet(f"=={Version(version)}" if version[:1].isdigit() else version)
    except (InvalidSpecifier, InvalidVersion):
        raise UsageError(
            tr("`{version}` is not a valid version of gpuenv (examples: 0.1.0, '>=0.1')", version=version),
            code="bad-version",
        ) from None
    return wanted.contains(__version__, prereleases=True)
