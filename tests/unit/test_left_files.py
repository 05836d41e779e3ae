"""Reading what was left: every place is where it says, whatever the file holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from left_samples import ENVIRONMENT, NAMES, PYPROJECT, TEXTS

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.collector import ParsedFile, decode_text, encode_text
from gpuenv.adapt.parsers.parse import parse_file


def read(name: str, text: str) -> ParsedFile:
    return parse_file(DependencyFile(name, NAMES[name], text), "linux-64")


def asked(name: str, text: str) -> list[tuple[int, str, str | None, str]]:
    return [
        (declared.line, declared.project, declared.requirement, declared.text)
        for declared in read(name, text).declared
    ]


@pytest.mark.parametrize("name", NAMES)
@given(text=TEXTS)
def test_a_place_holds_what_it_says_and_only_value_errors_are_raised(name: str, text: str) -> None:
    try:
        collector = read(name, text)
    except ValueError:
        return
    for declared in collector.declared:
        assert text[declared.start : declared.end] == declared.text != ""
        assert declared.line == text.count("\n", 0, declared.start) + 1
    assert all(
        requirement.end <= other.start
        for requirement, other in zip(collector.declared, collector.declared[1:], strict=False)
    )
    assert all(warning.isprintable() for warning in collector.warnings)


@given(content=st.binary(max_size=60) | TEXTS.map(lambda text: text.encode("utf-16", "replace")))
def test_bytes_become_text_and_the_same_bytes_again(content: bytes) -> None:
    try:
        text = decode_text(content)
    except ValueError:
        return
    assert encode_text(text, content) == content


def test_a_requirements_file_is_read_with_its_comments_hashes_markers_and_extras() -> None:
    text = (
        "\ufeff# the paper's\r\n"
        "-f https://download.example/whl/torch_stable.html\r\n"
        "torch==1.7.1+cu110  # with CUDA\r\n"
        "numpy==1.19.5 \\\r\n    --hash=sha256:aa \\\r\n    --hash=sha256:bb\r\n    # via torch\r\n"
        'foo[bar,baz] >= 1 ; python_version < "3.8"\r\n'
        "Pillow"
    )
    hashed = "numpy==1.19.5 \\\r\n    --hash=sha256:aa \\\r\n    --hash=sha256:bb"
    assert asked("requirements.txt", text) == [
        (2, "index", "https://download.example/whl/torch_stable.html", text.splitlines()[1]),
        (3, "torch", "torch==1.7.1+cu110", "torch==1.7.1+cu110"),
        (4, "numpy", "numpy==1.19.5", hashed),
        (8, "foo", 'foo[bar,baz]>=1; python_version < "3.8"', 'foo[bar,baz] >= 1 ; python_version < "3.8"'),
        (9, "pillow", "Pillow", "Pillow"),
    ]
    assert "hashes" in read("requirements.txt", text).warnings[0]


@pytest.mark.parametrize(
    ("line", "project", "requirement"),
    [
        ("https://x.example/torch-1.11.0%2Bcu113-cp38-cp38-win_amd64.whl", "torch", "torch==1.11.0+cu113"),
        ("torch @ https://x.example/torch-1.11.0+cu113-cp38-cp38-win_amd64.whl", "torch",
         "torch==1.11.0+cu113"),
        ("./wheels/torch-1.11.0-cp38-cp38-linux_x86_64.whl", "torch", "torch==1.11.0"),
        ("https://x.example/en_core-2.0-py3-none-any.whl#egg=en_core", "en-core",
         "en_core@ https://x.example/en_core-2.0-py3-none-any.whl#egg=en_core"),
        ("git+https://x.example/openai/CLIP.git@main", "clip", "CLIP@ git+https://x.example/openai/CLIP.git@main"),
        ("-e git+https://x.example/a/apex.git#egg=apex", "apex", "apex@ git+https://x.example/a/apex.git#egg=apex"),
        ("numpy @ file:///croot/numpy_1620831194891", "numpy", "numpy"),
        ("torch>=1.0.*", "torch", "torch>=1.0"),
        ("torch>=1.3.2+ecbda83, <2", "torch", "torch<2,>=1.3.2"),
        ("torch>=1.0.x", "torch", None),
        ("torch @ https://x.example/torch-1.0-cp36-cp36m-win_amd64.whl ; sys_platform == 'win32'", "torch",
         'torch==1.0; sys_platform == "win32"'),
        ("git+https://x.example/a/b.git ; python_version > '3'", "b",
         'b@ git+https://x.example/a/b.git ; python_version > "3"'),
        ("git+https://x.example/a/b.git#egg=c[d]", "c", "c[d]@ git+https://x.example/a/b.git#egg=c[d]"),
        ("https://x.example/a/b/archive/main.zip", "b", "b@ https://x.example/a/b/archive/main.zip"),
        ("https://x.example/foo_bar-1.0.tar.gz", "foo-bar", "foo-bar@ https://x.example/foo_bar-1.0.tar.gz"),
        ("torch==1.10.0.post1", "torch", "torch==1.10.0.post1"),
        ("numpy=1.19.2=py38h54aff64_0", "numpy", "numpy==1.19.2"),
        ("pytorch=1.7.1=py3.8_cuda11.0.221_cudnn8.0.5_0", "torch", "torch==1.7.1+cu110"),
        ("cudatoolkit=11.0.221=h6bb024c_0", "cuda", "11.0"),
        ("torch=1.7.1=pypi_0", "torch", "torch==1.7.1"),
    ],
)  # fmt: skip
def test_a_line_of_a_requirements_file(line: str, project: str, requirement: str | None) -> None:
    (declared,) = read("requirements.txt", f"{line}  # why\n").declared
    message = declared.requirement and declared.requirement.replace(" @", "@")
    assert (declared.project, message, declared.text) == (project, requirement, line)


@pytest.mark.parametrize(
    "line",
    [
        "git+https://x.example/a/b.git#subdirectory=python",
        "https://x.example/data",
        "some thing odd",
        "torch>=1.0.x",
        "./more.tar.gz",
        "--pre",
        "--no-binary :all:",
        "-r",
        "-",
        "-x y",
        "-e",
        "===",
        "torch --trusted-host x.example",
    ],
)
def test_a_line_that_does_not_count_is_named(line: str) -> None:
    (warning,) = read("requirements.txt", f"numpy\n{line}  # why\n").warnings
    assert warning.startswith("requirements.txt:2: ")


def test_a_project_beside_the_file_is_told_with_a_command_that_a_shell_takes_as_it_is() -> None:
    text = "-e .\n./sub[extra]\nmore/sub\n-e near\nfile:../away\n-e 'a $(b)'\n"
    parsed = parse_file(DependencyFile("in/requirements.txt", "requirements", text), "linux-64")
    commands = [warning.split("run `")[1].split("` in the")[0] for warning in parsed.warnings]
    assert commands == [
        "pip install -e in",
        "pip install in/sub",
        "pip install in/more/sub",
        "pip install -e in/near",
        "pip install away",
        "pip install -e 'in/a $(b)'",
    ]
    assert {more.kind for more in parsed.more} == {"project"}


def test_files_that_a_requirements_file_names_are_told_with_their_kind() -> None:
    text = (
        "-r base.txt\n--requirement=more.txt\n-c bounds.txt\n-e .\n./sub[extra]\n-rnear.txt\n-r 'a b.txt'\n"
    )
    assert [(more.path, more.kind, more.line) for more in read("requirements.txt", text).more] == [
        ("base.txt", "requirements", 1),
        ("more.txt", "requirements", 2),
        ("bounds.txt", "constraints", 3),
        (".", "project", 4),
        ("./sub", "project", 5),
        ("near.txt", "requirements", 6),
        ("a b.txt", "requirements", 7),
    ]


def test_an_environment_file_is_read_within_its_quotes_and_for_the_platform() -> None:
    assert asked("environment.yml", ENVIRONMENT) == [
        (2, "index", "pytorch", "pytorch"),
        (2, "index", "conda-forge", "conda-forge"),
        (4, "_libgcc_mutex", None, "_libgcc_mutex=0.1=main"),
        (5, "python", "==3.7.*", "python=3.7"),
        (6, "torch", "torch==1.7.1+cu110", "pytorch=1.7.1=py3.7_cuda11.0.221_cudnn8.0.5_0"),
        (7, "torchvision", "torchvision<0.9,>=0.8", "conda-forge::torchvision >=0.8,<0.9"),
        (8, "cuda", "11.0", "cudatoolkit=11.0"),
        (12, "index", "https://download.example/whl", "-f https://download.example/whl"),
        (13, "timm", "timm==0.3.2", "timm==0.3.2"),
    ]
    assert read("environment.yml", ENVIRONMENT).warnings == ()


@pytest.mark.parametrize(
    "text", ["", "[", "a", "dependencies: {}", "dependencies: 3", "a: " * 3000, "- " * 3000]
)
def test_what_is_no_environment_file_raises_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read("environment.yml", text)


def test_a_pyproject_is_read_with_poetrys_carets_as_specifiers() -> None:
    assert [item[1:] for item in asked("pyproject.toml", PYPROJECT)] == [
        ("python", ">=3.7,<3.9", ">=3.7,<3.9"),
        ("torch", "torch==1.7.1", "torch==1.7.1"),
        ("numpy", 'numpy<1.20; python_version < "3.8"', 'numpy<1.20; python_version < "3.8"'),
        ("python", "<4,>=3.7", "^3.7"),
        ("torch", "torch[opt]<1.8,>=1.7", "~1.7"),
        ("torchvision", "torchvision==0.8.2", "0.8.2"),
        ("xformers", "xformers==0.0.20", "0.0.20"),
        (
            "xformers",
            "xformers==0.0.20",
            '{url = "https://x.example/xformers-0.0.20-cp38-cp38-win_amd64.whl"}',
        ),
        ("odd", None, "^1 || ^2"),
        ("there", "there", "*"),
        ("index", "https://download.example/whl/cu110", "https://download.example/whl/cu110"),
    ]
    message = "\n".join(read("pyproject.toml", PYPROJECT).warnings)
    assert [
        word for word in ("optional-dependencies", "^1 || ^2", "source `there`") if word not in message
    ] == []


SETUP = """\
# -*- coding: utf-8 -*-
from setuptools import setup
import os; os.system("exit 3")
é = "é"; REQUIRED = ["torch==1.7.1", u"x", 'numpy' '<2', r"scipy"]
settings = dict(python_requires=">=3.6", install_requires=REQUIRED + ["timm"] + others)
setup(name="é", **settings, extras_require={"dev": ["torch==1"]})
"""


def test_a_setup_is_read_through_names_and_sums_and_what_is_not_written_out_is_told() -> None:
    assert [item[1:] for item in asked("setup.py", SETUP)] == [
        ("torch", "torch==1.7.1", "torch==1.7.1"),
        ("x", "x", "x"),
        ("scipy", "scipy", "scipy"),
        ("python", ">=3.6", ">=3.6"),
        ("timm", "timm", "timm"),
    ]
    assert len(read("setup.py", SETUP).warnings) == 3


@pytest.mark.parametrize(
    "said",
    [
        'open("requirements.txt").read().splitlines()',
        "[line.strip() for line in open(os.path.join(here, 'requirements.txt'))]",
        "parse_requirements('requirements.txt')",
        "REQS",
    ],
)
def test_a_setup_that_reads_its_requirements_file_leads_to_it(said: str) -> None:
    text = f"PATH = 'requirements.txt'\nREQS = read(PATH)\nsetup(install_requires={said})\n"
    assert [more.path for more in read("setup.py", text).more] == ["requirements.txt"]


def test_a_setup_cfg_is_read_line_by_line() -> None:
    text = (
        "[metadata]\nname = torch==9\n[options]\npython_requires = >=3.6\n"
        "install_requires =\n    torch==1.7.1\n"
        "    # why\n\n    numpy<2; python_version<'3'\n[options.extras_require]\n"
        "install_requires = torch==2\n"
    )
    assert asked("setup.cfg", text) == [
        (4, "python", ">=3.6", ">=3.6"),
        (6, "torch", "torch==1.7.1", "torch==1.7.1"),
        (9, "numpy", 'numpy<2; python_version < "3"', "numpy<2; python_version<'3'"),
    ]


README = """\
# Paper
Run `conda create -n paper python=3.7` first, then
```bash
$ conda install pytorch==1.7.1 torchvision==0.8.2 cudatoolkit=11.0 -c pytorch -y
$ pip install torch==1.8.0+cu111 \\
    -f https://download.example/torch_stable.html && pip install -r requirements.txt
```
You may pip install flash.
"""


def test_a_readme_hints_by_its_first_install_lines() -> None:
    assert asked("README.md", README) == [
        (2, "python", "==3.7.*", "python=3.7"),
        (4, "torch", "torch==1.7.1", "pytorch==1.7.1"),
        (4, "torchvision", "torchvision==0.8.2", "torchvision==0.8.2"),
        (4, "cuda", "11.0", "cudatoolkit=11.0"),
        (4, "index", "pytorch", "pytorch"),
    ]
    assert "another way" in read("README.md", README).warnings[0]
    assert all(declared.hint for declared in read("README.md", README).declared)


def test_files_that_setuptools_takes_requirements_from_are_followed() -> None:
    dynamic = "[project]\ndynamic = ['dependencies']\n[tool.setuptools.dynamic]\ndependencies = {}\n"
    named = dynamic.replace("{}", "{file = ['requirements.txt', 'more.txt']}")
    assert [more.path for more in read("pyproject.toml", named).more] == ["requirements.txt", "more.txt"]
    (warning,) = read("pyproject.toml", dynamic).warnings
    assert "computed" in warning
    cfg = "[options]\ninstall_requires = file: a.txt, b.txt\n[options.extras_require]\ngpu =\n  cupy\n"
    parsed = read("setup.cfg", cfg)
    assert [more.path for more in parsed.more] == ["a.txt", "b.txt"]
    assert [warning.split(":")[1] for warning in parsed.warnings] == ["5"]
    assert "computed" in read("setup.py", "setup(**settings())").warnings[0]


def test_what_an_environment_file_lists_beside_requirements_is_told() -> None:
    text = (
        "dependencies:\n  - pip=20.2\n  - {pip: [torch, {a: b}], foo: bar}\n  - pip: numpy\n  - pip:\n"
        "  - >\n    numpy\n  - scipy  # [win]\ndependencies: [b]\n"
    )
    parsed = read("environment.yml", text)
    assert [declared.project for declared in parsed.declared] == ["pip", "torch"]
    lines = [int(warning.split(":")[1]) for warning in parsed.warnings]
    assert sorted(lines) == [3, 3, 4, 6, 9]


def test_what_uv_takes_from_elsewhere_is_asked_of_no_index() -> None:
    text = (
        '[project]\ndependencies = ["one>=1", "two[a]; python_version > \'3\'", "three", "four", "torch"]\n'
        "[tool.uv.sources]\none = { workspace = true }\nfour = { index = 'private' }\n"
        "two = { git = 'https://x.example/two', rev = 'abc', subdirectory = 'python' }\n"
        "three = { path = '../three' }\ntorch = { index = 'pytorch' }\n"
    )
    parsed = read("pyproject.toml", text)
    assert [(item.project, item.requirement) for item in parsed.declared] == [
        ("one", None),
        ("two", 'two[a] @ git+https://x.example/two@abc#subdirectory=python ; python_version > "3"'),
        ("three", None),
        ("four", "four"),
        ("torch", "torch"),
    ]
    assert [(more.path, more.kind) for more in parsed.more] == [("../three", "project")]
    told = "\n".join(parsed.warnings)
    assert [name for name in ("`one>=1`", "`three`", "where four", "where torch") if name not in told] == []


def test_a_poetry_dependency_from_git_keeps_its_revision() -> None:
    text = "[tool.poetry.dependencies]\na = { git = 'https://x.example/a.git', tag = 'v1' }\n"
    (declared,) = read("pyproject.toml", text).declared
    assert declared.requirement == "a @ git+https://x.example/a.git@v1"


def test_a_wheel_of_another_machine_is_its_release_and_that_is_told() -> None:
    name = "flash_attn-2.5.0+cu118torch2.1cxx11abiFALSE-cp310-cp310-linux_x86_64.whl"
    for line in (f"https://x.example/{name}", f"flash-attn @ file:///home/ada/{name}", f"./{name}"):
        parsed = read("requirements.txt", line)
        assert [item.requirement for item in parsed.declared] == ["flash-attn==2.5.0"]
        assert "another machine" in parsed.warnings[0]


def test_a_version_that_only_conda_has_is_no_fault_of_the_file() -> None:
    text = "dependencies: [jpeg=9e, openssl=1.1.1k=h27cfd23_0, 'numpy=1.2|1.3', python=x]\n"
    parsed = read("environment.yml", text)
    assert [item.project for item in parsed.declared] == ["jpeg", "openssl", "numpy", "python"]
    assert len(parsed.warnings) == 1
    assert "python=x" in parsed.warnings[0]
