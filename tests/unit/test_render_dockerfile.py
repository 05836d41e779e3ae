"""Format `dockerfile`, whole; and that nothing in it can become another instruction."""

from __future__ import annotations

import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import cpu_plan, locked, locked_file, plan

from gpuenv.formats.dockerfile import render_dockerfile
from gpuenv.model.errors import UsageError
from gpuenv.model.image import BaseImage, ImageRecipe
from gpuenv.model.locked import Locked
from gpuenv.model.plan import Sources
from gpuenv.model.variant import CudaVersion

DIGEST = f"sha256:{'5f' * 32}"
SLIM = BaseImage("docker.io", "library/python:3.12-slim-bookworm", "slim", "3.12", "2.36", digest=DIGEST)
DEVEL = BaseImage(
    "docker.io", "nvidia/cuda:12.6.3-devel-ubuntu24.04", "cuda-devel", "3.12", "2.39", CudaVersion(12, 6),
    ("python3",), ("python3-venv", "python3-dev"),
)  # fmt: skip
RUNTIME = replace(DEVEL, name="nvidia/cuda:12.6.3-runtime-ubuntu24.04", flavour="cuda-runtime")
INSTRUCTIONS = (
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "FROM",
    "HEALTHCHECK",
    "LABEL",
    "RUN",
    "USER",
    "WORKDIR",
)


def recipe(made: Locked | None = None, **facts: Any) -> ImageRecipe:
    given: dict[str, Any] = {
        "build": SLIM, "run": SLIM, "platform": "linux-64", "gpus": ("NVIDIA H100 (9.0)",), "capabilities": ("9.0",),
        "driver": "525.60.13", "cuda": CudaVersion(12, 6), "architectures": ("sm_80", "sm_90"), "alone": (), "is_for_rocm": False,
        "check": "print('checked')\n", "version": "1.2.3", "asked": "gpuenv dockerfile --gpu 9.0", **facts,
    }  # fmt: skip
    return ImageRecipe(made or locked(), **given)


def instructions(text: str) -> list[str]:
    """Take a Dockerfile apart as a builder does: files and comments dropped, continued lines joined."""
    text = re.sub(r"<<'(EOF_*)' (\S+)\n.*?\n\1\n", r"\2\n", text, flags=re.DOTALL)
    lines = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
    return [line for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).split("\n") if line]


# ruff: noqa: E501 - a hash stands in its line
WHOLE = """\
# torch 2.14.1+cu126 · torchvision 0.29.1+cu126 · CUDA 12.6 · Python 3.12
# made by gpuenv 1.2.3: gpuenv dockerfile --gpu 9.0
# for GPU NVIDIA H100 (9.0)
# needs driver 525.60.13 or newer, and the NVIDIA Container Toolkit
#
# docker build --platform linux/amd64 --file Dockerfile.gpu --tag torch .
# docker run --rm --gpus all torch
# the second runs torch on every GPU and reports the result
# docker 23 or newer, or with BuildKit; podman 4.8 or newer and buildah 1.33 or newer
#
# to add a package, in a Dockerfile of your own, with torch held as it is:
# FROM torch
# USER root
# RUN python -m pip install --constraint /opt/gpuenv/constraints.txt einops
# USER gpuenv

# another registry, such as a mirror: --build-arg REGISTRY=registry.example.com
ARG REGISTRY="docker.io"

FROM ${REGISTRY}/library/python:3.12-slim-bookworm@sha256:5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f AS build
# where pip looks; visible in this stage only
ARG PIP_FIND_LINKS="https://torch.example.com/whl/torch/ https://torch.example.com/whl/torchvision/"
WORKDIR /opt/gpuenv
# all packages, each file by its hash
COPY <<'EOF' /opt/gpuenv/requirements.txt
torch==2.14.1+cu126 --hash=sha256:7ed24f3aeefae8d25efadd84851d4ea1e5e92a0ac2f2f48704cb0e982be826f7
torchvision==0.29.1+cu126 --hash=sha256:9908a72254ea4d66330df8c21756e99a1552482a0bee89aa3135177c27eb2937
numpy==2.1.0 --hash=sha256:ef8965e15d9cd9685191c2911c6cfece350fec44a0fe78aa192fdc847d3bdaeb
setuptools==81.0 --hash=sha256:030e924e5c20e38194b7f5dbce48184c2f944bb2ffac42d51a316dde9998b40c
tinydep==1.0 --hash=sha256:57e6d931a9c856bc5fb059a9222d28280f4ceeea5f619d6d907d930718de28b0
EOF

RUN --mount=type=cache,target=/root/.cache/pip \\
    python3 -m venv /opt/venv \\
    && SOURCE_DATE_EPOCH=315532800 /opt/venv/bin/python -m pip --disable-pip-version-check install \\
        --no-deps --require-hashes --requirement /opt/gpuenv/requirements.txt \\
    && /opt/venv/bin/python -m pip --disable-pip-version-check freeze > /opt/gpuenv/constraints.txt
# the check of this image; it needs only torch
COPY <<'EOF' /opt/gpuenv/check.py
print('checked')
EOF

# layers of their own: what is as before is not pulled again with a newer torch
RUN mkdir -p /opt/layers /opt/venv/lib/python3.12/site-packages/nvidia /opt/venv/lib/python3.12/site-packages/torch \\
    && mv /opt/venv/lib/python3.12/site-packages/nvidia /opt/venv/lib/python3.12/site-packages/torch /opt/layers/

FROM ${REGISTRY}/library/python:3.12-slim-bookworm@sha256:5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f
# files written by the container get this user id: --build-arg UID=1000
ARG UID="1000"
RUN groupadd --non-unique --gid "${UID}" gpuenv \\
    && useradd --non-unique --no-log-init --create-home --uid "${UID}" --gid gpuenv gpuenv \\
    && install --directory --owner gpuenv --group gpuenv /workspace
COPY --from=build /opt/layers/nvidia /opt/venv/lib/python3.12/site-packages/nvidia
COPY --from=build /opt/venv /opt/venv
COPY --from=build /opt/layers/torch /opt/venv/lib/python3.12/site-packages/torch
COPY --from=build /opt/gpuenv /opt/gpuenv
ENV PATH="/opt/venv/bin:${PATH}"
ENV VIRTUAL_ENV="/opt/venv" \\
    PYTHONUNBUFFERED="1" \\
    NVIDIA_VISIBLE_DEVICES="all" \\
    NVIDIA_DRIVER_CAPABILITIES="compute,utility" \\
    NVIDIA_REQUIRE_CUDA="driver>=525.60.13"
LABEL org.opencontainers.image.title="torch 2.14.1+cu126 · torchvision 0.29.1+cu126 · CUDA 12.6 · Python 3.12" \\
    org.opencontainers.image.base.name="docker.io/library/python:3.12-slim-bookworm" \\
    org.opencontainers.image.base.digest="sha256:5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f" \\
    gpuenv.version="1.2.3" \\
    gpuenv.packages="/opt/gpuenv/requirements.txt" \\
    gpuenv.torch="2.14.1+cu126" \\
    gpuenv.variant="cu126" \\
    gpuenv.cuda="12.6" \\
    gpuenv.python="3.12" \\
    gpuenv.gpus="NVIDIA H100 (9.0)" \\
    gpuenv.driver="525.60.13" \\
    gpuenv.architectures="sm_80 sm_90"
USER ${UID}
WORKDIR /workspace

# needs no GPU: fails if this torch has no code for one of the intended GPUs
RUN ["python", "/opt/gpuenv/check.py", "built", "--torch", "2.14.1+cu126", "--cuda", "12.6", "--gpu", "9.0"]
# queries the driver only: does not start CUDA or use GPU memory
HEALTHCHECK --interval=5m --timeout=30s --start-period=30s \\
    CMD ["python", "/opt/gpuenv/check.py", "driver", "--driver", "525.60.13"]
# refuses a driver that is too old; to go without: docker run --entrypoint COMMAND
ENTRYPOINT ["python", "/opt/gpuenv/check.py", "start", "--driver", "525.60.13", "--"]
CMD ["python", "/opt/gpuenv/check.py", "gpus"]
"""


def test_the_whole_file() -> None:
    assert render_dockerfile(recipe()) == WHOLE


def test_a_base_without_a_known_digest_says_so_at_each_stage() -> None:
    text = render_dockerfile(recipe(build=DEVEL, run=RUNTIME))
    said = "# by tag, without a digest: the image may change\nFROM ${REGISTRY}/nvidia/cuda:"
    assert text.count(said) == 2
    assert "image.base.digest" not in text


def test_an_image_of_ones_own_that_is_named_by_digest_is_not_said_to_change() -> None:
    own = BaseImage("", f"registry.example.com/lab/base@{DIGEST}", "own")
    assert "the image may change" not in render_dockerfile(recipe(build=own, run=own))


def test_what_is_compiled_runs_without_the_compiler() -> None:
    text = render_dockerfile(recipe(build=DEVEL, run=RUNTIME, capabilities=("8.6", "9.0")))
    first, second = text.split("\nFROM ")[1:]
    assert first.startswith("${REGISTRY}/nvidia/cuda:12.6.3-devel-ubuntu24.04 AS build\n")
    assert second.startswith("${REGISTRY}/nvidia/cuda:12.6.3-runtime-ubuntu24.04\n")
    assert 'ENV TORCH_CUDA_ARCH_LIST="8.6;9.0"\n' in first
    assert "        python3 python3-venv python3-dev \\\n    && rm -rf /var/lib/apt/lists/*\n" in first
    assert "        python3 \\\n    && rm -rf /var/lib/apt/lists/*\n" in second
    assert first.count("# compile your own code here") == 1
    # the toolkit's libraries must not go before torch's own
    assert 'LD_LIBRARY_PATH="/usr/local/nvidia/lib:/usr/local/nvidia/lib64"' in second


def test_the_platform_of_the_wheels_is_said() -> None:
    assert "--platform linux/arm64 " in render_dockerfile(recipe(platform="linux-aarch64"))


def test_a_cpu_build_says_so_and_asks_for_no_gpu() -> None:
    made = recipe(locked(cpu_plan()), gpus=(), capabilities=(), driver=None, cuda=None, architectures=())
    text = render_dockerfile(made)
    assert "# a CPU build: torch will not use a GPU\n" in text
    assert "NVIDIA" not in text
    assert "--gpus all" not in text
    assert 'RUN ["python", "/opt/gpuenv/check.py", "built", "--torch", "2.15.0"]\nHEALTHCHECK NONE\n' in text


def test_an_image_of_ones_own_has_to_have_the_python_that_was_planned() -> None:
    own = BaseImage("", "registry.example.com/lab/base:1.2", "own")
    text = render_dockerfile(recipe(build=own, run=own))
    assert "FROM registry.example.com/lab/base:1.2 AS build\n" in text
    assert "REGISTRY" not in text
    assert "RUN python3 -c 'import sys; " in text


def test_a_password_is_left_to_netrc() -> None:
    sources = Sources("https://me:secret@pypi.example.com/simple", (), ())
    text = render_dockerfile(recipe(locked(plan(sources=sources))))
    assert 'ARG PIP_INDEX_URL="https://pypi.example.com/simple"\n' in text
    assert "secret@" not in text
    assert "# an index requires a password: docker build --secret id=netrc,src=$HOME/.netrc\n" in text
    assert "    --mount=type=secret,id=netrc,target=/root/.netrc \\\n    python3 -m venv" in text
    assert "type=secret" not in WHOLE


def test_a_file_that_lies_here_alone_is_refused() -> None:
    here = locked_file("mylib", "1.0", url="file:///home/me/wheels/mylib-1.0-py3-none-any.whl")
    with pytest.raises(UsageError, match="this machine only"):
        render_dockerfile(recipe(locked(None, here)))


@pytest.mark.parametrize("place", ["https://x.example.com/\nRUN evil", "https://x.example.com/a b"])
def test_an_address_that_pip_would_split_is_refused(place: str) -> None:
    with pytest.raises(UsageError):
        render_dockerfile(recipe(locked(plan(sources=Sources(place, (), ())))))


def test_a_file_that_was_asked_for_by_its_address_is_fetched_from_there() -> None:
    url = "https://files.example.com/mylib-1.0-py3-none-any.whl"
    text = render_dockerfile(recipe(locked(None, locked_file("mylib", "1.0", url=url, index=None))))
    assert f"\nmylib @ {url} --hash=sha256:" in text
    with pytest.raises(UsageError):
        render_dockerfile(recipe(locked(None, locked_file("mylib", "1.0", url=f"{url}\n'", index=None))))


HOSTILE = st.text(max_size=30) | st.sampled_from(
    ['a"\nRUN evil', "a\\", "$(id)", "${PATH}", "`id`", "it's", "\\\n", "a\u2028b", '"', "$", "\r\nUSER root"]
)


@given(HOSTILE, HOSTILE)
def test_texts_from_outside_never_become_an_instruction(gpu: str, asked: str) -> None:
    plain = instructions(render_dockerfile(recipe()))
    hostile = instructions(render_dockerfile(recipe(gpus=(gpu,), asked=asked)))
    assert [line.split()[0] for line in hostile] == [line.split()[0] for line in plain]
    different = [new for new, old in zip(hostile, plain, strict=True) if new != old]
    assert len(different) <= 1
    assert all(line.startswith("LABEL ") for line in different)


@given(HOSTILE)
def test_a_label_is_what_was_said(gpu: str) -> None:
    """A builder expands variables within double quotes, unless a backslash stands before them."""
    text = render_dockerfile(recipe(gpus=(gpu,)))
    match = re.search(r'gpuenv\.gpus="((?:[^"\\]|\\.)*)"', text)
    said = " ".join("".join(letter if letter.isprintable() else " " for letter in gpu).split())
    if not said:
        assert match is None or match[1] == ""
        return
    assert match is not None
    assert re.sub(r"\\(.)", r"\1", match[1]) == said
    assert not re.search(r"(?<!\\)(?:\\\\)*\$", match[1])


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" '\"$\\`#"), max_size=40)
    )
)
def test_the_script_arrives_as_it_is(lines: list[str]) -> None:
    text = render_dockerfile(recipe(check="\n".join([*lines, "end"])))
    match = re.search(r"^COPY <<'(EOF_*)' /opt/gpuenv/check\.py\n(.*?)\n\1\n", text, re.DOTALL | re.MULTILINE)
    assert match is not None
    assert match[2] == "\n".join([*lines, "end"])


def test_the_commands_are_lists() -> None:
    for line in instructions(render_dockerfile(recipe())):
        word, _, rest = line.partition(" ")
        assert word in INSTRUCTIONS
        if word == "CMD" or rest.startswith("["):
            assert all(isinstance(load, str) for load in json.loads(rest))


def test_the_dockerfile_at_the_top_is_what_this_program_writes() -> None:
    """`python tools/dockerfile_gpu.py` writes it anew."""
    path = Path(__file__).parents[2] / "tools" / "dockerfile_gpu.py"
    spec = spec_from_file_location("dockerfile_gpu", path)
    assert spec is not None
    assert spec.loader is not None
    tool = module_from_spec(spec)
    spec.loader.exec_module(tool)
    text = tool.PATH.read_text(encoding="utf-8")
    assert tool.render(text) == text
    assert tool.COMMAND in text.splitlines()[1]
