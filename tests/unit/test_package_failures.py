"""The package that failed is the one that is answered: by facts of the matrices, with commands that hold."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from sampling import every

from gpuenv import matrices
from gpuenv.explanation.explain import explain_text
from gpuenv.model.errors import GpuenvError
from gpuenv.model.wheel import Platform, TorchBuild
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.make_plan import read_basis
from gpuenv.planning.options import PlanOptions
from gpuenv.signatures.match import SignatureMatch

KNOWLEDGE = load_knowledge()
SYSTEMS: dict[Platform, str] = {
    "linux-64": "$ cat /proc/version\nLinux 5.15.153.1-microsoft-standard-WSL2\n",
    "linux-aarch64": "$ uname -m\naarch64\n",
    "win-64": "C:\\work> ver\nMicrosoft Windows [Version 10.0.22631]\n",
}
TOOLS = {
    "pip": "$ pip install {asked}\n"
    "ERROR: Could not find a version that satisfies the requirement {asked} (from versions: none)\n"
    "ERROR: No matching distribution found for {asked}\n",
    "uv": "$ uv pip install {asked}\n  x No solution found when resolving dependencies:\n"
    "  ╰─▶ Because there is no version of {asked} and you require {asked}, we can conclude that\n",
    "uv project": "$ uv add '{asked}'\n  x No solution found when resolving dependencies:\n"
    "  ╰─▶ Because there is no version of {asked} and your project depends on {asked}, we can conclude\n",
    "poetry": "$ poetry install\n  - Installing {project} ({version}): Failed\n"
    "    | Unable to find installation candidates for {project} ({version})\n",
}
ASKED = (
    *itertools.product(
        ("torch",), ("1.9.1", "1.13.1", "2.1.2", "2.4.2", "2.5.1+cu131", "2.8.0+cu126", "2.11.0")
    ),
    *itertools.product(("torchvision",), ("0.14.1", "0.20.1", "0.23.0+cu121")),
    *itertools.product(("torchaudio",), ("0.13.1", "2.6.0+cu118")),
)
PAGES = ("", *(f"--index-url https://download.pytorch.org/whl/{page}\n" for page in ("cu121", "cu130")))
GRID = list(itertools.product(ASKED, ("3.8", "3.10", "3.12", "3.14"), SYSTEMS, TOOLS, PAGES))[::11]


def first(text: str) -> SignatureMatch:
    return explain_text(text, {}).matches[0]


def text_of(asked: tuple[str, str], python: str, platform: Platform, tool: str, page: str) -> str:
    project, version = asked
    failed = TOOLS[tool].format(project=project, version=version, asked=f"{project}=={version}")
    return f"{SYSTEMS[platform]}Python {python}.1\n{page}{failed}"


def commands_of(fix: str) -> list[str]:
    return [line for line in re.findall(r"`([^`\n]+)`", fix) if re.match(r"(?:uv |pip |poetry )", line)]


def installs(fix: str, python: str) -> list[tuple[str, tuple[str, ...], str | None]]:
    """Return of each command that installs its Python, its requirements and the variant of its index."""
    found = []
    for sentence in re.split(r"(?=If Python)", fix):
        said = re.match(r"Take Python (3\.\d+)", sentence)
        for line in commands_of(sentence):
            words = shlex.split(line)
            wanted = tuple(word for word in words if re.match(r"torch\w*==", word))
            page = re.search(r"/whl/(\w+)|pytorch-(\w+)", line)
            if wanted:
                found.append((said[1] if said else python, wanted, (page[1] or page[2]) if page else None))
    return found


def build_of(wanted: tuple[str, ...], variant: str | None, platform: Platform) -> TorchBuild:
    """Return the build of torch that the requirements come down to."""
    versions = {Requirement(text).name: Version(text.partition("==")[2].partition("+")[0]) for text in wanted}
    torch = versions.get("torch")
    if torch is None:
        name, version = next(iter(versions.items()))
        torch = KNOWLEDGE.torches_of(name, version)[-1]
    index = "pypi" if variant is None else "pytorch"
    return next(
        build
        for build in KNOWLEDGE.builds_of(platform)
        if build.torch == torch and build.index == index and variant in {None, str(build.variant)}
    )


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUENV_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize(("asked", "python", "platform", "tool", "page"), every(25, GRID))
def test_what_is_printed_is_what_a_plan_accepts(
    asked: tuple[str, str], python: str, platform: Platform, tool: str, page: str
) -> None:
    match = first(text_of(asked, python, platform, tool, page))
    for own_python, wanted, variant in installs(match.fix, python):
        build = build_of(wanted, variant, platform)
        stack = {Requirement(text).name: text.partition("+")[0] for text in wanted}
        stack["torch"] = f"torch=={build.torch}" + (f"+{variant}" if variant else "")
        options = PlanOptions(
            requirements=tuple(stack.values()),
            python=own_python,
            platform=platform,
            gpus=()
            if build.cuda is None
            else (str(build.architectures[len(build.architectures) // 2].capability),),
            cuda="cpu" if build.cuda is None else "auto",
            offline=True,
            manager="pip",
        )
        tried = f"{match.fix}: {options}"
        try:
            plan = read_basis(options, {}).plan({}, target=".venv")
        except GpuenvError as error:
            pytest.fail(f"{tried}: {error.message}: {error.because}")
        assert plan.python == own_python
        assert variant in {None, str(plan.variant)}


def test_a_python_too_new_for_the_torch_is_named_with_the_pythons_there_are() -> None:
    match = first(text_of(("torch", "1.13.1"), "3.12", "win-64", "pip", ""))
    assert "torch 1.13.1 has no wheel for Python 3.12: there are wheels for 3.7 to 3.10" in match.cause
    assert "`py -3.10 -m venv .venv`" in match.fix
    assert "If Python 3.12 has to stay: `pip install torch==2.2.0`" in match.fix


POETRY = (
    "  - Installing torch (2.7.1): Failed\n\n    | Unable to find installation candidates for torch (2.7.1)\n"
    "    | \n    | This is likely not a Poetry issue.\n    | \n"
    "    |   - 24 candidate(s) were identified for the package\n    |   - 24 wheel(s) were skipped as your "
    "project's environment does not support the identified abi tags\n"
)


def test_poetry_tells_its_python_by_the_name_of_its_environment() -> None:
    match = first(f"Creating virtualenv a-b-9fK2sEd1-py3.14 in /home/u/.cache/pypoetry/virtualenvs\n{POETRY}")
    assert "torch 2.7.1 has no wheel for Python 3.14: there are wheels for 3.9 to 3.13" in match.cause
    assert "`poetry env use 3.13`, then `poetry install`" in match.fix


def test_poetry_skips_wheels_by_their_python_where_no_python_is_told() -> None:
    match = first(POETRY)
    assert match.cause.startswith("torch 2.7.1 has wheels for Python 3.9 to 3.13")
    assert "`poetry env use 3.13`" in match.fix


def test_an_image_of_another_python_begins_with_that_python() -> None:
    match = first(
        "Step 1/5 : FROM python:3.14-slim\nStep 3/5 : RUN pip install torch==2.5.1\n"
        "ERROR: Could not find a version that satisfies the requirement torch==2.5.1 (from versions: 2.9.0)\n"
        "ERROR: No matching distribution found for torch==2.5.1\n"
    )
    assert "`FROM python:3.13-slim`, then `RUN pip install torch==2.5.1`" in match.fix


def test_the_python_that_is_said_counts_where_the_offer_ends_with_it() -> None:
    match = first(
        "Python 3.7.9\nERROR: Could not find a version that satisfies the requirement torch==2.0.1 "
        "(from versions: 1.4.0, 1.5.0, 1.13.0, 1.13.1)\n"
        "ERROR: No matching distribution found for torch==2.0.1\n"
    )
    assert "torch 2.0.1 has no wheel for Python 3.7" in match.cause


def test_an_index_that_was_given_in_pypis_place_is_given_beside_it() -> None:
    match = first(
        "$ uv add torch==2.7.0 --index-url https://download.pytorch.org/whl/cu126\n"
        "  x No solution found when resolving dependencies:\n"
        "  ╰─▶ Because ninja was not found in the package registry and your project depends on ninja>=1.11,\n"
    )
    assert "`uv add torch==2.7.0 --index pytorch-cu126=https://download.pytorch.org/whl/cu126`" in match.fix


def test_an_index_that_has_ended_is_left_for_one_of_the_same_cuda_generation() -> None:
    match = first(
        "Python 3.13.5\n> pip install torch --index-url https://download.pytorch.org/whl/cu121\n"
        "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)\n"
        "ERROR: No matching distribution found for torch\nC:\\work> ver\n"
    )
    assert "The index cu121 ends with torch 2.5.1" in match.cause
    assert "whl/cu12" in match.fix


def test_the_python_follows_from_what_pip_offers_where_the_text_does_not_say_it() -> None:
    offered = "(from versions: 2.2.0, 2.2.1, 2.2.2, 2.3.0)"
    match = first(
        f"ERROR: Could not find a version that satisfies the requirement torch==2.0.1 {offered}\n"
        "ERROR: No matching distribution found for torch==2.0.1\n"
    )
    assert "has no wheel for Python 3.12" in match.cause


def test_what_is_offered_tells_the_python_where_a_local_version_was_asked_for_too() -> None:
    asked = "torch==2.0.1+cu117 (from -r requirements.txt (line 2))"
    offered = "(from versions: 2.2.0, 2.2.1)"
    match = first(
        f"ERROR: Could not find a version that satisfies the requirement {asked} {offered}\n"
        f"ERROR: No matching distribution found for {asked}\n"
    )
    assert "PyTorch's own index cu117 alone" in match.cause
    assert "has no wheel for Python 3.12" in match.cause


@pytest.mark.parametrize(
    ("hint", "cause", "fix"),
    [
        (
            (
                "using CPython 3.14 (`cp314`), but `spam` (v1.0) only has wheels with the following Python "
                "ABI tags: `cp311`, `cp312`"
            ),
            "spam 1.0 has no wheel for Python 3.14: there are wheels for 3.11 to 3.12.",
            "`uv python pin 3.12`",
        ),
        (
            (
                "on Windows (`win_amd64`), but `spam` (v1.0) only has wheels for the following platforms: "
                "`manylinux_2_28_x86_64`, `macosx_11_0_arm64`"
            ),
            "spam 1.0 has wheels for manylinux_2_28_x86_64, macosx_11_0_arm64 alone, and this is win_amd64.",
            "`spam; sys_platform != 'win32'`",
        ),
    ],
    ids=["python", "platform"],
)
def test_what_the_matrices_do_not_know_is_answered_by_uvs_own_hint(hint: str, cause: str, fix: str) -> None:
    failed = "Distribution `spam==1.0 @ registry+https://a.example/simple` can't be installed because it does"
    match = first(
        f"$ uv sync\nerror: {failed}n't have a source distribution or wheel for the current platform\n\n"
        f"hint: You're {hint}\n"
    )
    assert match.cause == cause
    assert fix in match.fix


def test_a_programs_own_python_runs_the_command() -> None:
    match = first(
        "D:\\ComfyUI> .\\python_embeded\\python.exe -m pip install numpy==1.24.4\nPython 3.12.7\n"
        "Collecting numpy==1.24.4\n  Using cached numpy-1.24.4.tar.gz (10.9 MB)\n"
        "  Getting requirements to build wheel ... error\n"
        "      AttributeError: module 'pkgutil' has no attribute 'ImpImporter'.\n"
    )
    assert match.fix == "Install it so: `.\\python_embeded\\python.exe -m pip install numpy==1.26.0`."


def test_a_version_that_never_was_gets_the_nearest_there_is() -> None:
    match = first(text_of(("torch", "2.4.2"), "3.10", "linux-64", "uv", ""))
    assert match.cause == "There is no torch 2.4.2: the nearest release is 2.4.1."
    assert "`uv pip install torch==2.4.1`" in match.fix


def test_an_index_without_the_release_is_told_with_those_that_have_it() -> None:
    match = first(
        text_of(
            ("torch", "2.9.0"),
            "3.12",
            "linux-64",
            "pip",
            "--index-url https://download.pytorch.org/whl/cu121\n",
        )
    )
    assert "cu121 has torch 2.1.0 to 2.5.1, not torch 2.9.0" in match.cause
    assert "--index-url https://download.pytorch.org/whl/cu126`" in match.fix


def test_a_package_of_pypi_that_was_looked_for_on_torchs_index_is_the_one_that_is_answered() -> None:
    match = first(
        '[[tool.uv.index]]\nname = "torch-cpu"\nurl = "https://download.pytorch.org/whl/cpu"\n$ uv sync\n'
        "error: Distribution `markupsafe==3.0.2 @ registry+https://download.pytorch.org/whl/cpu` can't be "
        "installed because it doesn't have a source distribution or wheel for the current platform\n\n"
        "hint: You're using CPython 3.12 (`cp312`), but `markupsafe` (v3.0.2) only has wheels with the "
        "following Python ABI tag: `cp313`\n"
    )
    assert match.cause.startswith("markupsafe was looked for on PyTorch's index cpu")
    assert "`explicit = true` under the [[tool.uv.index]] `torch-cpu`" in match.fix


def test_a_release_without_wheels_for_the_python_is_told_in_place_of_what_its_build_says() -> None:
    match = first(
        "Python 3.12.4\nCollecting numpy==1.21.2\n  Downloading numpy-1.21.2.zip (10.3 MB)\n"
        "  Getting requirements to build wheel ... error\n  error: subprocess-exited-with-error\n"
        "      AttributeError: module 'pkgutil' has no attribute 'ImpImporter'.\n"
    )
    assert match.cause.startswith("numpy 1.21.2 has wheels for Python 3.7 to 3.10, not for 3.12")
    assert "`pip install numpy==1.26.0`" in match.fix


def test_a_project_with_a_page_for_each_torch_is_installed_from_it() -> None:
    match = first(
        "Python 3.10.12\nSuccessfully installed torch-2.4.0+cu121\n$ pip install torch-scatter\n"
        "Collecting torch-scatter\n  Downloading torch_scatter-2.1.2.tar.gz (108 kB)\n"
        "  Getting requirements to build wheel ... error\n"
        "      ModuleNotFoundError: No module named 'torch'\n"
    )
    assert "-f https://data.pyg.org/whl/torch-2.4.0+cu121.html`" in match.fix


def test_a_mac_and_a_jetson_are_left_to_their_own_cases() -> None:
    failed = TOOLS["pip"].format(asked="torch==2.5.1+cu124", project="torch", version="2.5.1+cu124")
    assert "Jetson" in first(f"$ cat /etc/nv_tegra_release\n# R36 (release), REVISION: 3.0\n{failed}").cause
    assert "macOS" in first(f"% sw_vers\n{failed}").cause


@pytest.mark.parametrize(
    ("when", "fix"),
    [
        (case["when"], case["fix_en"])
        for row in matrices.load("signatures")
        for case in row.get("cases", ())
        if "torch=={torch} " in case["fix_en"] and "/whl/cu" in case["fix_en"]
    ],
)
def test_an_index_that_a_case_names_has_the_torches_that_the_case_is_for(
    when: dict[str, str], fix: str
) -> None:
    pages = set(re.findall(r"/whl/(cu\d+)", fix))
    builds = [build for build in KNOWLEDGE.builds if build.torch in SpecifierSet(when["torch"])]
    releases = {build.torch for build in builds if build.platform == "win-64"}
    assert releases
    for page in pages:
        there = {build.torch for build in builds if str(build.variant) == page}
        assert releases <= there, page


def test_a_post_release_exists_as_the_release_that_it_mends_does() -> None:
    match = first(
        "Python 3.9.2\n$ pip install torch==1.0.1.post2\n"
        "ERROR: Could not find a version that satisfies the requirement torch==1.0.1.post2 "
        "(from versions: 1.7.1, 1.8.0)\n"
        "ERROR: No matching distribution found for torch==1.0.1.post2\n"
    )
    assert match.cause == "torch 1.0.1 has no wheel for Python 3.9: there are wheels for 3.5 to 3.7."
