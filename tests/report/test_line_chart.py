"""Lines with intervals: names of strangers are shown letter by letter, points are where they should be."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from medsenteval.comparison.frontier import Frontier, FrontierPoint
from medsenteval.comparison.word_subsets import subset_scores
from medsenteval.errors import DataError, SettingsError
from medsenteval.report.charts.drawing import Circle, Line, Rectangle, Text
from medsenteval.report.charts.figure_files import write_drawing
from medsenteval.report.charts.frontier_chart import frontier_panels
from medsenteval.report.charts.line_chart import Panel, Point, line_panels
from medsenteval.report.charts.word_subset_chart import subset_curves
from medsenteval.report.learning_curve_table import curve_panels, curve_points
from medsenteval.report.sections.relations import compared_bars, metric_bars
from tests.fuzz.result_readers import RESULTS
from tests.report.made_up import analogy_result
from tests.report.test_charts import within

#: matplotlib would take it for a formula, and end in an error of its own over it.
HOSTILE = r"a$\frac{$b_\$^$<script>&"


@pytest.mark.parametrize("kind", ["svg", "pdf"])
def test_names_are_no_formulas(kind: str, tmp_path: Path) -> None:
    if kind == "pdf":
        pytest.importorskip("matplotlib")
    curve = replace(RESULTS["yes or no"], encoder=HOSTILE, task=HOSTILE)
    write_drawing(curve_panels(curve_points([curve])), tmp_path / f"curves.{kind}")
    analogy = replace(analogy_result(HOSTILE, {HOSTILE: 0.5, "r2": 0.25}), task=HOSTILE, protocol=HOSTILE)
    write_drawing(metric_bars(analogy), tmp_path / f"metrics.{kind}")
    write_drawing(compared_bars([analogy, replace(analogy, encoder="other")], "acc"), tmp_path / f"compared.{kind}")
    values = {f"{letter}{i}": float(i) for i in range(12) for letter in "wv"}
    subsets = subset_scores([replace(RESULTS["words"], encoder=HOSTILE, task=HOSTILE)], values, resamples=100, groups=2)
    write_drawing(subset_curves([subsets], HOSTILE), tmp_path / f"subsets.{kind}")
    for path in tmp_path.iterdir():
        assert path.read_bytes().startswith(b"<?xml" if kind == "svg" else b"%PDF"), path
        assert kind == "pdf" or b"<script>" not in path.read_bytes()
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("name", ["curve.exe", "curve", "curve.json"])
def test_other_endings_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"a figure's name ends in \.svg, \.png, \.pdf"):
        write_drawing(curve_panels(curve_points([RESULTS["yes or no"]])), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_points_lie_on_their_axes_and_the_baseline_across() -> None:
    line = [Point(x, y, y - 10, y + 10, f"{x:g}") for x, y in ((0.0, 40.0), (1.0, math.nan), (2.0, 50.0), (3.0, 70.0))]
    panel = Panel("T", "rows", "T, acc (%)", {float(x): str(10**x) for x in range(4)}, {"a": line}, baseline=30.0)
    drawing = line_panels([panel, replace(panel, title="U")], "title", "described", note="a note")
    assert within(drawing)
    dots = [shape for shape in drawing.shapes if isinstance(shape, Circle) and shape.title][:3]
    assert [dot.title for dot in dots] == ["0", "2", "3"]
    assert dots[2].x - dots[1].x == pytest.approx((dots[1].x - dots[0].x) / 2)
    assert dots[0].y - dots[1].y == pytest.approx((dots[1].y - dots[2].y) / 2)
    ticks = {shape.text: shape.x for shape in drawing.shapes if isinstance(shape, Text) and shape.x < drawing.width / 2}
    assert [ticks[name] for name in ("1", "100", "1000")] == pytest.approx([dot.x for dot in dots])
    baseline = next(shape for shape in drawing.shapes if isinstance(shape, Line) and shape.dashed)
    assert baseline.y1 - dots[0].y == pytest.approx(dots[0].y - dots[1].y)
    joins = [shape for shape in drawing.shapes if isinstance(shape, Line) and shape.width == 1.5 and not shape.dashed]
    assert len(joins) == 2  # one in each panel: the point without a score interrupts the line


def test_a_frontier_shows_the_interval_of_the_loss_below_the_full_score() -> None:
    points = (FrontierPoint(64, "float32", 256, 0.8, 0.0, 0.0, 0.0, True), FrontierPoint(64, "int8", 64, 0.7, 0.1, 0.05, 0.2))
    drawing = frontier_panels([Frontier("T", "e", "pearson", "fraction", 9, points)])
    assert within(drawing)
    full, less = (shape for shape in drawing.shapes if isinstance(shape, Circle) and shape.title)
    assert (full.hollow, less.hollow) == (False, True)
    scale = (less.y - full.y) / 0.1
    (whisker,) = [s for s in drawing.shapes if isinstance(s, Line) and s.x1 == s.x2 == less.x]
    assert sorted((whisker.y1, whisker.y2)) == pytest.approx([full.y + 0.05 * scale, full.y + 0.2 * scale])


def test_bars_of_analogies_are_as_long_as_their_scores() -> None:
    one, other = (analogy_result(name, {"treats": share, "causes": 1.0}) for name, share in (("one", 0.5), ("other", 0.25)))
    drawn = [compared_bars([one, other], "acc"), metric_bars(one)]
    bars = [{shape.title: shape.width for shape in drawing.shapes if isinstance(shape, Rectangle)} for drawing in drawn]
    assert list(bars[0]) == [
        "one, treats: 0.500", "one, causes: 1.000", "other, treats: 0.250", "other, causes: 1.000",
    ]  # fmt: skip
    assert bars[0]["one, treats: 0.500"] == 2 * bars[0]["other, treats: 0.250"] == bars[0]["one, causes: 1.000"] / 2
    assert list(bars[1]) == [f"{name}, {bar}" for name in ("relaxed accuracy", "MAP", "MRR") for bar in
                             ("treats: 0.500", "causes: 1.000")]  # fmt: skip


def test_results_without_relations_are_not_drawn() -> None:
    other = replace(analogy_result("one", {"treats": 0.5}), details={"relations": {}, "setting": "x", "score": "3cosadd"})
    for result in (other, RESULTS["words"]):
        with pytest.raises(DataError, match="hold no relations; draw results of analogy tasks"):
            metric_bars(result)
    with pytest.raises(DataError, match="the results on BMASS hold no relations"):
        compared_bars([other], "acc")
    shown = compared_bars([replace(analogy_result("one", {"treats": 0.5}), synthetic=True)], "map")
    assert shown.title == "BMASS (SYNTHETIC SAMPLE DATA): MAP by relation"


@pytest.mark.parametrize(("width", "marked"), [(250.0, ["a", "b", "c", "d"]), (249.0, ["a", "c"])])
def test_marks_stand_as_far_apart_as_a_number_needs(width: float, marked: list[str]) -> None:
    """Four marks across 176 pixels are 44 apart."""
    ticks = dict(zip((0.0, 1.0, 2.0, 3.0), "abcd", strict=True))
    panel = Panel("T", "x", "y", ticks, {"line": [Point(x, 0.5, 0.4, 0.6, "") for x in ticks]})
    drawing = line_panels([panel], "title", "described", width)
    assert [shape.text for shape in drawing.shapes if isinstance(shape, Text) and shape.text in ticks.values()] == marked
