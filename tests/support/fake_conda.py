"""Fake conda, mamba and micromamba: they replay what the real ones printed (tests/transcripts/conda)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from gpuenv.installers.conda.check_solution import Tool, parse_dry_run
from gpuenv.installers.conda.tool import Calling, CondaTool
from gpuenv.model.conda import CondaChannel, CondaPin, CondaRecord, CondaWanted

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts" / "conda"
_PARTS = re.compile(r"exit: (\d+)|rc (-?\d+) ")
_SCRIPT = """#!/bin/sh
d=$0.d
echo "$*" >> "$d/calls"
offline="$CONDA_OFFLINE|$MAMBA_OFFLINE"
echo "$CONDARC|$CONDA_OVERRIDE_CUDA|$CONDA_SUBDIR|$CONDA_CHANNELS|$PYTHONPATH|$offline" >> "$d/variables"
prefix= json= dry= before= list=
for word in "$@"; do
    if [ "$before" = -p ]; then prefix=$word; fi
    if [ "$before" = --file ]; then list=$word; fi
    case $word in --json) json=json ;; --dry-run) dry=dry ;; esac
    before=$word
done
case $1-$dry-$json in
    info-*) part=info ;;
    env-*) part=list ;;
    create-dry-json) part=plan ;;
    create-dry-) part=words ;;
    create--json) part=make ;;
    *) part=unknown ;;
esac
if [ $part = plan ] && [ -f "$d/dead" ] && /bin/grep -q -F -f "$d/dead" "$CONDARC"; then part=dead; fi
if [ $part = make ] && [ -f "$d/rotten" ] && /bin/grep -q -F -f "$d/rotten" "$CONDARC"; then part=rotten; fi
if [ -n "$list" ]; then
    /bin/cp "$list" "$d/list"
    /usr/bin/stat -c %a "${list%/*}" > "$d/list.mode"
    if [ -e "$d/refuses-lists" ]; then echo "error    libmamba unknown" >&2; exit 1; fi
fi
if [ $part = make ] && [ -e "$prefix" ]; then
    echo "critical libmamba Non-conda folder exists at prefix - aborting." >&2
    exit 1
fi
if [ -e "$d/$part.makes" ]; then
    /bin/mkdir -p "$prefix/conda-meta" "$prefix/bin"
    : > "$prefix/conda-meta/history"
    if [ -n "$list" ]; then /bin/cat "$d/history" > "$prefix/conda-meta/history"; fi
    /bin/cp "$d/$part.makes/." "$prefix/conda-meta/" -R
    : > "$prefix/bin/python"
fi
if [ -e "$d/hang" ]; then
    . "$d/hang"
    : > "$d/hanging"
    turns=0
    while ! [ -e "$d/let-go" ] && [ $turns -lt 2000 ]; do
        /bin/sleep 0.01
        turns=$((turns + 1))
    done
fi
/bin/cat "$d/$part.out"
/bin/cat "$d/$part.err" >&2
exit "$(/bin/cat "$d/$part.status")"
"""


@dataclass(frozen=True)
class Transcript:
    """What a real tool answered."""

    status: int
    out: str
    err: str


def transcript(name: str) -> Transcript:
    """Read one: `$ command`, `exit: 1`, `--- stdout`, its lines, `--- stderr`, its lines."""
    text = (TRANSCRIPTS / f"{name}.txt").read_text(encoding="utf-8")
    head, _, rest = text.partition("--- stdout\n")
    out, _, err = rest.partition("--- stderr\n")
    match = _PARTS.search(head)
    assert match, name
    return Transcript(int(match[1] or match[2]), out, err)


@dataclass(frozen=True)
class FakeConda:
    """A fake tool on disk; nothing it does is right until it is told what."""

    tool: Tool
    program: Path

    @property
    def folder(self) -> Path:
        return self.program.with_name(f"{self.program.name}.d")

    @property
    def calls(self) -> list[str]:
        log = self.folder / "calls"
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    @property
    def listed(self) -> str | None:
        """The list of packages that it was given."""
        file = self.folder / "list"
        return file.read_text(encoding="utf-8") if file.exists() else None

    @property
    def list_file(self) -> Path:
        """Where that list was."""
        (call,) = (call for call in self.calls if "--file" in call)
        return Path(call.partition("--file ")[2])

    @property
    def solves(self) -> int:
        """How often it had to solve."""
        return sum(call.startswith("create") and "--file" not in call for call in self.calls)

    def refuses_lists(self) -> FakeConda:
        """Let it fail with a list in words that nobody knows."""
        (self.folder / "refuses-lists").touch()
        return self

    @property
    def variables(self) -> dict[str, str]:
        """What it saw at the last call."""
        last = (self.folder / "variables").read_text(encoding="utf-8").splitlines()[-1].split("|")
        names = (
            "CONDARC", "CONDA_OVERRIDE_CUDA", "CONDA_SUBDIR", "CONDA_CHANNELS", "PYTHONPATH", "CONDA_OFFLINE",
            "MAMBA_OFFLINE",
        )  # fmt: skip
        return dict(zip(names, last, strict=True))

    def answers(self, part: str, answer: str | Transcript) -> FakeConda:
        """Let it answer to `info`, `plan`, `words` (a dry run without --json), `make`, `list`, or `dead`."""
        reported = transcript(answer) if isinstance(answer, str) else answer
        (self.folder / f"{part}.out").write_text(reported.out, encoding="utf-8")
        (self.folder / f"{part}.err").write_text(reported.err, encoding="utf-8")
        (self.folder / f"{part}.status").write_text(str(reported.status), encoding="utf-8")
        return self

    def makes(self, records: tuple[CondaRecord, ...], part: str = "make") -> FakeConda:
        """Let it write these into conda-meta."""
        folder = self.folder / f"{part}.makes"
        folder.mkdir()
        exact = ", ".join(f'"{record.name}=={record.version}={record.build}"' for record in records)
        entry = f"==> 2026-11-23 23:27:51 <==\n# cmd: {self.tool}\n# update specs: [{exact}]\n"
        (self.folder / "history").write_text(entry, encoding="utf-8")
        for record in records:
            document = {
                "name": record.name, "version": record.version, "build": record.build,
                "subdir": record.subdir,
                "channel": f"https://conda.example.com/{record.channel}/{record.subdir}", "url": record.url,
                "depends": ["what-the-package-says"], "constrains": [],
                "requested_spec": f"{record.name}=={record.version}={record.build}",
            }  # fmt: skip
            file = folder / f"{record.name}-{record.version}-{record.build}.json"
            file.write_text(json.dumps(document), encoding="utf-8")
        return self

    def is_dead_at(self, address: str, answer: str) -> FakeConda:
        """Let it fail so where the condarc names this address."""
        (self.folder / "dead").write_text(address, encoding="utf-8")
        return self.answers("dead", answer)

    def is_rotten_at(self, address: str, answer: str | Transcript) -> FakeConda:
        """Let it fail to create so where the condarc names this address."""
        (self.folder / "rotten").write_text(address, encoding="utf-8")
        return self.answers("rotten", answer)

    def hangs(self, *, stubborn: bool = False) -> FakeConda:
        """Let it go on until it is ended; a stubborn one does not heed Ctrl-C."""
        ends = "" if stubborn else "; exit 1"
        lines = (
            f"trap 'echo INT >> \"$d/signals\"{ends}' INT",
            "trap 'echo TERM >> \"$d/signals\"; exit 143' TERM",
        )
        (self.folder / "hang").write_text("\n".join(lines), encoding="utf-8")
        return self

    @property
    def signals(self) -> list[str]:
        return (self.folder / "signals").read_text(encoding="utf-8").split()


def fake_conda(directory: Path, tool: Tool, info: str | None = None) -> FakeConda:
    """Write a fake tool that tells about itself, and fails at everything else."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / tool
    program.write_text(_SCRIPT, encoding="utf-8")
    program.chmod(0o755)
    fake = FakeConda(tool, program)
    fake.folder.mkdir()
    for part in ("plan", "words", "make", "list", "unknown"):
        fake.answers(part, Transcript(1, "", f"the test did not expect `{part}`\n"))
    return fake.answers("info", info or ("conda-info" if tool == "conda" else "mm-info"))


def faked(tmp_path: Path, tool: Tool) -> tuple[FakeConda, CondaTool]:
    """Write a fake tool; return it also as gpuenv knows tools."""
    fake = fake_conda(tmp_path / "bin", tool)
    return fake, CondaTool(tool, str(fake.program))


def called(tmp_path: Path) -> Calling:
    """Return how tools are called where variables would lead them astray."""
    environ = {
        "PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home"),
        "CONDA_CHANNELS": "bad", "PYTHONPATH": "/x", "CONDA_SUBDIR": "osx-64",
    }  # fmt: skip
    return Calling(environ, tmp_path / "cache")


def planned(name: str, tool: Tool) -> tuple[CondaRecord, ...]:
    """Return the packages that a transcript of a dry run plans."""
    return parse_dry_run(transcript(name).out, tool)


def a_wanted(prefix: Path, *pins: CondaPin, **changes: object) -> CondaWanted:
    """Return what the transcripts of pytorch 2.8.0 for CUDA 12.8 answer to."""
    pins = pins or (CondaPin("pytorch", "2.8.0", "cuda128*"),)
    settings: dict[str, object] = {
        "channels": (CondaChannel("conda-forge", ("file:///srv/channel/conda-forge",)),),
        "specs": ("python 3.11.*", "pip", *(pin.spec for pin in pins)),
        "pins": pins,
        "cuda": "12.8",
        "subdir": "linux-64",
        "prefix": str(prefix),
    }
    return CondaWanted(**{**settings, **changes})  # type: ignore[arg-type]
