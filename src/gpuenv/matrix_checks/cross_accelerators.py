"""The tables of accelerators against each other: one function a contradiction."""

from __future__ import annotations

import re
from collections import defaultdict

from packaging.requirements import Requirement
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.matrix_checks.keys import Complaints, Rows, compares

_TAGS = {
    "linux-64": r"(many)?linux.*x86_64",
    "linux-aarch64": r"(many)?linux.*aarch64",
    "win-64": "win_amd64",
    "osx-arm64": r"macosx_\d+_\d+_arm64",
    "osx-64": r"macosx_\d+_\d+_x86_64",
}


@compares("accelerator-builds", "accelerator-architectures")
def _targets_are_known(builds: Rows, architectures: Rows) -> Complaints:
    known = defaultdict(set)
    for row in architectures:
        known[row["kind"]].update(row["code"])
    for row in builds:
        unknown = [target for target in row["targets"] if target not in known[row["kind"]]]
        if unknown:
            yield row, tr("no architecture runs code for `{target}`", target=unknown[0])


@compares("accelerator-devices", "accelerator-architectures")
def _devices_have_known_architectures(devices: Rows, architectures: Rows) -> Complaints:
    known = {(row["kind"], row["architecture"]) for row in architectures}
    for row in devices:
        if row["kind"] and (row["kind"], row["architecture"]) not in known:
            yield row, tr("its architecture `{name}` has no row", name=row["architecture"])


@compares("accelerator-builds")
def _tags_fit_platforms(builds: Rows) -> Complaints:
    for row in builds:
        wrong = [tag for tag in row["tags"] if not re.fullmatch(_TAGS[row["platform"]], tag)]
        if wrong:
            yield row, tr("tag `{tag}` on {platform}", tag=wrong[0], platform=row["platform"])


@compares("accelerator-builds")
def _mac_builds_state_their_floor(builds: Rows) -> Complaints:
    for row in builds:
        stated = row["requires"].get("macos")
        tagged = {".".join(tag.split("_")[1:3]) for tag in row["tags"] if tag.startswith("macosx")}
        if tagged and tagged != {stated}:
            yield row, tr("macOS {stated}, but its tags say {tagged}", stated=stated, tagged=min(tagged))
        if (row["kind"] == "mps") != ("mps" in row["requires"]):
            yield row, tr("a build for MPS names the macOS from which on MPS works, and no other build does")


@compares("accelerator-builds")
def _npu_builds_pair_with_their_torch(builds: Rows) -> Complaints:
    for row in builds:
        asked = row["requires"].get("torch")
        if (row["kind"] == "npu") != ("torch_npu" in row):
            yield row, tr("a build for an NPU names its torch_npu, and no other build does")
        elif asked and not Requirement(f"torch{asked}").specifier.contains(
            Version(row["torch"] + "+cpu" if "+cpu" in asked else row["torch"])
        ):
            yield (
                row,
                tr("torch {torch}, but its metadata asks for `{asked}`", torch=row["torch"], asked=asked),
            )


@compares("accelerator-builds", "accelerator-indexes")
def _builds_lie_on_known_indexes(builds: Rows, indexes: Rows) -> Complaints:
    known = {row["index"] for row in indexes if row["kind"] == "index"}
    for row in builds:
        if row["index"] not in known:
            yield row, tr("there is no index `{name}`", name=row["index"])


@compares("jetson", "accelerator-indexes")
def _boards_have_known_indexes(jetson: Rows, indexes: Rows) -> Complaints:
    known = {row["index"] for row in indexes if row["kind"] == "index"}
    for row in jetson:
        unknown = [choice["index"] for choice in row["torch_from"] if choice["index"] not in known]
        if unknown:
            yield row, tr("there is no index `{name}`", name=unknown[0])


@compares("accelerator-known-bad", "accelerator-architectures")
def _known_bad_names_known_architectures(known_bad: Rows, architectures: Rows) -> Complaints:
    known = {row["architecture"] for row in architectures}
    for row in known_bad:
        named = (name for condition in row["when"] for name in condition.get("architectures", ()))
        unknown = [name for name in named if name not in known]
        if unknown:
            yield row, tr("its architecture `{name}` has no row", name=unknown[0])


@compares("accelerator-known-bad")
def _what_is_judged_here_has_conditions(known_bad: Rows) -> Complaints:
    for row in known_bad:
        if (row["forbid"] or row["warn"]) and not row["when"]:
            yield row, tr("it forbids or warns, and names no condition")
