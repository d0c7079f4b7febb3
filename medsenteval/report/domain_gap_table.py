"""Domain gaps as a table and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medsenteval.comparison.domain_gap import DomainGap, PairedGap
from medsenteval.report.comparison_table import escape_cell, render_table

_EXPLANATION = (
    "Shares: the way from the best constant answer (0) to a perfect one (1). Gap: counterparts' mean share minus the "
    "biomedical task's; above 0 the encoder does better on general text."
)


def render_gaps(gaps: Sequence[DomainGap], style: str = "text") -> str:
    """Return a line for each encoder and biomedical task."""
    rows = []
    for gap in gaps:
        bio = gap.biomedical
        score = f"{bio.score:.2f}" if bio.unit == "percent" else f"{bio.score:.3f}"
        general = ", ".join(f"{share.task} {share.value:.3f}" for share in gap.general)
        interval = f"[{gap.low:+.3f}, {gap.high:+.3f}]"
        cells = [
            escape_cell(gap.encoder, style),
            bio.task,
            score,
            f"{bio.value:.3f}",
            general,
            f"{gap.general_value:.3f}",
            f"{gap.gap:+.3f}",
        ]
        rows.append([*cells, interval, "; ".join(gap.notes)])
    header = ["Encoder", "Task", "Score", "Share", "Counterparts' shares", "Mean", "Gap", "95 % interval", ""]
    table = render_table(header, rows, [False, False, True, True, False, True, True, True, False], style)
    if style == "csv":
        return table
    return f"{table}\n{_EXPLANATION}" if style == "text" else f"{table}\n\n{_EXPLANATION}"


def render_paired_gaps(pairs: Sequence[PairedGap], style: str = "text") -> str:
    """Return a line for each biomedical task: what the in-domain encoder closes of the general one's gap."""
    rows = [
        [
            pair.general.biomedical.task,
            f"{pair.general.gap:+.3f}",
            f"{pair.in_domain.gap:+.3f}",
            f"{pair.closed:+.3f}",
            f"[{pair.low:+.3f}, {pair.high:+.3f}]",
        ]
        for pair in pairs
    ]
    names = (pairs[0].general.encoder, pairs[0].in_domain.encoder) if pairs else ("general", "in-domain")
    header = ["Task", f"Gap of {names[0]}", f"Gap of {names[1]}", "Closed", "95 % interval"]
    return render_table(header, rows, [False, True, True, True, True], style)


def draw_gaps(gaps: Sequence[DomainGap], path: Path) -> None:
    """Draw the report's figure into a file: for each encoder and task a line from its counterparts' mean share to its own."""
    from medsenteval.report.charts import gap_panels
    from medsenteval.report.charts.chart_files import write_drawing

    write_drawing(gap_panels(gaps), path)
