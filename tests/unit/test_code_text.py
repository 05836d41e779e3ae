"""Code as text: comments blanked out, notebooks, places."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv import matrices
from gpuenv.adapt.risks.api_risks import places_of
from gpuenv.adapt.risks.code_text import language_of, parse_notebook, without_comments
from gpuenv.knowledge.api_changes import CODE_LANGUAGES, CodeLanguage, parse_api_changes

KNOWN = parse_api_changes(matrices.load("api-changes"))


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/train.py", "python"), ("A.PY", "python"), ("k.cu", "c++"), ("k.cuh", "c++"), ("run.sh", "shell"),
        ("n.ipynb", "python"), ("n.ipynb[12]", "python"), ("README.md", None), ("py", None),
        ("a.py.txt", None),
    ],
)  # fmt: skip
def test_a_language_goes_by_the_end_of_the_name(path: str, language: str | None) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize(
    "text",
    [
        "# torch.symeig(a)\n",
        'def f():\n    """Once torch.symeig(a) stood here."""\n',
        '"""torch.symeig(a)"""\n',
        'print("never write torch.symeig(a) again")\n',
        'x = 1  # as torch.symeig(a)\n"""\ntorch.symeig(a)\n"""\n',
    ],
)
def test_what_is_said_of_code_is_no_code(text: str) -> None:
    assert places_of(KNOWN, [("a.py", text)], 3) == {}


@pytest.mark.parametrize(
    ("path", "text", "place"),
    [
        ("a.py", "x = 1\ny = torch.symeig(a)  # torch.symeig\n", "a.py:2"),
        ("a.py", "f(\n  'bilinear',\n  torch.symeig(a))\n", "a.py:3"),
        ("py2.py", "print 'x'\nexec 'y' in z\nq = torch.symeig(a)\n", "py2.py:3"),
        ("half.py", "def f(:\n  torch.symeig(a)\n", "half.py:2"),
        ("cell.ipynb[2]", "!pip install torch\n%time x = torch.symeig(a)\n", "cell.ipynb[2]:2"),
        ("nul.py", "x = '\0\ud800'\nz = torch.symeig(a)\n", "nul.py:2"),
        ("tabs.py", "if x:\n\ty = 1\n        z = torch.symeig(a)\n", "tabs.py:3"),
    ],
)
def test_a_place_is_found_in_whole_and_broken_code(path: str, text: str, place: str) -> None:
    change = [row for row in KNOWN if row.id == "torch-symeig"]
    assert places_of(change, [(path, text)], 3)["torch-symeig"].first == (place,)


def test_an_escape_that_python_warns_of_is_read_in_silence() -> None:
    text = 'x = re.compile("\\d")  # torch.symeig(a)\n'
    assert "symeig" not in without_comments(text, "python")


def test_an_argument_stays_where_it_stands_between_brackets() -> None:
    text = 'f(\n    "torch.distributed.launch",\n)\n'
    assert without_comments(text, "python") == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a; // b\nc", "a;     \nc"),
        ("a /* b\nc */ d", "a     \n     d"),
        ('x("//no");', 'x("//no");'),
        ('x("says a word");', "x(" + " " * 13 + ");"),
        ("/* open\nnever closed", "       \n            "),
        (r'"\"" // x', r'"\""     '),
    ],
)
def test_comments_of_c_are_blanked_and_strings_are_not(text: str, left: str) -> None:
    assert without_comments(text, "c++") == left


_CODE = st.text(alphabet="ab \n\t\r\"'#/*\\()[]{}:=\0é中\x0c", max_size=200)


@given(_CODE, st.sampled_from(CODE_LANGUAGES))
def test_lines_and_columns_stay_whatever_the_text(text: str, language: CodeLanguage) -> None:
    left = without_comments(text, language)
    assert len(left) == len(text)
    assert [at for at, letter in enumerate(left) if letter == "\n"] == [
        at for at, letter in enumerate(text) if letter == "\n"
    ]


def test_a_notebook_has_its_code_cells_by_their_number() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["torch.symeig(a)"]},
        {"cell_type": "code", "source": ["x = 1\n", "y = 2"]},
        {"cell_type": "code", "source": "z = 3"},
    ]
    assert parse_notebook(json.dumps({"cells": cells})) == ((2, "x = 1\ny = 2"), (3, "z = 3"))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 1}', '{"cells": [{}]}', "[" * 100_000, "null"])
def test_a_notebook_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a valid notebook"):
        parse_notebook(text)


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(
    st.sampled_from(["cells", "cell_type", "source", "code"]), inner)))  # fmt: skip
def test_a_notebook_is_read_or_refused(value: object) -> None:
    try:
        cells = parse_notebook(json.dumps(value))
    except ValueError:
        return
    assert all(isinstance(source, str) for _, source in cells)
