"""releases.json: the Pythons of releases that papers pin, and what of conda's goes with one torch or CUDA."""

from __future__ import annotations

from matrix_tables.facts import DATA, Row, read_toml
from matrix_tables.wheel_read import READ, load_rows

PROJECTS = (
    "numpy", "scipy", "pandas", "pillow", "matplotlib", "scikit-learn", "scikit-image", "h5py", "numba",
    "llvmlite", "pyyaml", "lxml", "psutil", "pyarrow", "statsmodels", "cython", "tokenizers", "sentencepiece",
    "grpcio", "pywavelets", "shapely", "kiwisolver", "markupsafe", "numexpr", "cffi", "regex",
)  # fmt: skip


def build_releases() -> list[Row]:
    """Make the rows of releases.json: those of PyPI's wheels, then what is bound on conda's channels."""
    table = read_toml(DATA / "releases.toml")
    bound = [{"kind": "bound", "evidence": "matrix", **entry} for entry in table["bound"]]
    systems = [{"kind": "system", "evidence": "matrix", **entry} for entry in table["system"]]
    tied = [{"kind": "tied", "evidence": "matrix", **entry} for entry in table["tied"]]
    same = [
        {"kind": "same", "project": project, "source": entry["source"], "evidence": "matrix"}
        for entry in table["same"]
        for project in sorted(entry["projects"])
    ]
    return [*load_rows(READ / "releases.json"), *bound, *systems, *tied, *same]
