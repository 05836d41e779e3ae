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
    text = filled_in(template, _BEGIN, _END, _lines(script))
    return filled_in(text, _BEGIN_BROUGHT, _END_BROUGHT, _brought(script))


def filled_in(text: str, begin: str, end: str, lines: Iterable[str]) -> str:
    """Return a template with these lines between two of its own."""
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
    yield from _predicates(script.environments)
    yield from _digests(script)
    yield from _pythons(script.wheels)
    yield from _each("index", script.indexes)
    yield from _each("channel", script.channels)
    yield from case_function(
        "micromamba_of",
        ((file.platform, f"{file.filename} {file.sha256}") for file in script.micromamba),
        "return 1",
    )
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


def _predicates(environments: tuple[ScriptEnvironment, ...]) -> Iterable[str]:
    """Write functions that tell by its number whether an environment is verified, and whether carried."""
    numbered = tuple(enumerate(environments, 1))
    unverified = " | ".join(str(number) for number, environment in numbered if not environment.verified)
    body = f"case $1 in {unverified}) return 1 ;; esac" if unverified else ":"
    yield from ("", f"is_verified() {{ {body}; }}")
    carried = " | ".join(str(number) for number, environment in numbered if environment.carried)
    body = f"case $1 in {carried}) ;; *) return 1 ;; esac" if carried else "return 1"
    yield from ("", f"is_carried() {{ {body}; }}")


def _digests(script: Bootstrap) -> Iterable[str]:
    """Tell by a digest whether an environment was asked for differently by an earlier script."""
    texts = (
        "\n".join((_call(environment), *(file.text for file in environment.files)))
        for environment in script.environments
    )
    digests = (sha256(text.encode()).hexdigest()[:_DIGITS] for text in texts)
    yield from case_function("digest_of", ((str(number), digest) for number, digest in enumerate(digests, 1)))


def case_function(name: str, cases: Iterable[tuple[str, str]], otherwise: str | None = None) -> Iterable[str]:
    """Write a function that echoes the text of the pattern that its argument matches."""
    yield from ("", f"{name}() {{", "    case $1 in")
    for pattern, text in cases:
        yield f"        {pattern}) echo {quote(text)} ;;"
    if otherwise is not None:
        yield f"        *) {otherwise} ;;"
    yield from ("    esac", "}")


def _pythons(wheels: tuple[LockedWheel, ...]) -> Iterable[str]:
    """Write which Pythons the wheels are for, on each platform, the newest first."""
    known = {tuple(target.split("/")) for wheel in wheels for target in wheel.targets}
    newest_first = sorted(known, key=lambda target: tuple(map(int, target[0].split("."))), reverse=True)
    cases = (
        (platform, " ".join(release for release, where in newest_first if where == platform))
        for platform in sorted({platform for _, platform in known})
    )
    yield from case_function("pythons_of", cases, "return 1")


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
