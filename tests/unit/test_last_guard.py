"""A text that no parser can take is bad input, wherever it was read; any other surprise is a defect."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gpuenv.cli.main import beyond_limits


def _nested() -> None:
    json.loads("[" * 100_000)


def _digits() -> None:
    int("1" * 10_000)


def _memory() -> None:
    raise MemoryError


@pytest.mark.parametrize(("parse", "said"), [(_nested, "nested"), (_digits, "digits"), (_memory, "memory")])
def test_what_no_parser_can_take_is_bad_input(parse: Callable[[], None], said: str) -> None:
    with pytest.raises((RecursionError, ValueError, MemoryError)) as raised:
        parse()
    error = beyond_limits(raised.value)
    assert error is not None
    assert said in error.message
    assert error.exit_code == 2


def test_another_error_stays_a_defect() -> None:
    assert beyond_limits(ValueError("too many values to unpack")) is None
    assert beyond_limits(KeyError("name")) is None
