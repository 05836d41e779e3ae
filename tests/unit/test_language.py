"""Every text is there in every language, and the language is the one asked for."""

from __future__ import annotations

import re

import pytest
from texts import fields_of, texts, unmarked

from gpuenv.cli.language import LANGUAGES, choose_language, read_catalogue
from gpuenv.values.text import install_catalogue, said, tr

OTHERS = [one for one in LANGUAGES if one != "en"]
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_CODE = re.compile(r"`[^`]*`")


@pytest.mark.parametrize("language", OTHERS)
def test_no_text_is_missing_in_a_language_and_none_is_left_over(language: str) -> None:
    translated = set(read_catalogue(language))
    assert sorted(texts() - translated) == []
    assert sorted(translated - texts()) == []


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
        (["plan", "--lang"], {}, "en"),
        (["plan", "--lang", "klingon"], {"LANG": "zh_CN.UTF-8"}, "en"),
    ],
)
def test_the_language_asked_for_goes_before_the_locale(
    arguments: list[str], environ: dict[str, str], language: str
) -> None:
    assert choose_language(arguments, environ) == language


def test_a_text_without_translation_stays_english() -> None:
    install_catalogue({"{count} files": "{count} 个文件", "GPU": "显卡"})
    try:
        assert tr("{count} files", count=3) == "3 个文件"
        assert tr("{count} wheels", count=3) == "3 wheels"
        assert (said("GPU"), said("CPU")) == ("显卡", "CPU")
    finally:
        install_catalogue({})
