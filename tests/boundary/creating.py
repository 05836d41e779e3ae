"""Create an environment with a fake uv, in a process of its own that a test may kill."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from installers import a_plan, plan_data

from gpuenv.model.errors import GpuenvError
from gpuenv.operations.create import Options, Verified, create


def main(name: str, uv: str, force: str, verify: str) -> int:
    """Take the name, the path of the fake uv, `force` or not, `hang` in verify or not."""
    target = Path(os.environ["GPUENV_DATA_DIR"]) / "envs" / name

    def hang(_: Path) -> Verified:
        Path(uv).with_name("hanging").write_text("verify", encoding="utf-8")
        while True:
            time.sleep(0.01)

    try:
        create(
            name,
            a_plan(target),
            plan_data(),
            environ=dict(os.environ),
            verify=hang if verify == "hang" else None,
            options=Options(force=force == "force", show=False, executables={"uv": uv}, wait_s=0),
        )
    except GpuenvError as error:
        print(error.code)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
