"""Entity-level F1 as a function of sentence weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medsenteval.comparison.pairing import weighted_score
from medsenteval.errors import SettingsError
from medsenteval.statistics import bootstrap
from medsenteval.statistics.weighted_scores import CountedF1


@given(st.integers(0, 2**32 - 1))
def test_a_weight_is_a_repetition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, size=(2, 3, 9, 3))
    weights = rng.integers(0, 3, size=9)
    found = CountedF1.of(counts)(weights[None].astype(float))[0]
    for encoder in range(2):
        per_run = []
        for run in range(3):
            tp, fp, fn = (
                sum(int(w) * int(c) for w, c in zip(weights, counts[encoder, run, :, k], strict=True)) for k in range(3)
            )
            per_run.append(2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0)
        assert found[encoder] == pytest.approx(np.mean(per_run))


def test_a_better_tagger_is_told_from_a_worse_one_and_from_itself() -> None:
    rng = np.random.default_rng(3)
    gold = rng.integers(0, 4, size=(1, 1, 400))
    hit = rng.binomial(gold, np.array([[[0.9]], [[0.6]]]))
    counts = np.stack([hit, np.zeros_like(hit), gold - hit], axis=3)
    drawn = bootstrap(CountedF1.of(counts[[0, 1, 0]]), resamples=2000, rng=rng)
    assert drawn.test(0, 1).p_value < 0.01
    assert drawn.test(0, 2).p_value == 1.0


def test_compare_reads_the_counts_of_a_taggers_runs() -> None:
    items = [{f"{kind}_{run}": [run, 1, 2] for kind in ("tp", "fp", "fn") for run in (1, 2)} for _ in range(2)]
    score = weighted_score("f1", None, items)  # type: ignore[arg-type]
    assert isinstance(score, CountedF1)
    assert (score.values.shape, score.runs) == ((4, 3), 2)
    assert score(np.ones((1, 3)))[0] == pytest.approx([0.5, 0.5])
    fewer = {name: values for name, values in items[0].items() if name.endswith("1")}
    assert weighted_score("f1", None, [items[0], fewer]) == "the taggers were run a different number of times"  # type: ignore[arg-type]


def test_counts_of_another_shape_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"\(encoders, runs, items, 3\)"):
        CountedF1.of(np.zeros((2, 3, 4)))
