"""The page's first sentence: what it says of one, two and many encoders, from scores with a known answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from medsenteval.comparison.compare import compare_results
from medsenteval.comparison.decision import decide, ranks_with_intervals
from medsenteval.contracts import Metric, Result
from medsenteval.report.sections.headline import Headline, headline, share_of
from medsenteval.statistics.verdicts import RankInterval
from tests.comparison.simulated import accuracy_result, simulated_result

N = 400
GOLD = np.tile([0, 1], N // 2)


def answers(task: str, encoder: str, right: float, seed: int) -> Result:
    """Return a result in which exactly this share of items is right, scattered by the seed."""
    wrong = np.random.default_rng(seed).permutation(N)[: round(N * (1 - right))]
    predicted = GOLD.copy()
    predicted[wrong] = 1 - predicted[wrong]
    return accuracy_result(task, encoder, GOLD, predicted)


def said(results: list[Result], rope: float = 1.0) -> Headline:
    comparison = compare_results(results, resamples=2000)
    ranks = ranks_with_intervals(comparison, resamples=300)
    found = headline(comparison, decide(comparison, rope, power=False), ranks)
    assert all(named == (text in comparison.encoders) for text, named in found.parts)
    return found


def test_one_encoder() -> None:
    results = [answers("RQE", "one", 0.9, 1), answers("PICO", "one", 0.5, 2)]
    assert str(said(results)) == "one is clearly above the best constant answer on 1 of 2 tasks."


def test_two_encoders_of_which_one_is_better() -> None:
    tasks = ("RQE", "PICO")
    found = said([answers(t, e, share, i) for i, t in enumerate(tasks) for e, share in (("poor", 0.6), ("good", 0.9))])
    assert found.order == ("good", "poor")
    assert str(found).startswith("good beats poor on both tasks: RQE +30.0 [")
    assert str(found).count("+30.0") == 2
    assert [each.verdict for each in found.pair] == ["better", "better"]


def test_two_encoders_that_share_the_wins() -> None:
    shares = {"RQE": (0.9, 0.6), "PICO": (0.6, 0.9), "MR": (0.9, 0.6), "CR": (0.8, 0.8)}
    found = said([answers(t, e, s, i) for i, (t, both) in enumerate(shares.items()) for e, s in zip("ab", both, strict=True)])
    assert str(found).startswith("a beats b on 2 of 4 tasks (it loses 1, 1 ")
    assert "; clearest on " in str(found)
    assert str(found).count("[") == 1


def test_two_encoders_that_are_the_same() -> None:
    same = [answers("RQE", name, 0.8, 3) for name in "ab"]
    assert str(said(same)) == "a and b are equivalent on RQE: RQE +0.0 [−0.7, 0.7]."
    apart = [answers("RQE", name, 0.8, seed) for seed, name in enumerate("ab")]
    assert str(said(apart)).startswith("a and b cannot be told apart on RQE: RQE +0.0 [−")


def test_many_encoders_and_the_group_of_ties() -> None:
    shares = {"best": 0.90, "near": 0.89, "far": 0.6}
    tasks = ("RQE", "PICO", "MR")
    results = [answers(t, name, s, 10 * i + j) for i, t in enumerate(tasks) for j, (name, s) in enumerate(shares.items())]
    found = said(results)
    assert found.order == ("best", "near", "far")
    assert [tied for _, _, tied in found.ranks] == [True, True, False]
    assert "best has the best mean rank, 1.0 [1.0, " in str(found)
    assert str(found).endswith("near cannot be told apart from it.")
    clear = said([r for r in results if r.encoder != "near"] + [answers(t, "mid", 0.75, 9) for t in ("RQE", "PICO", "MR")])
    assert str(clear).endswith("every other encoder can be told from it.")
    for _, rank, _ in found.ranks:
        assert rank.low <= rank.rank <= rank.high


def test_whose_rank_interval_reaches_that_of_the_best_is_tied_with_it() -> None:
    ranks = {
        name: RankInterval(rank, low, high, 0.0)
        for name, rank, low, high in (("best", 1.2, 1.0, 1.5), ("touches", 2.0, 1.5, 2.5), ("beyond", 2.8, 1.6, 3.0))
    }
    results = [answers("RQE", name, 0.8, seed) for seed, name in enumerate(ranks)]
    found = headline(compare_results(results, resamples=100), [], ranks)
    assert str(found) == "best has the best mean rank, 1.2 [1.0, 1.5]; touches cannot be told apart from it."
    assert [(name, tied) for name, _, tied in found.ranks] == [("best", True), ("touches", True), ("beyond", False)]


def test_of_two_that_win_as_often_the_one_with_the_better_mean_stands_first() -> None:
    shares = {("RQE", "a"): 0.95, ("RQE", "b"): 0.7, ("MR", "a"): 0.7, ("MR", "b"): 0.9}
    found = said([answers(task, name, share, 3) for (task, name), share in shares.items()])
    assert found.order == ("a", "b")
    assert [each.verdict for each in found.pair] == ["better", "worse"]
    assert str(found).startswith("a beats b on 1 of 2 tasks (it loses 1): ")


def test_more_ties_than_can_be_named_are_counted() -> None:
    results = [answers(t, f"e{i}", 0.8, 10 * i + j) for i in range(5) for j, t in enumerate(("RQE", "PICO"))]
    assert str(said(results)).endswith("; 4 others cannot be told apart from it.")
    fewer = said([result for result in results if result.encoder != "e4"])
    assert str(fewer).endswith("; {}, {} and {} cannot be told apart from it.".format(*fewer.order[1:]))
    three = said([result for result in results if result.encoder not in ("e3", "e4")])
    assert str(three).endswith("; {} and {} cannot be told apart from it.".format(*three.order[1:]))


def test_encoders_without_a_task_in_common() -> None:
    results = [answers(task, name, share, 1) for task, name, share in (("RQE", "a", 0.7), ("MR", "b", 0.9), ("CR", "c", 0.8))]
    assert str(said(results[:2])) == "b and a could not be tested on the same items."
    found = said(results)
    assert str(found) == "No encoder is called best: no task was tested for all of them."
    assert found.order == ("b", "c", "a")
    comparison = compare_results(results, resamples=200)
    unknown = replace(comparison, encoders=("no score", *comparison.encoders))
    assert headline(unknown, [], {}).order == ("b", "c", "a", "no score")


def test_without_a_score_there_is_no_share_of_the_way() -> None:
    result = simulated_result("HPO", "e", [Metric("map", 0.4, 0.3, 0.5, 0.2, "fraction", 3)], {"id": ["1"], "map": [0.4]})
    (column,) = compare_results([result], resamples=100).columns
    assert share_of(column, "another") is None
    assert share_of(column, "e") == pytest.approx(0.25)


def test_synthetic_data_decides_nothing() -> None:
    results = [replace(answers("RQE", name, share, 1), synthetic=True) for name, share in (("a", 0.9), ("b", 0.5))]
    assert str(said(results)) == "Nothing is decided here: these are scores on synthetic sample data."


def test_a_decision_from_the_other_side() -> None:
    comparison = compare_results([answers("RQE", "poor", 0.6, 1), answers("RQE", "good", 0.9, 1)], resamples=500)
    (found,) = decide(comparison, 1.0, power=False)
    there, back = found.seen_from("good"), found.seen_from("poor")
    assert (there.verdict, back.verdict) == ("better", "worse")
    (one, other) = (there.interval, back.interval)
    assert (other.estimate, other.low, other.high) == pytest.approx((-one.estimate, -one.high, -one.low))
    assert (back.first, back.second) == (there.second, there.first)


def test_the_one_that_wins_more_is_named_first_though_its_rank_is_no_better() -> None:
    # On one task a is better by far, on two b is by a little: a has the larger share of the way, b wins more often.
    shares = {"RQE": (0.99, 0.5), "PICO": (0.7, 0.8), "MR": (0.7, 0.8)}
    results = [answers(t, e, s, i) for i, (t, both) in enumerate(shares.items()) for e, s in zip("ab", both, strict=True)]
    comparison = compare_results(results, resamples=2000)
    found = headline(comparison, decide(comparison, 1.0, power=False), {})
    assert found.order == ("b", "a")
    assert str(found).startswith("b beats a on 2 of 3 tasks (it loses 1); clearest on ")
    assert [each.verdict for each in found.pair] == ["worse", "better", "better"]
