"""Word tasks under the ten measures, against scipy pair by pair; what is whole, what is best, and how protocols are named."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from medsenteval import registry
from medsenteval.contracts import Encoder, Result
from medsenteval.datasets.locate import load_dataset
from medsenteval.encoders.static.vectors import from_table
from medsenteval.engine import evaluate_task
from medsenteval.errors import MedSentEvalError, SettingsError
from medsenteval.settings import Settings
from medsenteval.similarity import CONTEXTUAL_MEASURES, MEASURES
from tests.conftest import CountingEncoder
from tests.similarity.test_measures import pair_by_pair

Write = Callable[..., Path]

RNG = np.random.default_rng(4)
WORDS = [f"w{i}" for i in range(20)]
VECTORS = dict(zip(WORDS, RNG.standard_normal((20, 6)).astype(np.float32), strict=True))
#: Terms of one to three words; "odd" is not known.
TERMS = [" ".join(RNG.choice([*WORDS, "odd"], size)) for size in (1, 1, 1, 1, 2, 2, 2, 3, 3, 3)]
PAIRS = [(first, second, float(RNG.integers(0, 9))) for first in TERMS for second in TERMS if first < second]


def word_vectors() -> Encoder:
    return from_table("words", WORDS, np.array(list(VECTORS.values())))


def score(write: Write, encoder: Encoder, settings: Settings | None = None, **options: str) -> Result:
    lines = "".join(f"{first}\t{second}\t{gold}\n" for first, second, gold in PAIRS)
    task = registry.task("Bio-SimLex")
    chosen = (settings or Settings()).with_changes(task_options={task.name: options}, resamples=100, allow_incomplete=True)
    dataset = load_dataset(task, write({"Bio-SimLex/Bio-SimLex.txt": lines}), chosen)
    return evaluate_task(task, dataset, encoder, chosen)


def expected(measure: str, whole: bool) -> tuple[list[str], float]:
    """Ids and Spearman of the pairs that count, pair by pair: known words only, or only terms known in all their words."""
    ids, similarities, golds = [], [], []
    for number, (first, second, gold) in enumerate(PAIRS, start=1):
        bags = [[VECTORS[word].astype(float) for word in term.split() if word in VECTORS] for term in (first, second)]
        if all(bags) and not (whole and "odd" in (first + " " + second).split()):
            ids.append(f"Bio-SimLex.txt:{number}")
            similarities.append(pair_by_pair(measure, *map(np.array, bags)))
            golds.append(gold)
    return ids, float(stats.spearmanr(np.round(similarities, 9), golds)[0])


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_equals_scipys(write: Write, measure: str) -> None:
    assert any("odd" in term.split() and len(term.split()) > 1 for term in TERMS)
    for multiword in ("average", "complete"):
        result = score(write, word_vectors(), measure=measure, multiword=multiword)
        ids, rho = expected(measure, multiword == "complete")
        assert list(result.items["id"]) == ids
        assert result.metric("spearman").value == pytest.approx(rho, abs=1e-9)
        assert (result.protocol, result.details["measure"]) == (measure, measure)
        assert f"|measure={measure}|" in result.signature
    assert len(expected(measure, True)[0]) < len(expected(measure, False)[0])


def test_the_cosine_of_means_is_the_plain_cosine_and_keeps_its_name(write: Write) -> None:
    plain, measured = score(write, word_vectors()), score(write, word_vectors(), measure="avg_cos")
    values = ([metric.value for metric in result.metrics] for result in (plain, measured))
    assert next(values) == pytest.approx(next(values), abs=1e-6)  # means in float32 and in float64
    assert (plain.protocol, measured.protocol) == ("cosine", "avg_cos")
    assert "measure" not in plain.signature


def test_the_paper_takes_the_cosine_of_words_and_kendalls_tau_of_others(write: Write, counting: CountingEncoder) -> None:
    words, texts = (score(write, encoder, measure="paper") for encoder in (word_vectors(), counting))
    assert (words.details["measure"], texts.details["measure"]) == ("avg_cos", "avg_tau")
    assert words.protocol == texts.protocol == "paper"
    vectors = {text: row.astype(float) for text, row in zip(TERMS, counting.encode(TERMS), strict=True)}
    taus = [float(stats.kendalltau(vectors[first], vectors[second])[0]) for first, second, _ in PAIRS]
    assert texts.items["predicted"] == pytest.approx(taus, abs=1e-9)


def test_the_best_measure_is_found_and_all_are_kept(write: Write, counting: CountingEncoder) -> None:
    result = score(write, word_vectors(), measure="best", multiword="complete")
    found = {measure: expected(measure, True)[1] for measure in MEASURES}
    assert {name: each["spearman"] for name, each in result.details["measures"].items()} == pytest.approx(found, abs=1e-9)
    assert result.details["measure"] == max(found, key=lambda name: found[name])
    assert result.metric("spearman").value == pytest.approx(max(found.values()), abs=1e-9)
    assert result.items["predicted"] == result.items[result.details["measure"]]
    assert "is the best of 10 measures on these very pairs" in result.notes[-1]
    texts = score(write, counting, measure="best")
    assert tuple(texts.details["measures"]) == CONTEXTUAL_MEASURES


def test_unknown_pairs_can_count_as_dissimilar(write: Write) -> None:
    result = score(write, word_vectors(), measure="fuzzy_jaccard", multiword="complete", oov="zero")
    assert result.n_test == len(PAIRS)
    unknown = set(result.details["unknown_pairs"])
    assert unknown
    pairs = zip(result.items["id"], result.items["predicted"], strict=True)
    assert all(predicted == 0.0 for item, predicted in pairs if item in unknown)


def test_measures_that_do_not_fit_are_refused(write: Write, counting: CountingEncoder) -> None:
    with pytest.raises(MedSentEvalError, match="no measure 'fuzzy_jaccard' for an encoder with one vector a term"):
        score(write, counting, measure="fuzzy_jaccard")
    with pytest.raises(SettingsError, match="measure is 'taste'; it can be cosine, paper, best, avg_cos"):
        score(write, counting, measure="taste")
    own = Settings(similarity=lambda u, v: float(u @ v))
    with pytest.raises(SettingsError, match="measure=avg_r and a similarity of your own exclude each other"):
        score(write, counting, own, measure="avg_r")
    assert score(write, counting, own).protocol == "own-similarity"


@pytest.mark.realdata
@pytest.mark.slow
def test_real_glove_knows_seventy_pairs_of_mayosrs_whole(realdata: Path) -> None:
    """Words between blanks looked up by hand in the real file: 69 pairs. One more has a hyphen, and averaged 84 count."""
    path = Path(os.environ.get("MEDSENTEVAL_GLOVE", "/nonexistent"))
    if not path.is_file():
        pytest.skip("MEDSENTEVAL_GLOVE names no file of the real GloVe 6B vectors")
    task, encoder = registry.task("MayoSRS"), registry.load_encoder(f"vectors:{path},case=lower,tokenizer=whitespace")
    split = load_dataset(task, realdata, Settings()).splits["all"]
    asked = {word for text in split.all_texts() for word in text.lower().split()}
    vectors = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            word, _, numbers = line.partition(" ")
            if word in asked and numbers.count(" ") > 1:
                vectors[word] = np.array(numbers.split(), dtype=np.float32).astype(float)
    bags = [
        [[vectors.get(word) for word in term.lower().split()] for term in pair]
        for pair in zip(split.texts, split.texts2 or (), strict=True)
    ]
    whole = [i for i, pair in enumerate(bags) if all(vector is not None for bag in pair for vector in bag)]
    for measure in ("avg_r", "fuzzy_jaccard", "pair_tau"):
        settings = Settings(resamples=100, task_options={"MayoSRS": {"measure": measure, "multiword": "complete"}})
        result = evaluate_task(task, load_dataset(task, realdata, settings), encoder, settings)
        assert result.n_test == len(whole) == 69
        similarities = [pair_by_pair(measure, *(np.array(bag) for bag in bags[i])) for i in whole]
        assert split.scores is not None
        rho = stats.spearmanr(np.round(similarities, 9), split.scores[whole])[0]
        assert result.metric("spearman").value == pytest.approx(rho, abs=1e-9), measure
    usual = registry.load_encoder(f"vectors:{path},case=lower")
    for multiword, count in (("complete", 70), ("average", 84)):
        settings = Settings(resamples=100, task_options={"MayoSRS": {"measure": "avg_r", "multiword": multiword}})
        assert evaluate_task(task, load_dataset(task, realdata, settings), usual, settings).n_test == count
