"""The project itself: what CI installs is locked, what runs there is pinned, what is released described."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import layers_picture
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from ruamel.yaml import YAML

import gpuenv

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS: dict[str, list[str]] = {
    "run": PYPROJECT["project"]["dependencies"],
    **PYPROJECT["dependency-groups"],
}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# the Pythons and systems that are looked at: where markers part
SYSTEMS = (("linux", "x86_64"), ("linux", "aarch64"), ("win32", "AMD64"), ("darwin", "arm64"))
PLATFORMS = [
    {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "sys_platform": system,
        "platform_machine": machine,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    for python in ("3.10", "3.11", "3.13", "3.14")
    for system, machine in SYSTEMS
]


@dataclass(frozen=True)
class Pinned:
    requirement: Requirement
    hashes: tuple[str, ...]
    direct: bool

    @property
    def version(self) -> str:
        (pin,) = self.requirement.specifier
        assert pin.operator == "=="
        return pin.version

    def counts(self, platform: dict[str, str]) -> bool:
        return self.requirement.marker is None or self.requirement.marker.evaluate(platform)


def read_lock(group: str) -> Iterator[Pinned]:
    text = (ROOT / "locks" / f"{group}.txt").read_text(encoding="utf-8")
    for entry in re.split(r"\n(?=[a-z0-9])", text)[1:]:
        head, *rest = entry.split(" \\\n", 1)
        comments = [line for line in entry.splitlines() if line.startswith("    #")]
        direct = any("(pyproject.toml" in line for line in comments)
        yield Pinned(Requirement(head), tuple(re.findall(r"--hash=(\S+)", "".join(rest))), direct)


@pytest.mark.parametrize("group", GROUPS)
def test_a_lock_is_in_step_with_what_pyproject_asks_for(group: str) -> None:
    """`nox -s lock` mends it."""
    locked = list(read_lock(group))
    requirements = [Requirement(text) for text in GROUPS[group]]
    for platform in PLATFORMS:
        for wanted in requirements:
            if wanted.marker is not None and not wanted.marker.evaluate(platform):
                continue
            pins = [
                pinned
                for pinned in locked
                if canonicalize_name(pinned.requirement.name) == canonicalize_name(wanted.name)
                and pinned.counts(platform)
            ]
            assert len(pins) == 1, f"{wanted} on {platform}"
            assert wanted.specifier.contains(pins[0].version), f"{wanted} on {platform}"
    direct = {canonicalize_name(pinned.requirement.name) for pinned in locked if pinned.direct}
    assert direct == {canonicalize_name(requirement.name) for requirement in requirements}


@pytest.mark.parametrize("group", GROUPS)
def test_a_lock_has_hashes_for_all_and_names_no_index(group: str) -> None:
    for pinned in read_lock(group):
        assert pinned.hashes, pinned.requirement
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", digest) for digest in pinned.hashes)
    text = (ROOT / "locks" / f"{group}.txt").read_text(encoding="utf-8")
    assert re.findall(r"://|file:|--\w*index|--find-links|--trusted-host", text) == []


def test_locks_agree_about_what_gpuenv_itself_needs() -> None:
    """Sessions install two locks together."""
    own = {(pinned.requirement.name, pinned.version) for pinned in read_lock("run")}
    names = {name for name, _ in own}
    for group in ("lint", "types", "test"):
        shared = {(pinned.requirement.name, pinned.version) for pinned in read_lock(group)}
        assert {pair for pair in shared if pair[0] in names} <= own


def test_the_build_back_end_is_locked_and_only_ranged_for_others() -> None:
    assert GROUPS["build"] == PYPROJECT["build-system"]["requires"]
    assert "==" not in "".join(GROUPS["build"])


def test_every_lock_belongs_to_a_group() -> None:
    assert sorted(path.stem for path in (ROOT / "locks").iterdir()) == sorted(GROUPS)


def test_ci_installs_by_hash() -> None:
    lines = (ROOT / ".ci" / "run").read_text()
    assert "pip install --require-hashes -r locks/ci.txt && nox && nox -s slow docs\n" in lines


# Workflows.


def workflow(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


def test_there_are_workflows() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "matrices.yml", "release.yml", "site.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_with_their_version_beside_it(path: Path) -> None:
    lines = [line.strip().lstrip("- ") for line in path.read_text(encoding="utf-8").splitlines()]
    used = [line for line in lines if line.startswith("uses:")]
    assert used
    wrong = [item for item in used if not re.fullmatch(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", item)]
    assert wrong == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_unless_a_job_says_more(path: Path) -> None:
    content = workflow(path)
    assert content["permissions"] == {"contents": "read"}
    allowed = {
        "attest": {"id-token", "attestations"},
        "publish": {"id-token"},
        "offer": {"contents", "pull-requests"},
        "site": {"contents", "pages"},
        "deploy": {"pages", "id-token"},
    }
    for name, job in content["jobs"].items():
        assert set(job.get("permissions", {})) == allowed.get(name, set())
        for step in job["steps"]:
            assert "secrets." not in json.dumps(step)
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_what_is_published_was_built_by_the_job_that_may_do_nothing_else() -> None:
    jobs = workflow(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert [jobs[name].get("needs") for name in ("build", "attest", "publish")] == [None, "build", "attest"]
    assert not any("run" in step for name in ("attest", "publish") for step in jobs[name]["steps"])
    (step,) = [job for job in jobs["publish"]["steps"] if "gh-action-pypi-publish" in job["uses"]]
    assert step["with"] == {"attestations": True}


def test_new_rows_are_checked_by_a_job_that_may_only_read_before_they_are_offered() -> None:
    jobs = workflow(ROOT / ".github" / "workflows" / "matrices.yml")["jobs"]
    assert {name: job.get("needs") for name, job in jobs.items()} == {"refresh": None, "offer": "refresh"}
    assert "nox -s refresh" in [step.get("run") for step in jobs["refresh"]["steps"]]
    runs = [line.split()[0] for step in jobs["offer"]["steps"] for line in step.get("run", "").splitlines()]
    assert not {"nox", "pip", "python"} & set(runs)
    assert "\ndef refresh(session: nox.Session)" in (ROOT / "noxfile.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["bug", "facts"])
def test_an_issue_has_to_say_what_gpuenv_info_prints(name: str) -> None:
    form = workflow(ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert {"name", "description", "body"} <= set(form)
    (field,) = [one for one in form["body"] if one["attributes"]["label"] == "gpuenv info"]
    assert field["validations"] == {"required": True}


def test_hooks_run_what_is_installed_by_the_locks_and_what_is_here() -> None:
    (repo,) = workflow(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repo["repo"] == "local"
    entries = {hook["id"]: hook["entry"].split() for hook in repo["hooks"]}
    assert {"ruff", "mypy", "messages"} <= set(entries)
    locked = {canonicalize_name(pinned.requirement.name) for group in GROUPS for pinned in read_lock(group)}
    commands = {"lint-imports": "import-linter"}
    for program, *words in entries.values():
        if program == "python":
            assert (ROOT / words[0]).is_file()
        else:
            assert commands.get(program, program) in locked


def test_the_picture_of_the_levels_is_that_of_the_contracts() -> None:
    """`python tools/layers_picture.py` draws it anew."""
    page = layers_picture.PAGE.read_text(encoding="utf-8")
    assert layers_picture.drawn(page) == page
    assert layers_picture.drawn(page.replace("| 1 |", "| 7 |")) == page
    for level in layers_picture.levels((ROOT / "pyproject.toml").read_text(encoding="utf-8")):
        assert all(f"| `{name}` | " in page and f"| `{name}` |  |" not in page for name in level)


# The SBOM.


def test_the_sbom_is_of_this_version_and_of_what_is_locked() -> None:
    """`nox -s sbom` mends it; its schema is checked there."""
    bom = json.loads((ROOT / "sbom" / "gpuenv.cdx.json").read_text(encoding="utf-8"))
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.7")
    own = f"pkg:pypi/gpuenv@{gpuenv.__version__}"
    assert bom["metadata"]["component"]["purl"] == own
    locked = {
        f"pkg:pypi/{pinned.requirement.name}@{pinned.version}": pinned.direct for pinned in read_lock("run")
    }
    assert {item["purl"] for item in bom["components"]} == set(locked)
    (direct,) = [item["dependsOn"] for item in bom["dependencies"] if item["ref"] == own]
    assert set(direct) == {purl for purl, wanted in locked.items() if wanted}


def test_the_links_of_the_project_files_lead_somewhere() -> None:
    for name in ("SECURITY.md", "CONTRIBUTING.md", "docs/architecture.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert (ROOT / target).is_file(), f"{name}: {target}"
