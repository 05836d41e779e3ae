"""Which files of a folder say what to install, by the names that people give them."""

from __future__ import annotations

from pathlib import Path

from gpuenv.adapt.model import FileKind

_ENVIRONMENTS = ("environment.yml", "environment.yaml", "conda.yml", "conda.yaml", "env.yml", "env.yaml")
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
_OTHERS = (
    "*env*.yml",
    "*env*.yaml",
    "*conda*.yml",
    "*conda*.yaml",
    "*requirements*.txt",
    "requirements/*.txt",
)
_READMES = ("readme", "install")
_TEXTS = (".md", ".rst", ".txt", "")
_MOST = 20


def kind_of(path: Path) -> FileKind:
    """Return the kind of a file by its name; anything that is not known is taken for pip's requirements."""
    name = path.name.lower()
    if name.endswith((".yml", ".yaml")):
        return "environment"
    if name.endswith(".toml"):
        return "pyproject"
    if name.endswith((".py", ".cfg")):
        return "setup"
    return "readme" if name.startswith("readme") or name.endswith((".md", ".rst")) else "requirements"


def candidates(folder: Path) -> tuple[tuple[Path, ...], ...]:
    """Return the files that may say what to install, the likeliest first; those that go together in one."""
    single = [folder / name for name in ("requirements.txt", *_ENVIRONMENTS)]
    others = [path for pattern in _OTHERS for path in sorted(folder.glob(pattern))][:_MOST]
    project = project_files(folder)
    results = [(path,) for path in single if path.is_file()]
    rest = [(path,) for path in others if path.is_file()]
    return tuple(dict.fromkeys((*results, *((project,) if project else ()), *rest)))


def project_files(folder: Path) -> tuple[Path, ...]:
    """Return the files in which a project says what it requires."""
    return tuple(folder / name for name in _PROJECT if (folder / name).is_file())


def readmes(folder: Path) -> tuple[Path, ...]:
    """Return the files that tell people how to install, the README first."""
    texts = (path for path in sorted(folder.iterdir()) if path.suffix.lower() in _TEXTS)
    named = (path for path in texts if path.stem.lower().startswith(_READMES) and path.is_file())
    return tuple(sorted(named, key=lambda path: (not path.stem.lower().startswith("readme"), len(path.name))))
