"""What others wrote is printed as text, and what gpuenv writes of it stays where it is put."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from attacks import attack, held_off
from msgspec.structs import replace
from plans import plan
from running import Program

from gpuenv.cli import output
from gpuenv.fleet.render import ansible, slurm
from gpuenv.fleet.render import report as fleet_report
from gpuenv.formats import dockerfile_syntax as dockerfile_lines
from gpuenv.formats.commands import render_commands
from gpuenv.formats.requirements import render_requirements
from gpuenv.matrix.page import render as matrix_page
from gpuenv.model.errors import GpuenvError
from gpuenv.model.plan import Plan, Sources, Step

HARMFUL = {
    "clears the screen": "\x1b[2J\x1b[H",
    "sets the title": "\x1b]0;x\x07",
    "writes the clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "hides a link": "\x1b]8;;https://evil.example\x1b\\torch\x1b]8;;\x1b\\",
    "C1": "\x9b2J\x9d52;c;eA==\x9c",
    "overwrites a line": "problem\rall is well",
    "deletes letters": "evil\x08\x08\x08\x08torch\x7f",
    "turns the direction": "\u202ehcrot\u202c",
    "isolates": "\u2066x\u2069\u200f\u061c",
    "breaks the line": "a\u2028b\u2029c",
    "tags": "a\U000e0041\U000e007f",
    "ends the text": "a\x00b",
}
STREAMS = {"stdout": output.print_data, "stderr": output.note}


@attack(
    "has escapes, control characters or marks of direction in any text that is shown",
    "a terminal that does or shows what they want",
    without="texts-as-they-come",
)
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("text", HARMFUL.values(), ids=HARMFUL)
def test_what_is_printed_does_nothing(stream: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    STREAMS[stream](f"GPU 0: {text} (error)")
    shown = "".join(capsys.readouterr())
    held_off(not any(letter in shown for letter in text if not letter.isprintable()), ascii(shown))


@pytest.mark.parametrize(
    "address",
    ["https://conda.example/t/tk-hunter2-01/cloud/conda-forge", "https://ada:hunter2@conda.example/lab"],
)
def test_a_message_shows_no_secret_of_an_address(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`… cannot be read; trying the next URL` showed the token of a channel."""
    output.note(f"{address} cannot be read; trying the next URL")
    shown = capsys.readouterr().err
    held_off("hunter2" not in shown, shown)
    assert "conda.example" in shown


@pytest.mark.parametrize("text", HARMFUL.values(), ids=HARMFUL)
def test_json_stays_json_whatever_is_in_it(text: str) -> None:
    shown = output.json_text({"name": text})
    assert json.loads(shown) == {"name": text}
    assert not any(letter in shown for letter in text if not letter.isprintable())


@attack(
    "has escapes in a line of requirements.txt that can't be read",
    "a terminal that does what they want",
    without="texts-as-they-come",
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_error_shows_what_was_read_as_text(program: Program, checkout: Path, language: str) -> None:
    (checkout / "requirements.txt").write_text(
        "torch ==== \x1b]52;c;eA==\x07\x9b2J\u202e\n", encoding="utf-8"
    )
    done = program.run("plan", "--offline", "-r", "requirements.txt", "--lang", language)
    held_off(not any(letter in done.out + done.err for letter in "\x1b\x07\x9b\u202e"), ascii(done.err))
    assert done.status == 2


# files and pages


BREAKING = (
    "H100\nRUN touch /tmp/ran",
    "H100\r\nRUN touch /tmp/ran",
    "H100\u2028RUN touch",
    "H100\x0bRUN touch",
)


@attack(
    "has line breaks in a name that a Dockerfile, a script or a playbook tells",
    "instructions of their own in it",
    without="lines-as-they-come",
)
@pytest.mark.parametrize("writer", ["dockerfile", "label", "slurm", "playbook"])
@pytest.mark.parametrize("name", BREAKING[:2])
def test_a_name_begins_no_line_of_a_file(writer: str, name: str) -> None:
    if writer == "dockerfile":
        lines = dockerfile_lines.comment(f"for {name}")
    elif writer == "label":
        lines = dockerfile_lines.assignments("LABEL", {"gpus": name})
    elif writer == "slurm":
        group = slurm.SlurmGroup(("node1",), "", name, {})
        carried = slurm.Carried(b"", "", "")
        template = f"{slurm._BEGIN}{slurm._END}"
        lines = slurm.render_slurm((group,), "paper", "me", carried, template).splitlines()
    else:
        lines = ansible.render_playbook([ansible.GroupPlay((), "lock", (name,))], "paper").splitlines()
    begun = [line for text in lines for line in text.splitlines() if line.lstrip().startswith("RUN touch")]
    held_off(not begun, begun)


@attack(
    "calls a host like a pattern, a template or a command",
    "a playbook or a script that runs it",
    without="hosts-as-they-are-called",
)
@pytest.mark.parametrize("writer", ["slurm", "playbook"])
@pytest.mark.parametrize(
    "host", ["{{ lookup('pipe', 'id') }}", "$(id)", "a) id;; b", "all:!x", "-rf", "a\nb", "../x", "*"]
)
def test_no_host_is_more_than_a_name(writer: str, host: str) -> None:
    with_host = (
        (lambda: slurm.checked_host(host))
        if writer == "slurm"
        else (lambda: ansible.render_playbook([ansible.GroupPlay((host,), "lock", ())], "paper"))
    )
    try:
        text = with_host()
    except GpuenvError:
        return
    held_off(text is None, text)


@attack(
    "has quotes and `$` in a value of an image's label", "values of their own", without="labels-as-they-come"
)
@pytest.mark.parametrize("value", ['x" evil="y', "$PATH", "${PATH}", "x\\"])
def test_a_label_is_one_value(value: str) -> None:
    (line,) = dockerfile_lines.assignments("LABEL", {"gpus": value})
    inside = line.removeprefix('LABEL gpus="').removesuffix('"')
    plain = inside.replace("\\\\", "").replace('\\"', "").replace("\\$", "")
    held_off(not set(plain) & set('"$\\'), line)


def with_address(url: str) -> Plan:
    steps = (Step(("uv", "pip", "install", f"evil @ {url}"), "install"),)
    return replace(plan(), steps=steps, sources=Sources(url, (url,), (url,)), requirements=(f"evil @ {url}",))


COMMANDS = (
    "https://h/;touch ran",
    "https://h/$(touch ran)",
    "https://h/`id`",
    "https://h/'&id&'",
    "https://h/|id",
)


@attack(
    "has metacharacters of a shell in an address that commands name",
    "a command of their own run where these are pasted",
    without="words-unquoted",
)
@pytest.mark.parametrize("url", COMMANDS)
def test_a_command_that_is_shown_stays_one_command(url: str) -> None:
    text = render_commands(with_address(url))
    (line,) = [line for line in text.splitlines() if "evil" in line and not line.startswith("#")]
    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    held_off(f"evil @ {url}" in words, line)


@attack(
    "has blanks or line breaks in an address that a requirements file names",
    "options of their own in it",
    without="words-unquoted",
)
@pytest.mark.parametrize("url", ["https://h/ --index-url https://evil.example", "https://h/\n-r /etc/passwd"])
def test_an_address_in_a_requirements_file_stays_one_word(url: str) -> None:
    try:
        text = render_requirements(with_address(url))
    except GpuenvError:
        return
    options = [shlex.split(line) for line in text.splitlines() if line.startswith("-")]
    held_off(all(len(words) == 2 and words[1] == url for words in options), options)


MARKUP = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "<!--",
)


@attack("has markup in a GPU's name", "a script in the page that gpuenv writes", without="markup-as-it-comes")
@pytest.mark.parametrize("part", ["report", "log", "matrix"])
@pytest.mark.parametrize("name", MARKUP)
def test_a_page_shows_markup_as_text(name: str, part: str) -> None:
    write = {
        "report": fleet_report._text,
        "log": lambda text: fleet_report._lines(text).removeprefix("<pre>").removesuffix("</pre>"),
        "matrix": lambda text: matrix_page._embedded({"name": text}),
    }[part]
    held_off("<" not in write(name), write(name))
