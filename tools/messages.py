"""Keep the messages' ids in step with the code: `python tools/messages.py` after adding or rewording a text.

src/gpuenv/i18n/en.json has every text by its id, the other files the translations by the same ids. A new text
gets an id of its words. A reworded text keeps the id and translation of the removed one that it is most like:
the pairs are printed, `--apart` makes none. A text that is gone is removed from all files. A translation
may be added under its id or under the English text, which becomes the id. `--check` only compares.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import Path

from message_texts import SOURCE, fields_of, texts

FOLDER = SOURCE / "i18n"
_UNALIKE = 0.55
_WORDS = 4
_WORD = re.compile(r"[a-z0-9]+(?:['._+-][a-z0-9]+)*")
_UNSPOKEN = re.compile(
    r"an?|and|are|as|at|be|been|but|by|can|do|does|for|from|ha[ds]|have|here|i[fnst]|into|its|o[fnr]|one|so|such|than"
    r"|that|the|their|them|there|they|this|too?|was|were|what|where|which|who|will|with|would|your?"
)


def main(arguments: list[str] | None = None) -> int:
    """Bring the files in step; return the exit status, 1 where they are not and `--check` was given."""
    parser = argparse.ArgumentParser(description="keep the messages' ids in step with the code")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a file is stale")
    parser.add_argument("--apart", action="store_true", help="give each reworded text a new id")
    options = parser.parse_args(arguments)
    files = {path: read(path) for path in sorted(FOLDER.glob("*.json"))}
    english = files[FOLDER / "en.json"]
    kept = new_english(english, texts(), {} if options.apart else reworded(english, texts()))
    fresh = {path: new_translations(english, kept, file) for path, file in files.items()}
    stale = [path for path in files if render(fresh[path]) != path.read_text(encoding="utf-8")]
    for path in stale if not options.check else ():
        path.write_text(render(fresh[path]), encoding="utf-8")
    print(*summary(english, kept, fresh), sep="\n")
    return 1 if options.check and stale else 0


def new_english(
    english: Mapping[str, str], there: Mapping[str, str], renewed: Mapping[str, str]
) -> dict[str, str]:
    """Return the texts by id: those that stay, those reworded (old to new) and the new ones."""
    kept = {
        name: text for name, old in english.items() if (text := old if old in there else renewed.get(old))
    }
    for text in sorted(set(there) - set(kept.values())):
        kept[next(name for name in ids(there[text], text) if name not in kept)] = text
    return kept


def reworded(english: Mapping[str, str], there: Mapping[str, str]) -> dict[str, str]:
    """Pair texts that are gone with new ones by likeness, the most alike first; print the pairs."""
    gone = set(english.values()) - set(there)
    pairs = sorted(
        (likeness(old, new), old, new) for old in gone for new in set(there) - set(english.values())
    )
    renewed: dict[str, str] = {}
    for alike, old, new in reversed(pairs):
        if alike >= _UNALIKE and old not in renewed and new not in renewed.values():
            renewed[old] = new
            print(f"- {old!r}\n+ {new!r}")
    return renewed


def likeness(old: str, new: str) -> float:
    """Tell how alike two texts are, from 0 to 1; other facts in them make them less so."""
    alike = SequenceMatcher(None, old.lower().split(), new.lower().split(), autojunk=False).ratio()
    letters = SequenceMatcher(None, old.lower(), new.lower(), autojunk=False).ratio()
    return max(alike, letters) * (1 if fields_of(old) == fields_of(new) else 0.8)


def new_translations(
    english: Mapping[str, str], kept: Mapping[str, str], file: Mapping[str, str]
) -> dict[str, str]:
    """Return a file's texts by the ids that are kept; what is filed under an English text goes before."""
    if file is english:
        return dict(kept)
    filed = {text: file[text] for text in kept.values() if text in file and text not in english}
    fields = {name: filed.get(text, file.get(name)) for name, text in kept.items()}
    return {name: text for name, text in fields.items() if text is not None}


def ids(origin: str, text: str) -> Iterator[str]:
    """Suggest ids for a text: where it comes from and its first words, then more of them, then numbers."""
    spoken = _WORD.findall(re.sub(r"\{.*?\}", " ", text.lower()))
    words = [word for word in spoken if not _UNSPOKEN.fullmatch(word)] or spoken
    words = [re.sub(r"[^a-z0-9]+", "-", word.replace("'", "")) for word in words or fields_of(text)]
    if origin.startswith("matrix-"):
        yield origin
    for count in range(_WORDS, max(len(words), _WORDS) + 1):
        yield "-".join(part for part in (origin, *words[:count]) if part) or "text"
    yield from ("-".join(part for part in (origin, *words[:_WORDS], str(n)) if part) for n in range(2, 10**6))


def summary(
    english: Mapping[str, str], kept: Mapping[str, str], fresh: Mapping[Path, Mapping[str, str]]
) -> Iterator[str]:
    """Say which ids came and went, and which have no translation."""
    yield from (f"new: {name}: {kept[name]!r}" for name in sorted(set(kept) - set(english)))
    yield from (f"gone: {name}: {english[name]!r}" for name in sorted(set(english) - set(kept)))
    for path, file in fresh.items():
        yield from (f"{path.name} lacks {name}: {kept[name]!r}" for name in sorted(set(kept) - set(file)))
    yield f"{len(kept)} texts"


def read(path: Path) -> dict[str, str]:
    """Read a file of texts by id."""
    return {str(name): str(text) for name, text in json.loads(path.read_text(encoding="utf-8")).items()}


def render(file: Mapping[str, str]) -> str:
    """Write a file of texts: sorted, so that it merges."""
    return json.dumps(dict(sorted(file.items())), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
