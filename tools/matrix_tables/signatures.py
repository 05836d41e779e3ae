"""signatures.json: texts by which programs tell what went wrong, what they mean and what to do."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterable

from gpuenv.signatures.clauses import split_clauses
from gpuenv.signatures.unquote import PLAIN_QUOTES, WIDE_MARKS
from matrix_tables.api_changes import build_api_changes
from matrix_tables.facts import DATA, Facts, Row, UnusableFacts, read_toml
from matrix_tables.packs import Packs
from matrix_tables.regex_words import needs_of
from matrix_tables.slow_regexes import bounded, is_exponential, shares_letters

_FILE = "error_signatures.json"
_TEXTS = DATA / "error_texts"  # facts.toml, which mends what the facts say, and further ones by subject
_NOT_FIELDS = ("without", "with", "names", "why")
_USUAL = {  # of a signature that the facts lack
    "reresolve": "no",
    "reresolve_how": "",
    "doctor_checks": [],
    "source": [],
    "source_note": "the words of the program itself, from no one thread",
}
_GIVEN_UP = "removed-name"  # the signature that knows what api-changes.json calls removed
_DOTTED = re.compile(r"(torch\w*|pytorch_lightning)((?:\.\w+)*)\.(\w+)")
_CLASSES = re.compile(r"((?<!\\)\[\^?\]?(?:[^\]\\]|\\.)*\])")
_BRACKETS = re.compile(r"\([^()]*\)|`[^`]*`")
_OTHERWISE = re.compile(r"(?<=[ ,])or ")  # of a clause with several ways the first tells little of the others
_SHORTEST = 3  # letters of a fact's name: the facts call what they only group `v`, `b`, `op`


def build_signatures(facts: Facts) -> list[Row]:
    """Make the rows of signatures.json, the most telling first; facts.toml mends what the facts say."""
    extra = read_toml(_TEXTS / "facts.toml")
    texts = [read_toml(path) for path in sorted(_TEXTS.glob("*.toml"))]
    added = [_USUAL | entry for text in texts for entry in text.get("signature", ())]
    more = [(name, also) for text in texts for name, also in text.get("more", {}).items()]
    answers = [entry | _change(entry, extra["change"].get(entry["id"], {})) for entry in _read(facts)]
    known = _once([{"wants": _wants(entry, extra["wants"])} | entry for entry in (*answers, *added)])
    named = {entry["case_of"] for entry in added if "case_of" in entry} | {name for name, _ in more}
    _refuse_unknown(known, extra, {entry["id"] for entry in answers}, named)
    for name, also in (*more, (_GIVEN_UP, {"regex": _given_up()})):
        if name in known:
            known[name] = _with_more(known[name], also)
    groups = {name: ids for text in texts for name, ids in text.get("groups", {}).items()}
    cases = [case for text in texts for case in text.get("case", ())]
    if unknown := {name for case in cases for name in _of(case, groups)} - known.keys():
        raise UnusableFacts(f"error_texts: cases of no signature: {', '.join(sorted(unknown))}")
    packs = Packs(known)
    kinds = [kind for text in texts for kind in text.get("clause", ())]
    rows = [
        _row(
            entry,
            extra["read"].get(name, {}),
            packs.pack_of(name, entry["class"]),
            wrapper=name in extra["wrappers"],
        )
        | _cases([_with_sample(case, entry) for case in cases if name in _of(case, groups)])
        | clauses_of(entry["fix_en"], entry["fix_zh"], kinds)
        for name, entry in known.items()
    ]
    refuse_slow(rows)
    rows.sort(key=lambda row: (-row["priority"], row["id"]))
    refuse_twins(rows, extra["second_causes"])
    return rows


def _of(case: Row, groups: Row) -> list[str]:
    """Return the signatures that a case is of: one, or all of a group."""
    return [*groups.get(case["of"], [case["of"]])]


def _with_sample(case: Row, entry: Row) -> Row:
    """Return a case; behind the sample of a group's, which has the facts, the signature's own stands."""
    own = entry["samples"][0]
    return case if case["of"] == entry["id"] else case | {"sample": f"{case['sample']}\n{own}"}


def clauses_of(fix: str, chinese: str, kinds: list[Row]) -> Row:
    """Return which clauses of a fix are for some machines only, by their words outside of brackets.

    A clause with the words of two kinds that differ, and a fix whose Chinese has other clauses, has none.
    """
    each = split_clauses(fix)
    if len(each) != len(split_clauses(chinese)):
        return {}
    found = []
    for at, clause in enumerate(each):
        bare = _BRACKETS.sub("", clause)
        several = _OTHERWISE.search(bare) is not None
        hits = [
            (kind, match)
            for kind in kinds
            if (match := re.search(kind["words"], bare)) and not (several and match.start())
        ]
        facts = {name: wanted for kind, _ in hits for name, wanted in kind["facts"].items()}
        if not hits or any(not kind["facts"].items() <= facts.items() for kind, _ in hits):
            continue
        leads = any(match.start() == 0 and kind.get("leads", False) for kind, match in hits)
        found.append({"at": at, "facts": facts} | ({"leads": True} if leads else {}))
    return {"clauses": found} if found else {}


def _cases(cases: list[Row]) -> Row:
    """Return what a signature comes down to by facts of the text, in the order in which it is tried."""
    rows = [{name: value for name, value in case.items() if name != "of"} for case in cases]
    return {"cases": rows} if rows else {}


def refuse_slow(rows: list[Row]) -> None:
    """Refuse expressions that can take long on some text, each with the row that has it."""
    slow = [
        f"{row['id']}: {regex}"
        for row in rows
        for regex in (*(item["regex"] for item in (*row["patterns"], *row["unless"])), *row["reads"])
        if is_exponential(regex) or shares_letters(regex)
    ]
    if slow:
        raise UnusableFacts("expressions that can run long: " + "; ".join(slow))


def refuse_twins(rows: list[Row], second_causes: Container[str]) -> None:
    """Refuse an expression of two rows, sorted by what they tell: the second would only repeat the first.

    It may where the first stands back for some texts (`unless`), or the second is named as another cause.
    """
    first: dict[str, Row] = {}
    twins = []
    for row in rows:
        for regex in (item["regex"] for item in row["patterns"]):
            better = first.setdefault(regex, row)
            if better is not row and not better["unless"] and row["id"] not in second_causes:
                twins.append(f"{better['id']} and {row['id']}: {regex}")
    if twins:
        raise UnusableFacts("expressions in two signatures: " + "; ".join(twins))


def _once(entries: list[Row]) -> dict[str, Row]:
    count = Counter(entry["id"] for entry in entries)
    if twice := [name for name, number in count.items() if number > 1]:
        raise UnusableFacts(f"error_texts: told twice: {', '.join(twice)}")
    return {entry["id"]: entry for entry in entries}


def _refuse_unknown(known: Iterable[str], extra: Row, messages: set[str], named: set[str]) -> None:
    unknown = (set(extra["read"]) | set(extra["wants"]) - {"usual"} | named) - set(known)
    unknown |= set(extra["wrappers"]) - set(known)
    unknown |= extra["change"].keys() - messages
    if unknown:
        raise UnusableFacts(f"error_texts: no such signature: {', '.join(sorted(unknown))}")


def _with_more(entry: Row, also: Row) -> Row:
    """Return a signature with further regexes, and samples of them."""
    return entry | {name: [*entry[name], *also.get(name, ())] for name in ("regex", "samples")}


def _given_up() -> list[str]:
    """Return regexes of Python's words where code asks for a name that a release has removed."""
    names = {name for row in build_api_changes() if row["kind"] == "removed" for name in row["names"]}
    dotted = filter(None, map(_DOTTED.fullmatch, sorted(names)))
    by_module: dict[str, list[str]] = {}
    for match in dotted:
        by_module.setdefault(f"{match[1]}{match[2]}", []).append(match[3])
    regexes = []
    for module, gone in by_module.items():
        location, some = re.escape(module), "|".join(gone)
        regexes.append(f"module '{location}' has no attribute '(?P<name>{some})'")
        regexes.append(f"cannot import name '(?P<name>{some})' from '{location}'")
        regexes.append(f"No module named '(?P<name>{location}\\.(?:{some}))'")
    return regexes


def _read(facts: Facts) -> list[Row]:
    try:
        document = json.loads((facts.directory / _FILE).read_text(encoding="utf-8"))
        return list(document["signatures"])
    except (OSError, ValueError) as error:
        raise UnusableFacts(f"`{_FILE}` can't be read: {error}") from error


def _change(entry: Row, answer: Row) -> Row:
    """Return the fields that facts.toml has others for; `without` and `with` change single regexes."""
    change = {name: value for name, value in answer.items() if name not in _NOT_FIELDS}
    gone = set(answer.get("without", ()))
    if missing := gone - set(entry["regex"]):
        raise UnusableFacts(f"facts.toml: {entry['id']} has no regex {sorted(missing)}")
    kept = [regex for regex in entry["regex"] if regex not in gone]
    regexes = [*kept, *answer.get("with", ())]
    return change | {"regex": [_renamed(regex, answer.get("names", {})) for regex in regexes]}


def _renamed(regex: str, names: dict[str, str]) -> str:
    """Return the expression with the names that gpuenv has for facts; what got none is read by nobody."""
    return re.sub(r"\(\?P<(\w+)>", lambda match: _group(names.get(match[1], match[1])), regex)


def _group(name: str) -> str:
    return f"(?P<{name}>" if len(name) >= _SHORTEST else "(?:"


def _wants(entry: Row, wants: Row) -> list[str]:
    """Return what the plan is asked for that removes the cause; nothing where none does for certain."""
    usual: list[str] = wants["usual"] if entry["reresolve"] == "yes" else []
    return [*wants.get(entry["id"], usual)]


def _row(entry: Row, reading: Row, pack: str, *, wrapper: bool) -> Row:
    try:
        return {
            "id": entry["id"],
            "class": entry["class"],
            "pack": pack,
            "case_of": entry.get("case_of"),
            "wrapper": wrapper,
            "priority": entry["priority"],
            "patterns": [_pattern(regex) for regex in dict.fromkeys(entry["regex"])],
            "unless": [_pattern(regex) for regex in entry.get("not_regex", ())],
            "reads": [_compiled(regex) for regex in reading.get("patterns", ())],
            "cause_en": entry["cause_en"],
            "cause_zh": entry["cause_zh"],
            "fix_en": entry["fix_en"],
            "fix_zh": entry["fix_zh"],
            "detail_en": reading.get("en"),
            "detail_zh": reading.get("zh"),
            "replan": entry["reresolve"],
            "replan_how": entry["reresolve_how"] or None,
            "wants": entry["wants"],
            "checks": entry["doctor_checks"],
            "samples": entry["samples"],
            "source": "; ".join(entry["source"]) or entry.get("source_note") or _FILE,
            "evidence": "assumed" if entry["evidence"] == "known" else "matrix",
            "note": "; ".join(filter(None, (entry["evidence"], entry.get("source_note")))),
        }
    except KeyError as error:
        raise UnusableFacts(f"{entry.get('id')} has no {error}") from error


def _pattern(regex: str) -> Row:
    compiled = _compiled(regex)
    return {"regex": compiled, "needs": needs_of(compiled)}


def _with_plain_marks(regex: str) -> str:
    """Return the expression with the marks that texts are given before they are searched: `错误：`."""
    parts = _CLASSES.split(regex.translate(PLAIN_QUOTES))  # every second one is a class
    return "".join(_narrow(part, inside=bool(at % 2)) for at, part in enumerate(parts))


def _narrow(part: str, *, inside: bool) -> str:
    for wide, mark in WIDE_MARKS.items():
        part = part.replace(wide, mark if inside else re.escape(mark) + (" ?" if mark in ":,;" else ""))
    return part


def _compiled(regex: str) -> str:
    try:
        re.compile(plain := bounded(_with_plain_marks(regex)))
    except re.error as error:
        raise UnusableFacts(f"no regular expression: {regex}: {error}") from error
    return plain
