"""The tables that `gpuenv explain` reads a text by, read once."""

from __future__ import annotations

from functools import cache

from gpuenv import matrices
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import UsageError
from gpuenv.signatures.catalogue import Language, Signature, Signatures, parse_signature
from gpuenv.signatures.packs import PackName
from gpuenv.signatures.reported import FactPattern, parse_report
from gpuenv.signatures.word_index import WORDS, parse_word_index


@cache
def load_signatures(language: Language = "en", packs: frozenset[PackName] | None = None) -> Signatures:
    """Read the signatures in one language, each parsed when it is looked at; of some packs, or of all.

    Raises UsageError where they can't be read, and so does what is looked at of them.
    """

    def parse(row: bytes) -> Signature:
        try:
            return parse_signature(row, language)
        except ValueError as error:
            raise _unreadable() from error

    try:
        index = parse_word_index(matrices.read_bytes(matrices.directory(), WORDS))
    except (OSError, ValueError) as error:
        raise _unreadable() from error
    return Signatures(index, _read_signatures, parse, packs)


def _read_signatures() -> bytes:
    try:
        return matrices.read_bytes(matrices.directory(), "signatures")
    except OSError as error:
        raise _unreadable() from error


def _unreadable() -> UsageError:
    message = tr("the matrix `{table}` cannot be read", table="signatures")
    return UsageError(message, code="matrix-unreadable")


@cache
def load_reports() -> tuple[FactPattern, ...]:
    """Read how programs write what they report; raise UsageError where that can't be read."""
    try:
        return tuple(map(parse_report, matrices.load("reports")))
    except ValueError as error:
        message = tr("the matrix `{table}` cannot be read", table="reports")
        raise UsageError(message, code="matrix-unreadable") from error
