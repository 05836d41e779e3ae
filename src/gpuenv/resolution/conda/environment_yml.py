"""A person's environment.yml as a request: what of it is torch, what is conda's, what is pip's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from gpuenv.i18n.foreign_messages import translate_foreign
from gpuenv.i18n.messages import tr
from gpuenv.model.conda import EnvironmentFile
from gpuenv.model.match_spec import MatchSpec, as_specifier, parse_match_spec
from gpuenv.model.wheel import Platform
from gpuenv.resolution.conda.selectors import is_selected, selected
from gpuenv.resolution.request import STACK
from gpuenv.untrusted.bounds import check_bounds
from gpuenv.untrusted.documents import check_yaml

_OWN_KEYS = ("channels", "dependencies", "prefix")
TORCH_NAMES = {"pytorch": "torch", "pytorch-gpu": "torch", "pytorch-cpu": "torch"}
CUDA_NAMES = frozenset({"pytorch-cuda", "cudatoolkit", "cuda-version"})
CUDA_FEATURE = re.compile(r"cuda(?P<major>\d{1,2})(?P<minor>\d)")  # `cuda100` chose the build of torch 1.0
# what chooses torch's build, or comes with it: none of it is PyPI's, where others may have taken the names
WITH_TORCH = frozenset({"cpuonly", "pytorch-mutex", "libtorch", "torchtriton", *CUDA_NAMES})
NO_CHANNELS = ("nodefaults", "defaults")
_LARGEST = 500_000  # values: more than any file of a person's has


def parse_environment_file(text: str, platform: Platform) -> EnvironmentFile:
    """Parse an environment.yml for a platform; raise ValueError.

    name: paper
    channels: [pytorch, nvidia]
    dependencies:
      - python=3.9
      - pytorch=1.13
      - pytorch-cuda=11.7  # [linux]
      - numpy<1.24
      - pip:
        - timm==0.6.12
    """
    document = _load(text)
    if not {"dependencies", "channels", "name"} & document.keys():  # a compose file, say
        raise ValueError(tr("it has neither `name` nor `channels` nor `dependencies`"))
    reading = _Reading(platform)
    for item in selected(_list_of(document, "dependencies"), platform, reading.tell_selector):
        reading.take(item)
    return reading.result(_channels(_list_of(document, "channels")), _kept(document))


def parse_kept_keys(text: str) -> tuple[tuple[str, Any], ...]:
    """Return the keys of an environment.yml that gpuenv does not read, with values; raise ValueError."""
    return _kept(_load(text))


def _kept(document: Mapping[Any, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((str(key), _plain(value)) for key, value in document.items() if key not in _OWN_KEYS)


def _load(text: str) -> Mapping[Any, Any]:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where such a file is read
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        document = YAML().load(check_yaml(text))
    except (YAMLError, ValueError, RecursionError) as error:
        raise ValueError(tr("it is not valid YAML: {error}", error=_reason(error))) from None
    if not isinstance(document, Mapping):
        raise ValueError(tr("it is not a mapping of keys"))
    _refuse_bomb(document)
    return document


def _reason(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    text = getattr(error, "problem", None) or next(iter(str(error).splitlines()), type(error).__name__)
    return translate_foreign(f"{text} (line {mark.line + 1})" if mark is not None else str(text))


def _refuse_bomb(document: Any) -> None:
    """Raise ValueError where aliases of aliases make a small file huge."""
    waiting, count = [document], 0
    while waiting:
        value = waiting.pop()
        count += 1
        if count > _LARGEST:
            raise ValueError(tr("it is too large: its aliases repeat each other"))
        if isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _list_of(document: Mapping[Any, Any], key: str) -> list[Any]:
    listed = document.get(key)
    if listed is not None and not isinstance(listed, list):
        raise ValueError(tr("`{key}` is not a list", key=key))
    return listed or []


def _channels(listed: list[Any]) -> tuple[str, ...]:
    for name in listed:
        if not isinstance(name, str) or not name.strip() or name.startswith("-") or not name.isprintable():
            raise ValueError(tr("`{name}` is not a valid channel", name=str(name)[:80]))
    return tuple(dict.fromkeys(name.strip() for name in listed if name not in NO_CHANNELS))


class _Reading(Struct):
    """Collects what the dependencies ask for."""

    platform: Platform
    stack: list[str] = field(default_factory=list)
    specs: list[str] = field(default_factory=list)
    pip: list[str] = field(default_factory=list)
    python: str | None = None
    cuda: str | None = None
    warnings: list[str] = field(default_factory=list)

    def tell_selector(self, condition: str) -> None:
        self.warnings.append(tr("the selector `[{condition}]` is not understood", condition=condition))

    def take(self, item: Any) -> None:
        if isinstance(item, Mapping):
            self._take_pip(item)
        elif isinstance(item, str):
            self._take_spec(item.strip())
        else:
            raise ValueError(tr("`{item}` is not a valid dependency", item=str(item)[:80]))

    def _take_pip(self, item: Mapping[Any, Any]) -> None:
        lines = item.get("pip")
        if set(item) != {"pip"} or not isinstance(lines, list):
            raise ValueError(tr("`{item}` is not a valid dependency", item=str(dict(item))[:80]))
        if not is_selected(item, "pip", self.platform, self.tell_selector):
            return
        for line in selected(lines, self.platform, self.tell_selector):
            if not isinstance(line, str):
                raise ValueError(tr("`{line}` is not a valid pip requirement", line=str(line)[:80]))
            self._take_line(line.strip())

    def _take_line(self, line: str) -> None:
        if line.startswith("-"):
            text = tr(
                "`{line}` of the pip part is ignored: gpuenv chooses where packages come from", line=line
            )
            self.warnings.append(text)
        elif line and not line.startswith("#"):
            self.pip.append(line)

    def _take_spec(self, text: str) -> None:
        spec = parse_match_spec(check_bounds(text))
        project = TORCH_NAMES.get(spec.name, spec.name)
        if project in STACK:
            self.stack.append(f"{project}{as_specifier(spec)}")
            self.cuda = self.cuda or ("cpu" if spec.name == "pytorch-cpu" else cuda_in_build(spec.build))
        elif spec.name in WITH_TORCH or CUDA_FEATURE.fullmatch(spec.name):
            self._take_choice(spec, text)
        elif spec.name == "python":
            self.python = as_specifier(spec) or None
        elif spec.name != "pip":
            self.specs.append(text.partition(" #")[0].strip())

    def _take_choice(self, spec: MatchSpec, text: str) -> None:
        """Learn the CUDA from what chooses torch's build; a range of them chooses none."""
        wish = cuda_wish(spec)
        if wish is None and spec.name in CUDA_NAMES and spec.version not in ("", "*"):
            self.warnings.append(tr("`{spec}` is ignored: it does not specify one CUDA release", spec=text))
        self.cuda = self.cuda or wish

    def result(self, channels: tuple[str, ...], kept: tuple[tuple[str, Any], ...]) -> EnvironmentFile:
        return EnvironmentFile(
            stack=tuple(self.stack),
            specs=tuple(dict.fromkeys(self.specs)),
            pip=tuple(self.pip),
            channels=channels,
            python=self.python,
            cuda=self.cuda,
            kept=kept,
            warnings=tuple(self.warnings),
        )


def cuda_wish(spec: MatchSpec) -> str | None:
    """Return the CUDA that a spec chooses: `cudatoolkit=10.2`, `cpuonly`; None where it names no one."""
    feature = CUDA_FEATURE.fullmatch(spec.name)
    if feature:
        return f"{feature['major']}.{feature['minor']}"
    if spec.name == "cpuonly":
        return "cpu"
    if spec.name not in CUDA_NAMES:
        return cuda_in_build(spec.build)
    major, _, rest = (spec.release or "").partition(".")
    return f"{major}.{rest.partition('.')[0]}" if rest else None


def cuda_in_build(build: str) -> str | None:
    """Return the wish in a build string: `cpu*`, `*cuda118*`, `py3.9_cuda11.7*`; None for none."""
    match = re.search(r"cu(?:da)?(\d{1,2})\.?(\d)", build)
    if match:
        return f"{match[1]}.{match[2]}"
    return "cpu" if re.search(r"(?:^|_|\*)cpu", build) else None


def _plain(value: Any) -> Any:
    """Return a value of ruamel's as plain data."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, (bool, int, float)) or value is None else str(value)
