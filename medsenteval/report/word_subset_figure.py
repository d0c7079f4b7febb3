"""The line plot of scores by subset, a panel for each task, as in Figures 1 to 4 of Chiu et al. 2018."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from medsenteval.comparison.word_subsets import Subsets
from medsenteval.report.charts.plot_file import new_plot, plain, write_plot

_MARKERS: Final = "osD^vP*X<>"


def _tick(subsets: Subsets, subset: int) -> str:
    """Name a subset and its number of pairs, from fewest to most where encoders know different ones."""
    sizes = sorted({score.n for score in subsets.scores if score.subset == subset})
    return f"{subsets.label(subset)}\nn = {sizes[0]:,}" + (f" to {sizes[-1]:,}" if len(sizes) > 1 else "")


def draw_subsets(found: Sequence[Subsets], path: Path, values_are: str) -> None:
    """Draw one line an encoder over the subsets, with intervals; the ending of ``path`` chooses svg, png or pdf."""
    figure = new_plot(path, 1 + 4.2 * len(found), 3.6)
    panels = figure.subplots(1, len(found), squeeze=False, sharey=True)[0]
    for panel, subsets in zip(panels, found, strict=True):
        encoders = list(dict.fromkeys(score.encoder for score in subsets.scores))
        for number, encoder in enumerate(encoders):
            scores = [score for score in subsets.scores if score.encoder == encoder]
            # Set a little beside each other, or intervals would cover one another.
            places = [score.subset + 0.06 * (number - (len(encoders) - 1) / 2) for score in scores]
            values = [score.value for score in scores]
            errors = [[score.value - score.low for score in scores], [score.high - score.value for score in scores]]
            marker = _MARKERS[number % len(_MARKERS)]
            panel.errorbar(
                places, values, yerr=errors, marker=marker, markersize=5, linewidth=1.5, capsize=3, label=plain(encoder)
            )
        panel.set_xticks(range(subsets.n_subsets), [_tick(subsets, subset) for subset in range(subsets.n_subsets)])
        panel.set_xlim(-0.4, subsets.n_subsets - 0.6)
        panel.set_xlabel(plain(values_are))
        panel.set_title(plain(subsets.task))
        panel.grid(axis="y", alpha=0.3)
    panels[0].set_ylabel({"spearman": "Spearman's ρ", "pearson": "Pearson's r", "kendall": "Kendall's τ"}[found[0].metric])
    panels[-1].legend(frameon=False, fontsize="small")
    write_plot(figure, path)
