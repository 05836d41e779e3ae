"""Ask the registries which images the tags of images.json are now: `python tools/image_digests.py`.

Writes tools/matrix_tables/image_digests.json and matrices/images.json; to be run before a release, then
`python tools/dockerfile_gpu.py`. Without a password Docker Hub allows 100 pulls in six hours; a tag whose
digest is still the known one is none. Where it wants no more requests what was read is written, and the next
run goes on with what has no digest yet. gpuenv must be importable.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime, timezone
from pathlib import Path

from matrix_tables.facts import Row
from matrix_tables.images import DIGESTS, build_images, image_of
from registry_digests import DigestError, Registry, TooManyRequestsError

from gpuenv.matrix_checks.serialise import render_table

_TABLE = Path(__file__).parents[1] / "matrices" / "images.json"
APIS = {"docker.io": "https://registry-1.docker.io"}  # docker.io itself has none
_PLATFORMS = {"linux-64": "linux/amd64", "linux-aarch64": "linux/arm64"}


def main(arguments: list[str] | None = None) -> int:
    """Ask for every image; return the exit status, 1 where a digest could not be read."""
    options = _parse(arguments)
    known = {entry["image"]: entry for entry in json.loads(options.digests.read_text(encoding="utf-8"))}
    rows = sorted(build_images(), key=lambda row: image_of(row) in known)
    problems = _refresh(rows, known, APIS | dict(options.api))
    write(options.digests, known)
    options.table.write_text(render_table(build_images(options.digests)), encoding="utf-8")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{sum(image_of(row) in known for row in rows)} of {len(rows)} images have a digest")
    return 1 if problems else 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="ask the registries for the digests of base images")
    parser.add_argument("--api", type=_pair, action="append", default=[], metavar="REGISTRY=URL")
    parser.add_argument("--digests", type=Path, default=DIGESTS, help="what is known, and is written anew")
    parser.add_argument("--table", type=Path, default=_TABLE, help="the matrix to write")
    return parser.parse_args(arguments)


def _pair(text: str) -> tuple[str, str]:
    registry, _, url = text.partition("=")
    if not registry or not url.startswith(("https://", "http://")):
        raise argparse.ArgumentTypeError(f"{text}: REGISTRY=URL is wanted")
    return registry, url


def _refresh(rows: list[Row], known: dict[str, Row], apis: dict[str, str]) -> list[str]:
    """Bring `known` up to date; return what could not be read."""
    date = datetime.now(timezone.utc).date().isoformat()
    registries: dict[str, Registry] = {}
    problems: list[str] = []
    for row in rows:
        image, api = image_of(row), apis.get(row["registry"], f"https://{row['registry']}")
        registry = registries.setdefault(api, Registry(api))
        before = known.get(image, {}).get("digest")
        wanted = frozenset(_PLATFORMS[platform] for platform in row["platforms"])
        try:
            digest = registry.digest(row["repository"], row["tag"], wanted, before)
        except TooManyRequestsError as problem:
            return [*problems, f"{image}: the registry {problem}; run this again later"]
        except DigestError as problem:
            problems.append(f"{image}: the registry {problem}")
            continue
        if digest != before:
            known[image] = {"image": image, "digest": digest, "source": f"{api} ({date})"}
            print(f"{image} {digest}")
    return problems


def write(path: Path, known: dict[str, Row]) -> None:
    """Write one image a line, so that differences can be read."""
    lines = ",\n".join(f"  {json.dumps(known[image])}" for image in sorted(known))
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
