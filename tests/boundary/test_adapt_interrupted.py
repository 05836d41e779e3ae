"""Ctrl-C while the other packages are resolved: what is known by then is told."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from adapted_papers import NAMES, bare_environ, copy_paper, save_machine
from index_server import serve_indexes

from gpuenv.adapt.adapt import AdaptOptions, adapt
from gpuenv.adapt.model import Adaptation
from gpuenv.planning.options import PlanOptions
from gpuenv.process import interruption

PAPER = "2021-transformer-detection"


@pytest.fixture
def heeded() -> Iterator[None]:
    """Signals as in a command."""
    with interruption.heeded():
        yield
    with interruption.heeded():  # the next test knows nothing of them
        pass


def interrupted(folder: Path, monkeypatch: pytest.MonkeyPatch, *, patch_alone: bool) -> Adaptation:
    """Adapt a paper; the signal comes before the first run of the resolver."""
    assert PAPER in NAMES
    paper, environ = copy_paper(PAPER, folder), bare_environ(folder)
    saved = save_machine("V100", folder)
    monkeypatch.chdir(paper)

    def send(_: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    adapting = AdaptOptions((Path(),), None, patch_alone=patch_alone)
    options = PlanOptions(machines=(saved,), manager="uv")
    with serve_indexes() as index:
        environ |= {"UV_DEFAULT_INDEX": index.pypi, "UV_INDEX": index.pytorch}
        return adapt(adapting, options, environ, target=".venv", tell=send)


@pytest.mark.skipif(sys.platform == "win32", reason="a signal cannot be sent to oneself there")
@pytest.mark.usefixtures("heeded")
def test_a_plan_has_the_stack_and_says_what_was_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = interrupted(tmp_path, monkeypatch, patch_alone=True)
    assert value.plan.pins[0].startswith("torch==1.7.1")
    (warning,) = (item for item in value.plan.warnings if item.code == "not-checked")
    assert "interrupted" in warning.message


@pytest.mark.skipif(sys.platform == "win32", reason="a signal cannot be sent to oneself there")
@pytest.mark.usefixtures("heeded")
def test_an_environment_is_not_made_of_half_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path, monkeypatch, patch_alone=False)
