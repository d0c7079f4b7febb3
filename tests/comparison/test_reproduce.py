"""Published tables as plans: what runs, what is missing and why, ours beside the printed numbers."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.comparison.published.differences import Cell, filled
from medsenteval.comparison.published.numbers import published_numbers, select_numbers
from medsenteval.comparison.reproduce import DERIVED, TABLES, _correlations, plan_table, run_plan
from medsenteval.contracts import Metric, Result
from medsenteval.datasets.locate import sample_root
from medsenteval.errors import SettingsError, UnknownNameError
from medsenteval.report.answer_tables import render_plan, render_reproduction
from medsenteval.running.result_store import ResultStore
from medsenteval.words.terms.sets import set_names
from tests.comparison.simulated import accuracy_result, correlation_result


@pytest.fixture(autouse=True)
def _no_weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEDSENTEVAL_MODELS", str(tmp_path / "models"))


@pytest.mark.parametrize("table", TABLES)
def test_every_cell_of_every_table_is_planned(table: str) -> None:
    plan = plan_table(table, sample_root())
    source = DERIVED.get(table, table)
    n_printed = 5 * 8 if table == "biosim-9" else len([n for n in select_numbers(table=source) if n.table == source])
    assert len(plan.cells) == n_printed
    names = {*registry.task_names(), *(f"terms-{name}" for name in set_names())}
    for cell in plan.cells:
        assert cell.task in names
        assert cell.specification, cell.number.encoder
    assert "Cells to run" in render_plan(plan)


def test_the_papers_protocol_and_options() -> None:
    assert plan_table("medsenteval-3").settings.probe == "senteval"
    biosim = {cell.number.task: cell for cell in plan_table("biosim-5").cells}
    assert (biosim["UMN-rel"].task, biosim["UMN-rel"].options) == ("UMNSRS-rel", {"multiword": "skip"})
    assert (biosim["AnatEM"].metric, biosim["AnatEM"].options) == ("f1", {"preset": "paper"})
    bmass = {cell.number.setting: cell for cell in plan_table("bmass-4").cells}
    assert bmass["All-Info"].options == {"setting": "all-info", "legacy_exclusion": "yes"}
    rows = {cell.number.encoder: cell.specification for cell in plan_table("bmass-4").cells}
    assert rows["GloVe"] == "glove-pubmed,rows=sum,case=lower,pooling=unit-mean"
    assert rows["SGNS"] == "bmass-sgns,pooling=unit-mean"
    assert (bmass["Single-Answer"].task, bmass["Single-Answer"].options["legacy_unanswerable"]) == ("BMASS", "yes")
    medisim = {cell.number.task: cell for cell in plan_table("medisim-4").cells}
    (mini,) = [name for name in medisim if name.startswith("MiniMayoSRS")]
    assert (medisim[mini].task, medisim[mini].options["raters"]) == ("MiniMayoSRS", "mean")


def test_weights_that_are_absent_are_named_with_the_way_to_get_them() -> None:
    (reason,) = {
        reason
        for cell in plan_table("medsenteval-3").cells
        for reason in cell.missing
        if reason.startswith("weights of glove-840b:")
    }
    assert "glove.840B.300d.zip" in reason


@pytest.mark.slow
def test_a_stand_in_runs_on_the_sample(tmp_path: Path) -> None:
    plan = plan_table("medsenteval-3", None, {"GloVe_840B": "lexical,dimension=64"}, probe="exact", folds=2)
    plan = replace(plan, cells=tuple(cell for cell in plan.cells if cell.number.encoder == "GloVe_840B"))
    outcome = run_plan(plan, None, store=ResultStore(tmp_path / "results"))
    done = {(cell.number.task, cell.number.metric): cell for cell in outcome.cells if cell.ours is not None}
    assert len(done) == 14
    assert outcome.synthetic
    cell = done["RQE", "acc"]
    assert cell.ours is not None
    assert cell.difference == pytest.approx(cell.ours - 60.93)
    assert all(cell.tolerance is None and cell.within is None for cell in done.values())
    shown = render_reproduction(outcome)
    assert "No difference is judged: the data is synthetic." in shown
    assert not re.search("told apart|differs\\b|±", shown)
    assert "14 of 14 cells have a number of ours" in shown
    assert "lexical,dimension=64 stands in for GloVe_840B" in shown
    assert "SYNTHETIC" in shown


def judged(value: float, low: float, high: float, **changes: Any) -> Cell:
    (number,) = [n for n in select_numbers(table="medsenteval-3", task="RQE", encoder="GloVe_840B") if n.metric == "acc"]
    result = accuracy_result("RQE", "e", [0, 1], [0, 1])
    metric = Metric("acc", value, low, high, 50.0, "percent", 302)
    return filled(Cell(number, "RQE", "acc"), replace(result, metrics=(metric,), **changes))


def test_the_allowance_is_shown_and_agreement_is_not_claimed() -> None:
    near, far = judged(58.0, 52.4, 63.6), judged(50.0, 44.4, 55.6)
    assert near.number.value == 60.93
    assert near.tolerance == far.tolerance == pytest.approx(5.6 + 0.005)
    assert (near.within, far.within) == (True, False)
    plan = plan_table("medsenteval-3")
    shown = render_reproduction(replace(plan, cells=(near, far)))
    assert "±5.61  cannot be told apart with 302 items" in shown
    assert "±5.61  differs" in shown
    assert "within" not in shown
    assert "SYNTHETIC" not in shown
    assert "1 of 2 differences cannot be told from none with so few items, which does not make them equal." in shown
    assert "Allowance: half our 95 % interval, and the rounding." in shown
    assert judged(66.54, 60.94, 72.14).within is False
    assert judged(66.53, 60.93, 72.13).within is True
    unknown = judged(58.0, 52.4, 63.6, coverage={"tokens": 0.4})
    assert "Differs, GloVe_840B RQE: the encoder knows less than half" in render_reproduction(replace(plan, cells=(unknown,)))


def test_ours_is_put_into_the_unit_of_the_printed_number() -> None:
    number = next(each for each in select_numbers(table="bmass-4") if each.metric == "Acc_R" and each.printed == "0.08")
    metric = Metric("acc", 40.0, 30.0, 56.0, 5.0, "percent", 606)
    result = replace(accuracy_result("BMASS", "e", [0, 1], [0, 1]), metrics=(metric,))
    cell = filled(Cell(number, "BMASS", "acc"), result)
    assert (cell.ours, cell.n) == (0.4, 606)
    assert cell.tolerance == pytest.approx(0.13 + 0.005)
    # A number that was printed in other units: its rounding is put into ours.
    halved = filled(Cell(replace(number, value=0.04), "BMASS", "acc"), result)
    assert halved.tolerance == pytest.approx(0.13 + 0.0025)
    assert filled(Cell(replace(number, printed="0", value=0.0), "BMASS", "acc"), result).tolerance == pytest.approx(0.13 + 0.5)


@pytest.mark.parametrize("n_tasks", [4, 5])
def test_a_remark_names_each_place_once_and_four_of_many(n_tasks: int) -> None:
    (number,) = [n for n in select_numbers(table="medsenteval-3", task="RQE", encoder="GloVe_840B") if n.metric == "acc"]
    places = [f"task-{i}" for i in range(n_tasks)]
    cells = [Cell(replace(number, task=task), "RQE", "acc", remark="so", ours=1.0) for task in places for _ in range(2)]
    shown = render_reproduction(replace(plan_table("medsenteval-3"), cells=tuple(cells)))
    rest = ", ..." if n_tasks > 4 else ""
    assert f"Differs, GloVe_840B task-0, GloVe_840B task-1, GloVe_840B task-2, GloVe_840B task-3{rest}: so." in shown


def test_one_bad_encoder_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    stand_ins = {"GloVe_840B": "lexical", "BioBERT": "vectors:/no/such/file"}
    plan = plan_table("medsenteval-3", None, stand_ins)
    small = [cell for cell in plan.cells if cell.task == "BIOSSES"]
    kept = [cell for cell in small if cell.number.encoder in stand_ins]
    outcome = run_plan(replace(plan, cells=tuple(kept)), None)
    assert any("/no/such/file" in failure for failure in outcome.failures)
    assert [cell.number.encoder for cell in outcome.cells if cell.ours is not None] == ["GloVe_840B", "GloVe_840B"]


def test_correlations_between_intrinsic_and_extrinsic_columns_are_recomputed() -> None:
    """From the printed Table 5 the printed Table 6 follows, to its rounding; likewise 8 from 7."""
    for table, source in DERIVED.items():
        if table == "biosim-9":
            continue  # its scores were not printed
        cells = [Cell(n, n.task, n.metric, ours=n.value) for n in select_numbers(table=source) if n.table == source]
        derived = _correlations(table, cells)
        assert len(derived) == 20
        for cell in derived:
            assert cell.ours == pytest.approx(cell.number.value, abs=0.0151), cell.number
        few = _correlations(table, cells[:9])
        assert all("needs three models" in cell.missing[0] for cell in few)
        for n_models in (2, 3):
            models = list(dict.fromkeys(cell.number.encoder for cell in cells))[:n_models]
            some = _correlations(table, [cell for cell in cells if cell.number.encoder in models])
            assert {cell.ours is not None for cell in some} == {n_models == 3}
            assert {cell.remark for cell in some} == {"over 3 models" if n_models == 3 else ""}


def test_table_9_has_recipes_and_tasks_though_its_scores_were_not_printed() -> None:
    plan = plan_table("biosim-9", sample_root())
    models = list(dict.fromkeys(cell.number.encoder for cell in plan.cells))
    assert models == ["Paragram", "Paragram+CF", "Symmetric", "CBOW-general", "Dep-general"]
    corpora = {"AnatEM", "BC2GM", "BC4CHEMD", "JNLPBA"}
    assert {cell.task for cell in plan.cells} == {"SimVerb-3500", "SimLex-999", "Bio-SimVerb", "Bio-SimLex", *corpora}
    assert {cell.task for cell in plan.cells if cell.metric == "f1" and cell.options == {"preset": "paper"}} == corpora
    scores = {"SimVerb": [1.0, 2, 3, 4, 6], "BC2GM": [50.0, 40, 45, 30, 35]}
    done = [
        replace(cell, ours=scores[cell.number.task][models.index(cell.number.encoder)])
        for cell in plan.cells
        if cell.number.task in scores
    ]
    derived = {(cell.number.encoder, cell.number.task): cell for cell in _correlations("biosim-9", done)}
    assert len(derived) == 16
    cell = derived.pop(("SimVerb", "BC2GM"))
    assert cell.ours == pytest.approx(stats.pearsonr(*scores.values())[0])
    assert (cell.number.printed, cell.remark) == ("-0.09", "over 5 models")
    assert all("needs three models" in other.missing[0] for other in derived.values())


def test_weights_put_in_place_come_before_those_that_are_fetched(tmp_path: Path) -> None:
    def used() -> set[str]:
        return {cell.specification for cell in plan_table("medsenteval-3").cells if cell.number.encoder == "BioBERT"}

    assert used() == {"biobert"}
    (tmp_path / "models" / "biobert-v1.0" / "model").mkdir(parents=True)
    assert used() == {"biobert-v1.0"}


def test_the_unigram_subset_runs(tmp_path: Path) -> None:
    """BMASS's Table 3 on the sample: words among words, words among phrases, phrases."""
    folder = tmp_path / "data" / "BMASS"
    shutil.copytree(sample_root() / "BMASS", folder)
    kept, relation = [], ""
    for line in (folder / "BMASS_all_info.txt").read_text("utf-8").splitlines():
        relation = line if line.startswith("#") else relation
        terms = [part.partition('"')[2] for part in line.replace(",", "\t").split("\t")]
        if line and "has_tradename" in relation and not any(" " in term for term in terms):
            kept.append(line)
    (folder / "BMASS_unigrams_all_info.txt").write_text("\n".join(kept) + "\n", "utf-8")
    words = sorted(
        {word for line in (folder / "PubMed_frequent_terms.txt").read_text("utf-8").split("\n") for word in line.split()}
    )
    rows = np.random.default_rng(4).normal(size=(len(words), 6))
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, rows, strict=True)), "utf-8")
    specification = f"vectors:{vectors},pooling=unit-mean,tokenizer=whitespace"
    plan = plan_table("bmass-3", tmp_path / "data", {"CBOW": specification}, allow_incomplete=True)
    cells = tuple(cell for cell in plan.cells if cell.number.encoder == "CBOW" and cell.number.task.startswith("L3"))
    outcome = run_plan(replace(plan, cells=cells), tmp_path / "data")
    ours = {cell.number.setting: cell.ours for cell in outcome.cells}
    assert not outcome.failures
    table = dict(zip(words, rows / np.linalg.norm(rows, axis=1, keepdims=True), strict=True))
    for setting, candidates in (("Uni", words), ("Uni_M", None), ("MWE", None)):
        name = "BMASS_all_info.txt" if setting == "MWE" else "BMASS_unigrams_all_info.txt"
        assert ours[setting] == pytest.approx(slow_map(folder, name, table, candidates), abs=1e-6), setting


def slow_map(folder: Path, name: str, table: dict[str, Any], candidates: list[str] | None) -> float:
    """MAP of 3CosAdd on has_tradename under All-Info, a question and a candidate at a time."""

    def vector(term: str) -> Any:
        found = [table[word] for word in term.split() if word in table]
        return np.mean(found, axis=0) if found else None

    if candidates is None:
        candidates = [line for line in (folder / "PubMed_frequent_terms.txt").read_text("utf-8").splitlines() if line]
    known = {term: found for term in candidates if (found := vector(term)) is not None}
    precisions, relation = [], ""
    for line in (folder / name).read_text("utf-8").splitlines():
        relation = line if line.startswith("#") else relation
        if not line or line.startswith("#") or "has_tradename" not in relation:
            continue
        a, b, c, d = (re.findall(r'C9\d+:"(.*?)"(?=,C9|$)', field) for field in line.split("\t"))
        objects = [found for term in b if (found := vector(term)) is not None]
        if vector(a[0]) is None or vector(c[0]) is None or not objects or not set(d) & known.keys():
            continue
        aim = np.mean(objects, axis=0) - vector(a[0]) + vector(c[0])
        ranked = sorted(known, key=lambda term: -float(known[term] @ aim / np.linalg.norm(known[term])))
        right = sorted(ranked.index(term) + 1 for term in set(d) & known.keys())
        precisions.append(np.mean([(place + 1) / rank for place, rank in enumerate(right)]))
    return float(np.mean(precisions))


def result_with_relations() -> Result:
    base = correlation_result("BIOSSES", "e", [0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    return replace(base, senteval={"relations": {"RN: form_of": {"map": 0.3, "acc": 0.5}, "M2: noun-form-of": {"map": 0.9}}})


def test_relations_are_found_by_their_name() -> None:
    numbers = {n.task: n for n in select_numbers(table="bmass-5") if n.metric == "MAP" and n.setting == "All-Info"}
    cell = Cell(numbers["L1 form-of"], "BMASS", "map", relation="L1 form-of")
    assert filled(cell, result_with_relations()).ours == 0.3
    other = Cell(numbers["L6 has-free-acid-or-base-form"], "BMASS", "map", relation="L6 has-free-acid-or-base-form")
    assert "not in our results" in filled(other, result_with_relations()).missing[0]
    assert "has no metric map" in filled(Cell(numbers["L1 form-of"], "BMASS", "map"), result_with_relations()).missing[0]


def test_the_page_has_a_row_for_every_table_of_the_papers() -> None:
    """docs/reproducing.md: every table of the five papers once, every plan, and nothing that does not exist."""
    sections = {
        "MedSentEval": ("medsenteval", [str(i) for i in range(1, 5)]),
        "Bio-SimVerb": ("biosim", [str(i) for i in range(1, 12)]),
        "BMASS": ("bmass", [str(i) for i in range(1, 6)]),
        "medisim (": ("medisim", [*"123456", "A.1", "A.2", *(f"B.{i}" for i in range(1, 6)),
                                  *(f"C.{i}" for i in range(1, 9)), "D.1"]),
        "medisim, AAAI": ("medisim-aaai", [*"123456"]),
    }  # fmt: skip
    page = Path(__file__).parents[2].joinpath("docs", "reproducing.md").read_text("utf-8")
    parts = re.split(r"^###? ", page, flags=re.M)
    states = {"runs", "licence", "computed", "trained anew", "not offered", "no result"}
    listed = set()
    for start, (paper, tables) in sections.items():
        (part,) = [part for part in parts if part.startswith(start)]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")][2:]
        assert [row[0] for row in rows] == tables
        assert {row[2] for row in rows} <= states
        listed |= {f"{paper}-{table.lower()}" for table in tables}
        for row in rows:
            plan = f"{paper}-{row[0].lower()}"
            assert (row[3] == f"`medsenteval reproduce {plan}`") == (plan in TABLES), plan
    printed = {n.table for n in published_numbers() if n.table.split("-")[0] in ("medsenteval", "biosim", "bmass", "medisim")}
    assert printed <= listed
    assert len(listed) == 48
    assert "48 tables" in page


def test_wrong_names() -> None:
    with pytest.raises(UnknownNameError, match="there are medsenteval-3"):
        plan_table("medsenteval-9")
    with pytest.raises(SettingsError, match="has no row 'x'"):
        plan_table("medsenteval-3", None, {"x": "lexical"})


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["reproduce", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_the_command(tmp_path: Path) -> None:
    assert run().split() == list(TABLES)
    planned = run("medsenteval-3", "--dry-run", "--row", "BioBERT", "-t", "BIOSSES,RQE")
    assert "biobert" in planned
    assert "3 of 3" in planned or "Missing" in planned
    output = str(tmp_path / "results")
    shown = run("medsenteval-3", "-e", "GloVe_840B=lexical", "--row", "GloVe_840B", "-t", "BIOSSES", "-o", output, "--quiet")
    assert "2 of 2 cells have a number of ours" in shown
    assert "Published" in shown
    assert "expected ROW=SPECIFICATION" in run("medsenteval-3", "-e", "lexical", code=2)
    assert "has no row 'x'" in run("medsenteval-3", "--row", "x", code=2)
    assert "terms build --snomed" in run("medisim-5", "--row", "GloVe", code=3)
    assert "SNOMED CT licence" in run("medisim-6", "--row", "GPT", code=3)


@pytest.mark.realdata
@pytest.mark.slow
def test_real_words_in_place_of_a_published_row(realdata: Path, glove: Path) -> None:
    words = {"GloVe_840B": f"vectors:{glove},tokenizer=whitespace,case=exact"}
    plan = plan_table("medsenteval-3", realdata, words, limit=1_000)
    cells = tuple(cell for cell in plan.cells if cell.number.encoder == "GloVe_840B" and cell.task in ("RQE", "BIOSSES"))
    outcome = run_plan(replace(plan, cells=cells), realdata)
    ours = {(cell.task, cell.metric): cell for cell in outcome.cells}
    assert ours["RQE", "acc"].ours == pytest.approx(60.93, abs=8)
    assert ours["BIOSSES", "pearson"].ours is not None
