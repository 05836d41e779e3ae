import re
import shutil
from pathlib import Path

from setuptools import find_packages, setup

stale_egg_info = Path(__file__).parent / "open_r1.egg-info"
if stale_egg_info.exists():
    shutil.rmtree(stale_egg_info)

_deps = [
    "accelerate>=1.2.1",
    "bitsandbytes",
    "datasets>=3.2.0",
    "deepspeed==0.15.4",
    "distilabel[vllm,ray,openai]>=1.5.2",
    "hf_transfer>=0.1.4",
    "huggingface-hub[cli]>=0.19.2,<1.0",
    "liger_kernel==0.5.2",
    "lighteval @ git+https://github.com/huggingface/lighteval.git@4f381b352c0e467b5870a97d41cb66b487a2c503#egg=lighteval[math]",
    "math-verify>=0.3.2",  # for grpo
    "safetensors>=0.3.3",
    "torch>=2.5.1",
    "transformers @ git+https://github.com/huggingface/transformers.git@main",
    "trl @ git+https://github.com/huggingface/trl.git@main",
    "vllm>=0.7.0",
]
deps = {b: a for a, b in (re.findall(r"^(([^!=<>~ \[\]]+)(?:\[[^\]]+\])?(?:[!=<>~ ].*)?$)", x)[0] for x in _deps)}


def deps_list(*pkgs):
    return [deps[pkg] for pkg in pkgs]


extras = {}
extras["torch"] = deps_list("torch")
extras["eval"] = deps_list("lighteval", "math-verify")

install_requires = [
    deps["accelerate"],
    deps["bitsandbytes"],
    deps["datasets"],
    deps["deepspeed"],
    deps["huggingface-hub"],
    deps["safetensors"],
    deps["transformers"],
    deps["trl"],
]

setup(
    name="open-r1",
    version="0.1.0.dev0",
    package_dir={"": "src"},
    packages=find_packages("src"),
    extras_require=extras,
    python_requires=">=3.10.9",
    install_requires=install_requires,
)
