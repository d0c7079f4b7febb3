"""Plots of matplotlib: names of strangers are shown letter by letter, and a file is written whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medsenteval.comparison.word_subsets import subset_scores
from medsenteval.errors import SettingsError
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
