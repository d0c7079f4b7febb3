"""Published numbers: all of them load, and those called suspect are the ones that arithmetic cannot make right."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.comparison.published.numbers import TABLES, PublishedNumber, published_numbers, read_table, select_numbers
from medsenteval.datasets.locate import data_root, load_dataset
from medsenteval.errors import UnknownNameError
from medsenteval.settings import Settings


def table3() -> dict[tuple[str, str, str], PublishedNumber]:
    return {(n.encoder, n.task, n.metric): n for n in select_numbers(table="medsenteval-3")}


def possible_accuracy(printed: str, n: int) -> bool:
    value = float(printed)
    return any(f"{100 * k / n:.2f}" == f"{value:.2f}" for k in range(n + 1))


def possible_f1(f1: str, positive: int, negative: int, accuracy: str = "") -> bool:
    """Whether some confusion matrix gives this F1, with this accuracy if one is given."""
    for tp, tn in itertools.product(range(1, positive + 1), range(negative + 1)):
        if accuracy in ("", f"{100 * (tp + tn) / (positive + negative):.2f}"):
            below = 2 * tp + (positive - tp) + (negative - tn)
            if f"{200 * tp / below:.2f}" == f"{float(f1):.2f}":
                return True
    return False


def test_every_number_of_every_file_is_there() -> None:
    assert len(published_numbers()) == sum(len(read_table(name)) for name in TABLES)
    assert all(number.source and number.how for number in published_numbers())
    sentence = {number.task for number in select_numbers(table="medsenteval-3")}
    assert sentence == {task.name for task in registry.select_tasks("sentence")}
    general = {number.task for number in published_numbers() if number.table.startswith(("sbert", "wieting", "infersent"))}
    assert {registry.canonical_task_name(name) for name in general - {"AVG"}} == general - {"AVG"}


def test_units_are_this_toolkits() -> None:
    sbert = [n for n in select_numbers(table="sbert-1", task="STS12") if n.encoder.startswith("GloVe")]
    assert (sbert[0].metric, sbert[0].printed, sbert[0].unit) == ("spearman_pooled", "55.14", "fraction")
    assert sbert[0].value == pytest.approx(0.5514)
    assert {n.task for n in select_numbers(table="sbert-1") if n.task.startswith("STSB")} == {"STSBenchmarkCosine"}
    assert {n.protocol for n in select_numbers(table="sbert-5", task="MR")} == {"nested-10"}
    assert {n.protocol for n in select_numbers(table="wieting-1", task="MR")} == {"nested"}
    assert all(abs(n.value) <= 1 for n in published_numbers() if n.metric in ("pearson", "spearman", "spearman_pooled"))


def test_suspect_accuracies_are_those_that_no_count_of_items_gives() -> None:
    sizes = {"RQE": 302, "BioASQ": 130, "MedNLI": 1_422}
    impossible = {
        key
        for key, n in table3().items()
        if key[2] == "acc" and key[1] in sizes and not possible_accuracy(n.printed, sizes[key[1]])
    }
    flagged = {
        key for key, n in table3().items() if key[2] == "acc" and key[1] in sizes and n.suspect and n.encoder != "GloVe_PubMed"
    }
    assert impossible == flagged
    assert len(flagged) == 6


def test_suspect_f1_scores_are_those_that_no_confusion_matrix_gives() -> None:
    numbers = table3()
    for (encoder, task, metric), number in numbers.items():
        if task == "BioASQ" and metric == "f1" and encoder != "GloVe_PubMed":
            accuracy = numbers[encoder, task, "acc"]
            # An accuracy that is itself impossible says nothing about F1.
            given = "" if accuracy.suspect else accuracy.printed
            assert possible_f1(number.printed, 90, 40, given) != bool(number.suspect), encoder
    # Nested folds average F1, so only a bound holds for BioC: all errors among the negatives give the largest F1.
    errors = 1 - float(numbers["InferSent1", "BioC", "acc"].printed) / 100
    largest = 200 * 180 / (2 * 180 + errors * 259)
    assert largest < float(numbers["InferSent1", "BioC", "f1"].printed)
    assert numbers["InferSent1", "BioC", "f1"].suspect


def test_copies_between_columns_are_flagged() -> None:
    numbers = table3()
    copied = {
        encoder
        for encoder, task, _ in numbers
        if task == "PICO" and numbers[encoder, "PICO", "acc"].printed == numbers[encoder, "PubMed20K", "acc"].printed
    }
    flagged = {n.encoder for n in numbers.values() if "copy" in n.suspect}
    assert copied == flagged == {"GloVe_840B", "InferSent2"}


def test_misplaced_significance_marks_are_flagged() -> None:
    rows = [row for row in read_table("biosim_tables") if row["table"] == "biosim-8"]
    for number, row in zip(select_numbers(table="biosim-8"), rows, strict=True):
        # Printed with two digits, r stands for an interval; the mark is wrong if no value in it is significant.
        largest = abs(number.value) + 0.005
        t = largest * (7 / (1 - largest**2)) ** 0.5
        significant = 2 * stats.t.sf(t, 7) < 0.05
        assert bool(number.suspect) == (row["note"] == "marked significant" and not significant), number


def test_the_missing_exclusion_in_bmass_shows_in_table_5() -> None:
    values = {(n.task, n.setting, n.metric): n for n in select_numbers(table="bmass-5")}
    for (task, setting, metric), number in values.items():
        other = values[task, "Multi-Answer", metric]
        contradictory = setting == "All-Info" and number.printed != other.printed
        assert bool(number.suspect) == contradictory


def test_no_measure_is_above_the_best_of_all_measures() -> None:
    best = {(n.encoder, n.task): n.value for n in select_numbers(table="medisim-b.1") if n.table.casefold() == "medisim-b.1"}
    assert len(best) == 253
    for table, n_above in (("medisim-4", 1), ("medisim-aaai-4", 0)):
        numbers = [n for n in select_numbers(table=table) if n.table == table]
        above = [n for n in numbers if n.value > best[n.encoder, n.task]]
        assert [(n.encoder, n.task, n.printed) for n in above] == [("ELMo", "Bio-SimVerb", "0.54")][:n_above]
        assert [n for n in numbers if n.suspect] == above


def test_the_measures_of_table_4_are_those_of_section_5_1_not_of_its_caption() -> None:
    """Section 5.1 says avg_cos for word vectors, the caption fJ: Table B.1 names the best measure and its value."""
    rows = read_table("medisim_tables")
    fourth = {(row["encoder"], row["task"]): row["value"] for row in rows if row["table"] == "medisim-4"}
    agreeing = {"cos": [0, 0], "fJ": [0, 0]}
    for row in rows:
        printed_twice = (row["encoder"], row["task"]) in fourth
        if row["table"] == "medisim-b.1" and row["setting"] in ("avg_cos", "fJ") and printed_twice:
            counted = agreeing[row["setting"].removeprefix("avg_")]
            counted[0] += float(fourth[row["encoder"], row["task"]]) == float(row["value"])
            counted[1] += 1
    assert agreeing == {"cos": [13, 14], "fJ": [13, 19]}


def cells_of_measures() -> dict[tuple[str, str, str, str], dict[str, list[PublishedNumber]]]:
    """The cells of medisim's tables B.2 to B.5 and C.4 to C.8: (table, encoder, set, easy or hard) -> metric -> numbers."""
    cells: dict[tuple[str, str, str, str], dict[str, list[PublishedNumber]]] = {}
    for number in select_numbers(table="medisim"):
        if number.metric in ("measures_outperformed", "measures_that_outperform"):
            split = number.setting.rpartition(", ")[0].removesuffix(", levenshtein")
            cell = cells.setdefault((number.table, number.encoder, number.task, split), {})
            cell.setdefault(number.metric, []).append(number)
    return cells


def test_a_measure_that_wins_makes_another_lose() -> None:
    """In a cell, wins and losses are as many; where they are not, the cell is suspect, and no other cell is."""
    cells = cells_of_measures()
    tables = {*(f"medisim-b.{i}" for i in range(2, 6)), *(f"medisim-c.{i}" for i in range(4, 9))}
    assert {table for table, *_ in cells} == tables
    uneven = set()
    for (table, encoder, task, split), cell in cells.items():
        wins, losses = (sum(n.value for n in cell.get(f"measures_{way}", ())) for way in ("outperformed", "that_outperform"))
        flagged = {"must be as many" in n.suspect for numbers in cell.values() for n in numbers}
        assert flagged == {wins != losses}, (table, encoder, task, split, wins, losses)
        if wins != losses:
            uneven.add((encoder, task, int(wins), int(losses)))
            assert f"{wins:.0f} and {losses:.0f}" in next(iter(cell.values()))[0].suspect
    assert ("BioNLP PM", "SYN_SYN", 36, 37) in uneven
    assert len(uneven) == 4


def test_mimic_has_cells_of_its_twin_in_the_column_before() -> None:
    """On the pairs that all embeddings know, MIMIC and MIMIC M are the same vectors."""

    def printed(table: str, encoder: str, task: str, split: str) -> set[tuple[str, str, str]]:
        cell = cells_of_measures()[table, encoder, task, split]
        return {(n.metric, n.setting.rpartition(", ")[2], n.printed) for numbers in cell.values() for n in numbers}

    for ours, theirs in (
        (("replaced_by", "easy"), ("possibly_equivalent_to", "hard")),
        (("replaced_by", "hard"), ("replaced_by", "easy")),
    ):
        assert printed("medisim-c.6", "MIMIC", *ours) == printed("medisim-c.7", "MIMIC M", *theirs)
    flagged = {(n.encoder, n.task) for n in select_numbers(table="medisim-c.6", suspect=True)}
    assert flagged == {("MIMIC", "replaced_by")}


def test_averages_of_vocabulary_overlaps() -> None:
    numbers = [n for n in select_numbers(table="medisim-a.2") if n.table == "medisim-a.2"]
    cells = {(n.encoder, n.task.removeprefix("vocabulary of ")): n for n in numbers}
    names = list(dict.fromkeys(encoder for encoder, _ in cells))
    assert len(numbers) == 12 * 11 + 24
    medical = [name for name in names if name not in ("GloVe", "Fastt Wiki", "Fastt Crawl")]
    for name in names:
        for columns, printed in ((names, "all vocabularies"), (medical, "medical vocabularies")):
            values = [cells[name, column].value for column in columns if column != name]
            # Both the average and what it is made of are printed with two digits.
            right = abs(sum(values) / len(values) - cells[name, printed].value) < 0.0101
            assert right != bool(cells[name, printed].suspect), (name, printed)
            if not right:
                assert sum(values) / 8 == pytest.approx(cells[name, printed].value, abs=0.0101)


def test_table_4_contradicts_its_text() -> None:
    cosines = {n.encoder: n for n in select_numbers(table="medsenteval-4", task="FunctionWords")}
    assert len(cosines) == 6
    for encoder, number in cosines.items():
        assert bool(number.suspect) == (number.value < 0.93 and encoder != "GloVe")
    after = [n for n in select_numbers(table="medsenteval-4", task="Abbreviations") if n.metric == "correct_after"]
    assert {n.encoder for n in after if n.value} == {"FastText", "BERT", "InferSent"}


@pytest.mark.realdata
def test_sizes_and_scales_of_the_existing_sets_are_those_of_the_files(realdata: Path) -> None:
    """medisim's Table 1: pairs and the largest score; the scale of MayoSRS is the one that its file contradicts."""
    for number in select_numbers(table="medisim-1"):
        if number.table == "medisim-1" and number.metric in ("n_pairs", "scale_max"):
            dataset = load_dataset(registry.task(number.task), data_root(realdata), Settings())
            scores = np.concatenate([split.scores for split in dataset.splits.values() if split.scores is not None])
            found = len(scores) if number.metric == "n_pairs" else max(scores)
            fits = found == number.value if number.metric == "n_pairs" else found <= number.value
            assert fits != bool(number.suspect), (number.task, number.metric, found)


def test_selection_by_name() -> None:
    assert {n.table for n in select_numbers(table="medisim")} > {"medisim-4", "medisim-aaai-5", "medisim-c.1"}
    assert {n.encoder for n in select_numbers(task="sick-e", encoder="randlstm")} == {"RandLSTM"}
    assert select_numbers(task="FSN_SYN")
    with pytest.raises(UnknownNameError, match="no published table"):
        select_numbers(table="nothing")
    with pytest.raises(UnknownNameError, match="did you mean"):
        select_numbers(task="MedNLY")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["published", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command() -> None:
    listed = run()
    assert "medsenteval-3            252       28" in listed
    assert "Table C.1" in listed
    shown = run("-t", "BioC", "-e", "InferSent1", "--table", "medsenteval-3")
    assert "97.18" in shown
    assert "suspect: impossible" in shown
    assert "Differs from a run of this toolkit, RQE: one pair dropped" in run("-t", "RQE")
    assert run("-e", "no such encoder") == "No published number matches.\n"
    doubtful = select_numbers(suspect=True)
    assert len(doubtful) == 115
    assert all(number.suspect for number in doubtful)
