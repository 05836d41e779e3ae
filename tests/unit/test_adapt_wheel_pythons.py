"""A compiled wheel that a file names was made for one Python: a project is nearest to that one."""

from __future__ import annotations

from pathlib import Path

import pytest
from adapted_papers import adapt_for, bare_environ, save_machine

from gpuenv.adapt.model import DeclaredRequirement
from gpuenv.adapt.sources.wheel_pythons import python_hints

COMPILED = "paper @ file:///home/ada/paper-1.0%2Bcu118-cp310-cp310-linux_x86_64.whl"


def line(text: str, project: str = "paper", *, hint: bool = False) -> DeclaredRequirement:
    return DeclaredRequirement(project, project, "requirements.txt", 1, 0, len(text), text, hint=hint)


@pytest.mark.parametrize(
    ("text", "python"),
    [
        (COMPILED, "==3.10.*"),
        ("https://x.example/torch-1.8.1%2Bcu111-cp36-cp36m-linux_x86_64.whl#sha256=0a", "==3.6.*"),
        ("./paper-1.0-cp39-abi3-manylinux2014_x86_64.whl", ">=3.9"),
        ("https://x.example/paper-1.0-py3-none-any.whl", None),
        ("https://x.example/paper-1.0-cp27-cp27mu-linux_x86_64.whl", None),
        (f"{COMPILED} ; python_version == '3.10'", None),
        ("paper==1.0", None),
        ("broken-cp310.whl", None),
    ],
)
def test_a_wheel_tells_its_python(text: str, python: str | None) -> None:
    hints = python_hints((line(text),))
    assert [hint.requirement for hint in hints] == ([python] if python else [])
    assert all(hint.project == "python" and hint.hint for hint in hints)


def test_what_a_readme_says_and_options_tell_none() -> None:
    assert python_hints((line(COMPILED, hint=True), line(COMPILED, "index"))) == ()


def test_a_project_is_planned_with_the_python_of_its_wheels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("requirements.txt").write_text(f"torch==2.1.2\n{COMPILED}\n", encoding="utf-8")
    saved = save_machine("RTX 4090", tmp_path)
    assert adapt_for(Path("requirements.txt"), saved, bare_environ(tmp_path)).plan.python == "3.10"
