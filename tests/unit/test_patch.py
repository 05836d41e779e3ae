"""Changes become new texts in the notation of the place, and nothing else of a file moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from left_samples import ENVIRONMENT, NAMES, PYPROJECT, TEXTS

from gpuenv.adapt.model import DependencyFile, Project, RequirementChange
from gpuenv.adapt.parsers.parse import parse_file
from gpuenv.adapt.patch.apply import patched, unapplied
from gpuenv.adapt.patch.notation import admitting
from gpuenv.adapt.render import unified_diff

R, E, P, S, C = "requirements.txt", "environment.yml", "pyproject.toml", "setup.py", "setup.cfg"


def left(name: str, text: str) -> Project:
    file = DependencyFile(name, NAMES[name], text)
    reading = parse_file(file, "linux-64")
    return Project((file,), reading.declared, None, reading.warnings)


def change(
    result: Project, project: str, new: str | None, *, place: int = 0, pip: bool = False
) -> RequirementChange:
    declarations = [declared for declared in result.declared if declared.project == project]
    return RequirementChange(
        project, declarations[place], declarations[place].requirement, new, "", "", pip=pip
    )


def add(project: str, new: str) -> RequirementChange:
    return RequirementChange(project, None, None, new, "", "")


def changed(name: str, text: str, *changes: tuple[str, str | None]) -> str:
    result = left(name, text)
    (after,) = patched(result, tuple(change(result, project, new) for project, new in changes))
    return after.text


@pytest.mark.parametrize("name", NAMES)
@given(text=TEXTS)
def test_no_change_leaves_every_file_as_it_is(name: str, text: str) -> None:
    try:
        project = left(name, text)
    except ValueError:
        return
    assert patched(project, ()) == project.files
    assert unified_diff(project, project.files) == ""


@pytest.mark.parametrize("name", NAMES)
@given(text=TEXTS, data=st.data())
def test_a_patched_file_says_what_changed_and_everything_else_as_before(
    name: str, text: str, data: st.DataObject
) -> None:
    try:
        result = left(name, text)
    except ValueError:
        return
    places = [
        requirement
        for requirement in result.declared
        if requirement.project not in ("python", "cuda", "index")
    ]
    if not places:
        return
    declared = data.draw(st.sampled_from(places))
    new = data.draw(st.sampled_from([f"{declared.project}==9.9", None]))
    item = RequirementChange(declared.project, declared, declared.requirement, new, "", "")
    try:
        (after,) = patched(result, (item,))
    except ValueError:
        return
    if declared.hint:
        assert after.text == text
        return
    again = left(name, after.text)
    kept = [(other.project, other.text) for other in result.declared if other is not declared]
    named = [(other.project, other.text) for other in again.declared]
    assert len(again.declared) == len(result.declared) - (new is None)
    assert all(named.count(pair) >= kept.count(pair) for pair in kept)
    assert new is None or any("9.9" in text for project, text in named if project == declared.project)


@pytest.mark.parametrize(
    ("line", "new", "after"),
    [
        ("torch==1.7.1+cu110", "torch==2.7.0+cu128", "torch==2.7.0+cu128"),
        ("Torch == 1.7.1  # why", "torch==2.7.0", "Torch == 2.7.0  # why"),
        ("torch[opt]>=1,<2;python_version<'3.8'", "torch==2.7.0", "torch[opt]==2.7.0;python_version<'3.8'"),
        ("torch (>=1.0)", "torch>=2.0,<3", "torch >= 2.0,< 3"),
        ("torch", "torch==2.7.0", "torch==2.7.0"),
        ("torch==1.0 \\\n  --hash=sha256:aa", "torch==2.7.0", "torch==2.7.0"),
        ("torch==1.0 --hash=sha256:aa", "torch==2.7.0 --hash=sha256:bb", "torch==2.7.0 --hash=sha256:bb"),
        ("https://x.example/torch-1.0-cp36-cp36m-win_amd64.whl", "torch==2.7.0+cu128", "torch==2.7.0+cu128"),
        ("torch==1.0", "torch @ https://x.example/a.whl", "torch @ https://x.example/a.whl"),
        ("pytorch=1.7.1=py3.8_0", "torch==2.7.0", "pytorch=2.7.0"),
    ],
)
def test_a_line_of_pips_stays_as_it_was_written(line: str, new: str, after: str) -> None:
    text = f"# a\r\n{line}\r\nnumpy"
    assert changed("requirements.txt", text, ("torch", new)) == f"# a\r\n{after}\r\nnumpy"


@pytest.mark.parametrize(
    ("line", "project", "new", "after"),
    [
        ("pytorch=1.7.1=py3.8_cuda11.0_0", "torch", "torch==2.7.0", "pytorch=2.7.0"),
        ("pytorch==1.7.1  # why", "torch", "torch==2.7.0", "pytorch==2.7.0  # why"),
        ("'pytorch 1.7.1'", "torch", "torch==2.7.0", "'pytorch 2.7.0'"),
        ('"pytorch>=1.7"', "torch", "torch>=2.7,<3", '"pytorch>=2.7,<3"'),
        ("conda-forge::pytorch =1.7", "torch", "torch==2.7.*", "conda-forge::pytorch 2.7"),
        ("python=3.7", "python", "3.10", "python=3.10"),
        ("python=3.7.9=h123_0", "python", "3.10", "python=3.10"),
        ("python>=3.6,<3.8", "python", "3.10", "python>=3.6,<3.11"),
        ("cudatoolkit=10.2", "cuda", "11.8", "cudatoolkit=11.8"),
        ("cudatoolkit=10.2", "cuda", "cuda-version=12.8", "cuda-version=12.8"),
        ("pytorch-cuda=11.7", "cuda", "12.4", "pytorch-cuda=12.4"),
        ("cpuonly", "cuda", "pytorch-cuda=12.4", "pytorch-cuda=12.4"),
        ("cudatoolkit=10.2", "cuda", "cpu", "cpuonly"),
        ("numpy", "numpy", "numpy<2", "numpy<2"),
    ],
)
def test_a_line_of_condas_stays_as_it_was_written(line: str, project: str, new: str, after: str) -> None:
    text = f"dependencies:\n  - {line}\n  - pip\n"
    assert changed("environment.yml", text, (project, new)) == f"dependencies:\n  - {after}\n  - pip\n"


@pytest.mark.parametrize(
    ("said", "project", "new", "after"),
    [
        ('torch = "^1.7.1"', "torch", "torch==2.7.0+cu128", 'torch = "^2.7.0"'),
        ("torch = '1.7.1+cu110'", "torch", "torch==2.7.0+cu128", "torch = '2.7.0+cu128'"),
        ('torch = "==1.7.1"', "torch", "torch==2.7.0", 'torch = "==2.7.0"'),
        ('torch = { version = "~1.7", source = "a" }', "torch", "torch==2.7.0",
         'torch = { version = "~2.7.0", source = "a" }'),
        ('torch = {url = "https://x.example/torch-1.0-cp36-cp36m-win_amd64.whl"}', "torch", "torch==2.7.0",
         'torch = "2.7.0"'),
        ('torch = "*"', "torch", "torch<3,>=2.7", 'torch = ">=2.7,<3"'),
        ('python = "^3.7"', "python", "3.10", 'python = "^3.10"'),
        ('python = "3.7.*"', "python", "3.10", 'python = "3.10.*"'),
        ('python = ">=3.6,<3.8"', "python", "3.10", 'python = ">=3.6,<3.11"'),
    ],
)  # fmt: skip
def test_what_poetry_is_told_keeps_its_caret(said: str, project: str, new: str, after: str) -> None:
    text = f"[tool.poetry.dependencies]\n{said} # why\n"
    assert changed("pyproject.toml", text, (project, new)) == f"[tool.poetry.dependencies]\n{after} # why\n"


def test_a_marker_keeps_the_quotes_of_the_file() -> None:
    text = (
        '[project]\ndependencies = ["torch==1; python_version<\'4\'", \'numpy; python_version<"4"\', "six"]\n'
    )
    value = changed(
        "pyproject.toml", text, ("torch", "torch==2"), ("numpy", "numpy<2"), ("six", 'six; os_name=="nt"')
    )
    assert value == (
        "[project]\ndependencies = [\"torch==2; python_version<'4'\", 'numpy<2; python_version<\"4\"', "
        "\"six; os_name == 'nt'\"]\n"
    )


@pytest.mark.parametrize(
    ("name", "text", "after"),
    [
        (R, "a\ntorch==1 \\\n  --hash=x  # why\nb", "a\nb"),
        (R, "\ufefftorch==1\nb", "\ufeffb"),
        (R, "torch==1 -f https://x.example\nb", " -f https://x.example\nb"),
        (R, "a\ntorch==1", "a\n"),
        (E, "dependencies:\n  - a\n  - 'pytorch=1'  # why\n  - b\n",
         "dependencies:\n  - a\n  - b\n"),
        (E, "dependencies: [a, pytorch=1, b]\n", "dependencies: [a, b]\n"),
        (E, "dependencies: [a, pytorch=1]\n", "dependencies: [a]\n"),
        (P, '[project]\ndependencies = ["torch==1", "b"]\n', '[project]\ndependencies = ["b"]\n'),
        (P, '[project]\ndependencies = ["b", "torch"]\n', '[project]\ndependencies = ["b"]\n'),
        (P, '[project]\ndependencies = ["torch"]\n', "[project]\ndependencies = []\n"),
        (P, '[project]\ndependencies = [\n  "a",\n  "torch",  # why\n]\n',
         '[project]\ndependencies = [\n  "a",\n]\n'),
        (P, '[tool.poetry.dependencies]\na = "1"\ntorch = {version = "1"}\n',
         '[tool.poetry.dependencies]\na = "1"\n'),
        (S, "setup(install_requires=['a', 'torch'])", "setup(install_requires=['a'])"),
        (C, "[options]\ninstall_requires =\n  a\n  torch\n", "[options]\ninstall_requires =\n  a\n"),
    ],
)  # fmt: skip
def test_a_removed_line_takes_nothing_with_it(name: str, text: str, after: str) -> None:
    assert changed(name, text, ("torch", None)) == after


@pytest.mark.parametrize(
    ("name", "text", "after"),
    [
        (R, "torch==1\r\nb", "torch==1\r\nnumpy<2\r\nb"),
        (R, "a\ntorch==1", "a\ntorch==1\nnumpy<2"),
        (E, "dependencies:\n- pytorch=1 # why\n- b\n",
         "dependencies:\n- pytorch=1 # why\n- numpy<2\n- b\n"),
        (E, "dependencies:\n- pip:\n  - torch\n", "dependencies:\n- pip:\n  - torch\n  - numpy<2\n"),
        (E, "dependencies: [pytorch, b]\n", "dependencies: [pytorch, numpy<2, b]\n"),
        (P, "[project]\ndependencies = ['torch']\n",
         "[project]\ndependencies = ['torch', 'numpy<2']\n"),
        (P, '[project]\ndependencies = [\n  "torch"  # why\n]\n',
         '[project]\ndependencies = [\n  "torch",\n  "numpy<2"  # why\n]\n'),
        (P, '[project]\ndependencies = [\n  "torch",\n]\n',
         '[project]\ndependencies = [\n  "torch",\n  "numpy<2",\n]\n'),
        (P, '[tool.poetry.dependencies]\ntorch = "^1"\nb = "*"\n',
         '[tool.poetry.dependencies]\ntorch = "^1"\nnumpy = "<2"\nb = "*"\n'),
        (S, "setup(install_requires=['a', 'torch'])", "setup(install_requires=['a', 'torch', 'numpy<2'])"),
        (C, "[options]\ninstall_requires =\n  torch\n  b",
         "[options]\ninstall_requires =\n  torch\n  numpy<2\n  b"),
    ],
)  # fmt: skip
def test_something_new_stands_beside_torch(name: str, text: str, after: str) -> None:
    (file,) = patched(left(name, text), (add("numpy", "numpy<2"),))
    assert file.text == after


def test_a_page_goes_in_front_of_what_comes_from_it_where_a_file_can_hold_one() -> None:
    page = add("index", "--find-links https://x.example/cu128")
    (file,) = patched(left("requirements.txt", "a\ntorch\n"), (page,))
    assert file.text == "a\n--find-links https://x.example/cu128\ntorch\n"
    for name, text in (("setup.py", "setup(install_requires=['torch'])"), ("pyproject.toml", PYPROJECT)):
        assert unapplied(left(name, text), (page,)) == (page,)


@pytest.mark.parametrize("new", [None, "--find-links https://x.example/cu128"])
def test_a_table_of_indexes_holds_no_option_of_pips(new: str | None) -> None:
    project = left(P, PYPROJECT)
    item = change(project, "index", new)
    assert unapplied(project, (item,)) == (item,)
    assert "/cu128" in changed(P, PYPROJECT, ("index", "https://download.example/whl/cu128"))


def test_a_torch_that_conda_does_not_bring_moves_to_the_pip_part() -> None:
    project = left("environment.yml", ENVIRONMENT)
    changes = (
        change(project, "torch", "torch==2.7.0+cu128"),
        change(project, "torchvision", "torchvision==0.22.0", pip=True),
        change(project, "cuda", None),
        change(project, "python", "3.10"),
        add("index", "--find-links https://x.example/cu128"),
    )
    (after,) = patched(project, changes)
    added = "    - torch==2.7.0+cu128\n    - torchvision==0.22.0\n"
    assert after.text == ENVIRONMENT.replace(
        '  - "pytorch=1.7.1=py3.7_cuda11.0.221_cudnn8.0.5_0"\n  - conda-forge::torchvision >=0.8,<0.9\n'
        "  - cudatoolkit=11.0  # [linux]\n",
        "",
    ).replace("python=3.7", "python=3.10").replace(
        "    - -f", "    - --find-links https://x.example/cu128\n    - -f"
    ).replace("'timm==0.3.2'\n", f"'timm==0.3.2'\n{added}")  # fmt: skip


def test_a_pip_part_is_made_where_there_is_none() -> None:
    project = left("environment.yml", "dependencies:\n- pytorch=1.7\n- a\n\n# the end\nname: x\n")
    (after,) = patched(project, (change(project, "torch", "torch==2.7.0", pip=True),))
    assert after.text == "dependencies:\n- a\n- pip\n- pip:\n  - torch==2.7.0\n\n# the end\nname: x\n"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("channels:\n  - defaults\ndependencies:\n- pytorch\n",
         "channels:\n  - conda-forge\n  - defaults\ndependencies:\n- pytorch\n"),
        ("dependencies:\n- pytorch\n", "channels:\n  - conda-forge\ndependencies:\n- pytorch\n"),
        ("channels: [pytorch, nvidia]  # old\ndependencies: [pytorch]\n",
         "channels: [conda-forge, pytorch, nvidia]  # old\ndependencies: [pytorch]\n"),
        ("channels: []\ndependencies: [pytorch]\n", "channels: [conda-forge]\ndependencies: [pytorch]\n"),
    ],
)  # fmt: skip
def test_a_channel_becomes_the_first(text: str, after: str) -> None:
    (file,) = patched(left("environment.yml", text), (add("index", "conda-forge"),))
    assert file.text == after


def test_a_readme_is_never_changed_and_its_change_has_no_place() -> None:
    project = left("README.md", "pip install torch==1.7.1")
    item = change(project, "torch", "torch==2.7.0")
    assert unapplied(project, (item,)) == (item,)
    assert patched(project, (item,)) == project.files


@pytest.mark.parametrize(
    "new", ['torch==2; os_name=="\\""', "torch==2\nevil", "torch==2 # x", "=", 'torch @ https://x" , ']
)
@pytest.mark.parametrize("name", ["pyproject.toml", "setup.py", "environment.yml"])
def test_what_would_say_more_than_it_should_is_refused(name: str, new: str) -> None:
    text = {
        "pyproject.toml": '[project]\ndependencies = ["torch"]\n',
        "setup.py": "setup(install_requires=['torch'])",
        "environment.yml": "dependencies:\n- pip:\n  - 'torch'\n",
    }[name]
    with pytest.raises(ValueError, match=r"."):
        changed(name, text, ("torch", new))


def test_two_changes_of_one_place_are_refused() -> None:
    project = left("requirements.txt", "torch==1\n")
    with pytest.raises(ValueError, match="same place"):
        patched(project, (change(project, "torch", "torch==2"), change(project, "torch", "torch==3")))


@pytest.mark.parametrize(
    ("specifier", "python", "after"),
    [
        (">=3.6,<3.8", "3.10", ">=3.6,<3.11"),
        (">=3.11", "3.10", ">=3.10"),
        ("==3.7.*", "3.10", "==3.10.*"),
        ("~=3.7", "3.10", "~=3.7"),
        (">=3.6,!=3.10.*", "3.10", ">=3.6"),
        ("nonsense", "3.10", ">=3.10"),
        ("", "3.10", ">=3.10"),
    ],
)
def test_the_least_of_a_specifier_of_pythons_changes(specifier: str, python: str, after: str) -> None:
    assert admitting(specifier, python) == after
