"""A micromamba that really plans and makes environments: it answers as 2.8.1 does, py-rattler does the work.

It wipes what is there, as micromamba does with `-y`, and leaves what it began. `write_micromamba` puts it
into a directory; what else it does wrong, its settings say.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_WITH_VALUE = ("-p", "-c", "--file")
_GONE = "critical libmamba Thread interrupted. Aborting.\n"


@dataclass(frozen=True)
class Micromamba:
    """One on disk."""

    program: Path
    root: Path

    @property
    def environments(self) -> Path:
        return self.root / "envs"

    @property
    def calls(self) -> list[str]:
        log = self._beside("calls")
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    @property
    def condarc(self) -> str:
        """The configuration it was given at the last call."""
        return self._beside("condarc").read_text(encoding="utf-8")

    @property
    def waits(self) -> bool:
        """Whether it has come to where it was to stop."""
        return self._beside("waiting").exists()

    def does(self, **settings: Any) -> None:
        """Let it take CPU builds (`cpu`), wait as it solves (`thinks`) or makes (`stops`), fail (`fails`)."""
        self._beside("settings").write_text(json.dumps(settings), encoding="utf-8")

    def _beside(self, ending: str) -> Path:
        return self.program.with_name(f"{self.program.name}.{ending}")


def write_micromamba(directory: Path, root: Path) -> Micromamba:
    """Write the program into a directory; it keeps packages and environments below `root`."""
    made = Micromamba(directory / "micromamba", root)
    words = (sys.executable, str(Path(__file__).resolve()), str(made.program), str(root))
    made.program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    made.program.chmod(0o755)
    made.does()
    return made


def main(program: str, root: str, *words: str) -> int:
    """Do what micromamba would."""
    made = Micromamba(Path(program), Path(root))
    with made.program.with_name("micromamba.calls").open("a", encoding="utf-8") as log:
        log.write(" ".join(words) + "\n")
    if words[0] == "info":
        print(json.dumps(_info(made.root)))
        return 0
    settings = json.loads(made.program.with_name("micromamba.settings").read_text(encoding="utf-8"))
    named = os.environ.get("CONDARC")
    condarc = Path(named).read_text(encoding="utf-8") if named else "{}"
    made.program.with_name("micromamba.condarc").write_text(condarc, encoding="utf-8")
    return _create(made, settings, _read_options(words[1:]), condarc)


def _info(root: Path) -> dict[str, Any]:
    return {
        "base environment": str(root), "channels": None, "envs directories": [str(root / "envs")],
        "libmamba version": "2.8.1", "micromamba version": "2.8.1", "package cache": [str(root / "pkgs")],
        "platform": "linux-64", "virtual packages": ["__unix=0=0", "__linux=6.8.0=0"],
    }  # fmt: skip


@dataclass(frozen=True)
class _Options:
    prefix: Path
    channels: tuple[str, ...]
    specs: tuple[str, ...]
    flags: frozenset[str]
    listed: tuple[str, ...] = ()


def _read_options(words: tuple[str, ...]) -> _Options:
    pairs = list(zip(("", *words), words, strict=False))
    values = {option: [word for before, word in pairs if before == option] for option in _WITH_VALUE}
    alone = [word for before, word in pairs if before not in _WITH_VALUE and word not in _WITH_VALUE]
    flags = frozenset(word for word in alone if word.startswith("-"))
    specs = tuple(word for word in alone if word not in flags)
    listed = tuple(
        line
        for file in values["--file"]
        for line in Path(file).read_text(encoding="utf-8").partition("@EXPLICIT\n")[2].splitlines()
    )
    return _Options(Path(values["-p"][0]), tuple(values["-c"]), specs, flags, listed)


def _create(made: Micromamba, settings: dict[str, Any], options: _Options, condarc: str) -> int:
    from rattler.exceptions import SolverError  # noqa: PLC0415 - an extra that may be missing

    if settings.get("thinks"):
        return _wait(made)
    if options.listed:
        return _create_listed(made, settings, options)
    try:
        records = asyncio.run(_solve(_places(options.channels, condarc), settings, options.specs))
    except SolverError as error:
        _say(f"error    libmamba Could not solve for environment specs\n{error}\n")
        return 1
    dry = "--dry-run" in options.flags
    if not dry and not _make(made, settings, options.prefix, records):
        return 1
    rows = [_row(record) for record in records]
    print(json.dumps({"success": True, "dry_run": dry, "actions": {"FETCH": rows, "LINK": rows}}))
    return 0


def _create_listed(made: Micromamba, settings: dict[str, Any], options: _Options) -> int:
    """Make an environment of a list; the history holds each build, as micromamba's does then."""
    places = dict.fromkeys(line.partition("#")[0].rsplit("/", 2)[0] for line in options.listed)
    records = asyncio.run(_find(tuple(places), options.listed))
    if not _make(made, settings, options.prefix, records):
        return 1
    exact = [f"{record.name.normalized}=={record.version}={record.build}" for record in records]
    quoted = ", ".join(json.dumps(spec) for spec in exact)
    text = f"==> 2026-11-23 23:27:51 <==\n# cmd: micromamba\n# update specs: [{quoted}]\n"
    (options.prefix / "conda-meta" / "history").write_text(text, encoding="utf-8")
    print(json.dumps({"success": True, "actions": {"LINK": [_row(record) for record in records]}}))
    return 0


async def _find(places: tuple[str, ...], listed: tuple[str, ...]) -> list[Any]:
    import rattler  # noqa: PLC0415

    names = {line.partition("#")[0].rsplit("/", 1)[1].rsplit("-", 2)[0] for line in listed}
    found = await rattler.Gateway().query(
        [rattler.Channel(place) for place in places],
        [rattler.Subdir("linux-64"), rattler.Subdir("noarch")],
        [rattler.MatchSpec(name, strict=False) for name in names],
        recursive=False,
    )
    by_row = {f"{item.url}#sha256:{item.sha256.hex()}": item for items in found for item in items}
    return [by_row[line] for line in listed]


def _wait(made: Micromamba) -> int:
    made.program.with_name("micromamba.waiting").touch()
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        _say(_GONE)
        return 1
    return 0


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _places(channels: tuple[str, ...], condarc: str) -> list[str]:
    from ruamel.yaml import YAML  # noqa: PLC0415

    custom = YAML(typ="safe", pure=True).load(condarc).get("custom_channels") or {}
    return [f"{custom[name]}/{name}" if name in custom else name for name in channels]


async def _solve(places: list[str], settings: dict[str, Any], specs: tuple[str, ...]) -> list[Any]:
    import rattler  # noqa: PLC0415
    from rattler.package import BuildString  # noqa: PLC0415

    cuda = "" if settings.get("cpu") else os.environ.get("CONDA_OVERRIDE_CUDA")
    packages = [package.into_generic() for package in rattler.VirtualPackage.detect()]
    virtual = [package for package in packages if package.name.normalized != "__cuda"]
    if cuda:
        version = rattler.Version(cuda)
        virtual.append(
            rattler.GenericVirtualPackage(rattler.PackageName("__cuda"), version, BuildString("0"))
        )
    strs = [_on_cpu(spec) for spec in specs] if settings.get("cpu") else specs
    return await rattler.solve(
        [rattler.Channel(location) for location in places],
        [rattler.MatchSpec(spec, strict=False) for spec in strs],
        gateway=rattler.Gateway(),
        platforms=[rattler.Subdir(os.environ.get("CONDA_SUBDIR", "linux-64")), rattler.Subdir("noarch")],
        virtual_packages=virtual,
    )


def _on_cpu(spec: str) -> str:
    """Leave out the build that is asked for."""
    return " ".join(spec.split()[:2])


def _make(made: Micromamba, settings: dict[str, Any], prefix: Path, records: list[Any]) -> bool:
    import rattler  # noqa: PLC0415

    if (prefix / "conda-meta").is_dir():
        shutil.rmtree(prefix)
    elif prefix.exists():
        _say("critical libmamba Non-conda folder exists at prefix - aborting.\n")
        return False
    asyncio.run(
        rattler.install(records, target_prefix=prefix, cache_dir=made.root / "pkgs", show_progress=False)
    )
    if settings.get("stops"):
        return _wait(made) == 0
    if settings.get("fails"):
        _say("critical libmamba filesystem error: cannot copy: Input/output error\n")
        return False
    return True


def _row(record: Any) -> dict[str, Any]:
    return {
        "name": record.name.normalized, "version": str(record.version), "build": str(record.build),
        "build_string": str(record.build), "build_number": record.build_number, "subdir": record.subdir,
        "channel": record.url.rsplit("/", 2)[0], "url": record.url, "fn": record.file_name,
        "depends": list(record.depends), "constrains": list(record.constrains), "size": record.size,
        "sha256": record.sha256.hex() if record.sha256 else None,
    }  # fmt: skip


if __name__ == "__main__":
    status = main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # py-rattler's threads crash an interpreter that ends meanwhile
