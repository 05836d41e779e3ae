"""D57: a hosted notebook on a runtime without GPU."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D57"
_MARKS = {"COLAB_": "Colab", "KAGGLE_": "Kaggle"}


def service(findings: Findings) -> str | None:
    """Return the service that hosts this notebook."""
    names = [name for name, _ in findings.variables]
    found = (where for mark, where in _MARKS.items() if any(name.startswith(mark) for name in names))
    return next(found, None)


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for the variables of Colab and Kaggle, and for a GPU."""
    where = service(findings)
    if where is None:
        return skipped(tr("this is no hosted notebook"))
    if findings.machine.gpus or subject.gpu_nodes(findings):
        return ok(where)
    return problem("no-gpu", tr("{where}, no GPU", where=where), where=where)
