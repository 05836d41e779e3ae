"""The words that an option may have."""

from __future__ import annotations

from typing import Literal

LanguageName = Literal["auto", "en", "zh"]
ColorName = Literal["auto", "always", "never"]
ManagerName = Literal["auto", "uv", "pip", "conda", "mamba", "micromamba", "rattler"]
ChannelName = Literal["auto", "wheels", "conda-forge", "pytorch"]
PlatformName = Literal["linux-64", "linux-aarch64", "win-64", "osx-arm64", "osx-64"]
AcceleratorName = Literal["auto", "cuda", "rocm", "xpu", "mps", "npu", "cpu"]
ScopeName = Literal["user", "environment", "site"]
FormatName = Literal[
    "text", "json", "environment.yml", "requirements.txt", "pylock.toml", "pyproject", "pixi.toml",
    "dockerfile", "devcontainer", "bootstrap", "ansible", "slurm", "pip", "uv",
]  # fmt: skip
PreviewName = Literal["variants"]
ShellName = Literal[
    "bash", "zsh", "fish", "sh", "dash", "ash", "ksh",
    "powershell", "pwsh", "cmd", "csh", "tcsh", "nu", "xonsh",
]  # fmt: skip
