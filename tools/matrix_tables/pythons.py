"""pythons.json: the releases of CPython, when each came out, and for which platforms uv brings it."""

from __future__ import annotations

from packaging.version import Version

from matrix_tables.facts import DATA, Row, read_toml


def build_pythons() -> list[Row]:
    """Make the rows of pythons.json: one a MAJOR.MINOR, oldest first."""
    document = read_toml(DATA / "pythons.toml")
    source = f"{document['source']}; {document['source_of_builds']}"
    rows = [
        {
            "version": entry["version"],
            "released": entry["released"],
            "uv": entry.get("uv", []),
            "source": source,
            "evidence": "matrix",
        }
        for entry in document["python"]
    ]
    return sorted(rows, key=lambda row: Version(row["version"]))
