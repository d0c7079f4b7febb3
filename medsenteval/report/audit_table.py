"""An audit as tables: how much of each encoder's lead survives, and which conclusions do not."""

from __future__ import annotations

from medsenteval.comparison.audit import CHECKS, Audit, Conclusion
from medsenteval.report.comparison_table import escape_cell, render_table

_MARKS = {"holds": "+", "open": "o", "gone": "-", "": ""}


def render_audit(audit: Audit, style: str = "text", every: bool = False) -> str:
    """Return a row for each encoder, then one for each conclusion that is gone under a check, or for every one of them."""
    rows = []
    for encoder in sorted(audit.encoders, key=lambda each: -len(audit.led_by(each.name))):
        led = audit.led_by(encoder.name)
        rows.append(
            [
                escape_cell(encoder.name, style),
                str(encoder.dimension),
                f"{100 * encoder.first_share:.1f} %",
                str(len(led)),
                str(sum(each.holds for each in led)),
                str(sum(not each.holds and not each.gone for each in led)),
                str(sum(bool(each.gone) for each in led)),
                ", ".join(check for check in CHECKS if any(check in each.gone for each in led)) or "-",
            ]
        )
    header = ["Encoder", "Size", "First direction", "Leads", "Hold", "Open", "Gone", "Gone under"]
    parts = [render_table(header, rows, [False, *[True] * 6, False], style)]
    shown = [each for each in audit.conclusions if every or each.gone]
    details = [_conclusions(shown, style)] if shown else []
    if style in ("csv", "latex"):
        return "\n\n".join(parts + details)
    n, hold = len(audit.conclusions), sum(each.holds for each in audit.conclusions)
    gone = sum(bool(each.gone) for each in audit.conclusions)
    parts.append(
        f"{hold} of {n} significant leads hold under every check, {n - hold - gone} are open under some, "
        f"{gone} are gone under one or more.\n"
        f"First direction: share of the vectors' variance. Projected: to {audit.projected_to} principal components."
    )
    if details:
        marks = (
            "+ still significant    o no longer, but a lead as large is within its interval    - gone: the interval excludes it"
        )
        parts += [*details, marks]
    parts += [f"Not audited: {reason}." for reason in audit.left_out]
    return "\n\n".join(parts)


def _conclusions(shown: list[Conclusion], style: str) -> str:
    applied = [check for check in CHECKS if any(each.outcomes.get(check) for each in shown)]
    rows = []
    for each in shown:
        digits = ".2f" if each.unit == "percent" else ".3f"
        cells = []
        for check in applied:
            outcome = each.outcomes.get(check, "")
            mark = outcome if style == "csv" else _MARKS[outcome]
            cells.append(f"{mark} {each.leads[check]:+{digits}}" if mark else "")
        names = [escape_cell(f"{each.winner} > {each.loser}", style), f"{each.lead:+{digits}}"]
        rows.append([f"{each.task} {each.metric}", *names, *cells])
    header = ["Task", "Conclusion", "Lead", *(check.capitalize() for check in applied)]
    return render_table(header, rows, [False, False, *[True] * (len(applied) + 1)], style)
