"""What is looked up in requirements by an index is what a walk through all of them finds."""

from __future__ import annotations

from functools import reduce
from operator import and_

from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from gpuenv.resolution.by_identity import ByIdentity
from gpuenv.resolution.markers import marker_environment
from gpuenv.resolution.requirement_index import RequirementIndex

TEXTS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["torch", "Torch", "torchvision", "NumPy", "numpy", "my_package", "my-package"]),
    st.sampled_from(["", "==1.0", ">=1.0,<2", "!=1.5", "~=1.2"]),
    st.sampled_from(["", "; python_version < '3.10'", "; sys_platform == 'win32'"]),
)
REQUIREMENTS = st.lists(TEXTS.map(Requirement), max_size=12).map(tuple)
PROJECTS = ("torch", "torchvision", "numpy", "my-package", "absent")


def joined(requirements: list[Requirement]) -> SpecifierSet:
    return reduce(and_, (requirement.specifier for requirement in requirements), SpecifierSet())


@given(REQUIREMENTS)
def test_what_is_asked_of_a_project_is_all_that_its_requirements_say(
    requirements: tuple[Requirement, ...],
) -> None:
    index = RequirementIndex(requirements)
    for project in PROJECTS:
        own = [item for item in requirements if canonicalize_name(item.name) == project]
        assert index.specifier(project) == joined(own)
        assert list(index.of.get(project, ())) == own
        others = tuple(item for item in requirements if canonicalize_name(item.name) != project)
        assert index.without((project,)) == others
        assert index.without((project,)) is index.without((project,))


@given(REQUIREMENTS, st.sampled_from(["linux-64", "win-64"]), st.sampled_from(["3.9.0", "3.12.0"]))
def test_only_what_counts_for_a_python_and_a_platform_is_asked(
    requirements: tuple[Requirement, ...], platform: str, python: str
) -> None:
    environment = marker_environment(platform, python)  # type: ignore[arg-type]
    counting = [item for item in requirements if item.marker is None or item.marker.evaluate(environment)]
    expected = {
        name: joined([item for item in counting if canonicalize_name(item.name) == name])
        for name in {canonicalize_name(item.name) for item in counting}
    }
    asked = RequirementIndex(requirements).specifiers(platform, python)  # type: ignore[arg-type]
    assert asked == expected


def test_each_object_has_its_own_value_however_many_there_are() -> None:
    lengths: ByIdentity[tuple[int, ...], int] = ByIdentity(len, most=3)
    for _ in range(2):
        for length in range(10):
            assert lengths(tuple(range(length))) == length
