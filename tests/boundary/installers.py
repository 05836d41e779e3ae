"""Plans, tiny real wheels, and fake installers with a call log, for the tests of environments."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

from gpuenv.model.plan import Plan, PlannedPackage, Sources, Step

# Stands for uv: notes its call, then does what the file `behaviour` beside it sets.
_FAKE = """#!/bin/sh
here=${0%/*}
echo "$*" >> "$here/calls"
. "$here/behaviour"
if [ "$1" = venv ]; then target=$2 does=$venv; else target=$4 does=$install; fi
if [ "$does" = fail ]; then echo "x it went wrong"; exit 2; fi
if [ "$1" = venv ]; then
    /bin/mkdir -p "$target/bin"
    echo "home = /nowhere" > "$target/pyvenv.cfg"
    printf %s "$generation" > "$target/generation"
    : > "$target/bin/python"
else
    info="$target/lib/python3.12/site-packages/torch-$torch.dist-info"
    /bin/mkdir -p "$info"
    printf 'Metadata-Version: 2.1\\nName: torch\\nVersion: %s\\n' "$torch" > "$info/METADATA"
fi
if [ "$does" = hang ]; then
    echo "$$" > "$here/hanging"
    while ! [ -e "$here/let-go" ]; do /bin/sleep 0.01; done
fi
"""


def fake_uv(directory: Path, **behaviour: str) -> Path:
    """Write a fake uv; by default it makes an environment of generation `new` with torch 9.9.9+cpu in it.

    `venv` and `install` may be `fail` or `hang`: then it waits for a file `let-go`, having written `hanging`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "uv"
    program.write_text(_FAKE, encoding="utf-8")
    program.chmod(0o755)
    behave(program, **behaviour)
    return program


def behave(program: Path, **behaviour: str) -> None:
    words = {"torch": "9.9.9+cpu", "generation": "new", **behaviour}
    text = "".join(f"{key}={value}\n" for key, value in words.items())
    program.with_name("behaviour").write_text(text, encoding="utf-8")


def calls(program: Path) -> list[str]:
    log = program.with_name("calls")
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def make_wheel(
    directory: Path,
    name: str,
    version: str,
    files: dict[str, str] | None = None,
    requires: tuple[str, ...] = (),
) -> Path:
    """Write a wheel that installs anywhere."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {require}\n" for require in requires)
    members = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n",
        **(files or {}),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{path},sha256={_digest(text)},{len(text.encode())}\n" for path, text in members.items()
    )
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for member, text in (*members.items(), (f"{info}/RECORD", f"{record}{info}/RECORD,,\n")):
            wheel.writestr(member, text)
    return path


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def a_plan(target: Path, *, steps: tuple[Step, ...] = (), manager: str = "uv", variant: str = "cpu") -> Plan:
    """Return a plan for torch 9.9.9+cpu; without steps of its own, those of the fake uv."""
    return Plan(
        machines=(),
        python="3.12",
        python_path=None,
        variant=variant,
        manager=manager,
        packages=(PlannedPackage("torch", "9.9.9+cpu", "cpu", None, None, None, None, 1000, "wheel"),),
        pins=("torch==9.9.9+cpu",),
        requirements=(),
        constraints=(),
        sources=Sources(None, (), ()),
        steps=steps
        or (
            Step(("uv", "venv", str(target)), "create an environment"),
            Step(("uv", "pip", "install", "--python", str(target), "torch"), "install torch"),
        ),
        why=(),
        rejected=(),
        advice=(),
        warnings=(),
    )


def plan_data(machine: str = "here") -> dict[str, object]:
    return {
        "machines": [{"system": {"os": machine}}],
        "python": "3.12",
        "variant": "cpu",
        "manager": "uv",
        "packages": [{"name": "torch", "version": "9.9.9+cpu"}],
    }
