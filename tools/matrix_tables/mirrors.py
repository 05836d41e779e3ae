"""mirrors.json: mirrors of PyPI, of the PyTorch index and of conda's channels, with their known faults."""

from __future__ import annotations

import re

from matrix_tables.facts import DATA, Facts, Row, UnusableFacts, read_toml

_STATUS_ORDER = ("alive", "redirector", "partial", "stale", "retired")
# groups of facts/mirrors.toml whose lists say what goes wrong
_UNSTATED = "mirrors.toml (2026-11-20), without a source of its own"
_FAULTS = ("caveats", "quirks", "notes")


def build_mirrors(facts: Facts) -> list[Row]:
    """Make the rows of mirrors.json: the official ones first, then the living, the others last."""
    extra = read_toml(DATA / "mirrors.toml")
    modes = facts.table("mirror_failure_modes.csv")
    document = facts.document("mirrors.toml")
    try:
        own = [_own_row(entry) for entry in extra["mirror"]]
        answers = [_row(entry, document, extra, modes) for entry in document["mirror"]]
    except KeyError as error:
        raise UnusableFacts(f"mirrors.toml: an entry has no {error}") from error
    rows = [_with_extra(row, extra, modes) for row in (*own, *answers)]
    return sorted(rows, key=lambda row: (_STATUS_ORDER.index(row["status"]), row["kind"] != "official"))


def _own_row(entry: Row) -> Row:
    row = {name: value for name, value in entry.items() if name not in ("pypi", "note")}
    row |= {"aliases": [], "intranet": [], "evidence": "matrix"}
    row["faults"] = (
        [{"code": None, "text": entry["note"], "source": entry["source"]}] if "note" in entry else []
    )
    if "pypi" in entry:
        row["pypi"] = {"simple": entry["pypi"]["simple"] or None}
    if "conda" in entry:
        row["conda"] = {"pkgs": [], "cloud": [], **entry["conda"]}
    return row


def _row(entry: Row, document: Row, extra: Row, modes: list[dict[str, str]]) -> Row:
    row = {
        "name": entry["id"],
        "title": entry["name"],
        "kind": entry["kind"],
        "status": entry["status"],
        "hosts": _hosts(entry),
        "intranet": entry.get("intranet_hosts", []),
        "source": _cite(_sources(entry), document),
        "evidence": "matrix",
        "faults": [*_stated(entry, document), *_modes(entry["id"], modes)],
    }
    for part, make in (("pypi", _pypi), ("torch", _torch), ("conda", _conda)):
        answer = entry.get(part, {})
        if answer.get("available", True) and (made := make(answer, extra)):
            row[part] = made
    if "torch" not in row:
        row["bogus"] = entry.get("torch", {}).get("bogus_urls_in_circulation", [])
    return row


def _hosts(entry: Row) -> list[str]:
    named = [entry[name] for name in ("ipv4_host", "ipv6_host") if name in entry]
    return [*entry["hosts"], *named, *entry.get("other_hosts", [])]


def _pypi(answer: Row, _extra: Row) -> Row | None:
    if "simple" not in answer:
        return None
    wrong = [url.partition(" ")[0] for url in answer.get("wrong_urls", [])]
    return {"simple": answer["simple"], "aliases": answer.get("aliases", []), "wrong": wrong}


def _torch(answer: Row, extra: Row) -> Row | None:
    if not answer.get("available"):
        return None
    address = answer.get("index") if answer.get("index_url_ok", True) else None
    address = (address or answer["find_links"]).rstrip("/")
    return {
        "address": address,
        "layout": extra["layout"][answer["layout"]],
        "hashes": answer.get("hashes", True),
        "wrong": answer.get("bogus_urls_in_circulation", []),
    }


def _conda(answer: Row, _extra: Row) -> Row | None:
    if "root" not in answer:
        return None
    names = [re.sub(r"\s.*", "", name) for name in answer.get("cloud_missing", [])]
    row: Row = {
        "root": answer["root"],
        "pkgs": answer.get("pkgs", []),
        "cloud": answer.get("cloud", []),
        "missing": [name for name in names if name not in answer.get("pkgs", [])],
        "shards": answer.get("sharded_repodata", False),
    }
    if "extra_root" in answer:
        row["elsewhere"] = dict.fromkeys(answer["extra_cloud"], answer["extra_root"])
    return row


def _stated(entry: Row, document: Row) -> list[Row]:
    faults = []
    for group in (entry, *(entry[part] for part in ("pypi", "torch", "conda", "limits") if part in entry)):
        source = _cite(_sources(group) or _sources(entry), document)
        texts = [text for name in (*_FAULTS, "waf") for text in group.get(name, [])]
        faults += [{"code": None, "text": text, "source": source} for text in texts]
    return faults


def _modes(name: str, modes: list[dict[str, str]]) -> list[Row]:
    """The rows of mirror_failure_modes.csv about one mirror: `tuna and others`, `sjtu, official`."""
    return [
        {"code": mode["id"], "text": f"{mode['symptom']}: {mode['cause']}", "source": _links(mode)}
        for mode in modes
        if name in re.split(r"\W+", mode["mirror"])
    ]


def _links(mode: dict[str, str]) -> str:
    links = [_one(item, {}) for item in mode["links"].split(" | ") if item]
    return "; ".join(dict.fromkeys(links)) or f"mirror_failure_modes.csv {mode['id']}"


def _sources(group: Row) -> list[str]:
    return [*group.get("src", []), *([group["basis"]] if "basis" in group else [])]


def _cite(sources: list[str], document: Row) -> str:
    return "; ".join(dict.fromkeys(_one(text, document["source"]) for text in sources)) or _UNSTATED


def _one(text: str, known: Row) -> str:
    """Resolve `tuna-web:news/x.md`, `tuna#12` and `sjtug#385`; a stored copy has no better name."""
    key, _, path = text.partition(":")
    if key in known:
        return f"https://github.com/{known[key]['repo']} {path}"
    short = re.match(r"(tuna|sjtug)#(\d+)(.*)", text)
    if short:
        repo = {"tuna": "tuna/issues", "sjtug": "sjtug/mirror-requests"}[short[1]]
        return f"https://github.com/{repo}/issues/{short[2]}{short[3]}"
    return re.sub(r"(?:text-index )?\bids?[: ][\d, ]+", "a third party's report", text)


def _with_extra(row: Row, extra: Row, modes: list[dict[str, str]]) -> Row:
    row["aliases"] = extra["alias"].get(row["name"], [])
    row.setdefault("bogus", [])
    row["missing_status"] = extra["missing_status"].get(row["name"], [])
    if row["name"] == "official":
        row["faults"] += [*_modes("upstream", modes), *_modes("official", modes)]
    for part, files in extra["files"].items():
        if part in row:
            row[part].setdefault("files", files.get(row["name"], []))
    return {name: row[name] for name in _FIELDS if name in row}


_FIELDS: tuple[str, ...] = (
    "name", "title", "kind", "status", "aliases", "hosts", "intranet", "pypi", "torch", "conda",
    "bogus", "missing_status", "faults", "source", "evidence",
)  # fmt: skip
