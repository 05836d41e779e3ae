"""Which engine reaches the machines: Ansible by an inventory, Slurm by a partition."""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct

from gpuenv.fleet.node_archive import node_app
from gpuenv.fleet.run_model import Engine
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError


class EngineOptions(Struct, frozen=True):
    """The machines as they were named: inventories of Ansible or a partition of Slurm, and which of them.

    `forks` is how many at a time (None: as the engine is set up), `timeout_s` a machine's limit in seconds.
    Of Slurm alone: `wait_s` is how long a job may wait in the queue, `slurm_options` are options of srun.
    """

    inventory: tuple[str, ...] = ()
    partition: str | None = None
    limit: str | None = None
    forks: int | None = None
    timeout_s: int | None = None
    wait_s: int | None = None
    slurm_options: tuple[str, ...] = ()


def choose_engine(options: EngineOptions, environ: Mapping[str, str]) -> Engine:
    """Return the engine that reaches the machines; raise UsageError where none or two are named."""
    if options.inventory and options.partition:
        raise UsageError(
            tr("--inventory (Ansible) and --partition (Slurm) are mutually exclusive"),
            code="usage",
            fixes=(Fix(tr("omit one of the two")),),
        )
    if options.inventory:
        from gpuenv.fleet.engines.ansible import Ansible  # noqa: PLC0415 - one engine is enough

        _check_inventory(options.inventory)
        return Ansible(
            node_app(), options.inventory, options.limit, options.forks, options.timeout_s, environ=environ
        )
    if options.partition:
        from gpuenv.fleet.engines.slurm import Slurm  # noqa: PLC0415

        return Slurm(
            node_app(),
            options.partition,
            options.limit,
            options.forks,
            options.timeout_s,
            options.wait_s,
            options.slurm_options,
            environ,
        )
    raise UsageError(
        tr("no machines are named"),
        code="no-machines",
        fixes=(
            Fix(tr("name an inventory of Ansible: --inventory FILE")),
            Fix(tr("or a partition of Slurm: --partition NAME")),
        ),
    )


def _check_inventory(inventory: tuple[str, ...]) -> None:
    """Raise UsageError for a file that does not exist; `gpu1,gpu2,` is a list of hosts."""
    missing = next((item for item in inventory if "," not in item and not os.path.lexists(item)), None)
    if missing is not None:
        raise UsageError(
            tr("the inventory `{path}` does not exist", path=missing),
            code="no-inventory",
            fixes=(Fix(tr("name an inventory of Ansible: --inventory FILE")),),
        )
