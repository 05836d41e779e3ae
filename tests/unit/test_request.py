"""What a user asks for, parsed; and the command that asks for it again."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.model.errors import UsageError
from gpuenv.resolution.request import Request, parse_cuda_option, parse_python, parse_requirements


def test_without_requirements_it_is_torch_and_torchvision_and_torch_is_always_there() -> None:
    assert list(map(str, parse_requirements(()))) == ["torch", "torchvision"]
    assert list(map(str, parse_requirements(("numpy",)))) == ["torch", "numpy"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("torch=2.1", "bad-requirement"),
        ("-r file", "bad-requirement"),
        ("", "bad-requirement"),
        ("torch @ https://example.com/torch-2.7.1-py3-none-any.whl", "url-requirement"),
        ("TorchVision @ file:///wheels/x.whl", "url-requirement"),
        ("a @ https://example.com/x\n--index-url=https://evil.example.com", "bad-requirement"),
        ("numpy; os_name == 'a\nb'", "bad-requirement"),
    ],
)
def test_what_is_no_requirement_raises(text: str, code: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_requirements((text,))
    assert raised.value.code == code


def parsed(parse: Callable[[str], Any], text: str) -> Any:
    """Return what was parsed, or the error of a user."""
    try:
        return parse(text)
    except UsageError as error:
        return error


@given(st.text(max_size=40))
def test_any_text_is_a_requirement_or_a_usage_error(text: str) -> None:
    value = parsed(lambda item: parse_requirements((item,)), text)
    assert isinstance(value, UsageError) or all(str(item).isprintable() for item in value)


@given(st.text(max_size=20))
def test_any_text_is_a_python_or_a_usage_error(text: str) -> None:
    value = parsed(parse_python, text)
    assert isinstance(value, SpecifierSet) or value.code == "bad-python"


@given(st.text(max_size=12))
def test_any_text_is_a_variant_or_a_usage_error(text: str) -> None:
    value = parsed(parse_cuda_option, text)
    assert value is None or (value.code == "bad-cuda" if isinstance(value, UsageError) else value.is_known)


@pytest.mark.parametrize(
    ("text", "specifier"),
    [("3.11", "==3.11.*"), ("3.11.4", "==3.11.4"), ("3", "==3.*"), (">=3.10,<3.13", "<3.13,>=3.10")],
)
def test_a_python_is_a_version_or_a_specifier(text: str, specifier: str) -> None:
    assert str(parse_python(text)) == specifier


def test_requirements_on_one_project_are_joined_whatever_their_spelling() -> None:
    request = Request(parse_requirements(("Torch>=2.1", "TORCH<2.4", "TorchVision", "Torch_Vision")))
    assert request.admits("torch", Version("2.3.1"))
    assert not request.admits("torch", Version("2.4.1"))
    assert request.companions == ("torchvision",)
    assert [str(item) for item in request.others] == ["Torch_Vision"]


def test_a_replaced_requirement_keeps_its_place_and_its_extras() -> None:
    request = Request(parse_requirements(("numpy", "torch[opt-einsum]>=2", "torch<3", "scipy")))
    changed = request.with_requirement("torch==2.7.1")
    assert [str(item) for item in changed.requirements] == ["numpy", "torch[opt-einsum]==2.7.1", "scipy"]
    assert request.extras("torch") == ("opt-einsum",)


def test_the_command_asks_for_the_same_and_leaves_out_what_is_the_default() -> None:
    options = (("--python", "3.11"), ("--offline", ""), ("-r", "requirements.txt"))
    assert Request(parse_requirements(()), options=options).command() == "gpuenv plan --python 3.11 --offline"


@given(
    st.lists(
        st.sampled_from(["torch>=2", "numpy; python_version < '3.12'", "a @ https://x.example.com/$(b)&c"]),
        max_size=3,
    ),
    st.text(max_size=10),
)
def test_nothing_in_a_command_reaches_the_shell_unquoted(requirements: list[str], value: str) -> None:
    request = Request(parse_requirements(tuple(requirements)), options=(("--mirror", value or "x"),))
    words = shlex.split(request.command())
    assert words[-2:] == ["--mirror", value or "x"]
    assert len(words) == 2 + 2 + (len(request.requirements) if requirements else 0)


def test_an_option_is_replaced_or_taken_away() -> None:
    request = Request((), options=(("--device", "0"), ("--cuda", "12.6")))
    assert request.with_option("--device", "1", "2").options == (
        ("--cuda", "12.6"),
        ("--device", "1"),
        ("--device", "2"),
    )
    assert request.with_option("--cuda").options == (("--device", "0"),)
