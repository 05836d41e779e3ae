"""pip's configuration files.

[global]
index-url = https://example.com/simple
extra-index-url =
    https://one.example.com/simple
    https://two.example.com/simple
[install]
find-links = /opt/wheels
"""

from __future__ import annotations

import configparser

from gpuenv.i18n.messages import tr

_SECTIONS = ("global", "install")
_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")


def parse_pip_configuration(text: str) -> dict[str, str]:
    """Read the sections that `pip install` reads, as `section.option`; ValueError if it is no such file."""
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
    """Spell an option as pip does, whether from a file or from the environment: `index-url`."""
    return name.lower().replace("_", "-").removeprefix("--")


def parse_pip_boolean(text: str) -> bool:
    """Read `yes`, `1`, `true`, `off` …; ValueError for anything else."""
    word = text.strip().lower()
    if word not in _TRUE + _FALSE:
        raise ValueError(tr("`{text}` is neither yes nor no", text=text))
    return word in _TRUE
