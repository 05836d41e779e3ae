"""Which indexes a plan reads, by the words of --mirror and by what is configured; nothing is asked for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.indexes.mirrors.records import parse_mirror
from gpuenv.model.errors import UsageError
from gpuenv.model.index import IndexConfiguration, IndexSource
from gpuenv.model.mirror import Mirror
from gpuenv.model.variant import Variant
from gpuenv.planning.mirrors.choose import Chosen, choose
from gpuenv.planning.mirrors.sources import SourceContext


def mirror(name: str, **fields: Any) -> Mirror:
    row = {"name": name, "kind": "university", "status": "alive", "source": "a page"}
    return parse_mirror({**row, "pypi": {"simple": f"https://{name}.example/simple"}, **fields})


def torch(name: str, layout: str = "pep503", **fields: Any) -> dict[str, Any]:
    return {"torch": {"address": f"https://{name}.example/whl/{{variant}}", "layout": layout, **fields}}


OFFICIAL = mirror(
    "official", kind="official", missing_status=[403], pypi={"simple": "https://pypi.example/simple"},
    torch={"address": "https://torch.example/whl", "layout": "pep503", "files": ["r2.example"]},
)  # fmt: skip
MIRRORS = (
    OFFICIAL,
    mirror("nvidia", kind="official", pypi=None),
    mirror("tuna", aliases=["tsinghua"], bogus=["https://tuna.example/whl/cu121"]),
    mirror("nju", **torch("nju")),
    mirror("aliyun", **torch("aliyun", "flat")),
    mirror("sjtu", missing_status=[403], **torch("sjtu", wrong=["https://sjtu.example/wheels/cu121"])),
    mirror("cernet", status="redirector", **torch("cernet")),
    mirror("huawei", status="partial"),
    mirror("netease", status="stale"),
    mirror("douban", status="retired"),
)
NOTHING = IndexConfiguration(None, (), ())
AROUND = SourceContext(
    Mirrors(MIRRORS, frozenset(), Path("config.toml")), NOTHING, (Variant("cu126"), Variant("cu118")), {}
)


def configured(*urls: str, no_index: bool = False) -> SourceContext:
    """A SourceContext in which pip's configuration names an index, and extra ones."""
    first, *others = (IndexSource("pypi", url, "pip.conf") for url in urls)
    return replace(AROUND, configuration=IndexConfiguration(first, tuple(others), (), no_index))


def urls(sources: tuple[IndexSource, ...]) -> list[str]:
    return [source.url for source in sources]


def codes(chosen: Chosen) -> list[str]:
    return [warn.code for warn in chosen.warnings]


def folders(name: str) -> list[str]:
    return [f"https://{name}.example/whl/{variant}" for variant in ("cu126", "cu118")]


PYPI, WHEELS = "https://pypi.example/simple", "https://torch.example/whl"


def simple(name: str) -> str:
    return f"https://{name}.example/simple"


def test_without_a_word_the_official_indexes_are_read() -> None:
    chosen = choose((), AROUND)
    assert urls(chosen.sources) == [PYPI, WHEELS]
    assert urls(chosen.general) == [PYPI]
    assert (chosen.named, chosen.later, chosen.forced, chosen.warnings) == ((), (), False, ())


def test_what_is_configured_is_read_in_place_of_the_installers_default() -> None:
    chosen = choose((), configured("https://own.example/simple", "https://extra.example/simple"))
    assert urls(chosen.sources) == ["https://own.example/simple", "https://extra.example/simple", WHEELS]
    assert urls(chosen.general) == ["https://own.example/simple"]


@pytest.mark.parametrize("name", ["tuna", "sjtu"])
def test_a_mirror_that_is_configured_is_the_default_index_whatever_is_known_of_it(name: str) -> None:
    chosen = choose((), configured(simple(name)))
    assert urls(chosen.sources) == [simple(name), WHEELS]
    assert urls(chosen.general) == [simple(name)]


def test_what_is_known_of_a_configured_mirror_holds_and_its_links_are_the_users_business() -> None:
    source = choose((), configured(simple("sjtu"))).general[0]
    assert (source.missing_status, source.hosts, source.origin) == ((403,), (), "pip.conf")


def test_a_configured_mirror_that_has_been_shut_down_is_passed_over_and_told() -> None:
    chosen = choose((), configured(simple("douban"), simple("tuna")))
    assert urls(chosen.sources) == [PYPI, simple("tuna"), WHEELS]
    assert codes(chosen) == ["mirror-retired"]
    assert "pip.conf" in chosen.warnings[0].message


def test_no_index_leaves_nothing_to_read() -> None:
    assert choose((), configured(simple("tuna"), no_index=True)).sources == ()


def test_a_mirror_of_pypi_alone_stands_in_for_every_index() -> None:
    for word in ("tuna", "TUNA", "tsinghua", "tuna.example"):
        chosen = choose((word,), configured("https://own.example/simple", "https://extra.example/simple"))
        assert urls(chosen.sources) == urls(chosen.general) == [simple("tuna")]
        assert chosen.forced
        assert [item.name for item in chosen.named] == ["tuna"]


def test_torch_comes_from_one_mirror_and_the_rest_from_another_in_either_order() -> None:
    for words in (("nju", "tuna"), ("tuna", "nju")):
        chosen = choose(words, AROUND)
        assert urls(chosen.sources) == [*folders("nju"), simple("tuna"), simple("nju")]
        assert urls(chosen.general) == [simple("tuna"), simple("nju")]


def test_torch_parts_are_read_in_the_order_given() -> None:
    for words in (("nju", "aliyun"), ("aliyun", "nju")):
        sources = choose(words, AROUND).sources
        assert urls(sources)[:4] == [url for name in words for url in folders(name)]
        assert {source.name: source.kind for source in sources if source.kind != "pypi"} == {
            "nju": "pytorch", "aliyun": "flat",
        }  # fmt: skip


def test_a_word_said_twice_counts_once() -> None:
    assert choose(("nju", "nju"), AROUND) == choose(("nju",), AROUND)


def test_what_is_known_of_a_mirror_goes_with_its_sources() -> None:
    for source in choose(("sjtu",), AROUND).sources:
        assert (source.missing_status, source.name, source.hosts) == ((403,), "sjtu", ("sjtu.example",))
    official = {source.url: source for source in choose(("official",), AROUND).sources}
    assert set(official[WHEELS].hosts) == {"torch.example", "pypi.example", "r2.example"}


def test_a_mirror_that_has_been_shut_down_is_told_and_never_read() -> None:
    for word in ("douban", simple("douban")):
        chosen = choose((word,), AROUND)
        assert not any("douban" in url for url in urls(chosen.sources))
        assert codes(chosen) == ["mirror-retired"]


@pytest.mark.parametrize("word", ["nowhere", "", "tunaa", "pypi.example.com"])
def test_a_word_that_names_nothing_is_refused_with_what_is_near(word: str) -> None:
    with pytest.raises(UsageError) as raised:
        choose((word,), AROUND)
    assert raised.value.code == "unknown-mirror"
    assert raised.value.fixes
    assert ("tuna" in raised.value.fixes[0].text) is (word == "tunaa")


def test_a_mirror_with_neither_part_is_refused() -> None:
    with pytest.raises(UsageError) as raised:
        choose(("nvidia",), AROUND)
    assert raised.value.code == "mirror-without-part"


@pytest.mark.parametrize("word", ["https://[x", "http://[::1/simple", "http://", "https:///simple"])
def test_what_is_no_address_is_refused(word: str) -> None:
    with pytest.raises(UsageError) as raised:
        choose((word,), AROUND)
    assert raised.value.code == "bad-address"


def test_the_address_of_a_copy_of_the_pytorch_index_is_read_by_variant() -> None:
    for word in ("https://nju.example/whl", "https://nju.example/whl/", "http://nju.example/whl"):
        chosen = choose((word,), AROUND)
        assert urls(chosen.sources)[:2] == folders("nju")
        assert urls(chosen.general) == [PYPI]
        assert [item.name for item in chosen.named] == ["nju"]


def test_an_address_known_to_be_wrong_is_put_right_and_told() -> None:
    chosen = choose(("https://sjtu.example/wheels/cu126",), AROUND)
    assert urls(chosen.sources)[0] == "https://sjtu.example/whl/cu126"
    assert codes(chosen) == ["mirror-address"]


def test_an_address_at_which_torch_never_was_is_the_mirror_itself() -> None:
    chosen = choose(("https://tuna.example/whl/cu126",), AROUND)
    assert urls(chosen.sources) == [simple("tuna")]
    assert codes(chosen) == ["mirror-address"]


def test_a_mirror_is_read_encrypted_where_it_can_be_and_another_host_as_given() -> None:
    chosen = choose(("http://tuna.example/simple",), AROUND)
    assert urls(chosen.sources) == [simple("tuna")]
    assert codes(chosen) == ["mirror-address"]
    chosen = choose(("http://other.example/simple",), AROUND)
    assert urls(chosen.sources) == ["http://other.example/simple"]
    assert (codes(chosen), chosen.named) == ([], ())


def test_a_folder_is_a_wheelhouse_unless_it_is_called_like_a_mirror(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("wheels", "tuna"):
        (tmp_path / name).mkdir()
    assert choose(("wheels",), AROUND).sources[0].kind == "directory"
    assert urls(choose(("tuna",), AROUND).sources) == [simple("tuna")]
    assert choose(("./tuna",), AROUND).sources[0].kind == "directory"


@pytest.mark.parametrize("word", ["auto", "AUTO", " auto "])
def test_auto_keeps_the_usual_and_has_living_mirrors_to_turn_to(word: str) -> None:
    chosen = choose((word,), AROUND)
    assert urls(chosen.sources) == [PYPI, WHEELS]
    assert [item.name for item in chosen.later] == ["nju", "aliyun", "sjtu", "cernet", "tuna"]
    assert chosen.named == ()


@pytest.mark.parametrize(
    ("around", "expected"),
    [
        (AROUND, True),
        (configured("https://pypi.org/simple"), True),
        (configured(simple("tuna"), simple("nju")), True),
        (configured("https://own.example/simple"), False),
        (configured(simple("tuna"), "https://own.example/simple"), False),
        (configured(simple("douban")), False),
        (configured("/opt/packages/simple"), False),
        (configured(simple("tuna"), no_index=True), False),
    ],
)
def test_mirrors_stand_in_by_themselves_only_where_all_that_is_configured_is_public(
    around: SourceContext, expected: bool
) -> None:
    chosen = choose((), around, by_itself=True)
    assert bool(chosen.later) is chosen.unasked is expected
    assert chosen.sources == choose((), around).sources
    for words in (("official",), ("nju",)):
        assert not choose(words, around, by_itself=True).later


def test_a_mirror_named_beside_auto_goes_before_the_usual_and_is_not_turned_to_again() -> None:
    chosen = choose(("nju", "auto"), AROUND)
    assert urls(chosen.sources) == [*folders("nju"), simple("nju"), PYPI, WHEELS]
    assert "nju" not in {item.name for item in chosen.later}


@pytest.mark.parametrize("broken", ["nju", "https://nju.example/whl/cu126"])
def test_what_turned_out_to_be_broken_is_left_out(broken: str) -> None:
    chosen = choose(("nju", "tuna", "auto"), replace(AROUND, excluding=frozenset({broken})))
    for source in (*chosen.sources, *chosen.general):
        assert broken not in (source.name, source.url)
    assert broken not in {item.name for item in chosen.later}
    assert simple("tuna") in urls(chosen.general)


WORDS = st.lists(
    st.sampled_from(
        [item.name for item in MIRRORS]
        + [
            "auto",
            "official",
            "https://nju.example/whl",
            "http://[",
            "https://x.example/simple",
            "Tsinghua",
            "?",
        ]
    )
    | st.text(max_size=6),
    max_size=4,
).map(tuple)


@given(WORDS)
def test_any_words_are_read_or_refused(words: tuple[str, ...]) -> None:
    try:
        chosen = choose(words, AROUND)
    except UsageError:
        return
    assert len(set(chosen.sources)) == len(chosen.sources)
    assert set(chosen.general) <= set(chosen.sources)
    assert not {item.name for item in chosen.named} & {item.name for item in chosen.later}
    assert not any("douban" in source.url for source in chosen.sources)
