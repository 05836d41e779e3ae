"""The words of the page of the matrices; `{names}` that the page's script fills stay as they are."""

from __future__ import annotations

from gpuenv.i18n.messages import tr

_LATER = (
    "shown", "all", "first", "last", "name", "which", "cuda", "driver", "torch", "count", "text", "what",
    "date", "program",
)  # fmt: skip


def _tr(template: str) -> str:
    """Translate a sentence that the script completes."""
    return tr(template, **{name: f"{{{name}}}" for name in _LATER})


def page_texts() -> dict[str, str]:
    """Return the words by the names that the page's HTML and script ask for them."""
    return {**_headings(), **_filters(), **_answers(), **_table(), **_states()}


def _headings() -> dict[str, str]:
    return {
        "language": tr("en"),
        "title": tr("Which torch runs on which GPU"),
        "made": _tr("{count} builds of torch, from the matrices of {program} of {date}"),
        "machine": tr("this machine"),
        "show-mine": tr("show what runs here"),
        "show-all": tr("show all"),
    }


def _filters() -> dict[str, str]:
    return {
        "filters": tr("filters"),
        "gpu": tr("GPU"),
        "gpu-hint": tr("product, generation or compute capability"),
        "driver": tr("NVIDIA driver"),
        "driver-hint": tr("as nvidia-smi prints it"),
        "wsl": tr("under WSL2"),
        "torch": tr("torch"),
        "torch-hint": tr("2.14, or >=2.4,<2.8"),
        "variant": tr("CUDA"),
        "python": tr("Python"),
        "platform": tr("platform"),
        "index": tr("index"),
        "any": tr("any"),
        "any-cuda": tr("any CUDA"),
        "cuda-major": _tr("any CUDA {cuda}"),
        "cpu": tr("CPU only"),
    }


def _answers() -> dict[str, str]:
    return {
        "count": _tr("{shown} of {all} builds shown"),
        "count-torch": _tr("{shown} of {all} builds shown, torch {first} to {last}"),
        "count-none": _tr("none of the {all} builds fits"),
        "gpu-means": _tr("{name}: compute capability {which}"),
        "gpu-unknown": _tr("no GPU called {name} is known: it is ignored"),
        "gpu-several": _tr("{name} is ambiguous ({which}) and is ignored"),
        "driver-means": _tr("up to CUDA {cuda}"),
        "driver-unknown": _tr("{text} is not a valid driver version (example: 535.104.05) and is ignored"),
        "driver-old": tr("older than any driver known here"),
        "torch-unknown": _tr("{text} is not a valid version and is ignored"),
    }


def _table() -> dict[str, str]:
    return {
        "caption": tr("builds of torch, the newest first"),
        "driver-linux": tr("driver on Linux"),
        "driver-windows": tr("driver on Windows"),
        "native-from": _tr("native {driver}"),
        "native-why": tr("this driver supports the CUDA release itself, and so compiles PTX"),
        "pythons": tr("Pythons"),
        "cudnn": tr("cuDNN"),
        "where": tr("published"),
        "evidence": tr("evidence"),
        "evidence-wheel": tr("wheel"),
        "evidence-matrix": tr("matrix"),
        "evidence-assumed": tr("assumed"),
        "evidence-wheel-why": tr("read from the wheel itself"),
        "evidence-matrix-why": tr("from release notes and build scripts"),
        "evidence-assumed-why": tr("derived, not observed"),
        "details": _tr("details of torch {torch}"),
        "here": tr("runs here"),
        "compiled": tr("compiled for"),
        "tags": tr("tags"),
        "source": tr("source"),
        "unknown": tr("not known"),
        "generation-cuda": _tr("CUDA {first} to {last}"),
        "generation-cuda-on": _tr("CUDA {first} and later"),
        "generation-driver": _tr("last drivers: {driver}"),
    }


def _states() -> dict[str, str]:
    return {
        "legend": tr("legend"),
        "state-n": tr("runs natively"),
        "state-p": tr("through PTX: slow first start"),
        "state-+": tr("partly: some of its GPUs, or some platforms"),
        "state--": tr("no code for it"),
        "state-x": tr("dropped by a bundled library"),
        "state-b": tr("newer than the build's CUDA"),
        "state-d": tr("needs a newer driver than available"),
        "state-w": tr("PTX, which this driver cannot compile"),
        "state-?": tr("not known"),
        "where-what": _tr("{which}: {what}"),
    }
