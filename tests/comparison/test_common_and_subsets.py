"""Common pairs and subsets against scipy on the rows picked by hand; the commands and the figure."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from medsenteval.cli.main import main
from medsenteval.comparison.common_pairs import common_pairs
from medsenteval.comparison.word_subsets import pair_subsets, read_word_values, subset_scores
from medsenteval.errors import DataError, MissingExtraError, SettingsError
from medsenteval.report.charts.figure_files import write_drawing
from medsenteval.report.charts.word_subset_chart import subset_curves
from medsenteval.running.job_identity import comparability
from medsenteval.running.result_store import ResultStore
from tests.comparison.results_of import word_result
from tests.statistics.test_paired_bootstrap import spearman_difference

RNG = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(90)]
ROWS = [
    (f"f:{i}", WORDS[int(a)], WORDS[int(b)], float(gold), float(gold + 2 * RNG.standard_normal()))
    for i, (a, b, gold) in enumerate(zip(RNG.integers(0, 90, 300), RNG.integers(0, 90, 300), RNG.random(300) * 10, strict=True))
]
OTHER = [(item, first, second, gold, predicted**2) for item, first, second, gold, predicted in ROWS[20:]]
VALUES = {word: float(i) for i, word in enumerate(WORDS)}


def test_common_pairs_are_those_that_all_know() -> None:
    found = common_pairs(
        [word_result("T", "one", ROWS[:280]), word_result("T", "two", OTHER, unknown=["f:100"])], resamples=200
    )
    kept = [row for row in ROWS[20:280] if row[0] != "f:100"]
    # Pairs that are equally known make comparable scores, and others do not.
    assert len({comparability(result) for result in found}) == 1
    assert comparability(found[0]) != comparability(word_result("T", "one", ROWS[:280]))
    for result, power in zip(found, (1, 2), strict=True):
        metrics = result.metrics
        assert result.items["id"] == [row[0] for row in kept]
        assert result.notes[-1] == f"scored on the 259 of {280 if power == 1 else 281} pairs that all 2 encoders know"
        gold, predicted = [row[3] for row in kept], [row[4] ** power for row in kept]
        expected = {
            "pearson": stats.pearsonr(predicted, gold)[0],
            "spearman": stats.spearmanr(predicted, gold)[0],
            "kendall": stats.kendalltau(predicted, gold)[0],
        }
        assert {metric.name: metric.value for metric in metrics} == pytest.approx(expected)
        for metric in metrics:
            assert metric.low < metric.value < metric.high
            assert metric.n == 259


def test_the_best_measure_is_chosen_anew_on_the_common_pairs() -> None:
    """One measure is best on all pairs and another on those that both encoders know."""
    gold = np.arange(40.0)
    late = np.where(gold < 20, gold[::-1], gold)
    early = np.where(gold < 20, gold, 100 - gold)
    rows = [(f"f:{i}", "a", "b", float(i), float(early[i])) for i in range(40)]
    best = word_result("T", "one", rows)
    measured = {**best.items, "avg_cos": early.tolist(), "pair_tau": late.tolist()}
    best = replace(
        best, items=measured, details={**best.details, "measure": "avg_cos", "measures": {"avg_cos": 0, "pair_tau": 0}}
    )
    found, _ = common_pairs([best, word_result("T", "two", rows[20:])], resamples=100)
    assert found.details["measure"] == "pair_tau"
    assert found.metric("spearman").value == pytest.approx(1.0)
    assert {name: each["spearman"] for name, each in found.details["measures"].items()} == pytest.approx(
        {"avg_cos": stats.spearmanr(early[20:], gold[20:])[0], "pair_tau": 1.0}
    )


def test_results_that_cannot_be_aligned_are_refused() -> None:
    with pytest.raises(DataError, match="no results"):
        common_pairs([])
    with pytest.raises(DataError, match="different tasks have no pairs in common: A, B"):
        common_pairs([word_result("A", "x", ROWS), word_result("B", "x", ROWS)])
    with pytest.raises(DataError, match="keeps no similarity for each pair"):
        common_pairs([word_result("A", "x", ROWS, items={"id": []})])
    changed = [(*row[:3], row[3] + (row[0] == "f:7"), row[4]) for row in ROWS]
    with pytest.raises(DataError, match="f:7 has different gold scores"):
        common_pairs([word_result("A", "x", ROWS), word_result("A", "y", changed)])
    with pytest.raises(DataError, match=r"2 pair\(s\) known to all 1 encoders"):
        common_pairs([word_result("A", "x", ROWS[:2])])


def test_terciles_hold_equally_many_words_and_pairs_within_one_of_them() -> None:
    found = subset_scores([word_result("T", "one", ROWS)], VALUES, resamples=200)
    used = {word for row in ROWS for word in row[1:3]}
    third = np.quantile([VALUES[word] for word in used], [1 / 3, 2 / 3], method="inverted_cdf")
    assert found.limits == tuple(third)
    n_inside = 0
    for score in found.scores:
        low, high = (-math.inf, *third, math.inf)[score.subset : score.subset + 2]
        rows = [row for row in ROWS if all(low < VALUES[word] <= high for word in row[1:3])]
        assert score.n == len(rows)
        assert score.value == pytest.approx(stats.spearmanr([row[4] for row in rows], [row[3] for row in rows])[0])
        assert score.low < score.value < score.high
        n_inside += len(rows)
    assert found.mixed == len(ROWS) - n_inside
    assert found.without == 0
    assert [found.label(i) for i in range(3)] == [
        f"up to {third[0]:g}", f"{third[0]:g} to {third[1]:g}", f"above {third[1]:g}",
    ]  # fmt: skip


def test_limits_words_without_value_and_case() -> None:
    values = {word.upper() if i % 2 else word: value for i, (word, value) in enumerate(VALUES.items()) if value != 3}
    rows = [(item, first.upper(), second, gold, predicted) for item, first, second, gold, predicted in ROWS]
    lower = {word.lower(): value for word, value in values.items()}
    found = subset_scores([word_result("T", "one", rows)], lower, limits=[44.0], metric="pearson", resamples=100)
    without = sum("w3" in row[1:3] for row in ROWS)
    assert found.without == without
    assert found.n_subsets == 2
    assert sum(score.n for score in found.scores) + found.mixed + without == len(ROWS)


def test_small_subsets_have_no_score() -> None:
    found = subset_scores([word_result("T", "one", ROWS)], VALUES, limits=[2.0], resamples=100)
    assert found.scores[0].n < 5
    assert math.isnan(found.scores[0].value)
    assert not math.isnan(found.scores[1].value)


def test_results_of_one_encoder_are_told_apart_by_measure_and_seed() -> None:
    """Rows under one name would look alike, and be one line of the figure."""
    plain, again = (word_result("T", "one", ROWS, seed=seed) for seed in (1, 2))
    averaged = replace(plain, signature=plain.signature.replace("|cosine|", "|avg_tau|"))
    named = {"one, cosine, seed=1": plain, "one, avg_tau, seed=1": averaged, "one, cosine, seed=2": again}
    found = subset_scores(list(named.values()), VALUES, resamples=100)
    assert [score.encoder for score in found.scores] == [label for label in named for _ in range(3)]
    assert {score.encoder for score in subset_scores([plain], VALUES, resamples=100).scores} == {"one"}


def test_subsets_that_cannot_be_made() -> None:
    result = word_result("T", "one", ROWS)
    with pytest.raises(SettingsError, match="limits must rise: 3, 2"):
        subset_scores([result], VALUES, limits=[3, 2])
    with pytest.raises(SettingsError, match="groups is 1"):
        subset_scores([result], VALUES, groups=1)
    with pytest.raises(DataError, match="0 of its words have a value"):
        subset_scores([result], {"other": 1.0})
    with pytest.raises(DataError, match="too many words have the same value"):
        subset_scores([result], dict.fromkeys(WORDS, 1.0))
    # All words but one have the largest value: none would be above the limit.
    highest = dict(zip(WORDS, (1.0, *(2.0 for _ in WORDS[1:])), strict=True))
    with pytest.raises(DataError, match="too many words have the same value"):
        subset_scores([result], highest, groups=2)
    with pytest.raises(DataError, match="one task's pairs; got no results"):
        subset_scores([], VALUES)
    with pytest.raises(DataError, match="do not keep the words"):
        subset_scores([word_result("T", "x", ROWS, items={"id": []})], VALUES)


def test_tables_of_words_are_read_strictly(tmp_path: Path) -> None:
    def table(text: str) -> Path:
        path = tmp_path / "table.tsv"
        path.write_text(text, "utf-8")
        return path

    assert read_word_values(table("word\tfrequency\nheart attack\t12\n\ngene\t3.5\textra\n")) == {
        "heart attack": 12.0,
        "gene": 3.5,
    }
    assert read_word_values(table('"a, b",7\nc,8\n')) == {"a, b": 7.0, "c": 8.0}
    for text, message in {
        "gene\n": r"table\.tsv:1: one column",
        "gene\t1\ncell\tmany\n": r"table\.tsv:2: 'many' is no finite number",
        "gene\t1\ncell\t1_000\n": r"table\.tsv:2: '1_000' is no finite number",
        "gene\t1\ngene\t2\n": r"table\.tsv:2: 'gene' has two values, 1 and 2",
        "word\tvalue\n": "no word with a value",
    }.items():
        with pytest.raises(DataError, match=message):
            read_word_values(table(text))
    with pytest.raises(DataError, match="cannot be read"):
        read_word_values(tmp_path / "absent")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    store = ResultStore(tmp_path / "results")
    for result in (
        word_result("Bio-SimLex", "one", ROWS),
        word_result("Bio-SimLex", "two", OTHER),
        word_result("MEN", "one", ROWS),
    ):
        store.save(result)
    (tmp_path / "frequency.tsv").write_text("".join(f"{word}\t{value}\n" for word, value in VALUES.items()), "utf-8")
    return tmp_path


def test_the_command_prints_and_draws(stored: Path) -> None:
    pytest.importorskip("matplotlib")
    for ending, start in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        figure = stored / f"figure.{ending}"
        arguments = ["subsets", str(stored / "results"), "--by", str(stored / "frequency.tsv"), "--figure", str(figure)]
        outcome = CliRunner().invoke(main, arguments)
        assert outcome.exit_code == 0, outcome.output
        assert figure.read_bytes().startswith(start)
    lines = outcome.output.splitlines()
    assert lines[0] == "Bio-SimLex"
    assert lines[3].split()[:3] == ["one", "up", "to"]
    assert "MEN" in lines
    assert lines[-1] == f"drawn: {figure}"
    assert "Left out: " in outcome.output


def test_the_command_names_scores_of_encoders_that_know_few_words(stored: Path) -> None:
    ResultStore(stored / "results").save(replace(word_result("Bio-SimLex", "three", ROWS), coverage={"tokens": 0.3}))
    outcome = CliRunner().invoke(main, ["subsets", str(stored / "results"), "--by", str(stored / "frequency.tsv")])
    assert outcome.exit_code == 0, outcome.output
    cautions = [line for line in outcome.output.splitlines() if line.startswith("Caution")]
    assert len(cautions) == 1
    assert cautions[0].startswith("Caution: Bio-SimLex, three: the encoder knows less than half of this task's words")


def test_the_command_says_what_is_wrong(stored: Path) -> None:
    base = ["subsets", str(stored / "results"), "--by", str(stored / "frequency.tsv")]
    for more, message in {
        ("--limits", "low,high"): "--limits is 'low,high'",
        ("-t", "MayoSRS"): "no results of word similarity on MayoSRS",
        ("--figure", str(stored / "x.gif")): "a figure's name ends in .svg, .png, .pdf",
    }.items():
        outcome = CliRunner().invoke(main, [*base, *more])
        assert outcome.exit_code == 2
        assert message in outcome.output
    few = CliRunner().invoke(main, [*base, "-t", "MEN", "--limits", "1"])
    assert "too few" in few.output


def test_a_figure_without_matplotlib_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    found = subset_scores([word_result("T", "one", ROWS)], VALUES, resamples=100)
    with pytest.raises(MissingExtraError, match=r"medsenteval\[report\]"):
        write_drawing(subset_curves([found], "frequency"), tmp_path / "x.png")


def test_bca_intervals_of_differences_on_the_command_line_are_scipys(stored: Path) -> None:
    """Two encoders with other vocabularies: the scores, the difference and its interval are those of the common pairs."""
    arguments = ["compare", str(stored), "-t", "Bio-SimLex", "--common-pairs", "--intervals", "bca", "--resamples", "1000"]
    shown = CliRunner().invoke(main, [*arguments, "--differences", "--format", "csv"])
    assert shown.exit_code == 0, shown.output
    (row,) = [line for line in csv.DictReader(shown.stdout.splitlines()) if line["Metric"] == "spearman"]
    gold, one, two = (np.array(values) for values in zip(*[(r[3], r[4], r[4] ** 2) for r in ROWS[20:]], strict=True))
    expected = stats.bootstrap(
        (one, two, gold), spearman_difference, paired=True, vectorized=True, n_resamples=1000, method="BCa",
        rng=np.random.default_rng(1111),
    ).confidence_interval  # fmt: skip
    low, high = (float(value) for value in row["95 % interval"].strip("[]").split(","))
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.00051)
    assert (row["Test"], row["n"]) == ("BCa bootstrap", "280")
    scores = CliRunner().invoke(main, [*arguments, "--format", "csv", "--metrics", "spearman"])
    values = {line["encoder"]: float(line["value"]) for line in csv.DictReader(scores.stdout.splitlines())}
    assert values == pytest.approx({"one": stats.spearmanr(one, gold)[0], "two": stats.spearmanr(two, gold)[0]})


def test_a_run_shows_what_all_its_encoders_know(tmp_path: Path) -> None:
    (tmp_path / "data" / "MayoSRS").mkdir(parents=True)
    words = [f"w{i}" for i in range(101)]
    rng = np.random.default_rng(2)
    pairs = [(words[i], words[(7 * i + 1) % 101], float(i % 9)) for i in range(101)]
    (tmp_path / "data" / "MayoSRS" / "MayoSRS.txt").write_text("".join(f"{a}\t{b}\t{s}\n" for a, b, s in pairs), "utf-8")
    table = dict(zip(words, rng.standard_normal((101, 4)).round(3), strict=True))
    encoders = []
    for name, known in (("odd", words[1:]), ("few", words[:-3])):
        path = tmp_path / f"{name}.txt"
        path.write_text("".join(f"{word} {' '.join(map(str, table[word]))}\n" for word in known), "utf-8")
        encoders += ["-e", f"vectors:{path},name={name}"]
    arguments = ["run", "-t", "MayoSRS", *encoders, "-d", str(tmp_path / "data"), "-o", str(tmp_path / "results"), "--quiet"]
    shown = CliRunner().invoke(main, [*arguments, "--common-pairs"])
    assert shown.exit_code == 0, shown.output
    unknown = {words[0], *words[-3:]}
    kept = [pair for pair in pairs if not unknown & set(pair[:2])]
    assert f"scored on the {len(kept)} of 101 pairs that all 2 encoders know" in shown.output
    cosines = [table[a] @ table[b] / np.linalg.norm(table[a]) / np.linalg.norm(table[b]) for a, b, _ in kept]
    assert f"{stats.spearmanr(cosines, [score for *_, score in kept])[0]:.3f}" in shown.output
    stored_sizes = {result.encoder: result.n_test for result in ResultStore(tmp_path / "results").results()}
    assert stored_sizes["odd"] > len(kept)
    assert stored_sizes["few"] > len(kept)


def test_the_fewest_pairs_and_groups_that_there_may_be() -> None:
    rows = [(str(i), f"w{i}", f"w{i}", float(i), float(i * i % 7)) for i in range(9)]
    values = {f"w{i}": float(i) for i in range(9)}
    five, four = subset_scores([word_result("T", "one", rows)], values, limits=[4.0]).scores
    assert (five.n, math.isnan(five.value), four.n, math.isnan(four.value)) == (5, False, 4, True)
    assert subset_scores([word_result("T", "one", rows)], values, groups=2).limits == (4.0,)
    assert pair_subsets([("w0", "w1")], values, (), 2, "T").limits == (0.0,)
    with pytest.raises(DataError, match="T: 1 of its words have a value"):
        pair_subsets([("w0", "other")], values, (), 2, "T")
    with pytest.raises(SettingsError, match="groups is 1; at least 2"):
        subset_scores([word_result("T", "one", rows)], values, groups=1)
    three = [word_result("T", name, rows[:3]) for name in ("one", "two")]
    assert [result.n_test for result in common_pairs(three, resamples=100)] == [3, 3]
    with pytest.raises(DataError, match="at least 3 are needed"):
        common_pairs([three[0], word_result("T", "two", rows[:3], unknown=["0"])], resamples=100)
