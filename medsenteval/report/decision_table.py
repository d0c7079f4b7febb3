"""Decisions as a table: verdicts, what could have been seen, how many items would decide, and how sure the ranks are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medsenteval.comparison.decision import Decision
from medsenteval.report.comparison_table import escape_cell, render_table
from medsenteval.statistics.verdicts import RankInterval


def render_decisions(
    decisions: Sequence[Decision], ranks: Mapping[str, RankInterval], rope: float, level: float, style: str
) -> str:  # fmt: skip
    """Return one row for each pair and metric, the ranks below, and a sentence that says how to read them."""
    rows = []
    for found in decisions:
        digits = ".2f" if found.unit == "percent" else ".3f"
        interval = found.interval
        rows.append(
            [
                f"{found.task} {found.metric}",
                escape_cell(f"{found.first} - {found.second}", style),
                f"{interval.estimate:+{digits}}",
                f"[{interval.low:+{digits}}, {interval.high:+{digits}}]",
                found.verdict,
                "-" if found.smallest is None else f"{found.smallest:{digits}}",
                "-" if found.items is None else f"{found.items:,}",
            ]
        )
    header = ["Task", "Pair", "Difference", f"{100 * (1 - level):g} % interval", "Verdict", "Smallest shown", "Items to decide"]
    parts = [render_table(header, rows, [False, False, True, True, False, True, True], style)]
    if ranks:
        listed = [
            [escape_cell(name, style), f"{found.rank:.2f}", f"[{found.low:.2f}, {found.high:.2f}]", f"{100 * found.best:.0f} %"]
            for name, found in sorted(ranks.items(), key=lambda item: item[1].rank)
        ]
        header = ["Encoder", "Mean rank", "95 % interval", "Best in"]
        parts.append(render_table(header, listed, [False, True, True, True], style))
    if style not in ("csv", "latex"):
        parts.append(
            f"Equivalent: surely less than {rope:g} points (correlations: {rope / 100:g}) apart.\n"
            "Smallest shown: the difference that these items would show in four of five experiments.\n"
            "Items to decide: how many would show, as often, the difference that was seen."
        )
    return "\n\n".join(parts)
