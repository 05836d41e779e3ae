"""Indexes: what real layouts list is found, whoever else is down, with as few requests as there are pages."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import pytest
from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name
from serving import Site, serve

from gpuenv.http import FetchLimits, HttpClient
from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.indexes.listings import read_listings
from gpuenv.indexes.urls import guess_source
from gpuenv.indexes.wheelhouse import read_wheelhouse
from gpuenv.model.index import IndexSource, Listing

TORCH, VISION = canonicalize_name("torch"), canonicalize_name("torchvision")
PROJECTS = (TORCH, VISION)
WHEEL = "torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
DIGEST = "0f" * 32


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


@pytest.fixture
def client(tmp_path: Path) -> Iterator[HttpClient]:
    with a_client(tmp_path / "cache") as made:
        yield made


def a_client(cache: Path, *, offline: bool = False) -> HttpClient:
    limits = FetchLimits(connect_s=1.0, read_s=0.4, whole_s=1.0)
    return HttpClient({"GPUENV_CACHE_DIR": str(cache)}, offline=offline, limits=limits)


def index(*hrefs: str, heading: str = "Links for torch") -> str:
    links = "".join(f'<a href="{href}">{href}</a><br/>\n' for href in hrefs)
    return f"<!DOCTYPE html><html><body><h1>{heading}</h1>\n{links}</body></html>\n<!--TIMESTAMP 1-->"


def read(
    site: Site, path: str, client: HttpClient, *projects: NormalizedName, **role: str
) -> tuple[Listing, ...]:
    source = guess_source(site.url + path, "test", **role)  # type: ignore[arg-type]
    return read_listings((source,), projects or (TORCH,), client)


def names(listing: Listing) -> list[str]:
    return [file.filename for file in listing.files]


# layouts


def test_an_index_in_html_with_relative_links_hashes_and_attributes(site: Site, client: HttpClient) -> None:
    site.page(
        "/simple/torch/",
        "<html><head><title>Links for torch</title></head><body><h1>Links for torch</h1>"
        f'<a href="../../packages/0a/torch-2.14.1-cp312-cp312-win_amd64.whl#sha256={DIGEST}" '
        'data-requires-python="&gt;=3.10">torch</a>'
        '<a href="../../packages/0a/torch-2.0.0-cp312-cp312-win_amd64.whl" data-yanked="broken">torch</a>'
        '<a href="../../packages/0a/torch-2.14.1.tar.gz">torch</a></body></html>',
    )
    (listing,) = read(site, "/simple/", client)
    new, old = listing.files
    assert (new.sha256, new.requires_python, new.yanked, new.variant) == (DIGEST, ">=3.10", False, None)
    assert new.url == f"{site.url}/packages/0a/torch-2.14.1-cp312-cp312-win_amd64.whl"
    assert old.yanked
    assert listing.source.kind == "pypi"
    assert (listing.page, listing.problem, listing.unparsed) == (f"{site.url}/simple/torch/", None, ())


def test_an_index_in_json_tells_sizes(site: Site, client: HttpClient) -> None:
    file = {"filename": WHEEL, "url": f"../../files/{quote(WHEEL)}", "hashes": {"sha256": DIGEST}, "size": 7}
    page = {"meta": {"api-version": "1.4"}, "name": "torch", "files": [file, {"filename": 3}]}
    site.page("/simple/torch/", json.dumps(page), Content_Type="application/vnd.pypi.simple.v1+json")
    (listing,) = read(site, "/simple", client)
    assert [(file.size, file.sha256, file.url) for file in listing.files] == [
        (7, DIGEST, f"{site.url}/files/{quote(WHEEL)}")
    ]
    assert len(listing.unparsed) == 1
    assert "vnd.pypi.simple.v1+json" in site.seen[0]["accept"]


def test_the_pytorch_index_lists_all_variants_on_one_page(site: Site, client: HttpClient) -> None:
    site.page(
        "/whl/torch/",
        index(
            f"/whl/cu126/{quote(WHEEL)}#sha256={DIGEST}",
            "/whl/cu101/torch-1.4.0-cp27-cp27m-linux_x86_64.whl",
            "/whl/torch-1.11.0-cp310-cp310-manylinux2014_aarch64.whl",
            "https://files.example.com/whl/rocm6.3/torch-2.7.1%2Brocm6.3-cp39-cp39-manylinux_2_28_x86_64.whl",
        ),
    )
    (listing,) = read(site, "/whl", client)
    assert listing.source.kind == "pytorch"
    assert [file.variant and file.variant.name for file in listing.files] == [
        "cu126",
        "cu101",
        None,
        "rocm6.3",
    ]
    assert [file.url.startswith(site.url) for file in listing.files] == [True, True, True, False]


def test_the_index_of_one_variant_tells_the_variant(site: Site, client: HttpClient) -> None:
    site.page(
        "/whl/cu128/torchvision/",
        index("../../../f/torchvision-0.22.1-cp312-cp312-manylinux_2_28_aarch64.whl"),
    )
    (listing,) = read(site, "/whl/cu128", client, VISION)
    assert [str(file.variant) for file in listing.files] == ["cu128"]


def test_a_flat_page_of_several_folders_is_read_once(site: Site, client: HttpClient) -> None:
    site.page(
        "/whl/torch_stable.html",
        '<a href="cu101/torch-1.4.0-cp27-cp27m-linux_x86_64.whl">cu101/torch-1.4.0</a><br>\n'
        '<a href="cu110/torch-1.7.1%2Bcu110-cp38-cp38-linux_x86_64.whl">x</a><br>\n'
        '<a href="cu101/torchvision-0.8.2%2Bcu101-cp36-cp36m-linux_x86_64.whl">x</a><br>',
    )
    torch, vision = read(site, "/whl/torch_stable.html", client, *PROJECTS)
    assert [str(file.variant) for file in torch.files] == ["cu101", "cu110"]
    assert len(vision.files) == 1
    assert torch.source.kind == "flat"
    assert len(site.asked) == 1


def test_a_directory_listing_given_as_find_links(site: Site, client: HttpClient) -> None:
    page = '<a href="../">Parent directory/</a> <a href="?C=M;O=A">Date</a> '
    page += '<a href="torch-2.5.1&#43;cu118-cp311-cp311-linux_x86_64.whl" title="x">torch-2.5..&gt;</a>'
    site.page("/pytorch-wheels/cu118/", page)
    (listing,) = read(site, "/pytorch-wheels/cu118", client, role="find-links")
    assert names(listing) == ["torch-2.5.1+cu118-cp311-cp311-linux_x86_64.whl"]
    assert (
        listing.files[0].url
        == f"{site.url}/pytorch-wheels/cu118/torch-2.5.1%2Bcu118-cp311-cp311-linux_x86_64.whl"
    )
    assert (listing.page, listing.unparsed) == (f"{site.url}/pytorch-wheels/cu118/", ())


def test_a_mirror_without_project_pages_is_read_as_one_flat_page(site: Site, client: HttpClient) -> None:
    site.page("/pytorch-wheels/cu126/", index(WHEEL, "torchvision-0.29.1+cu126-cp312-cp312-win_amd64.whl"))
    torch, vision = read(site, "/pytorch-wheels/cu126", client, *PROJECTS, role="mirror")
    assert (len(torch.files), len(vision.files)) == (1, 1)
    assert {torch.source.kind, vision.source.kind} == {"flat"}
    assert torch.page == vision.page == f"{site.url}/pytorch-wheels/cu126/"
    assert len(site.asked) == 3
    site.asked.clear()
    read_listings((torch.source,), PROJECTS, client)
    assert [path for _, path in site.asked if path.endswith(("/torch/", "/torchvision/"))] == []


def test_a_mirror_that_is_an_index_is_asked_for_no_flat_page(site: Site, client: HttpClient) -> None:
    site.page("/whl/cu126/torch/", index(WHEEL))
    torch, vision = read(site, "/whl/cu126", client, *PROJECTS, role="mirror")
    assert (len(torch.files), len(vision.files)) == (1, 0)
    assert torch.source.kind == "pytorch"
    assert sorted(path for _, path in site.asked) == ["/whl/cu126/torch/", "/whl/cu126/torchvision/"]


def test_links_are_resolved_after_redirects(site: Site, client: HttpClient) -> None:
    site.page("/simple/torch/", status=302, Location="/deep/er/torch/")
    site.page("/deep/er/torch/", index(f"../{quote(WHEEL)}"))
    (listing,) = read(site, "/simple", client)
    assert listing.files[0].url == f"{site.url}/deep/er/{quote(WHEEL)}"
    assert listing.page == f"{site.url}/simple/torch/"


# what can go wrong


@pytest.mark.parametrize("status", [404, 410])
def test_a_project_that_is_not_there_is_no_problem(site: Site, client: HttpClient, status: int) -> None:
    site.page("/simple/torch/", "<h1>gone</h1>", status=status)
    (listing,) = read(site, "/simple", client)
    assert (listing.files, listing.problem) == ((), None)


def test_a_status_is_no_problem_only_where_it_is_known_to_mean_that(site: Site, client: HttpClient) -> None:
    site.page("/simple/torch/", "<h1>forbidden</h1>", status=403)
    source = guess_source(f"{site.url}/simple", "test")
    for known, problem in (((), "answered 403"), ((403,), None)):
        (listing,) = read_listings((replace(source, missing_status=known),), (TORCH,), client)
        assert (listing.files, listing.problem) == ((), problem)


@pytest.mark.parametrize(
    "body",
    [
        "<html><h1>Please log in</h1><a href='/login'>log in</a></html>",
        "",
        "Not found",
        "<html><body><a href='mailto:x@example.com'>x</a><a href='javascript:x.whl'>y</a></body></html>",
    ],
)
def test_a_page_that_is_no_index_is_a_problem_and_not_remembered(
    site: Site, client: HttpClient, body: str
) -> None:
    site.page("/simple/torch/", body)
    (listing,) = read(site, "/simple", client)
    assert listing.problem == "returned a page that is not an index"
    site.page("/simple/torch/", index(WHEEL))
    assert names(read(site, "/simple", client)[0]) == [WHEEL]


def test_an_empty_page_of_an_index_is_no_problem(site: Site, client: HttpClient) -> None:
    site.page("/simple/torch/", index())
    (listing,) = read(site, "/simple", client)
    assert (listing.files, listing.problem) == ((), None)


@pytest.mark.parametrize(
    "body", ["{", "[]", "null", "[" * 100_000, '{"meta": {"api-version": "2.0"}, "files": []}']
)
def test_garbled_json_is_a_problem(site: Site, client: HttpClient, body: str) -> None:
    site.page("/simple/torch/", body, Content_Type="application/vnd.pypi.simple.v1+json")
    (listing,) = read(site, "/simple", client)
    assert listing.problem
    assert listing.problem.startswith("returned a page that is not an index")


def test_names_that_do_not_parse_are_reported_with_their_project(site: Site, client: HttpClient) -> None:
    bad = [
        "torch-2.0-what.whl",
        "torch-..%2F..%2Fetc-cp312-cp312-linux_x86_64.whl",
        "torch-x.y.z-py3-none-any.whl",
    ]
    quiet = [
        "torch-2.0.tar.gz",
        "torch-2.0.zip",
        "torch-2.0.exe",
        "torch-2.0-py3.8.egg",
        f"{quote(WHEEL)}.metadata",
    ]
    site.page("/simple/torch/", index(*bad, *quiet, quote(WHEEL), "other-what.whl"))
    (listing,) = read(site, "/simple", client)
    assert names(listing) == [WHEEL]
    assert listing.unparsed == (
        "torch-2.0-what.whl",
        "torch-../../etc-cp312-cp312-linux_x86_64.whl",
        "torch-x.y.z-py3-none-any.whl",
    )


def test_one_index_that_is_down_stops_no_other(site: Site, client: HttpClient, tmp_path: Path) -> None:
    site.page("/simple/torch/", index(quote(WHEEL)))
    site.page("/broken/torch/", "oops", status=500)
    site.at("/stalled/torch/", lambda _: site.closing.wait(10))
    sources = (
        *(guess_source(f"{site.url}/{name}", name) for name in ("stalled", "broken", "simple")),
        guess_source("http://127.0.0.1:9/simple", "refused"),
        guess_source(str(tmp_path / "none"), "directory"),
    )
    listings = read_listings(sources, (TORCH,), client)
    assert [listing.source for listing in listings] == list(sources)
    assert [listing.problem for listing in listings] == [
        "timed out after 0.4 s", "answered 500", None, "refused the connection", "does not exist",
    ]  # fmt: skip
    assert len(listings[2].files) == 1


def test_one_request_for_each_source_and_project_and_none_when_warm(site: Site, tmp_path: Path) -> None:
    for project in PROJECTS:
        site.page(f"/simple/{project}/", index(), ETag='"1"', Cache_Control="max-age=600")
        site.page(f"/whl/{project}/", index())
    sources = (guess_source(f"{site.url}/simple", "a"), guess_source(f"{site.url}/whl", "b"))
    for _ in range(2):
        with a_client(tmp_path) as client:
            assert len(read_listings((*sources, *sources), PROJECTS, client)) == 4
    assert sorted(path for _, path in site.asked) == [
        "/simple/torch/", "/simple/torchvision/", "/whl/torch/", "/whl/torchvision/",
    ]  # fmt: skip


def test_offline_the_pages_that_were_kept_are_read(site: Site, tmp_path: Path) -> None:
    site.page("/simple/torch/", index(quote(WHEEL)), ETag='"1"')
    with a_client(tmp_path) as client:
        read(site, "/simple", client)
    with a_client(tmp_path, offline=True) as client:
        torch, vision = read(site, "/simple", client, *PROJECTS)
    assert names(torch) == [WHEEL]
    assert vision.problem == "is not in the cache"
    assert len(site.asked) == 1


# wheelhouses


def wheel(
    path: Path, version_py: str | None = "cuda: Optional[str] = '12.1'\nhip: Optional[str] = None\n"
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("torch/__init__.py", "raise SystemExit('never run')")
        if version_py is not None:
            archive.writestr("torch/version.py", version_py)
    return path


def house(path: Path, *projects: NormalizedName) -> tuple[Listing, ...]:
    source = IndexSource("directory", str(path), "test")
    with TemporaryDirectory() as cache:
        return read_wheelhouse(source, projects or (TORCH,), Path(cache))


def test_a_directory_lists_its_wheels_with_sizes(tmp_path: Path) -> None:
    made = wheel(tmp_path / "a b" / WHEEL)
    (tmp_path / "a b" / "notes.txt").touch()
    (tmp_path / "a b" / "numpy-2.0.0-cp312-cp312-linux_x86_64.whl").touch()
    torch, vision = house(tmp_path / "a b", *PROJECTS)
    assert [(file.filename, file.size, str(file.variant)) for file in torch.files] == [
        (WHEEL, made.stat().st_size, "cu126")
    ]
    assert torch.files[0].url == made.as_uri()
    assert (vision.files, vision.problem, vision.page) == ((), None, str(tmp_path / "a b"))


def test_a_file_url_is_a_directory(tmp_path: Path) -> None:
    wheel(tmp_path / "a b" / WHEEL)
    source = guess_source((tmp_path / "a b").as_uri(), "test")
    assert source.kind == "directory"
    assert len(read_wheelhouse(source, (TORCH,), tmp_path / "cache")[0].files) == 1


@pytest.mark.parametrize("tree", ["torch", "simple/torch"])
def test_a_tree_of_projects_on_disk(tmp_path: Path, tree: str) -> None:
    wheel(tmp_path / tree / WHEEL)
    (listing,) = house(tmp_path)
    assert (names(listing), listing.page) == ([WHEEL], str(tmp_path / tree))


def test_a_tree_with_pages_on_disk(tmp_path: Path) -> None:
    made = wheel(tmp_path / "files" / WHEEL)
    page = tmp_path / "simple" / "torch" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(
        index(f"../../files/{quote(WHEEL)}#sha256={DIGEST}", "../../files/torch-9-py3-none-any.whl")
    )
    (listing,) = house(tmp_path / "simple")
    assert listing.page == str(page)
    assert [(file.sha256, file.size) for file in listing.files] == [(DIGEST, made.stat().st_size)]
    assert listing.unparsed == ("torch-9-py3-none-any.whl (does not exist)",)
    assert [listing.files for listing in house(page)] == [listing.files]


@pytest.mark.parametrize(
    ("version_py", "variant"),
    [
        ("__version__ = '2.1.0'\ncuda: Optional[str] = '12.1'\n", "cu121"),
        ("cuda = '9.2.148'\r\nhip = None\r\n", "cu92"),
        ("cuda: Optional[str] = None\nhip: Optional[str] = None\n", "cpu"),
        ("cuda = None\nhip = '6.3.42131'\n", "rocm6.3"),
        ("cuda = None\nhip = None\nxpu: Optional[str] = '20250101'\n", "xpu"),
    ],
)
@pytest.mark.parametrize("version", ["2.1.0", "2.1.0a0+29c30b1"])
def test_a_torch_wheel_tells_its_variant_itself(
    tmp_path: Path, version_py: str, variant: str, version: str
) -> None:
    wheel(tmp_path / f"torch-{version}-cp312-cp312-linux_x86_64.whl", version_py)
    (listing,) = house(tmp_path)
    assert [str(file.variant) for file in listing.files] == [variant]


@pytest.mark.parametrize(
    "version_py", [None, "", "cuda = 'zwölf'", "cuda =", "x" * 100_000, "cuda = __import__('os').name"]
)
def test_a_torch_wheel_that_does_not_tell_is_reported(tmp_path: Path, version_py: str | None) -> None:
    wheel(tmp_path / "torch-2.1.0-cp312-cp312-linux_x86_64.whl", version_py)
    (listing,) = house(tmp_path)
    assert listing.files == ()
    assert listing.unparsed[0].startswith("torch-2.1.0-cp312-cp312-linux_x86_64.whl (")


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x05\x06" + b"\0" * 18])
def test_a_wheel_that_is_no_zip_is_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "torch-2.1.0-cp312-cp312-linux_x86_64.whl").write_bytes(content)
    (listing,) = house(tmp_path)
    assert (listing.files, len(listing.unparsed), listing.problem) == ((), 1, None)


@pytest.mark.parametrize("cut", range(0, 400, 23))
def test_a_damaged_wheel_is_reported(tmp_path: Path, cut: int) -> None:
    made = wheel(tmp_path / "torch-2.1.0-cp312-cp312-linux_x86_64.whl")
    content = bytearray(made.read_bytes())
    content[cut : cut + 4] = b"\xff\xff\xff\xff"[: len(content[cut : cut + 4])]
    made.write_bytes(content)
    (listing,) = house(tmp_path)
    assert len(listing.files) + len(listing.unparsed) == 1


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_directory_that_may_not_be_read_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    assert house(tmp_path / "closed")[0].problem == "may not be read"


def test_a_file_that_is_no_page_lists_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff\x00")
    assert house(tmp_path / "x")[0].files == ()
    assert house(tmp_path / "x" / "y")[0].problem is not None


# the installer's default


def test_the_default_index_comes_from_the_installer_whatever_is_configured(tmp_path: Path) -> None:
    (tmp_path / "uv.toml").write_text('index-url = "https://user.example.com/simple"\n')
    facts = {
        "UV_DEFAULT_INDEX": "https://user.example.com/simple",
        "UV_CONFIG_FILE": str(tmp_path / "uv.toml"),
        "PIP_INDEX_URL": "https://user.example.com/simple",
    }
    value = default_index({**os.environ, **facts, "GPUENV_CACHE_DIR": str(tmp_path / "cache")})
    assert value is not None
    assert value.startswith("https://")
    assert value.endswith("/simple")
    assert "user" not in value


@pytest.mark.skipif(os.name != "posix", reason="owners and modes")
def test_what_others_may_write_is_not_the_default_index(tmp_path: Path) -> None:
    mine = {**os.environ, "GPUENV_CACHE_DIR": str(tmp_path)}
    index = default_index(mine)
    kept = tmp_path / "default-index.json"
    document = json.loads(kept.read_text())
    assert document["index"] == index
    kept.write_text(json.dumps({**document, "index": "https://stranger.example.com/simple"}))
    kept.chmod(0o666)
    assert default_index(mine) == index
    other = {**document, "uv": [*document["uv"][:2], 1], "index": "https://stranger.example.com/simple"}
    kept.unlink()
    kept.write_text(json.dumps(other))
    assert default_index(mine) == index
    for text in ("", "[]", '{"uv": null}', "{", json.dumps({**document, "index": "file:///x"})):
        kept.write_text(text)
        assert default_index(mine) == index


def test_without_uv_pip_is_asked(tmp_path: Path) -> None:
    assert default_index(os.environ, uv=str(tmp_path / "none")) in (None, default_index(os.environ))


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
@pytest.mark.parametrize("script", ["exit 3", "echo garbage", "kill -9 $$", "printf '\\377'"])
def test_a_uv_that_fails_is_no_error(tmp_path: Path, script: str) -> None:
    fake = tmp_path / "uv"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    assert default_index({}, uv=str(fake)) in (None, default_index(os.environ))
