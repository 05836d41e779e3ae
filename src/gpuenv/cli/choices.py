"""The words that an option may have."""

from __future__ import annotations

from enum import Enum


class ManagerName(str, Enum):
    """Who installs."""

    auto = "auto"
    uv = "uv"
    pip = "pip"
    conda = "conda"
    mamba = "mamba"
    micromamba = "micromamba"
    rattler = "rattler"


class ChannelName(str, Enum):
    """Where torch itself comes from when the manager is a conda tool."""

    auto = "auto"
    wheels = "wheels"
    forge = "conda-forge"
    pytorch = "pytorch"


class PlatformName(str, Enum):
    """Platforms that CUDA builds of torch are published for."""

    linux_64 = "linux-64"
    linux_aarch64 = "linux-aarch64"
    win_64 = "win-64"


class FormatName(str, Enum):
    """Formats of a plan."""

    text = "text"
    json = "json"
    environment = "environment.yml"
    requirements = "requirements.txt"
    pylock = "pylock.toml"
    pyproject = "pyproject"
    pixi = "pixi.toml"
    dockerfile = "dockerfile"
    devcontainer = "devcontainer"
    bootstrap = "bootstrap"
    ansible = "ansible"
    slurm = "slurm"
    pip = "pip"
    uv = "uv"


class ConfiguredTool(str, Enum):
    """Tools whose configuration names mirrors."""

    pip = "pip"
    uv = "uv"
    conda = "conda"
    mamba = "mamba"


class ScopeName(str, Enum):
    """Whose configuration."""

    user = "user"
    environment = "environment"
    site = "site"


class ShellName(str, Enum):
    """Shells that an environment can be activated in."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"
    sh = "sh"
    dash = "dash"
    ash = "ash"
    ksh = "ksh"
    powershell = "powershell"
    pwsh = "pwsh"
    cmd = "cmd"
    csh = "csh"
    tcsh = "tcsh"
    nu = "nu"
    xonsh = "xonsh"


class LanguageName(str, Enum):
    """Languages of the texts."""

    auto = "auto"
    en = "en"
    zh = "zh"
