"""An environment.yml, with the place of all that it asks for.

name: paper
channels: [pytorch, defaults]
dependencies:
  - python=3.7
  - pytorch=1.7.1=py3.7_cuda11.0.221_cudnn8.0.5_0
  - cudatoolkit=11.0  # [linux]
  - pip:
    - -f https://download.example/whl/torch_stable.html
    - timm==0.3.2
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.collector import Collector, ParsedFile, shown
from gpuenv.adapt.parsers.conda_spec import read_conda
from gpuenv.adapt.parsers.requirements_txt import read_line
from gpuenv.i18n.foreign_messages import translate_foreign
from gpuenv.i18n.messages import tr
from gpuenv.model.wheel import Platform
from gpuenv.resolution.conda.selectors import judge
from gpuenv.untrusted.documents import check_yaml

_LARGEST = 512 << 10  # characters: an export of a large environment has 30 thousand
_SELECTOR = re.compile(r"[^\n]*?#\s*\[(?P<condition>[^\]\n]+)\]")


def read_environment(file: DependencyFile, platform: Platform) -> ParsedFile:
    """Read an environment.yml for a platform; raise ValueError for any other file."""
    collector = Collector(file)
    root = compose(file.text)
    keys: dict[str, Any] = {}
    for key, value in _entries(root):
        if key in keys:
            where = _at(collector, value.start_mark)
            collector.tell(
                where, tr("`{key}` stands there a second time and is left unchanged", key=shown(key))
            )
        keys.setdefault(key, value)
    for node in _items(keys.get("channels"), "channels"):
        for start, end in _place(collector, node):
            collector.take("index", node.value, start, end, "conda")
    for node in _items(keys.get("dependencies"), "dependencies"):
        _read_dependency(collector, node, platform)
    return collector.result()


@lru_cache(maxsize=4)
def compose(text: str) -> Any:
    """Return the root of a YAML mapping as ruamel's nodes, which know their places; raise ValueError.

    Nobody changes the nodes: a file is read for several platforms, and once more when it is to be changed.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where such a file is read
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    if len(text) > _LARGEST:
        raise ValueError(tr("it is larger than {size} KB", size=_LARGEST >> 10))
    try:
        root = YAML(typ="safe", pure=True).compose(check_yaml(text.removeprefix("\ufeff")))
    except (YAMLError, ValueError, RecursionError) as error:
        reason = getattr(error, "problem", None) or next(iter(str(error).splitlines()), type(error).__name__)
        raise ValueError(tr("it is not valid YAML: {error}", error=translate_foreign(str(reason)))) from None
    if getattr(root, "id", None) != "mapping":
        raise ValueError(tr("it is not a mapping of keys"))
    return root


def _entries(mapping: Any) -> Iterator[tuple[str, Any]]:
    return ((key.value, value) for key, value in mapping.value if isinstance(key.value, str))


def _items(node: Any, key: str) -> list[Any]:
    """The nodes of a list; each once, whatever aliases repeat it."""
    if node is None or _is_null(node):
        return []
    if node.id != "sequence":
        raise ValueError(tr("`{key}` is not a list", key=key))
    return list({id(item): item for item in node.value}.values())


def _read_dependency(collector: Collector, node: Any, platform: Platform) -> None:
    if not _is_selected(collector, node, platform):
        return
    if node.id == "scalar":
        for start, end in _place(collector, node):
            read_conda(collector, node.value, start, end)
        return
    entries = dict(_entries(node)) if node.id == "mapping" else {}
    pip = entries.pop("pip", None)
    listed = pip is not None and pip.id == "sequence"
    if entries or not (listed or _is_null(pip)):
        _tell_invalid(collector, node)
    for item in _items(pip, "pip") if listed else ():
        if item.id != "scalar":
            _tell_invalid(collector, item)
        elif _is_selected(collector, item, platform):
            for start, end in _place(collector, item):
                read_line(collector, start, end)


def _is_null(node: Any) -> bool:
    return node is not None and node.id == "scalar" and node.value in ("", "null", "~")


def _tell_invalid(collector: Collector, node: Any) -> None:
    start = _at(collector, node.start_mark)
    text = collector.file.text[start:].partition("\n")[0]
    collector.tell(start, tr("`{text}` is not a valid dependency", text=shown(text.strip())))


def _is_selected(collector: Collector, node: Any, platform: Platform) -> bool:
    if node.id != "scalar" or node.style in ("|", ">"):  # those end in the line below
        return True
    selector = _SELECTOR.match(collector.file.text, _at(collector, node.end_mark))
    fits = judge(selector["condition"], platform) if selector else True
    if fits is None and selector:
        text = tr("the selector `[{condition}]` is not understood", condition=shown(selector["condition"]))
        collector.tell(_at(collector, node.start_mark), text)
    return fits is not False


def _at(collector: Collector, mark: Any) -> int:
    return int(mark.index) + collector.file.text.startswith("\ufeff")


def _place(collector: Collector, node: Any) -> Iterator[tuple[int, int]]:
    """Yield where a value stands, within its quotes; nothing for one that is written in several pieces."""
    if node.id != "scalar" or not node.value.strip():
        return
    start, end = _at(collector, node.start_mark), _at(collector, node.end_mark)
    if node.style in ("'", '"'):
        start, end = start + 1, end - 1
    yield from collector.quoted(node.value, start, end)
