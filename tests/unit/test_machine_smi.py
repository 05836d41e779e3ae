"""Reading nvidia-smi: recorded forms give their facts, and any text gives a value or ValueError."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from gpuenv.host.nvidia.reading import (
    SourceReading,
    parse_bus_id,
    parse_device_id,
    parse_driver_version,
    parse_uuid,
)
from gpuenv.host.nvidia.smi import parse_complaints, parse_refusal
from gpuenv.host.nvidia.smi_csv import FIELDS, parse_query
from gpuenv.host.nvidia.smi_messages import parse_complaint, quote
from gpuenv.host.nvidia.smi_table import parse_list, parse_table
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.variant import CudaVersion

FIXTURES = Path(__file__).parents[1] / "fixtures" / "nvidia-smi"


def fixture(name: str) -> str:
    return (FIXTURES / name).read_bytes().decode()


def facts(reading: SourceReading) -> list[tuple[int | None, str | None, str | None]]:
    return [
        (gpu.index, gpu.name, gpu.compute_capability and str(gpu.compute_capability)) for gpu in reading.gpus
    ]


@pytest.mark.parametrize(
    ("name", "driver", "gpus"),
    [
        ("525-t4", "525.60.13", [(0, "Tesla T4", "7.5")]),
        ("525-infocorrupt", "525.60.13", [(0, "Tesla T4", "7.5")]),
        ("531-windows", "531.79", [(0, "NVIDIA GeForce RTX 3080", "8.6")]),
        ("535-h100", "535.104.05", [(0, "NVIDIA H100 80GB HBM3", "9.0")]),
        (
            "535-v100-a100",
            "535.161.08",
            [(0, "Tesla V100-SXM2-16GB", "7.0"), (1, "NVIDIA A100-SXM4-40GB", "8.0")],
        ),
        ("570-headed", "570.133.07", [(0, "NVIDIA GeForce RTX 3080 Ti", "8.6")]),
        ("590-b200x8", "590.44.01", [(index, "NVIDIA B200", "10.0") for index in range(8)]),
        ("610-rtx5090", "610.43.02", [(0, "NVIDIA GeForce RTX 5090", "12.0")]),
    ],
)
def test_query_rows_give_driver_names_and_capabilities(name: str, driver: str, gpus: list[object]) -> None:
    reading = parse_query(fixture(f"query-{name}.csv"))

    assert reading.driver == Version(driver)
    assert facts(reading) == gpus
    assert reading.unread == 0


def test_a_whole_row_gives_every_field() -> None:
    (gpu,) = parse_query(fixture("query-535-h100.csv")).gpus

    assert gpu.memory_mib == 81559
    assert gpu.uuid == "GPU-3f1a9c7e-52b4-8d06-91ce-7a40d5e2b861"
    assert gpu.bus_id == "0000:1b:00.0"
    assert gpu.pci_id == "2330"
    assert gpu.mig is False


def test_header_and_units_change_nothing() -> None:
    plain = "0, Tesla T4, 525.60.13, 15360, 7.5\n"
    header = "index, name, driver_version, memory.total [MiB], compute_cap\n"
    headed = header + "0, Tesla T4, 525.60.13, 15360 MiB, 7.5\n"
    fields = ("index", "name", "driver_version", "memory.total", "compute_cap")

    assert parse_query(headed) == parse_query(plain, fields)


@pytest.mark.parametrize(
    "row",
    [
        "NVIDIA H100 80GB HBM3, 535.104.05, 9.0",
        "0, NVIDIA H100 80GB HBM3, 9.0, 535.104.05, 81559 MiB",
        "535.104.05, 9.0, NVIDIA H100 80GB HBM3, GPU-3f1a9c7e-52b4-8d06-91ce-7a40d5e2b861",
    ],
)
def test_rows_of_other_columns_are_read_by_their_looks(row: str) -> None:
    reading = parse_query(row)

    assert reading.driver == Version("535.104.05")
    assert facts(reading) == [(0, "NVIDIA H100 80GB HBM3", "9.0")]


def test_a_row_cut_short_keeps_what_is_whole() -> None:
    reading = parse_query(fixture("query-535-truncated.csv"))

    assert facts(reading) == [(0, "NVIDIA A100-SXM4-40GB", "8.0"), (1, "NVIDIA A100-SXM4-40GB", None)]


def test_older_drivers_leave_the_capability_open() -> None:
    fields = tuple(field for field in FIELDS if field not in {"compute_cap", "mig.mode.current"})

    assert facts(parse_query(fixture("query-390-k80-no-mig.csv"), fields)) == [(0, "Tesla K80", None)]


def test_mig_mode_is_told() -> None:
    assert parse_query(fixture("query-535-a100-mig.csv")).gpus[0].mig is True


def test_a_lost_gpu_and_errors_are_states_of_their_gpu_alone() -> None:
    lost = parse_query(fixture("query-525-lost.csv"))
    broken = parse_query(fixture("query-515-err.csv"))

    assert [gpu.states for gpu in lost.gpus] == [(), ("gpu-lost",)]
    assert [gpu.states for gpu in broken.gpus] == [(), ("gpu-error",)]
    assert broken.gpus[1].name == "NVIDIA GeForce RTX 2080 Ti"
    assert broken.gpus[1].memory_mib is None


def test_thousands_of_lines_are_bounded() -> None:
    reading = parse_query("\n".join(f"{index}, Tesla T4, 525.60.13, 7.5" for index in range(5000)))

    assert len(reading.gpus) <= 256
    assert reading.unread


@pytest.mark.parametrize("name", [path.name for path in FIXTURES.glob("failed-*.txt")])
def test_failures_are_no_rows_and_no_table(name: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_query(fixture(name))
    with pytest.raises(ValueError, match=r"."):
        parse_table(fixture(name))


@pytest.mark.parametrize("name", [path.name for path in FIXTURES.glob("table-*.txt")])
def test_a_table_is_no_query_answer(name: str) -> None:
    with pytest.raises(ValueError, match="none of its lines"):
        parse_query(fixture(name))


@pytest.mark.parametrize(
    ("name", "driver", "cuda", "gpus"),
    [
        ("390-k80", "390.157", None, ["Tesla K80", "Tesla K80"]),
        ("460-cut", "460.39", "11.2", ["GeForce RTX 308", "A100-SXM4-40GB"]),
        ("525-err", "525.85.12", "12.0", ["NVIDIA RTX A4000", "NVIDIA RTX A4000"]),
        ("535-localised", "535.104.05", "12.2", ["Tesla T4"]),
        ("535-v100", "535.104.05", "12.2", ["Tesla V100-SXM2-16GB"]),
        ("546-wsl", "546.33", "12.3", ["NVIDIA GeForce RTX 4090"]),
        ("551-windows", "551.86", "12.4", ["NVIDIA GeForce RTX 3060"]),
        ("580-snap", "580.95.05", "13.0", ["NVIDIA RTX A4000"]),
        ("610-b200", "610.43.02", "13.3", ["NVIDIA B200"]),
    ],
)
def test_tables_give_driver_cuda_and_names(name: str, driver: str, cuda: str | None, gpus: list[str]) -> None:
    reading = parse_table(fixture(f"table-{name}.txt"))

    assert reading.driver == Version(driver)
    assert (reading.cuda and str(reading.cuda)) == cuda
    assert [gpu.name for gpu in reading.gpus] == gpus


def test_a_table_tells_memory_bus_mig_and_cut_names() -> None:
    first, second = parse_table(fixture("table-460-cut.txt")).gpus

    assert (first.whole, second.whole) == (False, True)
    assert (first.bus_id, first.memory_mib, first.mig) == ("0000:01:00.0", 12053, None)
    assert (second.memory_mib, second.mig) == (40536, True)


def test_errors_in_a_table_belong_to_their_gpu() -> None:
    assert [gpu.states for gpu in parse_table(fixture("table-525-err.txt")).gpus] == [(), ("gpu-error",)]


def test_a_list_gives_whole_names_and_no_mig_devices() -> None:
    reading = parse_list(fixture("list-460.txt"))

    assert [(gpu.index, gpu.name) for gpu in reading.gpus] == [
        (0, "GeForce RTX 3080 Ti"),
        (1, "A100-SXM4-40GB"),
    ]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("localised", None),
        ("lost", "gpu-lost"),
        ("mismatch", "driver-mismatch"),
        ("no-devices", "no-devices"),
        ("no-library", "nvidia-smi-failed"),
        ("not-loaded", "driver-not-loaded"),
        ("unknown", "nvidia-smi-failed"),
        ("wsl-blocked", "nvidia-smi-failed"),
    ],
)
def test_complaints_are_told_apart(name: str, code: str | None) -> None:
    complaints = parse_complaints(fixture(f"failed-{name}.txt"))

    assert (complaints[0].code if complaints else None) == code


def test_a_refused_field_is_left_out_with_those_that_are_newer() -> None:
    without_capability = parse_refusal(fixture("refused-compute_cap.txt"), FIELDS)
    without_mig = parse_refusal(fixture("refused-mig.txt"), FIELDS)

    assert set(FIELDS) - set(without_capability) == {"compute_cap"}
    assert set(FIELDS) - set(without_mig) == {"compute_cap", "mig.mode.current"}
    assert parse_refusal(fixture("refused-mig.txt"), without_mig) == ()


def test_quotes_are_short_and_without_control_characters() -> None:
    assert quote("\n\x1b[31m" + "x" * 1000).startswith("[31m")
    assert len(quote("x" * 1000)) == 160
    assert quote("") == ""


CELLS = st.sampled_from(
    [
        "0",
        "1",
        "Tesla T4",
        "ERR!",
        "[N/A]",
        "[GPU is lost]",
        "8.6",
        "525.60.13",
        "Enabled",
        "name",
        "memory.total [MiB]",
    ]
) | st.text(max_size=12)
TEXTS = st.text() | st.lists(st.lists(CELLS, max_size=10).map(", ".join), max_size=6).map("\n".join)


def check_all(text: str) -> None:
    for parse in (parse_query, parse_table, parse_list):
        try:
            reading = parse(text)
        except ValueError:
            continue
        assert isinstance(reading, SourceReading)
        indices = [gpu.index for gpu in reading.gpus]
        assert len(set(indices)) == len(indices)


@given(TEXTS)
def test_any_text_is_a_reading_or_a_value_error(text: str) -> None:
    check_all(text)


@given(st.sampled_from(sorted(path.name for path in FIXTURES.glob("*.[ct][sx][vt]"))), st.data())
def test_any_cut_of_any_recording_is_a_reading_or_a_value_error(name: str, data: st.DataObject) -> None:
    text = fixture(name)
    check_all(text[: data.draw(st.integers(0, len(text)))])


@given(st.text())
def test_any_field_is_a_value_or_a_value_error(text: str) -> None:
    for parse in (parse_driver_version, parse_uuid, parse_bus_id, parse_device_id):
        with suppress(ValueError):
            parse(text)


@given(st.text())
def test_any_line_can_be_asked_for_a_complaint(text: str) -> None:
    complaint = parse_complaint(text)
    assert complaint is None or complaint.code
    parse_refusal(text, FIELDS)
    assert "\n" not in quote(text)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Tesla T4", "NVIDIA A100-SXM4-40GB", "NVIDIA GeForce RTX 5090"]),
            st.builds(ComputeCapability, st.integers(2, 19), st.integers(0, 9)),
            st.integers(1, 999_999),
        ),
        min_size=1,
        max_size=16,
    ),
    st.booleans(),
)
def test_what_was_printed_is_what_is_read(
    gpus: list[tuple[str, ComputeCapability, int]], carriage_returns: bool
) -> None:
    end = "\r\n" if carriage_returns else "\n"
    text = end.join(
        f"{index}, {name}, 535.104.05, GPU-{index}, 00000000:{index:02X}:00.0, 0x20B010DE,"
        f" {memory}, [N/A], {capability}"
        for index, (name, capability, memory) in enumerate(gpus)
    )

    reading = parse_query(text)

    assert [(gpu.name, gpu.compute_capability, gpu.memory_mib) for gpu in reading.gpus] == gpus


def test_cuda_of_a_header_that_is_cut_is_not_known() -> None:
    assert parse_table("Driver Version: 535.104.05 CUDA Version: N/A").cuda is None
    assert parse_table("Driver Version: 535.104.05 CUDA Version: 12.2").cuda == CudaVersion(12, 2)
