"""Conda's match specs, in the forms that people write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from gpuenv.model.match_spec import MatchSpec, as_requirement, as_specifier, parse_match_spec, split_spec

NAMES = st.from_regex(r"[a-z][a-z0-9_.-]{0,8}", fullmatch=True)
VERSIONS = st.from_regex(r"[0-9]{1,2}(\.[0-9]{1,2}){0,2}", fullmatch=True)
BUILDS = st.from_regex(r"[a-z*][a-z0-9_.*]{0,10}", fullmatch=True)
TEXTS = st.text(st.sampled_from("a1.*=<>!~|,[]'\" #:/-_\t\n\u00e9"), max_size=40)


# text, version, build
FORMS = (
    ("pytorch", "", ""),
    ("pytorch=1.13", "=1.13", ""),
    ("pytorch = 1.13", "= 1.13", ""),
    ("pytorch 1.13", "1.13", ""),
    ("pytorch 1.13.*", "1.13.*", ""),
    ("pytorch==1.13.1", "==1.13.1", ""),
    ("pytorch==1.13.1=py3.9_cuda11.7_cudnn8.5.0_0", "==1.13.1", "py3.9_cuda11.7_cudnn8.5.0_0"),
    ("pytorch=1.13.1=py3.9_cuda11.7_cudnn8.5.0_0", "1.13.1", "py3.9_cuda11.7_cudnn8.5.0_0"),
    ("pytorch=2.5=*cuda118*", "2.5", "*cuda118*"),
    ("pytorch 2.8.* cuda126*", "2.8.*", "cuda126*"),
    ("pytorch >=2.0,<2.2 *cuda*", ">=2.0,<2.2", "*cuda*"),
    ("pytorch >= 2.0, < 2.2", ">= 2.0, < 2.2", ""),
    ("pytorch=*=*cuda*", "*", "*cuda*"),
    ("pytorch[build=cuda*]", "", "cuda*"),
    ("pytorch=2.1[build='cuda118*']", "2.1", "cuda118*"),
    ("scipy[version='>=1.7']", ">=1.7", ""),
    ('scipy[version=">=1.7,<2",build=py39*]', ">=1.7,<2", "py39*"),
    ("pytorch=2.1 # the paper's", "=2.1", ""),
)


@pytest.mark.parametrize(("text", "version", "build"), FORMS)
def test_a_form_is_read_in_its_fields(text: str, version: str, build: str) -> None:
    spec = parse_match_spec(text)
    assert (spec.version, spec.build) == (version, build)


@pytest.mark.parametrize(
    ("text", "channel"),
    [
        ("pytorch::pytorch", "pytorch"),
        ("pytorch::pytorch=2.1=py3.9*", "pytorch"),
        ("conda-forge/linux-64::pytorch", "conda-forge/linux-64"),
        ("https://conda.example.com/pytorch::pytorch=1.13", "https://conda.example.com/pytorch"),
        ("numpy", None),
    ],
)
def test_the_channel_stands_before_two_colons(text: str, channel: str | None) -> None:
    assert parse_match_spec(text).channel == channel


# version as conda writes it, the same as PEP 440 writes it
VERSIONS_BOTH_WAYS = (
    ("", ""),
    ("*", ""),
    ("=*", ""),
    ("=1.13", "==1.13.*"),
    ("=1.13.*", "==1.13.*"),
    ("1.13.*", "==1.13.*"),
    ("1.13*", "==1.13.*"),
    ("1.13", "==1.13"),
    ("==1.13.1", "==1.13.1"),
    ("=1.13.1.post2", "==1.13.1.post2"),
    ("=2.1rc1", "==2.1rc1"),
    (">=3.8,<3.11", ">=3.8,<3.11"),
    (">= 3.8, < 3.11", ">=3.8,<3.11"),
    (">=1.8.*", ">=1.8"),
    ("!=2.0", "!=2.0"),
    ("!=2.0.*", "!=2.0.*"),
    ("~=2.1", "~=2.1"),
)


@pytest.mark.parametrize(("conda", "pypi"), VERSIONS_BOTH_WAYS)
def test_a_version_means_the_same_to_pypi(conda: str, pypi: str) -> None:
    assert SpecifierSet(as_specifier(MatchSpec("torch", conda))) == SpecifierSet(pypi)


@pytest.mark.parametrize("version", ["1.13|2.0", ">=1|<2", "^1.*$", "a.b", "1.*.2"])
def test_what_pypi_can_not_say_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        as_specifier(MatchSpec("torch", version))


@pytest.mark.parametrize(
    "text",
    ["", " ", "-c", "--yes", "=1.0", "a b c d", "./local.conda", "git+https://x.example/y", "a[build=1"],
)
def test_what_is_no_spec_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="`"):
        parse_match_spec(text)


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("=11.8", "11.8"),
        ("11.8.*", "11.8"),
        ("==11.3.1", "11.3.1"),
        ("=12", "12"),
        ("", None),
        ("*", None),
        (">=11.8", None),
        ("11.8|12.1", None),
        (">=11.8,<12", None),
    ],
)
def test_only_one_release_is_a_release(version: str, release: str | None) -> None:
    assert MatchSpec("cuda-version", version).release == release


@pytest.mark.parametrize(
    ("spec", "requirement"),
    [
        ("numpy=1.21.*", "numpy==1.21.*"),
        ("conda-forge::scikit-learn>=1.2", "scikit-learn>=1.2"),
        ("typing_extensions", "typing-extensions"),
        ("scipy=1.10.1=py39h6183b62_1", "scipy==1.10.1"),
        ("_libgcc_mutex=0.1=main", None),
        ("numpy=1.2|1.3", None),
        ("no spec at all here", None),
    ],
)
def test_a_spec_becomes_a_requirement_where_it_can(spec: str, requirement: str | None) -> None:
    assert as_requirement(spec) == requirement


@given(TEXTS | st.text(max_size=30))
def test_any_text_is_a_spec_or_a_value_error(text: str) -> None:
    try:
        spec = parse_match_spec(text)
    except ValueError:
        return
    assert spec.name
    assert spec.release is None or spec.release.replace(".", "").isdigit()
    requirement = as_requirement(text)
    assert requirement is None or Requirement(requirement).name


@given(TEXTS | st.text(max_size=30))
def test_any_rest_splits_or_is_a_value_error(rest: str) -> None:
    try:
        version, build = split_spec(rest)
    except ValueError:
        return
    assert version == version.strip()
    assert build == build.strip()


@given(NAMES, VERSIONS, BUILDS)
def test_the_three_fields_are_read_however_they_are_joined(name: str, version: str, build: str) -> None:
    spaced = parse_match_spec(f"{name} {version} {build}")
    assert (spaced.name, spaced.version, spaced.build) == (name, version, build)
    joined = parse_match_spec(f"{name}={version}={build}")
    assert joined == spaced


@given(VERSIONS, VERSIONS)
def test_what_conda_takes_for_any_of_a_release_pypi_takes_too(release: str, other: str) -> None:
    specifier = SpecifierSet(as_specifier(MatchSpec("torch", f"={release}")))
    parts = [int(part) for part in other.split(".")]
    wanted = [int(part) for part in release.split(".")]
    padded = parts + [0] * (len(wanted) - len(parts))
    assert specifier.contains(other) == (padded[: len(wanted)] == wanted)
