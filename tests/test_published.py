"""Published numbers: all of them load, and those called suspect are the ones that arithmetic cannot make right."""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter

import pytest
from click.testing import CliRunner
from scipy import stats

from medsenteval import registry
from medsenteval.cli import main
from medsenteval.errors import UnknownNameError
from medsenteval.published import TABLES, read_table
from medsenteval.published.numbers import PublishedNumber, published_numbers, select_numbers


def table3() -> dict[tuple[str, str, str], PublishedNumber]:
    return {(n.encoder, n.task, n.metric): n for n in select_numbers(table="medsenteval-3")}


def possible_accuracy(printed: str, n: int) -> bool:
    value = float(printed)
    return any(f"{100 * k / n:.2f}" == f"{value:.2f}" for k in range(n + 1))


def possible_f1(accuracy: str, f1: str, positive: int, negative: int) -> bool:
    for tp, tn in itertools.product(range(positive + 1), range(negative + 1)):
        if f"{100 * (tp + tn) / (positive + negative):.2f}" == accuracy:
            below = 2 * tp + (positive - tp) + (negative - tn)
            # Some cells are cut, not rounded: 81.308 is printed as 81.30.
            if below and abs(200 * tp / below - float(f1)) < 0.01:
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
    assert [(n.metric, n.printed, n.value, n.unit) for n in sbert[:1]] == [
        ("spearman_pooled", "55.14", pytest.approx(0.5514), "fraction")
    ]
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
        if task == "BioASQ" and metric == "f1" and not numbers[encoder, task, "acc"].suspect:
            accuracy = numbers[encoder, task, "acc"].printed
            assert possible_f1(accuracy, number.printed, 90, 40) != bool(number.suspect), encoder
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
    for number in select_numbers(table="biosim-8"):
        # Printed with two digits, r stands for an interval; the mark is wrong if no value in it is significant.
        largest = abs(number.value) + 0.005
        t = largest * (7 / (1 - largest**2)) ** 0.5
        significant = 2 * stats.t.sf(t, 7) < 0.05
        assert bool(number.suspect) == (number.note == "marked significant" and not significant), number


def test_the_missing_exclusion_in_bmass_shows_in_table_5() -> None:
    values = {(n.task, n.setting, n.metric): n for n in select_numbers(table="bmass-5")}
    for (task, setting, metric), number in values.items():
        other = values[task, "Multi-Answer", metric]
        contradictory = setting == "All-Info" and number.printed != other.printed
        assert bool(number.suspect) == contradictory


def test_a_truncated_digit_in_the_other_version() -> None:
    printed = Counter(len(n.printed.split(".")[1]) for n in select_numbers(table="medisim-aaai-4"))
    assert printed[1] == 1
    (number,) = select_numbers(table="medisim-aaai-4", suspect=True)
    assert number.printed == "0.5"


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
    assert "medsenteval-3            252       26" in listed
    assert "Table C.1" in listed
    shown = run("-t", "BioC", "-e", "InferSent1", "--table", "medsenteval-3")
    assert "97.18" in shown
    assert "suspect: impossible" in shown
    assert "Differs from a run of this toolkit, RQE: one pair dropped" in run("-t", "RQE")
    assert run("-e", "no such encoder") == "No published number matches.\n"
    rows = list(csv.DictReader(io.StringIO(run("--suspect", "--csv"))))
    assert len(rows) == 33
    assert all(row["suspect"] for row in rows)
