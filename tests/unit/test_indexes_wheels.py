"""Wheels and addresses: the variant is read from the name, else from the place, and never guessed."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from gpuenv.indexes.configuration.installer_default import parse_emitted_index
from gpuenv.indexes.link import Link
from gpuenv.indexes.urls import guess_source, is_remote, local_path, project_page
from gpuenv.indexes.wheel_files import is_variant, parse_name, parse_wheel_link, select_wheels
from gpuenv.secrets.url_credentials import redact_credentials
from gpuenv.wheels.torch_wheel import parse_torch_version

TORCH = canonicalize_name("torch")
PAGE = "https://example.com/whl/torch/"


@pytest.mark.parametrize(
    ("place", "variant"),
    [
        ("whl/cu126/torch-2.7.1+cu126-cp312-cp312-win_amd64.whl", "cu126"),
        ("any/torch-2.7.1+cu126-cp312-cp312-win_amd64.whl", "cu126"),
        ("whl/cu121_full/torch-2.3.0+cu121-cp312-cp312-linux_x86_64.whl", "cu121"),
        ("whl/cu101/torch-1.4.0-cp27-cp27m-linux_x86_64.whl", "cu101"),
        ("whl/cu75/torch-0.1.11.post5-cp27-none-linux_x86_64.whl", "cu75"),
        ("whl/cpu/torch-2.0.0-1-cp310-cp310-manylinux2014_aarch64.whl", "cpu"),
        ("whl/rocm4.5.2/torch-1.11.0+rocm4.5.2-cp37-cp37m-linux_x86_64.whl", "rocm4.5.2"),
        ("whl/cpu-cxx11-abi/torch-2.6.0+cpu.cxx11.abi-cp39-cp39-linux_x86_64.whl", "cpu.cxx11.abi"),
        (
            "whl/cu117_pypi_cudnn/torch-2.0.0+cu117.with.pypi.cudnn-cp310-cp310-linux_x86_64.whl",
            "cu117.with.pypi.cudnn",
        ),
        ("whl/cu128/torch-2.9.0+e437e35-cp310-cp310-linux_x86_64.whl", "cu128"),
        ("files/torch-2.9.0+e437e35-cp310-cp310-linux_x86_64.whl", "e437e35"),
        ("whl/torch-1.11.0-cp310-cp310-manylinux2014_aarch64.whl", None),
        ("packages/0a/torch-2.15.0-cp315-cp315t-win_amd64.whl", None),
        ("whl/xpu/torch-2.7.1+xpu-cp39-cp39-win_amd64.whl", "xpu"),
    ],
)
def test_the_variant_stands_in_the_name_else_in_the_folder(place: str, variant: str | None) -> None:
    filename = place.rpartition("/")[2]
    file = parse_wheel_link(Link(f"https://example.com/{place.replace('+', '%2B')}", filename), PAGE)
    assert (file.variant.name if file.variant else None) == variant
    assert file.filename == filename


def test_the_folder_of_the_page_counts_where_files_lie_elsewhere() -> None:
    link = Link(
        "https://files.example.com/x/torch-1.0.0-cp37-cp37m-linux_x86_64.whl",
        "torch-1.0.0-cp37-cp37m-linux_x86_64.whl",
    )
    assert str(parse_wheel_link(link, "https://example.com/whl/cu100/torch/").variant) == "cu100"
    assert str(parse_wheel_link(link, "https://example.com/whl/cu100/").variant) == "cu100"
    assert parse_wheel_link(link, "https://example.com/cu100/simple/torch/").variant is None


def test_the_same_name_in_two_folders_is_two_files() -> None:
    name = "torch-1.1.0-cp37-cp37m-linux_x86_64.whl"
    links = [Link(f"https://example.com/whl/{folder}/{name}", name) for folder in ("cu90", "cu100")]
    assert [str(file.variant) for file in select_wheels(links, TORCH, PAGE).files] == ["cu90", "cu100"]


@pytest.mark.parametrize(
    "name",
    [
        "torch-2.0-what.whl",
        "torch.whl",
        "torch-2.0-py3-none-any/../x.whl",
        "torch-2.0-py3-none-any\n.whl",
        "torch-x-py3-none-any.whl",
        "torch-2.0-x1-py3-none-any.whl",
        "torch-2.0-py3-none-any-a-b.whl",
        "torch-2.0-py3-none-é.whl",
    ],
)
def test_a_name_that_is_no_wheels_is_reported(name: str) -> None:
    files = select_wheels([Link(f"https://example.com/{name}", name)], TORCH, PAGE)
    assert files.files == ()
    assert files.unparsed == ((name,) if name != "torch.whl" else ())


@pytest.mark.parametrize(
    "name", ["torch-2.0.tar.gz", "torchvision-1-what.whl", "torch-2.0.whl.metadata", "torch-2.0.zip", "torch"]
)
def test_other_files_are_passed_over(name: str) -> None:
    files = select_wheels([Link(f"https://example.com/{name}", name)], TORCH, PAGE)
    assert (files.files, files.unparsed) == ((), ())


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_name_is_a_file_or_reported(start: str, end: str) -> None:
    links = [
        Link("https://example.com/x", f"torch-{start}{end}.whl"),
        Link("x", f"torch-{start}-py3-none-{end}.whl"),
    ]
    files = select_wheels(links, TORCH, PAGE)
    assert len(files.files) + len(files.unparsed) <= 2


_PARTS = st.one_of(
    st.text("aT1._+!-", max_size=8),
    st.sampled_from(
        (
            "torch",
            "a__b",
            "2.14.1+cu126",
            "1!2",
            "1",
            "cp312",
            "py2.py3",
            "manylinux_2_28_x86_64.linux_x86_64",
        )
    ),
)


@given(st.lists(_PARTS, min_size=3, max_size=7).map("-".join))
def test_a_name_is_read_as_packaging_reads_it(stem: str) -> None:
    filename = f"{stem}.whl"
    try:
        name, version, _, tags = parse_wheel_filename(filename)
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            parse_name(filename)
        return
    read = parse_name(filename)
    assert (read.project, read.version, read.tags) == (name, version, tags)


@pytest.mark.parametrize(
    "name", ["cu92", "cu126", "cpu", "cpu-cxx11-abi", "cu121_full", "rocm6.2.4", "xpu", "cpu_pypi_pkg"]
)
def test_folders_that_are_variants(name: str) -> None:
    assert is_variant(name)


@pytest.mark.parametrize(
    "name", ["", "cuda", "cu", "cu1", "cu1264", "cpus", "torch", "rocm", "e437e35", "cu12x"]
)
def test_folders_that_are_not(name: str) -> None:
    assert not is_variant(name)


@pytest.mark.parametrize(
    ("url", "role", "kind", "maybe_flat"),
    [
        ("https://example.com/simple/", "index", "pypi", False),
        ("https://example.com", "index", "pypi", False),
        ("https://example.com/whl", "index", "pytorch", False),
        ("https://example.com/whl/cu126/", "index", "pytorch", False),
        ("https://example.com/whl/nightly/cpu", "index", "pytorch", False),
        ("https://example.com/whl/test", "index", "pytorch", False),
        ("https://example.com/test", "index", "pypi", False),
        ("https://example.com/pytorch-wheels/cu126/", "mirror", "pytorch", True),
        ("https://example.com/pytorch-wheels/cu126/", "find-links", "flat", False),
        ("https://example.com/pypi/simple", "mirror", "pypi", True),
        ("https://example.com/whl/torch_stable.html", "index", "flat", False),
        ("https://example.com/whl/torch_stable.html", "mirror", "flat", False),
        ("/opt/wheels", "index", "directory", False),
        ("wheels", "find-links", "directory", False),
        ("C:\\wheels", "find-links", "directory", False),
        ("file:///opt/wheels", "mirror", "directory", False),
    ],
)
def test_a_source_is_told_by_its_shape_and_role(url: str, role: str, kind: str, maybe_flat: bool) -> None:
    source = guess_source(url, "test", role=role)  # type: ignore[arg-type]
    assert (source.kind, source.maybe_flat, source.origin) == (kind, maybe_flat, "test")
    kept = url.endswith("/") and role == "find-links"  # a server need not lead from the name to the folder
    assert source.url.endswith("/") == kept


def test_addresses_are_taken_apart_and_joined() -> None:
    assert (
        project_page("https://u:p@example.com/simple/?token=1", TORCH)
        == "https://u:p@example.com/simple/torch/?token=1"
    )
    assert project_page("https://example.com", TORCH) == "https://example.com/torch/"
    assert local_path("file:///opt/a%20b") == Path("/opt/a b")
    assert local_path("file://localhost/opt") == Path("/opt")
    assert is_remote("HTTPS://example.com")
    assert not is_remote("file:///x")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("see https://user:s3cret@example.com/simple, or", "see https://****@example.com/simple, or"),
        ("https://s3cret@example.com https://a:s3cret@b", "https://****@example.com https://****@b"),
        ("https://a:s3@cret@example.com/x@y", "https://****@example.com/x@y"),
        ("https://example.com/a@b", "https://example.com/a@b"),
    ],
)
def test_credentials_are_hidden_and_nothing_else(text: str, hidden: str) -> None:
    assert redact_credentials(text) == hidden


@given(st.text(max_size=200))
def test_any_text_tells_a_variant_or_that_it_does_not(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse_torch_version(text).name


def test_a_version_file_may_have_more_in_it() -> None:
    text = "__version__ = '2.13.0+cu126'\ncuda: Optional[str] = '12.6'\nhip: Optional[str] = None\n"
    assert str(parse_torch_version(text)) == "cu126"


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("--index-url https://example.com/simple\n\n", "https://example.com/simple"),
        ("# made by uv\n--index-url https://example.com/simple/\r\n", "https://example.com/simple"),
        ("-i https://example.com/simple", "https://example.com/simple"),
        ("", None),
        ("--extra-index-url https://example.com/simple", None),
        ("--index-url", None),
    ],
)
def test_the_installers_answer_is_read(text: str, index: str | None) -> None:
    assert parse_emitted_index(text) == index


def test_versions_keep_their_local_part() -> None:
    name = "torch-2.7.1+cu126-cp312-cp312-win_amd64.whl"
    assert parse_wheel_link(Link("https://example.com/" + name, name), PAGE).version == Version("2.7.1+cu126")
