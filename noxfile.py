"""Lint, types, import rules, tests, advisories: `nox` runs them all in minutes. `nox -l` lists the others.

What is installed is locked (locks/), by hash and without naming an index.
"""

from __future__ import annotations

import os
import shutil
import urllib.request

import nox

nox.options.sessions = ["lint", "types", "imports", "tests", "audit"]
nox.options.reuse_existing_virtualenvs = True

PYPROJECT = nox.project.load_toml("pyproject.toml")
# Programs that tests run where they are, and the packages of Debian that bring them.
TOOLS = {
    "chromium": "chromium",  # the page of the matrices, the site
    "buildah": "buildah",  # images without Docker
    "bwrap": "bubblewrap",  # bare machines for the bootstrap script
    "busybox": "busybox",
    "dash": "dash",  # shells that environments are activated in
    "zsh": "zsh",
    "fish": "fish",
    "shellcheck": "shellcheck",
    "valgrind": "valgrind",  # which counts the instructions of a start
    "ssh": "openssh-client",  # hosts of an inventory
    "sshd": "openssh-server",
    "srun": "slurm-client",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
}


RUN = "run"  # the lock of gpuenv's own dependencies
LOCKS = (RUN, *PYPROJECT["dependency-groups"])
UNLOCKED = "GPUENV_UNLOCKED"  # the newest of everything in place of the locks, to see what it breaks
_ADVISORIES = "https://api.osv.dev/v1/vulns/OSV-2020-111"  # the example of https://google.github.io/osv.dev/


def _install(session: nox.Session, *groups: str) -> None:
    """Install what the locks of groups name, each file by its hash, from whatever index pip is set to."""
    if os.environ.get(UNLOCKED):
        session.install(*_ranges(*groups))
        return
    session.install("--require-hashes", *(word for group in groups for word in ("-r", _lock(group))))


def _install_gpuenv(session: nox.Session, *groups: str) -> None:
    """Install gpuenv itself too, not editable: built with the locked build back end."""
    _install(session, RUN, *groups)
    pinned = () if os.environ.get(UNLOCKED) else ("--build-constraint", _lock("build"))
    session.install("--no-deps", *pinned, ".")


def _lock(group: str) -> str:
    return f"locks/{group}.txt"


def _ranges(*groups: str) -> list[str]:
    named = [group for group in groups if group != RUN]
    own = PYPROJECT["project"]["dependencies"] if RUN in groups else []
    return [*own, *(nox.project.dependency_groups(PYPROJECT, *named) if named else ())]


@nox.session
def lint(session: nox.Session) -> None:
    _install(session, "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("zizmor", "--offline", "--quiet", ".github")


@nox.session
def types(session: nox.Session) -> None:
    _install(session, RUN, "types")
    session.run("mypy")


@nox.session
def imports(session: nox.Session) -> None:
    _install(session, "lint")
    session.run("lint-imports", env={"PYTHONPATH": "src"})  # which is read, not run


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests but the slow ones against the installed package, in parallel; arguments go to pytest."""
    _test(session)


@nox.session(default=False)
def slow(session: nox.Session) -> None:
    """Run the tests that `tests` leaves out, and those of properties with many examples; CI runs both."""
    _install_tools(session)
    _test(
        session, "-m", "(slow or hypothesis) and not campaign", "--hypothesis-profile", "ci", spare=2
    )  # as many wait


def _test(session: nox.Session, *options: str, spare: int = 0) -> None:
    _install_gpuenv(session, "test")
    session.env["PYTHONDONTWRITEBYTECODE"] = ""  # each worker would compile all tests, each time
    usual = str((os.cpu_count() or 1) + spare) if spare else "auto"
    workers = ("-n", os.environ.get("GPUENV_TEST_WORKERS", usual), "--dist", "worksteal")
    session.run("pytest", *workers, *options, *session.posargs)


@nox.session
def audit(session: nox.Session) -> None:
    """Look the locked packages up among the known advisories; needs the network."""
    try:
        with urllib.request.urlopen(_ADVISORIES, timeout=10):
            pass
    except OSError as error:
        session.skip(
            f"no package was looked up among the advisories: {_ADVISORIES} can't be reached ({error})"
        )
    _install(session, "audit")
    named = (word for group in LOCKS for word in ("--requirement", _lock(group)))
    session.run("pip-audit", "--vulnerability-service", "osv", "--disable-pip", "--require-hashes", *named)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the site into site/, in both languages, and look at it; a link that leads nowhere fails."""
    _install_gpuenv(session, "docs", "test")
    session.run("python", "tools/build_site.py", "site")
    session.run("pytest", "-n", "0", "-m", "", "tests/e2e/test_site.py", env={"GPUENV_SITE": "site"})


@nox.session(default=False)
def lock(session: nox.Session) -> None:
    """Lock what CI installs, for every Python and platform; `-- --upgrade` takes the newest."""
    _install(session, RUN)  # which has uv
    everywhere = ("--universal", "--generate-hashes", "--python-version", "3.10")
    written_by = ("--custom-compile-command", "nox -s lock")
    compile_ = ("uv", "pip", "compile", "--quiet", "--no-config", *everywhere, *written_by)
    session.run(*compile_, "pyproject.toml", "-o", _lock(RUN), *session.posargs)
    for group in LOCKS[1:]:
        session.run(*compile_, "--group", group, "-c", _lock(RUN), "-o", _lock(group), *session.posargs)


@nox.session(default=False)
def sbom(session: nox.Session) -> None:
    """Write the SBOM that the wheel carries (PEP 770), from the locks; `-- --check` only compares."""
    _install(session, "release")
    session.run("python", "tools/sbom.py", *session.posargs)


@nox.session(default=False)
def release(session: nox.Session) -> None:
    """Build the sdist and the wheel twice, compare, check and try them; dist/ has what is to be published."""
    _install(session, "build", "release")
    session.run("python", "tools/sbom.py", "--check")
    session.run("python", "tools/build_release.py", "dist")


def _install_tools(session: nox.Session) -> None:
    """Bring what some tests run and a CI machine lacks; elsewhere those tests are skipped without it."""
    may = os.environ.get("CI") and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0
    missing = [package for program, package in TOOLS.items() if not shutil.which(program)]
    if may and missing:
        for words in (("update", "-qq"), ("install", "-qq", "-y", "--no-install-recommends", *missing)):
            session.run("apt-get", *words, external=True, silent=True, success_codes=range(256))


@nox.session(default=False)
def faults(session: nox.Session) -> None:
    """Strike, starve and mislead gpuenv some hundred times on tiny wheels; needs no network."""
    _install_gpuenv(session, "test")
    session.run("python", "tests/faults/run.py", *session.posargs)
    session.run("pytest", "-m", "campaign")


@nox.session(default=False)
def conda_tools(session: nox.Session) -> None:
    """Try conda, mamba and micromamba themselves: those on PATH, or in folders that are named behind `--`."""
    _install_gpuenv(session, "test")
    path = os.pathsep.join((*session.posargs, os.environ.get("PATH", os.defpath)))
    found = [tool for tool in ("conda", "mamba", "micromamba") if shutil.which(tool, path=path)]
    if not found:
        session.skip(
            "neither conda nor mamba nor micromamba is on PATH; name a folder: nox -s conda_tools -- FOLDER"
        )
    tests = ("tests/boundary/test_real_conda_tools.py", "tests/e2e/test_environment_yml_tools.py")
    session.run(
        "pytest", "-n", "0", "-rs", "-m", "", *tests, env={"PATH": os.pathsep.join((session.bin, path))}
    )


@nox.session(default=False)
def mutation(session: nox.Session) -> None:
    """Change one thing at a time where gpuenv decides, and see whether a test fails; takes hours for all."""
    _install_gpuenv(session, "test")
    session.run("python", "tools/mutation.py", *(session.posargs or ("--sample", "60")))


@nox.session(default=False)
def refresh(session: nox.Session) -> None:
    """Read into matrices/ what the indexes have and it lacks, and check the result; needs the network."""
    _install_gpuenv(session, "test")
    before = shutil.copytree("matrices", f"{session.create_tmp()}/matrices", dirs_exist_ok=True)
    session.run("gpuenv", "matrix", "refresh", "--write", "matrices")
    session.install("--no-deps", "--force-reinstall", ".")  # with the new rows
    session.run("gpuenv", "matrix", "check", "--against", before)
    tests = ("matrices", "matrix_check", "decision")
    session.run("pytest", *(f"tests/unit/test_{name}.py" for name in tests))


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure against others side by side, in one run; needs the package index."""
    _install_gpuenv(session, "test")
    session.run("python", "bench/run.py", *session.posargs)


@nox.session(default=False)
def papers(session: nox.Session) -> None:
    """Adapt what papers left for four GPUs and resolve it; needs the package index."""
    _install_gpuenv(session, "test")
    session.run("python", "bench/papers.py", "--resolve", *session.posargs)
