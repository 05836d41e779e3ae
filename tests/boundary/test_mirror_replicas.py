"""The replicas that mirrors are tested with: their pages have the forms that were seen of the mirrors."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.message import Message

import pytest
from replica_network import Network, serve_network
from replica_pages import JSON
from replica_server import HAS_LOOPBACK_NET, Fault

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    if not HAS_LOOPBACK_NET:
        pytest.skip("127.0.0.2 is no address here")
    with serve_network() as running:
        yield running


def ask(url: str, method: str = "GET", **headers: str) -> tuple[int, str, Message, bytes]:
    """Return the status, the final address, the headers and the body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, method=method, headers=named)  # noqa: S310 - always http
    try:
        with _OPENER.open(request, timeout=10) as response:
            return response.status, response.url, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.url, error.headers, error.read()


WHEEL = r"torch-2\.14\.1{plus}cu126-cp312-cp312-manylinux_2_28_x86_64\.whl"

# replica, path, what stands in a link
FORMS = (
    ("official", "/whl/torch/", r'"http://127\.0\.0\.2:\d+/whl/cu126/{wheel}#sha256=\w{{64}}"', "%2B"),
    ("official", "/whl/cu126/torch/", r'"http://127\.0\.0\.2:\d+/whl/cu126/{wheel}#sha256=\w{{64}}"', "%2B"),
    ("nju", "/pytorch/whl/cu126/torch/", r'"/pytorch/whl/cu126/{wheel}#sha256=\w{{64}}"', "%2B"),
    ("cernet", "/pytorch/whl/cu126/torch/", r'"/pytorch/whl/cu126/{wheel}#sha256=\w{{64}}"', "%2B"),
    ("sjtu", "/pytorch-wheels/cu126/torch", r'"/pytorch-wheels/cu126/{wheel}#sha256=\w{{64}}"', "%2B"),
    ("sjtu", "/pytorch-wheels/cu126/?mirror_intel_list", r'"/pytorch-wheels/cu126/{wheel}"', "%2B"),
    ("aliyun", "/pytorch-wheels/cu126/", r'"{wheel}" title=', "&#43;"),
    ("elsewhere", "/pub/torch/cu126/", r'<a href="{wheel}">', r"\+"),
)


@pytest.mark.parametrize(("replica", "path", "form", "plus"), FORMS)
def test_links_are_written_as_the_mirror_writes_them(
    network: Network, replica: str, path: str, form: str, plus: str
) -> None:
    status, _, _, body = ask(network.replicas[replica].url + path)
    assert status == 200
    assert re.search(form.format(wheel=WHEEL.format(plus=plus)), body.decode())


def test_the_page_of_all_variants_lists_old_ones_alone(network: Network) -> None:
    text = ask(f"{network.elsewhere.url}/whl/torch_stable.html")[3].decode()
    name = "cu118/torch-2.3.1%2Bcu118-cp311-cp311-linux_x86_64.whl"
    assert f'<a href="{name}">{name}</a><br>' in text
    assert "cu124/" not in text
    assert "<html" not in text


@pytest.mark.parametrize(
    ("replica", "root", "form"),
    [
        ("pypi", "/simple", r'"http://127\.0\.0\.4:\d+/packages/\w\w/\w\w/\w{60}/torch-'),
        ("tuna", "/pypi/web/simple", r'"\.\./\.\./packages/\w\w/\w\w/\w{60}/torch-'),
        ("sjtu", "/pypi/web/simple", r'"/pypi-packages/\w\w/\w\w/\w{60}/torch-'),
    ],
)
def test_pypi_and_its_mirrors_link_to_where_their_files_lie(
    network: Network, replica: str, root: str, form: str
) -> None:
    text = ask(f"{network.replicas[replica].url}{root}/torch/")[3].decode()
    assert re.search(form, text)
    assert "<!--SERIAL 1-->" in text


def test_what_is_missing_is_told_as_each_mirror_tells_it(network: Network) -> None:
    assert ask(f"{network.official.url}/whl/cu126/no-such-project/")[0] == 403
    assert ask(f"{network.tuna.url}/pypi/simple/torch/")[0] == 404
    assert ask(f"{network.aliyun.url}/pytorch-wheels/cu126/torch/")[0] == 404
    status, _, headers, body = ask(f"{network.huawei.url}/anaconda/repodata.json")
    assert (status, headers.get_content_type(), b"Welcome" in body) == (200, "text/html", True)


def test_json_is_had_for_the_asking_where_the_mirror_has_it(network: Network) -> None:
    def kind(url: str) -> str:
        return ask(url, Accept=f"{JSON}, text/html;q=0.1")[2].get_content_type()

    assert kind(f"{network.tuna.url}/pypi/web/simple/torch/") == JSON
    assert kind(f"{network.sjtu.url}/pytorch-wheels/cu126/torch/") == JSON
    assert kind(f"{network.nju.url}/pytorch/whl/cu126/torch/") == "text/html"


@pytest.mark.slow
def test_a_file_is_had_in_parts_and_by_way_of_the_storage_behind_a_mirror(network: Network) -> None:
    path = "/pytorch-wheels/cu126/torch-2.14.1%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl"
    status, url, headers, body = ask(network.sjtu.url + path, Range="bytes=10-19")
    assert (status, len(body), headers["Content-Range"]) == (206, 10, "bytes 10-19/800000000")
    assert url.startswith(network.sjtu_store.url)
    assert ask(network.sjtu.url + path, "HEAD")[2]["Content-Length"] == "800000000"


@pytest.mark.parametrize(
    ("fault", "status"), [("403", 403), ("504", 504), ("soft-404", 200), ("portal", 200)]
)
def test_a_fault_lasts_as_long_as_its_block(network: Network, fault: Fault, status: int) -> None:
    url = f"{network.nju.url}/pytorch/whl/cu126/torch/"
    with network.failing("nju", fault, "/torch/"):
        got = ask(url)
        assert (got[0], b"Links for" in got[3]) == (status, False)
        assert ask(f"{network.nju.url}/pytorch/whl/cu126/torchvision/")[0] == 200
    assert ask(url)[0] == 200


def test_a_stale_mirror_lacks_the_newest_torch_and_its_companions(network: Network) -> None:
    with network.stale("nju", "2.12"):
        for project, newest, gone in (
            ("torch", "-2.11.0%2B", "-2.12"),
            ("torchvision", "-0.26.0%2B", "-0.27"),
        ):
            text = ask(f"{network.nju.url}/pytorch/whl/cu126/{project}/")[3].decode()
            assert newest in text
            assert gone not in text
