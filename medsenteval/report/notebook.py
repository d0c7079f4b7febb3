"""What notebooks and scripts ask of results: a comparison that shows itself, and the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

from medsenteval.comparison.compare import compare_results
from medsenteval.comparison.decision import Decision, decide, ranks_with_intervals
from medsenteval.comparison.significance import Comparison
from medsenteval.contracts import Result
from medsenteval.report.answer_tables import render_decisions
from medsenteval.report.comparison_table import TableOptions, render_comparison
from medsenteval.report.loading import ready_folder
from medsenteval.report.page_content import Page, PageOptions
from medsenteval.report.page_html import render_page
from medsenteval.running.results import Results, load_results
from medsenteval.statistics.verdicts import RankInterval
from medsenteval.support.atomic_files import write_atomically
from medsenteval.support.text_table import data_frame

Given = Results | str | Path | Iterable[Result]


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison that prints itself; ``rope`` is the largest difference that does not matter, in points."""

    comparison: Comparison
    rope: float
    seed: int

    @cached_property
    def decisions(self) -> Sequence[Decision]:
        """Better, worse, equivalent or undecided for each pair of encoders and each metric."""
        return decide(self.comparison, self.rope)

    @cached_property
    def ranks(self) -> Mapping[str, RankInterval]:
        """Each encoder's mean rank with its interval and its probability to be the best."""
        return ranks_with_intervals(self.comparison, seed=self.seed)

    def to_dataframe(self) -> Any:
        """Return a pandas data frame with a row for each pair of encoders that was tested on a metric.

        >>> results = medsenteval.evaluate(["lexical", "lexical,dimension=64"], "BIOSSES", name=["large", "small"])
        >>> len(medsenteval.compare(results).to_dataframe())  # the bundled sample is synthetic, so nothing is tested
        0
        """
        rows = []
        pairs = ((column, pair) for column in self.comparison.columns for pair in combinations(column.tested, 2))
        for (column, (first, second)), decision in zip(pairs, self.decisions, strict=True):
            found = column.difference(first, second)
            assert found is not None
            row = {
                "task": column.label, "metric": column.metric, "first": first, "second": second,
                "difference": found.interval.estimate, "low": found.interval.low, "high": found.interval.high,
                "p": found.p_value, "corrected": found.corrected, "verdict": decision.seen_from(first).verdict,
                "test": column.test, "n": column.n_common, "unit": column.unit,
            }  # fmt: skip
            rows.append(row)
        return data_frame(rows)

    def __repr__(self) -> str:
        return self._rendered("text")

    def _repr_markdown_(self) -> str:
        """Return what a notebook shows: tables that do not break at the end of a line."""
        return self._rendered("markdown")

    def _rendered(self, style: str) -> str:
        parts = [render_comparison(self.comparison, style, TableOptions(notes=True))]
        if self.decisions:
            parts.append(render_decisions(self.decisions, self.ranks, self.rope, self.comparison.level, style))
        return "\n\n".join(parts)


def compare(
    results: Given,
    *,
    rope: float = 1.0,
    resamples: int = 10_000,
    level: float = 0.05,
    correction: str = "holm",
    seed: int = 1111,
) -> Compared:
    """Compare encoders with paired tests; ``results`` are Results or the folder where they are stored.

    >>> results = medsenteval.evaluate(["lexical", "lexical,dimension=64"], "BIOSSES", name=["large", "small"])
    >>> medsenteval.compare(results).comparison.encoders
    ('large', 'small')
    """
    found = compare_results(_results_of(results), resamples=resamples, level=level, correction=correction, seed=seed)
    return Compared(found, rope, seed)


def report(results: Given, output: str | Path = "report.html", **options: Any) -> Path:
    """Write one page that opens offline and return its path; ``options`` are those of PageOptions (title, level, ...)."""
    path = Path(output)
    ready_folder(path.parent)
    write_atomically(path, render_page(Page(_results_of(results), options=PageOptions(**options))))
    return path


def _results_of(given: Given) -> list[Result]:
    if isinstance(given, (str, Path)):
        return load_results(given).values()
    return given.values() if isinstance(given, Results) else list(given)
