"""pip's configuration: its files, and the constraints that they and the variables name.

[global]
index-url = https://example.com/simple
extra-index-url =
    https://one.example.com/simple
    https://two.example.com/simple
[install]
find-links = /opt/wheels
"""

from __future__ import annotations

from pathlib import Path

from gpuenv.files.read_limited import read_limited_text
from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.locations import ConfigurationFolders

# options by which pip chooses other files than a resolver
_SELECTING = (
    "pre", "no-binary", "only-binary", "prefer-binary", "requirement", "editable", "platform", "abi",
    "implementation", "python-version", "ignore-requires-python", "uploaded-prior-to", "all-releases",
    "only-final", "build-constraint",
)  # fmt: skip
_SECTIONS = ("global", "install")
_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")


def parse_pip_configuration(text: str) -> dict[str, str]:
    """Read the sections that `pip install` reads, as `section.option`; raise ValueError."""
    import configparser  # noqa: PLC0415 - most users have no such file

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text.removeprefix("\ufeff"))
    except configparser.Error as error:
        raise ValueError(str(error).splitlines()[0]) from error
    return {
        f"{section}.{option_name(name)}": value
        for section in parser.sections()
        if section in _SECTIONS
        for name, value in parser.items(section)
    }


def option_name(name: str) -> str:
    """Spell an option of a file or a variable as pip does: `index-url`."""
    return name.lower().replace("_", "-").removeprefix("--")


def parse_pip_boolean(text: str) -> bool:
    """Read `yes`, `1`, `true`, `off` …; ValueError for anything else."""
    word = text.strip().lower()
    if word not in _TRUE + _FALSE:
        raise ValueError(tr("`{text}` is neither yes nor no", text=text))
    return word in _TRUE


def configured_constraints(folders: ConfigurationFolders) -> tuple[str, ...]:
    """Return the constraints files of PIP_CONSTRAINT, else those of pip's readable files."""
    if words := folders.environ.get("PIP_CONSTRAINT", "").split():
        return tuple(words)
    options: dict[str, str] = {}
    for path in folders.pip_files():
        options |= _read(path, ("constraint",))
    return tuple((options.get("install.constraint") or options.get("global.constraint") or "").split())


def selects_files(folders: ConfigurationFolders) -> bool:
    """Tell whether pip is configured to choose other files than a resolver does."""
    if any(folders.environ.get(f"PIP_{name.upper().replace('-', '_')}") for name in _SELECTING):
        return True
    options = {name.partition(".")[2] for path in folders.pip_files() for name in _read(path, _SELECTING)}
    return not options.isdisjoint(_SELECTING)


def _read(path: Path, names: tuple[str, ...]) -> dict[str, str]:
    try:
        text = read_limited_text(path)
        mentioned = any(name in text.replace("_", "-") for name in names)
        return parse_pip_configuration(text) if mentioned else {}
    except (OSError, ValueError):
        return {}
