"""What a conda tool has solved is given to it as a list: it solves once, and leaves what a solve would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conda_making import PLAN, SUCCESS, a_tool, make
from fake_conda import Transcript, a_wanted, called, faked, planned, transcript
from msgspec.structs import replace

from gpuenv.environments.conda.create import CondaRunning
from gpuenv.environments.conda.create_somewhere import create_somewhere
from gpuenv.installers.conda.check_solution import Tool, parse_fetch
from gpuenv.installers.conda.solve import Solved, solve_somewhere
from gpuenv.installers.conda.tool import CondaTool
from gpuenv.model.conda import CondaChannel, CondaRecord
from gpuenv.model.errors import InstallFailed

RECORDS = planned(PLAN, "micromamba")
TORCH = next(record for record in RECORDS if record.name == "pytorch")


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    return tmp_path / "envs" / "lab"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def running(tmp_path: Path, said: list[str]) -> CondaRunning:
    return CondaRunning(
        called(tmp_path), tmp_path / "log", (str(tmp_path / "pkgs"),), lists=True, detail=said.append
    )


def solved(prefix: Path, fetch: tuple[CondaRecord, ...] = ()) -> Solved:
    return Solved(a_wanted(prefix), RECORDS, fetch)


def history(prefix: Path) -> str:
    return (prefix / "conda-meta" / "history").read_text(encoding="utf-8")


def recorded(prefix: Path, record: CondaRecord) -> dict[str, object]:
    file = prefix / "conda-meta" / f"{record.name}-{record.version}-{record.build}.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize(
    ("tool", "answer"), [("conda", "conda-explicit256"), ("micromamba", "mm-explicit256")]
)
def test_the_tool_gets_what_it_solved_with_hashes_in_its_order(
    tmp_path: Path, running: CondaRunning, prefix: Path, tool: Tool, answer: str
) -> None:
    fake = a_tool(tmp_path, tool, answer).makes(RECORDS)
    make(fake, running, solved(prefix))
    rows = [f"{record.url}#sha256:{record.sha256}" for record in RECORDS]
    assert fake.listed == "\n".join(("# platform: linux-64", "@EXPLICIT", *rows, ""))
    assert fake.solves == 0


def test_the_list_is_its_users_alone_and_gone_afterwards(
    tmp_path: Path, running: CondaRunning, prefix: Path
) -> None:
    fake = a_tool(tmp_path).makes(RECORDS)
    make(fake, running, solved(prefix))
    assert (fake.folder / "list.mode").read_text(encoding="utf-8") == "700\n"
    assert not fake.list_file.parent.exists()


def test_the_history_has_what_was_asked_for_not_each_build(
    tmp_path: Path, running: CondaRunning, prefix: Path
) -> None:
    specs = ("python 3.11.*", "pip", "pytorch 2.8.0 cuda128*", "cudnn")
    make(a_tool(tmp_path).makes(RECORDS), running, Solved(a_wanted(prefix, specs=specs), RECORDS, ()))
    assert history(prefix).splitlines()[-1] == (
        '# update specs: ["python 3.11.*", "pip", "pytorch 2.8.0 cuda128*", "cudnn", "torchvision"]'
    )  # torchvision stands for what a condarc adds: no package needs it


def test_records_say_what_the_channel_says_and_who_was_asked_for(
    tmp_path: Path, running: CondaRunning, prefix: Path
) -> None:
    make(a_tool(tmp_path).makes(RECORDS), running, solved(prefix))
    torch = recorded(prefix, TORCH)
    assert (torch["depends"], torch["requested_spec"]) == (list(TORCH.depends), "pytorch 2.8.0 cuda128*")
    other = next(record for record in RECORDS if record.name == "libzlib")
    assert "requested_spec" not in recorded(prefix, other)


def test_the_record_of_a_package_fetched_is_mended_in_the_cache(
    tmp_path: Path, running: CondaRunning, prefix: Path
) -> None:
    file = tmp_path / "pkgs" / TORCH.filename.removesuffix(".conda") / "info" / "repodata_record.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"name": "pytorch", "depends": [], "size": 7}), encoding="utf-8")
    make(a_tool(tmp_path).makes(RECORDS), running, solved(prefix, (TORCH,)))
    document = json.loads(file.read_text(encoding="utf-8"))
    assert (document["depends"], document["size"]) == (list(TORCH.depends), 7)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sha256": None}, "does not tell the hash of pytorch-2.8.0"),
        ({"url": ""}, "does not tell the address of pytorch-2.8.0"),
        ({"url": f"https://conda.example/t/***/x/linux-64/{TORCH.filename}"}, "does not tell the address"),
    ],
)
def test_without_an_address_or_a_hash_the_tool_solves_again_and_it_is_said(
    tmp_path: Path,
    running: CondaRunning,
    prefix: Path,
    said: list[str],
    change: dict[str, str | None],
    reason: str,
) -> None:
    records = tuple(replace(record, **change) if record is TORCH else record for record in RECORDS)
    fake = a_tool(tmp_path).makes(RECORDS)
    make(fake, running, Solved(a_wanted(prefix), records, ()))
    assert (fake.listed, fake.solves) == (None, 1)
    assert len(said) == 1
    assert reason in said[0]


def test_a_package_fetched_from_elsewhere_is_left_to_the_tool(
    tmp_path: Path, running: CondaRunning, prefix: Path, said: list[str]
) -> None:
    wanted = a_wanted(
        prefix, channels=(CondaChannel("conda-forge", ("https://mirror.example/conda-forge",)),)
    )
    fake = a_tool(tmp_path).makes(RECORDS)
    make(fake, running, Solved(wanted, RECORDS, (TORCH,)))
    assert fake.listed is None
    assert "comes from none of the channels" in said[0]


def secretly(prefix: Path, login: str) -> Solved:
    """Return what was solved with a server that asks for a password or a token."""
    base = f"https://{login}/conda-forge"
    records = tuple(
        replace(record, url=record.url.replace("file:///srv/channel/conda-forge", base)) for record in RECORDS
    )
    return Solved(a_wanted(prefix, channels=(CondaChannel("conda-forge", (base,)),)), records, records)


def test_no_password_is_written_into_a_list_that_libmamba_would_record(
    tmp_path: Path, running: CondaRunning, prefix: Path, said: list[str]
) -> None:
    fake = a_tool(tmp_path).makes(RECORDS)
    make(fake, running, secretly(prefix, "user:pa55word@conda.example"))
    assert fake.listed is None
    assert "passwords" in said[0]


@pytest.mark.parametrize("login", ["user:pa55word@conda.example", "conda.example/t/to-ken-1234"])
def test_conda_gets_the_password_in_a_file_that_is_removed(
    tmp_path: Path, running: CondaRunning, prefix: Path, login: str
) -> None:
    fake = a_tool(tmp_path, "conda").makes(RECORDS)
    make(fake, running, secretly(prefix, login))
    assert login in (fake.listed or "")
    assert login not in running.log.read_text(encoding="utf-8")
    assert not fake.list_file.parent.exists()


def conda_cache(tmp_path: Path, records: tuple[CondaRecord, ...]) -> None:
    for record in records:
        folder = tmp_path / "pkgs" / record.filename / "info"
        folder.mkdir(parents=True)
        url = f"https://first.example/conda-forge/{record.subdir}/{record.filename}.conda"
        row = {
            "name": record.name, "version": record.version, "build": record.build,
            "fn": f"{record.filename}.conda", "url": url, "sha256": "0" * 64, "depends": ["as cached"],
        }  # fmt: skip
        (folder / "repodata_record.json").write_text(json.dumps(row), encoding="utf-8")


def test_condas_cached_packages_have_the_address_that_their_cache_knows(
    tmp_path: Path, running: CondaRunning, prefix: Path
) -> None:
    records = planned("condalm-dry", "conda")
    fetch = parse_fetch(transcript("condalm-dry").out, "conda")
    cached = tuple(record for record in records if not record.url)
    conda_cache(tmp_path, cached)
    fake = a_tool(tmp_path, "conda").makes(records)
    make(fake, running, Solved(a_wanted(prefix, pins=()), records, fetch))
    assert fake.listed is not None
    assert fake.listed.count("https://first.example/") == len(cached)


def test_a_tool_that_fails_with_a_list_makes_it_by_solving(
    tmp_path: Path, running: CondaRunning, prefix: Path
) -> None:
    fake = a_tool(tmp_path).makes(RECORDS).refuses_lists()
    tool = CondaTool("micromamba", str(fake.program))
    create_somewhere(tool, solved(prefix), running, "linux", lambda _: None)
    assert (prefix / "conda-meta" / "history").exists()
    assert fake.solves == 1


def test_a_history_of_another_form_is_not_taken_for_done(
    tmp_path: Path, running: CondaRunning, prefix: Path
) -> None:
    fake = a_tool(tmp_path).makes(RECORDS)
    (fake.folder / "history").write_text("", encoding="utf-8")
    with pytest.raises(InstallFailed) as raised:
        make(fake, running, solved(prefix))
    assert raised.value.code == "not-as-planned"
    assert not prefix.exists()


def test_a_mirror_that_fails_with_the_list_is_followed_by_the_next(
    tmp_path: Path, running: CondaRunning, prefix: Path
) -> None:
    fake, found = faked(tmp_path, "micromamba")
    fake.answers("plan", PLAN).answers("make", SUCCESS).makes(RECORDS)
    fake.is_rotten_at("file:///srv/channel", "mm-corrupt")
    bases = ("file:///srv/channel", "https://second.example")
    channels = (CondaChannel("conda-forge", tuple(f"{base}/conda-forge" for base in bases)),)
    plan = solve_somewhere(found, a_wanted(prefix, channels=channels), running.calling)
    create_somewhere(found, plan, running, "linux", lambda _: None)
    first, again = (call for call in fake.calls if "--dry-run" not in call)
    assert "--file" in first
    assert "--file" not in again  # what is replayed comes from the first


def test_a_package_of_another_hash_than_listed_is_corrupt(
    tmp_path: Path, running: CondaRunning, prefix: Path
) -> None:
    with pytest.raises(InstallFailed) as raised:
        make(a_tool(tmp_path, answer="mm-explicit-bad"), running, solved(prefix))
    assert (raised.value.data or {})["kind"] == "corrupt"


def test_an_answer_of_success_with_a_list_is_believed_only_by_what_is_there(
    tmp_path: Path, running: CondaRunning, prefix: Path
) -> None:
    fake = a_tool(tmp_path, answer=Transcript(0, "", ""))
    with pytest.raises(InstallFailed):
        make(fake, running, solved(prefix))
    assert not prefix.exists()
