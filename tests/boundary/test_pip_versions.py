"""What pip is bound to where an index tells no hash."""

from __future__ import annotations

from pathlib import Path

from installers import a_plan
from msgspec.structs import replace

from gpuenv.changes.pip_hashes import hold
from gpuenv.installers import pip
from gpuenv.installers.protocol import InstallRequest
from gpuenv.installers.uv_compile import Resolved, ResolvedFile


def test_what_has_no_hash_is_bound_by_its_version(tmp_path: Path) -> None:
    files = (
        ResolvedFile("mylib", "2.0", "mylib-2.0-py3-none-any.whl", None, "ab" * 32, 1, None, sdist=False),
        ResolvedFile("tinydep", "1.0", "tinydep-1.0-py3-none-any.whl", None, None, 1, None, sdist=False),
    )
    plan = replace(a_plan(tmp_path, manager="pip"), requirements=("mylib",))
    held = hold(Resolved(files), plan, {"GPUENV_CACHE_DIR": str(tmp_path / "cache")})
    assert held
    assert held.listed
    assert held.bounds
    assert not held.complete
    assert Path(held.listed).read_text(encoding="utf-8") == f"mylib===2.0 --hash=sha256:{'ab' * 32}\n"
    assert Path(held.bounds).read_text(encoding="utf-8") == "mylib===2.0\ntinydep===1.0\n"
    wanted = InstallRequest(
        plan.pins, plan.requirements, (), plan.sources, "3.12", "/usr/bin/python3.12", str(tmp_path), "linux",
        held=held,
    )  # fmt: skip
    *_, by_hash, rest = (step.argv for step in pip.steps(wanted))
    assert by_hash[-2:] == ("-r", held.listed)
    assert rest[-4:] == ("torch==9.9.9+cpu", "mylib", "--constraint", held.bounds)
