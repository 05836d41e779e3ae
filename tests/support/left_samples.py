"""Pieces of files that papers leave, for tests of reading and changing them."""

from __future__ import annotations

from hypothesis import strategies as st

from gpuenv.adapt.model import FileKind

NAMES: dict[str, FileKind] = {
    "requirements.txt": "requirements",
    "environment.yml": "environment",
    "pyproject.toml": "pyproject",
    "setup.py": "setup",
    "setup.cfg": "setup",
    "README.md": "readme",
}
PIECES = st.sampled_from(
    (
        *(
            "torch==1.7.1+cu110",
            "numpy<1.20",
            "pytorch=1.7.1=py3.8_cuda11.0_0",
            "cudatoolkit=10.2",
            "python=3.7",
        ),
        *(
            "# comment",
            " \\\n",
            "\n",
            "\r\n",
            "\ufeff",
            "\t",
            "  - ",
            '"',
            "'",
            "[",
            "]",
            "{",
            "}",
            ",",
            "=",
            ":",
        ),
        *(
            "dependencies:",
            "channels:",
            "- pip:",
            "[project]",
            "dependencies = [",
            "requires-python = '>=3.7'",
        ),
        *("[tool.poetry.dependencies]", 'torch = "^1.7"', "[options]", "install_requires =", "setup(", ")"),
        *(
            "install_requires=['torch==1.7.1']",
            "open('requirements.txt')",
            "-f https://x.example/a",
            "-r a.txt",
        ),
        *(
            "pip install ",
            "conda install ",
            "`",
            "-c pytorch",
            "https://x.example/torch-1.0-cp36-cp36m-win_amd64.whl",
        ),
        *(
            "\udce9",
            "é",
            "*a",
            "&a",
            "!!x",
            "|",
            "> ",
            "-e .",
            "git+https://x.example/a.git",
            "--hash=sha256:00",
        ),
    )
)
TEXTS = st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=80)

ENVIRONMENT = """\
name: paper
channels: [pytorch, "conda-forge"]
dependencies:
  - _libgcc_mutex=0.1=main
  - python=3.7  # as in the paper
  - "pytorch=1.7.1=py3.7_cuda11.0.221_cudnn8.0.5_0"
  - conda-forge::torchvision >=0.8,<0.9
  - cudatoolkit=11.0  # [linux]
  - cudatoolkit=9.2  # [win]
  - pip
  - pip:
    - -f https://download.example/whl
    - 'timm==0.3.2'
prefix: /home/ada/paper
"""

PYPROJECT = """\
[project]
requires-python = ">=3.7,<3.9"
dependencies = [
    "torch==1.7.1",  # why
    'numpy<1.20; python_version < "3.8"',
]
[project.optional-dependencies]
dev = ["torch==1.0"]
[tool.poetry.dependencies]
python = "^3.7"
torch = {version = "~1.7", extras = ["opt"], source = "there"}
torchvision = "0.8.2"
xformers = [{version = "0.0.20", python = ">=3.8"}, {url = "https://x.example/xformers-0.0.20-cp38-cp38-win_amd64.whl"}]
odd = "^1 || ^2"
"there" = "*"
[[tool.poetry.source]]
name = "there"
url = "https://download.example/whl/cu110"
"""
