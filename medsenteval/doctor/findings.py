"""What an examination found: one line each, with the advice that goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["ok", "note", "problem"]

_MARKS: Final = {"ok": "ok", "note": "note", "problem": "PROBLEM"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: fine, worth knowing, or wrong; ``advice`` says what to do about it."""

    subject: str
    severity: Severity
    found: str
    advice: str = ""


def describe(findings: Sequence[Finding]) -> str:
    """Return one line a finding, the advice below it."""
    width = max((len(finding.subject) for finding in findings), default=0)
    lines = []
    for finding in findings:
        lines.append(f"{_MARKS[finding.severity]:<8}{finding.subject:<{width}}  {finding.found}")
        if finding.advice:
            lines.append(f"{'':<{8 + width}}  -> {finding.advice}")
    return "\n".join(lines)


def worst(findings: Sequence[Finding]) -> Severity:
    """Return the most serious severity among the findings."""
    order: tuple[Severity, ...] = ("ok", "note", "problem")
    return max((finding.severity for finding in findings), key=order.index, default="ok")
