"""Domain gaps as a table and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medsenteval.domain_gap import DomainGap, PairedGap
from medsenteval.errors import MissingExtraError
from medsenteval.report.comparison import escape_cell, render_table

__all__ = ["draw_gaps", "render_gaps", "render_paired_gaps"]

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
    """Draw a panel for each encoder: for each task a line from its counterparts' mean share to its own."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        raise MissingExtraError("the figure of the domain gap", "matplotlib", "report") from error
    mpl.use("Agg")
    from matplotlib import pyplot
    from matplotlib.lines import Line2D

    encoders = list(dict.fromkeys(gap.encoder for gap in gaps))
    tasks = list(dict.fromkeys(gap.biomedical.task for gap in gaps))
    figure, axes = pyplot.subplots(
        1, len(encoders), figsize=(1.6 + 3.4 * len(encoders), 1.4 + 0.42 * len(tasks)), sharey=True, sharex=True, squeeze=False
    )
    for axis, encoder in zip(axes[0], encoders, strict=True):
        axis.axvline(0, color="0.6", linewidth=0.8)
        for gap in gaps:
            if gap.encoder != encoder:
                continue
            y = tasks.index(gap.biomedical.task)
            own, general = gap.biomedical, gap.general_value
            axis.plot([general, own.value], [y, y], color="0.75", linewidth=2, zorder=1)
            axis.errorbar(
                own.value, y, xerr=[[max(0.0, own.value - own.low)], [max(0.0, own.high - own.value)]],
                fmt="o", color="#c0392b", capsize=2, zorder=3,
            )  # fmt: skip
            axis.scatter([general], [y], color="#2c3e50", marker="s", zorder=2)
            axis.scatter([share.value for share in gap.general], [y] * len(gap.general), color="#2c3e50", s=8, alpha=0.4)
        axis.set_title(encoder, fontsize=10)
        axis.set_yticks(range(len(tasks)), tasks)
        axis.set_xlabel("share of the way to a perfect score")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].invert_yaxis()
    handles = [
        Line2D([], [], marker="o", color="#c0392b", linestyle="", label="biomedical task, 95 % interval"),
        Line2D([], [], marker="s", color="#2c3e50", linestyle="", label="mean of its general counterparts"),
    ]
    figure.legend(handles=handles, loc="lower center", ncols=2, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
