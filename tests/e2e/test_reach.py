"""Where pages come from: configuration, requests made, indexes that fail, working offline."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from index_server import Fault, IndexServer, dead_url
from running import Done, Program

H100 = ("--driver", "535.104.05", "--gpu", "9.0")
PAGES = ("/simple/torch/", "/simple/torchvision/", "/whl/torch/", "/whl/torchvision/")
EXPECTED = "2.14.1+cu126"


def pages(counted: Counter[str]) -> dict[str, int]:
    return {path: times for path, times in counted.items() if path.endswith("/")}


def plan(program: Program, *more: str | Path) -> Done:
    return program.run("plan", "--json", *H100, *more)


def test_a_cold_plan_reads_one_page_a_project_and_index_and_a_warm_one_only_revalidates(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    cold = plan(program, *mirrors)
    assert cold.torch == EXPECTED
    assert pages(server.count()) == dict.fromkeys(PAGES, 1)
    assert all(package["size"] for package in cold.data["packages"])
    server.forget()
    warm = plan(program, *mirrors)
    assert server.count() == server.count(status=304) == dict.fromkeys(PAGES, 1)
    assert warm.data["packages"] == cold.data["packages"]


def _options(program: Program, server: IndexServer) -> Done:
    return plan(program, "--mirror", server.pytorch, "--mirror", server.pypi)


def _variables_of_gpuenv(program: Program, server: IndexServer) -> Done:
    return plan(program.with_(GPUENV_MIRROR=f"{server.pytorch} {server.pypi}"))


def _one_variant(program: Program, server: IndexServer) -> Done:
    return plan(program, "--mirror", f"{server.pytorch}/cu126", "--mirror", server.pypi)


def _pip_variables(program: Program, server: IndexServer) -> Done:
    return plan(program.with_(PIP_INDEX_URL=server.pypi, PIP_EXTRA_INDEX_URL=server.pytorch))


def _pip_file(program: Program, server: IndexServer) -> Done:
    file = program.home / "pip.conf"
    file.write_text(
        f"[global]\nindex-url = {server.pypi}\nextra-index-url =\n    {server.pytorch}\n", encoding="utf-8"
    )
    return plan(program.with_(PIP_CONFIG_FILE=str(file)))


def _pip_file_of_the_user(program: Program, server: IndexServer) -> Done:
    file = program.home / ".config" / "pip" / "pip.conf"
    file.parent.mkdir(parents=True)
    file.write_text(
        f"[global]\nindex-url = {server.pypi}\nextra-index-url = {server.pytorch}\n", encoding="utf-8"
    )
    return plan(program.with_(PIP_CONFIG_FILE=None))


def _uv_variables(program: Program, server: IndexServer) -> Done:
    return plan(program.with_(UV_DEFAULT_INDEX=server.pypi, UV_INDEX=f"pytorch={server.pytorch}"))


def _uv_file(program: Program, server: IndexServer) -> Done:
    file = program.home / "uv.toml"
    file.write_text(
        f'[[index]]\nurl = "{server.pytorch}"\n[[index]]\nurl = "{server.pypi}"\ndefault = true\n',
        encoding="utf-8",
    )
    return plan(program.with_(UV_NO_CONFIG=None, UV_CONFIG_FILE=str(file)))


def _find_links(program: Program, server: IndexServer) -> Done:
    places = [f"{server.pytorch}/cu126/{project}/" for project in ("torch", "torchvision")]
    return plan(program.with_(PIP_INDEX_URL=server.pypi, PIP_FIND_LINKS=" ".join(places)))


WAYS = (
    _options, _variables_of_gpuenv, _one_variant, _pip_variables, _pip_file, _pip_file_of_the_user,
    _uv_variables, _uv_file, _find_links,
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__[1:])
def test_every_way_to_name_an_index_is_honoured(
    program: Program, server: IndexServer, way: Callable[[Program, IndexServer], Done]
) -> None:
    done = way(program, server)
    assert done.torch == EXPECTED
    assert {package["url"].split("/whl/")[0] for package in done.data["packages"]} == {server.url}


@pytest.mark.parametrize("fault", ["500", "reset", "garbage", "404"])
def test_one_index_that_is_down_does_not_stop_a_plan_that_another_can_serve(
    program: Program, server: IndexServer, mirrors: tuple[str, ...], fault: Fault
) -> None:
    with server.failing(fault, "/whl"):
        done = plan(program, *mirrors)
    assert done.torch == "2.10.0"  # the newest of PyPI's own builds that this driver runs
    assert done.data["variant"] == "cu128"
    if fault != "404":
        assert any(server.pytorch in warning["message"] for warning in done.envelope["warnings"])


@pytest.mark.slow
def test_an_index_that_refuses_connections_does_not_stop_a_plan(
    program: Program, server: IndexServer
) -> None:
    dead = f"{dead_url()}/whl"
    done = plan(program, "--mirror", dead, "--mirror", server.pytorch, "--mirror", server.pypi)
    assert done.torch == EXPECTED
    assert any(dead in warning["message"] for warning in done.envelope["warnings"])
    argv = " ".join(word for step in done.data["steps"] for word in step["argv"])
    assert dead not in argv


@pytest.mark.slow
def test_a_dead_mirror_of_pypi_is_not_handed_to_the_installer(program: Program, server: IndexServer) -> None:
    dead = f"{dead_url()}/simple"
    done = plan(program, "--mirror", dead, "--mirror", server.pytorch, "--mirror", server.pypi)
    assert done.torch == EXPECTED
    argv = " ".join(word for step in done.data["steps"] for word in step["argv"])
    assert dead not in argv
    assert server.pypi in argv


@pytest.mark.slow
def test_an_index_that_hangs_costs_seconds(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    with server.failing("hang", "/whl"):
        done = program.run("plan", "--json", *H100, *mirrors, timeout_s=30)
    assert done.torch == "2.10.0"


@pytest.mark.slow
def test_a_slow_index_is_waited_for(program: Program, server: IndexServer, mirrors: tuple[str, ...]) -> None:
    with server.failing("slow", "/whl/torch"):
        assert plan(program, *mirrors).torch == EXPECTED


@pytest.mark.parametrize("fault", ["500", "reset", "garbage"])
def test_where_no_index_can_be_read_it_is_said_which_and_why(
    program: Program, server: IndexServer, mirrors: tuple[str, ...], fault: Fault
) -> None:
    with server.failing(fault, "/"):
        done = plan(program, *mirrors)
    assert done.status == 4
    message = json.dumps(done.error)
    assert server.pypi in message
    assert server.pytorch in message


@pytest.mark.parametrize(
    ("wheel", "told"), [("", ""), ("torch-2.1.0+cu121-cp27-cp27m-linux_x86_64.whl", "Python")]
)
def test_a_wheelhouse_is_no_index_that_could_be_read(
    program: Program, server: IndexServer, mirrors: tuple[str, ...], tmp_path: Path, wheel: str, told: str
) -> None:
    """What its builds lack is said as well, but it is the network that fails."""
    if wheel:
        (tmp_path / wheel).touch()
    with server.failing("reset", "/"):
        done = plan(program, *mirrors, "--find-links", tmp_path)
    assert (done.status, done.error["code"]) == (4, "no-index")
    assert told in json.dumps(done.error["because"][2:])


@pytest.mark.slow
def test_a_plan_survives_indexes_that_went_down_if_it_is_made_offline(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    assert plan(program, *mirrors).torch == EXPECTED
    server.forget()
    done = plan(program, "--offline", *mirrors)
    assert done.torch == EXPECTED
    assert not server.asked
    dead = dead_url()
    elsewhere = plan(program, "--offline", "--mirror", f"{dead}/whl", "--mirror", f"{dead}/simple")
    assert elsewhere.torch == EXPECTED


def test_offline_without_a_cache_is_decided_from_what_ships_with_gpuenv(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    done = plan(program, "--offline", *mirrors)
    assert done.torch == EXPECTED
    assert not server.asked
    assert done.package("torch")["evidence"] == "assumed"
    assert done.envelope["warnings"]


def test_passwords_in_addresses_are_never_shown(program: Program, server: IndexServer) -> None:
    secret = server.pypi.replace("http://", "http://user:s3cret@")
    hidden = program.with_(
        PIP_INDEX_URL=secret, PIP_EXTRA_INDEX_URL=f"http://u:s3cret@{dead_url()[7:]}/simple"
    )
    for options in ((), ("-v",), ("--json",)):
        done = hidden.run("plan", *H100, *options)
        assert "s3cret" not in done.err
        if not options:
            assert "s3cret" not in done.out


@pytest.mark.slow
def test_configuration_that_can_not_be_read_is_a_warning(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    file = program.home / "pip.conf"
    file.write_text("not [ an ini file", encoding="utf-8")
    done = plan(program.with_(PIP_CONFIG_FILE=str(file)), *mirrors)
    assert done.torch == EXPECTED
    assert any(str(file) in warning["message"] for warning in done.envelope["warnings"])


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["a file", "garbage", "read-only"])
def test_a_cache_that_can_not_be_used_is_done_without(
    program: Program, server: IndexServer, mirrors: tuple[str, ...], damage: str
) -> None:
    cache = program.root / "cache"
    if damage == "a file":
        cache.rmdir()
        cache.write_text("", encoding="utf-8")
    elif damage == "read-only":
        cache.chmod(0o500)
    else:
        plan(program, *mirrors)
        for entry in cache.rglob("*"):
            if entry.is_file():
                entry.write_bytes(b"\0garbage" * 100)
        server.forget()
    done = plan(program, *mirrors)
    assert done.torch == EXPECTED
    assert set(pages(server.count(status=200))) == set(PAGES)
