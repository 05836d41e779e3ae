"""What the node program says, in the language of the texts: it runs on other machines, in English.

there is no Python 3.11 on this machine
`/data/envs/paper` exists and is not an environment: it is left unchanged
"""

from __future__ import annotations

from gpuenv.i18n.foreign_messages import translate_foreign
from gpuenv.i18n.messages import N_, translate_output

NODE_TEXTS = (
    N_("the request cannot be read: {problem}"),
    # names and places
    N_("`{name}` is not a valid environment name: {problem}"),
    N_("it is empty"),
    N_("it starts with a dot"),
    N_("it has characters other than letters, digits and `-_.+`"),
    N_("it starts like an option"),
    N_("it ends in a dot, which Windows drops"),
    N_("Windows keeps that name for itself"),
    N_("it is longer than {longest} bytes"),
    N_("it has control characters"),
    N_("it is not an absolute path"),
    N_("it is the root of a file system"),
    N_("it is the home directory"),
    N_("there is no home directory to keep environments in: set GPUENV_DATA_DIR"),
    N_("`{path}` cannot be written: {error}; set GPUENV_DATA_DIR to a writable directory"),
    N_("the file system of `{store}` does not support locks: set GPUENV_DATA_DIR to another one"),
    N_("`{path}` is owned by another user: set GPUENV_DATA_DIR to a directory of your own"),
    N_("there is no environment `{env}`"),
    # existing environments
    N_("`{path}` exists and is not an environment: it is left unchanged"),
    N_("the environment `{name}` was not created by gpuenv: choose another name, or use --force"),
    N_("the environment `{name}` was created from another plan: choose another name, or use --force"),
    N_("`{path}` is a conda environment that gpuenv did not create: it is left unchanged"),
    N_("`{path}` is more than one environment, `{inside}` would be lost: it is left unchanged"),
    N_("`{name}` was made on `{machine}` with `{python}`, which is not on this machine"),
    N_("another gpuenv is at work on `{name}`: run the command again when it has ended"),
    N_("`{file}` cannot be read: check what is next to `{path}`, then delete it"),
    N_("`{path}` is in the way of `{old}`, which belongs there: move it away"),
    N_("`{path}` was not created by gpuenv: check its content, then delete the journal"),
    N_("`{name}` could not be restored: {error}; the next run tries again"),
    # making
    N_("Python {version} at `{path}` cannot create environments: install `python{short}-venv`, or uv"),
    N_("there is no Python {version} on this machine"),
    N_("{needed} are to be fetched, {free} are free"),
    N_("`{program}` {ending}; no changes were kept"),
    N_("could not be started"),
    N_("failed ({code})"),
    N_("the disk is full"),
    N_("the installer did not install what was planned: {problem}"),
    N_("{name} is missing"),
    N_("`{path}`: {error}"),
)


def translate_node_message(message: str) -> str:
    """Translate a node's message; an unknown one stays as it is."""
    translated = translate_output(message, NODE_TEXTS)
    return translated if translated != message else translate_foreign(message)
