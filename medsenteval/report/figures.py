"""The figures of a report: one list, drawn into the page or written as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from medsenteval.errors import SettingsError
from medsenteval.report.charts.analogy_chart import analogy_bars
from medsenteval.report.charts.critical_difference import critical_difference_diagram
from medsenteval.report.charts.domain_gap_chart import gap_panels
from medsenteval.report.charts.drawing import PAGE_WIDTH, Drawing
from medsenteval.report.charts.figure_files import FIGURE_FORMATS, PIXELS_TO_THE_INCH, write_drawing
from medsenteval.report.charts.heat_map import heat_map
from medsenteval.report.charts.interval_chart import interval_plot
from medsenteval.report.charts.word_subset_chart import subset_curves
from medsenteval.report.page_content import Page
from medsenteval.report.score_texts import number
from medsenteval.statistics import FriedmanOutcome
from medsenteval.support.atomic_files import file_name_of


def named_figures(page: Page, width: float | None = None) -> Iterator[tuple[str, Drawing]]:
    """Yield every figure that the results allow, laid out for a width in pixels, with a name for its file."""
    if page.cells:
        yield "heat-map", draw_heat_map(page, width)
    width = width or PAGE_WIDTH
    if isinstance(page.rank, FriedmanOutcome):
        yield "critical-difference", critical_difference_diagram(page.comparison.encoders, page.rank, width)
    for column in (view.column for view in page.views):
        scores = dict(column.best_first())
        drawing = interval_plot(column.label, column.metric, column.unit, column.baseline, scores, width)
        yield f"intervals-{file_name_of(column.label)}", drawing
    if page.gaps:
        yield "domain-gap", gap_panels(page.gaps, width)
    for task, metric, series in page.analogies:
        yield f"analogies-{file_name_of(task)}", analogy_bars(task, metric, series, width)
    for subsets in page.subsets:
        yield f"subsets-{file_name_of(subsets.task)}", subset_curves([subsets], page.subsets_by, width)


def check_formats(formats: Sequence[str]) -> None:
    unknown = [kind for kind in formats if kind not in FIGURE_FORMATS]
    if unknown or not formats:
        raise SettingsError(f"figures come as {', '.join(FIGURE_FORMATS)}; got {', '.join(unknown) or 'no format'}")


def write_figures(page: Page, folder: Path, formats: Sequence[str], inches: float | None = None) -> list[Path]:
    """Write each figure in each format, laid out for a width in inches, and return the files."""
    written = []
    for name, drawing in named_figures(page, None if inches is None else PIXELS_TO_THE_INCH * inches):
        for kind in formats:
            written.append(folder / f"{name}.{kind}")
            write_drawing(drawing, written[-1])
    return written


def draw_heat_map(page: Page, width: float | None = None) -> Drawing:
    """Draw the first headline metric of each task for all encoders, in the order of the page."""
    columns, encoders = page.comparison.headline_columns(), page.headline.order
    titles = [f"{column.label} {column.metric}" for column in columns]
    shown = [
        {name: (number(cell.value, column.unit), cell.share) for name, cell in page.cells[column].items()} for column in columns
    ]
    return heat_map(encoders, titles, [[cells.get(encoder) for cells in shown] for encoder in encoders], width)
