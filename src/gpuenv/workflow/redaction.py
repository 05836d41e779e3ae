"""Plans without the passwords that stand in addresses of indexes."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

from gpuenv.values.plan import Plan
from gpuenv.values.userinfo import redact

T = TypeVar("T")


def without_passwords(plan: Plan) -> Plan:
    """Hide passwords in all that is told of a plan; its steps and sources keep them: they are to be run."""
    return replace(
        plan,
        packages=_redacted(plan.packages),
        why=_redacted(plan.why),
        rejected=_redacted(plan.rejected),
        advice=_redacted(plan.advice),
        warnings=_redacted(plan.warnings),
    )


def _redacted(value: T) -> T:
    if isinstance(value, str):
        return cast("T", redact(value))
    if isinstance(value, tuple):
        return cast("T", tuple(_redacted(item) for item in value))
    if is_dataclass(value) and not isinstance(value, type):
        texts = {field.name: getattr(value, field.name) for field in fields(value)}
        return cast("T", replace(value, **{name: _redacted(text) for name, text in texts.items()}))
    return value
