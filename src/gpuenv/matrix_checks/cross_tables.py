"""The rows of the matrices against each other: one function a contradiction."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import groupby, pairwise

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.matrix_checks.keys import Complaints, Row, Rows, compares
from gpuenv.model.variant import Variant, parse_cuda_version
from gpuenv.model.wheel import PLATFORM_TAGS
from gpuenv.resolution.gpu_coverage import driver_system

_COLUMNS = ("torchvision", "torchaudio", "torchtext")


@compares("conda")
@compares("torch")
def _variants_state_their_cuda(torch: Rows) -> Complaints:
    for row in torch:
        cuda = Variant(row["variant"]).cuda
        stated = parse_cuda_version(row["cuda"]) if row["cuda"] else None
        if cuda != stated:
            yield row, tr("variant `{variant}` with CUDA {cuda}", variant=row["variant"], cuda=row["cuda"])
        if (cuda is None) == bool(row["architectures"]):
            yield row, _architectures_apart(is_cuda=cuda is not None)


def _architectures_apart(*, is_cuda: bool) -> str:
    return tr("a CUDA build without architectures") if is_cuda else tr("a CPU build with architectures")


@compares("torch")
def _metadata_requires_their_cuda(torch: Rows) -> Complaints:
    for row in torch:
        required = row.get("requires_cuda")
        if required and (not row["cuda"] or parse_cuda_version(required) != parse_cuda_version(row["cuda"])):
            facts = {"variant": row["variant"], "required": required}
            yield row, tr("variant `{variant}`, whose metadata requires CUDA {required}", **facts)


@compares("torch")
def _cudnn_only_rises(torch: Rows) -> Complaints:
    stated = [row for row in torch if row["cudnn"]]
    kind = operator.itemgetter("platform", "index", "variant")
    for _, alike in groupby(sorted(stated, key=kind), kind):
        for before, row in pairwise(sorted(alike, key=lambda row: Version(row["torch"]))):
            if Version(row["cudnn"]) < Version(before["cudnn"]):
                facts = {"cudnn": row["cudnn"], "torch": before["torch"], "before": before["cudnn"]}
                yield row, tr("cuDNN {cudnn}, but torch {torch} already has {before}", **facts)


@compares("torch")
def _tags_fit_platforms(torch: Rows) -> Complaints:
    for row in torch:
        wrong = [tag for tag in row["tags"] if not _tag_fits(tag, row["platform"])]
        if wrong:
            yield row, tr("tag `{tag}` on {platform}", tag=wrong[0], platform=row["platform"])


def _tag_fits(tag: str, platform: str) -> bool:
    # `manylinux_2_17_aarch64.manylinux2014_aarch64` is a compressed set
    system, _, machine = PLATFORM_TAGS[platform].partition("_")
    return all(part.endswith(machine) and system in part for part in tag.split("."))


@compares("torch")
def _pypi_has_one_variant(torch: Rows) -> Complaints:
    seen: dict[tuple[str, str], str] = {}
    for row in torch:
        if row["index"] == "pypi":
            before = seen.setdefault((row["torch"], row["platform"]), row["variant"])
            if before != row["variant"]:
                yield row, tr("PyPI has `{before}` for this release and platform already", before=before)


@compares("torch", "cuda")
def _builds_have_floors(torch: Rows, cuda: Rows) -> Complaints:
    floors: set[tuple[str, str]] = set()
    for row in cuda:
        if row["kind"] in ("release", "family"):
            what = str(row["major"]) if row["kind"] == "family" else row["cuda"]
            floors.update((what, system) for system in ("linux", "windows") if row[system])
    for row in torch:
        system = driver_system(row["platform"])
        if row["cuda"] and not {(row["cuda"], system), (row["cuda"].partition(".")[0], system)} & floors:
            yield row, tr("CUDA {cuda} has no driver floor on {system}", cuda=row["cuda"], system=system)


@compares("cuda")
def _branches_rise(cuda: Rows) -> Complaints:
    branches = sorted(
        (row for row in cuda if row["kind"] == "branch"), key=lambda row: (row["os"], row["branch"])
    )
    for before, row in pairwise(branches):
        falls = parse_cuda_version(row["cuda"]) < parse_cuda_version(before["cuda"])
        if before["os"] == row["os"] and falls:
            yield row, tr("a newer branch with an older CUDA than branch {branch}", branch=before["branch"])


@compares("cuda")
def _releases_are_their_cuda(cuda: Rows) -> Complaints:
    for row in cuda:
        if row["kind"] == "release" and parse_cuda_version(row["release"]) != parse_cuda_version(row["cuda"]):
            yield row, tr("release {release} of CUDA {cuda}", release=row["release"], cuda=row["cuda"])


@compares("cuda")
def _capabilities_have_one_architecture(cuda: Rows) -> Complaints:
    seen: dict[str, str] = {}
    for row in cuda:
        for capability in row["compute_capabilities"] if row["kind"] == "architecture" else ():
            if capability in seen:
                yield (
                    row,
                    tr("{capability} is {before} already", capability=capability, before=seen[capability]),
                )
            seen[capability] = row["architecture"]


@compares("gpus", "cuda")
def _gpus_have_architectures(gpus: Rows, cuda: Rows) -> Complaints:
    names = {
        capability: row["architecture"]
        for row in cuda
        if row["kind"] == "architecture"
        for capability in row["compute_capabilities"]
    }
    for row in gpus:
        known = names.get(row["compute_capability"])
        if known != row["architecture"]:
            capability = row["compute_capability"]
            yield (
                row,
                (
                    tr("{capability} is {architecture}", capability=capability, architecture=known)
                    if known
                    else tr("{capability} is not an architecture in cuda.json", capability=capability)
                ),
            )


@compares("gpus")
def _pci_ids_have_one_capability(gpus: Rows) -> Complaints:
    seen: dict[str, str] = {}
    for row in gpus:
        for pci_id in row["pci_ids"]:
            before = seen.setdefault(pci_id, row["compute_capability"])
            if before != row["compute_capability"]:
                facts = {"pci_id": pci_id, "before": before}
                yield row, tr("PCI id {pci_id} has compute capability {before} elsewhere", **facts)


@compares("gpus")
def _names_prefer_one_capability(gpus: Rows) -> Complaints:
    preferred: dict[str, set[str]] = {}
    for row in gpus:
        preferred.setdefault(row["name"].lower(), set()).update(
            {row["compute_capability"]} if row["preferred"] else ()
        )
    for row in gpus:
        count = len(preferred[row["name"].lower()])
        if count != 1:
            yield row, tr("{count} compute capabilities are preferred for this name", count=count)


@compares("companions", "torch")
def _pairs_are_known(companions: Rows, torch: Rows) -> Complaints:
    torches = {row["torch"] for row in torch}
    releases = {(row["project"], row["version"]): row for row in companions if row["kind"] == "release"}
    for row in companions:
        if row["kind"] != "pair":
            continue
        if row["torch"] not in torches:
            yield row, tr("there is no torch {torch} in torch.json", torch=row["torch"])
        if ("versions" in row) == ("specifier" in row):
            yield row, tr("either versions or a specifier are required")
        for version in row.get("versions", ()):
            yield from _paired(row, version, releases.get((row["project"], version)))


def _paired(row: Row, version: str, release: Row | None) -> Complaints:
    facts = {"project": row["project"], "version": version}
    if release is None:
        yield row, tr("there is no release row for {project} {version}", **facts)
    elif release["requires_torch"] and not SpecifierSet(release["requires_torch"]).contains(row["torch"]):
        yield row, tr("{project} {version} requires torch{wanted}", wanted=release["requires_torch"], **facts)


@compares("torch", "companions")
def _columns_agree_with_pairs(torch: Rows, companions: Rows) -> Complaints:
    pairs = {(row["torch"], row["project"]): row for row in companions if row["kind"] == "pair"}
    for row in torch:
        for project in _COLUMNS:
            paired = pairs.get((row["torch"], project), {}).get("versions", ())
            missing = [version for version in row[project] if version not in paired]
            if missing:
                facts = {"project": project, "version": missing[0]}
                yield row, tr("companions.json does not pair {project} {version} with it", **facts)
        triton = pairs.get((row["torch"], "triton"), {}).get("specifier")
        if row["triton"] and row["triton"] != triton:
            facts = {"paired": triton, "version": row["triton"]}
            yield row, tr("companions.json pairs triton {paired} with it, not {version}", **facts)


@compares("known-bad")
def _remedies_are_possible(known_bad: Rows) -> Complaints:
    for row in known_bad:
        acts = bool(row["constrain"] or row["add"] or row["forbid"] or row["avoid"] or row["warn"])
        if (row["constrain"] or row["add"]) and row["forbid"]:
            yield row, tr("forbidden, but fixed by a constraint")
        if acts and not row["when"]:
            yield row, tr("acts without a condition")
        if row["judge"] == "known-bad" and not acts:
            yield row, tr("the plan judges it, and does nothing about it")


@compares("images")
def _what_is_compiled_can_run(images: Rows) -> Complaints:
    runtimes = {(row["release"], row["python"]) for row in images if row["flavour"] == "cuda-runtime"}
    for row in images:
        if row["flavour"] == "cuda-devel" and (row["release"], row["python"]) not in runtimes:
            yield row, tr("no image to run what is compiled in it")
        if (row["cuda"] is None) != (row["flavour"] == "slim"):
            yield row, tr("flavour `{flavour}` with CUDA {cuda}", flavour=row["flavour"], cuda=row["cuda"])


@compares("pythons")
def _pythons_follow_each_other(pythons: Rows) -> Complaints:
    rows = sorted(pythons, key=lambda row: Version(row["version"]))
    for before, row in pairwise(rows):
        if row["released"] <= before["released"]:
            facts = {"version": row["version"], "before": before["version"]}
            yield row, tr("Python {version} came out before Python {before}", **facts)


_KEY = ("torch", "variant", "platform", "index")


@compares("dependencies", "torch")
def _builds_are_known(dependencies: Sequence[Row], torch: Sequence[Row]) -> Complaints:
    known = {tuple(row[name] for name in _KEY) for row in torch}
    for row in dependencies:
        if row["kind"] == "build" and tuple(row[name] for name in _KEY) not in known:
            yield row, tr("torch.json has no such build")


@compares("ecosystem")
def _sets_are_there(rows: Sequence[Row]) -> Complaints:
    known = {row["set"] for row in rows if row["kind"] == "set"}
    for row in rows:
        name = row.get("set")
        if name is not None and name not in known:
            yield row, tr("no set is called `{name}`", name=name)


@compares("ecosystem")
def _projects_name_their_sets(rows: Sequence[Row]) -> Complaints:
    sets = {row["project"]: row["set"] for row in rows if row["kind"] == "project"}
    for row in rows:
        for project in row["projects"] if row["kind"] == "set" else ():
            if sets.get(project) != row["set"]:
                yield row, tr("the row of {project} does not name this set", project=project)
