"""The figures of a report: one list, drawn into the page or written as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from medsenteval.errors import SettingsError
from medsenteval.report.charts import (
    Drawing,
    analogy_bars,
    critical_difference_diagram,
    gap_panels,
    heat_map,
    interval_plot,
    subset_curves,
)
from medsenteval.report.charts.chart_files import FIGURE_FORMATS, write_drawing
from medsenteval.report.charts.heat_map import HeatCell
from medsenteval.report.charts.interval_chart import number
from medsenteval.report.output_folder import ready_folder
from medsenteval.report.page import Page, TaskView
from medsenteval.report.sections.headline import share_of
from medsenteval.statistics import FriedmanOutcome
from medsenteval.support.file_names import file_name_of

__all__ = ["check_formats", "draw_heat_map", "draw_intervals", "draw_ranks", "named_figures", "write_figures"]


def named_figures(page: Page) -> Iterator[tuple[str, Drawing]]:
    """Yield every figure that the results allow, with a name for its file."""
    yield "heat-map", draw_heat_map(page)
    if isinstance(page.rank, FriedmanOutcome):
        yield "critical-difference", draw_ranks(page)
    for view in page.views:
        yield f"intervals-{file_name_of(view.label)}", draw_intervals(view)
    if page.gaps:
        yield "domain-gap", gap_panels(page.gaps)
    for found in page.analogies:
        yield f"analogies-{file_name_of(found.task)}", analogy_bars(found.task, found.metric, found.series)
    for subsets in page.subsets:
        yield f"subsets-{file_name_of(subsets.task)}", subset_curves(subsets, page.subsets_by)


def check_formats(formats: Sequence[str]) -> None:
    """Refuse what no figure can be written as."""
    unknown = [kind for kind in formats if kind not in FIGURE_FORMATS]
    if unknown or not formats:
        raise SettingsError(f"figures come as {', '.join(FIGURE_FORMATS)}; got {', '.join(unknown) or 'no format'}")


def write_figures(page: Page, folder: Path, formats: Sequence[str], inches: float | None = None) -> dict[Path, float]:
    """Write each figure in each format and return the files with their widths in inches.

    ``inches`` is the width that is asked for; a figure whose letters would be smaller than 7 points is wider.
    """
    check_formats(formats)
    ready_folder(folder)
    return {
        folder / f"{name}.{kind}": write_drawing(drawing, folder / f"{name}.{kind}", inches)
        for name, drawing in named_figures(page)
        for kind in formats
    }


def draw_heat_map(page: Page) -> Drawing:
    """Draw the first headline metric of each task for all encoders, in the order of the page."""
    columns = page.comparison.headline_columns()
    rows: dict[str, list[HeatCell | None]] = {}
    for encoder in page.comparison.encoders:
        cells: list[HeatCell | None] = []
        for column in columns:
            score = column.scores.get(encoder)
            if score is None:
                cells.append(None)
                continue
            cells.append(HeatCell(number(score.value, column.unit), share_of(column, encoder) or 0.0))
        rows[encoder] = cells
    ordered = page.headline.order
    return heat_map(ordered, [column.label for column in columns], [rows[encoder] for encoder in ordered])


def draw_ranks(page: Page) -> Drawing:
    """Draw the critical-difference diagram of three or more encoders."""
    if not isinstance(page.rank, FriedmanOutcome):
        raise SettingsError("a critical-difference diagram needs three encoders with two tasks in common")
    return critical_difference_diagram(page.comparison.encoders, page.rank)


def draw_intervals(view: TaskView) -> Drawing:
    """Draw one task's scores with intervals, best first."""
    column = view.column
    return interval_plot(column.label, column.metric, column.unit, column.baseline, dict(column.best_first()))
