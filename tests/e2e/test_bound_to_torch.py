"""Projects whose wheels are made for one torch: planned together with it, from the pages that list them."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest
from bound_shop import Shop, serve_shop
from index_server import IndexServer, dead_url
from packaging.requirements import Requirement
from running import Program, make_program
from tiny_wheels import PYTHON, tiny_torch

H100 = ("--driver", "535.104.05", "--gpu", "H100", "--manager", "uv", "--python", "3.12")
UV = ("--manager", "uv")


@pytest.fixture
def shop() -> Iterator[Shop]:
    with serve_shop() as running:
        yield running


@pytest.fixture
def user(tmp_path: Path, shop: Shop) -> Program:
    """Run gpuenv with an overlay that has the projects' pages on the test's server."""
    made = make_program(tmp_path / "user")
    overlay = tmp_path / "user" / "data" / "matrices"
    overlay.mkdir()
    rows = {"schema_version": 1, "rows": shop.rows()}
    (overlay / "ecosystem.json").write_text(json.dumps(rows), encoding="utf-8")
    return made


def test_flash_attn_is_pinned_by_the_address_and_hash_of_its_wheel(
    user: Program, shop: Shop, mirrors: tuple[str, ...]
) -> None:
    done = user.run("plan", "torch", "flash-attn", "--json", *H100, *mirrors)
    assert done.torch == "2.8.0+cu129"
    file = done.package("flash-attn")
    assert file["filename"].startswith("flash_attn-2.8.3.post1+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux")
    pin = next(Requirement(pin) for pin in done.data["pins"] if pin.startswith("flash-attn"))
    assert pin.url == f"{file['url']}#sha256={file['sha256']}"
    assert pin.url.startswith(shop.url)
    assert not [word for step in done.data["steps"] for word in step["argv"] if "expanded_assets/v" in word]


@pytest.mark.parametrize("form", ["requirements.txt", "pylock.toml", "pyproject", "dockerfile"])
def test_every_format_names_the_wheel_by_its_address_and_hash(
    user: Program, mirrors: tuple[str, ...], form: str
) -> None:
    done = user.run("plan", "torch", "torch-scatter", "--format", form, *H100, *mirrors)
    assert done.status == 0, done.err
    assert "torch_scatter-2.1.2%2Bpt212cu126-cp312-cp312-linux_x86_64.whl" in done.out
    assert "sha256" in done.out.partition("torch_scatter-2.1.2")[2]
    assert "torch-scatter==" not in done.out


@pytest.mark.slow
def test_pages_are_read_newest_torch_first_and_no_further_than_needed(
    user: Program, shop: Shop, mirrors: tuple[str, ...]
) -> None:
    assert user.run("plan", "torch", "torch-scatter", "--json", *H100, *mirrors).torch == "2.12.1+cu126"
    read = [path.rpartition("/")[2].split("+")[0] for path in shop.asked]
    assert list(dict.fromkeys(read)) == ["torch-2.14.0", "torch-2.13.0", "torch-2.12.0"]


@pytest.mark.slow
def test_a_host_that_refuses_what_it_lacks_says_no_more_than_that(
    user: Program, shop: Shop, mirrors: tuple[str, ...]
) -> None:
    shop.status |= {"torch-2.14.0": 403, "torch-2.13.0": 403}
    done = user.run("plan", "torch", "torch-scatter", "--json", *H100, *mirrors)
    assert done.torch == "2.12.1+cu126"
    assert "index-unreadable" not in {warning["code"] for warning in done.envelope["warnings"]}


def test_a_host_that_is_down_is_asked_once_and_named(
    user: Program, shop: Shop, mirrors: tuple[str, ...]
) -> None:
    shop.status["data.pyg.org"] = 500
    refused = user.run("plan", "torch", "torch-scatter", "--json", *H100, *mirrors)
    assert (refused.status, refused.error["code"]) == (4, "index-unread")
    assert "could not be reached, so it is not known whether" in refused.error["message"]
    assert any("torch-2.14.0+cu126.html" in item["text"] for item in refused.error["because"])
    assert not any("torch-2.13.0" in path for path in shop.asked)


@pytest.mark.slow
def test_pages_that_were_read_serve_offline(user: Program, shop: Shop, mirrors: tuple[str, ...]) -> None:
    name = f"torch_scatter-2.1.2+pt212cu126-{PYTHON}-{PYTHON}-linux_x86_64.whl"
    shop.pages["https://data.pyg.org/whl/torch-2.12.0+cu126.html"] = (name,)
    python = f"{PYTHON[2]}.{PYTHON[3:]}"  # offline, none is brought
    words = ("plan", "torch", "torch-scatter", "--json", *H100, "--python", python, *mirrors)
    assert user.run(*words).package("torch-scatter")["filename"] == name
    shop.asked.clear()
    assert user.run(*words, "--offline").package("torch-scatter")["filename"] == name
    assert shop.asked == []


@pytest.mark.slow
def test_no_page_is_read_where_no_such_project_is_asked_for(
    user: Program, shop: Shop, mirrors: tuple[str, ...]
) -> None:
    assert user.run("plan", "--json", *H100, *mirrors).status == 0
    assert shop.asked == []


@pytest.mark.slow
def test_a_wheelhouse_of_the_user_s_counts(user: Program, shop: Shop, mirrors: tuple[str, ...]) -> None:
    page = "https://github.com/others/wheels/releases/expanded_assets/v1"
    names = ("flash_attn-2.8.3+cu126torch2.12-cp312-cp312-linux_x86_64.whl",)
    shop.pages |= {page: names, f"{page}/": names}
    links = ("--find-links", shop.here(page))
    done = user.run("plan", "torch", "flash-attn", "--json", *H100, *links, *mirrors)
    assert done.torch == "2.12.1+cu126"
    assert done.package("flash-attn")["url"] in done.data["pins"][1]


@pytest.mark.slow
def test_an_environment_is_made_with_the_wheel(
    user: Program, shop: Shop, server: IndexServer, mirrors: tuple[str, ...], tmp_path: Path
) -> None:
    server.publish(tiny_torch(tmp_path, "2.12.0+cpu"), "pytorch", "cpu")
    name = f"torch_scatter-2.1.2+pt212cpu-{PYTHON}-{PYTHON}-linux_{platform.machine()}.whl"
    shop.pages["https://data.pyg.org/whl/torch-2.12.0+cpu.html"] = (name,)
    words = ("torch==2.12.0", "torch-scatter", "--cuda", "cpu", "--python", f"{PYTHON[2]}.{PYTHON[3:]}")
    done = user.run("create", "graphs", *words, "--yes", "--no-verify", *UV, *mirrors)
    assert done.status == 0, done.err
    (installed,) = (user.environments / "graphs").rglob("torch_scatter-2.1.2+pt212cpu.dist-info")
    assert (installed / "direct_url.json").is_file()


@pytest.mark.slow
def test_a_wheel_made_for_the_torch_that_is_there_is_installed_later(
    user: Program, shop: Shop, server: IndexServer, mirrors: tuple[str, ...], tmp_path: Path
) -> None:
    server.publish(tiny_torch(tmp_path, "2.12.0+cpu"), "pytorch", "cpu")
    name = f"torch_scatter-2.1.2+pt212cpu-{PYTHON}-{PYTHON}-linux_{platform.machine()}.whl"
    shop.pages["https://data.pyg.org/whl/torch-2.12.0+cpu.html"] = (name,)
    words = ("torch==2.12.0", "--cuda", "cpu", "--python", f"{PYTHON[2]}.{PYTHON[3:]}")
    assert user.run("create", "graphs", *words, "--yes", "--no-verify", *UV, *mirrors).status == 0
    done = user.run("install", "graphs", "torch-scatter", "--yes", "--no-verify", "--json")
    assert done.status == 0, done.out
    assert [item["name"] for item in done.data["changes"]] == ["torch-scatter"], done.out
    (installed,) = (user.environments / "graphs").rglob("torch_scatter-2.1.2+pt212cpu.dist-info")
    assert (installed / "direct_url.json").is_file()
    kept = json.loads((user.environments / "graphs" / "gpuenv.json").read_text())["plan"]
    assert [Requirement(pin).name for pin in kept["pins"]] == ["torch", "torch-scatter"]
    exported = user.run("export", "graphs", "--offline")
    assert f"{shop.url}" in exported.out
    assert "torch_scatter-2.1.2%2Bpt212cpu" in exported.out
    none = user.run("install", "graphs", "flash-attn", "--yes", "--json")
    assert none.status == 3, none.out


@pytest.mark.slow
def test_a_dead_host_does_not_hang_a_plan(user: Program, mirrors: tuple[str, ...]) -> None:
    overlay = user.root / "data" / "matrices" / "ecosystem.json"
    rows = json.loads(overlay.read_text(encoding="utf-8"))
    for row in rows["rows"]:
        row["page"] = f"{dead_url()}/{{torch}}/{{variant}}.html"
    overlay.write_text(json.dumps(rows), encoding="utf-8")
    refused = user.run("plan", "torch", "torch-scatter", "--json", *H100, *mirrors)
    assert refused.error["code"] == "index-unread"
