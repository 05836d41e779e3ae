"""D16: a build without code for this GPU, or with PTX alone."""

from __future__ import annotations

from packaging.version import Version

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.capability import Architecture, parse_architecture
from gpuenv.model.findings import Findings
from gpuenv.model.wheel import IndexKind
from gpuenv.resolution.rules.gpu_code import code_in

ID = "D16"


def check(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Compare what libtorch_python lists, else what the matrix knows of the build, with each GPU."""
    cuda, gpus = subject.cuda_of(findings), subject.target_gpus(findings)
    listed = architectures(findings, knowledge)
    if cuda is None or not gpus or not listed:
        return skipped(tr("no CUDA build, no GPU, or no list of what the build has code for"))
    words = " ".join(map(str, listed))
    facts = {"torch": subject.torch_label(findings), "listed": words}
    codes = [(gpu, code_in(listed, cuda, gpu, knowledge)) for gpu in gpus]
    for gpu, code in codes:
        if code is None and not subject.proven(findings):
            case = "newer" if gpu.capability > max(item.capability for item in listed) else "older"
            return problem(case, words, gpu=gpu.label, **facts)
        if code == "ptx-needs-driver" and not subject.proven(findings):
            return problem("ptx-driver", words, gpu=gpu.label, cuda=cuda, **facts)
    slow = next((gpu for gpu, code in codes if code == "ptx"), None)
    return warning("ptx", words, gpu=slow.label, **facts) if slow else ok(words)


def architectures(findings: Findings, knowledge: Knowledge) -> tuple[Architecture, ...]:
    """Return what the torch has code for."""
    texts = findings.torch.architectures if findings.torch else ()
    read = tuple(parsed for text in texts if (parsed := _parse(text)))
    return read or _known(findings, knowledge)


def _parse(text: str) -> Architecture | None:
    try:
        return parse_architecture(text)
    except ValueError:  # gfx90a of ROCm
        return None


def _known(findings: Findings, knowledge: Knowledge) -> tuple[Architecture, ...]:
    version, variant = subject.torch_version(findings), subject.variant_of(findings)
    platform = subject.platform_of(findings)
    if version is None or variant is None or platform is None:
        return ()
    index: IndexKind = "pytorch" if version.local else "pypi"
    build = knowledge.find_build(Version(version.public), variant, platform, index)
    return build.architectures if build else ()
