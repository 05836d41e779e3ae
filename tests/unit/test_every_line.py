"""No line of a file that was read is lost: it asks for something, names a file, or is told with its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.adapt.model import DependencyFile, FileKind
from gpuenv.adapt.parsers.collector import ParsedFile, decode_text
from gpuenv.adapt.parsers.parse import parse_file
from gpuenv.adapt.read_project import kind_of

PAPERS = Path(__file__).parent.parent / "papers"
OF_PIP = (
    "torch==1.7.1+cu110",
    "numpy<1.20 ; python_version < '3.8'",
    "numpy<1.20 ; os_name ~= 'posix'",
    "foo>=1.3.2+ecbda83",
    "foo>=1.*",
    "foo[a,b] @ https://x.example/foo-1.0.tar.gz",
    "foo @ file:///croot/foo",
    "git+https://x.example/a/b.git",
    "git+https://x.example/a/b.git@1.0#egg=c&subdirectory=d",
    "git+https://x.example/a/b.git#subdirectory=d",
    "git+ssh://git@x.example/a/b.git",
    "git@x.example:a/b.git",
    "https://x.example/a/b/archive/main.zip",
    "https://x.example/torch-1.0-cp36-cp36m-win_amd64.whl",
    "https://x.example/a",
    "./a",
    "a/b",
    "a.tar.gz",
    "file:a",
    "torch-cluster -f https://x.example/whl",
    "torch --pre --index-url=https://x.example --extra-index-url https://y.example",
    "-r a.txt",
    "-ra.txt",
    "-r 'a b.txt'",
    "-r",
    "-c a.txt",
    "-e .",
    "-e a",
    "-e git+https://x.example/a/b.git#egg=b",
    "-i https://x.example",
    "-f ./a",
    "--find-links=https://x.example",
    "--no-binary :all:",
    "--pre",
    "--",
    "-",
    "--hash=sha256:00",
    "a=1.0=py37_0",
    "a 1.0",
    "===",
    "[a]",
    "${HOME}/a",
    "a" * 30_000,
    "a==" + "9" * 500,
    "é",
    "\udce9",
    "'torch'",
    "@",
    "* a",
    "&a",
)
OF_CONDA = (
    "pytorch=1.7.1=py3.8_cuda11.0_0",
    "pytorch::torchvision>=0.8,<0.9",
    "https://x.example/linux-64::numpy",
    "numpy[version='>=1.2', build='py37*']",
    "numpy >=1.2,<2 py37*",
    "numpy=1.2|1.3",
    "numpy>=1.3.2+ecbda83",
    "openssl=1.1.1k=h27cfd23_0",
    "_libgcc_mutex=0.1=main",
    "https://x.example/linux-64/foo-1.0-0.tar.bz2",
    "python=3.7",
    "python",
    "python=x",
    "cudatoolkit=10.2",
    "pytorch-cuda>=11",
    "cpuonly",
    "pip=20.2",
    "numpy==",
    "a b c d",
    "numpy=1.2=a=b",
    "numpy[",
)
QUIET = ("", "# only words", "  # torch==1.0", "\t")


def check_all_told(text: str, name: str, kind: FileKind, lines: list[int]) -> None:
    parsed = parse_file(DependencyFile(name, kind, text), "linux-64")
    for number in lines:
        assert number in told(parsed, text, name), text.split("\n")[number - 1][:200]


def told(parsed: ParsedFile, text: str, name: str) -> set[int]:
    numbers = {more.line for more in parsed.more}
    for item in parsed.declared:
        numbers |= set(range(item.line, item.line + text.count("\n", item.start, item.end) + 1))
    named = (re.match(rf"{re.escape(name)}:(\d+): ", warning) for warning in parsed.warnings)
    return numbers | {int(match[1]) for match in named if match}


@given(
    lines=st.lists(st.sampled_from((*OF_PIP, *QUIET)), min_size=1, max_size=6),
    end=st.sampled_from(("\n", "\r\n")),
    comment=st.sampled_from(("", "  # why", " \\\n    # why", "\t")),
    mark=st.sampled_from(("", "\ufeff")),
)
def test_each_line_of_a_requirements_file_is_told(
    lines: list[str], end: str, comment: str, mark: str
) -> None:
    text = mark + end.join(line if line in QUIET else f"{line}{comment}" for line in lines)
    step = comment.count("\n")
    numbers, at = [], 1
    for line in lines:
        if line not in QUIET:
            numbers.append(at)
        at += 1 + (step if line not in QUIET else 0)
    check_all_told(text, "requirements.txt", "requirements", numbers)


@given(
    conda=st.lists(st.sampled_from(OF_CONDA), max_size=4),
    pip=st.lists(st.sampled_from(OF_PIP), max_size=4),
    end=st.sampled_from(("\n", "\r\n")),
    mark=st.sampled_from(("", "\ufeff")),
)
def test_each_line_of_an_environment_file_is_told(
    conda: list[str], pip: list[str], end: str, mark: str
) -> None:
    conda = [quoted(line) for line in conda]
    lines = ["dependencies:", *(f"  - {line}" for line in (*conda, "pip"))]
    first = len(lines) + 2
    lines += ["  - pip:", *(f"    - {quoted(line)}" for line in pip)] if pip else []
    numbers = [*range(2, 2 + len(conda)), *range(first, first + len(pip))]
    text = mark + end.join(lines)
    check_all_told(text, "environment.yml", "environment", numbers)


def quoted(line: str) -> str:
    """Return a line as YAML takes it, in quotes where it must be."""
    return '"' + line.encode("utf-8", "replace").decode() + '"' if re.search(r"^\W|[#:\[]", line) else line


@pytest.mark.parametrize("path", sorted(PAPERS.rglob("*require*.txt")), ids=lambda path: path.parent.name)
def test_each_line_of_a_papers_requirements_is_told(path: Path) -> None:
    text = decode_text(path.read_bytes())
    lines = list(enumerate(text.split("\n"), start=1))
    numbers = [number for number, line in lines if re.sub(r"(^|\s)#.*", "", line).strip("\ufeff \t\r")]
    check_all_told(text, path.name, kind_of(path), numbers)
