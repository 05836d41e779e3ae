"""Format `bootstrap`: one POSIX sh script for a bare machine, a template with what is asked for filled in."""

from __future__ import annotations

import shlex
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256

from gpuenv.bootstrap.model import (
    Bootstrap,
    HeldFile,
    LockedWheel,
    MicromambaFile,
    ScriptEnvironment,
    ScriptPath,
    Word,
)
from gpuenv.formats.shell import here_document_end
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import UsageError

TEMPLATE = "bootstrap.sh"
_BEGIN = "# >>> what is asked for\n"
_END = "# <<< what is asked for\n"
_BEGIN_BROUGHT = "# >>> what it brings\n"
_END_BROUGHT = "# <<< what it brings\n"
_WIDTH = 120
_BASES = {"beside": "$beside", "files": "$place/files"}
_DIGITS = 16


def render_bootstrap(script: Bootstrap, template: str) -> str:
    """Return the script; `template` is the text of bootstrap.sh.

    Raises UsageError for text with characters that do not print, which would not stay in its place.
    """
    text = _filled(template, _BEGIN, _END, _lines(script))
    return _filled(text, _BEGIN_BROUGHT, _END_BROUGHT, _brought(script))


def _filled(text: str, begin: str, end: str, lines: Iterable[str]) -> str:
    before, _, rest = text.partition(begin)
    after = rest.partition(end)[2]
    filled = "\n".join(lines)
    return f"{before}{begin}{filled}\n{end}{after}"


def _lines(script: Bootstrap) -> Iterable[str]:
    numbers = range(1, len(script.environments) + 1)
    yield f"made_by={quote(script.made_by)}"
    yield f"wanted_gpuenv={quote(f'gpuenv {script.gpuenv.version}')}"
    yield f"gpuenv_wheel={quote(script.gpuenv.filename)}"
    yield f"gpuenv_sha256={quote(script.gpuenv.sha256)}"
    yield f"wanted_pythons={quote(' '.join(script.pythons))}"
    yield f"asked_pythons={quote(' '.join(script.asked))}"
    yield f"guarded={quote(' '.join(script.guarded))}"
    yield f"indexes_named={'yes' if script.indexes else 'no'}"
    yield f"launcher={'yes' if script.launcher else 'ask'}"
    yield f"environments={quote(' '.join(map(str, numbers)))}"
    yield from _environments(script.environments)
    yield from _verified(script.environments)
    yield from _carried(script.environments)
    yield from _digests(script)
    yield from _pythons(script.wheels)
    yield from _each("index", script.indexes)
    yield from _each("channel", script.channels)
    yield from _micromamba(script.micromamba)
    yield from _write_files(
        (*script.files, *(file for environment in script.environments for file in environment.files))
    )


def _environments(environments: tuple[ScriptEnvironment, ...]) -> Iterable[str]:
    yield from ("", "environment() {", "    number=$1", "    shift", "    case $number in")
    for number, environment in enumerate(environments, 1):
        yield f"        {number}) {_call(environment)} ;;"
    yield from ("        *) return 1 ;;", "    esac", "}")


def _call(environment: ScriptEnvironment) -> str:
    return " ".join(('"$@"', quote(environment.name), *map(_word, environment.arguments)))


def _word(word: Word) -> str:
    """Quote one word; what is below a folder of the script's stays below it."""
    if isinstance(word, ScriptPath):
        return f'"{_BASES[word.base]}"/{quote(word.path)}'
    return quote(word)


def quote(text: str) -> str:
    """Quote for a POSIX shell; raise UsageError for text that would not stay in its line."""
    if not text.isprintable():
        raise UsageError(tr("{value} cannot be written into a script", value=ascii(text)), code="unprintable")
    return shlex.quote(text)


def _verified(environments: tuple[ScriptEnvironment, ...]) -> Iterable[str]:
    unverified = [
        str(number) for number, environment in enumerate(environments, 1) if not environment.verified
    ]
    body = f"case $1 in {' | '.join(unverified)}) return 1 ;; esac" if unverified else ":"
    yield from ("", f"is_verified() {{ {body}; }}")


def _carried(environments: tuple[ScriptEnvironment, ...]) -> Iterable[str]:
    carried = [str(number) for number, environment in enumerate(environments, 1) if environment.carried]
    body = f"case $1 in {' | '.join(carried)}) ;; *) return 1 ;; esac" if carried else "return 1"
    yield from ("", f"is_carried() {{ {body}; }}")


def _digests(script: Bootstrap) -> Iterable[str]:
    """Tell by a digest whether an environment was asked for differently by an earlier script."""
    yield from ("", "digest_of() {", "    case $1 in")
    for number, environment in enumerate(script.environments, 1):
        text = "\n".join((_call(environment), *(file.text for file in environment.files)))
        yield f"        {number}) echo {sha256(text.encode()).hexdigest()[:_DIGITS]} ;;"
    yield from ("    esac", "}")


def _pythons(wheels: tuple[LockedWheel, ...]) -> Iterable[str]:
    """Write which Pythons the wheels are for, on each platform, the newest first."""
    known = {tuple(target.split("/")) for wheel in wheels for target in wheel.targets}
    yield from ("", "pythons_of() {", "    case $1 in")
    for platform in sorted({platform for _, platform in known}):
        releases = (release for release, where in known if where == platform)
        newest_first = sorted(releases, key=lambda release: tuple(map(int, release.split("."))), reverse=True)
        yield f"        {platform}) echo {quote(' '.join(newest_first))} ;;"
    yield from ("        *) return 1 ;;", "    esac", "}")


def _brought(script: Bootstrap) -> Iterable[str]:
    """Write gpuenv itself, and the hashes of what it needs."""
    rows = [f"{wheel.sha256} {wheel.filename} {' '.join(wheel.targets)}" for wheel in script.wheels]
    yield from ("wheels_needed() { # SHA256 FILE PYTHON/PLATFORM...", "    cat <<'END_OF_WHEELS'")
    yield from (row for row in rows if quote(row))
    yield from ("END_OF_WHEELS", "}", "", "gpuenv_in_base64() {", "    cat <<'END_OF_GPUENV'")
    encoded = b64encode(script.gpuenv.content).decode()
    yield from (encoded[start : start + _WIDTH] for start in range(0, len(encoded), _WIDTH))
    yield from ("END_OF_GPUENV", "}")


def _each(name: str, addresses: tuple[str, ...]) -> Iterable[str]:
    """Write a function that tries a command with one address after the other, until it works."""
    calls = " || ".join(f'"$@" {quote(address)}' for address in addresses) or "return 1"
    yield from ("", f"each_{name}() {{ {calls}; }}")


def _micromamba(files: tuple[MicromambaFile, ...]) -> Iterable[str]:
    yield from ("", "micromamba_of() {", "    case $1 in")
    for file in files:
        yield f"        {file.platform}) echo {quote(f'{file.filename} {file.sha256}')} ;;"
    yield from ("        *) return 1 ;;", "    esac", "}")


def _write_files(files: tuple[HeldFile, ...]) -> Iterable[str]:
    if not files:
        yield from ("", "write_files() { :; }")
        return
    yield from ("", "write_files() {")
    for file in files:
        lines = _text_lines(file)
        end = here_document_end(file.name, lines)
        yield f"    write \"$place/files\"/{quote(file.name)} <<'{end}'"
        yield from lines
        yield end
    yield "}"


def _text_lines(file: HeldFile) -> list[str]:
    if "\0" in file.text:
        raise UsageError(tr("{value} cannot be written into a script", value=file.name), code="unprintable")
    return file.text.removesuffix("\n").split("\n")
