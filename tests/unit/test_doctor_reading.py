"""What doctor reads: every parser takes its samples, and raises nothing but ValueError for anything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from patients import elf

from gpuenv.doctor.probes.gpus import parse_states
from gpuenv.doctor.probes.kernel import parse_modules
from gpuenv.doctor.probes.system import parse_cpu_flags, parse_os_release, read_variables
from gpuenv.environments.contents.dists import parse_headers, parse_record, parse_tags
from gpuenv.environments.contents.pyvenv import parse_pyvenv
from gpuenv.environments.interpreter import parse_answer
from gpuenv.environments.snapshot import SnapshotManifest, parse_manifest
from gpuenv.installers.dry_run import PackageChange, parse_pip_report, parse_uv_changes
from gpuenv.model.findings import GpuState
from gpuenv.wheels.elf import LinkedLibraries, parse_needs


def _reader(data: bytes) -> Callable[[int, int], bytes]:
    return lambda offset, size: data[offset : offset + size] if offset >= 0 else b""


def test_a_library_tells_what_it_is_linked_with() -> None:
    data = elf("libcudart.so.12", "libcudnn.so.9")
    assert parse_needs(_reader(data)) == LinkedLibraries(
        ("libcudart.so.12", "libcudnn.so.9"), None, "$ORIGIN/../../nvidia/cudnn/lib"
    )


@given(st.binary(max_size=400), st.integers(0, 400), st.binary(max_size=40))
def test_a_spoiled_library_is_a_value_error_or_read(noise: bytes, place: int, patch: bytes) -> None:
    sound = elf("libcudart.so.12")
    spoiled = sound[:place] + patch + sound[place + len(patch) :]
    for data in (noise, spoiled, spoiled[:place]):
        with suppress(ValueError):
            parse_needs(_reader(data))


def test_states_are_read_as_nvidia_smi_prints_them() -> None:
    text = "0, Default, 1024, 24564, [N/A], Not Active\n1, Exclusive_Process, [N/A], 24564, 3, Active\n"
    assert parse_states(text) == (
        GpuState(0, "Default", 1024, 24564, None, too_hot=False),
        GpuState(1, "Exclusive_Process", None, 24564, 3, too_hot=True),
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('NAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\nID_LIKE=debian\n', ("ubuntu", "debian")),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', ("linuxmint", "ubuntu", "debian")),
        ("ID_LIKE='rhel centos fedora'\r\nID=\"rocky\"\r\n", ("rocky", "rhel", "centos", "fedora")),
        ("# ID=arch\nID=Debian # by hand\n", ("debian",)),
        ('ID="unclosed\nID_LIKE=debian', ("debian",)),
        ("", ()),
    ],
)
def test_a_distribution_names_itself_and_those_it_is_like(text: str, names: tuple[str, ...]) -> None:
    assert parse_os_release(text) == names


@given(st.text(st.sampled_from("ID_LIKE=\"' ubuntu\n#\\\0"), max_size=40))
def test_a_garbled_release_file_names_words_or_nothing(text: str) -> None:
    assert all(name == name.lower() and name.split() == [name] for name in parse_os_release(text))


def test_modules_are_those_of_graphics_drivers() -> None:
    text = "nvidia_uvm 1437696 0 - Live 0x0 (POE)\nsnd 1 0\nnouveau 2 0 - Live\nxnvidia 1 0\n"
    assert parse_modules(text) == ("nvidia_uvm", "nouveau")


def test_flags_of_the_processor_are_whole_words() -> None:
    assert parse_cpu_flags("flags\t\t: fpu avx512vnni avx2 sse4_2\nflags: avx\n") == ("avx2", "sse4_2")


def test_headers_need_a_name_and_a_version() -> None:
    text = (
        "Metadata-Version: 2.1\nName: Torch_Vision\nVersion: 1.0\nRequires-Dist: torch\n (==2)\n\nName: x\n"
    )
    assert parse_headers(text) == ("torch-vision", "1.0", ("torch (==2)",))
    for bad in ("", "Name: x", "Version: 1", "Name:\nVersion: 1"):
        with pytest.raises(ValueError, match="project"):
            parse_headers(bad)


def test_a_record_is_read_line_by_line() -> None:
    text = 'a.py,sha256=x,10\n"odd, name.py",,\nb.py\n,sha256=x,1\n../../bin/x,sha256=y,7x\n'
    assert list(parse_record(text)) == [("a.py", 10), ("odd, name.py", None), ("../../bin/x", None)]


def test_tags_are_told_one_a_line() -> None:
    assert parse_tags("Wheel-Version: 1.0\nTag: cp312-x\nTag:\nTag: cp313-x\n") == ("cp312-x", "cp313-x")


def test_an_answer_stands_behind_its_mark() -> None:
    text = 'noise {"packages": 1}\ngpuenv-interpreter:{"packages": ["/x"]}\n'
    assert parse_answer(text) == {"packages": ["/x"]}
    for bad in ("", "gpuenv-interpreter:", "gpuenv-interpreter:[]", "gpuenv-interpreter:{}"):
        with pytest.raises(ValueError, match=r"."):
            parse_answer(bad)


def test_a_manifest_leads_nowhere_else(tmp_path: Path) -> None:
    places = ["lib/site-packages", "../elsewhere", "/etc"]
    noted = {"names": ["torch"], "places": places, "before": ["bin/python"], "cleared": False}
    inside = (str(tmp_path / "lib/site-packages"),)
    assert parse_manifest(noted, tmp_path) == SnapshotManifest(("torch",), inside, frozenset({"bin/python"}))


def test_uvs_changes_are_told_by_name() -> None:
    text = (
        "Resolved 2 packages in 0.50ms\nWould uninstall 2 packages\nWould install 2 packages\n"
        " - My_Lib==1.0\n - torch==2.7.1+cpu\n + bbb==1.0\n + torch==2.7.1+cu126\n ~ numpy==1.26.4\n"
    )
    assert parse_uv_changes(text) == (
        PackageChange("bbb", None, "1.0"),
        PackageChange("my-lib", "1.0", None),
        PackageChange("numpy", "1.26.4", "1.26.4"),
        PackageChange("torch", "2.7.1+cpu", "2.7.1+cu126"),
    )


def test_uvs_changes_by_address_have_the_version_of_the_wheel() -> None:
    wheel = "https://h.example/flash_attn-2.8.3%2Bcu12-cp312-cp312-linux_x86_64.whl#sha256=5d1f"
    source = "git+https://h.example/x.git@5d1f"
    assert parse_uv_changes(f" + flash-attn @ {wheel}\n + x @ {source}\n + y==1.0 (from {wheel})\n") == (
        PackageChange("flash-attn", None, "2.8.3+cu12", wheel),
        PackageChange("x", None, "?", source),
        PackageChange("y", None, "1.0", wheel),
    )


def test_pips_report_is_told_by_name() -> None:
    text = json.dumps({"version": "1", "install": [{"metadata": {"name": "Torch", "version": "2.7.1"}}]})
    assert parse_pip_report(text, {"torch": "2.6"}) == (PackageChange("torch", "2.6", "2.7.1"),)


PARSERS: tuple[Callable[[str], object], ...] = (
    parse_states,
    parse_modules,
    parse_cpu_flags,
    parse_headers,
    lambda text: list(parse_record(text)),
    parse_tags,
    parse_answer,
    lambda text: parse_answer(f"gpuenv-interpreter:{text}"),
    parse_pyvenv,
    lambda text: parse_manifest(text, Path("/e")),
    parse_uv_changes,
    lambda text: parse_pip_report(text, {}),
)
LINES = st.text() | st.lists(
    st.sampled_from(
        ["Name: x", "Version: 1", "0, Default, 1, 2, 3, Active", " - a==1", '"a', "a,b,c", "{}", "[]"]
    )
    | st.text(max_size=9)
).map("\n".join)


@pytest.mark.parametrize("parse", PARSERS)
@given(text=LINES)
@example(text="[" * 100_000)
@example(text='{"names": 1, "places": 2}')
@example(text='{"install": [1]}')
def test_any_text_is_read_or_refused(parse: Callable[[str], object], text: str) -> None:
    with suppress(ValueError):
        parse(text)


def test_secrets_of_services_are_not_kept() -> None:
    environ = {
        "KAGGLE_USER_SECRETS_TOKEN": "x",
        "KAGGLE_KERNEL_RUN_TYPE": "Interactive",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_ACCOUNT": "lab",
        "CUDA_VISIBLE_DEVICES": "0",
        "AWS_SECRET_ACCESS_KEY": "x",
        "HOME": "/home/u",
    }
    assert read_variables(environ) == (
        ("CUDA_VISIBLE_DEVICES", "0"),
        ("KAGGLE_KERNEL_RUN_TYPE", ""),
        ("SLURM_JOB_ACCOUNT", ""),
        ("SLURM_JOB_ID", "7"),
    )
