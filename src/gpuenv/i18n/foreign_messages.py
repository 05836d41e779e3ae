"""Messages of the system and of libraries, translated."""

from __future__ import annotations

from gpuenv.i18n.messages import N_, translate_output

# the frequent ones; Windows translates its own
_MESSAGES = (
    N_("No such file or directory"),
    N_("Permission denied"),
    N_("Operation not permitted"),
    N_("Is a directory"),
    N_("Not a directory"),
    N_("Directory not empty"),
    N_("File exists"),
    N_("File name too long"),
    N_("No space left on device"),
    N_("Disk quota exceeded"),
    N_("Read-only file system"),
    N_("Too many levels of symbolic links"),
    N_("Too many open files"),
    N_("Device or resource busy"),
    N_("Text file busy"),
    N_("Exec format error"),
    N_("Argument list too long"),
    N_("Input/output error"),
    N_("Stale file handle"),
    N_("Cannot allocate memory"),
    N_("Connection refused"),
    N_("Connection reset by peer"),
    N_("Connection timed out"),
    N_("Network is unreachable"),
    # json: `Expecting value: line 1 column 2 (char 1)`
    N_("{problem}: line {line} column {column} (char {place})"),
    N_("Expecting value"),
    N_("Expecting {wanted} delimiter"),
    N_("Expecting property name enclosed in double quotes"),
    N_("Extra data"),
    N_("Unterminated string starting at"),
    N_("Invalid control character at"),
    # tomllib, ruamel.yaml and configparser: `Invalid value (at line 1, column 5)`
    N_("{problem} (at line {line}, column {column})"),
    N_("{problem} (at end of document)"),
    N_("{problem} (line {line})"),
    N_("Expected '=' after a key in a key/value pair"),
    N_("Expected newline or end of document after a statement"),
    N_("Cannot overwrite a value"),
    N_("Cannot declare {name} twice"),
    N_("Invalid initial character for a key part"),
    N_("Invalid statement"),
    N_("Invalid value"),
    N_("Unclosed array"),
    N_("Unterminated string"),
    N_("Illegal character {character}"),
    N_("expected {wanted}, but found {found}"),
    N_("the node content"),
    N_("mapping values are not allowed here"),
    N_("could not find expected {wanted}"),
    N_("found character {character} that cannot start any token"),
    N_("found undefined alias {name}"),
    N_("found unexpected end of stream"),
    N_("File contains no section headers."),
    N_("Source contains parsing errors: {file}"),
    # packaging
    N_("Invalid version: {text}"),
    N_("Invalid specifier: {text}"),
    N_("Invalid wheel filename ({problem}): {name}"),
    N_("wrong number of parts"),
    N_("extension must be '.whl'"),
    N_("Expected package name at the start of dependency specifier"),
    N_("Expected end or semicolon (after name and no valid version specifier)"),
    N_("Expected end or semicolon (after version specifier)"),
    N_("Expected semicolon (after name with no version specifier) or end"),
    N_("Expected comma (within version specifier), semicolon (after version specifier) or end"),
    N_("Expected a marker variable or quoted string"),
    N_("Invalid URL given"),
    # `[Errno 2] No such file or directory: 'x'`
    N_("[Errno {number}] {problem}: {name}"),
    N_("[Errno {number}] {problem}"),
)


def reason_of(error: BaseException) -> str:
    """Return the first line of an error's message, translated if it is known."""
    return translate_foreign(getattr(error, "strerror", None) or str(error).strip() or type(error).__name__)


def translate_foreign(text: str) -> str:
    """Return the first line of a message of the system or a library, translated if it is known."""
    return translate_output(text.splitlines()[0], _MESSAGES) if text else ""
