"""What is done where nobody says how: results are those of the documented level, confidence, resamples and seed, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import medsenteval
from medsenteval.comparison.common_pairs import common_pairs, on_common_pairs
from medsenteval.comparison.compare import compare_results
from medsenteval.comparison.decision import decide, ranks_with_intervals, shown_differences
from medsenteval.comparison.significance import Comparison
from medsenteval.comparison.word_subsets import subset_scores
from medsenteval.contracts import Result
from medsenteval.report.page_content import Page, PageOptions
from medsenteval.statistics import bootstrap, correlations
from tests.comparison.results_of import word_result
from tests.comparison.simulated import accuracy_result, correlation_result

_RNG = np.random.default_rng(0)
GOLD = _RNG.standard_normal(40)
CORRELATED = [correlation_result("BIOSSES", f"e{i}", GOLD, GOLD + _RNG.standard_normal(40) * (1 + i)) for i in range(3)]
CLASSES = np.arange(40) % 2
CLASSED = [accuracy_result("RQE", f"e{i}", CLASSES, np.where(_RNG.random(40) < 0.9 - 0.1 * i, CLASSES, 0)) for i in range(3)]
BOTH = [*CORRELATED, *CLASSED]
ROWS = [(str(i), f"w{i}", f"v{i}", float(i), float(i * i % 17)) for i in range(30)]
WORDS = [word_result("MayoSRS", name, ROWS, unknown=["x y"]) for name in ("one", "two")]
VALUES = {f"{side}{i}": float(i) for i in range(30) for side in "wv"}


def numbers_of(comparison: Comparison) -> list[Any]:
    found: list[Any] = [comparison.level, [column.metric for column in comparison.columns]]
    for column in comparison.columns:
        pair = column.difference("e0", "e1")
        assert pair is not None
        found += [column.corrected.tolist(), pair.interval]
    return found


def compared(results: Sequence[Result], **told: Any) -> list[Any]:
    return numbers_of(compare_results(results, **told))


def compared_in_a_notebook(results: Sequence[Result], **told: Any) -> list[Any]:
    found = medsenteval.compare(results, **told)
    return [*numbers_of(found.comparison), found.rope, found.to_dataframe().to_dict("records")]


def page(results: Sequence[Result], **told: Any) -> list[Any]:
    made = Page(results, options=PageOptions(**told))
    return [*numbers_of(made.comparison), made.headline, made.decisions, made.options]


def ranks(results: Sequence[Result], **told: Any) -> Any:
    return ranks_with_intervals(compare_results(results, resamples=100), **told)


def decided(results: Sequence[Result], **told: Any) -> Any:
    return decide(compare_results(results, resamples=100), 1.0, **told)


def on_common(results: Sequence[Result], **told: Any) -> Any:
    return [[result.metrics for result in function(results, **told)] for function in (common_pairs, on_common_pairs)]


def subsets(results: Sequence[Result], **told: Any) -> Any:
    found = subset_scores(results, VALUES, **told)
    return found.limits, found.scores


def interval(**told: Any) -> Any:
    return bootstrap(correlations("pearson", GOLD, GOLD**3), resamples=100, rng=np.random.default_rng(0)).interval(**told)


def difference(**told: Any) -> Any:
    both = np.stack([GOLD**3, np.roll(GOLD, 1)])
    return bootstrap(correlations("pearson", both, GOLD), resamples=100, rng=np.random.default_rng(0)).difference(0, 1, **told)


TESTS = {"resamples": 10_000, "level": 0.05, "correction": "holm", "seed": 1111}


@pytest.mark.parametrize(
    ("function", "given", "told"),
    [
        (compared, (BOTH,), {**TESTS, "all_metrics": False}),
        (compared_in_a_notebook, (BOTH,), {**TESTS, "rope": 1.0}),
        (page, (BOTH,), {**TESTS, "rope": 1.0, "examples": None, "include_restricted": False}),
        (ranks, (BOTH,), {"resamples": 2000, "seed": 1111}),
        (decided, (BOTH,), {"power": True}),
        (shown_differences, (BOTH,), {"level": 0.05}),
        (on_common, (WORDS,), {"resamples": 2000}),
        (subsets, (WORDS,), {"groups": 3, "resamples": 2000, "seed": 1111}),
        (interval, (), {"encoder": 0, "confidence": 0.95}),
        (difference, (), {"confidence": 0.95}),
    ],
)
def test_without_options_all_is_done_as_documented(
    function: Callable[..., Any], given: tuple[Any, ...], told: dict[str, Any]
) -> None:
    assert function(*given) == function(*given, **told)
