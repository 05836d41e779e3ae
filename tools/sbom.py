"""Write the SBOM that gpuenv's wheel carries: `nox -s sbom`, after a change of the locks or of the version.

CycloneDX, in sbom/gpuenv.cdx.json, from where the build puts it into `.dist-info/sboms` (PEP 770). The wheel
has nobody else's code: what it depends on is listed as external, as locks/run.txt locks it for the tests. The
same locks give the same bytes: no date, and a serial number made from the contents. `--check` only compares.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from build_release import read_version
from cyclonedx.model import Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot7
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOT = Path(__file__).parents[1]
PATH = ROOT / "sbom" / "gpuenv.cdx.json"
LOCK = ROOT / "locks" / "run.txt"
_PIN = re.compile(r"^(?P<name>[a-z0-9.-]+)(?:\[[^\]]*\])?==(?P<version>\S+)(?: ; (?P<marker>.*?))? ?\\$")
_VIA = re.compile(r"^    #(?: via)? +(?!via$)(?P<name>[a-z0-9.-]+)(?P<own> \(pyproject\.toml\))?$")


@dataclass
class Pin:
    """A line of a lock: what it pins, where it counts, and whose dependency it is."""

    name: str
    version: str
    marker: str | None
    via: list[str]


def main(arguments: list[str] | None = None) -> int:
    """Write, or compare; return the exit status, 1 where the file is another."""
    parser = argparse.ArgumentParser(description="write the SBOM of gpuenv's wheel")
    parser.add_argument("--check", action="store_true", help="only compare with what is there")
    options = parser.parse_args(arguments)
    text = render(read_lock(LOCK.read_text(encoding="utf-8")))
    fault = JsonStrictValidator(SchemaVersion.V1_7).validate_str(text)
    if fault is not None:
        sys.exit(f"error: this is no CycloneDX 1.7: {fault}")
    if options.check:
        same = PATH.is_file() and PATH.read_text(encoding="utf-8") == text
        print(
            f"{PATH.name} {'is in step with' if same else 'is not what `nox -s sbom` writes for'} {LOCK.name}"
        )
        return 0 if same else 1
    PATH.write_text(text, encoding="utf-8")
    return 0


def read_lock(text: str) -> tuple[Pin, ...]:
    """Read the pins of a lock, and by the comments below each what wants it."""
    pins: list[Pin] = []
    for line in text.splitlines():
        if pin := _PIN.match(line):
            pins.append(Pin(pin["name"], pin["version"], pin["marker"], []))
        elif via := _VIA.match(line):
            pins[-1].via.append(via["name"])
    return tuple(pins)


def render(pins: Iterable[Pin]) -> str:
    """Return the SBOM as JSON, with a serial number made from the rest of it."""
    own = _own()
    made = [(pin, _component(pin)) for pin in pins]
    bom = Bom(components=[component for _, component in made])
    bom.metadata.component = own
    bom.register_dependency(own, ())
    for pin, component in made:
        wanting = [entry for other, entry in made if other.name in pin.via] + (
            [own] if own.name in pin.via else []
        )
        for item in wanting:
            bom.register_dependency(item, [component])
    content: dict[str, Any] = json.loads(JsonV1Dot7(bom).output_as_string())
    content["metadata"].pop("timestamp", None)
    content.pop("serialNumber", None)
    body = json.dumps(content, sort_keys=True)
    content["serialNumber"] = f"urn:uuid:{uuid5(NAMESPACE_URL, body)}"
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def _own() -> Component:
    version = read_version()
    purl = PackageURL("pypi", name="gpuenv", version=version)
    return Component(
        name="gpuenv",
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=str(purl),
        purl=purl,
        licenses=[DisjunctiveLicense(id="MIT")],
    )


def _component(pin: Pin) -> Component:
    purl = PackageURL("pypi", name=pin.name, version=pin.version)
    where = [Property(name="gpuenv:marker", value=pin.marker)] if pin.marker else []
    return Component(
        name=pin.name,
        version=pin.version,
        type=ComponentType.LIBRARY,
        bom_ref=str(purl),
        purl=purl,
        scope=ComponentScope.REQUIRED,
        is_external=True,
        properties=where,
    )


if __name__ == "__main__":
    sys.exit(main())
