"""Where pip and uv keep their configuration files, by operating system."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

Scope = Literal["user", "environment", "site"]  # site: everybody's on this machine


class ConfigurationFolders(Struct, frozen=True):
    """The folders of configuration; `prefix` is the Python environment, `platform` is `sys.platform`."""

    environ: Mapping[str, str]
    home: Path
    root: Path
    prefix: Path
    platform: str

    @property
    def windows(self) -> bool:
        """Whether files are where Windows has them."""
        return self.platform == "win32"

    @property
    def mac(self) -> bool:
        """Whether files are where macOS has them."""
        return self.platform == "darwin"

    def pip_files(self) -> tuple[Path, ...]:
        """List pip's files by increasing precedence.

        https://pip.pypa.io/en/stable/topics/configuration/
        """
        named = self.environ.get("PIP_CONFIG_FILE")
        if named == os.devnull:
            return ()
        legacy = self.home / ("pip" if self.windows else ".pip") / self._pip_name
        user = () if named and Path(named).exists() else (legacy, self._pip_own / self._pip_name)
        site = self.prefix / self._pip_name
        return (*self._pip_global(), *user, site, *((Path(named),) if named else ()))

    def uv_files(self) -> tuple[Path, ...]:
        """List uv's files by decreasing precedence.

        https://docs.astral.sh/uv/concepts/configuration-files/
        """
        if self.environ.get("UV_NO_CONFIG", "0").lower() not in ("", "0", "false", "no", "off"):
            return ()
        if named := self.environ.get("UV_CONFIG_FILE"):
            return (Path(named),)
        if self.windows:
            return tuple(folder / "uv" / "uv.toml" for folder in (self._roaming, self._program_data))
        system = [folder / "uv" / "uv.toml" for folder in self._shared] if not self.mac else []
        system.append(self.root / "etc" / "uv" / "uv.toml")
        first = next((path for path in system if path.exists()), system[-1])
        return (self._config_home / "uv" / "uv.toml", first)

    def pip_file(self, scope: Scope) -> Path:
        """Return the file that pip reads for a scope; `environment` is the prefix's."""
        if scope == "environment":
            return self.prefix / self._pip_name
        return self._pip_own / self._pip_name if scope == "user" else self._pip_global()[-1]

    def uv_file(self, scope: Scope) -> Path | None:
        """Return the file that uv reads for a scope; None for an environment, which has none."""
        if scope == "environment":
            return None
        if self.windows:
            return (self._roaming if scope == "user" else self._program_data) / "uv" / "uv.toml"
        return (self._config_home if scope == "user" else self.root / "etc") / "uv" / "uv.toml"

    def conda_file(self, scope: Scope) -> Path:
        """Return the file that conda and mamba read for a scope.

        https://docs.conda.io/projects/conda/en/stable/user-guide/configuration/use-condarc.html
        """
        if scope == "environment":
            return self.prefix / ".condarc"
        if scope == "user":
            return self.home / ".condarc"
        return (self._program_data if self.windows else self.root / "etc") / "conda" / ".condarc"

    @property
    def _pip_name(self) -> str:
        return "pip.ini" if self.windows else "pip.conf"

    def _pip_global(self) -> tuple[Path, ...]:
        if self.windows:
            return (self._program_data / "pip" / self._pip_name,)
        if self.mac:
            return (self.root / "Library" / "Application Support" / "pip" / self._pip_name,)
        shared = (folder / "pip" / self._pip_name for folder in self._shared)
        return (*shared, self.root / "etc" / self._pip_name)

    @property
    def _pip_own(self) -> Path:
        if self.windows:
            return self._roaming / "pip"
        support = self.home / "Library" / "Application Support" / "pip"
        if self.mac and support.is_dir():
            return support
        return (self.home / ".config" if self.mac else self._config_home) / "pip"

    @property
    def _config_home(self) -> Path:
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")

    @property
    def _shared(self) -> list[Path]:
        named = [Path(part) for part in self.environ.get("XDG_CONFIG_DIRS", "").split(os.pathsep) if part]
        return named or [self.root / "etc" / "xdg"]

    @property
    def _roaming(self) -> Path:
        return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")

    @property
    def _program_data(self) -> Path:
        return Path(self.environ.get("PROGRAMDATA") or self.root / "ProgramData")
