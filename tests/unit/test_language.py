"""Every text is there in every language, and the language is the one asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import messages
import pytest
from hypothesis import given
from hypothesis import strategies as st
from message_texts import SOURCE, fields_of, texts, unmarked

from gpuenv.cli.language import (
    LANGUAGES,
    choose_language,
    parse_windows_language,
    printable_language,
    read_catalogue,
    speak,
    split_words,
)
from gpuenv.cli.text_width import fitted, text_width, wrapped
from gpuenv.formats.fact_source import said_source
from gpuenv.i18n.foreign_messages import reason_of, translate_foreign
from gpuenv.i18n.messages import gettext, install_catalogue, tr, translate_output
from gpuenv.verification.messages import translate_detail

OTHERS = [language for language in LANGUAGES if language != "en"]
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_CODE = re.compile(r"`[^`]*`")


def test_every_text_has_an_id_and_every_id_a_translation() -> None:
    """`python tools/messages.py` gives ids to new and reworded texts."""
    catalogues = {path.stem: messages.read(path) for path in messages.FOLDER.glob("*.json")}
    english = catalogues["en"]
    assert sorted(set(texts()) ^ set(english.values())) == []
    assert len(set(english.values())) == len(english)
    assert {
        name: set(english) ^ set(value) for name, value in catalogues.items() if set(english) ^ set(value)
    } == {}
    assert sorted(catalogues) == sorted(LANGUAGES)
    assert messages.main(["--check"]) == 0


def test_a_reworded_text_keeps_its_id_and_a_new_one_gets_an_id_of_its_words() -> None:
    english = {"index-unread": "the index could not be read", "gone": "7", "kept": "{count} files"}
    there = {
        "{count} files": "cli",
        "the index can't be read": "cli",
        "no such GPU": "cli",
        "no such GPU!": "",
    }
    renewed = messages.reworded(english, there)
    assert renewed == {"the index could not be read": "the index can't be read"}
    kept = messages.new_english(english, there, renewed)
    assert kept == {
        "index-unread": "the index can't be read", "kept": "{count} files",
        "cli-no-gpu": "no such GPU", "no-gpu": "no such GPU!",
    }  # fmt: skip
    chinese = {
        "index-unread": "读不到索引",
        "gone": "七",
        "no such GPU": "没有这块 GPU",
        "kept": "{count} 个文件",
    }
    value = messages.new_translations(english, kept, chinese)
    assert value == {"index-unread": "读不到索引", "cli-no-gpu": "没有这块 GPU", "kept": "{count} 个文件"}
    same = {"first": "second", "second": "third"}
    assert messages.new_translations(same, same, {"first": "一", "second": "二"}) == {
        "first": "一",
        "second": "二",
    }


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_names_the_same_facts(language: str) -> None:
    wrong = {
        template: translation
        for template, translation in read_catalogue(language).items()
        if fields_of(template) != fields_of(translation)
    }
    assert wrong == {}


@pytest.mark.parametrize("language", OTHERS)
def test_commands_in_a_text_stay_as_they_are_typed(language: str) -> None:
    wrong = {
        template: translation
        for template, translation in read_catalogue(language).items()
        if sorted(_CODE.findall(template)) != sorted(_CODE.findall(translation))
    }
    assert wrong == {}


def test_chinese_is_chinese() -> None:
    """A text of names and signs alone, such as `GPU`, may be the same in both."""
    same = [template for template, text in read_catalogue("zh").items() if not _CHINESE.search(text)]
    assert [
        template
        for template in same
        if len(re.findall(r"[a-z]{3,}", re.sub(r"\{.*?\}|`.*?`", "", template))) > 2
    ] == []


def test_templates_that_are_no_literals_are_marked_where_they_stand() -> None:
    assert unmarked() == []


@pytest.mark.parametrize(
    ("arguments", "environ", "language"),
    [
        ([], {}, "en"),
        ([], {"LANG": "zh_CN.UTF-8"}, "zh"),
        ([], {"LANG": "C.UTF-8"}, "en"),
        ([], {"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        ([], {"LC_MESSAGES": "zh_TW.UTF-8", "LANG": "en_US.UTF-8"}, "zh"),
        ([], {"GPUENV_LANG": "zh", "LANG": "en_US.UTF-8"}, "zh"),
        ([], {"GPUENV_LANG": "auto", "LANG": "zh_CN"}, "zh"),
        (["plan", "--lang", "en"], {"LANG": "zh_CN.UTF-8"}, "en"),
        (["plan", "--lang=zh"], {"GPUENV_LANG": "en"}, "zh"),
        (["run", "x", "--", "--lang", "zh"], {}, "en"),
        (["run", "x", "python", "--lang", "zh"], {}, "en"),
        (["--lang", "zh", "run", "x"], {}, "zh"),
        (["matrix", "--lang", "zh", "show"], {}, "zh"),
        (["plan", "--lang"], {}, "en"),
        (["plan", "--lang", "klingon"], {"LANG": "zh_CN.UTF-8"}, "en"),
    ],
)
def test_the_language_asked_for_goes_before_the_locale(
    arguments: list[str], environ: dict[str, str], language: str
) -> None:
    assert choose_language(arguments, environ) == language


@pytest.mark.parametrize(
    ("identifier", "language"),
    [(0x0804, "zh"), (0x0404, "zh"), (0x7804, "zh"), (0x0409, "en"), (0x0411, ""), (0, "")],
)
def test_windows_numbers_its_languages(identifier: int, language: str) -> None:
    assert parse_windows_language(identifier) == language


def test_the_system_is_asked_where_there_is_no_locale() -> None:
    assert choose_language([], {}, lambda: "zh") == "zh"
    assert choose_language([], {"LANG": "en_US.UTF-8"}, lambda: "zh") == "en"
    assert choose_language([], {"GPUENV_LANG": "en"}, lambda: "zh") == "en"


@pytest.mark.parametrize(
    ("encodings", "language"),
    [(("utf-8", "gbk"), "zh"), (("utf-8", "ascii"), "en"), (("cp1252",), "en"), (("klingon",), "en")],
)
def test_question_marks_are_no_language(encodings: tuple[str, ...], language: str) -> None:
    assert printable_language("zh", encodings) == language
    assert printable_language("en", encodings) == "en"


def test_own_words_end_where_those_of_another_command_begin() -> None:
    assert split_words(["--lang", "zh", "plan", "--json"]) == (("plan", "--json"), "zh", None)
    assert split_words(["run", "--json", "x", "python", "--lang=zh"]) == (("run", "--json", "x"), None, None)
    assert split_words(["explain", "--", "--lang=zh", "--json"]) == (("explain",), None, None)
    assert split_words(["plan", "--lang", "run"]).positional == ("plan",)


@pytest.fixture
def chinese() -> Iterator[None]:
    speak("zh")
    yield
    install_catalogue({})


def test_a_text_without_translation_stays_english() -> None:
    install_catalogue({"{count} files": "{count} 个文件", "GPU": "显卡"})
    try:
        assert tr("{count} files", count=3) == "3 个文件"
        assert tr("{count} wheels", count=3) == "3 wheels"
        assert (gettext("GPU"), gettext("CPU")) == ("显卡", "CPU")
    finally:
        install_catalogue({})


@pytest.mark.usefixtures("chinese")
def test_what_others_say_is_said_by_the_first_template_it_fits() -> None:
    assert reason_of(FileNotFoundError(2, "No such file or directory", "x")) == "没有那个文件或目录"
    assert translate_foreign("Expecting value: line 1 column 2 (char 1)") == (
        "此处应有一个值：第 1 行第 2 列（第 1 个字符）"
    )
    assert translate_foreign("a new kind of failure\nand more") == "a new kind of failure"
    assert reason_of(ValueError()) == "ValueError"
    assert said_source("matrix cuda.json; option --driver; docs.example.com (2026)") == (
        "矩阵 cuda.json; 选项 --driver; docs.example.com (2026)"
    )


def test_in_english_all_stays_as_others_said_it() -> None:
    assert translate_detail("skipped: requires two GPUs") == "skipped: requires two GPUs"
    assert translate_foreign("Is a directory") == "Is a directory"


@pytest.mark.usefixtures("chinese")
def test_what_is_nested_without_end_is_reworded_only_so_deep() -> None:
    assert translate_detail("skipped: " * 10_000 + "requires two GPUs").startswith("跳过：跳过：")
    assert translate_output("{} {x", ("{x}",)) == "{} {x"
    assert translate_foreign("a: line 1 column " * 100_000).startswith("a: line 1")


@given(st.text(), st.text(min_size=1))
def test_a_template_reads_back_what_it_was_filled_with(other: str, fact: str) -> None:
    speak("zh")
    try:
        assert translate_output(f"takes {fact} GPUs", ("takes {count} GPUs",)) == f"takes {fact} GPUs"
        assert translate_output(f"option {fact}", ("option {name}",), depth=0) == f"选项 {fact}"
        assert isinstance(translate_foreign(other), str)
        assert isinstance(translate_detail(other), str)
    finally:
        install_catalogue({})


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("detail", "told"),
    [
        ("", ""),
        ("largest error 1.2e-07", "最大误差 1.2e-07"),
        ("skipped: not supported by this GPU", "跳过：这块 GPU 不支持"),
        (
            (
                "forward: differs from the CPU's float64 by 2.1e-01 of its size; 1e-03 is allowed"
                " | input gradient: largest error 1.0e-01"
            ),
            "前向：与 CPU 的 float64 结果相对误差为 2.1e-01，允许 1e-03 | 输入梯度：最大误差 1.0e-01",
        ),
        ("RuntimeError: CUDA error | with luck", "RuntimeError: CUDA error | with luck"),
    ],
)
def test_what_the_child_says_of_a_test_is_said_in_chinese(detail: str, told: str) -> None:
    assert translate_detail(detail) == told


@pytest.mark.usefixtures("chinese")
def test_all_that_the_child_says_has_a_translation() -> None:
    """child.py runs elsewhere and knows no languages: its words are found here, filled in and reworded."""
    said_there = tuple(_said_by_the_child())
    assert len(said_there) > 10
    for text in said_there:
        filled = re.sub(r"\{.*?\}", "7", text)
        alone, before = translate_detail(filled), translate_detail(f"{filled}: 7")
        assert (alone, before) != (filled, f"{filled}: 7"), text


def _said_by_the_child() -> Iterator[str]:
    tree = ast.parse((SOURCE / "verification" / "child.py").read_text(encoding="utf-8"))
    judged = [
        node
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and re.match(r"test_|_low|Bench", node.name)
    ]
    documented = {
        ast.get_docstring(node)
        for function_def in judged
        for node in ast.walk(function_def)
        if _has_docstring(node)
    }
    for node in (node for function_def in judged for node in ast.walk(function_def)):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and re.search("[a-z]{2} ", text) and text not in documented:
            yield text


def _has_docstring(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.ClassDef))


@pytest.mark.slow
def test_what_a_parser_complains_of_is_translated() -> None:
    """A reason is shown inside of a message: so each is given to `tr` where it is raised."""
    assert sorted(_untranslated_reasons()) == []


def _untranslated_reasons() -> Iterator[str]:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            call = node.exc if isinstance(node, ast.Raise) else None
            if not isinstance(call, ast.Call) or not call.args or path.name == "child.py":
                continue
            # they run elsewhere too, in English, which `fleet.node_messages` reads
            if path.parent.name in ("node", "on_disk"):
                continue
            pieces = call.args[0].values if isinstance(call.args[0], ast.JoinedStr) else [call.args[0]]
            words = " ".join(
                str(expression.value) for expression in pieces if isinstance(expression, ast.Constant)
            )
            if re.search(r"[a-z]{2,} +[a-zA-Z]", words):
                yield f"{path.relative_to(SOURCE)}:{node.lineno}: {words}"


_PARTS = st.sampled_from(
    ["中", "文", "，", "（", "）", "。", "`gpuenv plan`", "--lang", "CUDA", " ", "  ", "[", "]"]
)


@given(st.lists(_PARTS, max_size=60).map("".join), st.integers(20, 80))
def test_lines_are_broken_where_they_may_be_and_nothing_is_lost(text: str, width: int) -> None:
    lines = list(wrapped(text, width))
    assert "".join("".join(lines).split()) == "".join(text.split())
    for line in lines:
        assert line == line.strip()
        loose = re.sub("`[^`]*`", "x", line)  # what stands in backticks is copied: it is never broken
        assert text_width(line) <= width or not re.search(r"[\u4e00-\u9fff].*[\u4e00-\u9fff]| ", loose)


@given(st.lists(_PARTS, max_size=60).map("".join), st.integers(24, 80), st.integers(0, 6))
def test_a_message_that_fits_stays_as_it_is_and_one_that_does_not_goes_on_further_in(
    text: str, width: int, margin: int
) -> None:
    line = " " * margin + text.strip()
    first, *more = fitted(line, width).split("\n")
    assert not more or text_width(line) > width
    assert "".join("".join([first, *more]).split()) == "".join(line.split())
    assert all(part.startswith(" " * (margin + 2)) for part in more)
    assert fitted(line, None) == line


def test_no_line_begins_with_a_point_or_ends_with_an_opening_bracket() -> None:
    text = "镜像名（`list`）、网址，可重复。[环境变量：X]" * 4
    for width in range(20, 80):
        lines = list(wrapped(text, width))
        assert not any(line[0] in "，。、）：]" or line[-1] in "（[" for line in lines)
