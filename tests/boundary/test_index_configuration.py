"""The user's configuration: what pip and uv read, in the order in which it counts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gpuenv.indexes.configuration.read import read_configuration
from gpuenv.model.index import IndexConfiguration


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def configuration(
    base: Path, environ: dict[str, str] | None = None, platform: str = "linux", **options: Any
) -> IndexConfiguration:
    return read_configuration(
        environ or {},
        home=base / "home",
        cwd=base,
        root=base,
        prefix=options.get("prefix", base / "env"),
        platform=platform,
    )


def urls(configuration: IndexConfiguration) -> tuple[str | None, list[str], list[str]]:
    return (
        configuration.index_url.url if configuration.index_url else None,
        [source.url for source in configuration.extra_index_urls],
        [source.url for source in configuration.find_links],
    )


def test_without_any_configuration_nothing_is_named(tmp_path: Path) -> None:
    assert configuration(tmp_path) == IndexConfiguration(None, (), ())


def test_pip_files_count_more_the_nearer_they_are(tmp_path: Path) -> None:
    places = [
        "etc/xdg/pip/pip.conf",
        "etc/pip.conf",
        "home/.pip/pip.conf",
        "home/.config/pip/pip.conf",
        "env/pip.conf",
    ]
    for number, location in enumerate(places):
        write(tmp_path / location, f"[global]\nindex-url = https://example.com/{number}\nextra{number} = 1\n")
        index_configuration = configuration(tmp_path)
        assert index_configuration.index_url is not None
        assert (index_configuration.index_url.url, index_configuration.index_url.origin) == (
            f"https://example.com/{number}",
            str(tmp_path / location),
        )


def test_the_install_section_counts_before_the_global_one_of_a_nearer_file(tmp_path: Path) -> None:
    write(tmp_path / "etc/pip.conf", "[install]\nindex-url = https://example.com/install\n")
    write(tmp_path / "env/pip.conf", "[global]\nindex-url = https://example.com/global\n")
    assert urls(configuration(tmp_path))[0] == "https://example.com/install"


def test_the_active_environment_is_the_site(tmp_path: Path) -> None:
    write(tmp_path / "active/pip.conf", "[global]\nno-index = yes\n")
    assert configuration(tmp_path, {"VIRTUAL_ENV": str(tmp_path / "active")}).no_index


def test_a_named_pip_file_takes_the_place_of_the_users(tmp_path: Path) -> None:
    named = write(tmp_path / "named.conf", "[global]\nfind-links = /named\n")
    write(tmp_path / "home/.config/pip/pip.conf", "[global]\nindex-url = https://example.com/user\n")
    assert urls(configuration(tmp_path, {"PIP_CONFIG_FILE": str(named)})) == (None, [], [str(Path("/named"))])
    assert (
        urls(configuration(tmp_path, {"PIP_CONFIG_FILE": str(tmp_path / "none")}))[0]
        == "https://example.com/user"
    )


def test_the_null_device_turns_pips_files_off_but_not_its_variables(tmp_path: Path) -> None:
    write(tmp_path / "etc/pip.conf", "[global]\nindex-url = https://example.com/file\n")
    environ = {"PIP_CONFIG_FILE": os.devnull, "PIP_EXTRA_INDEX_URL": "https://example.com/x"}
    assert urls(configuration(tmp_path, environ)) == (None, ["https://example.com/x"], [])


def test_pips_variables_take_the_place_of_its_files_options(tmp_path: Path) -> None:
    write(
        tmp_path / "etc/pip.conf",
        "[global]\nextra-index-url = https://example.com/file\nfind-links = /file\n",
    )
    environ = {"PIP_EXTRA_INDEX_URL": " https://example.com/a\n https://example.com/b ", "PIP_FIND_LINKS": ""}
    assert urls(configuration(tmp_path, environ)) == (
        None,
        ["https://example.com/a", "https://example.com/b"],
        [str(Path("/file"))],
    )


def test_the_first_default_index_that_is_set_counts(tmp_path: Path) -> None:
    write(tmp_path / "etc/pip.conf", "[global]\nindex-url = https://example.com/pip-file\n")
    steps = ["pip-file"]
    environ: dict[str, str] = {}
    assert urls(configuration(tmp_path))[0] == "https://example.com/pip-file"
    write(tmp_path / "home/.config/uv/uv.toml", 'index-url = "https://example.com/uv-file"\n')
    assert urls(configuration(tmp_path))[0] == "https://example.com/uv-file"
    for variable in ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"):
        environ[variable] = f"https://example.com/{variable}"
        assert urls(configuration(tmp_path, environ))[0] == environ[variable]
        steps.append(variable)


def test_extra_indexes_and_wheelhouses_of_both_tools_count_each_once(tmp_path: Path) -> None:
    write(
        tmp_path / "etc/pip.conf", "[global]\nextra-index-url = https://example.com/p https://example.com/u\n"
    )
    write(
        tmp_path / "etc/uv/uv.toml", 'extra-index-url = ["https://example.com/t"]\nfind-links = ["wheels"]\n'
    )
    environ = {
        "UV_INDEX": "inner=https://example.com/u https://example.com/v",
        "UV_EXTRA_INDEX_URL": "https://example.com/w",
        "UV_FIND_LINKS": "/one,https://example.com/two/",
    }
    index, extra, links = urls(configuration(tmp_path, environ))
    assert index is None
    assert extra == [f"https://example.com/{name}" for name in "uvwtp"]
    assert links == [str(Path("/one")), "https://example.com/two/", str(tmp_path / "etc/uv/wheels")]
    sources = configuration(tmp_path, environ).extra_index_urls
    assert (sources[0].name, sources[0].origin) == ("inner", "UV_INDEX")
    assert [source.kind for source in configuration(tmp_path, environ).find_links] == [
        "directory",
        "flat",
        "directory",
    ]


def test_uvs_user_file_counts_before_the_systems(tmp_path: Path) -> None:
    write(
        tmp_path / "etc/uv/uv.toml",
        'index-url = "https://example.com/system"\nextra-index-url = ["https://example.com/s"]\n',
    )
    write(
        tmp_path / "xdg/uv/uv.toml",
        'index-url = "https://example.com/user"\nextra-index-url = ["https://example.com/u"]\n',
    )
    result = urls(configuration(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}))
    assert result == ("https://example.com/user", ["https://example.com/u", "https://example.com/s"], [])


def test_uvs_files_can_be_turned_off_or_replaced(tmp_path: Path) -> None:
    write(tmp_path / "etc/uv/uv.toml", 'index-url = "https://example.com/system"\n')
    other = write(tmp_path / "other.toml", 'index-url = "https://example.com/other"\n')
    assert urls(configuration(tmp_path, {"UV_NO_CONFIG": "1"}))[0] is None
    assert urls(configuration(tmp_path, {"UV_CONFIG_FILE": str(other)}))[0] == "https://example.com/other"


def test_no_index_leaves_the_wheelhouses_alone(tmp_path: Path) -> None:
    environ = {
        "PIP_NO_INDEX": "true",
        "PIP_INDEX_URL": "https://example.com",
        "PIP_EXTRA_INDEX_URL": "https://example.org",
        "PIP_FIND_LINKS": "/w",
    }
    index_configuration = configuration(tmp_path, environ)
    assert index_configuration.no_index
    assert urls(index_configuration) == (None, [], [str(Path("/w"))])


def test_paths_are_made_whole(tmp_path: Path) -> None:
    environ = {"PIP_FIND_LINKS": "~/wheels here file:///opt/x", "PIP_CERT": "~/ca.pem"}
    index_configuration = configuration(tmp_path, environ)
    assert urls(index_configuration)[2] == [
        str(tmp_path / "home/wheels"),
        str(tmp_path / "here"),
        str(Path("/opt/x")),
    ]
    assert index_configuration.access.ca_bundle == str(tmp_path / "home/ca.pem")


@pytest.mark.parametrize("place", ["etc/pip.conf", "home/.config/uv/uv.toml"])
@pytest.mark.parametrize("content", [b"[[[", b"\xff\xfe\x00", b"[global]\nx", b"[global]\nindex-url"])
def test_a_garbled_file_is_a_warning_and_stops_nothing(tmp_path: Path, place: str, content: bytes) -> None:
    write(tmp_path / place, "").write_bytes(content)
    index_configuration = configuration(tmp_path, {"PIP_INDEX_URL": "https://example.com/simple"})
    assert urls(index_configuration)[0] == "https://example.com/simple"
    assert len(index_configuration.warnings) == 1
    assert str(tmp_path / place) in index_configuration.warnings[0]


def test_a_directory_in_a_files_place_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "etc/pip.conf").mkdir(parents=True)
    assert len(configuration(tmp_path).warnings) == 1


def test_a_word_that_is_neither_yes_nor_no_is_a_warning(tmp_path: Path) -> None:
    index_configuration = configuration(tmp_path, {"PIP_NO_INDEX": "perhaps"})
    assert (index_configuration.no_index, len(index_configuration.warnings)) == (False, 1)


def test_credentials_are_kept_for_fetching(tmp_path: Path) -> None:
    assert (
        urls(configuration(tmp_path, {"PIP_INDEX_URL": "https://u:p@example.com/simple/"}))[0]
        == "https://u:p@example.com/simple"
    )


@pytest.mark.parametrize(
    ("platform", "place", "text"),
    [
        ("win32", "home/AppData/Roaming/pip/pip.ini", "[global]\nindex-url=https://example.com/x"),
        ("win32", "home/pip/pip.ini", "[global]\nindex-url=https://example.com/x"),
        ("win32", "ProgramData/pip/pip.ini", "[global]\nindex-url=https://example.com/x"),
        ("win32", "env/pip.ini", "[global]\nindex-url=https://example.com/x"),
        ("win32", "home/AppData/Roaming/uv/uv.toml", 'index-url="https://example.com/x"'),
        ("win32", "ProgramData/uv/uv.toml", 'index-url="https://example.com/x"'),
        (
            "darwin",
            "home/Library/Application Support/pip/pip.conf",
            "[global]\nindex-url=https://example.com/x",
        ),
        ("darwin", "home/.config/pip/pip.conf", "[global]\nindex-url=https://example.com/x"),
        ("darwin", "Library/Application Support/pip/pip.conf", "[global]\nindex-url=https://example.com/x"),
        ("darwin", "home/.config/uv/uv.toml", 'index-url="https://example.com/x"'),
    ],
)
def test_other_systems_have_other_places(tmp_path: Path, platform: str, place: str, text: str) -> None:
    write(tmp_path / place, text)
    assert urls(configuration(tmp_path, platform=platform))[0] == "https://example.com/x"


@pytest.mark.skipif(os.name == "nt", reason="has no /dev/zero")
@pytest.mark.parametrize("variable", ["PIP_CONFIG_FILE", "UV_CONFIG_FILE"])
def test_a_file_without_end_is_read_up_to_a_limit(tmp_path: Path, variable: str) -> None:
    read = configuration(tmp_path, {variable: "/dev/zero"})
    assert [warning for warning in read.warnings if "/dev/zero" in warning and "larger" in warning]


def test_a_large_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    write(tmp_path / "home/.config/uv/uv.toml", "# \n" * (2 << 20))
    assert [
        warning for warning in configuration(tmp_path).warnings if "uv.toml" in warning and "4 MB" in warning
    ]


def test_paths_in_pips_files_are_relative_to_the_file_and_never_to_the_current_folder(
    tmp_path: Path,
) -> None:
    write(tmp_path / "here" / "pip.conf", "[global]\nfind-links = wheels\ncert = ca.pem\n")
    read = configuration(tmp_path, {"PIP_CONFIG_FILE": str(tmp_path / "here" / "pip.conf")})
    assert [source.url for source in read.find_links] == [str(tmp_path / "here" / "wheels")]
    assert read.access.ca_bundle == str(tmp_path / "here" / "ca.pem")
