"""What ships of the wheels that gpuenv needs: all that it requires, on every Python and platform."""

from __future__ import annotations

import pytest
from packaging.markers import Environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from gpuenv.bootstrap.resolve import parse_wheels, targets
from gpuenv.bootstrap.wheels import shipped_wheels
from gpuenv.own_metadata import metadata_text, requires_of

REQUIRES = requires_of(metadata_text())
TARGETS = tuple(f"{python}/{platform}" for python, platform in targets())
AGAIN = "after a change of the dependencies: python tools/lock_bootstrap.py"


@pytest.mark.parametrize("target", TARGETS)
def test_what_gpuenv_requires_ships_by_hash(target: str) -> None:
    wheels = [wheel for wheel in shipped_wheels(REQUIRES) if target in wheel.targets]
    versions = {
        name: version
        for name, version, *_ in (parse_wheel_filename(locked_wheel.filename) for locked_wheel in wheels)
    }
    python, platform = target.split("/")
    machine = "aarch64" if platform.endswith("aarch64") else "x86_64"
    around = {"python_version": python, "python_full_version": f"{python}.0", "platform_machine": machine}
    for requirement in map(Requirement, REQUIRES):
        if requirement.marker is None or requirement.marker.evaluate(Environment(**around)):  # type: ignore[typeddict-item]
            assert versions[canonicalize_name(requirement.name)] in requirement.specifier, AGAIN
    for wheel in wheels:
        assert all("any" in tag.platform or machine in tag.platform for tag in _tags(wheel.filename))


def _tags(filename: str) -> list[object]:
    return list(parse_wheel_filename(filename)[3])


def test_what_ships_is_for_these_requirements_alone() -> None:
    assert shipped_wheels(REQUIRES) != (), AGAIN
    assert shipped_wheels((*REQUIRES, "numpy")) == ()


@pytest.mark.parametrize(
    "wheels",
    [
        "",
        'wheels = [{url = "https://x.example.com/idna-3.10-py3-none-any.whl", hashes = {md5 = "00"}}]',
        'wheels = [{url = "https://x.example.com/a%0Ab-3-py3-none-any.whl", hashes = {sha256 = "'
        + "0" * 64
        + '"}}]',
    ],
)
def test_a_wheel_without_a_hash_or_a_plain_name_is_none(wheels: str) -> None:
    with pytest.raises(ValueError, match="no wheel with a hash"):
        parse_wheels(f'[[packages]]\nname = "idna"\nversion = "3"\n{wheels}\n')
