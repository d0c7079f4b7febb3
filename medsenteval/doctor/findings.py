"""What an examination found: one line each, with the advice that goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["ok", "note", "problem"]


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
        mark = "PROBLEM" if finding.severity == "problem" else finding.severity
        lines.append(f"{mark:<8}{finding.subject:<{width}}  {finding.found}")
        if finding.advice:
            lines.append(f"{'':<{8 + width}}  -> {finding.advice}")
    return "\n".join(lines)
