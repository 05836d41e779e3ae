"""What the node program says, in the language of the texts: it runs on other machines, in English.

there is no Python 3.11 on this machine
`/data/envs/paper` is there and is no environment: gpuenv does not touch it
"""

from __future__ import annotations

from gpuenv.i18n.foreign_messages import translate_foreign
from gpuenv.i18n.messages import N_, translate_output

NODE_TEXTS = (
    N_("the request can't be read: {problem}"),
    # names and places
    N_("`{name}` can't name an environment: {problem}"),
    N_("it is empty"),
    N_("it starts with a dot"),
    N_("it has characters other than letters, digits and `-_.+`"),
    N_("it starts like an option"),
    N_("it ends in a dot, which Windows drops"),
    N_("Windows keeps that name for itself"),
    N_("it is longer than {longest} bytes"),
    N_("it has control characters"),
    N_("it is no absolute path"),
    N_("it is the root of a file system"),
    N_("it is the home directory"),
    N_("there is no home directory to keep environments in: set GPUENV_DATA_DIR"),
    N_("`{path}` can't be written: {error}; GPUENV_DATA_DIR may name a folder that can"),
    N_("the file system of `{store}` has no locks: set GPUENV_DATA_DIR to a folder on another one"),
    N_("`{path}` belongs to another user: GPUENV_DATA_DIR may name a folder of your own"),
    N_("there is no environment `{env}`"),
    # what is there
    N_("`{path}` is there and is no environment: gpuenv does not touch it"),
    N_("gpuenv did not make the environment `{name}`: choose another name, or --force"),
    N_("another plan made the environment `{name}`: choose another name, or --force"),
    N_("`{name}` was made on `{machine}` with `{python}`, which is not on this machine"),
    N_("another gpuenv is at work on `{name}`: run the command again when it has ended"),
    N_("`{file}` can't be read: look what lies beside `{path}`, then delete it"),
    N_("`{path}` is in the way of `{old}`, which belongs there: move it away"),
    N_("`{path}` is not what gpuenv put there: look into it, then delete the journal"),
    N_("`{name}` could not be brought back: {error}; the next run tries again"),
    # making
    N_("Python {version} at `{path}` can make no environments: install `python{short}-venv`, or uv"),
    N_("there is no Python {version} on this machine"),
    N_("{needed} are to be fetched, {free} are free"),
    N_("`{program}` {ending}; nothing half-made is left"),
    N_("could not be started"),
    N_("failed ({code})"),
    N_("the disk is full"),
    N_("the installer did not install what was planned: {problem}"),
    N_("{name} is not there"),
    N_("`{path}`: {error}"),
)


def said_by_node(message: str) -> str:
    """Return a node's message in the language of the texts; words that are not known stay as they are."""
    said = translate_output(message, NODE_TEXTS)
    return said if said != message else translate_foreign(message)
