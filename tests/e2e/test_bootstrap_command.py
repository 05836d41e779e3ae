"""`gpuenv bootstrap`, and `create --from lab.toml`."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from base64 import b64decode
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from conda_mirror import serve_mirror, with_mirror
from conda_packages import RUNNING, CondaPackage
from index_server import IndexServer
from installed_wheels import write_wheels
from running import Done, Program
from tiny_wheels import tiny_torch, tiny_wheel

from gpuenv import __version__

TORCH = "2.14.1"
VICIOUS = "/srv/a'b; rm -rf $HOME `id` \\"
needs_sh = pytest.mark.skipif(shutil.which("dash") is None, reason="dash was not found")


def commands(script: str, home: Path) -> list[str]:
    """What the script would run, as it says itself."""
    file = home / "boot.sh"
    file.write_text(script, encoding="utf-8")
    done = subprocess.run(
        [str(shutil.which("dash")), str(file), "--dry-run"],
        capture_output=True, encoding="utf-8", check=True, env={"PATH": os.defpath, "HOME": str(home)},
    )  # fmt: skip
    message = "would run, unless it is there and works: "
    return [line.removeprefix(message) for line in done.stdout.splitlines() if line.startswith(message)]


def held(script: str, name: str) -> str:
    """A file that the script holds."""
    start = f"    write \"$place/files\"/{name} <<'END_OF_FILE'\n"
    assert start in script
    return script.partition(start)[2].partition("END_OF_FILE\n")[0]


@needs_sh
def test_the_script_runs_create_with_the_options_given(program: Program) -> None:
    (program.root / "work" / "r.txt").write_text("numpy<2  # for old code\n", encoding="utf-8")
    given = ("torch==2.14.*", "--python", ">=3.10,<3.13", "--cuda", "12.6", "--manager", "uv")
    more = ("-r", "r.txt", "--mirror", "nju", "--mirror", "tuna", "--device", "1", "--find-links", VICIOUS)
    done = program.run("bootstrap", *given, *more, "--name", "paper", "--no-verify", "--offline")
    assert done.status == 0, done.err
    assert [shlex.split(line) for line in commands(done.out, program.home)] == [
        [
            "gpuenv", "create", "paper", "torch==2.14.*", "numpy<2", "--python", ">=3.10,<3.13",
            "--cuda", "12.6", "--manager", "uv", "--mirror", "nju", "--mirror", "tuna",
            "--find-links", VICIOUS, "--device", "1", "--offline", "--no-verify", "--yes",
        ]
    ]  # fmt: skip


@pytest.mark.slow
def test_where_a_requirements_file_says_files_come_from_is_told(program: Program) -> None:
    (program.root / "work" / "r.txt").write_text("-i https://example.com/simple\nnumpy<2\n", encoding="utf-8")
    done = program.run("bootstrap", "-r", "r.txt", "--offline", "--json")
    assert "requirements-file" in [item["code"] for item in done.envelope["warnings"]]
    assert "numpy<2" in done.data["script"]


@pytest.mark.slow
def test_it_is_written_so_that_it_can_be_run(program: Program) -> None:
    printed = program.run("bootstrap", "--offline")
    file = program.root / "work" / "boot.sh"
    written = program.run("bootstrap", "--offline", "-o", file)
    assert (written.status, written.out) == (0, "")
    assert written.err.splitlines()[-1] == f"wrote {file}"
    assert file.read_text(encoding="utf-8") == printed.out
    assert os.access(file, os.X_OK)
    requested = program.run("bootstrap", "--offline", "--json")
    assert requested.data == {"script": printed.out, "environments": ["torch"]}
    assert [item["code"] for item in requested.envelope["warnings"]] == ["no-micromamba"]


@pytest.fixture(scope="module")
def needs(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Let the copy of PyPI have what gpuenv needs, as it is installed here; return its address."""
    for wheel in write_wheels(tmp_path_factory.mktemp("needs")):
        if not wheel.name.startswith("gpuenv-"):
            server.publish(wheel, "pypi")
    return server.pypi


def carried(script: str) -> bytes:
    """The gpuenv that a script holds."""
    start = "    cat <<'END_OF_GPUENV'\n"
    return b64decode(script.partition(start)[2].partition("END_OF_GPUENV")[0])


def needed(script: str) -> dict[str, str]:
    """The hashes of the wheels that a script takes, by name."""
    rows = script.partition("    cat <<'END_OF_WHEELS'\n")[2].partition("END_OF_WHEELS")[0].splitlines()
    return {name: digest for digest, name, *_ in (row.split(" ") for row in rows)}


@pytest.mark.slow
def test_it_carries_gpuenv_itself_the_same_bytes_each_time(program: Program) -> None:
    first, again = (program.run("bootstrap", "--offline").out for _ in range(2))
    assert first == again
    with ZipFile(BytesIO(carried(first))) as wheel:
        names = wheel.namelist()
        assert wheel.testzip() is None
        assert f"Version: {__version__}\n" in wheel.read(f"gpuenv-{__version__}.dist-info/METADATA").decode()
    assert {"gpuenv/__init__.py", "gpuenv/matrices/data/torch.json"} <= set(names)
    assert f"gpuenv_sha256={sha256(carried(first)).hexdigest()}\n" in first


def test_offline_what_it_needs_is_known_by_hash_for_every_python(program: Program) -> None:
    wheels = needed(program.run("bootstrap", "--offline").out)
    assert any(name.startswith("uv-") and "aarch64" in name for name in wheels)
    assert {"cp310", "cp314"} <= {part for name in wheels for part in name.split("-")}


@pytest.mark.slow
def test_what_an_index_has_of_its_own_is_locked_from_there(program: Program, needs: str) -> None:
    done = program.run("bootstrap", "--mirror", needs)
    assert done.status == 0, done.err
    wheels = needed(done.out)
    assert any(name.startswith("uv-") for name in wheels)
    assert not any(name.startswith("gpuenv-") for name in wheels)
    assert f"linux-64) echo {RUNNING} ;;" in done.out or f"echo '{RUNNING}" in done.out


@pytest.mark.slow
def test_an_index_that_lacks_what_gpuenv_needs_is_refused(program: Program, server: IndexServer) -> None:
    """It would fail on each machine: nothing is written."""
    file = program.root / "work" / "boot.sh"
    requested = ("bootstrap", "--mirror", f"{server.url}/empty", "-o", file, "--json")
    done = program.run(*requested)
    assert (done.status, done.error["code"]) == (3, "gpuenv-needs")
    assert "or put the files next to the script: -o DIR/" in [item["text"] for item in done.error["fixes"]]
    assert not file.exists()


@pytest.mark.slow
def test_an_index_that_can_not_be_read_is_no_index(program: Program) -> None:
    for words in ((), ("--mirror", "http://127.0.0.1:1/simple")):
        done = program.run("bootstrap", *words, "--json")
        assert (done.status, done.error["code"]) == (4, "index-unreachable")
        assert any("--offline" in item["text"] for item in done.error["fixes"])
    assert program.run("bootstrap", "--mirror", "http://127.0.0.1:1/simple", "--offline").status == 0


@pytest.mark.slow
def test_a_gpuenv_that_is_not_this_one_is_not_taken_from_anywhere(program: Program, tmp_path: Path) -> None:
    done = program.run("bootstrap", "--gpuenv", "99", "--offline", "--json")
    assert (done.status, done.error["code"]) == (2, "another-gpuenv")
    assert program.run("bootstrap", "--gpuenv", __version__, "--offline").status == 0
    lab = tmp_path / "lab.toml"
    lab.write_text('[gpuenv]\nwheel = "gpuenv-99-py3-none-any.whl"\n[environments.one]\n', encoding="utf-8")
    gone = program.run("bootstrap", "--from", lab, "--offline", "--json")
    assert (gone.status, gone.error["code"]) == (2, "bad-wheel")
    own = program.run("bootstrap", "--offline").out
    with ZipFile(BytesIO(carried(own))) as archive:
        metadata = archive.read(f"gpuenv-{__version__}.dist-info/METADATA").decode()
    requires = re.findall(r"^Requires-Dist: ((?!.*extra ==).*)$", metadata, re.MULTILINE)
    wheel = tiny_wheel(tmp_path, "gpuenv", "99", requires=tuple(requires), files={"gpuenv/__init__.py": ""})
    named = program.run("bootstrap", "--from", lab, "--offline")
    assert named.status == 0, named.err
    assert carried(named.out) == wheel.read_bytes()


@pytest.mark.slow
def test_the_newest_micromamba_that_tar_unpacks_is_in_the_script(program: Program, needs: str) -> None:
    def package(version: str, subdir: str = "linux-64", ending: str = ".tar.bz2") -> CondaPackage:
        return CondaPackage("micromamba", version, "0", subdir=subdir, ending=ending)

    newest = package("2.10.0")
    packages = (package("2.9.1"), newest, package("2.11.0", ending=".conda"), package("1.5", "linux-aarch64"))
    with serve_mirror({"conda-forge": packages}) as site:
        done = with_mirror(program, site).run(
            "bootstrap", "--mirror", "lab", "--mirror", needs, "--python", "3.9"
        )
        url = site.url
    assert (done.status, done.err) == (0, "")
    assert f"linux-64) echo 'micromamba-2.10.0-0.tar.bz2 {newest.entry['sha256']}'" in done.out
    assert "linux-aarch64) echo 'micromamba-1.5-0.tar.bz2 " in done.out
    assert f'each_channel() {{ "$@" {url}/anaconda/cloud/conda-forge || "$@" https://' in done.out
    assert "asked_pythons=3.9\n" in done.out
    assert "wanted_pythons='3.9 3." in done.out
    assert f'root = "{url}/anaconda"' in held(done.out, "config.toml")


def test_a_machine_can_not_be_described_unless_it_is_decided_here(program: Program) -> None:
    requested = ("bootstrap", "torch", "--driver", "570.133.07", "--gpu", "8.6", "--offline")
    assert program.run(*requested).status == 2
    assert program.run(*requested, "--json").error["fixes"][0]["text"] == "decide now for that machine: --pin"


@pytest.fixture
def torch(server: IndexServer, tmp_path: Path) -> str:
    server.publish(tiny_torch(tmp_path / "torch", f"{TORCH}+cpu"), "pytorch", "cpu")
    return TORCH


@pytest.mark.slow
@pytest.mark.usefixtures("needs")
def test_pinned_it_holds_the_lock_of_a_plan(
    program: Program, mirrors: tuple[str, ...], server: IndexServer, torch: str
) -> None:
    requested = (f"torch=={torch}", "--cuda", "cpu", "--python", RUNNING, *mirrors)
    done = program.run("bootstrap", "--pin", *requested)
    assert done.status == 0, done.err
    lock = program.run("plan", "--format", "pylock.toml", *requested)
    assert held(done.out, "1.pylock.toml") == lock.out
    assert '1) "$@" torch --from-lock "$place/files"/1.pylock.toml --python ' in done.out
    assert f"asked_pythons={RUNNING}\n" in done.out
    assert program.run("plan", "--format", "bootstrap", *requested).out == done.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("torch>>2",), "bad-requirement"),
        (("torch\nrm",), "bad-requirement"),
        (("--python", "three"), "bad-python"),
        (("--cuda", "12.x"), "bad-cuda"),
        (("--mirror", "tunaa"), "unknown-mirror"),
        (("--mirror", "https://x.example.com/\x1b"), "unprintable"),
        (("--name", "../x"), "bad-name"),
        (("--gpuenv", "new"), "bad-version"),
        (("-r", "gone.txt"), "bad-requirements-file"),
        (("-f", "gone.yml"), "bad-file"),
        (("--from", "gone.toml"), "bad-lab-file"),
    ],
)
def test_what_would_fail_on_each_machine_fails_here(
    program: Program, words: tuple[str, ...], code: str
) -> None:
    done = program.run("bootstrap", *words, "--offline", "--json")
    assert (done.status, done.error["code"]) == (2, code)


@pytest.mark.slow
def test_the_script_holds_no_password_and_says_where_it_looks_for_them(program: Program) -> None:
    mirror = ("--mirror", "https://me:secret@x.example.com/simple")
    links = ("--find-links", "https://y.example.com/t/tk-secret-01/wheels?sig=secret")
    done = program.run("bootstrap", *mirror, *links, "--offline")
    assert done.status == 0, done.err
    assert "secret" not in done.out + done.err
    assert "guarded='x.example.com y.example.com'" in done.out
    assert "--mirror https://x.example.com/simple --find-links https://y.example.com/wheels" in done.out
    assert (
        "warning: the script contains no passwords: where it runs, put the one for x.example.com" in done.err
    )
    assert "warning: the script contains no tokens: files on y.example.com that need one" in done.err
    assert "contains no" not in program.run("bootstrap", "--offline").err


LAB = f"""
mirrors = ["lab"]
python = "{RUNNING}"
cuda = "cpu"
verify = false

[gpuenv]
version = ">=0.1"
launcher = true

[environments.paper]
requirements = ["torch=={TORCH}"]

[environments.course]
environment_file = "course.yml"
find_links = ["wheels"]

[environments.exact]
lock = "pylock.toml"

[[mirror]]
name = "lab"
"""


@pytest.fixture
def lab(program: Program, server: IndexServer, torch: str) -> Path:
    folder = program.root / "lab"
    folder.mkdir()
    own = (
        f'pypi = {{simple = "{server.pypi}"}}\ntorch = {{address = "{server.pytorch}", layout = "pep503"}}\n'
    )
    (folder / "lab.toml").write_text(LAB + own, encoding="utf-8")
    (folder / "course.yml").write_text(f"dependencies:\n  - pytorch={torch}\n", encoding="utf-8")
    (folder / "wheels").mkdir()
    requested = (f"torch=={torch}", "--cuda", "cpu", "--python", RUNNING, "--mirror", server.pytorch)
    locked = program.run("plan", *requested, "--mirror", server.pypi, "--format", "pylock.toml")
    assert locked.status == 0, locked.err
    (folder / "pylock.toml").write_text(locked.out, encoding="utf-8")
    return folder / "lab.toml"


@pytest.mark.slow
@needs_sh
def test_a_labs_script_has_all_its_environments_and_what_they_need(program: Program, lab: Path) -> None:
    done = program.run("bootstrap", "--from", lab, "--offline")
    assert done.status == 0, done.err
    where, options = (
        f"{program.home}/.local/share/gpuenv/bootstrap/files",
        f"--python {RUNNING} --cuda cpu --mirror lab",
    )
    wheels = f"--find-links {program.home}/wheels"
    assert commands(done.out, program.home) == [
        f"gpuenv create paper torch=={TORCH} {options} --offline --no-verify --yes",
        f"gpuenv create course -f {where}/2.environment.yml {options} {wheels} --offline --no-verify --yes",
        f"gpuenv create exact --from-lock {where}/3.pylock.toml {options} --offline --no-verify --yes",
    ]
    assert held(done.out, "2.environment.yml") == (lab.parent / "course.yml").read_text(encoding="utf-8")
    assert held(done.out, "3.pylock.toml") == (lab.parent / "pylock.toml").read_text(encoding="utf-8")
    assert 'name = "lab"' in held(done.out, "config.toml")
    assert f"wanted_gpuenv='gpuenv {__version__}'\n" in done.out
    assert "launcher=yes\n" in done.out
    item = program.run(
        "bootstrap", "--from", lab, "--name", "paper", "torch", "--offline", "--python", "3.10"
    )
    assert commands(item.out, program.home) == [
        "gpuenv create paper torch --python 3.10 --cuda cpu --mirror lab --offline --no-verify --yes"
    ]


def create(program: Program, lab: Path, *words: str) -> Done:
    return program.run("create", "--from", lab, "--yes", *words)


@pytest.mark.slow
def test_a_labs_environments_are_made_here_too(program: Program, lab: Path) -> None:
    """All that are not there yet, with what the file says and the lab's own mirrors."""
    item = create(program, lab, "exact", "--json")
    assert item.status == 0, item.out
    assert [package["version"] for package in item.data["packages"]] == [f"{TORCH}+cpu"]
    assert item.data["verify"] is None
    done = create(program, lab)
    assert done.status == 0, done.err
    assert "`exact` already exists\n" in done.err
    made = program.run("list", "--json").data["environments"]
    assert [(row["name"], row["torch"], row["python"]) for row in made] == [
        (name, f"{TORCH}+cpu", RUNNING) for name in ("course", "exact", "paper")
    ]
    taken = create(program, lab, "paper", "--json")
    assert (taken.status, taken.error["code"]) == (2, "environment-exists")


@pytest.mark.slow
def test_what_an_interrupted_create_left_of_a_lab_is_verified(program: Program, lab: Path) -> None:
    """Also where no environment is named; what its file does not want verified stays as it is."""
    text = lab.read_text(encoding="utf-8").replace("verify = false", "verify = true")
    exact = "[environments.exact]\n"
    assert exact in text
    lab.write_text(text.replace(exact, f"{exact}verify = false\n"), encoding="utf-8")
    assert create(program, lab, "--no-verify").status == 0
    done = create(program, lab)
    assert done.status == 0, done.err
    assert "`paper` is installed but not verified yet\n" in done.err
    assert "`exact` already exists\n" in done.err
    rows = program.run("list", "--json").data["environments"]
    verified = {row["name"]: row["verified"] for row in rows}
    assert (verified["paper"], verified["exact"]) == (True, None)
    again = create(program, lab)
    assert "`paper` already exists\n" in again.err


@pytest.mark.slow
def test_what_is_typed_goes_before_what_the_lab_says(program: Program, lab: Path) -> None:
    planned = create(program, lab, "exact", f"torch=={TORCH}", "--dry-run", "--json")
    assert planned.status == 0, planned.out
    assert not any("the lock names" in reason["text"] for reason in planned.data["why"])
    refused = create(program, lab, "paper", "torch==9", "--json")
    assert (refused.status, refused.error["code"]) != (0, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code"),
    [(("papr",), "unknown-environment"), ((), "usage"), (("paper", "--from-lock", "x"), "usage")],
)
def test_a_labs_environment_is_named_rightly(
    program: Program, lab: Path, words: tuple[str, ...], code: str
) -> None:
    done = create(program, lab, *words, "--json")
    assert (done.status, done.error["code"]) == (2, code)


def test_create_without_a_name_needs_a_lab(program: Program) -> None:
    assert program.run("create", "--json").error["code"] == "usage"
