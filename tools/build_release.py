"""Build what is released, twice, and try it: `nox -s release`, which calls this with the folder to write to.

The sdist is made from the files of the commit, the wheel from the sdist; the second time from another folder,
with another umask, time zone and date of the files. Both have to be the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
_EPOCH = "SOURCE_DATE_EPOCH"
_MACHINE = (
    "--driver",
    "570.133.07",
    "--gpu",
    "GeForce RTX 3080 Ti",
    "--platform",
    "linux-64",
    "--python",
    "3.12",
)


def main() -> int:
    """Build into a folder, or compare a tag with the version; return the exit status."""
    parser = argparse.ArgumentParser(description="build what is released, twice, and try it")
    parser.add_argument("out", type=Path, nargs="?", default=Path("dist"), help="where to (default: dist)")
    parser.add_argument("--only-compare-tag", metavar="TAG", help="refuse a tag that is not this version's")
    options = parser.parse_args()
    if options.only_compare_tag is not None:
        return _compare(options.only_compare_tag)
    out = options.out.resolve()
    epoch = _git("log", "-1", "--format=%ct").decode().strip()
    with tempfile.TemporaryDirectory() as scratch:
        first = _build(Path(scratch) / "first", epoch, umask=0o022, zone="UTC")
        second = _build(Path(scratch) / "a second place", epoch, umask=0o077, zone="Asia/Shanghai")
        if first != second:
            sys.exit(f"error: built twice, these differ: {sorted(set(first.items()) ^ set(second.items()))}")
        files = sorted((Path(scratch) / "first" / "dist").iterdir())
        _run("twine", "check", "--strict", *map(str, files))
        _try(next(file for file in files if file.suffix == ".whl"), Path(scratch) / "venv")
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(Path(scratch) / "first" / "dist", out)
    for name, digest in sorted(first.items()):
        print(f"{digest}  {name}")
    return 0


def _compare(tag: str) -> int:
    """Refuse a tag of another version, and a version that the changelog still calls unreleased."""
    version = read_version()
    if tag != f"v{version}":
        sys.exit(f"error: the tag is {tag}, the version {version}")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.MULTILINE):
        sys.exit(f"error: CHANGELOG.md has no `## {version} (YYYY-MM-DD)`")
    return 0


def read_version() -> str:
    """Read gpuenv's version where it stands; nothing needs to be installed."""
    init = (ROOT / "src" / "gpuenv" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', init, re.MULTILINE)
    return str(version)


def _build(path: Path, epoch: str, *, umask: int, zone: str) -> dict[str, str]:
    """Build the commit's files in `path`; return the hashes of what came of it."""
    source = path / "source"
    source.mkdir(parents=True)
    archive = path / "source.tar"
    archive.write_bytes(_git("archive", "--format=tar", "HEAD"))
    before = os.umask(umask)
    try:
        with tarfile.open(archive) as members:
            members.extractall(source, filter="data")
        environ = os.environ | {_EPOCH: epoch, "TZ": zone}
        _run(
            sys.executable, "-m", "build", "--no-isolation", "--outdir", str(path / "dist"), str(source),
            environ=environ,
        )  # fmt: skip
    finally:
        os.umask(before)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (path / "dist").iterdir()}


def _try(wheel: Path, path: Path) -> None:
    """Install the wheel beside its locked dependencies in an empty environment, and plan with it."""
    venv.create(path, with_pip=True)
    python = path / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = (str(python), "-I", "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    _run(*pip, "--require-hashes", "--requirement", str(ROOT / "locks" / "run.txt"))
    _run(*pip, "--no-deps", "--no-index", str(wheel))
    gpuenv = str(python.with_name("gpuenv"))
    environ = os.environ | {"GPUENV_CACHE_DIR": str(path / "cache"), "GPUENV_DATA_DIR": str(path / "data")}
    _run(gpuenv, "version", environ=environ)
    _run(gpuenv, "plan", "--offline", *_MACHINE, environ=environ)


def _git(*words: str) -> bytes:
    git = shutil.which("git")
    if git is None:
        sys.exit("error: a release is made from a commit, and there is no git")
    return subprocess.run([git, *words], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def _run(*argv: str, environ: dict[str, str] | None = None) -> None:
    done = subprocess.run(argv, env=environ, check=False)
    if done.returncode:
        sys.exit(f"error: {' '.join(argv)} ended with {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
