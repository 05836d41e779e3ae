"""What the node program says, in the language of the texts: it runs on other machines, in English.

there is no Python 3.11 on this machine
`/data/envs/paper` is there and is no environment: gpuenv does not touch it
"""

from __future__ import annotations

from gpuenv.i18n.foreign_messages import said_by_others
from gpuenv.i18n.messages import marked, reword

NODE_TEXTS = (
    marked("the request can't be read: {problem}"),
    # names and places
    marked("`{name}` can't name an environment: {problem}"),
    marked("it is empty"),
    marked("it starts with a dot"),
    marked("it has characters other than letters, digits and `-_.+`"),
    marked("it starts like an option"),
    marked("it ends in a dot, which Windows drops"),
    marked("Windows keeps that name for itself"),
    marked("it is longer than {longest} bytes"),
    marked("it has control characters"),
    marked("it is no absolute path"),
    marked("it is the root of a file system"),
    marked("it is the home directory"),
    marked("there is no home directory to keep environments in: set GPUENV_DATA_DIR"),
    marked("`{path}` can't be written: {error}; GPUENV_DATA_DIR may name a folder that can"),
    marked("the file system of `{store}` has no locks: set GPUENV_DATA_DIR to a folder on another one"),
    marked("`{path}` belongs to another user: GPUENV_DATA_DIR may name a folder of your own"),
    marked("there is no environment `{env}`"),
    # what is there
    marked("`{path}` is there and is no environment: gpuenv does not touch it"),
    marked("gpuenv did not make the environment `{name}`: choose another name, or --force"),
    marked("another plan made the environment `{name}`: choose another name, or --force"),
    marked("`{name}` was made on `{machine}` with `{python}`, which is not on this machine"),
    marked("another gpuenv is at work on `{name}`: run the command again when it has ended"),
    marked("`{file}` can't be read: look what lies beside `{path}`, then delete it"),
    marked("`{path}` is in the way of `{old}`, which belongs there: move it away"),
    marked("`{path}` is not what gpuenv put there: look into it, then delete the journal"),
    marked("`{name}` could not be brought back: {error}; the next run tries again"),
    # making
    marked("Python {version} at `{path}` can make no environments: install `python{short}-venv`, or uv"),
    marked("there is no Python {version} on this machine"),
    marked("{needed} are to be fetched, {free} are free"),
    marked("`{program}` {ending}; nothing half-made is left"),
    marked("could not be started"),
    marked("failed ({code})"),
    marked("the disk is full"),
    marked("the installer did not install what was planned: {problem}"),
    marked("{name} is not there"),
    marked("`{path}`: {error}"),
)


def said_by_node(message: str) -> str:
    """Return a node's message in the language of the texts; words that are not known stay as they are."""
    said = reword(message, NODE_TEXTS)
    return said if said != message else said_by_others(message)
