"""What an environment.yml gets: channels, and lines of its pip part, which is made where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.environment_yml import compose
from gpuenv.adapt.patch.edit import Edit, new_lines
from gpuenv.i18n.messages import N_, tr

_DEEPER = "  "

Said = tuple[str, str]  # a project, and the line that says it


def into_pip_part(file: DependencyFile, said: tuple[Said, ...]) -> Iterator[Edit]:
    """Yield the edits that put lines into the pip part, pages first; raise ValueError if they can't go."""
    listed = _list(file, "dependencies")
    pip = next((part for item in listed.value for part in _pip_lists(item)), None)
    pages = tuple(item for item in said if item[0] == "index")
    others = tuple(item for item in said if item[0] != "index")
    if pip is None:
        scalars = (item.value for item in listed.value if item.id == "scalar")
        named = any(text.split("=")[0].strip() == "pip" for text in scalars)
        entries = [*([] if named else ["- pip"]), "- pip:"]
        entries += [f"{_DEEPER}- {text}" for _, text in (*pages, *others)]
        lines = [f"{' ' * listed.start_mark.column}{entry}" for entry in entries]
        yield _below(file, listed, lines, said)
        return
    indent = " " * pip.start_mark.column
    if pages:
        at = _line_start(file.text, _at(file, pip.value[0].start_mark))
        yield new_lines(file, at, [f"{indent}- {text}" for _, text in pages], pages)
    if others:
        yield _below(file, pip, [f"{indent}- {text}" for _, text in others], others)


def into_channels(file: DependencyFile, channel: str) -> Edit:
    """Return the edit that makes a channel the first; raise ValueError where it can't be."""
    said = (("index", channel),)
    keys = {key.value: (key, value) for key, value in compose(file.text).value}
    if "channels" in keys:
        written = keys["channels"][1]
        if written.id == "sequence" and written.flow_style:  # channels: [pytorch, nvidia]
            at = _at(file, written.start_mark) + 1
            return Edit(at, at, f"{channel}, " if written.value else channel, None, said)
        listed = _list(file, "channels")
        at = _line_start(file.text, _at(file, listed.value[0].start_mark))
        return new_lines(file, at, [f"{' ' * listed.start_mark.column}- {channel}"], said)
    _list(file, "dependencies")
    at = _line_start(file.text, _at(file, keys["dependencies"][0].start_mark))
    return new_lines(file, at, ["channels:", f"{_DEEPER}- {channel}"], said)


def _list(file: DependencyFile, name: str) -> Any:
    """The node of a list that is written line by line."""
    entries = {key.value: value for key, value in compose(file.text).value}
    node = entries.get(name)
    if node is None or node.id != "sequence" or node.flow_style or not node.value:
        raise ValueError(tr("`{key}` in {file} is not a list of lines", key=name, file=file.path))
    return node


def _pip_lists(item: Any) -> Iterator[Any]:
    for key, value in item.value if item.id == "mapping" else ():
        if key.value == "pip" and value.id == "sequence" and value.value:
            if value.flow_style:
                template = N_("`{key}` in {file} is not a list of lines")
                raise ValueError(tr(template, key="pip", file="environment.yml"))
            yield value


def _at(file: DependencyFile, mark: Any) -> int:
    return int(mark.index) + file.text.startswith("\ufeff")


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at) + 1, 1 if text.startswith("\ufeff") else 0)


def _last_end(node: Any) -> Any:
    """The mark behind the last scalar: a list's own is behind the comments that follow it."""
    while node.id != "scalar" and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node.end_mark


def _below(file: DependencyFile, node: Any, lines: list[str], said: tuple[Said, ...]) -> Edit:
    end = file.text.find("\n", _at(file, _last_end(node)))
    return new_lines(file, len(file.text) if end < 0 else end + 1, lines, said)
