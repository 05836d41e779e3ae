"""The page of what `--json` prints: the envelope, and the fields of each command's data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from reference.objects_zh import CHINESE
from reference.outputs import OUTPUTS
from reference.schemas import file_name, schema

_WORDS: Final = {
    "en": {
        "title": "The JSON",
        "intro": (
            "Made by `python tools/build_reference.py`. Every command takes `--json`, and prints one "
            "document on standard output, also where it fails; what is said besides is on standard error."
        ),
        "example": "The envelope",
        "ok": (
            "`ok` is false where the exit code is not 0; then `error` says why, and `data` is null or "
            "what is known all the same. `code` is stable and does not change with the language; texts "
            "do. A field whose value is not known is null. Later releases may add fields; "
            "`schema_version` changes when one goes or means something else."
        ),
        "schemas": (
            "For these commands there is a schema, and below it the fields of `data`. The data of the "
            "others is what they print for people, by name: see `gpuenv COMMAND --json`."
        ),
        "command": "Command", "schema": "Schema", "field": "Field", "type": "Type", "what": "What it is",
        "missing": "may be missing", "or": " or ", "null": "null", "list": "list of {of}",
        "by": "object of {of}",
        "any": "anything", "data": "`data` of `gpuenv {command}`",
        "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false",
        "object": "object",
    },
    "zh": {
        "title": "JSON 输出",
        "intro": (
            "本页由 `python tools/build_reference.py` 生成。每个命令都接受 `--json`，在标准输出上输出一个"
            " JSON 文档，失败时也一样；其余消息都在标准错误上。"
        ),
        "example": "外层结构",
        "ok": (
            "退出码不为 0 时 `ok` 为 false，`error` 说明原因，`data` 为 null，或者是仍然已知的内容。"
            "`code` 是稳定的，不随语言变化；文字会随语言变化。值未知的字段为 null。以后的版本可能增加字段"
            "；删除字段或改变其含义时，`schema_version` 会改变。"
        ),
        "schemas": (
            "下列命令有 schema，后面列出各自 `data` 的字段。其他命令的 `data` 就是它们显示的内容，"
            "字段同名：见 `gpuenv COMMAND --json`。"
        ),
        "command": "命令", "schema": "schema", "field": "字段", "type": "类型", "what": "说明",
        "missing": "可能没有", "or": "或 ", "null": "null", "list": "列表：{of}", "by": "对象，值为{of}",
        "any": "任意", "data": "`gpuenv {command}` 的 `data`",
        "string": "文本", "integer": "整数", "number": "数字", "boolean": "true 或 false", "object": "对象",
    },
}  # fmt: skip
_ENVELOPE = """```json
{
  "schema_version": 1,
  "command": "plan",
  "ok": false,
  "data": null,
  "warnings": [{"code": "…", "message": "…"}],
  "error": {
    "code": "…",
    "message": "…",
    "because": [{"text": "…", "source": "…"}],
    "fixes": [{"text": "…", "command": "gpuenv …"}]
  }
}
```"""


def render_json_page(language: str) -> str:
    """Write the page in a language."""
    return "\n".join(_page(_WORDS[language])) + "\n"


def _page(words: dict[str, str]) -> Iterator[str]:
    yield from (f"# {words['title']}", "", words["intro"], "", f"## {words['example']}", "", _ENVELOPE, "")
    yield from (words["ok"], "", words["schemas"], "")
    yield from (f"| {words['command']} | {words['schema']} |", "|---|---|")
    for command in OUTPUTS:
        yield f"| `gpuenv {command}` | [`{file_name(command)}`](../../schemas/{file_name(command)}) |"
    described: set[str] = set()
    for command, (form, *others) in OUTPUTS.items():
        parts = schema(command)["$defs"]
        yield from ("", f"## {words['data'].format(command=command)}", *_object(form.__name__, parts, words))
        names = [other.__name__ for other in others]
        below = [name for one in (form.__name__, *names) for name in _named_below(one, parts)]
        for name in dict.fromkeys((*names, *below)):
            if name not in described and "properties" in parts[name]:
                described.add(name)
                yield from ("", f"### {name}", *_object(name, parts, words))


def _object(name: str, parts: dict[str, Any], words: dict[str, str]) -> Iterator[str]:
    part = parts[name]
    told = CHINESE[name] if words is _WORDS["zh"] else part["description"].partition("\n")[0]
    yield from ("", told)
    yield from ("", f"| {words['field']} | {words['type']} |", "|---|---|")
    for field, of in part["properties"].items():
        missing = "" if field in part["required"] else f" ({words['missing']})"
        yield f"| `{field}` | {_type(of, parts, words)}{missing} |"


def _named_below(name: str, parts: dict[str, Any]) -> list[str]:
    """Return the names of all objects in an object, each once, the nearest first."""
    found: list[str] = []
    waiting = [name]
    while waiting:
        here = [below for below in _references(parts[waiting.pop(0)]) if below not in found and below != name]
        found += dict.fromkeys(here)
        waiting += here
    return found


def _references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [name for item in value for name in _references(item)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"].rpartition("/")[2]] if "$ref" in value else []
    return own + [name for item in value.values() for name in _references(item)]


def _type(of: dict[str, Any], parts: dict[str, Any], words: dict[str, str]) -> str:
    if "$ref" in of:
        name = of["$ref"].rpartition("/")[2]
        told = f"[{name}](#{name.lower()})"
        return told if "properties" in parts[name] else _type(parts[name], parts, words)
    if "anyOf" in of:
        return words["or"].join(_type(one, parts, words) for one in of["anyOf"])
    if "enum" in of:
        return ", ".join(f"`{value}`" for value in of["enum"])
    return _plain_type(of, parts, words)


def _plain_type(of: dict[str, Any], parts: dict[str, Any], words: dict[str, str]) -> str:
    match of.get("type"):
        case "array":
            items = of["items"] or of["prefixItems"][0]  # of a fixed length
            return words["list"].format(of=_type(items, parts, words))
        case "object" if of.get("additionalProperties"):
            return words["by"].format(of=_type(of["additionalProperties"], parts, words))
        case str() as kind:
            return words[kind]
    return words["any"]
