"""What a match comes down to by the facts of the text that it was found in: in its shell, with its tool."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import partial

from msgspec.structs import replace

from gpuenv.i18n.messages import N_, gettext, tr
from gpuenv.signatures.cases import first_case
from gpuenv.signatures.clauses import fitting_fix
from gpuenv.signatures.lazy_regex import LazyRegex
from gpuenv.signatures.match import SignatureMatch

_EXPORT = LazyRegex(r"\bexport ((?:[A-Za-z_]\w*=[^\s`;,]+ ?)+)")
_UNSET = LazyRegex(r"\bunset ((?:[A-Z_]\w* ?)+)")
_BEFORE = LazyRegex(r"(?<=`)((?:[A-Z][A-Z0-9_]*=[^\s`]+ )+)(?=[a-z])")
_SUDO = LazyRegex(r"(?:(?<=`)|(?<=&& ))sudo (?=(?:apt|apt-get|dnf|yum) )")
_WINDOWS = "windows"
_PIP = LazyRegex(r"(?:\buv pip|(?<!uv )(?:\bpython3? -m )?\bpip3?) (install|uninstall|cache purge)\b([^`&]*)")
_OF_PIP_ALONE = LazyRegex(r" --(?:force-reinstall|no-deps|no-cache-dir)\b")
_INDEX = LazyRegex(r" --(?:extra-)?index-url (\S+/(\w+))")
_OWN = LazyRegex(
    r"\buv (?:add|sync|lock|remove|tool|venv)\b|\bpoetry (?:add|env|run)\b"
)  # lines made for the tool
_BLANKS = (  # what stands for a value in a fix, and the fact that has it
    (LazyRegex(r"(?<=ARCH_LIST=)(\"?)X\.Y\b"), "gpu_capability"),
    (LazyRegex(r"\b(cuda-)X\.Y\b"), "build_cuda"),
    (LazyRegex(r"\b(cuda-toolkit-)X-Y\b"), "build_cuda_name"),
    (LazyRegex(r"()\./submodules/NAME\b"), "unbuilt_folder"),
    (LazyRegex(r"(?<=:all: )()PACKAGE\b"), "unbuilt_release"),
    (LazyRegex(r"(?<= )(?<!:all: )()PACKAGE\b(?!==)"), "unbuilt_asked"),
)
_BY_PYTHON = LazyRegex(
    r"(?:\b(?:python3?|py) -m )?(?<![\w.])(?<!uv )pip3?(?= (?:install|uninstall|download|show)\b)"
)
_HOMES = LazyRegex(r"(?i)(?:^|[\\/])(?:\.[\w-]+|\w*venv\w*)$")  # folders of virtual environments
_INSTALLS = LazyRegex(
    r"(?:python3? -m )?(?:pip3?|uv|conda|mamba|micromamba|pixi|poetry|apt|apt-get) "
    r"(?!run|cache|env|config|list)"
)
_OF_IMAGES = LazyRegex(r"Dockerfile|\bRUN\b|\bFROM\b|[Ii]mage|docker run")
_FILES_OF = {  # tools that write what is added into a file: what they type, and how the file names an index
    "pixi": (
        "pixi add --pypi",
        "pixi remove --pypi",
        "pixi clean cache",
        'extra-index-urls = ["{index}"]',
        N_("under [pypi-options] in pixi.toml, then"),
    ),
    "pipenv": ("pipenv install", "pipenv uninstall", "pipenv --clear", " --index {index}", ""),
    "pdm": (
        "pdm add",
        "pdm remove",
        "pdm cache clear",
        '[[tool.pdm.source]] name = "pytorch-{name}" url = "{index}"',
        N_("(three lines) in pyproject.toml, then"),
    ),
}
_PLAIN = LazyRegex(r"(?: (?:-U|--upgrade|[\"']?[A-Za-z][^\s\"']*[\"']?))+\s*")


def settled(match: SignatureMatch, facts: Mapping[str, str]) -> SignatureMatch:
    """Return a match with the texts of the case that holds; its own facts count before those of the text.

    Where none holds, its fix stays without the clauses that are for other machines.
    """
    if not (match.cases or match.clauses):
        return match
    own = {**facts, **dict(match.facts)}
    case = first_case(match.cases, own)
    if case is None:
        return replace(match, fix=fitting_fix(match.fix, match.clauses, own)) if match.clauses else match
    wants = match.wants if case.replans else ()
    detail = None if case.cause else match.detail
    cause = case.cause or match.cause
    return replace(
        match,
        cause=cause,
        fix=case.fix,
        detail=detail,
        wants=wants,
        confidence="high" if case.cause else match.confidence,
        settled=bool(case.cause),
        check=None,
    )


def blanks_of(fix: str) -> set[str]:
    """Return the facts that a fix leaves to be filled in: the GPU's capability, torch's CUDA, the package."""
    return {fact for blank, fact in _BLANKS if blank.pattern.search(fix)}


def filled(fix: str, facts: Mapping[str, str]) -> str:
    """Return a fix with what it leaves to be filled in, as far as the text says it."""
    for blank, fact in _BLANKS:
        if fact in facts:
            value = facts[fact].replace("\\", r"\\")
            fix = blank.pattern.sub(rf"\g<1>{value}", fix)
    return fix


def in_its_shell(fix: str, facts: Mapping[str, str]) -> str:
    """Return a fix whose `export A=1 B=2` is `set "A=1" & set "B=2"` on Windows, where `unset` is `set` too.

    There `A=1 python ...` is `set "A=1" & python ...`. Who is root already, as in the build of an image,
    installs packages without sudo, which images lack.
    """
    if "as_root" in facts and "sudo " in fix:
        fix = _SUDO.pattern.sub("", fix)
    if facts.get("system") != _WINDOWS:
        return fix
    fix = _UNSET.pattern.sub(_as_unset, _EXPORT.pattern.sub(_as_set, fix))
    return _BEFORE.pattern.sub(lambda match: f"{_as_set(match)}& ", fix)


def _as_set(match: re.Match[str]) -> str:
    space = " " if match[1].endswith(" ") else ""
    return " & ".join(f'set "{pair}"' for pair in match[1].replace('"', "").split()) + space


def _as_unset(match: re.Match[str]) -> str:
    space = " " if match[1].endswith(" ") else ""
    return " & ".join(f'set "{name}="' for name in match[1].split()) + space


def in_its_image(fix: str, facts: Mapping[str, str]) -> str:
    """Return a fix that installs something as what the Dockerfile says, where an image is built."""
    is_image = "image_step" in facts or "image_run" in facts or facts.get("as_root") == "RUN"
    code = fix.split("`", 2)[1:2]
    if not is_image or not code or not _INSTALLS.pattern.match(code[0]) or _OF_IMAGES.pattern.search(fix):
        return fix
    first = fix[:1].lower() if fix[1:2].islower() else fix[:1]
    return tr("In the Dockerfile, as RUN: {fix}", fix=first + fix[1:])


def in_its_tool(fix: str, facts: Container[str]) -> str:
    """Return a fix with its lines for pip as the tool of the text takes them: uv, poetry, pixi."""
    if "pip " not in fix or _OWN.pattern.search(fix):
        return fix
    change = _of_project if "uv_project" in facts else _of_uv if "uv" in facts else None
    tool = next((name for name in _FILES_OF if name in facts), None)
    if tool:
        change = partial(_by_file, tool=tool)
    if change is None and "poetry" in facts:
        change = _of_poetry
    if change is None:
        return fix
    parts = fix.split("`")
    parts[1::2] = [_PIP.pattern.sub(change, part) for part in parts[1::2]]
    return "`".join(parts)


def in_its_python(fix: str, facts: Mapping[str, str]) -> str:
    """Return a fix whose lines for pip are typed for the Python that runs the program of the text.

    Programs of Windows that bring their own (python_embeded, venv of a web UI) are started without its being
    on the path, so that a plain `python -m pip` changes another one. Lines that name one stay.
    """
    python = _own_python(facts)
    if python is None or "pip " not in fix:
        return fix
    if " " in python:
        python = f'& "{python}"' if "powershell" in facts else f'"{python}"'
    parts = fix.split("`")
    parts[1::2] = [
        part if "python.exe" in part.lower() else _BY_PYTHON.pattern.sub(lambda _: f"{python} -m pip", part)
        for part in parts[1::2]
    ]
    parts[::2] = [part.replace("python -m pip ", f"{python} -m pip ") for part in parts[::2]]
    return "`".join(parts)


def _own_python(facts: Mapping[str, str]) -> str | None:
    if named := facts.get("program_python"):
        return named
    home = facts.get("program_home")
    if home is None or "env_prompt" in facts:
        return None
    return home + (r"\Scripts\python.exe" if _HOMES.pattern.search(home) else r"\python.exe")


def _of_uv(match: re.Match[str]) -> str:
    if match[1] == "cache purge":
        return f"uv cache clean{match[2]}"
    rest = match[2].replace(" -y", "", 1) if match[1] == "uninstall" else match[2]
    rest = rest.replace(" --extra-index-url ", " --index ").replace(" --index-url ", " --default-index ")
    return f"uv pip {match[1]}{rest}"


def _of_project(match: re.Match[str]) -> str:
    """Return what changes the project's file: what is installed beside it the next `uv run` undoes."""
    rest = match[2]
    if match[1] == "uninstall":
        return f"uv remove{rest.replace(' -y', '', 1)}"
    if match[1] == "cache purge" or " -r " in rest or " -e " in rest or "..." in rest or ".whl" in rest:
        return _of_uv(match)
    bare = _OF_PIP_ALONE.pattern.sub("", rest)
    return "uv add" + _INDEX.pattern.sub(r" --index pytorch-\2=\1", bare).replace(" -f ", " --find-links ")


def _of_poetry(match: re.Match[str]) -> str:
    """Return what changes the project: what pip installs beside it the next `poetry install` undoes."""
    if match[0].startswith("uv") or match[1] == "cache purge":
        return match[0]
    bare = _OF_PIP_ALONE.pattern.sub("", match[2])
    index = _INDEX.pattern.search(bare)
    names = _INDEX.pattern.sub("", bare)
    if match[1] == "install" and index and _PLAIN.pattern.fullmatch(names):
        source = f"pytorch-{index[2]}"
        add = f"poetry add --source {source}{names}"
        return f"poetry source add --priority explicit {source} {index[1]} && {add}"
    if match[1] == "install" and _PLAIN.pattern.fullmatch(match[2]):
        return f"poetry add{re.sub(r' (?:-U|--upgrade)(?= )', '', match[2])}"
    return f"poetry run {match[0]}"


def _by_file(match: re.Match[str], tool: str) -> str:
    """Return what changes the file of a tool, behind the index that it has to name where no option does."""
    add, remove, cache, index_said, then = _FILES_OF[tool]
    rest = match[2]
    if match[1] == "uninstall":
        return f"{remove}{rest.replace(' -y', '', 1)}"
    if match[1] == "cache purge":
        return cache
    if " -r " in rest or " -e " in rest or "..." in rest or ".whl" in rest or " -f " in rest:
        return f"{tool} run {match[0]}"
    bare = _OF_PIP_ALONE.pattern.sub("", rest)
    index = _INDEX.pattern.search(bare)
    line = f"{add}{_INDEX.pattern.sub('', bare)}"
    if index is None:
        return line
    if not then:
        return f"{line}{index_said.format(index=index[1])}"
    return f"{index_said.format(index=index[1], name=index[2])}` {gettext(then)} `{line}"
