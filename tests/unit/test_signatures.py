"""The table of signatures: a row is parsed when a text may have it; what is none of one is told."""

from __future__ import annotations

import pytest
from logs import read_logs

from gpuenv import matrices
from gpuenv.matrix_checks.serialise import render_table
from gpuenv.signatures.catalogue import Signature, Signatures, parse_signature
from gpuenv.signatures.log_pages import LogPage, pages
from gpuenv.signatures.match import examine
from gpuenv.signatures.vocabulary import Vocabulary, lines_of, words_of
from gpuenv.signatures.word_index import WORDS, parse_word_index, render_word_index, word_index

FOLDER = matrices.directory()
WORDS_OF_TABLE = matrices.read_bytes(FOLDER, WORDS)
INDEX = parse_word_index(WORDS_OF_TABLE)
TABLE = matrices.read_bytes(FOLDER, "signatures")
NO_KERNELS = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
SOME = [{"id": "some", "patterns": [{"regex": "some error 7", "needs": [["some", "error|fault", " 7 "]]}]}]


def test_a_text_has_few_rows_parsed_and_means_what_it_means_with_all_parsed() -> None:
    parsed: list[str] = []

    def parse(row: bytes) -> Signature:
        signature = parse_signature(row)
        parsed.append(signature.id)
        return signature

    lazy, all_parsed = (Signatures(INDEX, lambda: TABLE, kind) for kind in (parse, parse_signature))
    assert len(list(all_parsed)) == len(all_parsed) == len(matrices.load("signatures"))
    matches = examine(NO_KERNELS, lazy, lambda: 0.0).matches
    assert matches == examine(NO_KERNELS, all_parsed, lambda: 0.0).matches
    assert matches[0].id in parsed
    assert len(parsed) == len(set(parsed)) < len(lazy) / 10


def test_a_text_without_the_words_of_any_signature_has_the_table_left_unread() -> None:
    def read() -> bytes:
        raise AssertionError("the table is not needed")

    assert examine("three small words", Signatures(INDEX, read, parse_signature), lambda: 0.0).matches == ()


def test_the_index_of_words_is_that_of_the_table() -> None:
    made = render_word_index(word_index(matrices.load("signatures"))).encode()
    assert made == WORDS_OF_TABLE, "tools/build_matrices.py"


def test_the_index_finds_what_the_words_of_each_row_find() -> None:
    known = Signatures(INDEX, lambda: TABLE, parse_signature)
    for text in list(read_logs().values())[::60]:
        (page,) = pages(text)
        vocabulary = Vocabulary(words_of(lines_of(page)), page.text)
        ways = {item.id: [way for pattern in item.patterns for way in pattern.needs] for item in known}
        possible = {name for name in ways if any(vocabulary.has_all(way.needs) for way in ways[name])}
        assert known.possible(vocabulary) == possible
        assert known.possible(vocabulary, {"cuda-oom"}) == possible & {"cuda-oom"}


@pytest.mark.parametrize("text", ["some error 7", "some fault, 7"])
def test_of_words_that_a_row_needs_one_of_any_will_do(text: str) -> None:
    vocabulary = Vocabulary(words_of(lines_of(LogPage(1, text))), text)
    assert word_index(SOME).possible(vocabulary) == {"some"}


@pytest.mark.parametrize("text", ["some 7", "some error 8", "error 7"])
def test_a_text_without_one_of_the_words_has_no_such_row(text: str) -> None:
    vocabulary = Vocabulary(words_of(lines_of(LogPage(1, text))), text)
    assert word_index(SOME).possible(vocabulary) == frozenset()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"parts": 1}', b'{"parts": {"a": 1}}', b"\xff"])
def test_what_is_no_index_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - in the words of its parser
        parse_word_index(content)


@pytest.mark.parametrize("table", [render_table(SOME), '{"rows": [\n{"id": "some", "patt\n'])
def test_a_row_that_is_no_signature_is_told_when_it_is_looked_at(table: str) -> None:
    signatures = Signatures(word_index(SOME), table.encode, parse_signature)
    assert examine("nothing", signatures, lambda: 0.0).matches == ()
    with pytest.raises(ValueError):  # noqa: PT011 - in the words of the parser of rows, or of JSON
        examine("some error 7", signatures, lambda: 0.0)
