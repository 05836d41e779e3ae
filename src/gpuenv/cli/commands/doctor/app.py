"""`gpuenv doctor`."""

from __future__ import annotations

from gpuenv.cli import options as o
from gpuenv.cli.commands.doctor.options import DoctorArguments
from gpuenv.cli.declaration import Declared

declared = Declared()


@declared.command()
def doctor(environment: o.Environment = None, *, arguments: DoctorArguments, console: o.Console) -> int:
    """Explain why torch does not use the GPU: the root cause, its requirement, and the command to fix it."""
    from gpuenv.cli.commands.doctor import doctor as command  # noqa: PLC0415

    return command.doctor(environment, arguments, console)
