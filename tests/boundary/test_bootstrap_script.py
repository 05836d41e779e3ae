"""The bootstrap script under three shells, with a Python that only says what it is asked for."""

from __future__ import annotations

import os
import shutil
import signal
from hashlib import sha256
from pathlib import Path

import pytest
from sampling import every
from script_machine import HAS_DRIVER, SHELLS, ScriptMachine, make_machine
from scripts import NEEDED, carried, environment, needed, script
from waiting import wait_until

from gpuenv.bootstrap.model import HeldFile, MicromambaFile, ScriptPath

pytestmark = pytest.mark.skipif(
    os.name == "nt" or shutil.which("flock") is None, reason="the script is for Linux"
)
VICIOUS = 'a\'b; rm -rf $HOME `id` "$(id)" * \\'
PAPER = "create paper torch==2.14.* --yes"


@pytest.fixture(params=every(3, SHELLS))
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> ScriptMachine:
    if shutil.which(request.param.split()[0]) is None:
        pytest.skip(f"{request.param} was not found")
    return make_machine(tmp_path, request.param)


def test_a_first_run_makes_what_is_asked_for_and_a_second_leaves_it_alone(machine: ScriptMachine) -> None:
    status, out, err = machine.run(script())
    assert (status, out) == (0, f"paper: {machine.place}/gpuenv run paper -- python\n"), err
    assert machine.gpuenv() == [PAPER]
    venv = machine.place / "venv.new"
    assert f"-I -m venv {venv}" in machine.calls
    assert ["--require-hashes" in call for call in installs(machine)] == [True, False]
    assert machine.run(script())[::2] == (0, "`paper` is there and works\n")
    assert machine.gpuenv() == [PAPER, "verify paper --quiet"]


def test_words_reach_gpuenv_as_they_were_given(machine: ScriptMachine) -> None:
    held = HeldFile("1.environment.yml", "name: x\nEND_OF_FILE\n$HOME `id`\n")
    words = (VICIOUS, "-f", ScriptPath("files", held.name), "--find-links", ScriptPath("beside", "my wheels"))
    status, _, err = machine.run(script(environment("paper", *words, files=(held,))))
    assert status == 0, err
    file, beside = machine.place / "files" / held.name, machine.root / "given" / "my wheels"
    assert machine.gpuenv() == [f"create paper {VICIOUS} -f {file} --find-links {beside} --yes"]
    assert file.read_text() == held.text


def test_all_environments_are_tried_and_the_first_failure_is_the_status(machine: ScriptMachine) -> None:
    both = script(environment("paper"), environment("course"))
    machine.says("create-fails", "3")
    status, out, _ = machine.run(both)
    assert (status, out) == (3, "")
    assert machine.gpuenv() == ["create paper --yes", "create course --yes"]
    (machine.fake / "create-fails").unlink()
    assert machine.run(both, "course")[0] == 0
    assert machine.gpuenv()[2:] == ["create course --yes"]


def test_what_works_no_more_is_made_anew(machine: ScriptMachine) -> None:
    machine.run(script())
    machine.says("broken")
    assert machine.run(script())[0] == 0
    assert machine.gpuenv()[-1] == f"{PAPER} --force"


def test_what_is_asked_for_differently_is_made_anew(machine: ScriptMachine) -> None:
    machine.run(script())
    other = script(environment("paper", "torch==2.15.*"))
    assert machine.run(other)[0] == 0
    assert machine.gpuenv()[-1] == "create paper torch==2.15.* --yes --force"


def test_one_that_need_not_be_proven_is_left_alone_where_it_is(machine: ScriptMachine) -> None:
    unproven = script(environment("paper", "--no-verify", verified=False))
    machine.run(unproven)
    machine.says("broken")
    assert machine.run(unproven)[0] == 0
    assert machine.gpuenv() == ["create paper --no-verify --yes"]


@pytest.mark.slow
def test_one_that_took_the_place_of_the_scripts_is_not_touched_either(machine: ScriptMachine) -> None:
    machine.run(script())
    machine.made_by_hand("paper")
    assert machine.run(script(environment("paper", "torch")))[0] == 0
    assert machine.gpuenv() == [PAPER, "verify paper --quiet"]
    assert machine.run(script(), "--uninstall", "--yes")[0] == 0
    assert (machine.environments / "paper").exists()


@pytest.mark.slow
def test_one_that_was_begun_is_the_scripts(machine: ScriptMachine) -> None:
    """It was killed before it noted that it had made it anew."""
    machine.run(script())
    machine.says("create-fails", "6")
    assert machine.run(script(environment("paper", "torch")))[0] == 6
    machine.made_by_hand("paper")
    (machine.fake / "create-fails").unlink()
    assert machine.run(script())[0] == 0
    assert machine.gpuenv()[-1] == f"{PAPER} --force"


def test_an_environment_that_the_script_did_not_make_is_not_touched(machine: ScriptMachine) -> None:
    machine.made_by_hand("paper")
    assert machine.run(script())[2].splitlines()[-1] == "`paper` is there and works"
    machine.says("broken")
    status, _, err = machine.run(script())
    assert status == 6
    assert "gpuenv doctor paper" in err
    assert not any(call.startswith("create") for call in machine.gpuenv())
    assert machine.run(script(), "--uninstall", "--yes")[0] == 0
    assert (machine.environments / "paper").exists()


@pytest.mark.skipif(HAS_DRIVER, reason="there is a GPU")
def test_an_environment_for_a_gpu_is_not_replaced_where_there_is_none(machine: ScriptMachine) -> None:
    """A home is shared: the login node has no GPU."""
    machine.run(script())
    (machine.environments / "paper").write_text("cu126")
    machine.says("broken")
    status, _, err = machine.run(script())
    assert (status, err.splitlines()[-1]) == (6, "error: `paper` is for a GPU, and there is none here")
    assert machine.run(script(environment("paper", "torch")))[0] == 6  # asked for otherwise
    assert machine.gpuenv() == [PAPER, "verify paper --quiet"]


@pytest.mark.parametrize(
    ("printed", "status"),
    [("NewConnectionError: refused", 4), ("error sending request for url", 4), ("no space left", 5)],
)
def test_where_gpuenv_can_not_be_installed_it_says_why(
    machine: ScriptMachine, printed: str, status: int
) -> None:
    machine.says("pip-fails", f"{printed}\n")
    ended, _, err = machine.run(script())
    assert ended == status
    assert printed in err
    assert str(machine.place / "log") in err
    (machine.fake / "pip-fails").unlink()
    assert machine.run(script())[0] == 0


def test_indexes_are_tried_in_their_order_and_passwords_stay_out_of_the_log(machine: ScriptMachine) -> None:
    first, second = "https://me:secret@one.example.com/simple", "https://two.example.com/simple"
    machine.says("index-fails", "one.example.com")
    assert machine.run(script(indexes=(first, second)))[0] == 0
    requested = [call for call in machine.calls if "--index-url" in call]
    assert [first in call for call in requested] == [True, False]
    assert second in requested[1]
    assert "secret" not in (machine.place / "log").read_text()


def installs(machine: ScriptMachine) -> list[str]:
    """What pip was asked for: what gpuenv needs, then gpuenv itself."""
    return [call.partition(" install ")[2] for call in machine.calls if " install --no-deps" in call]


def test_wheels_beside_the_script_need_no_index(machine: ScriptMachine) -> None:
    wheel = machine.root / "given" / "wheels" / NEEDED.filename
    wheel.write_bytes(b"idna")
    assert machine.run(script(indexes=("https://one.example.com/simple",)))[0] == 0
    first, own = installs(machine)
    assert f"--no-index --find-links {machine.place}/scratch/wheels --require-hashes" in first
    assert f"--no-index {machine.place}/scratch/gpuenv-1.2.3-py3-none-any.whl" in own


def test_a_wheel_that_happens_to_lie_beside_the_script_is_not_used(machine: ScriptMachine) -> None:
    """Another file under the name of one that is needed, a gpuenv, a pip: none is as the script says."""
    hostile = [NEEDED.filename, "gpuenv-1.2.3-py3-none-any.whl", "pip-99-py3-none-any.whl"]
    for name in hostile:
        for folder in ("given", "given/wheels"):
            (machine.root / folder / name).write_bytes(b"hostile")
    status, _, err = machine.run(script(indexes=("https://one.example.com/simple",)))
    assert status == 0, err
    assert err.count("is not the file that this script was made with: it is passed over") == 2
    first, own = installs(machine)
    assert "--index-url https://one.example.com/simple" in first
    assert f"--no-index {machine.place}/scratch/gpuenv-1.2.3-py3-none-any.whl" in own
    assert not any("given" in call for call in machine.calls)


def test_what_it_installs_is_what_it_carries_and_what_has_the_hash(machine: ScriptMachine) -> None:
    other = needed("idna-3.11-py3-none-any.whl", b"later", ("2.7/linux-64",))
    looking = """#!/bin/sh
case "$*" in *' install --no-deps'*)
    for word in "$@"; do case $word in
        *.whl) cp "$word" "$FAKE/installed" ;;
        */requirements) cp "$word" "$FAKE/required" ;;
    esac; done ;;
esac
"""
    usual = (machine.bin / "python3").read_text(encoding="utf-8").removeprefix("#!/bin/sh\n")
    machine.program("python3", looking + usual)
    status, _, err = machine.run(script(gpuenv=carried(b"\0\xff gpuenv" * 9999), wheels=(NEEDED, other)))
    assert status == 0, err
    assert (machine.fake / "installed").read_bytes() == b"\0\xff gpuenv" * 9999
    digest = sha256(b"idna").hexdigest()
    assert (machine.fake / "required").read_text() == f"idna==3.10 --hash=sha256:{digest}\n"


def test_a_script_that_was_damaged_installs_nothing(machine: ScriptMachine) -> None:
    given = script(gpuenv=carried(b"gpuenv's own"))
    damaged = given.replace("Z3B1ZW52", "Z3B1ZW53")
    assert damaged != given
    status, _, err = machine.run(damaged)
    assert status == 5
    assert "the gpuenv in this script is damaged" in err
    assert installs(machine) == []


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o757])
def test_a_folder_that_others_may_write_is_refused(machine: ScriptMachine, mode: int) -> None:
    """What was made there before is not run, not even to look."""
    location = machine.root / "shared"
    assert machine.run(script(), GPUENV_HOME=str(location))[0] == 0
    calls = machine.calls
    location.chmod(mode)
    for words in ((), ("--dry-run",), ("--uninstall", "--yes")):
        status, _, err = machine.run(script(), *words, GPUENV_HOME=str(location))
        assert status == 2
        assert f"error: others may write in `{location}`" in err
        assert f"hint: chmod go-w {location}" in err
    assert machine.calls == calls
    location.chmod(0o755)
    data = machine.home / ".local/share/gpuenv"
    data.chmod(0o777)
    assert machine.run(script(), GPUENV_HOME=str(location))[0] == 2
    data.chmod(0o755)
    assert machine.run(script(), GPUENV_HOME=str(location))[0] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(machine: ScriptMachine) -> None:
    location = machine.root / "another's"
    location.mkdir()
    os.chown(location, 12345, 12345)
    status, _, err = machine.run(script(), GPUENV_HOME=str(location))
    assert status == 2
    assert "belongs to somebody else" in err
    assert machine.calls == []


def test_what_it_makes_nobody_else_may_write(machine: ScriptMachine) -> None:
    before = os.umask(0)
    try:
        assert machine.run(script())[0] == 0
    finally:
        os.umask(before)
    made = [path for path in machine.home.rglob("*") if not path.is_symlink()]
    assert [path for path in made if path.stat().st_mode & 0o022] == []


def test_the_folder_one_stands_in_decides_nothing(machine: ScriptMachine) -> None:
    """Neither its programs, where PATH has `.`, nor what tools read of the current folder."""
    for name in ("python3.14", "uv", "curl", "tar", "flock"):
        program = machine.root / name
        program.write_text(f"#!/bin/sh\necho {name} >>'{machine.fake}/hostile'\n", encoding="utf-8")
        program.chmod(0o755)
    usual = (machine.bin / "python3").read_text(encoding="utf-8").removeprefix("#!/bin/sh\n")
    machine.program("python3", f'#!/bin/sh\npwd >>"$FAKE/folders"\n{usual}')
    assert machine.run(script(), PATH=f":.:{machine.bin}:given/..:")[0] == 0
    assert not (machine.fake / "hostile").exists()
    folders = set((machine.fake / "folders").read_text(encoding="utf-8").split())
    assert folders == {f"{machine.place}/scratch"}


@pytest.mark.slow
def test_a_gpuenv_whose_python_is_gone_is_installed_again(machine: ScriptMachine) -> None:
    """The system's Python was upgraded."""
    machine.run(script())
    machine.says("broken-python")
    calls = len(machine.calls)
    assert machine.run(script())[0] == 0
    assert any("-m venv" in call for call in machine.calls[calls:])


def test_variables_that_would_lead_python_and_gpuenv_elsewhere_are_taken_away(machine: ScriptMachine) -> None:
    wrong = {"GPUENV_DRY_RUN": "1", "GPUENV_JSON": "1", "PYTHONPATH": "/wrong", "PIP_USER": "1"}
    looking = f'#!/bin/sh\n[ -z "{"".join(f"${{{name}-}}" for name in wrong)}" ] || exit 98\n'
    usual = (machine.bin / "python3").read_text(encoding="utf-8")
    machine.program("python3", looking + usual)
    status, _, err = machine.run(script(), **wrong)
    assert status == 0, err


@pytest.mark.slow
def test_a_python_that_lacks_ensurepip_does_with_a_pip_that_is_there(machine: ScriptMachine) -> None:
    """As Debian's does: uv, else its own pip, else a wheel of pip's."""
    machine.says("no-ensurepip")
    assert machine.run(script())[0] == 0
    assert any("-m pip --python" in call for call in machine.calls)
    machine.run(script(), "--uninstall", "--yes")
    machine.says("no-pip")
    assert machine.run(script())[0] == 3
    wheel = machine.root / "given" / "wheels" / "pip-26-py3-none-any.whl"
    with_pip = script(wheels=(NEEDED, needed(wheel.name, b"pip")))
    wheel.write_bytes(b"hostile")
    assert machine.run(with_pip)[0] == 3
    wheel.write_bytes(b"pip")
    assert machine.run(with_pip)[0] == 0
    assert any(f"scratch/wheels/{wheel.name}/pip install" in call for call in machine.calls)
    machine.run(script(), "--uninstall", "--yes")
    machine.program("uv", '#!/bin/sh\n[ "$1" != venv ] || { mkdir -p "$4/bin"; cp "$3" "$4/bin/python"; }\n')
    calls = len(machine.calls)
    assert machine.run(script())[0] == 0
    assert not any("pip" in call for call in machine.calls[calls + 1 :])


def test_without_a_python_it_says_what_to_install(machine: ScriptMachine) -> None:
    machine.says("old")
    before = machine.files()
    status, _, err = machine.run(script())
    assert status == 3
    assert "hint: install Python 3.10 or newer" in err
    assert "error: there is no usable Python 3.10 or newer, and none can be brought" in err
    assert machine.run(script(), "--uninstall", "--yes")[0] == 0
    assert machine.files() == before


CURL = """#!/bin/sh
while [ $# -gt 1 ]; do
    if [ "$1" = -o ]; then file=$2; fi
    shift
done
echo "$1" >>"$FAKE/fetched"
cp "$FAKE/$(echo "$1" | cut -d / -f 3)" "$file"
"""
TAR = '#!/bin/sh\nmkdir -p "$4/bin"\ncp "$2" "$4/bin/micromamba"\n'
MICROMAMBA = """#!/bin/sh
printf '%s\\n' "$*" >>"$FAKE/micromamba"
[ "$7" != https://bad.example.com/conda ] || exit 1
mkdir -p "$4/bin"
rm -f "$FAKE/old"
cp "$FAKE/../bin/python3" "$4/bin/python"
"""


def brings(machine: ScriptMachine) -> str:
    """Let two channels have a micromamba: one that is not the right one, and the right one."""
    machine.program("curl", CURL)
    machine.program("tar", TAR)
    machine.says("bad.example.com", "an error page")
    machine.says("good.example.com", MICROMAMBA)
    packages = tuple(
        MicromambaFile(platform, "micromamba-2.8.1-0.tar.bz2", sha256(MICROMAMBA.encode()).hexdigest())
        for platform in ("linux-64", "linux-aarch64")
    )
    channels = ("https://bad.example.com/conda", "https://good.example.com/conda")
    return script(micromamba=packages, channels=channels, pythons=("3.9", "3.12"), asked=("3.9",))


def test_a_python_is_brought_by_the_micromamba_with_the_right_digest(machine: ScriptMachine) -> None:
    given = brings(machine)
    machine.says("old")
    status, _, err = machine.run(given)
    assert status == 0, err
    assert "https://bad.example.com/conda has another file in place of micromamba-2.8.1-0.tar.bz2" in err
    requested = (machine.fake / "micromamba").read_text().splitlines()
    assert [call.rsplit(" ", 2)[1:] for call in requested if "good" in call] == [
        ["python=3.9", "pip"], ["python=3.12", "pip"],
    ]  # fmt: skip
    assert all("--override-channels -c https://" in call for call in requested)
    machine.run(given)
    assert (machine.fake / "micromamba").read_text().splitlines() == requested


def test_a_micromamba_whose_hash_nothing_can_check_is_not_run(machine: ScriptMachine) -> None:
    given = brings(machine)
    machine.says("old")
    (machine.bin / "sha256sum").unlink()
    (machine.bin / "python3").unlink()
    status, _, err = machine.run(given)
    assert status == 3
    assert "no program here can check the hash of micromamba" in err
    assert not (machine.fake / "fetched").exists()
    assert not (machine.fake / "micromamba").exists()


@pytest.mark.slow
def test_curl_is_not_led_from_https_to_http(machine: ScriptMachine) -> None:
    given = brings(machine)
    machine.program(
        "curl", '#!/bin/sh\nprintf "%s\\n" "$*" >>"$FAKE/curls"\n' + CURL.removeprefix("#!/bin/sh\n")
    )
    machine.says("old")
    assert machine.run(given)[0] == 0
    for call in (machine.fake / "curls").read_text(encoding="utf-8").splitlines():
        assert "--proto =https --proto-redir =https" in call
    machine.run(given, "--uninstall", "--yes")
    machine.says("old")
    assert machine.run(given.replace("https://good", "http://good"))[0] == 0
    assert (
        "--proto-redir =http,https" in (machine.fake / "curls").read_text(encoding="utf-8").splitlines()[-1]
    )


WGET = """#!/bin/sh
[ "$1" != --version ] || exit 0
while [ $# -gt 1 ]; do
    if [ "$1" = -O ]; then file=$2; fi
    shift
done
echo "$1" >>"$FAKE/fetched"
case $1 in
    */moved) cp "$FAKE/good.example.com" "$file" ;;
    https://good.example.com/*)
        printf '  HTTP/1.1 302 Found\\r\\n  Location: %s\\r\\n' "$(cat "$FAKE/led")" >&2
        exit 8
        ;;
    *) exit 8 ;;
esac
"""


@pytest.mark.parametrize(
    ("led", "status"), [("http://a.example.com/moved", 4), ("https://a.example.com/moved", 0), ("/moved", 0)]
)
def test_wget_is_not_led_from_https_to_http(machine: ScriptMachine, led: str, status: int) -> None:
    given = brings(machine)
    (machine.bin / "curl").unlink()
    machine.program("wget", WGET)
    machine.says("old")
    machine.says("led", led)
    ended, _, err = machine.run(given)
    assert ended == status, err
    requested = (machine.fake / "fetched").read_text(encoding="utf-8").splitlines()
    assert all(url.startswith("https://") for url in requested)


def test_a_release_that_is_asked_for_is_brought_beside_a_python_that_is_there(machine: ScriptMachine) -> None:
    status, _, err = machine.run(brings(machine))
    assert status == 0, err
    assert "python=3.12" not in (machine.fake / "micromamba").read_text()
    assert (machine.place / "pythons/3.9/whole").exists()


def test_of_two_at_once_the_second_is_told(machine: ScriptMachine) -> None:
    machine.says("waits")
    with machine.start(script()) as first:
        wait_until((machine.fake / "waiting").exists)
        status, _, err = machine.run(script())
        assert status == 2
        assert "error: another run of this script is at work" in err
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=60)


@pytest.mark.slow
def test_without_flock_a_dead_ones_lock_is_taken_over(machine: ScriptMachine) -> None:
    (machine.bin / "flock").unlink()
    machine.says("waits")
    with machine.start(script()) as first:
        wait_until((machine.fake / "waiting").exists)
        assert machine.run(script())[0] == 2
        first.kill()
        (machine.fake / "waits").unlink()  # so that what it left behind ends too
        first.communicate(timeout=60)
    assert machine.run(script())[0] == 0
    assert not (machine.place / "lock.link").is_symlink()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda item: item.name)
def test_a_signal_reaches_what_runs_and_the_next_run_goes_on(
    machine: ScriptMachine, number: signal.Signals
) -> None:
    machine.says("waits")
    with machine.start(script()) as process:
        wait_until((machine.fake / "waiting").exists)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err.splitlines()[-1]) == (130, "interrupted; run this script again to go on")
    assert machine.calls[-1] == "terminated"
    (machine.fake / "waits").unlink()
    assert machine.run(script())[0] == 0


@pytest.mark.slow
def test_on_a_terminal_it_asks_before_it_puts_anything_on_the_path(machine: ScriptMachine) -> None:
    link = machine.home / ".local/bin/gpuenv"

    def asked(shown: str) -> bool:
        return "[y/N]" in shown

    assert machine.talk(script(), says="n\n", when=asked)[0] == 0
    assert not link.exists()
    status, shown = machine.talk(script(), says="y\n", when=asked)
    assert (status, link.is_symlink()) == (0, True)
    assert f"put `gpuenv` into {link.parent}? [y/N]\n" in shown
    assert "hint: to type `gpuenv` alone, add" in shown
    status, shown = machine.talk(script(), "--uninstall", says="n\n", when=asked)
    assert (status, shown.splitlines()[-1]) == (130, "nothing was changed")
    assert machine.talk(script(), "--uninstall", says="y\n", when=asked)[0] == 0
    assert list(machine.home.iterdir()) == []


def test_ctrl_c_on_a_terminal_ends_what_runs(machine: ScriptMachine) -> None:
    machine.says("waits")
    waiting = machine.fake / "waiting"
    status, shown = machine.talk(script(), says="\x03", when=lambda _: waiting.exists())
    assert status == 130
    assert shown.endswith("interrupted; run this script again to go on\n")
    assert machine.calls[-1] == "terminated"


def test_a_dry_run_changes_nothing(machine: ScriptMachine) -> None:
    given = script(environment("paper", VICIOUS))
    before = machine.files()
    status, out, _ = machine.run(given, "--dry-run")
    assert (status, machine.files(), machine.calls) == (0, before, [])
    assert f"would use {machine.bin / 'python3'}\n" in out
    quoted = out.splitlines()[-1].partition("gpuenv create ")[2]
    assert quoted == "paper 'a'\\''b; rm -rf $HOME `id` \"$(id)\" * \\' --yes"


def test_uninstall_leaves_all_as_it_was(machine: ScriptMachine) -> None:
    (machine.home / "mine").write_text("kept")
    before = machine.files()
    assert machine.run(script(), "--launcher")[0] == 0
    assert (machine.home / ".local/bin/gpuenv").is_symlink()
    status, _, err = machine.run(script(), "--uninstall")
    assert (status, err.splitlines()[-1]) == (2, "error: cannot prompt: not running in a terminal")
    assert machine.run(script(), "--uninstall", "--yes")[::2] == (0, "removed\n")
    assert machine.gpuenv()[-1] == "remove paper --yes"
    assert machine.files() == before
    status, _, err = machine.run(script(), "--uninstall", "--yes")
    assert (status, err) == (0, f"there is nothing of this script in {machine.place}\n")


@pytest.mark.slow
def test_uninstall_does_without_a_gpuenv_that_runs(machine: ScriptMachine) -> None:
    machine.run(script(environment("paper"), environment("course")))
    for name, own in (("paper", True), ("course", False)):
        record = machine.home / ".local/share/gpuenv/envs" / name / "gpuenv.json"
        record.parent.mkdir(parents=True)
        mark = (machine.place / "environments" / name).read_text(encoding="utf-8").split()[1]
        record.write_text(f'{{"created": "{mark if own else "by hand"}"}}', encoding="utf-8")
    shutil.rmtree(machine.place / "venv")
    assert machine.run(script(), "--uninstall", "--yes")[0] == 0
    assert [path.name for path in record.parents[1].iterdir()] == ["course"]


@pytest.mark.slow
def test_uninstall_keeps_what_others_put_beside_it(machine: ScriptMachine) -> None:
    machine.run(script(), "--launcher")
    own = machine.home / ".local/share/gpuenv/envs/mine"
    own.mkdir(parents=True)
    (machine.home / ".local/bin/other").touch()
    assert machine.run(script(), "--uninstall", "--yes")[0] == 0
    assert own.is_dir()
    assert not machine.place.exists()
    assert [path.name for path in (machine.home / ".local/bin").iterdir()] == ["other"]


def test_a_python_that_others_need_is_not_removed(machine: ScriptMachine) -> None:
    machine.run(script())
    own = machine.home / ".local/share/gpuenv/envs/mine"
    own.mkdir(parents=True)
    (own / "pyvenv.cfg").write_text(f"home = {machine.place}/pythons/3.12/bin\n")
    status, _, err = machine.run(script(), "--uninstall", "--yes")
    assert status == 2
    assert "gpuenv remove mine" in err
    assert (machine.place / "venv").is_dir()


def test_a_launcher_runs_gpuenv_and_another_gpuenv_stays(machine: ScriptMachine) -> None:
    links = machine.home / ".local/bin"
    machine.run(script(), "--launcher", PATH=f"{machine.bin}:{links}")
    with machine.start(f'exec "{links}/gpuenv" verify "a  b"\n') as process:
        process.communicate(timeout=60)
    assert machine.calls[-1] == "-I -m gpuenv verify a  b"
    machine.run(script(), "--uninstall", "--yes")
    links.mkdir(parents=True)
    (links / "gpuenv").write_text("mine")
    assert "stays as it is" in machine.run(script(), "--launcher")[2]
    assert machine.run(script(), "--uninstall", "--yes")[0] == 0
    assert (links / "gpuenv").read_text() == "mine"


def test_a_folder_of_somebody_elses_is_not_taken(machine: ScriptMachine) -> None:
    location = machine.root / "a place"
    location.mkdir()
    (location / "thesis").write_text("years of work")
    status, _, err = machine.run(script(), GPUENV_HOME=str(location))
    assert status == 2
    assert "is not empty, and not this script's" in err
    machine.run(script(), "--uninstall", "--yes", GPUENV_HOME=str(location))
    assert [path.name for path in location.iterdir()] == ["thesis"]


@pytest.mark.slow
def test_it_goes_where_it_is_told(machine: ScriptMachine) -> None:
    """Names with blanks and quotes, and a data directory that is remembered."""
    before = machine.files()
    location, data = machine.root / "it's a place", machine.root / "its data"
    where = {"GPUENV_HOME": str(location), "GPUENV_DATA_DIR": str(data)}
    status, out, err = machine.run(script(), **where)
    assert status == 0, err
    with machine.start(out.removeprefix("paper: ")) as process:
        assert process.wait(60) == 99  # the fake knows no `run`
    assert machine.calls[-1] == "-I -m gpuenv run paper -- python"
    assert machine.files() == before
    assert machine.run(script(), "--uninstall", "--yes", GPUENV_HOME=str(location))[0] == 0
    assert not location.exists()
    assert not data.exists()


def test_its_texts_are_in_the_readers_language(machine: ScriptMachine) -> None:
    machine.says("old")
    for words, variables in (
        (("--lang", "zh"), {}),
        ((), {"LANG": "zh_CN.UTF-8"}),
        ((), {"GPUENV_LANG": "zh"}),
    ):
        _, _, err = machine.run(script(), *words, **variables)
        assert "错误：没有可用的 Python 3.10 或更新版本，也无法自动获取" in err
        assert "error:" not in err


@pytest.mark.parametrize("words", [("--speed",), ("--lang", "klingon"), ("--python",), ("thesis",)])
def test_bad_usage_changes_nothing(machine: ScriptMachine, words: tuple[str, ...]) -> None:
    before = machine.files()
    assert machine.run(script(), *words)[0] == 2
    assert machine.files() == before


def test_help_tells_the_environments(machine: ScriptMachine) -> None:
    status, out, _ = machine.run(script(environment("paper"), environment("course")), "--help")
    assert status == 0
    assert "those named: paper course\n" in out
