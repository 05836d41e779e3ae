"""Make matrices/*.json from the facts: `python tools/build_matrices.py --facts DIR`.

Repeatable: the same facts give the same bytes. Facts that contradict each other are refused (exit 2) and
nothing is written. `--pypi-pages DIR` holds PyPI's simple pages (`torch.html`, ...) for wheels.json, which is
left as it is without them, as the tables of accelerators are without `accelerators/`. manifest.json counts
the rows of all, signature-words.json tells by which words `explain` finds signatures; the schemas come from
the fields of `knowledge.schema`.
`--keep signatures` leaves a table as it is: that one takes most of the time.
gpuenv must be importable: installed, or PYTHONPATH=src.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from matrix_tables.accelerators.tables import accelerator_builders
from matrix_tables.api_changes import build_api_changes
from matrix_tables.checks import build_checks
from matrix_tables.companions import build_companions
from matrix_tables.conda import build_conda
from matrix_tables.cuda import build_cuda
from matrix_tables.dependencies import build_dependencies
from matrix_tables.ecosystem import build_ecosystem
from matrix_tables.facts import Facts, Row, UnusableFacts
from matrix_tables.gpus import build_gpus
from matrix_tables.images import build_images
from matrix_tables.known_bad import build_known_bad
from matrix_tables.libraries import build_libraries
from matrix_tables.mirrors import build_mirrors
from matrix_tables.pythons import build_pythons
from matrix_tables.releases import build_releases
from matrix_tables.reports import build_reports
from matrix_tables.schemas import schema_texts
from matrix_tables.signatures import build_signatures
from matrix_tables.torch import build_torch
from matrix_tables.wheel_read import READ, prefer_wheels, read_records
from matrix_tables.wheels import build_wheels
from matrix_tables.writing import read_tables, refuse_shrinking, write_tables

from gpuenv.matrix_checks.manifest import MANIFEST, manifest_rows
from gpuenv.matrix_checks.run import check_matrices
from gpuenv.matrix_checks.serialise import DENSE, render_table
from gpuenv.signatures.word_index import WORDS, render_word_index, word_index

_MATRICES = Path(__file__).parent.parent / "matrices"


def main(arguments: list[str] | None = None) -> int:
    """Build the tables; return the exit status."""
    options = _parse(arguments)
    facts = Facts(options.facts)
    try:
        tables, texts = _build(facts, options)
        whole = {**read_tables(options.out), **tables}
        _refuse_faults(whole)
        texts[MANIFEST] = render_table(manifest_rows(whole))
        if not options.allow_shrink:
            refuse_shrinking(options.out, tables)
        write_tables(options.out, {**texts, **schema_texts()})
    except UnusableFacts as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyError as error:
        print(f"error: a table of the facts has no {error}", file=sys.stderr)
        return 2
    for line in facts.left_out:
        print(f"left out: {line}")
    for line in facts.overruled:
        print(f"overruled: {line}")
    for name, rows in tables.items():
        print(f"{name}: {len(rows)} rows")
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="make the matrices from the facts")
    parser.add_argument("--facts", type=Path, required=True, help="the folder of facts")
    parser.add_argument("--out", type=Path, default=_MATRICES, help="where to write (default: matrices/)")
    parser.add_argument("--pypi-pages", type=Path, help="PyPI's simple pages, saved as PROJECT.html")
    parser.add_argument("--read", type=Path, default=READ, help="rows read from wheels, which win")
    parser.add_argument("--keep", action="append", default=[], metavar="TABLE", help="leave a table as it is")
    parser.add_argument("--allow-shrink", action="store_true", help="write a table that lost rows")
    return parser.parse_args(arguments)


def _build(facts: Facts, options: argparse.Namespace) -> tuple[dict[str, list[Row]], dict[str, str]]:
    builds = prefer_wheels(build_torch(facts), options.read, facts.overruled)
    builders: dict[str, Callable[[], list[Row]]] = {
        "torch": lambda: builds,
        "cuda": lambda: build_cuda(facts),
        "gpus": lambda: build_gpus(facts),
        "companions": lambda: build_companions(facts, builds, read_records(options.read)),
        "known-bad": lambda: build_known_bad(facts),
        "libraries": lambda: build_libraries(facts, builds),
        "dependencies": lambda: build_dependencies(builds, options.read),
        "mirrors": lambda: build_mirrors(facts),
        "signatures": lambda: build_signatures(facts),
        "checks": lambda: build_checks(facts),
        "conda": lambda: build_conda(facts),
        "images": build_images,
        "pythons": build_pythons,
        "releases": build_releases,
        "reports": build_reports,
        "ecosystem": lambda: build_ecosystem(facts),
        "api-changes": build_api_changes,
        **accelerator_builders(facts, builds),
    }
    tables = {name: build() for name, build in builders.items() if name not in options.keep}
    texts = {name: render_table(rows, dense=name in DENSE) for name, rows in tables.items()}
    if "signatures" in tables:
        texts[WORDS] = render_word_index(word_index(tables["signatures"]))
    if options.pypi_pages is not None:
        tables["wheels"] = build_wheels(facts, options.pypi_pages)
        texts["wheels"] = render_table(tables["wheels"], dense=True)
    return tables, texts


def _refuse_faults(tables: dict[str, list[Row]]) -> None:
    faults = check_matrices(tables)
    if faults:
        shown = "\n  ".join(f"{fault.table} {fault.row_key}: {fault.message}" for fault in faults[:20])
        raise UnusableFacts(f"{len(faults)} faults\n  {shown}")


if __name__ == "__main__":
    sys.exit(main())
