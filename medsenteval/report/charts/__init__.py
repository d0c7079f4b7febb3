"""The report's figures: each is a function from scores to a Drawing, which becomes SVG, PNG or PDF."""

from medsenteval.report.charts.analogy_chart import analogy_bars
from medsenteval.report.charts.critical_difference import critical_difference_diagram
from medsenteval.report.charts.domain_gap_chart import gap_panels
from medsenteval.report.charts.drawing import Drawing
from medsenteval.report.charts.heat_map import heat_map
from medsenteval.report.charts.interval_chart import interval_plot, variance_plot
from medsenteval.report.charts.word_subset_chart import subset_curves

__all__ = [
    "Drawing",
    "analogy_bars",
    "critical_difference_diagram",
    "gap_panels",
    "heat_map",
    "interval_plot",
    "subset_curves",
    "variance_plot",
]
