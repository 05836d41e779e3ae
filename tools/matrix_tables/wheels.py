"""wheels.json: the compact listing of real files that `--offline` decides from."""

from __future__ import annotations

import html.parser
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from gpuenv.matrix_checks.serialise import variant_order
from gpuenv.model.variant import Variant
from matrix_tables.facts import DATA, Facts, Row, UnusableFacts, read_toml

PROJECTS = ("torch", "torchvision", "torchaudio", "torchtext", "torchdata", "xformers")
_SUBDIRECTORY = re.compile(r"|cpu|cu\d+")
_PLATFORM = re.compile(r"(any|win_amd64|(many)?linux(1|_|\d).*_?(x86_64|aarch64))")
_FIRST = {
    "torch": Version("1.0"),
    "torchvision": Version("0.2.2"),
    "torchaudio": Version("0.3"),
    "xformers": Version("0.0.16"),
}
# no manager that gpuenv drives provides these Pythons any more
_GONE = frozenset({"cp27", "cp33", "cp34", "cp35", "py2"})
_SHA256 = re.compile(r"[0-9a-f]{64}")


def build_wheels(facts: Facts, pages: Path | None) -> list[Row]:
    """Return the rows of wheels.json.

    `pages` holds PyPI's simple pages, as HTML, one `PROJECT.html` each; where their files lie is not kept,
    since every mirror has them elsewhere.
    """
    rows = [_index_row(fact) for fact in facts.table("wheels_pytorch_index.csv") if _wanted_fact(fact, facts)]
    rows += addressed_rows(rows)
    if pages is not None:
        links = [(project, link) for project in PROJECTS for link in _read_page(pages, project)]
        rows += [
            _pypi_row(project, link) for project, link in links if _wanted(project, link["filename"], facts)
        ]
    _refuse_contradictions(rows)
    return sorted(rows, key=_order)


def addressed_rows(rows: list[Row]) -> list[Row]:
    """Return the files of pytorch_wheels.toml that are not among the rows, which may have their digests."""
    there = {(row["filename"], row.get("subdir")) for row in rows if row["index"] == "pytorch"}
    return [
        {"project": entry["project"], "filename": filename, "index": "pytorch", "subdir": variant}
        for entry in read_toml(DATA / "pytorch_wheels.toml")["files"]
        for variant in entry["variants"]
        for filename in (f"{entry['project']}-{entry['version']}-{tags}.whl" for tags in entry["tags"])
        if (filename, variant) not in there
    ]


def _refuse_contradictions(rows: list[Row]) -> None:
    seen: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        key = (row["filename"], row["index"], row.get("subdir", ""))
        if seen.setdefault(key, row) is not row:
            raise UnusableFacts(f"wheels.json: {' '.join(key)} is listed twice")


def _wanted_fact(fact: dict[str, str], facts: Facts) -> bool:
    in_scope = fact["project"] in PROJECTS and _SUBDIRECTORY.fullmatch(fact["index_subdir"]) is not None
    return in_scope and _wanted(fact["project"], fact["filename"], facts)


def _wanted(project: str, filename: str, facts: Facts) -> bool:
    if not filename.endswith(".whl"):
        return False
    try:
        _, version, _, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename as error:
        facts.left_out.append(f"wheels.json: {error}")
        return False
    known = version.local is None or Variant(version.local).is_cuda_or_cpu
    fits = any(_PLATFORM.fullmatch(tag.platform) and tag.interpreter not in _GONE for tag in tags)
    return known and fits and not version.is_devrelease and version >= _FIRST.get(project, version)


def _index_row(fact: dict[str, str]) -> Row:
    row: Row = {"project": fact["project"], "filename": fact["filename"], "index": "pytorch"}
    if fact["index_subdir"]:
        row["subdir"] = fact["index_subdir"]
    # several hashes: the file was replaced under its name, so none of them can be relied on
    if _SHA256.fullmatch(fact["sha256"]):
        row["sha256"] = fact["sha256"]
    return row


def _pypi_row(project: str, link: Row) -> Row:
    row: Row = {"project": project, "filename": link["filename"], "index": "pypi"}
    return row | {key: link[key] for key in ("sha256", "requires_python", "yanked") if link.get(key)}


def _read_page(pages: Path, project: str) -> list[Row]:
    path = pages / f"{project}.html"
    try:
        return parse_page(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnusableFacts(f"`{path.name}`: {error}") from error


def parse_page(text: str) -> list[Row]:
    """Read a simple page (PEP 503, HTML); raise ValueError for a page without links.

    <a href="https://host.example/packages/aa/bb/torch-1.0.0-cp37-cp37m-win_amd64.whl#sha256=..."
       data-requires-python="&gt;=3.7" data-yanked="why">torch-1.0.0-cp37-cp37m-win_amd64.whl</a>
    """
    parser = _Links()
    parser.feed(text)
    if not parser.links:
        raise ValueError("no link on the page")
    return parser.links


class _Links(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[Row] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag != "a" or not given.get("href"):
            return
        url, _, fragment = str(given["href"]).partition("#")
        digest = fragment.removeprefix("sha256=")
        self.links.append({
            "url": url,
            "filename": unquote(urlsplit(url).path.rpartition("/")[2]),
            "sha256": digest if _SHA256.fullmatch(digest) else None,
            "requires_python": given.get("data-requires-python"),
            "yanked": "data-yanked" in given,
        })  # fmt: skip


def _order(row: Row) -> Any:
    version = parse_wheel_filename(row["filename"])[1]
    location = (row["index"], variant_order(row.get("subdir", "")))
    return PROJECTS.index(row["project"]), version, location, row.get("subdir", ""), row["filename"]
