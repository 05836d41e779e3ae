"""What mirrors answered is judged: the files, newest torch, links, lengths; and they are put in order."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from gpuenv.indexes.mirrors.verdict import (
    MirrorStatus,
    ProbeResult,
    by_rank,
    judge,
    lengths_agreed,
    not_asked,
)
from gpuenv.indexes.mirrors.wanted_files import (
    ProbeTarget,
    WantedFiles,
    file_to_read,
    find_target,
    newest_file,
)
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.mirror import Mirror, PypiPart, TorchPart
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import IndexKind, WheelFile

HOST = "mirror.example.com"
TORCH = "torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
VISION = "torchvision-0.29.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
PYPI = "torch-2.10.0-cp312-cp312-manylinux_2_28_x86_64.whl"
LENGTH = 800_000_000
MIRROR = Mirror(
    "lab", "the lab's", "university", "alive", "a test", hosts=(HOST,), pypi=PypiPart(f"https://{HOST}/simple"),
    torch=TorchPart(f"https://{HOST}/whl/{{variant}}", "pep503", hashes=True),
)  # fmt: skip
OF_PYPI = replace(MIRROR, name="general", torch=None)


def wheel(
    filename: str, *, host: str = HOST, sha256: str | None = None, size: int | None = None
) -> WheelFile:
    name, version, _, tags = parse_wheel_filename(filename)
    variant = Variant(version.local) if version.local else None
    url = f"https://{host}/files/{filename}"
    return WheelFile(name, version, tags, filename, url, variant, sha256=sha256, size=size)


def listing(*files: WheelFile, kind: IndexKind = "pytorch", project: str = "torch", **more: str) -> Listing:
    source = IndexSource(kind, f"https://{HOST}/{kind}", "a test", "lab", hosts=(HOST,))
    return Listing(source, canonicalize_name(project), files, f"{source.url}/{project}/", **more)


def sought(filename: str, kind: IndexKind = "pytorch", sha256: str | None = None) -> ProbeTarget:
    file = wheel(filename)
    release = Version(file.version.public)
    return ProbeTarget(kind, file.name, release, file.variant, filename, file.tags, sha256)


WANTED = WantedFiles(
    groups=((sought(TORCH), sought(VISION)),),
    platform="linux-64",
    instead=(sought(PYPI, "pypi"),),
    newest=(("pytorch", Version("2.15.0")), ("pypi", Version("2.15.0"))),
)
BOTH = (listing(wheel(TORCH)), listing(wheel(VISION), project="torchvision"))
WELL = ProbeResult(BOTH, wheel(TORCH), 9_000_000, LENGTH, f"https://{HOST}/files/{TORCH}")


def judged(
    reading: ProbeResult, mirror: Mirror = MIRROR, lengths: dict[str, int] | None = None
) -> MirrorStatus:
    return judge(mirror, reading, WANTED, lengths or {})


# verdicts


def test_a_mirror_with_all_files_of_the_plan_has_them() -> None:
    verdict = judged(WELL)
    assert (verdict.answers, verdict.has, verdict.leaks, verdict.problem) == (True, True, (), None)
    assert (verdict.newest_torch, verdict.stale, verdict.bytes_per_s) == ("2.14.1", True, 9_000_000)


def test_a_companion_that_is_missing_is_named() -> None:
    verdict = judged(replace(WELL, listings=(BOTH[0], listing(project="torchvision"))))
    assert verdict.has is False
    assert VISION in str(verdict.problem)
    assert TORCH not in str(verdict.problem)


def test_a_mirror_none_of_whose_pages_could_be_read_does_not_answer() -> None:
    down = listing(problem="answered 403")
    verdict = judged(ProbeResult((down,)))
    assert (verdict.answers, verdict.has) == (False, False)
    assert verdict.problem == f"{down.page} answered 403"
    assert (verdict.newest_torch, verdict.stale, verdict.leaks) == (None, None, None)


def test_a_page_that_is_down_beside_one_that_serves_is_told() -> None:
    down = listing(kind="pypi", problem="answered 504")
    verdict = judged(replace(WELL, listings=(*BOTH, down)))
    assert verdict.has is True
    assert "504" in str(verdict.problem)


def test_a_copy_of_pypi_is_told_to_have_the_build_of_pypi_that_fits() -> None:
    pages = (listing(wheel(PYPI), kind="pypi"),)
    verdict = judged(ProbeResult(pages, wheel(PYPI), 1, LENGTH), OF_PYPI)
    assert verdict.has is False
    assert PYPI in str(verdict.problem)
    assert verdict.newest_torch == "2.10.0"
    without = judged(ProbeResult((listing(kind="pypi"),)), OF_PYPI)
    assert PYPI not in str(without.problem)


def test_a_file_that_can_not_be_read_is_not_had() -> None:
    verdict = judged(ProbeResult(BOTH, wheel(TORCH), problem="answered 403"))
    assert (verdict.answers, verdict.has, verdict.bytes_per_s) == (True, False, None)
    assert verdict.problem == f"{TORCH} answered 403"


def test_a_file_of_another_length_is_not_had_whole() -> None:
    verdict = judged(WELL, lengths={TORCH: LENGTH * 2})
    assert verdict.has is False
    assert str(LENGTH) in str(verdict.problem)
    own_page = replace(WELL, file=wheel(TORCH, size=LENGTH + 1))
    assert judged(own_page).has is False


def test_another_digest_than_is_known_is_told() -> None:
    known = replace(WANTED, groups=((sought(TORCH, sha256="a" * 64), sought(VISION)),))
    for digest, has in (("a" * 64, True), ("b" * 64, False), (None, True)):
        verdict = judge(MIRROR, replace(WELL, file=wheel(TORCH, sha256=digest)), known, {})
        assert verdict.has is has


def test_hosts_that_links_pages_and_redirects_lead_to_are_leaks() -> None:
    other = "files.example.org"
    by_link = listing(wheel(TORCH, host=other))
    assert judged(ProbeResult((by_link,), by_link.files[0], 1, LENGTH)).leaks == (other,)
    by_page = listing(wheel(TORCH), read_at=f"https://{other}/torch/")
    assert judged(ProbeResult((by_page,))).leaks == (other,)
    by_file = replace(WELL, read_at=f"https://{other}/{TORCH}")
    assert judged(by_file).leaks == (other,)


def test_stale_is_judged_by_whose_builds_a_mirror_has() -> None:
    newest = wheel("torch-2.15.0+cu130-cp312-cp312-manylinux_2_28_x86_64.whl")
    later = wheel("torch-2.16.0.dev1+cu130-cp312-cp312-manylinux_2_28_x86_64.whl")
    verdict = judged(replace(WELL, listings=(listing(wheel(TORCH), newest, later), BOTH[1])))
    assert (verdict.newest_torch, verdict.stale) == ("2.15.0", False)


def test_a_mirror_that_was_shut_down_or_has_no_part_of_use_is_not_asked() -> None:
    gone = not_asked(replace(MIRROR, status="retired"))
    assert gone is not None
    assert (gone.answers, gone.has) == (False, False)
    bare = not_asked(replace(MIRROR, pypi=None, torch=None))
    assert bare is not None
    assert bare.answers is None
    assert not_asked(MIRROR) is None


# finding files


def test_a_file_is_found_under_another_platform_tag_of_its_platform_alone() -> None:
    older = TORCH.replace("manylinux_2_28_x86_64", "manylinux1_x86_64")
    others = [
        TORCH.replace("x86_64", "aarch64"),
        TORCH.replace("cp312", "cp311"),
        TORCH.replace("2.14.1", "2.14.0"),
    ]
    others.append(TORCH.replace("cu126", "cu130"))
    file = find_target(sought(TORCH), [listing(*map(wheel, [*others, older]))], "linux-64")
    assert file is not None
    assert file.filename == older
    assert find_target(sought(TORCH), [listing(*map(wheel, others))], "linux-64") is None
    exact = find_target(sought(TORCH), [listing(wheel(older), wheel(TORCH))], "linux-64")
    assert exact is not None
    assert exact.filename == TORCH


def test_a_build_of_pypi_is_none_of_the_pytorch_index() -> None:
    assert find_target(sought(TORCH), [listing(wheel(TORCH), kind="pypi")], "linux-64") is None
    assert find_target(sought(PYPI, "pypi"), [listing(wheel(PYPI))], "linux-64") is None


def test_what_is_measured_is_the_plan_s_file_else_that_of_pypi_else_the_newest() -> None:
    newest = wheel("torch-2.15.0+cu130-cp312-cp312-manylinux_2_28_x86_64.whl")
    of_pypi = listing(wheel(PYPI), kind="pypi")
    picked = [
        file_to_read(WANTED, pages)
        for pages in (
            (listing(newest, wheel(TORCH)), of_pypi),
            (listing(newest), of_pypi),
            (listing(newest),),
            (),
        )
    ]
    assert [file and file.filename for file in picked] == [TORCH, PYPI, newest.filename, None]
    windows = wheel("torch-2.15.0+cu130-cp312-cp312-win_amd64.whl")
    assert newest_file([listing(windows)], "linux-64") is None
    assert newest_file([listing(windows)]) == windows


# lengths


def test_the_length_that_most_have_counts_and_the_official_one_before_all() -> None:
    def of(length: int | None) -> ProbeResult:
        return replace(WELL, length=length)

    assert lengths_agreed([of(5), of(5), of(4)]) == {TORCH: 5}
    assert lengths_agreed([of(5), of(4)]) == {}
    assert lengths_agreed([of(5), of(None), ProbeResult(())]) == {}
    assert lengths_agreed([of(5), of(5), of(4)], of(4)) == {TORCH: 4}


# order

VERDICTS = st.builds(
    MirrorStatus,
    name=st.integers(0, 50).map(str),
    kind=st.just("university"),
    answers=st.sampled_from([True, False, None]),
    has=st.sampled_from([True, False, None]),
    leaks=st.sampled_from([None, (), ("files.example.org",)]),
    bytes_per_s=st.one_of(st.none(), st.integers(0, 100)),
)


@given(st.lists(VERDICTS, unique_by=lambda verdict: verdict.name))
def test_ranks_number_those_that_have_it_whole_from_the_fastest_on(verdicts: list[MirrorStatus]) -> None:
    ordered = by_rank(verdicts)
    assert {mirror_status.name for mirror_status in ordered} == {
        mirror_status.name for mirror_status in verdicts
    }
    ranked = [mirror_status for mirror_status in ordered if mirror_status.rank is not None]
    assert [mirror_status.rank for mirror_status in ranked] == list(range(1, len(ranked) + 1))
    assert all(mirror_status.has and mirror_status.bytes_per_s for mirror_status in ranked)
    assert ordered[: len(ranked)] == tuple(ranked)
    for status, other in pairwise(ranked):
        assert (bool(status.leaks), -(status.bytes_per_s or 0)) <= (
            bool(other.leaks),
            -(other.bytes_per_s or 0),
        )
