"""What `import gpuenv` offers: commands as functions, each of which returns the `data` of its `--json`.

A keyword is an option by its long name (`find_links` is `--find-links`), so that the environment variables
and the checks of the command line hold here too. Nothing is asked on a terminal, nothing is printed; texts
are in English. Where the command would end with another status than 0, GpuenvError is raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypedDict

from gpuenv.cli import output
from gpuenv.cli.main import error_behind, explained, run_command
from gpuenv.files.temporary import fallback_tmpdir
from gpuenv.model.errors import Because, Fix, GpuenvError, Unsatisfiable
from gpuenv.process import interruption

if TYPE_CHECKING:
    from typing_extensions import Unpack

Text = str | PathLike[str]


class PlanKeywords(TypedDict, total=False):
    """The options of `gpuenv plan` as keywords; what is repeatable there is a sequence here."""

    requirement: Sequence[Text]
    file: Text
    python: str
    cuda: str
    machine: Sequence[Text]
    machines: Text
    driver: str
    gpu: Sequence[str]
    platform: str
    glibc: str
    accelerator: str
    macos: str
    l4t: str
    jetpack: str
    cann: str
    amdgpu: str
    wsl: bool
    device: Sequence[int]
    manager: str
    channel: str
    mirror: Sequence[str]
    find_links: Sequence[Text]
    offline: bool
    fetch_hashes: bool
    only_binary: bool


class CreateKeywords(PlanKeywords, total=False):
    """The options of `gpuenv create`."""

    from_lock: Text
    dry_run: bool
    verify: bool
    force: bool
    replace_foreign: bool


class VerifyKeywords(TypedDict, total=False):
    """The options of `gpuenv verify`."""

    device: Sequence[int]
    compile: bool
    nccl: bool
    timeout: float
    trust: bool


class DiagnoseKeywords(TypedDict, total=False):
    """The options of `gpuenv doctor`."""

    python: Text
    verify: bool
    save: Text
    trust: bool
    findings: Text


def detect() -> dict[str, Any]:
    """Return what this machine is: driver, GPUs, system, toolkit, conda tools, Pythons."""
    return _data("detect", (), {})


def plan(*requirements: str, **options: Unpack[PlanKeywords]) -> dict[str, Any]:
    """Decide what to install for the requirements; without any for torch. Nothing is changed."""
    return _data("plan", requirements, options)


def create(name: Text, *requirements: str, **options: Unpack[CreateKeywords]) -> dict[str, Any]:
    """Plan, install and verify an environment. The call is the consent: nothing is asked."""
    return _data("create", (fspath(name), *requirements), {**options, "yes": True})


def verify(environment: Text | None = None, **options: Unpack[VerifyKeywords]) -> dict[str, Any]:
    """Run real work on every GPU in an environment; raise VerificationFailed where that fails."""
    return _data("verify", _named(environment), options)


def explain(text: Text) -> dict[str, Any]:
    """Tell what an error message means, or a log by its path; no known error is no failure."""
    return _data("explain", (fspath(text),), {})


def diagnose(environment: Text | None = None, **options: Unpack[DiagnoseKeywords]) -> dict[str, Any]:
    """Examine an environment as `gpuenv doctor` does.

    Where something is wrong VerificationFailed is raised, with the root cause; its `data` is the diagnosis.
    """
    return _data("doctor", _named(environment), options)


def _named(environment: Text | None) -> tuple[str, ...]:
    return () if environment is None else (fspath(environment),)


def _data(command: str, words: Sequence[str], options: Mapping[str, object]) -> dict[str, Any]:
    """Run a command; return the data of the one document that it would print."""
    arguments = [command, *_arguments(options), "--json", "--quiet", "--", *words]
    try:
        with interruption.heeded(), output.collected() as documents:
            fallback_tmpdir()
            run_command(arguments)
    except output.Interrupted:
        raise KeyboardInterrupt from None
    except GpuenvError as error:
        raise _without_passwords(explained(error)) from None
    except Exception as error:
        if (behind := error_behind(error)) is None:
            raise
        raise _without_passwords(behind) from None
    return _data_of(documents[-1])


def _arguments(options: Mapping[str, object]) -> Iterator[str]:
    """Return options as they are typed."""
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            yield option
        elif value is False and name == "verify":
            yield "--no-verify"
        elif isinstance(value, (list, tuple)):
            yield from (f"{option}={item}" for item in value)
        elif value not in (None, False):
            yield f"{option}={value}"


def _data_of(document: dict[str, Any]) -> dict[str, Any]:
    if (error := document["error"]) is not None:  # `plan` for machines of which some are not served
        because = tuple(Because(**reason) for reason in error["because"])
        raise Unsatisfiable(error["message"], code=error["code"], because=because, data=document["data"])
    data: dict[str, Any] = document["data"]
    return data


def _without_passwords(error: GpuenvError) -> GpuenvError:
    """Hide in an error what `--json` hides: it may end up in a traceback."""
    told = output.error_data(error)
    error.message = told["message"]
    error.args = (error.message,)
    error.because = tuple(Because(**reason) for reason in told["because"])
    error.fixes = tuple(Fix(**fix) for fix in told["fixes"])
    error.data = output.without_passwords(error.data)
    return error
