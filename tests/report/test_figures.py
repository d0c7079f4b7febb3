"""Every kind of figure, drawn as the files in fixtures/ show it; ``python -m tests.report.test_figures`` writes them anew.

Whoever changes a figure looks at the new file before committing it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from medsenteval.comparison.domain_gap import domain_gaps
from medsenteval.comparison.frontier import Frontier, FrontierPoint
from medsenteval.comparison.word_subsets import Subsets, SubsetScore
from medsenteval.contracts import Metric, Result
from medsenteval.report.charts.analogy_chart import analogy_bars
from medsenteval.report.charts.critical_difference import critical_difference_diagram
from medsenteval.report.charts.domain_gap_chart import gap_panels
from medsenteval.report.charts.drawing import PAGE_WIDTH, Drawing
from medsenteval.report.charts.figure_files import svg_file
from medsenteval.report.charts.frontier_chart import frontier_panels
from medsenteval.report.charts.heat_map import heat_map
from medsenteval.report.charts.interval_chart import interval_plot
from medsenteval.report.charts.word_subset_chart import subset_curves
from medsenteval.statistics import FriedmanOutcome
from tests.comparison.simulated import accuracy_result

FOLDER: Final = Path(__file__).parent / "fixtures"
LONG: Final = "BiomedNLP-PubMedBERT-base-uncased-abstract-fulltext"
NARROW: Final = 240.0


def _heat_map(width: float | None) -> Drawing:
    tasks = [f"task-{number}" for number in range(22)]
    cells = [[None if (i + j) % 7 == 3 else (f"{i}.{j}", (j - i) / 20) for j in range(22)] for i in range(2)]
    return heat_map([LONG, "lexical"], tasks, cells, width)


def _intervals(width: float | None) -> Drawing:
    scores = {LONG: Metric("acc", 70, 61, 78, 50, "percent", 9), "lexical": Metric("acc", 40, 30, 50, 50, "percent", 9)}
    return interval_plot("RQE", "acc", "percent", 50.0, scores, width or PAGE_WIDTH)


def _ranks(width: float | None) -> Drawing:
    ranks = np.array([1.25, 2.0, 3.5, 4.0, 4.25])
    outcome = FriedmanOutcome(9.0, 0.03, ranks, 1.1, 0.05, 4, 5)
    return critical_difference_diagram([LONG, "b", "c", "d", "lexical"], outcome, width or PAGE_WIDTH)


def _many_ranks(k: int, critical: float) -> Callable[[float | None], Drawing]:
    def draw(width: float | None) -> Drawing:
        ranks = np.linspace(1.5, k - 0.25, k)[::-1]
        outcome = FriedmanOutcome(9.0, 0.03, ranks, critical, 0.05, 4, k)
        return critical_difference_diagram([f"encoder-{number}" for number in range(k)], outcome, width or PAGE_WIDTH)

    return draw


def _steps(width: float | None) -> Drawing:
    shares = [-0.1, 0.0, 0.01, *(step / 9 + 0.001 for step in range(1, 9)), 0.999, 1.0]
    names = [f"task-{number}" for number in range(len(shares) - 1)] + ["a task whose name is far too long for the map of all"]
    return heat_map(["one"], names, [[(f"{share:.2f}", share) for share in shares]], width)


def _full_band(width: float | None) -> Drawing:
    tasks = [f"task-{number}" for number in range(20)]
    return heat_map(["one", LONG], tasks, [[("1.0", 0.5)] * 20] * 2, width)


def _at_the_edge(width: float | None) -> Drawing:
    ends = {"one": (0.2, 0.1, 0.25), LONG: (0.1, 0.0, 0.2)}
    scores = {name: Metric("spearman", *values, 0.3, "fraction", 9) for name, values in ends.items()}
    title = "A task with quite a long name of its own, as users give"
    return interval_plot(title, "spearman", "fraction", 0.3, scores, width or PAGE_WIDTH)


def _names_at_the_edge(width: float | None) -> Drawing:
    """Names that are less than a pixel wider than what a line of each kind of figure holds."""
    # Letters that are 12 and 3.6 pixels wide.
    names = {most: "中" * wide + "i" * slim for most, wide, slim in ((220, 4, 48), (278, 4, 64))}
    tall = {names[278]: Metric("acc", 70, 61, 78, 50, "percent", 9), "b": Metric("acc", 40, 30, 50, 50, "percent", 9)}
    outcome = FriedmanOutcome(9.0, 0.03, np.array([1.0, 2.0, 3.0]), 1.1, 0.05, 4, 3)
    drawings = [
        interval_plot("RQE", "acc", "percent", 50.0, tall, width or PAGE_WIDTH),
        heat_map([names[220]], ["中中" + "i" * 35, "中" * 4 + "i" * 98], [[("1.0", 0.5)] * 2], width),
        critical_difference_diagram([names[278], "b", "c"], outcome, width or PAGE_WIDTH),
        analogy_bars("BMASS", "acc", {"one": {names[278]: 0.5, "b": 0.25}}, width or PAGE_WIDTH),
    ]
    across, down = max(each.width for each in drawings), sum(each.height for each in drawings)
    return Drawing(across, down, "Names at the edge", "", tuple(shape for each in drawings for shape in each.shapes))


def _gaps(width: float | None) -> Drawing:
    gold = [0, 1] * 20

    def scored(task: str, encoder: str, right: int) -> Result:
        return accuracy_result(task, encoder, gold, [g if i < right else 1 - g for i, g in enumerate(gold)])

    tasks = (("MedNLI", 25), ("SNLI", 35), ("RQE", 30), ("MRPC", 28))
    found = domain_gaps([scored(task, name, right + i) for i, name in enumerate((LONG, "lexical")) for task, right in tasks])
    # Intervals of a library that may change by a digit are no part of a figure's layout.
    return gap_panels([replace(gap, low=gap.gap - 0.2, high=gap.gap + 0.3) for gap in found], width or PAGE_WIDTH)


def _analogies(width: float | None) -> Drawing:
    series = {LONG: {"treats": 0.5, "is a finding site of": 1.0}, "lexical": {"treats": 0.25}}
    return analogy_bars("BMASS", "acc", series, width or PAGE_WIDTH)


def _subsets(width: float | None) -> Drawing:
    names = (LONG, "b", "c", "d", "lexical")
    made = [SubsetScore(name, s, 10 + s, 0.1 + 0.1 * s * e, 0.0, 0.9) for e, name in enumerate(names) for s in range(3)]
    return subset_curves(
        [Subsets((5.0, 50.0), (), 0, 0, "UMNSRS-sim", "spearman", tuple(made))], "frequency", width or PAGE_WIDTH
    )


def _many_subsets(width: float | None) -> Drawing:
    found = []
    for task, encoders in (("MayoSRS", 9), ("UMNSRS-sim", 10), ("Bio-SimLex", 2)):
        places = [(encoder, subset) for encoder in range(encoders) for subset in range(4)]
        made = [SubsetScore(f"encoder-{e}", s, 10 + e % 3, 0.1 * s - 0.05 * e, -0.6, 0.4) for e, s in places]
        made[1] = SubsetScore("encoder-0", 1, 3, np.nan, np.nan, np.nan)
        found.append(Subsets((5.0, 50.0, 1e6), (), 0, 0, task, "spearman", tuple(made)))
    return subset_curves(found, "frequency in a corpus of abstracts", width or PAGE_WIDTH)


def _frontier(_: float | None) -> Drawing:
    points = [
        FrontierPoint(64, "float32", 256, 0.8, 0.0, 0.0, 0.0, True),
        FrontierPoint(64, "int8", 64, 0.79, 0.01, -0.02, 0.03, True),
        FrontierPoint(32, "float32", 128, 0.7, 0.1, 0.05, 0.15),
        FrontierPoint(64, "ubinary", 8, 0.6, 0.2, 0.15, 0.25, True),
    ]
    return frontier_panels(
        [Frontier(task, LONG, "spearman", "fraction", 9, tuple(points)) for task in ("BIOSSES", "RQE", "MR")]
    )


FIGURES: Final[dict[str, Callable[[float | None], Drawing]]] = {
    "heat-map": _heat_map,
    "intervals": _intervals,
    "critical-difference": _ranks,
    "heat-map-steps": _steps,
    "heat-map-full-band": _full_band,
    "intervals-at-the-edge": _at_the_edge,
    "critical-difference-of-7": _many_ranks(7, 2.0),
    "critical-difference-of-8": _many_ranks(8, 9.5),
    "critical-difference-of-12": _many_ranks(12, 3.0),
    "critical-difference-of-13": _many_ranks(13, 0.5),
    "critical-difference-of-24": _many_ranks(24, 5.0),
    "critical-difference-of-25": _many_ranks(25, 60.0),
    "names-at-the-edge": _names_at_the_edge,
    "domain-gap": _gaps,
    "analogies": _analogies,
    "subsets": _subsets,
    "subsets-of-many": _many_subsets,
    "frontier": _frontier,
}
ONE_WIDTH: Final = ("frontier",)
LAID_OUT: Final = [(name, width) for name in FIGURES for width in (None, NARROW) if not width or name not in ONE_WIDTH]


def drawn(name: str, width: float | None) -> str:
    return svg_file(FIGURES[name](width)).replace("><", ">\n<")


def place(name: str, width: float | None) -> Path:
    return FOLDER / f"{name}{'-narrow' if width else ''}.svg"


def numbers_and_rest(text: str) -> tuple[list[float], str]:
    number = r"-?\d+(?:\.\d+)?"
    return [float(found) for found in re.findall(number, text)], re.sub(number, "#", text)


@pytest.mark.parametrize(("name", "width"), LAID_OUT)
def test_a_figure_is_drawn_as_its_file_shows(name: str, width: float | None) -> None:
    (numbers, rest), (old_numbers, old_rest) = map(
        numbers_and_rest, (drawn(name, width), place(name, width).read_text("utf-8"))
    )
    assert rest == old_rest
    # A hundredth of a pixel may be rounded either way.
    assert numbers == pytest.approx(old_numbers, abs=0.011)


if __name__ == "__main__":
    for name, width in LAID_OUT:
        if name in sys.argv or len(sys.argv) == 1:
            place(name, width).write_text(drawn(name, width), "utf-8")
