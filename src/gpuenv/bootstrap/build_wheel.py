"""The wheel of gpuenv that a script carries: its own, rebuilt from the installed files, or a named one.

https://packaging.python.org/en/latest/specifications/binary-distribution-format/
https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib import metadata
from io import BytesIO
from pathlib import Path, PurePosixPath
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

import gpuenv
from gpuenv import __version__, matrices
from gpuenv.bootstrap.lab import Lab
from gpuenv.bootstrap.model import CarriedWheel
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.own_metadata import PROJECT, checkout, metadata_text, requires_of

_MATRICES = "gpuenv/matrices/data"
_ENTRY_POINTS = "[console_scripts]\ngpuenv = gpuenv.__main__:main\n"
_WHEEL = "Wheel-Version: 1.0\nGenerator: gpuenv {version}\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
# what installers put into a .dist-info
_INSTALLERS = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json")
_DAY = (2020, 2, 2, 0, 0, 0)
_MODE = 0o100644 << 16
_UNIX = 3
_SHOWN = 3


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


def own_wheel() -> CarriedWheel:
    """Return the wheel of the gpuenv that runs.

    Installed from a wheel, its files are those of its RECORD, each compared with the hash there; in a source
    checkout they are those of the checkout. Raises UsageError where files were changed or are missing.
    """
    version = __version__
    info = f"{PROJECT}-{version}.dist-info"
    members = _of_checkout(info) if checkout() is not None else _of_record(info)
    return _carried(f"{PROJECT}-{version}-py3-none-any.whl", pack(members, info))


def named_wheel(path: Path) -> CarriedWheel:
    """Return a wheel of gpuenv's that was named; raise UsageError for any other file."""
    try:
        return _carried(path.name, path.read_bytes())
    except (OSError, ValueError, BadZipFile, KeyError, InvalidWheelFilename) as error:
        raise UsageError(
            tr("`{path}` cannot be read: {reason}", path=path, reason=reason_of(error)),
            code="bad-wheel",
            fixes=(Fix(tr("name an existing wheel of gpuenv: its hash goes into the script")),),
        ) from None


def pack(members: Mapping[str, bytes], info: str) -> bytes:
    """Return a wheel of these members: in the order of their names, RECORD last, all of one day and mode."""
    rows = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in sorted(members.items())]
    record = "\n".join((*rows, f"{info}/RECORD,,", ""))
    written = BytesIO()
    with ZipFile(written, "w") as archive:
        for name, content in (*sorted(members.items()), (f"{info}/RECORD", record.encode())):
            entry = ZipInfo(name, _DAY)
            entry.external_attr, entry.create_system = _MODE, _UNIX
            entry.compress_type = ZIP_DEFLATED
            archive.writestr(entry, content)
    return written.getvalue()


def _carried(name: str, content: bytes) -> CarriedWheel:
    project, version, *_ = parse_wheel_filename(name)
    if project != PROJECT:
        raise ValueError(tr("it is not a wheel of gpuenv"))
    with ZipFile(BytesIO(content)) as archive:
        text = archive.read(f"{PROJECT}-{version}.dist-info/METADATA").decode()
    return CarriedWheel(name, str(version), sha256(content).hexdigest(), content, requires_of(text))


def _of_record(info: str) -> dict[str, bytes]:
    """Return the files of the wheel that was installed, without what the installer made of it."""
    try:
        files = metadata.distribution(PROJECT).files or ()
    except metadata.PackageNotFoundError:
        files = ()
    members: dict[str, bytes] = {}
    changed: list[str] = []
    for file in files:
        if _is_installers(file, info):
            continue
        content = _content(Path(str(file.locate())))
        if content is None or (file.hash and _digest(content, file.hash.mode) != file.hash.value):
            changed.append(file.as_posix())
        else:
            members[file.as_posix()] = content
    if changed or f"{info}/METADATA" not in members:
        raise _not_as_installed(changed)
    return members


def _is_installers(file: PurePosixPath, info: str) -> bool:
    """Whether an installer made a file: scripts, bytecode, and its own notes."""
    outside = file.is_absolute() or ".." in file.parts
    noted = file.parts[0] == info and file.name in _INSTALLERS
    return outside or noted or "__pycache__" in file.parts or file.suffix == ".pyc"


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _not_as_installed(changed: list[str]) -> UsageError:
    shown = ", ".join(f"`{name}`" for name in changed[:_SHOWN]) + (", ..." if changed[_SHOWN:] else "")
    because = (
        (Because(tr("modified since they were installed: {files}", files=shown), "RECORD"),)
        if changed
        else ()
    )
    return UsageError(
        tr("the script carries gpuenv itself, but the files of this gpuenv were modified after installation"),
        code="gpuenv-changed",
        because=because,
        fixes=(Fix(tr("reinstall gpuenv, then create the script")),),
    )


def _of_checkout(info: str) -> dict[str, bytes]:
    """Return the files of a source checkout under the names that its wheel has for them."""
    package = Path(gpuenv.__file__).parent
    members = dict(_below(package, PROJECT))
    members |= dict(_below(matrices.directory(), _MATRICES))
    members[f"{info}/METADATA"] = metadata_text().encode()
    members[f"{info}/WHEEL"] = _WHEEL.format(version=__version__).encode()
    members[f"{info}/entry_points.txt"] = _ENTRY_POINTS.encode()
    licence = _content(package.parents[1] / "LICENSE")
    if licence is not None:
        members[f"{info}/licenses/LICENSE"] = licence
    return members


def _below(folder: Path, under: str) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in inside.parts)
        if path.is_file() and not path.is_symlink() and not hidden:
            yield f"{under}/{inside.as_posix()}", path.read_bytes()


def _digest(content: bytes, mode: str = "sha256") -> str:
    """Return a hash as RECORD writes it."""
    import hashlib  # noqa: PLC0415 - a RECORD may name any algorithm

    return base64.urlsafe_b64encode(hashlib.new(mode, content).digest()).rstrip(b"=").decode()
