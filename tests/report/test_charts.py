"""Figures: what they draw is where it should be, whatever the names, and the same in SVG, PNG and PDF."""

from __future__ import annotations

import math
import shutil
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from medsenteval.comparison.domain_gap import domain_gaps
from medsenteval.comparison.word_subsets import Subsets, SubsetScore
from medsenteval.contracts import Metric, Result
from medsenteval.errors import MissingExtraError, SettingsError
from medsenteval.report.charts.analogy_chart import analogy_bars
from medsenteval.report.charts.critical_difference import cliques, critical_difference_diagram
from medsenteval.report.charts.domain_gap_chart import gap_panels
from medsenteval.report.charts.drawing import (
    COLOURS,
    PAGE_WIDTH,
    Circle,
    Drawing,
    Line,
    Rectangle,
    Text,
    axis_over,
    clean,
    labels_of,
    shorten,
    text_width,
)
from medsenteval.report.charts.figure_files import inline_svg, painted, svg_file, write_drawing
from medsenteval.report.charts.heat_map import HeatCell, heat_map, ramp_step
from medsenteval.report.charts.interval_chart import interval_plot
from medsenteval.report.charts.word_subset_chart import subset_curves
from medsenteval.report.figures import check_formats, draw_heat_map, named_figures, write_figures
from medsenteval.report.page_content import Page, PageOptions
from medsenteval.report.sections.relations import compared_bars
from medsenteval.statistics import FriedmanOutcome, friedman
from tests.comparison.simulated import accuracy_result, simulated_result
from tests.report.made_up import HOSTILE, analogy_result, many_results

SVG = "{http://www.w3.org/2000/svg}"


def ends_of(text: Text) -> list[tuple[float, float]]:
    """Return where a text begins and ends."""
    length = text_width(text.text, text.size)
    before = {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor] * length
    along = math.cos(math.radians(text.angle)), math.sin(math.radians(text.angle))
    return [(text.x + along[0] * reach, text.y + along[1] * reach) for reach in (-before, length - before)]


def within(drawing: Drawing) -> bool:
    """Say whether every shape lies inside the drawing."""
    for shape in drawing.shapes:
        if isinstance(shape, Rectangle):
            ends = [(shape.x, shape.y), (shape.x + shape.width, shape.y + shape.height)]
        elif isinstance(shape, Line):
            ends = [(shape.x1, shape.y1), (shape.x2, shape.y2)]
        elif isinstance(shape, Circle):
            ends = [(shape.x, shape.y)]
        else:
            ends = ends_of(shape)
        if any(not (-1 <= x <= drawing.width + 1 and -1 <= y <= drawing.height + 1) for x, y in ends):
            return False
    return True


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8))
def test_an_axis_holds_its_values_between_round_ends(values: list[float]) -> None:
    axis = axis_over(values, 10, 110)
    assert 2 <= len(axis.ticks) <= 12
    hair = 1e-6 * (axis.high - axis.low)
    assert axis.low <= min(values) + hair
    assert axis.high >= max(values) - hair
    assert axis.at(axis.low) == 10
    assert axis.at(axis.high) == pytest.approx(110)
    assert len({axis.label(tick) for tick in axis.ticks}) == len(axis.ticks)


def test_ticks_are_round() -> None:
    assert axis_over([0.13, 0.98], 0, 1).ticks == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert [axis_over([0, 1.2], 0, 1, about=5).label(t) for t in (0, 0.25)] == ["0.00", "0.25"]
    assert axis_over([0, 6], 0, 1).ticks == axis_over([0, 6], 0, 1, about=5).ticks == (0, 2, 4, 6)
    assert axis_over([0, 6], 0, 1, about=6).ticks == tuple(range(7))
    empty, one = axis_over([math.nan], 0, 1), axis_over([3.0, 3.0], 0, 1)
    assert (empty.low, empty.high, one.low, one.high) == pytest.approx((0.0, 1.0, 2.4, 3.6))
    assert axis_over([-1, 1], 0, 1).label(-0.5) == "−0.5"


@given(st.text(max_size=300), st.floats(20, 300))
def test_names_are_cut_to_their_width(text: str, width: float) -> None:
    short = shorten(text, width)
    assert text_width(short) <= width or short == "…"
    assert short == clean(" ".join(clean(text).split())) or short.endswith("…")


def test_no_control_character_remains() -> None:
    assert clean("a\x00b\ud800c\x9f") == "a\ufffdb\ufffdc\ufffd"


def test_heat_map() -> None:
    cells: list[list[HeatCell | None]] = [[("90.00", 0.95), None], [("10.00", -0.2), ("0.500", 0.5)]]
    drawing = heat_map(["good", "bad"], ["MedNLI", "BIOSSES"], cells)
    assert within(drawing)
    boxes = [shape for shape in drawing.shapes if isinstance(shape, Rectangle) and shape.title]
    assert [box.fill for box in boxes] == ["ramp8", "worse", "ramp4"]
    assert boxes[0].title == "good, MedNLI: 90.00 (95% of the way)"
    assert boxes[1].title == "bad, MedNLI: 10.00 (not above the constant answer)"
    assert boxes[1].y > boxes[0].y
    assert boxes[2].x > boxes[1].x
    texts = {shape.text: shape for shape in drawing.shapes if isinstance(shape, Text)}
    for box in boxes:
        encoder, task = box.title.partition(":")[0].split(", ")
        assert box.x < texts[task].x < box.x + box.width
        assert box.y < texts[encoder].y < box.y + box.height
    assert [ramp_step(share) for share in (-1.0, 0.0, 0.12, 0.999, 1.0, 2.0)] == [0, 0, 1, 8, 8, 8]


def test_many_tasks_stand_in_bands() -> None:
    tasks = [f"task {i}" for i in range(46)]
    drawing = heat_map(["a", "b"], tasks, [[(str(j), 0.5) for j in range(46)] for _ in range(2)])
    assert within(drawing)
    boxes = [shape for shape in drawing.shapes if isinstance(shape, Rectangle) and shape.title]
    assert len(boxes) == 92
    assert len({(box.x, box.y) for box in boxes}) == 92
    assert len({box.y for box in boxes}) == 6
    assert len({box.x for box in boxes}) == 16
    assert next(box for box in boxes if "b, task 45" in box.title).y == max(box.y for box in boxes)


def test_text_on_every_step_can_be_read() -> None:
    """Contrast of WCAG AA, 4.5 : 1, for small text on each colour of the map, in light and in dark."""
    from medsenteval.report.page_html import _DARK

    def luminance(colour: str) -> float:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for theme in (COLOURS, _DARK):
        for step in range(9):
            cell = heat_map(["e"], ["t"], [[("1", (step + 0.5) / 9)]])
            ink = next(s.fill for s in cell.shapes if isinstance(s, Text) and s.text == "1")
            pair = sorted((luminance(theme[f"ramp{step}"]), luminance(theme[ink])))
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5, (step, ink)
        for role in ("ink", "muted", "accent", "second"):
            pair = sorted((luminance(theme["paper"]), luminance(theme[role])))
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5, role


def test_intervals() -> None:
    scores = {"a": Metric("acc", 70, 60, 80, 50, "percent", 9), "b": Metric("acc", 40, 30, 50, 50, "percent", 9)}
    drawing = interval_plot("RQE", "acc", "percent", 50.0, scores)
    assert within(drawing)
    dots = [shape for shape in drawing.shapes if isinstance(shape, Circle)]
    assert [dot.title for dot in dots] == ["a: 70.00 [60.00, 80.00]", "b: 40.00 [30.00, 50.00]"]
    spans = [shape for shape in drawing.shapes if isinstance(shape, Line) and shape.width == 2]
    assert (dots[0].x - spans[0].x1) == pytest.approx(spans[0].x2 - dots[0].x)
    baseline = next(shape for shape in drawing.shapes if isinstance(shape, Line) and shape.dashed)
    assert dots[1].x < baseline.x1 < dots[0].x
    assert baseline.x1 == pytest.approx(spans[1].x2)


def test_cliques_join_what_does_not_differ() -> None:
    assert cliques([1.0, 1.5, 3.0, 3.2], 1.0) == [(0, 1), (2, 3)]
    assert cliques([1.0, 2.0, 3.0], 1.5) == [(0, 1), (1, 2)]
    assert cliques([1.0, 2.0, 3.0], 5.0) == [(0, 2)]
    assert cliques([1.0, 3.0], 1.0) == []
    # What lies the critical difference apart differs.
    assert cliques([1.0, 2.0], 1.0) == []


@given(st.lists(st.floats(1, 10), min_size=2, max_size=12).map(sorted), st.floats(0.1, 9))
def test_cliques_by_brute_force(ranks: list[float], reach: float) -> None:
    def joined(i: int, j: int) -> bool:
        return any(first <= i and j <= last for first, last in cliques(ranks, reach))

    for i in range(len(ranks)):
        for j in range(i + 1, len(ranks)):
            assert joined(i, j) == (ranks[j] - ranks[i] < reach)


@pytest.mark.parametrize("k", [3, 4, 13, 26])
def test_critical_difference(k: int) -> None:
    rng = np.random.default_rng(k)
    outcome = friedman(rng.normal(size=(6, k)) + np.arange(k))
    names = [f"encoder {i}" for i in range(k)]
    drawing = critical_difference_diagram(names, outcome)
    assert within(drawing)
    labels = [s.text for s in drawing.shapes if isinstance(s, Text) and "encoder" in s.text]
    assert len(labels) == k
    dots = [shape for shape in drawing.shapes if isinstance(shape, Circle)]
    assert [dot.x for dot in dots] == sorted(dot.x for dot in dots)
    bracket = next(shape for shape in drawing.shapes if isinstance(shape, Line) and shape.stroke == "second")
    unit = (dots[-1].x - dots[0].x) / (outcome.mean_ranks.max() - outcome.mean_ranks.min())
    assert bracket.x2 - bracket.x1 == pytest.approx(unit * outcome.critical_difference, rel=1e-3)


@pytest.mark.parametrize("width", [240.0, 316.8, PAGE_WIDTH])
@pytest.mark.parametrize("k", [12, 24, 50])
def test_ranks_rise_to_the_right_however_many_bars_stand_beside_them(k: int, width: float) -> None:
    """Neighbours of all ranks are joined, which makes as many bars as there can be; names are as long as they may be."""
    outcome = FriedmanOutcome(9.0, 0.03, np.arange(1.0, k + 1), 1.5, 0.05, 90, k)
    drawing = critical_difference_diagram([LONG.format(number) for number in range(k)], outcome, width)
    assert within(drawing)
    dots = [shape.x for shape in drawing.shapes if isinstance(shape, Circle)]
    assert np.diff(dots) == pytest.approx((dots[-1] - dots[0]) / (k - 1))
    assert dots[-1] - dots[0] >= 40
    bars = [shape.x1 for shape in drawing.shapes if isinstance(shape, Line) and shape.stroke == "accent"]
    assert len(bars) == k - 1
    assert all(dots[-1] < one < other for one, other in pairwise(bars))


def gap_results() -> list[Result]:
    gold = [0, 1] * 20
    made = []
    for encoder in ("one", "two", "three", "four"):
        for task, right in (("MedNLI", 25), ("SNLI", 35), ("RQE", 30), ("MRPC", 28)):
            predicted = [g if i < right else 1 - g for i, g in enumerate(gold)]
            made.append(accuracy_result(task, encoder, gold, predicted))
    return made


def test_gap_panels() -> None:
    drawing = gap_panels(domain_gaps(gap_results()))
    assert within(drawing)
    squares = [shape for shape in drawing.shapes if isinstance(shape, Rectangle) and shape.title]
    dots = [shape for shape in drawing.shapes if isinstance(shape, Circle) and shape.title]
    assert len(squares) == len(dots) == 8
    assert squares[0].title.startswith("one, MedNLI: gap +0.500")
    assert squares[0].x > dots[0].x
    # Each task's name stands beside its dots, and nothing beyond the edge.
    texts = [shape for shape in drawing.shapes if isinstance(shape, Text)]
    for dot in dots:
        task = dot.title.partition(":")[0].split(", ")[1]
        assert any(text.text == f"{task} acc" and abs(text.y - dot.y) < 6 and text.x < dot.x for text in texts)
    assert max(text.x for text in texts) < drawing.width


def test_analogy_bars() -> None:
    drawing = analogy_bars("BMASS", "acc", {"one": {"treats": 0.5, "causes": 1.0}, "two": {"treats": 0.25}})
    assert within(drawing)
    bars = {shape.title: shape.width for shape in drawing.shapes if isinstance(shape, Rectangle)}
    assert bars["one, causes: 1.000"] == 2 * bars["one, treats: 0.500"] == 4 * bars["two, treats: 0.250"]
    assert any(isinstance(s, Text) and s.title == "two, causes: no question asked" for s in drawing.shapes)


def subsets(names: str = "e{}") -> Subsets:
    made = [
        SubsetScore(names.format(e), s, 10 + e, 0.1 * (e + s) / 2, 0.0, 0.9) for e in range(10) for s in range(3)
    ]  # fmt: skip
    made[1] = SubsetScore(names.format(0), 1, 3, math.nan, math.nan, math.nan)
    return Subsets((5.0, 50.0), (), 0, 0, "UMNSRS-sim", "spearman", tuple(made))


def test_subset_curves() -> None:
    drawing = subset_curves([subsets()], "frequency")
    assert within(drawing)
    dots = [shape for shape in drawing.shapes if isinstance(shape, Circle) and shape.title]
    assert len(dots) == 29
    # The ninth and tenth encoder share colours with the first two and are told apart by hollow dots.
    assert sum(dot.hollow for dot in dots) == 6
    joins = [shape for shape in drawing.shapes if isinstance(shape, Line) and shape.width == 1.5]
    assert len(joins) == 18


def test_svg_is_well_formed_and_escaped() -> None:
    drawing = heat_map([HOSTILE, "x" * 500], [HOSTILE], [[(HOSTILE, 0.5)], [None]])
    root = ElementTree.fromstring(svg_file(drawing))
    assert not [element for element in root.iter() if element.tag in (f"{SVG}script", f"{SVG}img")]
    assert any("</script>" in (element.text or "") for element in root.iter(f"{SVG}text"))
    inline = inline_svg(drawing, "name")
    ElementTree.fromstring(inline)
    assert 'aria-labelledby="name-title name-desc"' in inline
    assert "style=" not in inline


def test_png_and_pdf(tmp_path: Path) -> None:
    from matplotlib.image import imread

    drawing = interval_plot("RQE", "acc", "percent", 50.0, {HOSTILE: Metric("acc", 70, 60, 80, 50, "percent", 9)})
    png = tmp_path / "x.png"
    png.write_bytes(painted(drawing, "png"))
    pixels = imread(png)
    assert pixels.shape[:2] == (int(drawing.height * 2), int(drawing.width * 2))
    dot = next(shape for shape in drawing.shapes if isinstance(shape, Circle))
    colour = pixels[round(dot.y * 2), round(dot.x * 2)][:3]
    assert colour == pytest.approx([0x0B / 255, 0x5C / 255, 0xAD / 255], abs=0.01)
    pdf = painted(drawing, "pdf")
    assert pdf.startswith(b"%PDF")
    assert painted(drawing, "pdf") == pdf


def test_every_shape_is_painted_where_and_as_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.colors import to_hex

    taken: list[Any] = []
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, stream, **_: taken.append(figure))
    shapes = (
        *(Rectangle(1, 2, 30, 4, "accent"), Line(1, 2, 3, 4, "second", 2.0), Line(0, 0, 5, 5, dashed=True)),
        *(Circle(5, 6, 3, "ink"), Circle(7, 8, 4, "line1", hollow=True)),
        *(Text(9, 10, "a", anchor="middle", fill="muted", bold=True, angle=-90), Text(1, 1, "b", size=16)),
    )
    painted(Drawing(192, 96, "", "", shapes), "png")
    (figure,) = taken
    (axes,) = figure.axes
    assert (tuple(figure.get_size_inches()), axes.get_position().bounds) == ((2, 1), (0, 0, 1, 1))
    assert (axes.get_xlim(), axes.get_ylim(), axes.axison) == ((0, 192), (96, 0), False)
    box, disc, ring = axes.patches
    assert (box.get_bbox().bounds, box.get_linewidth(), to_hex(box.get_facecolor())) == ((1, 2, 30, 4), 0, COLOURS["accent"])
    assert (disc.center, disc.radius, disc.get_linewidth(), to_hex(disc.get_facecolor())) == ((5, 6), 3, 0, COLOURS["ink"])
    # Pixels are three quarters of a point.
    assert (ring.radius, ring.get_linewidth(), to_hex(ring.get_facecolor())) == (4, 1.125, COLOURS["paper"])
    assert to_hex(ring.get_edgecolor()) == COLOURS["line1"]
    whole, dashed = axes.lines
    assert (whole.get_xdata(), whole.get_ydata(), whole.get_linewidth()) == ((1, 3), (2, 4), 1.5)
    assert (whole.get_color(), whole.is_dashed(), dashed.is_dashed()) == (COLOURS["second"], False, True)
    first, second = axes.texts
    assert (first.get_position(), first.get_ha(), first.get_rotation(), first.get_fontsize()) == ((9, 10), "center", 90, 9)
    assert (first.get_weight(), second.get_weight(), second.get_fontsize()) == ("bold", "normal", 12)
    assert (first.get_color(), second.get_parse_math()) == (COLOURS["muted"], False)
    assert [part.get_zorder() for part in (box, whole, dashed, disc, ring, first, second)] == list(range(7))


def test_png_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"medsenteval\[report\]"):
        painted(Drawing(10, 10, "", "", ()), "png")


@pytest.mark.slow
def test_every_figure_is_written(tmp_path: Path) -> None:
    results = [*gap_results(), analogy_result("one", {"treats": 0.5}), analogy_result("two", {"treats": 0.1})]
    page = Page(results, options=PageOptions(resamples=200))
    assert [name for name, _ in named_figures(page)] == [
        "heat-map", "critical-difference", "intervals-MedNLI", "intervals-RQE", "intervals-BMASS", "intervals-MRPC",
        "intervals-SNLI", "domain-gap", "analogies-BMASS",
    ]  # fmt: skip
    written = write_figures(page, tmp_path, ("svg", "png", "pdf"))
    assert len(written) == 27
    assert all(path.stat().st_size > 500 for path in written)
    compared = compared_bars([result for result in results if result.task == "BMASS"], "acc")
    write_drawing(compared, tmp_path / "compared.pdf")
    write_drawing(subset_curves([subsets()] * 3, "frequency"), tmp_path / "subsets.pdf")
    pdfs = [*(path for path in written if path.suffix == ".pdf"), tmp_path / "compared.pdf", tmp_path / "subsets.pdf"]
    for path in pdfs:
        assert b"/Type3" not in path.read_bytes()
        assert b"/CIDFontType2" in path.read_bytes()
        if shutil.which("pdffonts"):
            fonts = subprocess.run(["pdffonts", path], capture_output=True, text=True, check=True).stdout.splitlines()[2:]
            assert fonts
            assert all("TrueType" in line and line.split()[-5] == "yes" for line in fonts)
    assert all(within(drawing) for _, drawing in named_figures(page))
    with pytest.raises(SettingsError, match=r"x.bmp: a figure's name ends in .svg, .png, .pdf"):
        write_drawing(Drawing(10, 10, "", "", ()), tmp_path / "x.bmp")
    with pytest.raises(SettingsError, match="got gif"):
        check_formats(("gif",))
    with pytest.raises(SettingsError, match="no format"):
        check_formats(())


def test_the_heat_map_shows_the_best_first() -> None:
    def result(encoder: str, value: float) -> object:
        metric = Metric("map", value, value, value, 0.2, "fraction", 3)
        return simulated_result("HPO", encoder, [metric], {"id": ["1"], "map": [value]})

    page = Page([result("bad", 0.4), result("good", 0.8)], options=PageOptions(resamples=200))  # type: ignore[list-item]
    boxes = [shape.title for shape in draw_heat_map(page).shapes if isinstance(shape, Rectangle) and shape.title]
    assert boxes[:2] == ["good, HPO map: 0.800 (75% of the way)", "bad, HPO map: 0.400 (25% of the way)"]
    assert "critical-difference" not in dict(named_figures(page))


def test_a_task_with_one_answer_has_no_way_to_go() -> None:
    results = [accuracy_result("RQE", name, [1, 1], [1, 0]) for name in "ab"]
    for result in results:
        object.__setattr__(result, "metrics", (Metric("acc", 50, 0, 100, 100, "percent", 2),))
    page = Page(results, options=PageOptions(resamples=200))
    titles = [shape.title for shape in draw_heat_map(page).shapes if isinstance(shape, Rectangle) and shape.title]
    assert titles == [f"{name}, RQE acc: 50.00 (not above the constant answer)" for name in "ab"]


LONG = "BiomedNLP-PubMedBERT-base-uncased-abstract-fulltext-{}"


def figures_for(width: float) -> list[Drawing]:
    """Return every kind of figure of five encoders with long names."""
    results = [
        replace(result, encoder=LONG.format(encoder))
        for encoder in range(5)
        for result in [*gap_results(), analogy_result("one", {"treats": 0.5, "is a finding site of": 0.1 * encoder})]
        if result.encoder == "one"
    ]
    page = Page(results, options=PageOptions(resamples=200))
    return [*(drawing for _, drawing in named_figures(page, width)), subset_curves([subsets(LONG)], "frequency", width)]


@pytest.mark.parametrize("inches", [2.5, 3.3, 6.9])
def test_figures_keep_the_width_of_a_column_with_full_names_and_letters_of_seven_points(inches: float) -> None:
    drawings = figures_for(96 * inches)
    titles = {drawing.title.split(":")[-1].strip() for drawing in drawings}
    assert len(titles) == 6
    for drawing in drawings:
        assert drawing.width == pytest.approx(96 * inches), drawing.title
        assert within(drawing), drawing.title
        texts = [shape for shape in drawing.shapes if isinstance(shape, Text)]
        assert min(text.size for text in texts) * 0.75 >= 7
        said = "".join(text.text for text in texts)
        assert all(LONG.format(number) in said for number in range(5)), drawing.title
        # What an axis shows is said on it.
        named = "mean rank over" if "Critical" in drawing.title else "1: perfect" if "gap" in drawing.title else ", "
        assert any(named in text.text or " acc" in text.text for text in texts), drawing.title


@example(" ".join(f"word{number}" for number in range(60)), 90.0)
@given(st.text(max_size=200), st.floats(40, 300))
def test_labels_hold_the_whole_name_in_lines_of_their_width(name: str, width: float) -> None:
    (label,) = labels_of([name], width)
    assert 1 <= len(label.lines) <= 6
    assert all(text_width(line) <= width or len(line) <= 1 for line in label.lines)
    whole, given_whole = ("".join(text.split()) for text in ("".join(label.lines), clean(name)))
    if whole != given_whole:
        assert len(label.lines) == 6
        assert label.lines[-1].endswith("…")
        assert given_whole.startswith(whole[:-1])


def test_many_encoders_fit() -> None:
    page = Page(many_results(20, 6, n_items=60), options=PageOptions(resamples=200))
    assert all(within(drawing) for _, drawing in named_figures(page))


@pytest.mark.parametrize(("width", "at"), [(300.0, 60.0), (241.0, 2.0), (900.0, 12 + text_width("encoder" * 4))])
def test_the_legend_of_a_heat_map_stays_inside(width: float, at: float) -> None:
    drawing = heat_map(["encoder" * 4], ["RQE"], [[("1", 0.5)]], width)
    assert within(drawing)
    (below,) = [shape for shape in drawing.shapes if isinstance(shape, Text) and shape.text == "≤ 0"]
    assert below.x == pytest.approx(at)
