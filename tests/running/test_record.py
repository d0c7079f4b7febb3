"""The record that ships with the toolkit: every score follows from its items, it holds no texts, and comparisons use it."""

from __future__ import annotations

import operator
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import medsenteval
from benchmarks.reference_record import LEFT_OUT, TASKS
from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.comparison.bundle_verification import verify_bundle
from medsenteval.comparison.compare import compare_results, ranking
from medsenteval.contracts import Result
from medsenteval.report.comparison_table import TableOptions, render_comparison
from medsenteval.running.job_identity import comparability
from medsenteval.running.record import RECORD, differences_to_the_record, reference_results
from medsenteval.running.result_store import ResultStore, ResultWarning, load_results
from medsenteval.running.results import Results
from medsenteval.settings import Settings
from medsenteval.statistics.tests_over_tasks import FriedmanOutcome
from tests.conftest import REPOSITORY

#: Cosines of vectors that another processor computed, and their correlations.
TOLERANCE = 1e-5
#: The share of a trained classifier's answers that rounding may change.
CHANGED = 0.01


@pytest.mark.slow
def test_every_score_of_the_record_is_computed_again_from_its_items() -> None:
    found, beyond = verify_bundle(RECORD)
    assert beyond == []
    assert RECORD.stat().st_size < 3_000_000
    assert {result.encoder for result in found} == ENCODERS
    assert not any(result.synthetic for result in found)


def test_the_page_on_sharing_says_how_large_the_record_is() -> None:
    text = " ".join((REPOSITORY / "docs" / "sharing.md").read_text("utf-8").split())
    results = reference_results()
    scores = sum(len(result.metrics) for result in results)
    size = RECORD.stat().st_size / 1e6
    assert f"The record has {len(results)} results with {scores} scores of five encoders on real data, in {size:.1f} MB" in text
    tasks = {result.task for result in results}
    assert f"{len(tasks)} tasks on real data" in (REPOSITORY / "CHANGELOG.md").read_text("utf-8")


ENCODERS = {"lexical", "GloVe-6B-100d", "word2vec-biomedical", "USE-Lite", "all-MiniLM-L6-v2"}


def test_the_record_holds_ids_and_answers_only() -> None:
    allowed = {"id", "gold", "predicted", "probability", "fold", "subset"}
    allowed |= {"concept", "answer", "rank", "names", "wording", "depth"}
    allowed |= {f"{name}_{run}" for name in ("predicted", "tp", "fp", "fn") for run in (1, 2, 3)}
    for result in reference_results():
        assert set(result.items) <= allowed | {metric.name for metric in result.metrics}, (result.task, list(result.items))


def test_the_record_has_what_the_command_that_makes_it_names() -> None:
    found = {(result.encoder, result.task) for result in reference_results()}
    named = {(encoder, task.name) for encoder, names in TASKS.items() for task in registry.select_tasks(names)}
    assert found == named
    assert set(TASKS) == ENCODERS
    assert set(LEFT_OUT) <= ENCODERS | {"all"}


def test_results_of_today_stand_beside_every_result_of_the_record() -> None:
    for result in reference_results():
        task = registry.task(result.task)
        parts = comparability(result).split("|")
        said = dict(part.split("=") for part in parts if part.count("=") == 1 and part.partition("=")[0].isidentifier())
        assert parts[0] == f"{task.name}@{task.version}"
        assert task.protocol_under(Settings()) in parts
        assert said.keys() - {"data", "roles"} <= task.options.keys()
        assert task.options.keys() - said.keys() <= {"measure", "legacy", "test"}  # named only where they are chosen
        assert all(said[name] == values[0] for name, values in task.options.items() if name in said)


def check_against_the_record(made: Results) -> None:
    """A second run, on another machine: the same items, cosines that differ by rounding, and hardly another answer."""
    stored = {(result.encoder, result.task): result for result in reference_results()}
    for result in made.values():
        before = stored[result.encoder, result.task]
        assert (comparability(result), result.encoder_identity) == (comparability(before), before.encoder_identity)
        assert list(result.items["id"]) == before.items["id"]
        if result.probe == "none":
            assert result.items["predicted"] == pytest.approx(before.items["predicted"], abs=TOLERANCE)
        else:
            changed = sum(map(operator.ne, result.items["predicted"], before.items["predicted"]))
            assert changed <= CHANGED * result.n_test
        for metric in result.metrics:
            tolerance = TOLERANCE if result.probe == "none" else 100 * CHANGED
            assert metric.value == pytest.approx(before.metric(metric.name).value, abs=tolerance)


@pytest.mark.realdata
def test_lexical_on_this_machine_gives_what_the_record_says(realdata: Path) -> None:
    check_against_the_record(medsenteval.evaluate("lexical", "BIOSSES,UMNSRS-sim,MayoSRS", realdata, cache=False))


@pytest.mark.realdata
@pytest.mark.slow
def test_trained_classifiers_on_this_machine_give_what_the_record_says(realdata: Path) -> None:
    data = realdata / "senteval" / "data"
    check_against_the_record(medsenteval.evaluate("lexical", "TREC,STSBenchmarkCosine", data, cache=False))


@pytest.mark.realdata
def test_glove_on_this_machine_gives_what_the_record_says(realdata: Path, glove: Path) -> None:
    encoder = f"vectors:{glove},name=GloVe-6B-100d"
    check_against_the_record(medsenteval.evaluate(encoder, "BIOSSES,Bio-SimLex,EHR-RelA", realdata, cache=False))


def test_the_tables_of_the_gallery_are_those_of_the_record() -> None:
    """A header names a task and its metric; the best of a column is bold, and a dash stands for what was not run."""
    scores = {(each.encoder, f"{each.task} {metric.name}"): metric for each in reference_results() for metric in each.metrics}
    lines = (REPOSITORY / "docs" / "gallery.md").read_text("utf-8").splitlines()
    header: list[str] = []
    checked = set()
    for line in lines:
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not cells or set(line) <= set("|-"):
            header = header if cells else []
        elif not header:
            header = cells
        else:
            for column, cell in zip(header[1:], cells[1:], strict=True):
                found = scores.get((cells[0], column))
                checked.add((cells[0], column))
                if found is None:
                    assert cell == "-", (cells[0], column)
                    continue
                best = max(metric.value for (_, name), metric in scores.items() if name == column)
                shown = f"{found.value:.1f}" if found.unit == "percent" else f"{found.value:.3f}"
                assert cell == (f"**{shown}**" if found.value == best else shown), (cells[0], column)
    assert {encoder for encoder, _ in checked} == ENCODERS
    assert len(checked) >= 75


MINILM, USE, GLOVE, WORD2VEC, LEXICAL = "all-MiniLM-L6-v2", "USE-Lite", "GloVe-6B-100d", "word2vec-biomedical", "lexical"
#: Whom an encoder is significantly better than, as the gallery says.
BETTER: dict[str, dict[str, set[str]]] = {
    "BIOSSES spearman": {MINILM: ENCODERS - {MINILM}, LEXICAL: {GLOVE, WORD2VEC}},
    "Bio-SimLex spearman": {MINILM: ENCODERS - {MINILM}, GLOVE: {USE, WORD2VEC, LEXICAL}},
    "Bio-SimVerb spearman": {MINILM: ENCODERS - {MINILM}, GLOVE: {WORD2VEC, LEXICAL}},
    "UMNSRS-sim spearman": {MINILM: {USE, WORD2VEC, LEXICAL}},
    "UMNSRS-rel spearman": {MINILM: {USE, WORD2VEC, LEXICAL}},
    "EHR-RelB spearman": {
        MINILM: ENCODERS - {MINILM},
        USE: {GLOVE, WORD2VEC, LEXICAL},
        LEXICAL: {GLOVE},
        WORD2VEC: {GLOVE},
    },
    "STSBenchmarkCosine spearman": {MINILM: ENCODERS - {MINILM}, USE: {GLOVE, WORD2VEC, LEXICAL}, LEXICAL: {GLOVE, WORD2VEC}},
    "HPO acc@1": {MINILM: ENCODERS - {MINILM}, USE: {GLOVE, WORD2VEC, LEXICAL}, LEXICAL: {GLOVE, WORD2VEC}},
    "RQE acc": {MINILM: ENCODERS - {MINILM}, USE: {GLOVE, WORD2VEC}},
    **{
        name: {USE: {GLOVE, WORD2VEC, LEXICAL}, LEXICAL: {GLOVE, WORD2VEC}}
        for name in (*(f"STS{year} pearson" for year in (12, 13, 14, 15, 16)), "SICKEntailment acc")
    },
    "TREC acc": {USE: {GLOVE, WORD2VEC, LEXICAL}},
    "CR acc": {USE: {GLOVE, WORD2VEC, LEXICAL}, MINILM: {GLOVE, WORD2VEC, LEXICAL}},
    "MRPC acc": {MINILM: set(), LEXICAL: {WORD2VEC}, GLOVE: {WORD2VEC}},
    "MPQA acc": {GLOVE: {USE, LEXICAL, WORD2VEC}},
    **{f"{task} acc": {USE: {GLOVE, WORD2VEC, LEXICAL}, GLOVE: {LEXICAL, WORD2VEC}} for task in ("MR", "SUBJ", "SST2", "SST5")},
    "NCBI-disease f1": {GLOVE: {LEXICAL, WORD2VEC}, MINILM: {LEXICAL, WORD2VEC}},
    **{f"{task} f1": {GLOVE: {WORD2VEC}} for task in ("AnatEM", "BC5CDR")},
    "BC2GM f1": {GLOVE: set(), WORD2VEC: set()},
}


@pytest.mark.slow
def test_the_paired_tests_say_what_the_gallery_says() -> None:
    tasks = {name.split()[0] for name in BETTER}
    compared = compare_results([each for each in reference_results() if each.task in tasks], resamples=2000)
    columns = {f"{column.task} {column.metric}": column for column in compared.columns}
    for name, better in BETTER.items():
        for first, worse in better.items():
            assert set(columns[name].beaten_by(first, 0.05)) == worse, (name, first)


def test_the_scores_say_what_the_gallery_says() -> None:
    score = {(each.encoder, each.task): each.metric(each.headline[0]).value for each in reference_results()}
    better = {(encoder, task) for (encoder, task), value in score.items() if value > score.get((MINILM, task), value)}
    higher = {(USE, "CR"), (USE, "SUBJ"), (USE, "SST5"), (LEXICAL, "MRPC"), (GLOVE, "MRPC"), (GLOVE, "NCBI-disease")}
    assert better == higher
    words = [task.name for task in registry.select_tasks("word")]
    assert [task for task in words if score[USE, task] > score[GLOVE, task]] == ["EHR-RelB"]
    assert max(score[LEXICAL, task] for task in ("Bio-SimLex", "Bio-SimVerb", "UMNSRS-sim", "UMNSRS-rel")) < 0.15
    known = next(each for each in reference_results() if (each.encoder, each.task) == (WORD2VEC, "Bio-SimVerb"))
    assert known.details["words_known"] < known.details["words"] / 2


def test_the_mean_ranks_are_those_of_the_gallery() -> None:
    tasks = {task.name for task in registry.select_tasks("BIOSSES,word")}
    compared = compare_results([each for each in reference_results() if each.task in tasks], resamples=200)
    found = ranking(compared)
    assert isinstance(found, FriedmanOutcome)
    assert (found.n_tasks, found.p_value < 1e-4) == (12, True)
    rank = dict(zip(compared.encoders, found.mean_ranks, strict=True))
    text = " ".join((REPOSITORY / "docs" / "gallery.md").read_text("utf-8").split())
    shown = {MINILM: "MiniLM", GLOVE: "GloVe", WORD2VEC: "word2vec", USE: "Universal Sentence Encoder Lite", LEXICAL: "lexical"}
    for encoder, name in shown.items():
        assert f"{rank[encoder]:.2f} for {name}" in text
    assert f"ranks that lie {found.critical_difference:.2f} or more apart" in text
    apart = {encoder for encoder in rank if rank[encoder] - rank[MINILM] > found.critical_difference}
    assert apart == ENCODERS - {MINILM, GLOVE}
    others = [rank[encoder] for encoder in ENCODERS - {MINILM}]
    assert max(others) - min(others) < found.critical_difference


@pytest.fixture
def third(tmp_path: Path) -> tuple[Path, Result]:
    """Results of an encoder that is not in the record, on the same items."""
    result = next(each for each in reference_results() if (each.task, each.encoder) == ("EHR-RelB", "lexical"))
    moved = [value * value for value in result.items["predicted"]]
    identity = "new-1"
    own = replace(
        result,
        encoder="new",
        encoder_identity=identity,
        signature=result.signature.replace(result.encoder_identity, identity),
        items={**result.items, "predicted": moved},
    )
    ResultStore(tmp_path / "results").save(own)
    return tmp_path / "results", own


def test_compare_and_report_set_a_new_encoder_beside_the_record(third: tuple[Path, Result], tmp_path: Path) -> None:
    folder, own = third
    assert {result.encoder for result in reference_results([own])} <= ENCODERS
    assert {result.task for result in reference_results([own])} == {"EHR-RelB"}
    runner = CliRunner()
    compared = runner.invoke(main, ["compare", str(folder), "--with", "reference", "--resamples", "200"])
    assert compared.exit_code == 0, compared.output
    for encoder in ("new", "lexical", "GloVe-6B-100d"):
        assert encoder in compared.output
    others = ", ".join(sorted(ENCODERS))
    assert f"Note: from the record that ships with the toolkit: {others}." in compared.output
    page = tmp_path / "page.html"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reported = runner.invoke(main, ["report", str(folder), "--with", "reference", "--resamples", "200", "-o", str(page)])
    assert reported.exit_code == 0, reported.output
    assert f"<bdi>from the record that ships with the toolkit: {others}</bdi>" in page.read_text("utf-8")


def test_the_record_can_be_named_like_a_folder() -> None:
    shown = CliRunner().invoke(main, ["compare", "reference", "-t", "EHR-RelA", "--resamples", "500"])
    assert shown.exit_code == 0, shown.output
    for encoder in ENCODERS:
        assert encoder in shown.output


def test_results_on_other_data_find_nothing_in_the_record(tmp_path: Path) -> None:
    medsenteval.evaluate("lexical", "BIOSSES", output=tmp_path / "results", cache=False)
    refused = CliRunner().invoke(main, ["compare", str(tmp_path / "results"), "--with", "reference"])
    assert refused.exit_code == 2
    assert "no result on the same data and under the same protocol; BIOSSES: synthetic=" in refused.output
    assert " here, data=665b2f1553dc there" in refused.output


def test_what_the_record_does_not_compare_with_is_said(third: tuple[Path, Result]) -> None:
    folder, own = third
    other = replace(own, seed=7, signature=own.signature.replace("|seed=1111", "|seed=7"))
    assert differences_to_the_record([own]) == []
    assert differences_to_the_record([own, other]) == ["EHR-RelB: seed=7 here, seed=1111 there"]
    unknown = replace(own, task="MedNLI", signature=own.signature.replace("EHR-RelB", "MedNLI"))
    assert differences_to_the_record([unknown]) == []
    ResultStore(folder).save(replace(other, encoder="other"))
    with pytest.warns(ResultWarning, match="not comparable with the record: EHR-RelB: seed=7 here, seed=1111 there"):
        load_results([str(folder)], folder, reference=True)


def test_only_results_that_are_given_leave_those_of_the_same_encoder_out() -> None:
    lexical = {each.task: each for each in reference_results() if each.encoder == "lexical"}
    glove = next(each for each in reference_results() if (each.task, each.encoder) == ("MayoSRS", "GloVe-6B-100d"))
    found = {(each.encoder, each.task) for each in reference_results([lexical["BIOSSES"], glove])}
    assert found == {(encoder, task) for encoder in ENCODERS for task in ("BIOSSES", "MayoSRS")} - {
        ("lexical", "BIOSSES"),
        ("GloVe-6B-100d", "MayoSRS"),
    }


def test_letters_of_the_text_table_stand_in_the_order_of_its_rows() -> None:
    """The encoders of a column may come in another order than those of the table."""
    first = [each for each in reference_results() if (each.task, each.encoder) == ("BIOSSES", "lexical")]
    column = [each for each in reference_results() if each.task == "STSBenchmarkCosine"]
    compared = compare_results([*first, *column], resamples=300)
    assert compared.encoders[0] == "lexical"
    table = render_comparison(compared, "text", TableOptions())
    (line,) = [line for line in table.splitlines() if "all-MiniLM-L6-v2 " in line and "*" in line]
    others = sorted(letter for name, letter in compared.letters().items() if name != "all-MiniLM-L6-v2")
    assert line.count(f"* {' '.join(others)}") == 2
