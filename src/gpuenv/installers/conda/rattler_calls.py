"""The calls of py-rattler, whose interface changes with most minor releases; only this module knows it.

It reads channels and downloads packages by itself, besides gpuenv.http the only use of the network.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct, field

from gpuenv.installers.conda.commands import specs
from gpuenv.installers.conda.rattler_client import RattlerSession, client, gateway
from gpuenv.model.conda import CondaChannel, CondaRecord, CondaWanted
from gpuenv.secrets.url_credentials import without_userinfo

if TYPE_CHECKING:
    from rattler import Channel, GenericVirtualPackage, RepoDataRecord

T = TypeVar("T")

# of another machine: gpuenv's own rules have judged whether builds suit its system
_NO_LIMIT_GLIBC = "2.99"
# Its threads release Python after they have answered: a process that ends before crashes
# (`PyGILState_Release: thread state must be current`; 8 of 120 runs, none after 10 ms).
_SETTLES_S = 0.05


class RattlerError(Exception):
    """An error of py-rattler: the name of its exception, and its text."""

    def __init__(self, exception: str, text: str) -> None:
        super().__init__(text)
        self.exception = exception


class InstallProgress(Struct, dict=True):
    """Callbacks of an installation: `progress` gets bytes received and expected, `linked` each package."""

    total: int
    progress: Callable[[int, int], None] = lambda _, __: None
    linked: Callable[[str], None] = lambda _: None
    received: dict[int, int] = field(default_factory=dict)


def solve_records(
    wanted: CondaWanted, session: RattlerSession
) -> tuple[tuple[CondaRecord, ...], tuple[CondaRecord, ...]]:
    """Return the packages of the new environment, and which of them to download; raise RattlerError."""
    return _run(_solve(wanted, session))


def install_records(
    wanted: CondaWanted, records: tuple[CondaRecord, ...], session: RattlerSession, follower: InstallProgress
) -> None:
    """Install packages into the prefix; raise RattlerError, or LookupError for one that no longer exists."""
    _run(_install(wanted, records, session, follower))


def _run(work: Coroutine[Any, Any, T]) -> T:
    import asyncio  # noqa: PLC0415 - planning needs none of it

    from rattler import exceptions  # noqa: PLC0415 - an extra that may be missing

    names = (name for name in exceptions.__all__ if name.endswith("Error") and name != "ParsePlatformError")
    known = tuple(getattr(exceptions, name) for name in names)
    try:
        return asyncio.run(work)
    except known as error:
        raise RattlerError(type(error).__name__, str(error)) from None
    finally:
        time.sleep(_SETTLES_S)


async def _solve(
    wanted: CondaWanted, session: RattlerSession
) -> tuple[tuple[CondaRecord, ...], tuple[CondaRecord, ...]]:
    import rattler  # noqa: PLC0415

    solved = await rattler.solve(
        _channels(wanted.channels),
        [rattler.MatchSpec(_located(spec, wanted.channels), strict=False) for spec in specs(wanted)],
        gateway=gateway(wanted, session),
        platforms=_platforms(wanted),
        virtual_packages=_virtual_packages(wanted),
        channel_relations="disabled",
    )
    cached = await rattler.PackageCache(session.packages).index()
    records = _records(solved, wanted.channels)
    pairs = zip(records, solved, strict=True)
    return records, tuple(record for record, native in pairs if not cached.contains_record(native))


async def _install(
    wanted: CondaWanted, records: tuple[CondaRecord, ...], session: RattlerSession, follower: InstallProgress
) -> None:
    import rattler  # noqa: PLC0415

    exact = [f"{record.name} =={record.version} {record.build}" for record in records]
    result = await gateway(wanted, session).query(
        _channels(wanted.channels),
        _platforms(wanted),
        [rattler.MatchSpec(spec, strict=False) for spec in exact],
        recursive=False,
        channel_relations="disabled",
    )
    await rattler.install(
        _same((native for natives in result for native in natives), records),
        target_prefix=wanted.prefix,
        cache_dir=session.packages,
        platform=rattler.Subdir(wanted.subdir),
        client=client(wanted.channels, session),
        show_progress=False,
        reporter=cast("Any", _Reporter(follower)),  # other callbacks are optional
    )


def _same(natives: Iterable[RepoDataRecord], records: tuple[CondaRecord, ...]) -> list[RepoDataRecord]:
    """Return py-rattler's records of these packages; raise LookupError for one that was replaced."""
    by_file = {(record.subdir, record.file_name, _hex(record.sha256)): record for record in natives}
    keys = [(record.subdir, record.filename, record.sha256) for record in records]
    gone = [key[1] for key in keys if key not in by_file]
    if gone:
        raise LookupError(gone[0])
    return [by_file[key] for key in keys]


def _channels(channels: tuple[CondaChannel, ...]) -> list[Channel]:
    import rattler  # noqa: PLC0415

    return [rattler.Channel(channel.urls[0] if channel.urls else channel.name) for channel in channels]


def _located(spec: str, channels: tuple[CondaChannel, ...]) -> str:
    """Put the URL in place of a spec's channel: py-rattler takes a name for conda.anaconda.org's.

    conda-forge::numpy
    conda-forge/linux-64::numpy >=2
    """
    before, mark, package = spec.partition("::")
    if not mark or " " in before:
        return spec
    name, _, subdir = before.partition("/")
    for channel in channels:
        if channel.urls and before == channel.name:
            return f"{channel.urls[0].rstrip('/')}::{package}"
        if channel.urls and name == channel.name:
            return f"{channel.urls[0].rstrip('/')}/{subdir}::{package}"
    return spec


def _platforms(wanted: CondaWanted) -> list[Any]:
    import rattler  # noqa: PLC0415

    return [rattler.Subdir(wanted.subdir), rattler.Subdir("noarch")]


def _virtual_packages(wanted: CondaWanted) -> list[GenericVirtualPackage]:
    """Return the virtual packages of this or another machine, with the planned CUDA."""
    import rattler  # noqa: PLC0415

    if wanted.subdir == str(rattler.Subdir.current()):
        packages = [package.into_generic() for package in rattler.VirtualPackage.detect()]
        system = [package for package in packages if package.name.normalized != "__cuda"]
    else:
        system = [_virtual(*fields) for fields in _system_of(wanted.subdir)]
    return [*system, _virtual("__cuda", wanted.cuda)] if wanted.cuda else system


def _system_of(subdir: str) -> list[tuple[str, str, str]]:
    """Return virtual packages of another machine that allow all builds."""
    system, _, machine = subdir.partition("-")
    architecture = ("__archspec", "1", {"64": "x86_64"}.get(machine, machine))
    if system == "win":
        return [("__win", "10", "0"), architecture]
    if system != "linux":
        return [("__unix", "0", "0"), ("__osx", "99", "0"), architecture]
    return [("__unix", "0", "0"), ("__linux", "99", "0"), ("__glibc", _NO_LIMIT_GLIBC, "0"), architecture]


def _virtual(name: str, version: str, build: str = "0") -> GenericVirtualPackage:
    import rattler  # noqa: PLC0415
    from rattler.package import BuildString  # noqa: PLC0415

    package, release = rattler.PackageName(name), rattler.Version(version)
    return rattler.GenericVirtualPackage(package, release, BuildString(build))


def _records(
    natives: Iterable[RepoDataRecord], channels: tuple[CondaChannel, ...]
) -> tuple[CondaRecord, ...]:
    return tuple(
        CondaRecord(
            name=record.name.normalized,
            version=str(record.version),
            build=str(record.build),
            build_number=record.build_number,
            subdir=record.subdir,
            channel=_channel_of(record.url, channels),
            filename=record.file_name,
            url=record.url,
            sha256=_hex(record.sha256),
            md5=_hex(record.md5),
            size=record.size,
            depends=tuple(record.depends),
            constrains=tuple(record.constrains),
        )
        for record in natives
    )


def _hex(digest: bytes | None) -> str | None:
    return digest.hex() if digest else None


def _channel_of(url: str, channels: tuple[CondaChannel, ...]) -> str:
    """Return the name of a URL's channel; that of an unknown one is its folder."""
    plain = without_userinfo(url)
    for channel in channels:
        if any(plain.startswith(f"{without_userinfo(item).rstrip('/')}/") for item in channel.urls):
            return channel.name
    return url.rsplit("/", 3)[1] if url.count("/") > 2 else url  # noqa: PLR2004 - …/conda-forge/linux-64/file


class _Reporter:
    """Callbacks for py-rattler, which calls them from its threads."""

    def __init__(self, follower: InstallProgress) -> None:
        self._follower = follower

    def on_download_start(self, cache_entry: int) -> int:
        self._follower.received[cache_entry] = 0
        return cache_entry

    def on_download_progress(self, download_idx: int, progress: int, total: int | None) -> None:
        del total
        self._follower.received[download_idx] = progress
        self._follower.progress(sum(self._follower.received.values()), self._follower.total)

    def on_link_start(self, operation: int, package_name: str) -> int:
        self._follower.linked(package_name)
        return operation
