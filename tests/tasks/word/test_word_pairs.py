"""Readers of word similarity sets on invented rows in the official layouts, and the scoring policies on a tiny vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from medsenteval import registry
from medsenteval.contracts import Dataset, Embeddings, Scores
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.errors import DataError, DataMissingError, SettingsError
from medsenteval.registry import TASK_GROUPS
from medsenteval.settings import Settings
from medsenteval.statistics import Correlation, correlation_interval

Write = Callable[..., Path]


def read(task: str, folder: Path, **options: str) -> Dataset:
    return registry.task(task).read(folder, options)


def rows(dataset: Dataset) -> list[tuple[str, str, float]]:
    split = dataset.splits["all"]
    assert split.scores is not None
    return list(zip(split.texts, split.texts2 or (), split.scores.tolist(), strict=True))


@pytest.mark.parametrize(
    ("task", "file", "content", "expected"),
    [
        ("Bio-SimLex", "Bio-SimLex.txt", "gene\tprotein\t4.98\nCO2\tgas\t7", [("gene", "protein", 4.98), ("CO2", "gas", 7.0)]),
        ("MEN", "EN-MEN-TR-3k.txt", "sun moon 40.5\n", [("sun", "moon", 40.5)]),
        ("MTurk-771", "EN-MTurk-771.txt", "sun moon 4\r\nsea salt 3.5\r\n", [("sun", "moon", 4.0), ("sea", "salt", 3.5)]),
        ("MTurk-771", "MTURK-771.csv", "sun,moon,4\n", [("sun", "moon", 4.0)]),
        ("SimVerb-3500", "SimVerb-3500.txt", "go\twalk\tV\t5.5\tNONE\nbe\tact\tV\t1\n",
         [("go", "walk", 5.5), ("be", "act", 1.0)]),
        ("SimVerb-3500", "SimVerb_2col.txt", "go\twalk\t5.5\n", [("go", "walk", 5.5)]),
        ("SimLex-999", "SimLex-999.txt", "word1\tword2\tPOS\tSimLex999\tconc(w1)\nold\tnew\tA\t1.58\t2.7\n",
         [("old", "new", 1.58)]),
        ("Rare-Word", "rw.txt", "odd\tstrange\t6.5\t7\t6\n", [("odd", "strange", 6.5)]),
        ("WordSim-353", "combined.csv", "Word 1,Word 2,Human (mean)\nlove,sex,6.77\n", [("love", "sex", 6.77)]),
        ("UMNSRS-sim", "UMNSRS-sim.txt", "heart attack\tmi\t1500.5\n", [("heart attack", "mi", 1500.5)]),
        ("UMNSRS-sim-mod", "UMNSRS_similarity_mod449_word2vec.csv",
         "Mean,Stdev,Term1,Term2,CUI1,CUI2\r900,1,aa,bb,C1,C2\r80.5,1,cc,dd,C3,C4\r",
         [("aa", "bb", 900.0), ("cc", "dd", 80.5)]),
        ("MayoSRS", "MayoSRS.csv", '"Mean","CUI1","CUI2","TERM1","TERM2"\n"6.5","C1","C2","sore, red","gait"\n',
         [("sore, red", "gait", 6.5)]),
        ("UMNSRS-rel", "umnsrs/rel.part.json", '[{"value": 12, "stddev": 1, "term1": "a b", "term2": "c"}]',
         [("a b", "c", 12.0)]),
        ("Hliaoutakis", "Hliaoutakis2005_mesh.csv", "term 1,term 2,mesh 1,mesh 2,score\r\nAnemia,Fever,D1,D2,0.1\r\n",
         [("Anemia", "Fever", 0.1)]),
    ],
)  # fmt: skip
def test_official_layouts(write: Write, task: str, file: str, content: str, expected: list[tuple[str, str, float]]) -> None:
    assert rows(read(task, write({file: content}))) == expected


def test_the_raters_of_minimayo(write: Write) -> None:
    table = '"Physicians","Coders","CUI1","CUI2","TERM1","TERM2"\n"4","3","C1","C2","Renal failure","Kidney failure"\n'
    folder = write({"MiniMayoSRS.csv": table})
    for raters, score in (("mean", 3.5), ("physicians", 4.0), ("coders", 3.0)):
        assert rows(read("MiniMayoSRS", folder, raters=raters)) == [("Renal failure", "Kidney failure", score)]
    text = write({"MiniMayoSRS.txt": "renal failure\tkidney failure\t3.5\n"}, "mean-only")
    assert rows(read("MiniMayoSRS", text)) == [("renal failure", "kidney failure", 3.5)]
    with pytest.raises(DataMissingError, match=r"holds no file MiniMayoSRS\.csv"):
        read("MiniMayoSRS", text, raters="coders")


def test_rows_that_cannot_be_read_are_rejected_with_their_place(write: Write) -> None:
    folder = write({"Bio-SimLex.txt": "gene\tprotein\t5\n\nonly two\ngene\t\t4\ngene\tcell\tmany\nloose words here 3\n"
                    "old\tnew\tA\t2\nold\tnew\tA\n"})  # fmt: skip
    dataset = read("Bio-SimLex", folder)
    assert rows(dataset) == [("gene", "protein", 5.0), ("old", "new", 2.0)]
    assert [str(rejected) for rejected in dataset.rejected] == [
        "Bio-SimLex.txt:3: 2 field(s) where word, word, score are expected",
        "Bio-SimLex.txt:4: a word is missing",
        "Bio-SimLex.txt:5: the score 'many' is not a finite number",
        "Bio-SimLex.txt:6: the score 'here' is not a finite number",
        "Bio-SimLex.txt:8: the score 'A' is not a finite number",
    ]


@pytest.mark.parametrize(
    ("task", "file", "content", "message"),
    [
        ("MiniMayoSRS", "MiniMayoSRS.csv", "Physicians,TERM1,TERM2\n4,a,b\n", "no column coders among physicians"),
        ("MiniMayoSRS", "MiniMayoSRS.csv", "4,3,a,b\n", "a file without column names cannot give the column 'physicians'"),
        ("MayoSRS", "MayoSRS.csv", "TERM1,TERM2,Sd\na,b,1\n", "no column mean or score"),
        ("MayoSRS", "mayoSRS/mean.part.json", "{}", "a JSON dict where a list of pairs is expected"),
        ("MayoSRS", "mayoSRS/mean.part.json", '[{"term1": "a"}, 3]', "no readable row"),
    ],
)  # fmt: skip
def test_files_of_another_kind_are_refused(write: Write, task: str, file: str, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(task, write({file: content}))


def test_short_and_wordy_rows_of_tables_are_rejected(write: Write) -> None:
    table = "Physicians,Coders,TERM1,TERM2\n4,3,a,b\n4,3\nhigh,3,c,d\n1_0,3,e,f\n"
    dataset = read("MiniMayoSRS", write({"MiniMayoSRS.csv": table}))
    assert len(dataset) == 1
    assert [rejected.reason for rejected in dataset.rejected] == [
        "2 field(s) where at least 4 are expected",
        "a score of 'high', '3' is not a number",
        "a score of '1_0', '3' is not a number",
    ]


def test_scores_move_to_the_nearest_third_where_asked(write: Write) -> None:
    folder = write({"Bio-SimLex.txt": "a\tb\t0.65\nc\td\t0.3\ne\tf\tmany\ng\th\tinf\n"})
    dataset = read("Bio-SimLex", folder, scores="thirds")
    assert rows(dataset) == [("a", "b", 2 / 3), ("c", "d", 1 / 3)]
    assert [row.reason for row in dataset.rejected] == [
        "the score 'many' is not a finite number",
        "the score 'inf' is not a finite number",
    ]


def test_ehr_rel_has_quoted_labels_and_empty_cells(write: Write) -> None:
    header = "snomed_id_1\tsnomed_label_1\tsnomed_id_2\tsnomed_label_2\trater_A\trater_B\tmean_rating\tCUI_1\tCUI_2\n"
    row = '1\t"C/O - ""tired"""\t2\tBreast lump\t\t1.0\t0.6666666666666666\t\tC1\n'
    assert rows(read("EHR-RelB", write({"EHR-RelB.tsv": header + row}))) == [('C/O - "tired"', "Breast lump", 2 / 3)]


def test_items_of_json_without_a_word_or_a_score_are_rejected(write: Write) -> None:
    """A null is no word of the letters None."""
    broken = '{"term1": "a", "value": 1}, 3, {"term1": null, "term2": "b", "value": 2}'
    items = f'[{{"term1": "a", "term2": "b", "value": 0}}, {broken}]'
    dataset = read("MayoSRS", write({"mayoSRS/mean.part.json": items}))
    assert rows(dataset) == [("a", "b", 0.0)]
    reason = "an item without term1, term2, value"
    assert [(rejected.line, rejected.reason) for rejected in dataset.rejected] == [(2, reason), (3, reason), (4, reason)]


def test_options_of_reading(write: Write) -> None:
    folder = write({"Bio-SimLex.txt": "CO2\tgas\t0.65\nheart attack\tMI\t9.96\n"})
    assert rows(read("Bio-SimLex", folder, case="lower")) == [("co2", "gas", 0.65), ("heart attack", "mi", 9.96)]
    skipped = read("Bio-SimLex", folder, multiword="skip")
    assert rows(skipped) == [("CO2", "gas", 0.65)]
    assert skipped.notes == ("1 pair(s) with a term of several words left out (multiword=skip)",)
    assert list(read("Bio-SimLex", folder).all_texts()) == ["CO2", "heart attack", "heart", "attack", "gas", "MI"]


def test_a_wrong_policy_is_refused(write: Write) -> None:
    folder = write({"Bio-SimLex.txt": "gene\tprotein\t5\n"}, "wordsim")
    settings = Settings(task_options={"Bio-SimLex": {"oov": "ignore"}})
    with pytest.raises(SettingsError, match="oov is 'ignore'; it can be skip, zero"):
        load_dataset(registry.task("Bio-SimLex"), folder, settings)


#: Two dimensions, so that cosines can be seen; "void" is not known.
VECTORS = {"a": (1, 0), "b": (1, 1), "c": (0, 1), "d": (-1, 1), "e": (2, 1), "f": (1, 3)}
PAIRS = [("a", "b", 9.0), ("a", "c", 4.0), ("a", "d", 1.0), ("e", "b", 8.0), ("f", "c", 9.5), ("d", "e", 2.0),
         ("a", "void", 7.0), ("b void", "c", 5.0), ("a c", "b", 10.0)]  # fmt: skip


def evaluate(write: Write, **options: str) -> Scores:
    task = registry.task("Bio-SimLex")
    lines = "".join(f"{first}\t{second}\t{score}\n" for first, second, score in PAIRS)
    dataset = read("Bio-SimLex", write({"Bio-SimLex.txt": lines}), **options)
    texts = list(dict.fromkeys(dataset.all_texts()))
    # As static vectors do it: the mean of the known words, zero without any.
    vectors = [np.mean([VECTORS[word] for word in text.split() if word in VECTORS] or [(0, 0)], axis=0) for text in texts]
    embeddings = Embeddings(np.array(vectors, dtype=np.float32), {text: i for i, text in enumerate(texts)})
    return task.evaluate(task, dataset, embeddings, Settings(resamples=100))


def expected_spearman(pairs: list[tuple[str, str, float]], unknown: Mapping[tuple[str, str], float] | None = None) -> float:
    def vector(text: str) -> np.ndarray:
        return np.asarray(np.mean([VECTORS[word] for word in text.split() if word in VECTORS] or [(0, 0)], axis=0))

    cosines = []
    for first, second, _ in pairs:
        u, v = vector(first), vector(second)
        known = u.any() and v.any() and (first, second) not in (unknown or {})
        cosines.append(u @ v / np.linalg.norm(u) / np.linalg.norm(v) if known else 0.0)
    return float(stats.spearmanr(np.round(cosines, 9), [score for *_, score in pairs])[0])


def test_unknown_words_are_skipped_or_zero(write: Write) -> None:
    known = [pair for pair in PAIRS if pair[1] != "void"]
    skipped, zero = evaluate(write), evaluate(write, oov="zero")
    assert skipped.metric("spearman").value == pytest.approx(expected_spearman(known))
    assert skipped.metric("spearman").n == skipped.n_test == 8
    assert zero.metric("spearman").value == pytest.approx(expected_spearman(PAIRS))
    assert zero.n_test == 9
    assert skipped.items["first"] == [first for first, _, _ in known]
    assert {key: skipped.details[key] for key in ("pairs", "pairs_known", "pairs_scored", "words", "words_known")} == {
        "pairs": 9, "pairs_known": 8, "pairs_scored": 8, "words": 7, "words_known": 6,
    }  # fmt: skip
    assert skipped.details["unknown_words"] == ["void"]
    assert skipped.details["unknown_pairs"] == ["Bio-SimLex.txt:7"]
    assert skipped.notes == ("8 of 9 pairs and 6 of 7 words are known; the others are left out",)
    assert zero.notes == ("8 of 9 pairs and 6 of 7 words are known; the others have similarity 0",)


def test_terms_of_several_words(write: Write) -> None:
    complete = evaluate(write, multiword="complete")
    assert complete.items["first"] == ["a", "a", "a", "e", "f", "d", "a c"]
    zero = evaluate(write, multiword="complete", oov="zero")
    assert zero.metric("spearman").value == pytest.approx(expected_spearman(PAIRS, {("b void", "c"): 0.0}))
    single = evaluate(write, multiword="skip")
    assert single.items["first"] == ["a", "a", "a", "e", "f", "d"]


def test_three_correlations_with_intervals(write: Write) -> None:
    scores = evaluate(write)
    gold, predicted = np.array(scores.items["gold"]), np.array(scores.items["predicted"])
    functions: dict[Correlation, Any] = {
        "pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau,
    }  # fmt: skip
    for name, function in functions.items():
        metric = scores.metric(name)
        assert metric.value == pytest.approx(float(function(predicted, gold)[0]))
        rng = np.random.default_rng(Settings().seed)
        ends = correlation_interval(name, predicted, gold, resamples=100, confidence=0.95, rng=rng)
        assert (metric.low, metric.high) == pytest.approx(ends)
        assert (metric.baseline, metric.unit, metric.n) == (0.0, "fraction", len(gold))


def test_too_few_known_pairs_are_an_error(write: Write) -> None:
    task = registry.task("Bio-SimLex")
    dataset = read("Bio-SimLex", write({"Bio-SimLex.txt": "a\tb\t1\n"}))
    with pytest.raises(DataError, match="knows both words of 1 of 1 pairs; at least 5"):
        task.evaluate(task, dataset, Embeddings(np.ones((2, 2), dtype=np.float32), {"a": 0, "b": 1}), Settings())
    just_enough = read("Bio-SimLex", write({"Bio-SimLex.txt": "".join(f"w{i}\tw{i + 1}\t{i}\n" for i in range(5))}))
    vectors = np.random.default_rng(0).random((6, 2), dtype=np.float32)
    embeddings = Embeddings(vectors, {f"w{i}": i for i in range(6)})
    assert task.evaluate(task, just_enough, embeddings, Settings()).n_test == 5


def test_every_biomedical_set_has_a_sample() -> None:
    for name in TASK_GROUPS["word"]:
        dataset = load_dataset(registry.task(name), sample_root(), Settings())
        assert len(dataset) >= 20
        assert dataset.synthetic
        assert not dataset.rejected


def test_every_task_says_what_to_cite_and_where_to_get_it() -> None:
    for name in [*TASK_GROUPS["word"], *TASK_GROUPS["word-general"]]:
        task = registry.task(name)
        assert task.name == name
        assert task.citation
        assert "wordsim/" in task.obtain
        assert task.published_counts["all"] > 0
