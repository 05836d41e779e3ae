"""Which Pythons a plan may have: those that a request for a patch release admits are asked which they are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from deciding import gpu_machine
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuenv.installers.python_version import parse_release
from gpuenv.model.machine import FoundPython
from gpuenv.model.python import PythonOffer
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pythons import offer_pythons
from gpuenv.resolution.request import parse_python
from gpuenv.resolution.rules.python import admitted
from gpuenv.resolution.target import choose_target

SHORT = f"{sys.version_info[0]}.{sys.version_info[1]}"
RELEASE = f"{SHORT}.{sys.version_info[2]}"


def offered(asked: str, *paths: str) -> tuple[PythonOffer, ...]:
    """Return what a request admits of interpreters of which MAJOR.MINOR alone is known."""
    pythons = tuple(FoundPython(SHORT, path) for path in paths)
    here = replace(gpu_machine("570.1", "8.6"), pythons=pythons)
    target = choose_target((here,), (), cpu=False)
    offers = offer_pythons(
        PlanOptions(python=asked, manager="pip"), "pip", target, load_knowledge(), dict(os.environ)
    )
    return admitted(offers, parse_python(asked))


@pytest.mark.parametrize("asked", [RELEASE, f">={RELEASE}", f"=={RELEASE}"])
def test_an_interpreter_of_the_release_that_was_asked_for_is_found(asked: str) -> None:
    (offer,) = offered(asked, sys.executable)
    assert (offer.version, offer.path) == (RELEASE, sys.executable)


@pytest.mark.parametrize("asked", [f"{SHORT}.98", f">={SHORT}.98", f"!={RELEASE}"])
def test_an_interpreter_of_another_release_is_not_taken_for_it(asked: str) -> None:
    assert offered(asked, sys.executable) == ()


def test_an_interpreter_that_does_not_answer_is_not_taken_for_it(tmp_path: Path) -> None:
    mute = tmp_path / "python"
    mute.write_text("#!/bin/sh\necho nonsense\n", encoding="utf-8")
    mute.chmod(0o755)
    assert offered(RELEASE, str(mute)) == ()
    assert offered(SHORT, str(mute)) != ()  # nobody asked which it is


@given(st.text())
def test_any_answer_is_a_release_or_refused(text: str) -> None:
    try:
        assert parse_release(text).startswith("3.")
    except ValueError as error:
        assert str(error)  # noqa: PT017 - either may come
