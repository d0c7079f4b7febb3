"""Word similarity on subsets of pairs, a line for each encoder."""

from __future__ import annotations

from collections.abc import Sequence

from medsenteval.comparison.word_subsets import Subsets
from medsenteval.report.charts.drawing import PAGE_WIDTH, Drawing, axis_title
from medsenteval.report.charts.line_chart import Panel, Point, line_panels
from medsenteval.support.grouping import grouped


def subset_curves(found: Sequence[Subsets], values_are: str, width: float = PAGE_WIDTH) -> Drawing:
    """Draw a line for each encoder over the subsets, as in Figures 1 to 4 of Chiu et al. 2018.

    A subset with too few pairs has no point.
    """
    panels = []
    for subsets in found:
        ticks = {}
        for subset in range(subsets.n_subsets):
            # From fewest to most pairs where encoders know different ones.
            sizes = sorted({score.n for score in subsets.scores if score.subset == subset})
            n = f"{sizes[0]:,}" + (f" to {sizes[-1]:,}" if len(sizes) > 1 else "")
            ticks[float(subset)] = f"{subsets.label(subset)}, n = {n}"
        points = []
        for score in subsets.scores:
            where = f"{score.encoder}, {subsets.label(score.subset)}"
            said = f"{where}: {score.value:.3f} [{score.low:.3f}, {score.high:.3f}]"
            points.append((score.encoder, Point(score.subset, score.value, score.low, score.high, said)))
        measured = axis_title(subsets.task, subsets.metric, "fraction")
        panels.append(Panel(subsets.task, values_are, measured, ticks, grouped(points)))
    described = (
        f"{found[0].metric} of encoders on subsets of the pairs of {', '.join(subsets.task for subsets in found)} by "
        f"{values_are}. The table holds the numbers."
    )
    return line_panels(panels, f"{found[0].task} by {values_are}", described, width)
