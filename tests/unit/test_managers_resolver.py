"""What uv resolved, or why it could not, read from recorded outputs (uv 0.13.8; `conflict-tree` from 0.8)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.installers.uv_compile import (
    CompileInput,
    ResolvedFile,
    compile_arguments,
    parse_pylock,
    uv_platform,
)
from gpuenv.installers.uv_failure import Demand, Unresolvable, parse_demands, parse_failure
from gpuenv.model.errors import GpuenvError, InstallFailed, Unreachable
from gpuenv.model.plan import Sources

RECORDED = Path(__file__).parents[1] / "fixtures" / "uv"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


def test_a_lock_gives_the_very_files() -> None:
    iniconfig, torch = parse_pylock(recorded("pylock.toml")).files
    assert iniconfig.filename == "iniconfig-2.3.1-py3-none-any.whl"
    assert (torch.name, torch.version) == ("torch", "2.14.1")
    assert torch.url is not None
    assert torch.url.startswith("https://files.example.com/")
    assert torch.sha256 == "23011fe29a99b591eabb3a31a25080c62e2c2f0690a3c798744e5489dae50451"
    assert torch.size is None


def test_a_file_of_a_wheelhouse_a_size_and_an_escaped_name_are_read() -> None:
    text = """
        [[packages]]
        name = "torch"
        version = "2.13.0+cpu"
        index = "https://index.example.com/simple"
        wheels = [{ url = "file:///w/torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl", size=5, hashes = {} }]
        [[packages]]
        name = "old"
        version = "1.0"
        sdist = { path = "wheels/old-1.0.tar.gz" }
        [[packages]]
        name = "nothing"
    """
    assert parse_pylock(text).files == (
        ResolvedFile(
            "torch",
            "2.13.0+cpu",
            "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl",
            "file:///w/torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl",
            None,
            5,
            "https://index.example.com/simple",
        ),
        ResolvedFile("old", "1.0", "old-1.0.tar.gz", "wheels/old-1.0.tar.gz", None, None, None, sdist=True),
        ResolvedFile("nothing", "", None, None, None, None, None),
    )


@pytest.mark.parametrize(
    "text", ["packages = 1", "packages = [1]", "[[packages]]\nversion = '1'", "<html>", "a = \0"]
)
def test_no_lock_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_pylock(text)


@given(st.text(max_size=200))
def test_any_text_is_a_lock_or_a_value_error(text: str) -> None:
    try:
        parse_pylock(text)
    except ValueError:
        return


@pytest.mark.parametrize("name", ["conflict.txt", "conflict-tree.txt"])
def test_a_conflict_names_the_package_that_forces_another_torch(name: str) -> None:
    unresolvable = parse_failure(recorded(name))
    assert unresolvable.demands == (Demand("vllm==0.6.0", "torch==2.4.0"),)
    assert unresolvable.demands_on(("torch",)) == unresolvable.demands
    assert unresolvable.demands_on(("torchvision",)) == ()
    assert unresolvable.message.startswith("Because vllm==0.6.0 depends on")
    assert unresolvable.message.endswith("unsatisfiable.")


def test_ranges_and_markers_are_read() -> None:
    assert parse_failure(recorded("conflict-ranges.txt")).demands == (
        Demand("vllm>=0.6.0,<=0.6.3.post1", "torch==2.4.0"),
        Demand("vllm>=0.6.6,<=0.7.3", "torch==2.5.1"),
        Demand("vllm==0.6.5", "torch==2.5.1"),
    )


@pytest.mark.parametrize(
    ("sentence", "package", "needs"),
    [
        ("Because all versions of xformers depend on torch>=2.10, we", "xformers", "torch>=2.10"),
        (
            "And because torchvision==0.29.1+cu126 depends on torch==2.14.1, we",
            "torchvision==0.29.1+cu126",
            "torch==2.14.1",
        ),
        (
            "Because lightning[extra]==2.0 depends on torch>=2.1.0,<4.0 and",
            "lightning[extra]==2.0",
            "torch>=2.1.0,<4.0",
        ),
        ("Because a==1 depends on numpy and", "a==1", "numpy"),
    ],
)
def test_the_forms_of_a_demand(sentence: str, package: str, needs: str) -> None:
    assert parse_demands(sentence) == (Demand(package, needs),)


@pytest.mark.parametrize("name", ["no-such-version.txt", "no-such-project.txt", "numpy.txt"])
def test_a_conflict_that_no_other_torch_would_mend_demands_nothing(name: str) -> None:
    assert parse_failure(recorded(name)).demands == ()


@pytest.mark.parametrize("name", ["refused.txt", "offline.txt", "find-links.txt"])
def test_an_index_that_does_not_answer_is_no_conflict(name: str) -> None:
    with pytest.raises(Unreachable) as raised:
        parse_failure(recorded(name))
    assert raised.value.because[0].text


def test_what_cannot_be_built_is_a_conflict_that_names_it() -> None:
    unresolvable = parse_failure(recorded("build.txt"))
    assert unresolvable.unbuilt == "brokenpkg==1.0"
    assert "this package needs cuda" in unresolvable.message


@pytest.mark.parametrize(("name", "code"), [("directory.txt", "resolver-failed")])
def test_other_failures_keep_uvs_words(name: str, code: str) -> None:
    with pytest.raises(InstallFailed) as raised:
        parse_failure(recorded(name))
    assert raised.value.code == code
    assert raised.value.because[0].text in recorded(name)


@given(st.text(max_size=300))
def test_any_words_are_a_conflict_or_an_error_that_can_be_shown(text: str) -> None:
    try:
        assert isinstance(parse_failure(text), Unresolvable)
    except GpuenvError as error:
        assert error.code  # noqa: PT017 - either may come


@given(st.text(alphabet="ab =<>,.{}[]'1 depnso", max_size=200))
def test_any_explanation_can_be_searched_for_demands(text: str) -> None:
    assert all(demand.package and demand.needs for demand in parse_demands(text))


@pytest.mark.parametrize(
    ("platform", "glibc", "word"),
    [
        (None, None, None),
        ("win-64", None, "x86_64-pc-windows-msvc"),
        ("linux-64", None, "x86_64-manylinux_2_28"),
        ("linux-64", "2.17", "x86_64-manylinux_2_17"),
        ("linux-64", "2.27", "x86_64-manylinux_2_17"),
        ("linux-64", "2.30", "x86_64-manylinux_2_28"),
        ("linux-aarch64", "2.35", "aarch64-manylinux_2_35"),
        ("linux-64", "2.99", "x86_64-manylinux_2_40"),
        ("linux-64", "2.5", "x86_64-manylinux_2_17"),
        ("linux-64", "nonsense", "x86_64-manylinux_2_28"),
    ],
)
def test_uvs_words_for_platforms(platform: object, glibc: str | None, word: str | None) -> None:
    assert uv_platform(platform, glibc) == word  # type: ignore[arg-type]


def test_the_question_to_uv_never_fetches_a_python() -> None:
    arguments = compile_arguments(
        CompileInput(("torch==1",), (), (), Sources(None, (), ()), "3.13t", offline=True)
    )
    assert "--no-python-downloads" in arguments
    assert arguments[arguments.index("--python-version") + 1] == "3.13"
    assert "--offline" in arguments
    assert "--python-platform" not in arguments
