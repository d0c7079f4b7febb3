"""The tables of Schulz and Juric 2020 on made-up words, term sets and categories, against scipy and scikit-learn by hand."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import roc_auc_score

pytest.importorskip("numba")
pytest.importorskip("rapidfuzz")

from medsenteval.cli.main import main
from medsenteval.comparison.medisim_plans import CATEGORY_TABLES, SET_TABLES, WORD_TABLES
from medsenteval.comparison.published.differences import Cell, Reproduction
from medsenteval.comparison.published.numbers import published_numbers
from medsenteval.comparison.reproduce import TABLES, plan_table, run_plan
from medsenteval.report.answer_tables import render_reproduction
from medsenteval.similarity import MEASURES
from medsenteval.words.terms.sets import SetName
from tests.conftest import REPOSITORY
from tests.similarity.test_measures import pair_by_pair
from tests.words.terms.snomed_categories import NAMES, write_categories

RNG = np.random.default_rng(8)
WORDS = sorted({word for names in NAMES for name in names for word in name.split()})
TABLE = dict(zip(WORDS, RNG.standard_normal((len(WORDS), 5)).round(3), strict=True))
#: What the second encoder does not know.
MISSING = "green"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a word set, two of the 20 term sets, and a release with the paper's categories."""
    root = tmp_path_factory.mktemp("data")
    names = [name for category in NAMES for name in category]
    pairs = [pair for pair in product(names, repeat=2) if pair[0] < pair[1]]
    # One measure agrees with people, so that others are significantly worse.
    measured = np.array([similarity("max_jaccard", *pair) for pair in pairs])
    gold = np.round(9 * measured, 2)
    (root / "MayoSRS").mkdir()
    rows = "".join(f"{first}\t{second}\t{score}\n" for (first, second), score in zip(pairs, gold, strict=True))
    (root / "MayoSRS" / "MayoSRS.txt").write_text(rows, "utf-8")
    (root / "terms").mkdir()
    labels = ((measured > np.median(measured)) ^ (RNG.random(len(pairs)) < 0.1)).astype(int)
    for strategy in ("levenshtein", "random"):
        rows = "".join(f"{first}\t{second}\t{label}\n" for (first, second), label in zip(pairs, labels, strict=True))
        (root / "terms" / SetName("same_as", "hard", strategy).file).write_text(rows, "utf-8")
    write_categories(root / "SNOMED-CT")
    for name, words in (("all", WORDS), ("fewer", [word for word in WORDS if word != MISSING])):
        lines = "".join(f"{word} {' '.join(map(str, TABLE[word]))}\n" for word in words)
        (root / f"{name}.txt").write_text(lines, "utf-8")
    return root


def bag(term: str) -> NDArray[np.float64]:
    return np.array([TABLE[word] for word in term.split()], dtype=np.float32).astype(float)


@cache
def similarity(measure: str, first: str, second: str) -> float:
    """One pair by scipy, rounded so that what is equal is tied."""
    return round(pair_by_pair(measure, bag(first), bag(second)), 9)


def run(table: str, data: Path, rows: dict[str, str]) -> Reproduction:
    plan = plan_table(table, data, rows)
    kept = [cell for cell in plan.cells if cell.number.encoder in rows]
    return run_plan(replace(plan, cells=tuple(kept)), data)


def done(outcome: Reproduction) -> dict[tuple[str, str], Cell]:
    assert not outcome.failures
    return {(cell.number.encoder, cell.number.metric): cell for cell in outcome.cells if cell.ours is not None}


def encoders(data: Path) -> dict[str, str]:
    """Printed rows: word vectors under fuzzy Jaccard or another measure, GloVe under Pearson's r."""
    return {"MeSH intr": f"vectors:{data}/all.txt,name=all", "GloVe": f"vectors:{data}/fewer.txt,name=fewer"}


def word_rows(data: Path) -> list[tuple[str, str, float]]:
    lines = (data / "MayoSRS" / "MayoSRS.txt").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    return [(first, second, float(gold)) for first, second, gold in rows]


def known_to_both(terms: tuple[str, ...]) -> bool:
    return all(MISSING not in term.split() for term in terms)


def test_every_table_has_a_plan() -> None:
    assert {*WORD_TABLES, *SET_TABLES, *CATEGORY_TABLES} <= set(TABLES)
    assert [*WORD_TABLES[::5], *SET_TABLES[::8]] == ["medisim-4", "medisim-b.5", "medisim-5", "medisim-c.8"]


def test_the_page_on_terms_names_every_table_that_has_a_plan() -> None:
    page = (REPOSITORY / "docs/terms.md").read_text("utf-8").partition("## The paper's tables")[2]
    rows = [line.split("|")[1] for line in page.partition("Behind each number")[0].splitlines() if line.startswith("| ")][1:]
    named = [f"medisim-{table.strip().casefold()}" for row in rows for table in row.split(",")]
    assert sorted(named) == sorted([*WORD_TABLES, *SET_TABLES, *CATEGORY_TABLES])


def test_measures_are_the_papers() -> None:
    cells = plan_table("medisim-4").cells
    assert {cell.options["multiword"] for cell in cells} == {"complete"}
    measures = {cell.number.encoder: cell.options["measure"] for cell in cells}
    contextual = {"ELMoPubMed", "Flair", "SciBERT", "BERT", "ELMo", "GPT"}
    assert measures.pop("GloVe") == "avg_r"
    assert {row for row, measure in measures.items() if measure == "avg_tau"} == contextual
    assert {measure for row, measure in measures.items() if row not in contextual} == {"avg_cos"}
    assert {cell.options["measure"] for cell in plan_table("medisim-b.1").cells} == {"best"}
    assert {cell.options.get("raters") for cell in plan_table("medisim-b.1").cells} == {None, "mean", "coders", "physicians"}


def test_the_paper_swaps_two_measures() -> None:
    """A mean of one word, and a mean over one pair of words, are that word and that pair: printed counts must be equal."""
    counts: dict[tuple[str, str, str], NDArray[np.int_]] = {}
    for number in published_numbers():
        if number.table in ("medisim-b.2", "medisim-b.3", "medisim-b.4"):
            place = number.encoder, number.task, number.setting
            which = 0 if number.metric == "measures_outperformed" else 1
            counts.setdefault(place, np.zeros(2, dtype=int))[which] = round(number.value)
    cells = {key[:2] for key in counts if key[1] in ("UMNSRS-sim-mod", "UMNSRS-rel-mod", "Bio-SimLex", "Bio-SimVerb")}

    def apart(of_means: str, of_pairs: str) -> int:
        none = np.zeros(2, dtype=int)
        return sum(int(np.abs(counts.get((*c, of_means), none) - counts.get((*c, of_pairs), none)).sum()) for c in cells)

    assert len(cells) == 34
    assert apart("avg_r", "pair_r") + apart("avg_rho", "pair_rho") == 111
    assert apart("avg_r", "pair_rho") + apart("avg_rho", "pair_r") == 7
    assert apart("avg_cos", "pair_cos") + apart("avg_tau", "pair_tau") == 10
    remarks = {cell.number.encoder: cell.remark for cell in plan_table("medisim-4").cells}
    assert [row for row, remark in remarks.items() if "each other's" in remark] == ["GloVe"]


def test_table_4_on_the_pairs_that_all_rows_know(data: Path) -> None:
    outcome = run("medisim-4", data, encoders(data))
    rows = word_rows(data)
    kept = [row for row in rows if known_to_both(row[:2])]
    cells = done(outcome)
    for row, measure in (("MeSH intr", "avg_cos"), ("GloVe", "avg_r")):
        similarities = [similarity(measure, first, second) for first, second, _ in kept]
        rho = stats.spearmanr(similarities, [gold for *_, gold in kept])[0]
        cell = cells[row, "spearman"]
        assert cell.ours == pytest.approx(rho, abs=1e-9)
        assert cell.n == len(kept) < len(rows)
        assert cell.made == f"{measure}, {len(kept)} of {len(rows)} pairs"
    shown = render_reproduction(outcome)
    assert "ours on those that all rows run here know" in shown
    assert "avg_r, " in shown


def test_table_b_1_has_the_best_measure_of_each_row(data: Path, tmp_path: Path) -> None:
    outcome = run("medisim-b.1", data, encoders(data))
    kept = [row for row in word_rows(data) if known_to_both(row[:2])]
    gold = [score for *_, score in kept]
    found = {measure: stats.spearmanr([similarity(measure, a, b) for a, b, _ in kept], gold)[0] for measure in MEASURES}
    best = max(found, key=lambda measure: found[measure])
    cell = done(outcome)["GloVe", "spearman_best_metric"]
    assert cell.ours == pytest.approx(found[best], abs=1e-9)
    assert cell.made.startswith(f"{best}, ")
    arguments = ["-d", str(data), "-o", str(tmp_path / "results"), "--row", "GloVe", "-t", "MayoSRS", "--quiet"]
    shown = CliRunner().invoke(main, ["reproduce", "medisim-b.1", *arguments, "-e", f"GloVe={encoders(data)['GloVe']}"])
    assert shown.exit_code == 0, shown.output
    assert f"{found[best]:.3f}" in shown.output


@pytest.mark.parametrize(("table", "strategy"), [("medisim-5", "levenshtein"), ("medisim-c.1", "random"),
                                                 ("medisim-c.2", "levenshtein"), ("medisim-c.3", "random")])  # fmt: skip
def test_term_sets_are_scored_as_terms_evaluate_does(data: Path, table: str, strategy: str) -> None:
    outcome = run(table, data, {**encoders(data), "BERT": "lexical,dimension=16"})
    lines = (data / "terms" / SetName("same_as", "hard", strategy).file).read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    kept = [(first, second, label == "1") for first, second, label in rows if known_to_both((first, second))]
    similar = np.array([label for *_, label in kept])
    values = np.array([similarity("fuzzy_jaccard", first, second) for first, second, _ in kept])
    if table in ("medisim-5", "medisim-c.1"):
        metric = "accuracy"
        expected = 100 * max(float(np.mean((values >= cut) == similar)) for cut in (*values, np.inf))
    else:
        metric = "auc"
        expected = float(roc_auc_score(similar, values))
    cells = done(outcome)
    assert cells["GloVe", metric].ours == pytest.approx(expected)
    assert cells["GloVe", metric].made == f"fuzzy_jaccard, {len(kept)} of {len(rows)} pairs"
    assert cells["BERT", metric].made.startswith("avg_tau, ")
    assert "ours built from an unnamed source" in cells["BERT", metric].remark
    absent = [cell for cell in outcome.cells if cell.ours is None]
    assert len(absent) == 27
    assert all("terms build" in cell.missing[0] for cell in absent)


def measure_of(cell: Cell) -> str:
    printed = cell.number.setting.rpartition(", ")[2]
    return {"fJ": "fuzzy_jaccard", "mJ": "max_jaccard"}.get(printed, printed)


def check_counts(outcome: Reproduction, better: dict[str, int], worse: dict[str, int], n: int) -> None:
    assert not outcome.failures
    assert {cell.metric for cell in outcome.cells} == {"better", "worse"}
    assert sum(better.values()) > 0
    for cell in outcome.cells:
        assert cell.ours == (better if cell.metric == "better" else worse)[measure_of(cell)], cell.number
        assert (cell.made, cell.n, cell.within) == (f"{n} of {n} pairs", n, None)
        assert "ours on those that all rows run here know" in cell.remark


def test_measures_of_one_row_are_counted_on_word_sets(data: Path) -> None:
    """Table B.4: the BCa interval of each difference, by scipy, excludes 0 at 0.05 / 45 or does not."""
    plan = plan_table("medisim-b.4", data, {"Fastt Wiki": encoders(data)["MeSH intr"]})
    cells = [cell for cell in plan.cells if cell.number.encoder == "Fastt Wiki" and cell.task == "MayoSRS"]
    outcome = run_plan(replace(plan, cells=tuple(cells)), data)
    rows = word_rows(data)
    gold = np.array([score for *_, score in rows])
    values = [np.array([similarity(measure, a, b) for a, b, _ in rows]) for measure in MEASURES]

    def differences(*columns: Any, axis: int = -1) -> Any:
        *ranks, golden = (stats.zscore(stats.rankdata(column, axis=axis), axis=axis) for column in columns)
        correlations = [np.mean(each * golden, axis=axis) for each in ranks]
        return np.array([first - second for first, second in combinations(correlations, 2)])

    drawn = stats.bootstrap(
        (*values, gold), differences, n_resamples=10_000, paired=True, vectorized=True, method="BCa",
        confidence_level=1 - 0.05 / 45, rng=np.random.default_rng(1111),
    )  # fmt: skip
    better, worse = dict.fromkeys(MEASURES, 0), dict.fromkeys(MEASURES, 0)
    for (one, two), low, high in zip(combinations(MEASURES, 2), *np.array(drawn.confidence_interval), strict=True):
        if low > 0 or high < 0:
            winner, loser = (one, two) if low > 0 else (two, one)
            better[winner] += 1
            worse[loser] += 1
    check_counts(outcome, better, worse, len(rows))


def test_measures_of_one_row_are_counted_on_term_sets(data: Path) -> None:
    """Table C.4: McNemar's test by scipy, exact or by chi-square, 45 tests."""
    plan = plan_table("medisim-c.4", data, {"BioNLP PM": encoders(data)["MeSH intr"]})
    kept = [cell for cell in plan.cells if cell.number.encoder == "BioNLP PM" and cell.task == "terms-same_as-hard-levenshtein"]
    outcome = run_plan(replace(plan, cells=tuple(kept)), data)
    lines = (data / "terms" / SetName("same_as", "hard", "levenshtein").file).read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    similar = np.array([label == "1" for *_, label in rows])
    right = {}
    for measure in MEASURES:
        values = np.array([similarity(measure, first, second) for first, second, _ in rows])
        cuts = [np.inf, *sorted(set(values), reverse=True)]
        best = max(cuts, key=lambda cut: np.mean((values >= cut) == similar))
        right[measure] = (values >= best) == similar
    better, worse = dict.fromkeys(MEASURES, 0), dict.fromkeys(MEASURES, 0)
    for one, two in combinations(MEASURES, 2):
        only = [int(np.sum(right[a] & ~right[b])) for a, b in ((one, two), (two, one))]
        if sum(only) < 25:
            p = stats.binomtest(only[0], sum(only)).pvalue if sum(only) else 1.0
        else:
            p = stats.chi2.sf((abs(only[0] - only[1]) - 1) ** 2 / sum(only), 1)
        if 45 * p < 0.05:
            winner, loser = (one, two) if only[0] > only[1] else (two, one)
            better[winner] += 1
            worse[loser] += 1
    check_counts(outcome, better, worse, len(rows))


@pytest.mark.parametrize(("table", "task"), [("medisim-b.4", "MayoSRS"), ("medisim-c.4", "terms-same_as-hard-levenshtein")])
def test_a_measure_that_an_encoder_does_not_have_is_missing(data: Path, table: str, task: str) -> None:
    row = {"medisim-b.4": "Fastt Wiki", "medisim-c.4": "BioNLP PM"}[table]
    plan = plan_table(table, data, {row: "lexical,dimension=16"})
    kept = [cell for cell in plan.cells if cell.number.encoder == row and cell.task == task]
    for cell in run_plan(replace(plan, cells=tuple(kept)), data).cells:
        measure = measure_of(cell)
        reason = f"lexical,dimension=16 has no measure {measure}; it has avg_cos, avg_r, avg_rho, avg_tau"
        assert (cell.ours is None, cell.missing) == ((False, ()) if measure.startswith("avg_") else (True, (reason,)))


def overlap(measure: str, known: Callable[[str], bool]) -> float:
    near, close, distant = (list(filter(known, names)) for names in NAMES)
    wrong = [similarity(measure, i, j) <= similarity(measure, i, k) for i, j, k in product(near, close, distant)]
    return 100 * float(np.mean(wrong))


def test_tables_6_and_d_1_under_every_measure(data: Path) -> None:
    outcome = run("medisim-d.1", data, {"MeSH intr": encoders(data)["MeSH intr"], "AUEB200": "lexical,dimension=16"})
    cells = done(run("medisim-6", data, {"MeSH intr": encoders(data)["GloVe"], "BERT": "lexical,dimension=16"}))
    found = {measure: overlap(measure, lambda name: known_to_both((name,))) for measure in MEASURES}
    assert cells["MeSH intr", "relative_overlap_best"].ours == pytest.approx(min(found.values()))
    assert cells["MeSH intr", "relative_overlap_worst"].ours == pytest.approx(max(found.values()))
    sizes = "5 x 4 x 4 terms"
    assert cells["MeSH intr", "relative_overlap_best"].made == f"{min(found, key=lambda name: found[name])}, {sizes}"
    assert cells["BERT", "relative_overlap_best"].made.startswith("avg_")
    everything = {measure: overlap(measure, lambda name: True) for measure in MEASURES}
    best = min(everything, key=lambda name: everything[name])
    means = done(outcome)
    near, close, distant = NAMES
    for printed, one, other in (("DP-TP", near, close), ("DP-Org", near, distant)):
        expected = np.mean([similarity(best, i, j) for i, j in product(one, other)])
        assert means["MeSH intr", f"mean_sim({printed})_best"].ours == pytest.approx(expected, abs=1e-6)
    for printed, own in (("TP-TP", close), ("DP-DP", near), ("Org-Org", distant)):
        expected = np.mean([similarity(best, i, j) for i, j in product(own, repeat=2) if i != j])
        assert means["MeSH intr", f"mean_sim({printed})_best"].ours == pytest.approx(expected, abs=1e-6)


def test_a_broken_encoder_and_a_missing_release_are_said(data: Path, tmp_path: Path) -> None:
    plan = plan_table("medisim-5", data, {"GloVe": encoders(data)["GloVe"], "BERT": "vectors:/no/such/file"})
    outcome = run_plan(plan, data)
    assert any("/no/such/file" in failure for failure in outcome.failures)
    assert sum(cell.ours is not None for cell in outcome.cells) == 1
    outcome = run_plan(plan_table("medisim-6", data, {"GPT": "lexical"}), tmp_path)
    assert (outcome.synthetic, any(cell.ours for cell in outcome.cells)) == (False, False)
    assert any(failure.startswith("categories: ") for failure in outcome.failures)
    assert "SNOMED CT licence" in plan_table("medisim-6", tmp_path, {"GPT": "lexical"}).cells[-1].missing[0]


def test_encoders_of_one_name_go_by_their_options_and_what_they_cannot_do_is_said(data: Path, tmp_path: Path) -> None:
    rows = {"MeSH intr": f"vectors:{data}/all.txt,name=same", "GloVe": f"vectors:{data}/fewer.txt,name=same"}
    shared = done(run("medisim-5", data, rows))
    assert {encoder for encoder, _ in shared} == set(rows)
    # Each of these two knows pairs, but none that the other knows.
    names = [name for category in NAMES for name in category]
    for row, known in zip(rows, (names[:4], names[-4:]), strict=True):
        words = {word for name in known for word in name.split()}
        file = tmp_path / f"{row.partition(' ')[0]}.txt"
        file.write_text("".join(f"{word} {' '.join(map(str, TABLE[word]))}\n" for word in sorted(words)), "utf-8")
        rows[row] = f"vectors:{file},name={row.partition(' ')[0]}"
    for table, what in (("medisim-4", "MayoSRS: MayoSRS: 0 pair(s) known to all 2"), ("medisim-5", "terms-same_as-hard-leven")):
        outcome = run(table, data, rows)
        assert not any(cell.ours for cell in outcome.cells)
        assert any(failure.startswith(what) for failure in outcome.failures), outcome.failures
    outcome = run("medisim-6", data, {"MeSH intr": rows["MeSH intr"]})
    assert [failure.startswith(rows["MeSH intr"]) for failure in outcome.failures] == [True]


@pytest.mark.parametrize("table", ["medisim-5", "medisim-6"])
def test_a_table_is_synthetic_if_anything_was_scored_on_synthetic_terms(table: str, data: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(data, tmp_path / "data"))
    rows = [f"vectors:{root}/all.txt", "vectors:/no/such/file"]
    for marked in (False, True):
        if marked:
            (root / "SYNTHETIC.txt").write_text("invented")
        scored, broken = (run(table, root, {"BERT": row}) for row in rows)
        assert (scored.synthetic, bool(scored.failures)) == (marked, False)
        assert (broken.synthetic, bool(broken.failures)) == (False, True)
