"""What shells are given: quoted for any path, and undone by `deactivate`, for conda environments too."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gpuenv.activation.entering import activation_of
from gpuenv.activation.shells.fish import quote_fish, render_fish
from gpuenv.activation.shells.other import quote_csh, quote_powershell, render_conda_line, render_line
from gpuenv.activation.shells.posix import render_posix
from gpuenv.formats.torch_constraints import HELD, held_pins, is_held_configuration, render_pip_configuration
from gpuenv.matrix_checks.serialise import COMPANIONS

ODD = 'a\'b\\c $HOME `x` "q" !n\n*'


def output(*argv: str) -> str:
    program = shutil.which(argv[0])
    if program is None:
        pytest.skip(f"no {argv[0]}")
    return subprocess.run((program, *argv[1:]), capture_output=True, text=True, check=True).stdout


def conda_environment(root: Path) -> Path:
    for folder in ("activate.d", "deactivate.d"):
        scripts = root / "etc" / "conda" / folder
        scripts.mkdir(parents=True)
        (scripts / "a.sh").write_text(f"echo {folder} $CONDA_PREFIX\n", encoding="utf-8")
        (scripts / "a.fish").write_text(f"echo {folder} $CONDA_PREFIX\n", encoding="utf-8")
    (root / "conda-meta").mkdir()
    return root


def test_any_text_survives_quoting() -> None:
    assert output("fish", "--no-config", "-c", f"printf '%s' {quote_fish(ODD)}") == ODD
    assert quote_powershell("it's ‘x’") == "'it''s ‘‘x’’'"
    assert quote_csh("it's!") == "'it'\\''s\\!'"
    assert render_line("cmd", "C:\\a b\\activate.bat") == 'call "C:\\a b\\activate.bat"\n'
    assert render_conda_line("powershell", "/a b") == "conda activate '/a b'\n"


@pytest.mark.parametrize(
    ("shell", "render"), [(("bash", "-c"), render_posix), (("fish", "--no-config", "-c"), render_fish)]
)
def test_a_conda_environment_is_activated_as_conda_does(
    tmp_path: Path, shell: tuple[str, str], render: object
) -> None:
    assert callable(render)
    root = conda_environment(tmp_path / "it's")
    script = render(activation_of(root, {}))
    shown = output(*shell, f'{script}\necho "$CONDA_SHLVL"; deactivate; echo "[$CONDA_PREFIX]"')
    assert shown.splitlines() == [f"activate.d {root}", "1", f"deactivate.d {root}", "[]"]


def test_an_environment_within_another_notes_it(tmp_path: Path) -> None:
    root = conda_environment(tmp_path / "inner")
    inside = dict(activation_of(root, {"CONDA_SHLVL": "1", "CONDA_PREFIX": "/base"}).variables)
    assert (inside["CONDA_SHLVL"], inside["CONDA_PREFIX_1"]) == ("2", "/base")
    broken = dict(activation_of(root, {"CONDA_SHLVL": "x", "CONDA_PREFIX": "/base"}).variables)
    assert broken["CONDA_SHLVL"] == "1"


def test_a_prompt_holds_nothing_that_a_shell_expands(tmp_path: Path) -> None:
    assert activation_of(tmp_path / "$(touch x)`y` %n", {}).prompt == "__touch_x__y___n"


def test_the_stack_is_held_with_its_companions() -> None:
    assert set(COMPANIONS) <= set(HELD)
    assert held_pins({"numpy": "2.0", "torch": "2.14.1+cu126"}) == ("torch==2.14.1+cu126",)


def test_a_configuration_that_was_added_to_is_the_users() -> None:
    ours = render_pip_configuration("file:///a/constraints.txt")
    assert is_held_configuration(ours)
    assert not is_held_configuration(ours + "index-url = https://example.com/simple\n")
    assert not is_held_configuration("")
