"""The bootstrap script: what is asked for stands in it, quoted, and nothing else of it changes."""

from __future__ import annotations

import shutil
import subprocess
from hashlib import sha256

import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from sampling import every
from scripts import asked, carried, environment, needed, script, template

from gpuenv.bootstrap.model import HeldFile, MicromambaFile, ScriptPath
from gpuenv.bootstrap.render import quote, render_bootstrap
from gpuenv.model.errors import UsageError

needs_sh = pytest.mark.skipif(shutil.which("dash") is None, reason="dash was not found")
FULL = asked(
    environment("paper", "torch==2.14.*", "numpy<2; python_version < '3.13'", "--mirror", "nju"),
    environment(
        "course", "-f", ScriptPath("files", "2.environment.yml"), "--find-links",
        ScriptPath("beside", "our wheels"), "--no-verify", verified=False,
        files=(HeldFile("2.environment.yml", "name: course\nEND_OF_FILE\n"),),
    ),
    gpuenv=carried(bytes(range(100))),
    wheels=(
        needed(
            "idna-3.10-py3-none-any.whl", b"idna", ("3.9/linux-64", "3.12/linux-64", "3.12/linux-aarch64")
        ),
        needed("uv-1-py3-none-manylinux2014_x86_64.whl", b"uv", ("3.12/linux-64",)),
    ),
    indexes=("https://one.example.com/simple", ""),
    channels=("https://one.example.com/conda-forge", "https://two.example.com/conda-forge"),
    micromamba=(MicromambaFile("linux-64", "micromamba-2.8.1-0.tar.bz2", "ab" * 16),),
    pythons=("3.9", "3.12"),
    asked=("3.9",),
    launcher=True,
    files=(HeldFile("config.toml", '[[mirror]]\nname = "lab"\n'),),
)  # fmt: skip
FILLED = r"""# >>> what is asked for
made_by='gpuenv 1.2.3'
wanted_gpuenv='gpuenv 1.2.3'
gpuenv_wheel=gpuenv-1.2.3-py3-none-any.whl
gpuenv_sha256=bce0aff19cf5aa6a7469a30d61d04e4376e4bbf6381052ee9e7f33925c954d52
wanted_pythons='3.9 3.12'
asked_pythons=3.9
guarded=''
indexes_named=yes
launcher=yes
environments='1 2'

environment() {
    number=$1
    shift
    case $number in
        1) "$@" paper 'torch==2.14.*' 'numpy<2; python_version < '"'"'3.13'"'"'' --mirror nju ;;
        2) "$@" course -f "$place/files"/2.environment.yml --find-links "$beside"/'our wheels' --no-verify ;;
        *) return 1 ;;
    esac
}

is_verified() { case $1 in 2) return 1 ;; esac; }

is_carried() { return 1; }

digest_of() {
    case $1 in
        1) echo a1e8efeb31bb166a ;;
        2) echo 2f0f0798ad2b15c3 ;;
    esac
}

pythons_of() {
    case $1 in
        linux-64) echo '3.12 3.9' ;;
        linux-aarch64) echo 3.12 ;;
        *) return 1 ;;
    esac
}

each_index() { "$@" https://one.example.com/simple || "$@" ''; }

each_channel() { "$@" https://one.example.com/conda-forge || "$@" https://two.example.com/conda-forge; }

micromamba_of() {
    case $1 in
        linux-64) echo 'micromamba-2.8.1-0.tar.bz2 abababababababababababababababab' ;;
        *) return 1 ;;
    esac
}

write_files() {
    write "$place/files"/config.toml <<'END_OF_FILE'
[[mirror]]
name = "lab"
END_OF_FILE
    write "$place/files"/2.environment.yml <<'_ND_OF_FILE'
name: course
END_OF_FILE
_ND_OF_FILE
}
# <<< what is asked for
"""
BROUGHT = r"""# >>> what it brings
wheels_needed() { # SHA256 FILE PYTHON/PLATFORM...
    cat <<'END_OF_WHEELS'
IDNA idna-3.10-py3-none-any.whl 3.9/linux-64 3.12/linux-64 3.12/linux-aarch64
UV uv-1-py3-none-manylinux2014_x86_64.whl 3.12/linux-64
END_OF_WHEELS
}

gpuenv_in_base64() {
    cat <<'END_OF_GPUENV'
AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZ
WltcXV5fYGFiYw==
END_OF_GPUENV
}
# <<< what it brings
"""
BROUGHT = BROUGHT.replace("IDNA ", sha256(b"idna").hexdigest() + " ").replace(
    "UV ", sha256(b"uv").hexdigest() + " "
)


def test_the_whole_script_is_the_template_with_what_is_asked_for() -> None:
    text = template()
    before, after = text.partition("# >>>")[0], text.partition("# <<< what is asked for\n")[2]
    between, after = after.partition("# >>>")[0], after.partition("# <<< what it brings\n")[2]
    assert render_bootstrap(FULL, text) == before + FILLED + between + BROUGHT + after


def test_a_wheel_whose_name_would_break_out_is_refused() -> None:
    with pytest.raises(UsageError):
        script(wheels=(needed("a\nEND_OF_WHEELS\n}\nrm -rf x-1-py3-none-any.whl"),))


def test_an_environment_that_is_asked_for_otherwise_has_another_digest() -> None:
    def digest(made: str) -> str:
        return made.partition("digest_of() {")[2].partition("}")[0]

    held = [script(environment("paper", files=(HeldFile("1.yml", text),))) for text in ("a\n", "b\n")]
    assert len({digest(item) for item in (script(), script(environment("paper")), *held)}) == 4
    assert digest(script(launcher=True)) == digest(script())


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not there")
@pytest.mark.parametrize(
    "made", every(3, (template(), script(), render_bootstrap(FULL, template())), first=2)
)
def test_shellcheck_has_nothing_to_say(made: str) -> None:
    done = subprocess.run(
        ["shellcheck", "--shell", "sh", "-"],  # noqa: S607
        input=made, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")


def test_lines_stay_readable() -> None:
    assert [line for line in template().splitlines() if len(line.encode("utf-16-le")) > 2 * 120] == []


printable = st.text(st.characters(codec="utf-8").filter(str.isprintable))


@needs_sh
@examples(10, 100)
@given(st.lists(printable, max_size=5), printable)
def test_any_words_arrive_as_they_are(words: list[str], beside: str) -> None:
    """`printf` ends each with a line break, which no word has."""
    made = script(environment("paper", *words, ScriptPath("beside", beside)))
    filled = made.partition("# >>>")[2].partition("# <<<")[0]
    assert run(f"beside=/b\n{filled}\nenvironment 1 printf '%s\\n'") == "\n".join(
        ("paper", *words, f"/b/{beside}", "")
    )


@needs_sh
@examples(10, 100)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\r")))
@example("Eé\nENÄ")  # dash 0.5.12 loses a byte where a line begins as the delimiter does
def test_any_file_arrives_as_it_is(text: str) -> None:
    made = script(environment("paper", files=(HeldFile("1.yml", text),)))
    filled = made.partition("# >>>")[2].partition("# <<<")[0]
    assert run(f"place=/p\n{filled}\nwrite() {{ cat; }}\nwrite_files") == text.removesuffix("\n") + "\n"


def run(text: str) -> str:
    done = subprocess.run(["dash", "-s"], input=text.encode(), capture_output=True, check=True)  # noqa: S607
    return done.stdout.decode()


@pytest.mark.parametrize("text", ["a\nb", "a\0b", "\x1b[31m", "a\u202eb", "\ud800"])
def test_what_does_not_print_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        quote(text)
    assert caught.value.code == "unprintable"


def test_a_file_with_a_nul_is_refused() -> None:
    with pytest.raises(UsageError):
        script(environment("paper", files=(HeldFile("1.yml", "a\0b"),)))
