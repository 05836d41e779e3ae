import pytest

from gpuenv.explanation.wheels.commands import with_its_torch
from gpuenv.signatures.settle import in_its_image, in_its_python, in_its_tool

LINE = (
    "`pip install --force-reinstall --no-deps torchvision==0.21.0 --index-url https://h/whl/cu124`: its own"
)


@pytest.mark.parametrize(
    ("facts", "fix", "told"),
    [
        ({}, LINE, LINE),
        ({"uv"}, '`python -m pip install "numpy<2"`', '`uv pip install "numpy<2"`'),
        ({"uv"}, "`pip uninstall -y triton`, not pip alone", "`uv pip uninstall triton`, not pip alone"),
        ({"uv"}, "`pip cache purge`", "`uv cache clean`"),
        (
            {"uv", "uv_project"},
            LINE,
            "`uv add torchvision==0.21.0 --index pytorch-cu124=https://h/whl/cu124`: its own",
        ),
        ({"uv", "uv_project"}, "`pip uninstall -y triton`", "`uv remove triton`"),
        ({"uv", "uv_project"}, "`pip install -r x.txt`", "`uv pip install -r x.txt`"),
        ({"uv", "uv_project"}, "`uv add torch` or `pip install torch`", None),
        ({"pixi"}, "`pip install torchvision==0.21.0`", "`pixi add --pypi torchvision==0.21.0`"),
        (
            {"pixi", "uv"},
            LINE,
            (
                '`extra-index-urls = ["https://h/whl/cu124"]` under [pypi-options] in pixi.toml, then '
                "`pixi add --pypi torchvision==0.21.0`: its own"
            ),
        ),
        (
            {"pipenv"},
            LINE,
            "`pipenv install torchvision==0.21.0 --index https://h/whl/cu124`: its own",
        ),
        ({"pdm"}, "`pip uninstall -y triton`", "`pdm remove triton`"),
        (
            {"pdm"},
            LINE,
            (
                '`[[tool.pdm.source]] name = "pytorch-cu124" url = "https://h/whl/cu124"` (three lines) in '
                "pyproject.toml, then `pdm add torchvision==0.21.0`: its own"
            ),
        ),
        ({"pixi"}, "`pip uninstall -y triton`", "`pixi remove --pypi triton`"),
        ({"pixi"}, "`pip install -e .`", "`pixi run pip install -e .`"),
        ({"poetry"}, '`python -m pip install -U "numpy<2"`', '`poetry add "numpy<2"`'),
        (
            {"poetry"},
            LINE,
            (
                "`poetry source add --priority explicit pytorch-cu124 https://h/whl/cu124 && "
                "poetry add --source pytorch-cu124 torchvision==0.21.0`: its own"
            ),
        ),
        ({"poetry"}, "`pip install --no-deps x`", "`poetry run pip install --no-deps x`"),
    ],
)
def test_a_line_for_pip_is_told_as_the_tool_of_the_text_takes_it(
    facts: set[str], fix: str, told: str | None
) -> None:
    assert in_its_tool(fix, facts) == (told or fix)


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({}, "`python -m pip install torch==2.4.1`, then `pip show torch`"),
        (
            {"program_python": r".\python_embeded\python.exe"},
            (
                r"`.\python_embeded\python.exe -m pip install torch==2.4.1`, then "
                r"`.\python_embeded\python.exe -m pip show torch`"
            ),
        ),
        (
            {"program_python": r"C:\My UI\venv\Scripts\Python.exe", "powershell": "PS C:\\"},
            (
                r'`& "C:\My UI\venv\Scripts\Python.exe" -m pip install torch==2.4.1`, then '
                r'`& "C:\My UI\venv\Scripts\Python.exe" -m pip show torch`'
            ),
        ),
        (
            {"program_home": r"D:\ui\venv"},
            (
                r"`D:\ui\venv\Scripts\python.exe -m pip install torch==2.4.1`, then "
                r"`D:\ui\venv\Scripts\python.exe -m pip show torch`"
            ),
        ),
        (
            {"program_home": r"D:\ui\system\python"},
            (
                r"`D:\ui\system\python\python.exe -m pip install torch==2.4.1`, then "
                r"`D:\ui\system\python\python.exe -m pip show torch`"
            ),
        ),
        (
            {"program_home": r"D:\ui\venv", "env_prompt": "(venv)"},
            "`python -m pip install torch==2.4.1`, then `pip show torch`",
        ),
    ],
)
def test_a_line_for_pip_is_for_the_python_that_runs_the_program(facts: dict[str, str], told: str) -> None:
    fix = "`python -m pip install torch==2.4.1`, then `pip show torch`"
    assert in_its_python(fix, facts) == told


def test_a_line_that_names_a_python_stays() -> None:
    fix = r"`.\python_embeded\python.exe -m pip install torch`"
    assert in_its_python(fix, {"program_python": r"C:\x\python.exe"}) == fix


@pytest.mark.parametrize(
    ("torch", "told"),
    [
        ("2.2.0", "`pip install --force-reinstall torch==2.2.0`, or `gpuenv plan torch==VERSION`"),
        (
            "2.5.1+cu121",
            (
                "`pip install --force-reinstall torch==2.5.1 --index-url https://download.pytorch.org/whl/cu121`,"
                " or `gpuenv plan torch==VERSION`"
            ),
        ),
    ],
)
def test_a_line_that_installs_torch_anew_has_the_version_of_the_text(torch: str, told: str) -> None:
    fix = "`pip install --force-reinstall torch==VERSION`, or `gpuenv plan torch==VERSION`"
    assert with_its_torch(fix, torch) == told


@pytest.mark.parametrize(
    ("facts", "fix", "told"),
    [
        (
            {"image_step": "Step 3/9 : RUN"},
            "`pip install a`: b",
            "In the Dockerfile, as RUN: `pip install a`: b",
        ),
        (
            {"as_root": "RUN"},
            "Install it so: `uv pip install a`.",
            "In the Dockerfile, as RUN: install it so: `uv pip install a`.",
        ),
        ({"image_run": "make"}, "In the Dockerfile write `pip install a`", None),
        ({"image_run": "make"}, "`docker run --gpus all` with `pip install a`", None),
        ({"image_run": "make"}, "Restart the machine", None),
        ({"as_root": "root@"}, "`pip install a`", None),
    ],
)
def test_what_is_installed_while_an_image_is_built_stands_in_its_dockerfile(
    facts: dict[str, str], fix: str, told: str | None
) -> None:
    assert in_its_image(fix, facts) == (told or fix)
