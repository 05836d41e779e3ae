"""A PyTorch environment that really works on the GPU in front of you.

What is exported here is the public API (docs/en/api.md); every other module is gpuenv's own. It is loaded
when it is first used; `__init__.pyi` has its types.
"""

__version__ = "0.1.0"
__all__ = ["GpuenvError", "create", "detect", "diagnose", "explain", "plan", "verify"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"gpuenv.{name}")
    from importlib import import_module  # noqa: PLC0415 - `--version` loads nothing

    return getattr(import_module("gpuenv.model.errors" if name == "GpuenvError" else "gpuenv.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
