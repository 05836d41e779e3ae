"""What errors mean: every sample by its own signature, real logs, none for texts without an error."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from examples import examples
from explaining import explain
from hypothesis import given
from hypothesis import strategies as st
from logs import expected_of_logs, read_logs
from sampling import every

from gpuenv import matrices
from gpuenv.explanation.explain import explain_text, load_signatures
from gpuenv.explanation.render import render_explanation
from gpuenv.signatures.catalogue import CLASSES, Pattern, parse_signature
from gpuenv.signatures.log_pages import OVERLAP, PAGE, pages
from gpuenv.signatures.match import SignatureMatch
from gpuenv.signatures.vocabulary import Vocabulary, lines_of, words_of

TESTS = Path(__file__).parents[1]
ROWS = matrices.load("signatures")
SIGNATURES = load_signatures()
PATTERNS = [pattern for signature in SIGNATURES for pattern in (*signature.patterns, *signature.unless)]
EXPECTED = expected_of_logs()
HEALTHY = [name for name, expected in EXPECTED.items() if not expected["ids"]]
SEEDS = [json.loads(line) for line in (TESTS / "fixtures" / "seed_errors.jsonl").read_text().splitlines()]
NO_KERNELS = """\
Traceback (most recent call last):
/lib/python3.8/site-packages/torch/cuda/__init__.py:143: UserWarning:
NVIDIA GeForce RTX 3080 Ti with CUDA capability sm_86 is not compatible with the current PyTorch installation.
The current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_60 sm_70 sm_75 compute_37.
RuntimeError: CUDA error: no kernel image is available for execution on the device
CUDA kernel errors might be asynchronously reported at some other API call.
"""
BROADER = "pytorch_lightning.utilities.exceptions.MisconfigurationException: No supported gpu backend found!"


def ids(text: str) -> list[str]:
    return [match.id for match in explain(text, SIGNATURES)]


def first(text: str) -> SignatureMatch:
    return explain(text, SIGNATURES)[0]


@pytest.mark.parametrize("row", ROWS[::24], ids=lambda row: row["id"])
def test_the_first_sample_is_told_by_its_own_signature_first(row: dict[str, Any]) -> None:
    assert ids(row["samples"][0])[:1] == [row["id"]]


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_each_sample_is_told_by_its_own_signature_first(row: dict[str, Any]) -> None:
    assert [text for text in row["samples"] if ids(text)[:1] != [row["id"]]] == []


@pytest.mark.slow
def test_what_is_a_case_of_a_broader_cause_tells_that_one_too() -> None:
    """Who knows only the broader causes finds theirs among the first three; it has no case of its own."""
    cases = {row["id"]: row for row in ROWS if row["case_of"]}
    assert {row["case_of"] for row in cases.values()} <= {row["id"] for row in ROWS} - set(cases)
    assert [row["id"] for row in cases.values() if row["case_of"] not in ids(row["samples"][0])[:3]] == []


def test_a_name_that_is_gone_is_no_mere_warning_although_the_text_calls_it_deprecated() -> None:
    text = """AttributeError: module 'numpy' has no attribute 'bool'.
`np.bool` was a deprecated alias for the builtin `bool`. To avoid this error in existing code, use `bool`."""
    assert ids(text)[:1] == ["numpy-alias-removed"]


BUILD = """\
FAILED: build/temp/csrc/pool.o
/w/pool/csrc/pool.cu(71): error: expected a ";"
      return x
1 error detected in the compilation of "/w/pool/csrc/pool.cu".
%s
error: command '/usr/local/cuda/bin/nvcc' failed with exit code 1
ERROR: Failed building wheel for pool
"""


@pytest.mark.parametrize("between", [0, 30])
def test_what_only_tells_of_a_failure_is_told_with_the_line_that_says_why(between: int) -> None:
    text = BUILD % "\n".join(f"copying pool/part_{number}.py -> build/lib/pool" for number in range(between))
    failed = next(match for match in explain(text, SIGNATURES) if match.id == "ext-compile-failed")
    assert dict(failed.facts)["said"] == 'error: expected a ";"'
    assert str(dict(failed.facts)["said"]) in str(failed.detail)


def test_a_broader_cause_is_told_to_a_person_only_where_it_brings_a_command() -> None:
    matches = explain(BROADER, SIGNATURES)
    broader = next(match for match in matches if match.broader)
    assert broader.cause not in render_explanation(matches, {})
    assert broader.cause in render_explanation(matches, {broader.id: "gpuenv create again"})
    assert broader.cause in render_explanation(matches, {}, verbose=True)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed["id"])
def test_every_error_in_the_users_notes_is_answered(seed: dict[str, str]) -> None:
    assert ids(seed["signature"])[:1] == [seed["base_key"]]


@pytest.mark.parametrize(
    "name", every(3, [name for name, expected in EXPECTED.items() if not expected["ids"]])
)
def test_a_text_without_an_error_gives_nothing(name: str) -> None:
    assert explain_text(read_logs()[name], {}).matches == ()


@pytest.mark.parametrize("step", every(2, (8, 1)))
def test_nine_of_ten_logs_get_the_right_cause_and_class_among_the_first_three(step: int) -> None:
    wanted = dict([(name, expected) for name, expected in EXPECTED.items() if expected["ids"]][::step])
    missed = [name for name, expected in wanted.items() if not is_told(read_logs()[name], expected)]
    assert len(wanted) >= 60
    assert len(missed) <= len(wanted) // 10, missed


def is_told(text: str, expected: dict[str, list[str]]) -> bool:
    matches = explain(text, SIGNATURES)[:3]
    return any(match.id in expected["ids"] and match.kind in expected["class"] for match in matches)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_every_log_is_answered_or_silent_whatever_it_reports(part: int) -> None:
    for text in list(read_logs().values())[part::8]:
        explain_text(text, {})


def test_what_conda_finds_not_on_windows_is_answered_though_its_channel_was_read_for_linux_alone() -> None:
    text = """PackagesNotFoundError: The following packages are not available from current channels:

  - pytorch=2.7.1*

Current channels:

  - https://conda.anaconda.org/pytorch/win-64
"""
    assert explain_text(text, {}).matches[0].id == "conda-packages-not-found"


def test_every_log_is_expected_to_tell_something_and_every_expectation_has_a_log() -> None:
    assert set(read_logs()) == set(EXPECTED)


TRIED = (900, pytest.param(20, marks=pytest.mark.slow), pytest.param(6, marks=pytest.mark.campaign))
# one of so many messages in a dress
# how the same message reaches a file
DRESSES = {
    # a number and a colon at the beginning of a line are the label of a task
    "wrapped": lambda text: re.sub(r" (?!\d{1,4}[:：])", "\n      ", text),
    "windows": lambda text: f"first\r\n{text}\r\nlast\r\n",
    "in a box": lambda text: f"╭─ Traceback ─╮\n│ {text} │\n╰─────────────╯",
    "after a progress bar": lambda text: f"\r 50%|█████     | 5/10\r100%|██████████| 10/10\r{text}",
    "of one rank": lambda text: f"[rank3]: {text}",
    "of a container": lambda text: f"worker-1  | {text}",
    "of a build": lambda text: f"#14 41.33 {text}",
    "of a task": lambda text: f"12: {text}",
    "of a logger": lambda text: f"2026-01-02 10:00:00,123 - my.module - ERROR - {text}",
    "of the root logger": lambda text: f"ERROR:root:{text}",
    "of a service": lambda text: f"Jan 02 10:00:00 node1 python[1234]: {text}",
    "quoted": lambda text: f"> {text}",
    "cut off by a terminal": lambda text: f"{'-' * 80}\n" + "\n".join(re.findall(".{1,80}", text)),
    "from a web page": lambda text: escape(text).replace(" ", "\u00a0"),
    "with the quotes of a chat": lambda text: (
        re.sub('"(.)', "“\\1", text).replace("'", "’").replace('"', "”")
    ),
    "with the marks of a Chinese page": lambda text: text.replace(": ", "：").replace(", ", "，"),
    "with invisible letters": lambda text: text.replace(" ", " \u200b"),
    "with colours that lost their escape": lambda text: f"[1;31m{text.replace(' ', '[0m [31m', 1)}[0m",
    "with colours spelt out": lambda text: f"\\u001b[31m{text}\\u001b[0m",
    "coloured": lambda text: " ".join(f"\x1b[1;31m{word}\x1b[0m" for word in text.split(" ")),
}


@pytest.mark.slow
@pytest.mark.parametrize("tried", TRIED)
@pytest.mark.parametrize("number", range(len(DRESSES)), ids=list(DRESSES))
def test_how_a_message_was_written_down_does_not_matter(number: int, tried: int) -> None:
    """Each message is tried in some of the dresses, each dress with many messages: all take minutes."""
    dress = list(DRESSES.values())[number]
    some = all_samples()[number % tried :: tried]
    assert [name for name, text in some if ids(dress(text))[:1] != [name]] == []


def all_samples() -> list[tuple[str, str]]:
    return [(row["id"], text) for row in ROWS for text in row["samples"]]


def test_what_follows_from_the_root_is_not_told_beside_it() -> None:
    assert ids(NO_KERNELS) == ["gpu-arch-not-in-wheel"]
    warning, _, failure = NO_KERNELS.partition("RuntimeError")
    alone = warning.partition("\n")[2]
    text = f"{alone}Traceback (most recent call last):\n  File 'train.py', line 3\nRuntimeError{failure}"
    assert ids(text) == ["gpu-arch-not-in-wheel"]


def test_facts_are_read_from_the_text_and_told() -> None:
    match = first(NO_KERNELS)
    assert dict(match.facts) == {
        "gpu": "NVIDIA GeForce RTX 3080 Ti",
        "capability": "8.6",
        "architectures": "sm_37 sm_50 sm_60 sm_70 sm_75 compute_37",
    }
    assert "8.6" in str(match.detail)
    assert "sm_75" in str(match.detail)


def test_lines_are_those_of_the_text() -> None:
    (line,) = first(NO_KERNELS).lines
    assert line.number == 3
    assert line.text.startswith("NVIDIA GeForce RTX 3080 Ti with")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("NVIDIA driver on your system is too old (found version 12040).", {"driver_cuda": "12.4"}),
        (
            "CUDA out of memory. Tried to allocate 2.50 GiB (GPU 1; 7.79 GiB total capacity; 120.0 MiB free)",
            {"asked": "2.50 GiB", "total": "7.79 GiB", "free": "120.0 MiB", "index": "1"},
        ),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_120'", {"capability": "12.0"}),
        ("version `GLIBC_2.27' not found (required by x.so)", {"glibc": "2.27"}),
        (
            "Could not find a version that satisfies the requirement torch==1.7.1+cu101 (from versions: )",
            {"requirement": "torch==1.7.1+cu101"},
        ),
    ],
)
def test_versions_and_sizes_are_facts(text: str, facts: dict[str, str]) -> None:
    assert dict(first(text).facts) == facts


def test_what_is_deprecated_comes_after_what_failed() -> None:
    warning = "UserWarning: nn.functional.upsample is deprecated. Use nn.functional.interpolate instead."
    failure = "RuntimeError: CUDA error: device-side assert triggered"
    assert ids(f"{warning}\n{failure}") == ["device-assert", "dep-upsample"]
    assert ids(warning) == ["dep-upsample"]


@pytest.mark.parametrize(
    "failure", ["Segmentation fault (core dumped)", "KeyError: 'image_id'", "AssertionError: no frames"]
)
def test_what_is_deprecated_comes_after_a_failure_of_which_little_is_known(failure: str) -> None:
    warning = "UserWarning: nn.functional.upsample is deprecated. Use nn.functional.interpolate instead."
    assert ids(f"{warning}\n{failure}") == [*ids(failure), "dep-upsample"]


@pytest.mark.parametrize(
    "tail",
    [
        "[2026-03-01 10:00:10] [INFO] [launch.py:316:sigkill_handler] Killing subprocess 1234",
        "Unable to shutdown process 12 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL",
        "[notice] To update, run: pip install --upgrade pip",
        "ray.exceptions.RayTaskError(RuntimeError): ray::train() (pid=1, ip=192.0.2.1)",
    ],
)
def test_what_a_launcher_or_installer_says_at_its_end_is_no_cause(tail: str) -> None:
    failure = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    assert ids(f"{failure}\n{tail}") == ["cuda-oom"]
    assert ids(f"{tail}\n{failure}") == ["cuda-oom"]


def test_a_hint_counts_only_where_nothing_better_was_found() -> None:
    hint = "CUDA kernel errors might be asynchronously reported at some other API call"
    assert ids(hint) == ["cuda-async-hint"]
    assert first(hint).confidence == "low"
    assert "cuda-async-hint" not in ids(f"{hint}\nCUDA error: uncorrectable ECC error encountered")


def test_memory_of_the_gpu_is_not_taken_for_that_of_the_machine() -> None:
    assert ids("torch.OutOfMemoryError: Allocation on device") == ["cuda-oom"]
    assert ids("运行时出错 MemoryError：") == ["host-ram-oom"]


def test_what_any_program_may_say_gives_way_to_what_is_known() -> None:
    generic = "AttributeError: 'NoneType' object has no attribute 'cquantize'"
    missing = "libcusparse.so.11: cannot open shared object file: No such file or directory"
    assert ids(generic)[:1] == ["none-attribute"]
    assert first(generic).confidence == "low"
    assert ids(f"{generic}\n{missing}") == ["cuda-lib-missing"]
    assert ids(f"{missing}\n{generic}") == ["cuda-lib-missing"]


def test_an_error_anywhere_in_a_huge_log_is_found_at_its_line() -> None:
    line = "step {} loss 0.25 lr 0.001 data 0.01 s\n"
    noise = [line.format(number) for number in range(30_000)]
    noise[7_000] = "RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
    (match,) = explain("".join(noise), SIGNATURES)
    assert match.id == "ecc-uncorrectable"
    assert [item.number for item in match.lines] == [7_001]


def test_the_last_pages_count_however_much_in_them_looks_like_an_error() -> None:
    """Only older ones are passed over where there would be too much to try."""
    noise = "".join(
        f"RuntimeError: file {number} of the model is not of this version\n" for number in range(12_000)
    )
    assert 2 * PAGE < len(noise) < 3 * PAGE
    assert "ecc-uncorrectable" in ids(f"CUDA error: uncorrectable ECC error encountered\n{noise}")


def test_a_message_across_two_pages_is_found() -> None:
    message = "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED"
    for before in (PAGE - 10, PAGE - OVERLAP, PAGE + 1):
        text = "x" * (before % 90) + "\n" + ("y" * 89 + "\n") * (before // 90) + message
        assert ids(text)[:1] == ["cudnn-not-initialized"]


@given(st.text(max_size=400))
def test_no_text_is_too_strange(text: str) -> None:
    for match in explain(text, SIGNATURES):
        assert match.kind in CLASSES
        assert all(1 <= line.number <= text.count("\n") + 1 for line in match.lines)


WORDS = sorted({word for pattern in PATTERNS for way in pattern.needs for word in way.words})


@examples(10, 200)
@given(
    st.lists(st.sampled_from([*WORDS, "\n", "\r", ": ", "'", "(", "\x1b[1m", "\x1b]", "\0"]), max_size=300)
)
def test_a_text_made_of_the_words_of_errors_is_no_trouble(words: list[str]) -> None:
    for glue in (" ", ""):
        explain(glue.join(words), SIGNATURES)


@pytest.mark.parametrize(
    "text",
    [
        "torchaudio" * 5_000,
        "undefined symbol: _Z" * 5_000,
        "torch" + ".whl " * 20_000,
        "a" * 200_000,
        "\x1b[" * 9_999,
    ],
)
def test_hostile_repetition_ends(text: str) -> None:
    explain(text, SIGNATURES)


@examples(10, 500)
@given(st.data())
def test_what_a_pattern_matches_has_the_words_that_it_needs(data: st.DataObject) -> None:
    """The words are looked for first: a pattern must never match a text that lacks them."""
    pattern: Pattern = data.draw(st.sampled_from(PATTERNS))
    text = data.draw(st.from_regex(pattern.compiled))
    if len(text) > OVERLAP or not text.isascii():
        return
    (page,) = pages(text)
    vocabulary = Vocabulary(words_of(lines_of(page)), page.text)
    assert any(vocabulary.has_all(way.needs) for way in pattern.needs)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_signature_is_told_in_both_languages(language: Any) -> None:
    for signature in load_signatures(language):
        assert signature.cause
        assert signature.fix
    assert all((row["detail_en"] is None) == (row["detail_zh"] is None) for row in ROWS)


def test_sentences_name_the_same_facts_in_both_languages() -> None:
    assert all(fields(row["detail_en"]) == fields(row["detail_zh"]) for row in ROWS)


def fields(template: str | None) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template or "") if name}


@given(st.dictionaries(st.sampled_from([*ROWS[0], "more"]), st.one_of(st.none(), st.text(), st.integers())))
def test_a_garbled_row_is_a_value_error(changes: dict[str, Any]) -> None:
    row = {**ROWS[0], **changes}
    try:
        parse_signature(json.dumps(row).encode())
    except ValueError:
        return


def test_what_two_signatures_come_down_to_is_told_once() -> None:
    text = (
        "Python 3.14.0\n  - Installing torch (2.7.1): Failed\n"
        "    | Unable to find installation candidates for torch (2.7.1)\n"
    )
    causes = [match.cause for match in explain_text(text, {}).matches]
    assert len(causes) == len(set(causes))
    assert "3.13" in causes[0]
