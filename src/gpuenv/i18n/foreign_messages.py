"""What the system and the standard library say of a failure, in the language of the texts."""

from __future__ import annotations

from gpuenv.i18n.messages import marked, reword

# those that people meet; Windows says its own in the user's language
_SAID = (
    marked("No such file or directory"),
    marked("Permission denied"),
    marked("Operation not permitted"),
    marked("Is a directory"),
    marked("Not a directory"),
    marked("Directory not empty"),
    marked("File exists"),
    marked("File name too long"),
    marked("No space left on device"),
    marked("Disk quota exceeded"),
    marked("Read-only file system"),
    marked("Too many levels of symbolic links"),
    marked("Too many open files"),
    marked("Device or resource busy"),
    marked("Text file busy"),
    marked("Exec format error"),
    marked("Argument list too long"),
    marked("Input/output error"),
    marked("Stale file handle"),
    marked("Cannot allocate memory"),
    marked("Connection refused"),
    marked("Connection reset by peer"),
    marked("Connection timed out"),
    marked("Network is unreachable"),
    # json: `Expecting value: line 1 column 2 (char 1)`
    marked("{problem}: line {line} column {column} (char {place})"),
    marked("Expecting value"),
    marked("Expecting {wanted} delimiter"),
    marked("Expecting property name enclosed in double quotes"),
    marked("Extra data"),
    marked("Unterminated string starting at"),
    marked("Invalid control character at"),
    # tomllib, PyYAML's kin and configparser: `Invalid value (at line 1, column 5)`
    marked("{problem} (at line {line}, column {column})"),
    marked("{problem} (at end of document)"),
    marked("{problem} (line {line})"),
    marked("Expected '=' after a key in a key/value pair"),
    marked("Expected newline or end of document after a statement"),
    marked("Cannot overwrite a value"),
    marked("Cannot declare {name} twice"),
    marked("Invalid initial character for a key part"),
    marked("Invalid statement"),
    marked("Invalid value"),
    marked("Unclosed array"),
    marked("Unterminated string"),
    marked("Illegal character {character}"),
    marked("expected {wanted}, but found {found}"),
    marked("the node content"),
    marked("mapping values are not allowed here"),
    marked("could not find expected {wanted}"),
    marked("found character {character} that cannot start any token"),
    marked("found undefined alias {name}"),
    marked("found unexpected end of stream"),
    marked("File contains no section headers."),
    marked("Source contains parsing errors: {file}"),
    # packaging
    marked("Invalid version: {text}"),
    marked("Invalid specifier: {text}"),
    marked("Invalid wheel filename ({problem}): {name}"),
    marked("wrong number of parts"),
    marked("extension must be '.whl'"),
    marked("Expected package name at the start of dependency specifier"),
    marked("Expected end or semicolon (after name and no valid version specifier)"),
    marked("Expected end or semicolon (after version specifier)"),
    marked("Expected semicolon (after name with no version specifier) or end"),
    marked("Expected comma (within version specifier), semicolon (after version specifier) or end"),
    marked("Expected a marker variable or quoted string"),
    marked("Invalid URL given"),
    # `[Errno 2] No such file or directory: 'x'`
    marked("[Errno {number}] {problem}: {name}"),
    marked("[Errno {number}] {problem}"),
)


def reason_of(error: BaseException) -> str:
    """Return the first line of what an error says of itself; words that are not known stay as they are."""
    return said_by_others(getattr(error, "strerror", None) or str(error).strip() or type(error).__name__)


def said_by_others(text: str) -> str:
    """Return the first line of what the system or a library said; unknown words stay as they are."""
    return reword(text.splitlines()[0], _SAID) if text else ""
