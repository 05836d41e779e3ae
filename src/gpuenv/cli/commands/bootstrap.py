"""`gpuenv bootstrap`."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from gpuenv.bootstrap.bootstrap import BootstrapOptions, Script, make_bootstrap
from gpuenv.bootstrap.folder import SCRIPT, WHEELS, WriteProgress, write_folder
from gpuenv.bootstrap.lab import read_lab
from gpuenv.cli.commands.plan.options import BootstrapArguments, PlanArguments
from gpuenv.cli.commands.plan.plan import options_of
from gpuenv.cli.console import Console
from gpuenv.cli.output import note, print_file
from gpuenv.cli.progress import following
from gpuenv.files.write_output import write_file
from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.messages import N_, series, tr

_MAY_RUN = 0o111
_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))


def bootstrap(
    wanted: PlanArguments,
    arguments: BootstrapArguments,
    lab: Path | None,
    output: str | Path | None,
    console: Console,
) -> int:
    """Print the script, write it so that it can be run, or with all it needs into a folder; `-` is stdout."""
    written = None if output in (None, "-") else Path(str(output))
    is_folder = written is not None and (str(output).endswith(_SEPARATORS) or written.is_dir())
    options = options_of(wanted, ("gpuenv", "bootstrap"))
    chosen = BootstrapOptions(
        arguments.name, arguments.pin, arguments.version, arguments.launcher, arguments.verify
    )
    with console.working(tr("reading indexes")):
        read = read_lab(lab) if lab else None
        script = make_bootstrap(options, replace(chosen, carried=is_folder), read, os.environ)
    if written is not None and is_folder:
        _write_folder(written, script, console)
        written /= SCRIPT
    elif written is not None:
        write_file(written, script.text)
        if written.is_file():
            written.chmod(written.stat().st_mode | _MAY_RUN)
    if console.as_json:
        data = {"script": script.text, "environments": list(script.names)}
        return console.print_json("bootstrap", data, script.warnings)
    console.warn(script.warnings)
    if written is None:
        print_file(script.text)
    else:
        console.note(tr("wrote {file}", file=written))
    return 0


def _write_folder(folder: Path, script: Script, console: Console) -> None:
    """Write the folder, after a note of what is fetched for it."""
    received = size = 0

    def begin(files: int, to_come: int) -> None:
        nonlocal size
        size = to_come
        if console.quiet:
            return
        facts = {"count": files, "size": render_size(to_come), "folder": folder / WHEELS}
        note(tr("{count} files, {size} to fetch into {folder}", **facts))
        others = series(f"`{name}`" for name in script.names if name not in script.pinned)
        if others:
            text = N_(
                "without the packages of {names}, which each machine resolves itself: --pin resolves them now"
            )
            note(tr(text, names=others))

    with following(tr("fetching packages"), quiet=console.quiet) as show:

        def count(more: int) -> None:
            nonlocal received
            received += more
            show.bytes(received, size)

        write_folder(folder, script, os.environ, WriteProgress(begin, count))
