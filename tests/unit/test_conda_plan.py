"""What conda tools plan: read from every tool's answer, compared with what gpuenv planned."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from fake_conda import TRANSCRIPTS, transcript
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.installers.conda.check_solution import (
    CondaDifference,
    Tool,
    channel_name,
    check_solved,
    parse_dry_run,
    parse_fetch,
)
from gpuenv.installers.conda.json_output import last_document
from gpuenv.model.conda import CondaChannel, CondaPin, CondaRecord

TOOLS: tuple[Tool, ...] = ("conda", "mamba", "micromamba")
WORDS = st.text("abcz019._", min_size=1, max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
ROWS = st.dictionaries(
    st.sampled_from(
        ["name", "version", "build", "build_string", "subdir", "platform", "fn", "dist_name", "url",
         "base_url", "channel", "size", "depends", "build_number"]
    ),
    JSON | WORDS,
)  # fmt: skip


def a_record(name: str = "pytorch", version: str = "2.8.0", build: str = "cuda128_mkl") -> CondaRecord:
    return CondaRecord(name, version, build, 0, "linux-64", "conda-forge", "", "")


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("conda-rc-names", "conda"),
        ("mm-dry-json", "micromamba"),
        ("m1-dry-json", "micromamba"),
        ("MM-pip-json", "micromamba"),
    ],
)
def test_addresses_and_digests_are_read_where_the_tool_tells_them(name: str, tool: Tool) -> None:
    out = transcript(name).out
    records = parse_dry_run(out, tool)
    for record in parse_fetch(out, tool):
        assert record in records
        assert record.url.endswith(f"/{record.subdir}/{record.filename}")
        assert len(record.sha256 or "") == 64
        assert record.size


def test_conda_tells_no_address_of_what_is_in_its_cache() -> None:
    records = parse_dry_run(transcript("condalm-dry").out, "conda")
    assert {record.url for record in records} == {""}
    assert parse_fetch(transcript("condalm-dry").out, "conda") == ()


@pytest.mark.parametrize("name", [file.stem for file in sorted(TRANSCRIPTS.glob("*err*.txt"))])
@pytest.mark.parametrize("tool", TOOLS)
def test_no_failure_is_a_plan(name: str, tool: Tool) -> None:
    with pytest.raises(ValueError, match="it "):
        parse_dry_run(transcript(name).out, tool)


@pytest.mark.parametrize("tool", TOOLS)
def test_null_stands_for_an_empty_list(tool: Tool) -> None:
    """Of micromamba 1.5."""
    assert parse_dry_run(transcript("m1-dry-json").out, "micromamba")[0].constrains != ()
    with pytest.raises(ValueError, match="planned no package"):
        parse_dry_run('{"success": true, "actions": {"LINK": null}}', tool)


def test_of_several_documents_the_last_counts() -> None:
    """Trap 13: conda before 26.7."""
    progress = '{"fetch": "pytorch", "finished": false, "maxval": 1, "progress": 0.5}'
    assert last_document(f'{progress}\0{progress}\0{{"success": true}}\n') == {"success": True}
    assert last_document(f'{progress}\0{{"success": true}}\0\n') == {"success": True}


@given(st.text(max_size=60), st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_a_document_is_found_behind_any_lines(before: str, document: dict[str, object]) -> None:
    lines = before.replace("{", "").replace("\0", "")
    assert last_document(f"{lines}\n{json.dumps(document, indent=1)}\n") == document


@given(st.text() | JSON.map(json.dumps))
def test_any_text_is_a_document_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert isinstance(last_document(text), dict)


def test_deep_nesting_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="nested"):
        last_document('{"a":' * 200_000)


@given(st.lists(ROWS, max_size=3), st.sampled_from(TOOLS))
def test_any_rows_are_records_or_a_value_error(rows: list[dict[str, object]], tool: Tool) -> None:
    text = json.dumps({"success": True, "actions": {"LINK": rows, "FETCH": rows[:1]}})
    records: tuple[CondaRecord, ...] = ()
    with suppress(ValueError):
        records = parse_dry_run(text, tool)
        assert records
    assert not [
        record for record in records if "/" in f"{record.name}{record.version}{record.build}{record.filename}"
    ]


@given(WORDS, WORDS, WORDS)
def test_a_package_of_conda_and_one_of_mamba_are_read_alike(name: str, version: str, build: str) -> None:
    as_conda = {
        "name": name, "version": version, "build_string": build, "build_number": 3, "channel": "conda-forge",
        "base_url": "https://x.example/conda-forge", "platform": "noarch", "dist_name": "d",
    }  # fmt: skip
    as_mamba = {
        "name": name, "version": version, "build": build, "build_number": 3, "channel": "conda-forge",
        "url": "https://x.example/conda-forge/noarch/d", "fn": "d", "subdir": "noarch",
    }  # fmt: skip
    conda_record, other = (
        parse_dry_run(json.dumps({"success": True, "actions": {"LINK": [row]}}), tool)[0]
        for row, tool in ((as_conda, "conda"), (as_mamba, "mamba"))  # type: ignore[arg-type]
    )
    key = (name, version, build, 3, "noarch", "conda-forge")
    for record in (conda_record, other):
        assert (
            record.name, record.version, record.build, record.build_number, record.subdir, record.channel
        ) == key  # fmt: skip


def test_a_channel_has_the_name_that_gpuenv_gave_its_address() -> None:
    channels = (CondaChannel("nvidia", ("https://mirror.example/a/nv", "https://x.example/nvidia/")),)
    assert channel_name("https://mirror.example/a/nv/linux-64", channels) == "nvidia"
    assert channel_name("https://x.example/nvidia", channels) == "nvidia"
    assert channel_name("https://x.example/other", channels) is None
    assert channel_name("conda-forge", ()) == "conda-forge"
    assert channel_name("https://x.example/conda-forge/win-64", ()) == "conda-forge"


@pytest.mark.parametrize(
    ("record", "pin", "kind"),
    [
        (a_record(), CondaPin("pytorch", "2.8.0", "cuda128*"), None),
        (a_record(version="2.8"), CondaPin("pytorch", "2.8.0", "cuda128*"), None),
        (a_record(), CondaPin("pytorch", "2.8.0"), None),
        (a_record(), CondaPin("pytorch", "2.7.1", "cuda128*"), "other-version"),
        (a_record(version="2.10.0"), CondaPin("pytorch", "2.1.0", "cuda128*"), "other-version"),
        (a_record(build="cuda129_mkl"), CondaPin("pytorch", "2.8.0", "cuda128*"), "other-build"),
        (a_record(build="cpu_mkl_py311_h1abc_100"), CondaPin("pytorch", "2.8.0", "cuda128*"), "cpu-build"),
        (a_record(build="py3.10_cpu_0"), CondaPin("pytorch", "2.8.0", "py3.10_cuda*"), "cpu-build"),
        (a_record(build="cpu_mkl"), CondaPin("pytorch", "2.8.0", "cpu*"), None),
        (a_record("python", "3.11.9", "h85_0_cpython"), CondaPin("python", "3.11.9"), None),
        (a_record("tzdata", "2024b", "h0"), CondaPin("tzdata", "2024b"), None),
        (a_record("tzdata", "2024b", "h0"), CondaPin("tzdata", "2024a"), "other-version"),
        (a_record("numpy"), CondaPin("pytorch", "2.8.0"), "missing"),
    ],
)
def test_a_difference_is_told_by_its_kind(record: CondaRecord, pin: CondaPin, kind: str | None) -> None:
    differences = check_solved((record,), (pin,))
    assert [difference.kind for difference in differences] == ([kind] if kind else [])
    assert all(pin.spec in str(difference) for difference in differences)


def test_a_cpu_build_beside_a_cuda_build_differs() -> None:
    """The pin of torchvision may leave the build open."""
    pins = (CondaPin("pytorch", "2.8.0", "cuda128*"), CondaPin("torchvision", "0.23.0"))
    vision = a_record("torchvision", "0.23.0", "cpu_py311_h9_0")
    assert check_solved((a_record(), vision), pins) == (CondaDifference(pins[1], vision, "cpu-build"),)
    assert check_solved((a_record(build="cpu_1"), vision), (CondaPin("pytorch", "2.8.0"), pins[1])) == ()


@given(st.builds(a_record, WORDS, WORDS, WORDS))
def test_what_was_pinned_exactly_never_differs(record: CondaRecord) -> None:
    assert check_solved((record,), (CondaPin(record.name, record.version, record.build),)) == ()
    assert check_solved((record,), (CondaPin(record.name, record.version),)) == ()
