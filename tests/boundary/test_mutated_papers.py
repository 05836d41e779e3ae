"""Papers' files with anything changed in them: they are read or refused, and nothing ends in a crash."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from pathlib import Path

import pytest
from adapted_papers import FOLDER, NAMES, adapt_for, bare_environ, copy_paper, save_machine
from hypothesis import given
from hypothesis import strategies as st
from sampling import every

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.collector import decode_text, encode_text
from gpuenv.adapt.parsers.parse import parse_file
from gpuenv.adapt.read_project import kind_of
from gpuenv.adapt.render import render_adaptation_data, render_changes
from gpuenv.model.errors import GpuenvError

ENDINGS = (".txt", ".yml", ".yaml", ".toml", ".py", ".cfg", ".md")
FILES = sorted(path for path in FOLDER.rglob("*") if path.suffix in ENDINGS)
PIECES = (
    *("", "+abc", ".*", ";", "@", " ", "==", "=", ">=", "\\", "#", "'", '"', "é", "\t", "!", "~", "|", "["),
    *("{", " -f https://x.example", "git+https://x.example/a/b.git", "-e .", "- ", "  ", "\r", "\ufeff"),
    *("\0", "\udce9"),
)
RELEASES = ("1.3.2+ecbda83", "1.*", "2021a", "1!2.0", "0", "99.9", "1.0rc1", "1.0.post3", "9" * 500)


def mutated(text: str, chance: random.Random) -> str:
    """Return a text with a few lines changed, moved, repeated or gone."""
    lines = text.split("\n")
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(lines))
        line, kind = lines[at], chance.random()
        if kind < 0.5:
            place = chance.randint(0, len(line))
            lines[at] = line[:place] + chance.choice(PIECES) + line[place + chance.randint(0, 2) :]
        elif kind < 0.7:
            lines[at] = re.sub(r"\d+(\.\d+)*", lambda _: chance.choice(RELEASES), line, count=1)
        elif kind < 0.85:
            lines.insert(at, chance.choice(lines))
        else:
            lines[at : at + 1] = []
            lines = lines or [""]
    return "\n".join(lines)


@given(path=st.sampled_from(FILES), chance=st.randoms(use_true_random=False))
def test_a_reader_of_a_mutated_file_raises_value_errors_alone(path: Path, chance: random.Random) -> None:
    text = mutated(decode_text(path.read_bytes()), chance)
    try:
        parsed = parse_file(DependencyFile(path.name, kind_of(path), text), "linux-64")
    except ValueError:
        return
    for declared in parsed.declared:
        assert text[declared.start : declared.end] == declared.text != ""
    assert all(warning.isprintable() for warning in parsed.warnings)


@pytest.mark.parametrize("seed", every(10, range(20)))
def test_a_mutated_paper_is_adapted_or_refused(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)  # noqa: S311 - which changes, no secret
    folder = copy_paper(chance.choice(NAMES), tmp_path)
    for path in (item for item in sorted(folder.rglob("*")) if item.is_file()):
        content = path.read_bytes()
        text = mutated(decode_text(content), chance)
        with suppress(UnicodeEncodeError):
            path.write_bytes(text.encode("utf-16") if chance.random() < 0.1 else encode_text(text, content))
    monkeypatch.chdir(folder)
    machine = save_machine(chance.choice(("V100", "RTX 4090", "RTX 5090")), tmp_path)
    try:
        adaptation = adapt_for(Path(), machine, bare_environ(tmp_path))
    except GpuenvError:
        return
    assert render_changes(adaptation)
    assert render_adaptation_data(adaptation)["files"]
