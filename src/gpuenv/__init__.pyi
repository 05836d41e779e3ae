from gpuenv.api import create as create
from gpuenv.api import detect as detect
from gpuenv.api import diagnose as diagnose
from gpuenv.api import explain as explain
from gpuenv.api import plan as plan
from gpuenv.api import verify as verify
from gpuenv.model.errors import GpuenvError as GpuenvError

__version__: str
