"""Lint, types, import rules, tests; `nox` runs them all, `nox -s bench` measures."""

from __future__ import annotations

import os
import shutil

import nox

nox.options.sessions = ["lint", "types", "imports", "tests"]
nox.options.reuse_existing_virtualenvs = True

PYPROJECT = nox.project.load_toml("pyproject.toml")
# Programs that tests run where they are, and the packages of Debian that bring them.
TOOLS = {
    "chromium": "chromium",  # the page of the matrices
    "buildah": "buildah",  # images without Docker
    "bwrap": "bubblewrap",  # bare machines for the bootstrap script
    "busybox": "busybox",
    "dash": "dash",  # shells that environments are activated in
    "zsh": "zsh",
    "fish": "fish",
    "shellcheck": "shellcheck",
    "ssh": "openssh-client",  # hosts of an inventory
    "sshd": "openssh-server",
    "srun": "slurm-client",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
}


def _install(session: nox.Session, *groups: str) -> None:
    session.install(".", *nox.project.dependency_groups(PYPROJECT, *groups))


@nox.session
def lint(session: nox.Session) -> None:
    session.install(*nox.project.dependency_groups(PYPROJECT, "lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    _install(session, "types")
    session.run("mypy")


@nox.session
def imports(session: nox.Session) -> None:
    _install(session, "lint")
    session.run("lint-imports")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests against the installed package, in parallel; arguments go to pytest."""
    _install(session, "test")
    _install_tools(session)
    workers = ("-n", os.environ.get("GPUENV_TEST_WORKERS", "auto"), "--dist", "worksteal")
    session.run("pytest", *workers, *session.posargs)


def _install_tools(session: nox.Session) -> None:
    """Bring what some tests run and a CI machine lacks; elsewhere those tests are skipped without it."""
    may = os.environ.get("CI") and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0
    missing = [package for program, package in TOOLS.items() if not shutil.which(program)]
    if may and missing:
        for words in (("update", "-qq"), ("install", "-qq", "-y", "--no-install-recommends", *missing)):
            session.run("apt-get", *words, external=True, silent=True, success_codes=range(256))


@nox.session
def bench(session: nox.Session) -> None:
    """Measure against others side by side, in one run; needs the package index."""
    _install(session, "test")
    session.run("python", "bench/run.py", *session.posargs)


@nox.session
def papers(session: nox.Session) -> None:
    """Adapt what papers left for four GPUs and resolve it; needs the package index."""
    _install(session, "test")
    session.run("python", "bench/papers.py", "--resolve", *session.posargs)
