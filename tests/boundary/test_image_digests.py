"""tools/image_digests.py against a registry on 127.0.0.1 that speaks the OCI distribution API."""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
from serving import Site, serve

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
tool = importlib.import_module("image_digests")
registry_digests = importlib.import_module("registry_digests")

INDEX = "application/vnd.oci.image.index.v1+json"
BOTH = frozenset({"linux/amd64", "linux/arm64"})
NAME = "library/python"
PATH = f"/v2/{NAME}/manifests/3.12-slim"
TOKEN = json.dumps({"token": f"for-{NAME}"})


def index_of(*platforms: str) -> bytes:
    """The index of an image for these platforms, as registries send it, attestations included."""
    listed = [("linux", platform) for platform in platforms] + [("unknown", "unknown")]
    manifests = [{"digest": "sha256:00", "platform": {"os": os, "architecture": arch}} for os, arch in listed]
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}).encode()


IMAGE = index_of("amd64", "arm", "arm64")
DIGEST = f"sha256:{hashlib.sha256(IMAGE).hexdigest()}"


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as served:
        yield served


def send(request: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    if request.command == "GET":
        request.wfile.write(body)


def holds(body: bytes = IMAGE, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    return lambda request: send(request, 200, body, Content_Type=INDEX, **headers)


def guarded(site: Site, behaviour: Callable[[BaseHTTPRequestHandler], None]) -> None:
    """Hand out tokens for a repository, and its manifest only to those who show one, as Docker Hub does."""

    def manifest(request: BaseHTTPRequestHandler) -> None:
        if request.headers.get("Authorization") == f"Bearer for-{NAME}":
            return behaviour(request)
        challenge = (
            f'Bearer realm="{site.url}/token",service="registry.example",scope="repository:{NAME}:pull"'
        )
        return send(request, 401, WWW_Authenticate=challenge)

    site.at(PATH, manifest)
    site.page(f"/token?service=registry.example&scope={quote_plus(f'repository:{NAME}:pull')}", TOKEN)


def ask(site: Site, known: str | None = None) -> str:
    digest: str = registry_digests.Registry(site.url).digest(NAME, "3.12-slim", BOTH, known)
    return digest


def test_the_digest_is_that_of_the_bytes_and_is_had_with_a_token(site: Site) -> None:
    guarded(site, holds(Docker_Content_Digest=DIGEST))
    assert ask(site) == DIGEST
    assert INDEX in site.seen[0]["accept"]


def test_a_known_digest_costs_no_pull(site: Site) -> None:
    guarded(site, holds(Docker_Content_Digest=DIGEST))
    assert ask(site, DIGEST) == DIGEST
    assert [path for method, path in site.asked if method == "GET" and path == PATH] == []


def test_a_registry_without_the_header_is_taken_by_its_bytes(site: Site) -> None:
    site.at(PATH, holds())
    assert ask(site, "sha256:" + "0" * 64) == DIGEST


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (holds(Docker_Content_Digest="sha256:" + "0" * 64), "says sha256:0"),
        (holds(index_of("amd64")), "has nothing for linux/arm64"),
        (holds(json.dumps({"config": {}, "layers": []}).encode()), "no index of several"),
        (holds(b"<html>log in</html>"), "sends no JSON"),
        (holds(b"[" * 100_000), "sends no JSON"),
        (holds(b"[]"), "sends no JSON object"),
        (holds(b" " * (5 * 1024 * 1024)), "more than 4194304 bytes"),
        (lambda request: send(request, 404), "answers 404"),
        (lambda request: send(request, 401), "hands out no token"),
        (lambda request: send(request, 401, WWW_Authenticate='Basic realm="x"'), "hands out no token"),
        (
            lambda request: send(request, 401, WWW_Authenticate='Bearer realm="file:///etc"'),
            "hands out no token",
        ),
        (lambda request: send(request, 429), "wants no more requests"),
    ],
)
def test_what_is_no_such_index_is_no_digest(site: Site, behaviour: Any, reason: str) -> None:
    site.at(PATH, behaviour)
    with pytest.raises(registry_digests.DigestError, match=reason):
        ask(site)


def test_a_registry_that_does_not_answer_is_told_as_such() -> None:
    with pytest.raises(registry_digests.DigestError, match="can't be reached"):
        registry_digests.Registry("http://127.0.0.1:9").digest(NAME, "3.12-slim", BOTH, None)


# The tool: every image of the matrix against one registry.


def run(site: Site, tmp_path: Path, known: list[dict[str, str]]) -> tuple[int, list[Any], list[Any]]:
    digests, table = tmp_path / "digests.json", tmp_path / "images.json"
    digests.write_text(json.dumps(known))
    status = tool.main(["--api", f"docker.io={site.url}", "--digests", str(digests), "--table", str(table)])
    return status, json.loads(digests.read_text()), json.loads(table.read_text())["rows"]


def tags() -> list[tuple[str, str]]:
    return [(row["repository"], row["tag"]) for row in tool.build_images()]


@pytest.mark.slow
def test_all_images_are_brought_up_to_date_in_the_facts_and_in_the_matrix(site: Site, tmp_path: Path) -> None:
    for number, (repository, tag) in enumerate(tags()):
        body = index_of("amd64", "arm64", f"other{number}")
        site.at(f"/v2/{repository}/manifests/{tag}", holds(body))
    status, known, rows = run(site, tmp_path, [])
    assert status == 0
    assert len(known) == len(rows) == len(tags())
    assert all(row["digest"].startswith("sha256:") and site.url in row["digest_source"] for row in rows)
    # once more: nothing changes, the date of what was read included
    assert run(site, tmp_path, known) == (0, known, rows)


def test_a_tag_that_is_gone_keeps_what_was_known_of_it_and_is_told(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (gone, first), *others = tags()
    for repository, tag in others:
        site.at(f"/v2/{repository}/manifests/{tag}", holds())
    old = {"image": f"docker.io/{gone}:{first}", "digest": f"sha256:{'1' * 64}", "source": "before"}
    status, known, _ = run(site, tmp_path, [old])
    assert status == 1
    assert old in known
    assert capsys.readouterr().err == f"docker.io/{gone}:{first}: the registry answers 404\n"


def test_a_registry_that_has_enough_leaves_what_was_read_and_the_next_run_goes_on(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for repository, tag in tags():
        site.at(f"/v2/{repository}/manifests/{tag}", lambda request: send(request, 429))
    repository, tag = tags()[0]
    site.at(f"/v2/{repository}/manifests/{tag}", holds())
    status, known, _ = run(site, tmp_path, [])
    assert (status, [entry["image"] for entry in known]) == (1, [f"docker.io/{repository}:{tag}"])
    assert "run this again later" in capsys.readouterr().err
    site.asked.clear()
    run(site, tmp_path, known)
    assert site.asked[0][1].endswith(tags()[1][1])
