"""Where only builds for CUDA and the CPU count, a card of another maker is never passed over silently."""

from __future__ import annotations

import pytest

from gpuenv.model.accelerator import Accelerator
from gpuenv.model.errors import Unsatisfiable
from gpuenv.model.machine import Machine, System
from gpuenv.planning.machines import refuse_other_builds

LINUX = System("linux", "x86_64")
CARD = Accelerator("rocm", "AMD", 0, "AMD Radeon RX 7900 XTX", "gfx1100", discrete=True)
INTEGRATED = Accelerator("xpu", "Intel", 0, "Intel UHD Graphics 630", "gen9", discrete=False)


def test_a_card_is_named_unless_the_cpu_is_asked_for() -> None:
    with pytest.raises(Unsatisfiable, match="RX 7900 XTX") as caught:
        refuse_other_builds((Machine(LINUX), Machine(LINUX, accelerators=(CARD,))), cpu=False)
    assert any("--cuda cpu" in fix.text for fix in caught.value.fixes)
    refuse_other_builds((Machine(LINUX, accelerators=(CARD,)),), cpu=True)
    refuse_other_builds((Machine(LINUX, accelerators=(INTEGRATED,)),), cpu=False)
