"""What `--adapt` makes of environment files is solved by py-rattler, from channels of the same shape.

They hold the builds of torch that the matrix's rows know, and of all else the releases and builds that the
specs name: a build for another Python than the one that is planned needs that one.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import adapted_papers
import published_repositories
import pytest
from conda_channel import write_channel
from conda_packages import CondaPackage
from conda_world import make_world
from packaging.specifiers import SpecifierSet
from running import Program

from gpuenv.installers import rattler
from gpuenv.installers.conda.tool import Calling
from gpuenv.knowledge.version_ranges import turning_points
from gpuenv.model.conda import CondaChannel, CondaWanted
from gpuenv.model.errors import Unsatisfiable
from gpuenv.model.match_spec import MatchSpec, as_specifier, parse_match_spec

pytest.importorskip("rattler")

_OF_PYTHON = re.compile(r"py(2|3)\.?(\d+)(?=[_h]|$)")


def _asks_conda(folder: Path) -> bool:
    files = (path for path in folder.rglob("*") if path.suffix in {".yml", ".yaml"})
    return any(
        re.search(r"^\s*-\s*(\w+::)?pytorch\b", path.read_text("utf-8"), re.MULTILINE) for path in files
    )


# Pins CUDA's libraries by their own releases, where the small channels have one number for all of them.
_NOT_IN_SMALL = {"2023-groundingdino"}
REPOSITORIES = [
    (name, key)
    for name, key in published_repositories.CASES
    if name not in _NOT_IN_SMALL and _asks_conda(published_repositories.FOLDER / name)
]
PAPERS = [(name, key) for name in adapted_papers.NAMES if _asks_conda(adapted_papers.FOLDER / name)
          for key in ("V100", "RTX 5090")]  # fmt: skip
CASES = [
    pytest.param(*case, marks=pytest.mark.campaign if at % 30 else pytest.mark.slow)
    for at, case in enumerate((*REPOSITORIES, *PAPERS))
]


@pytest.mark.parametrize(("name", "key"), CASES)
def test_an_adapted_environment_file_is_solved(name: str, key: str, program: Program, tmp_path: Path) -> None:
    above = program.root / "work" / "checkouts"
    where = adapted_papers if name in adapted_papers.NAMES else published_repositories
    shutil.copytree(where.FOLDER / name, above / name)
    saved = where.save_machine(key, program.root)
    words = ("plan", "--adapt", name, "--offline", "--machine", str(saved), "--manager", "rattler", "--json")
    done = program.run(*words, cwd=above)
    assert done.status in {0, 2, 3}, done.err
    if done.status or done.data["packages"][0].get("channel") is None:
        return
    torch, specs = done.data["packages"][0], done.data["conda"]["specs"]
    channels = tuple(_channels(torch, done.data["conda"]["channels"], specs, tmp_path))
    digits = torch["variant"].removeprefix("cu")
    cuda = f"{digits[:-1]}.{digits[-1]}"
    anywhere = tuple(spec.rpartition("::")[2] for spec in specs)  # a channel's name is one of its host
    wanted = CondaWanted(channels, anywhere, (), cuda, "linux-64", str(tmp_path / "environment"))
    calling = Calling({"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}, tmp_path / "cache")
    try:
        solved = {record.name: record for record in rattler.solve(wanted, calling)}
    except Unsatisfiable as error:
        pytest.fail("\n".join(reason.text for reason in error.because))
    assert (solved["pytorch"].version, solved["pytorch"].channel) == (torch["version"], torch["channel"])


def _channels(
    torch: dict[str, str], names: Iterable[str], specs: Iterable[str], folder: Path
) -> Iterator[CondaChannel]:
    world = make_world(keep=lambda row: row["torch"] == torch["version"])
    there = {package.name for packages in world.values() for package in packages}
    read = [parse_match_spec(spec) for spec in specs if " " not in spec]
    for name in names:
        named = (spec for spec in read if (spec.channel or torch["channel"]) == name)
        own = (
            *world.get(name.partition("/label/")[0], ()),
            *(package for spec in named for package in _packages(spec, there)),
        )
        yield CondaChannel(name, (write_channel(folder / name, own, ("repodata.json",)),))


def _packages(spec: MatchSpec, there: set[str]) -> Iterator[CondaPackage]:
    if spec.name in there and not spec.version:
        return
    build = spec.build.replace("*", "0") if spec.build else "0"
    found = _OF_PYTHON.match(build)
    needs = (f"python {found[1]}.{found[2]}.*",) if found else ()
    for version in _versions(spec):
        yield CondaPackage(spec.name, version, build, depends=needs)


def _versions(spec: MatchSpec) -> set[str]:
    """The release that a spec names, else those at the ends of what it admits."""
    plain = spec.version.lstrip("=").rstrip("*").rstrip(".")
    if plain and not re.search(r"[<>!~=,|]", plain):
        return {plain}
    wanted = SpecifierSet(as_specifier(spec))
    points = (point for point in turning_points(wanted) if wanted.contains(point, prereleases=True))
    return {str(point) for point in points} if spec.version else {"1.0"}
