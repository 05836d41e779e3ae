"""The user's own mirrors, from gpuenv's configuration file."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from gpuenv.indexes.mirrors.load import configuration_file, load_mirrors
from gpuenv.model.errors import UsageError

LAB = """
[[mirror]]
name = "lab"
[mirror.pypi]
simple = "https://mirror.lab.example/simple"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def read(file: Path) -> tuple[str, ...]:
    return tuple(mirror.name for mirror in load_mirrors({"GPUENV_CONFIG": str(file)}).all)


def test_own_mirrors_come_first_and_stand_in_for_shipped_ones_of_their_name(file: Path) -> None:
    file.write_text(LAB + LAB.replace("lab", "nju"), encoding="utf-8")
    mirrors = load_mirrors({"GPUENV_CONFIG": str(file)})
    names = [mirror.name for mirror in mirrors.all]
    assert names[:2] == ["lab", "nju"]
    assert names.count("nju") == 1
    assert mirrors.own == {"lab", "nju"}
    pypi = mirrors.find("nju").pypi
    assert pypi
    assert pypi.simple == "https://mirror.nju.example/simple"


@pytest.mark.parametrize(
    "text", ["", "# nothing yet\n", "\ufeff" + LAB, LAB.replace("\n", "\r\n"), "x = 1\n"]
)
def test_files_as_editors_leave_them_are_read(file: Path, text: str) -> None:
    file.write_bytes(text.encode())
    assert "tuna" in read(file)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[[mirror", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b"mirror = 1\n", "not a list of tables"),
        (b"mirror = [1]\n", "mirror 1 (?): a mirror is not a table"),
        ((LAB + LAB).encode(), "`lab` is defined twice"),
        (LAB.replace("https://", "").encode(), "mirror 1 (lab): `pypi`: `simple`: "),
        (b"a = " + b"[" * 5000, "cannot be read"),
    ],
)
def test_a_garbled_file_is_named_with_what_is_wrong(file: Path, content: bytes, told: str) -> None:
    file.write_bytes(content)
    with pytest.raises(UsageError) as raised:
        read(file)
    assert str(file) in raised.value.message
    assert told in raised.value.message


def test_a_file_that_is_named_has_to_be_there_and_the_usual_one_need_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read(tmp_path / "absent.toml")
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    assert "tuna" in {mirror.name for mirror in load_mirrors(environ).all}


def test_an_entry_of_a_shipped_name_keeps_what_is_known_of_the_mirror(file: Path) -> None:
    file.write_text(LAB.replace("lab", "sjtu"), encoding="utf-8")
    mirrors = load_mirrors({"GPUENV_CONFIG": str(file)})
    for word in ("sjtu", "sjtug", "mirror.sjtu.example"):
        assert mirrors.find(word).missing_status == (403,)
        assert mirrors.find(word).torch is None


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ((("lab", "old"), ("den", "OLD")), "`old` means both `lab` and `den`"),
        ((("lab", "den"), ("den",)), "`den` means both `den` and `lab`"),
        ((("lab", "tuna"),), "`tuna` means both `tuna` and `lab`"),
        ((("lab", "auto"),), "`auto` is already a word of --mirror"),
        ((("auto",),), "`auto` is already a word of --mirror"),
    ],
)
def test_words_of_own_mirrors_that_mean_something_else_already_are_told(
    file: Path, entries: tuple[tuple[str, ...], ...], told: str
) -> None:
    texts = [
        f'[[mirror]]\nname = "{name}"\naliases = {list(aliases)}\n'
        '[mirror.pypi]\nsimple = "https://mirror.lab.example/simple"\n'
        for name, *aliases in entries
    ]
    file.write_text("\n".join(texts), encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        read(file)
    assert told in raised.value.message
    assert raised.value.fixes


def test_the_example_of_the_reference_is_read(file: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/en/reference/mirrors.md").read_text(encoding="utf-8")
    example, _, _ = page.partition("[[mirror]]")[2].partition("\nA mirror needs")
    file.write_text(f"[[mirror]]{example}", encoding="utf-8")
    lab = load_mirrors({"GPUENV_CONFIG": str(file)}).find("ours")
    assert lab.name == "lab"
    assert all((lab.pypi, lab.torch, lab.conda))


def test_an_own_alias_goes_before_a_shipped_one(file: Path) -> None:
    file.write_text(LAB.replace("[mirror.pypi]", 'aliases = ["thu", "thu"]\n[mirror.pypi]'), encoding="utf-8")
    mirrors = load_mirrors({"GPUENV_CONFIG": str(file)})
    assert mirrors.find("thu").name == "lab"
    assert mirrors.find("tsinghua").name == "tuna"


def test_the_home_directory_may_be_abbreviated(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(LAB, encoding="utf-8")
    environ = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "GPUENV_CONFIG": "~/own.toml"}
    assert load_mirrors(environ).file == tmp_path / "own.toml"
    assert load_mirrors(environ).find("lab").name == "lab"


@pytest.mark.parametrize(
    ("platform", "environ", "place"),
    [
        ("linux", {"HOME": "/home/ada"}, "/home/ada/.config"),
        ("linux", {"HOME": "/home/ada", "XDG_CONFIG_HOME": "/etc/ada"}, "/etc/ada"),
        ("linux", {"HOME": "/home/ada", "XDG_CONFIG_HOME": " "}, "/home/ada/.config"),
        ("darwin", {"HOME": "/Users/ada"}, "/Users/ada/Library/Application Support"),
        ("win32", {"USERPROFILE": "/ada"}, "/ada/AppData/Local"),
        ("win32", {"USERPROFILE": "/ada", "LOCALAPPDATA": "/ada/local"}, "/ada/local"),
    ],
)
def test_the_usual_file_is_found_from_the_variables_given(
    platform: str, environ: dict[str, str], place: str
) -> None:
    assert configuration_file(environ, platform) == Path(place) / "gpuenv" / "config.toml"


def test_the_usual_file_is_where_platformdirs_has_it() -> None:
    assert configuration_file(os.environ).parent == Path(
        platformdirs.user_config_dir("gpuenv", appauthor=False)
    )


def test_the_file_of_a_user_without_a_home_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    assert configuration_file({}, "linux").name == "config.toml"


def test_a_folder_in_its_place_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path)
