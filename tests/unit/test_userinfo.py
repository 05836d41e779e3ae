"""What is secret in an address is hidden wherever it stands, and nothing else is."""

from __future__ import annotations

import pytest

from gpuenv.process.output import Redacting
from gpuenv.secrets.conceal_arguments import conceal
from gpuenv.secrets.url_credentials import has_userinfo, redact_credentials, without_userinfo

SECRET = "https://ada:hunter2@host.example/simple"
PLAIN = "https://host.example/simple"


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        (SECRET, PLAIN),
        (f"mylib @ {SECRET}/mylib.whl", f"mylib @ {PLAIN}/mylib.whl"),
        ("https://token@host.example/simple", PLAIN),
        ("https://ada:p@ss@host.example/simple", PLAIN),
        ("git+ssh://git@host.example/x.git", "git+ssh://git@host.example/x.git"),
        ("git+ssh://git:hunter2@host.example/x.git", "git+ssh://git@host.example/x.git"),
        ("mylib@1.0 https://host.example/a@b", "mylib@1.0 https://host.example/a@b"),
        ("https://host.example:8080/a@b", "https://host.example:8080/a@b"),
        ("https://ada:hun/hunter2@host.example/simple", PLAIN),
        ("https://host.example/t/tk-hunter2/lab", "https://host.example/lab"),
        ("https://host.example/t/hunter2/lab/linux-64", "https://host.example/lab/linux-64"),
        ("https://host.example:8080/a/t/hunter2.~x/lab", "https://host.example:8080/a/lab"),
        (
            "https://discuss.example/t/cuda-error-out-of-memory/12345",
            "https://discuss.example/t/cuda-error-out-of-memory/12345",
        ),
        ("https://host.example/x.whl?sv=1&sig=hunter2&se=2", "https://host.example/x.whl?sv=1&se=2"),
        (
            "https://host.example/x.whl?sig=hunter2&token=hunter2#sha256=ab",
            "https://host.example/x.whl#sha256=ab",
        ),
        ("https://host.example/?X-Amz-Signature=hunter2", "https://host.example/"),
        ("https://host.example/x#access_token=hunter2&egg=x", "https://host.example/x#egg=x"),
    ],
)
def test_only_names_and_passwords_are_left_out(text: str, shared: str) -> None:
    assert without_userinfo(text) == shared
    assert has_userinfo(text) == (text != shared)
    assert "hunter2" not in redact_credentials(text)


@pytest.mark.parametrize("size", range(1, 60))
def test_an_address_that_is_cut_between_blocks_is_hidden(size: int) -> None:
    text = f"looking at {SECRET} and {PLAIN}: done\r50 %".encode()
    redacting = Redacting()
    blocks = [redacting.take(text[start : start + size]) for start in range(0, len(text), size)]
    assert b"".join((*blocks, redacting.rest())) == redact_credentials(text.decode()).encode()


def test_uv_is_given_a_name_and_variables_for_each_index_with_a_password() -> None:
    second = "https://bob:p%40ss@host.example/other"
    argv = (
        "/bin/uv",
        "pip",
        "install",
        "torch",
        "--default-index",
        SECRET,
        "--index",
        second,
        "--index",
        PLAIN,
    )
    hidden = conceal(argv, {})
    variables = dict(hidden.variables)
    names = [word.partition("=")[0] for word in hidden.argv if "=" in word]
    assert hidden.argv[-6:] == (
        "--default-index", f"{names[0]}={PLAIN}", "--index", f"{names[1]}=https://host.example/other",
        "--index", PLAIN,
    )  # fmt: skip
    assert [
        (variables[f"UV_INDEX_{name.upper()}_USERNAME"], variables[f"UV_INDEX_{name.upper()}_PASSWORD"])
        for name in names
    ] == [("ada", "hunter2"), ("bob", "p@ss")]


@pytest.mark.parametrize(
    "secret", ["https://x.example/t/tk-hunter2-0/simple", "https://x.example/?token=hunter2"]
)
def test_uv_is_given_what_is_secret_in_a_path_or_a_query_by_a_variable(secret: str) -> None:
    first = ("/bin/uv", "pip", "install", "torch", "--default-index", PLAIN)
    argv = (*first, "--index", secret, "--index", SECRET)
    hidden = conceal(argv, {})
    assert hidden.argv == first
    assert dict(hidden.variables) == {"UV_INDEX": f"{secret} {SECRET}"}


def test_the_links_of_uv_go_together_as_it_reads_one_variable_or_the_options() -> None:
    argv = ("/bin/uv", "pip", "install", "torch", "--find-links", "/opt/a,b", "--find-links", SECRET)
    hidden = conceal(argv, {})
    assert hidden.argv == ("/bin/uv", "pip", "install", "torch")
    assert dict(hidden.variables) == {"UV_FIND_LINKS": f"file:///opt/a%2Cb,{SECRET}"}


def test_pip_is_given_variables_beside_those_of_the_user() -> None:
    argv = ("/bin/python", "-I", "-m", "pip", "install", "--index-url", SECRET, "--extra-index-url", PLAIN,
            "--extra-index-url", SECRET)  # fmt: skip
    hidden = conceal(argv, {"PIP_EXTRA_INDEX_URL": "https://own.example/simple"})
    assert hidden.argv == (*argv[:5], "--extra-index-url", PLAIN)
    assert dict(hidden.variables) == {
        "PIP_INDEX_URL": SECRET,
        "PIP_EXTRA_INDEX_URL": f"https://own.example/simple {SECRET}",
    }


@pytest.mark.parametrize("start", [("/bin/uv", "pip"), ("/bin/python", "-m", "pip")])
def test_what_is_asked_for_by_an_address_with_a_password_goes_into_a_file(start: tuple[str, ...]) -> None:
    wanted = f"mylib @ {SECRET}/mylib-1.0-py3-none-any.whl"
    hidden = conceal((*start, "install", "torch", wanted), {})
    assert hidden.argv == (*start, "install", "torch")
    assert hidden.requirements == (wanted,)


def test_a_command_without_passwords_is_left_as_it_is() -> None:
    argv = ("/bin/uv", "pip", "install", "x @ git+ssh://git@host.example/x.git", "--index", PLAIN)
    assert conceal(argv, {}).argv == argv
    assert conceal(argv, {}).variables == ()


@pytest.mark.parametrize(
    "start", ["https://conda.example/", "http://localhost:8080/a/", "conda.example.com/"]
)
def test_the_token_of_a_channel_is_hidden(start: str) -> None:
    assert redact_credentials(f"{start}t/tk-0123456789/lab/linux-64") == f"{start}t/****/lab/linux-64"


@pytest.mark.parametrize(
    "text",
    [
        "https:/ada:hunter2@host.example/pylock.toml",
        "PRIVATE-TOKEN: hunter2",
        "{'Authorization': 'Basic hunter2'}",
        "authorization=Bearer hunter2",
        "UV_INDEX_INNER_PASSWORD=hunter2 uv pip install",
        "{'UV_INDEX_INNER_PASSWORD': 'hunter2', 'HOME': '/home/ada'}",
        '{"GITLAB_TOKEN": "hunter2"}',
    ],
)
def test_headers_variables_and_broken_addresses_are_hidden_too(text: str) -> None:
    assert "hunter2" not in redact_credentials(text)
    assert "****" in redact_credentials(text)
    assert redact_credentials(redact_credentials(text)) == redact_credentials(text)


def test_what_is_no_address_stays_as_it_is() -> None:
    forum = "https://discuss.example/t/cuda-error-out-of-memory/12345"
    for text in (forum, "UEsDBBQAAAAIAA/t/0123456789abcdef/AAA=", "sed 's|://[^/@ ]*@|://***@|g'"):
        assert redact_credentials(text) == text
