"""Plots of matplotlib: names of strangers are shown letter by letter, and a file is written whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medsenteval.comparison.word_subsets import subset_scores
from medsenteval.errors import SettingsError
from medsenteval.report import analogy_figures
from medsenteval.report.analogy_figures import draw_comparison, draw_metrics
from medsenteval.report.charts.plot_file import plain
from medsenteval.report.learning_curve_table import curve_points, draw_curves
from medsenteval.report.word_subset_figure import draw_subsets
from tests.fuzz.result_readers import RESULTS
from tests.report.made_up import analogy_result

pytest.importorskip("matplotlib")

#: matplotlib would take it for a formula, and end in an error of its own over it.
HOSTILE = r"a$\frac{$b_\$^$<script>&"


def test_names_are_no_formulas(tmp_path: Path) -> None:
    curve = replace(RESULTS["yes or no"], encoder=HOSTILE, task=HOSTILE)
    draw_curves(curve_points([curve]), tmp_path / "curves.svg")
    analogy = replace(analogy_result(HOSTILE, {HOSTILE: 0.5, "r2": 0.25}), task=HOSTILE, protocol=HOSTILE)
    draw_metrics(analogy, tmp_path / "metrics.svg")
    draw_comparison([analogy, replace(analogy, encoder="other")], "acc", tmp_path / "compared.svg")
    values = {f"{letter}{i}": float(i) for i in range(12) for letter in "wv"}
    subsets = subset_scores([replace(RESULTS["words"], encoder=HOSTILE, task=HOSTILE)], values, resamples=100, groups=2)
    draw_subsets([subsets], tmp_path / "subsets.svg", HOSTILE)
    for path in tmp_path.iterdir():
        assert path.read_text("utf-8").startswith("<?xml"), path
    assert len(list(tmp_path.iterdir())) == 4


def test_bars_stand_beside_each_other_around_their_relation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(analogy_figures, "write_plot", lambda figure, _: drawn.append(figure))
    one, other = (analogy_result(name, {"treats": share, "causes": 1.0}) for name, share in (("one", 0.5), ("other", 0.25)))
    draw_comparison([one, other], "acc", tmp_path / "x.svg")
    draw_metrics(one, tmp_path / "x.svg")
    for figure, heights in zip(drawn, ([[0.5, 1.0], [0.25, 1.0]], [[0.5, 1.0]] * 3), strict=True):
        (axes,) = figure.axes
        groups = [[(bar.get_x(), bar.get_width(), bar.get_height()) for bar in group] for group in axes.containers]
        assert [[height for _, _, height in group] for group in groups] == heights
        width = 0.8 / len(heights)
        for number, group in enumerate(groups):
            assert [x for x, _, _ in group] == pytest.approx([number * width - 0.4, number * width + 0.6])
            assert [wide for _, wide, _ in group] == pytest.approx([width, width])
        assert [text.get_text() for text in axes.get_xticklabels()] == ["treats", "causes"]
        assert axes.get_ylim() == (0, 1)


def test_a_name_is_shown_as_it_is() -> None:
    from matplotlib.text import Text

    text: Any = Text(0, 0, "")
    for name in ("plain", "$", "$$", r"\$", r"a\$b$c", HOSTILE):
        shown, is_formula = text._preprocess_math(plain(name))
        assert (shown, is_formula) == (name, False)
    assert plain("a\x1b[2Jb\n") == r"a\x1b[2Jb\n"


@pytest.mark.parametrize("name", ["curve.exe", "curve", "curve.json"])
def test_other_endings_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"a figure's name ends in \.svg, \.png, \.pdf"):
        draw_curves(curve_points([RESULTS["yes or no"]]), tmp_path / name)
    assert not list(tmp_path.iterdir())
