"""A user's own rows as a task: the same from every kind of file, equal to a task written by hand, private, and well checked."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import medsenteval
from medsenteval import Settings, own_task, registry
from medsenteval.comparison.compare import compare_results
from medsenteval.contracts import Dataset, Split, Task
from medsenteval.datasets.locate import load_dataset
from medsenteval.errors import DataError, DataMissingError, SettingsError, UnknownNameError
from medsenteval.report.privacy import access_of, texts_may_be_shown
from medsenteval.running.result_store import ResultStore
from medsenteval.running.suite_file import read_suite
from medsenteval.support.tables import BLANK, Table
from medsenteval.tasks.classification import evaluate_classification
from tests.conftest import CountingEncoder

Write = Callable[..., Path]
QUICK = Settings(folds=3, resamples=200)
SEVERITY = ("high", "low", "medium")


def _notes(n: int = 60) -> list[dict[str, Any]]:
    rng = random.Random(7)
    words = {"low": "calm well home", "medium": "pain cough fever", "high": "shock arrest icu"}
    return [
        {
            "note_id": 100 + i,
            "patient": f"P{i % 12}",
            "note": " ".join(rng.choices((words[label] + " patient with and").split(), k=9)) + f" n{i}",
            "severity": label,
            "grade": SEVERITY.index(label),
        }
        for i, label in enumerate(rng.choices(SEVERITY, k=n))
    ]


def _csv(rows: list[dict[str, Any]], delimiter: str = ",") -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _dataset(task: Task) -> Dataset:
    return load_dataset(task, Path("/nonexistent"), Settings(allow_incomplete=True))


def test_the_same_rows_have_one_hash_and_one_score_from_every_source_and_equal_a_task_by_hand(
    counting: CountingEncoder, tmp_path: Path
) -> None:
    import openpyxl
    import pandas as pd

    rows = _notes()
    frame = pd.DataFrame(rows)
    (tmp_path / "n.csv").write_text(_csv(rows))
    (tmp_path / "n.tsv").write_text(_csv(rows, "\t"))
    (tmp_path / "n.json").write_text(json.dumps(rows))
    (tmp_path / "n.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    frame.to_parquet(tmp_path / "n.parquet")
    frame.to_excel(tmp_path / "n.xlsx", index=False)
    assert openpyxl.load_workbook(tmp_path / "n.xlsx").active.max_row == 61
    sources: list[Any] = [*sorted(tmp_path.iterdir()), frame, rows, frame.to_dict("list"), frame.astype({"grade": float})]
    for label in ("severity", "grade"):
        tasks = [own_task(source, label=label, group="") for source in sources]
        assert len({_dataset(task).fingerprint for task in tasks}) == 1
        texts, labels = [row["note"] for row in rows], [str(row[label]) for row in rows]
        names = tuple(sorted(set(labels)))
        split = Split(tuple(map(str, range(60))), tuple(texts), labels=np.array([names.index(each) for each in labels]))
        dataset = Dataset("ByHand", {"all": split}, names)

        def read(folder: Path, options: object, dataset: Dataset = dataset) -> Dataset:
            return dataset

        by_hand = Task(
            name="ByHand", version="1", family="classification", protocol="nested", metrics=("acc",), folders=(),
            read=read, evaluate=evaluate_classification, citation="", licence="", access="", obtain="",
        )  # fmt: skip
        assert _dataset(tasks[0]).fingerprint == _dataset(by_hand).fingerprint
    own = medsenteval.evaluate(counting, tasks[0], settings=QUICK)[tasks[0].name]
    hand = medsenteval.evaluate(counting, [by_hand], settings=QUICK)["ByHand"]
    assert own.metric("acc") == hand.metric("acc")
    assert own.items["predicted"] == hand.items["predicted"]
    from_frame = medsenteval.evaluate(counting, tasks[-4], settings=QUICK)["table"]
    pair = medsenteval.evaluate(counting, (texts, labels), settings=QUICK)["table"]
    assert from_frame.metric("acc") == pair.metric("acc") == own.metric("acc")
    assert not own.synthetic


def test_name_hash_mapping_and_groups_are_in_the_signature_and_rows_of_a_group_stay_together(
    counting: CountingEncoder, write: Write
) -> None:
    folder = write({"notes.csv": _csv(_notes())})
    said: list[str] = []
    (task,) = registry.select_tasks(f"file:{folder}/notes.csv,label=severity")
    assert task.own_data.startswith("text <- note, label <- severity (3 labels: high ")
    assert task.own_data.endswith("group <- patient (12 groups), 60 rows, 0 rejected")
    suite = medsenteval.running.suite.Suite([counting], [task], QUICK, announce=said.append)
    (result,) = suite.run().results
    assert said[0].startswith("file:notes.csv: text <- note, label <- severity")
    assert "nested-3-grouped-by-patient" in said[0]
    assert result.protocol == "nested-3-grouped-by-patient"
    assert result.signature.startswith("file:notes.csv@1|group=patient|label=severity|text=note|nested-3-grouped-by-patient|")
    assert f"data={_dataset(task).fingerprint[:12]}" in result.signature
    patient_of = {f"notes.csv:{i + 2}": row["patient"] for i, row in enumerate(_notes())}
    folds: dict[str, set[int]] = {}
    for item, fold in zip(result.items["id"], result.items["fold"], strict=True):
        folds.setdefault(patient_of[item], set()).add(fold)
    assert all(len(each) == 1 for each in folds.values())


def test_no_text_is_in_results_and_none_in_the_report_unless_asked(
    counting: CountingEncoder, write: Write, tmp_path: Path
) -> None:
    from medsenteval.report.page_content import Page, PageOptions
    from medsenteval.report.sections.disagreement import item_texts

    rows = [{**row, "note": f"SECRET{i} {row['note']}"} for i, row in enumerate(_notes())]
    rows[5]["severity"] = ""
    twin = {**rows[7], "severity": next(label for label in SEVERITY if label != rows[7]["severity"])}
    folder = write(
        {
            "notes.csv": _csv([*rows, twin]),
            "terms.csv": "term1,term2,score\n" + "".join(f"SECRETa{i},SECRETb{i},{i}\n" for i in range(9)),
        }
    )
    store = tmp_path / "results"
    tasks = [own_task(folder / "notes.csv", label="severity"), own_task(folder / "terms.csv", oov="zero")]
    for name in ("one", "two"):
        medsenteval.evaluate(counting, tasks, settings=QUICK, output=store, name=name)
    stored = "".join(path.read_text() for path in store.rglob("*.json"))
    assert "SECRET" not in stored
    assert "notes.csv:7: column 'severity': empty" in stored
    results = ResultStore(store).results()
    page = Page(results, [], PageOptions(data=folder, resamples=200))
    assert "SECRET" not in repr(page)
    assert access_of("file:notes.csv") == "unknown"
    assert not texts_may_be_shown("file:notes.csv", include_restricted=False)
    notes = next(result for result in results if result.task == "file:notes.csv")
    texts = item_texts(notes, folder)
    assert isinstance(texts, dict)
    assert texts["notes.csv:2"][0].startswith("SECRET0 ")
    assert item_texts(notes, tmp_path) == "its texts are not in the data folder"
    assert compare_results(results).columns


@pytest.mark.parametrize(
    ("header", "kind", "mapping"),
    [
        ("text,label", "classification", {"text": "text", "label": "label"}),
        ("ID,Abstract,Class", "classification", {"text": "Abstract", "label": "Class", "id": "ID"}),
        ("sentence1,sentence2,label", "pair classification", {"text": "sentence1", "text2": "sentence2", "label": "label"}),
        (
            "premise,hypothesis,gold_label",
            "pair classification",
            {"text": "premise", "text2": "hypothesis", "label": "gold_label"},
        ),
        ("question1,question2,target", "pair classification", {"text": "question1", "text2": "question2", "label": "target"}),
        ("query,document,label", "pair classification", {"text": "query", "text2": "document", "label": "label"}),
        ("text_1,text_2,score", "similarity", {"text": "text_1", "text2": "text_2", "score": "score"}),
        (
            "Sentence 1,Sentence 2,similarity",
            "similarity",
            {"text": "Sentence 1", "text2": "Sentence 2", "score": "similarity"},
        ),
        ("term1,term2,score", "word similarity", {"text": "term1", "text2": "term2", "score": "score"}),
        ("sentence,patient id,target", "classification", {"text": "sentence", "label": "target", "group": "patient id"}),
    ],
)
def test_columns_are_inferred_from_their_names(header: str, kind: str, mapping: Mapping[str, str], write: Write) -> None:
    names = header.split(",")
    rows = [
        ",".join(str(i % 3) if name == names[-1] else f"w{i % 7}x{i if name == 'ID' else at}" for at, name in enumerate(names))
        for i in range(20)
    ]
    task = own_task(write({"a.csv": "\n".join([header, *rows])}) / "a.csv")
    options = {key: value for key, value in _dataset(task).options.items() if key not in ("oov", "multiword")}
    assert (task.family, options) == (kind, mapping)


@pytest.mark.parametrize(
    ("header", "options", "message"),
    [
        ("text,abstract,label", {}, "the text could be 'text' or 'abstract'; say which with text=COLUMN"),
        ("text,sentence1,sentence2,label", {}, "the text could be 'text' or 'sentence1' with 'sentence2'"),
        ("text,label,class", {}, "the label could be 'label', 'class'; say which with label=COLUMN"),
        ("sentence1,sentence2,label,score", {}, "'label', 'score' could both be what is asked"),
        ("text,score", {}, "needs pairs of texts: nothing here predicts a number from one text"),
        ("text,severity", {}, "to be the label or the score; say which with label=COLUMN. The header names 'text', 's"),
        ("body of the note,1", {}, "no column is known to be the text; .*is the first row a header"),
        ("text,label", {"label": "severity"}, "label=severity: no column has this name; there are 'text', 'label'"),
        ("text,label", {"text2": "label"}, "which column is the first text"),
        ("text,label", {"text": "label"}, "the column 'label' cannot be|no column is known"),
        ("text,label,patient,pmid", {}, "the group could be 'patient', 'pmid'"),
        ("text,label", {"colour": "x"}, "no option 'colour'; there are text, text2"),
        ("text,label", {"protocol": "loo"}, "protocol is 'loo'; it can be split, kfold, nested"),
        ("text,label", {"protocol": "kfold"}, "protocol=kfold needs train and test"),
        ("text,label", {"metric": "mcc"}, "metric is 'mcc'; classification has acc, f1"),
        ("text,label", {"metric": "f1"}, "say which with positive=LABEL"),
        ("text,label", {"positive": "9"}, "positive=9 is none of the labels"),
        ("text,label", {"name": "mednli"}, "this is the task MedNLI; choose another name"),
        ("text,label", {"name": "a|b"}, "a name has letters, digits"),
        ("text,label", {"oov": "zero"}, "oov= is no option of classification; it has none of its own$"),
        ("text,label", {"text": "text", "label": "text"}, "the column 'text' cannot be label and text at once; name another"),
        ("term1,term2,score", {"oov": "never"}, "oov is 'never'; it can be skip, zero$"),
        ("term1,term2,score", {"preset": "repo"}, "preset= is no option of word similarity; it has oov, multiword$"),
        ("term1,term2,score", {"protocol": "split"}, "protocol is 'split'; word similarity has only cosine$"),
        ("tokens,ner_tags,label", {}, "could both be what is asked; say tag=COLUMN to tag words"),
        ("token,text", {"token": "token"}, "no column is known to be the tag"),
    ],
)  # fmt: skip
def test_an_ambiguity_is_an_error_with_candidates(header: str, options: dict[str, str], message: str, write: Write) -> None:
    names = header.split(",")
    rows = [",".join(str(i % 3) if name in ("label", "class", "score") else f"v{i}" for name in names) for i in range(9)]
    with pytest.raises((DataError, SettingsError), match=message):
        own_task(write({"a.csv": "\n".join([header, *rows])}) / "a.csv", **options)


@pytest.mark.parametrize(
    ("options", "family", "mapping"),
    [
        ({"text": "note", "label": "label"}, "classification", {"text": "note", "label": "label"}),
        ({"label": "label", "text": "tag"}, "classification", {"text": "tag", "label": "label"}),
        ({"token": "token"}, "tagging", {"token": "token", "tag": "tag"}),
        ({"tag": "tag"}, "tagging", {"token": "token", "tag": "tag"}),
        ({"tag": "label"}, "tagging", {"token": "token", "tag": "label"}),
    ],
)
def test_what_the_user_names_decides_between_words_and_texts(
    options: dict[str, str], family: str, mapping: dict[str, str]
) -> None:
    rows = [
        {"token": f"w{i}", "tag": "B-X", "note": f"n{i}", "label": ("B-Y", "B-Z")[i % 2], "part": part}
        for i, part in enumerate(("train", "test") * 3)
    ]
    parts = {"split": "part"} if family == "tagging" else {}
    task = own_task(rows, **options, **parts)
    dataset = _dataset(task)
    assert (task.family, {role: dataset.options[role] for role in mapping}) == (family, mapping)
    assert not {"text", "label", "token", "tag"} - mapping.keys() & dataset.options.keys()
    with pytest.raises(DataError, match="'tag', 'label' could both be what is asked; say tag=COLUMN to tag words, or label="):
        own_task(rows)


@pytest.mark.parametrize(("n", "more"), [(20, ""), (21, " and 1 more"), (23, " and 3 more")])
def test_columns_are_listed_up_to_a_number_and_a_length(n: int, more: str) -> None:
    columns = [f"c{i}" for i in range(n - 2)]
    rows = [dict.fromkeys(["x" * 40, "y" * 41, *columns], "v")]
    shown = ", ".join(map(repr, ["x" * 40, "y" * 39 + "…", *columns][:20]))
    with pytest.raises(DataError) as error:
        own_task(rows)
    said = "say which with text=COLUMN. The header names"
    assert str(error.value) == f"table: no column is known to be the text; {said} {shown}{more}; is the first row a header?"


def _labelled(labels: list[Any], **columns: list[Any]) -> list[dict[str, Any]]:
    return [
        {"text": f"note {i}", "label": label, **{name: column[i] for name, column in columns.items()}}
        for i, label in enumerate(labels)
    ]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([1, 2.0, "2", "1.0", 10] * 2, ("1", "2", "10")),
        ([-150.0, "-150", 2.0**53 - 1, 2.0**53, -(2.0**53)] * 2,
         ("-9007199254740992.0", "-150", "9007199254740991", "9007199254740992.0")),
        (["2e2", 200, "-1.50", -1.5] * 2, ("-1.5", "200")),
        ([True, "FALSE", "true", False] * 2, ("false", "true")),
        (["007", "7", "007", "7"], ("007", "7")),
        (["1e400", "1e500", "1" * 5000, "1"] * 2, ("1", "1" * 5000, "1e400", "1e500")),
        (["a", " a", "b", "b  "], ("a", "b")),
        ([0.5, 1, 0.5, 1], ("0.5", "1")),
        (["NA", "x", "x", "NA"], ("NA", "x")),
    ],
)  # fmt: skip
def test_labels_are_the_same_whatever_they_were_written_as(labels: list[Any], names: tuple[str, ...]) -> None:
    task = own_task(_labelled(labels), label="label")
    assert task.labels == names
    if "NA" in names:
        assert any("2 row(s) have the label 'NA' in 'label'" in note for note in _dataset(task).notes)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (_labelled([0.5, 1.0, 0.25, 0.5]), "'label': numbers with fractions; is it a score"),
        (_labelled(["a"] * 4), "every row has the same label"),
        (_labelled(list("abcdefgh")), "8 different labels for 8 rows; is it an id or a text"),
        (_labelled([["a", "b"], ["a"], ["b"], ["c"]]), "a text has several labels"),
        (_labelled(["['a', 'b']", "['a']"] * 2), "a text has several labels"),
        (_labelled([None] * 4), r"not one row .*the first rejected: table:1: column 'label': empty"),
        (_labelled([0, 1] * 3, id=[1, 2, 3, 1, 5, 6]), "column 'id': the same id in row 1 and row 4.*write group=id and id="),
        (_labelled([0, 1] * 3, split=["train", "test", "held out", "", "", ""]), "row 3: column 'split': 'held out' is"),
        (_labelled([0, 1] * 3, split=["train", "dev"] * 3), "protocol=nested joins all"),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_what_they_are_called_are_refused(rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        own_task(rows)


def test_bad_rows_are_rejected_with_row_and_column_and_many_of_them_stop_the_run(
    counting: CountingEncoder, write: Write
) -> None:
    pairs = ["sentence1,sentence2,score", *(f"left {i},right {i},{i / 2}" for i in range(100))]
    pairs[3], pairs[5] = "only left,,1.5", 'a,b,"2,5"'
    folder = write({"p.csv": "\n".join(pairs)})
    task = own_task(folder / "p.csv")
    dataset = load_dataset(task, folder, QUICK)
    assert [str(row) for row in dataset.rejected] == [
        "p.csv:4: column 'sentence2': empty",
        "p.csv:6: column 'score': a decimal comma; write a point",
    ]
    assert len(dataset) == 98
    result = medsenteval.evaluate(counting, task, settings=QUICK)["file:p.csv"]
    assert result.n_test == 98
    assert task.own_data == "text <- sentence1, text2 <- sentence2, score <- score, 98 rows, 2 rejected"
    for bad in ("nan", "inf", "1_0", "", "x"):
        pairs[7:12] = [f"a,b,{bad}"] * 5
        worse = own_task(write({"p.csv": "\n".join(pairs)}) / "p.csv")
        with pytest.raises(DataError, match=r"not ready: 7 row\(s\) rejected .*Mend or drop these rows; --allow-incomplete"):
            load_dataset(worse, folder, QUICK)


def test_splits_come_from_a_folder_or_a_column_and_give_the_same_task(counting: CountingEncoder, write: Write) -> None:
    rows = _notes(90)
    parts = {"train": rows[:50], "dev": rows[50:70], "test": rows[70:]}
    folder = write(
        {f"my_{'validation' if name == 'dev' else name}.csv": _csv(part) for name, part in parts.items()} | {"x.txt": ""}
    )
    column = [{**row, "split": name.upper()} for name, part in parts.items() for row in part]
    one, other = own_task(folder, label="severity", name="Mine"), own_task(column, label="severity")
    assert one.protocol == other.protocol == "split"
    assert one.name == "Mine"
    assert _dataset(one).fingerprint == _dataset(other).fingerprint
    notes = " ".join(_dataset(one).notes)
    assert "12 group(s) of test are in train too, so that test is no test of new groups" in notes
    assert medsenteval.evaluate(counting, one, settings=QUICK)["Mine"].protocol == "split"
    folded = own_task(folder, label="severity", protocol="kfold")
    assert {name: len(split) for name, split in _dataset(folded).splits.items()} == {"train": 70, "test": 20}
    nested = own_task(folder, label="severity", protocol="nested")
    whole = own_task(rows, label="severity")
    assert _dataset(nested).fingerprint == _dataset(whole).fingerprint
    assert own_task([row for row in column if row["split"] != "DEV"], label="severity").protocol == "kfold"
    with pytest.raises(DataError, match=r"several files could be train: a_train\.csv, train\.csv"):
        own_task(write({"train.csv": "a,b", "a_train.csv": "a,b"}, "twice"))
    with pytest.raises(DataError, match="no file named train, dev or test"):
        own_task(write({"a.csv": "a,b"}, "none"))
    with pytest.raises(DataError, match=r"train\.csv and test\.csv have no column in common; do both have a header row"):
        own_task(write({"train.csv": "text,label\na,1\n", "test.csv": "a,1\nb,0\n"}, "headless"))
    with pytest.raises(DataMissingError, match="no such file or folder"):
        own_task("absent.csv")


def test_quality_is_told_without_being_asked(counting: CountingEncoder) -> None:
    rows = [*_labelled([0, 1] * 20), *_labelled([1, 0, 1]), {"text": "rare", "label": 7}]
    result = medsenteval.evaluate(counting, rows, settings=QUICK)["table"]
    told = " ".join(result.notes)
    assert "3 row(s) repeat an earlier one" in told
    assert "6 row(s) have the same text and another label" in told
    assert "3 of them no encoder can get right: the best possible accuracy is 93.18" in told
    assert "equal texts can be in training and test folds at once; group=COLUMN" in told
    assert "fewer rows than the 3 folds: 7" in told


@pytest.mark.parametrize(("n", "more"), [(8, ""), (9, ", …")])
def test_the_first_eight_labels_are_told_with_their_rows(n: int, more: str) -> None:
    labels = [f"l{i}" for i in range(n)] * 2 + ["l1"]
    shown = ", ".join(f"l{i} {3 if i == 1 else 2}" for i in range(8))
    task = own_task(_labelled(labels, patient=[i // 2 for i in range(len(labels))]))
    told = f"text <- text, label <- label ({n} labels: {shown}{more}), group <- patient ({n + 1} groups), {2 * n + 1} rows"
    assert task.own_data == f"{told}, 0 rejected"


@pytest.mark.parametrize(("labels", "fine"), [("abcdabcd", True), ("abcdeabc", False), ("aabcdefg", False), ("ab", True)])
def test_labels_are_at_most_half_as_many_as_rows(labels: str, fine: bool) -> None:
    if fine:
        assert len(own_task(_labelled(list(labels))).labels) == len(set(labels))
    else:
        with pytest.raises(DataError, match=f"{len(set(labels))} different labels for 8 rows; is it an id or a text"):
            own_task(_labelled(list(labels)))


def test_near_duplicates_are_looked_for_among_few_rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _labelled([0, 1] * 10)
    for most, told in ((20, False), (19, True)):
        monkeypatch.setattr("medsenteval.tasks.own.own_task._NEAR_ROWS", most)
        said = f"quality: near duplicates were not looked for among more than {most} rows"
        assert (said in _dataset(own_task(rows)).notes) is told


@pytest.mark.parametrize(
    ("labels", "positive"),
    [("0 1", "1"), ("FALSE TRUE", "true"), ("Yes no", "Yes"), ("Positive Negative", "Positive"), ("y N", "y"),
     ("yes maybe", None), ("yes no maybe", None), ("1 2", None)],
)  # fmt: skip
def test_one_of_two_labels_says_yes(labels: str, positive: str | None) -> None:
    rows = _labelled(labels.split() * 3)
    task = own_task(rows)
    assert (task.positive_label, task.metrics) == (positive, ("acc",))
    chosen = own_task(rows, positive=task.labels[0], metric="f1")
    assert (chosen.positive_label, chosen.metrics) == (task.labels[0], ("f1",))


def test_a_part_of_the_rows_of_grouped_data_says_how_to_leave_out_the_groups(counting: CountingEncoder) -> None:
    rows, part = _labelled(["a", "b"] * 6, patient=[i // 2 for i in range(12)]), QUICK.with_changes(shots=2)
    with pytest.raises(SettingsError, match=r"table: grouped folds .* exclude each other; group= with nothing"):
        medsenteval.evaluate(counting, own_task(rows), settings=part)
    assert medsenteval.evaluate(counting, own_task(rows, group=""), settings=part)["table"].n_test == 12


def test_labels_rarer_than_the_folds_are_told(counting: CountingEncoder) -> None:
    rows = _labelled(["a"] * 9 + ["b"] * 3 + ["c"] * 2 + ["d"])
    notes = medsenteval.evaluate(counting, rows, settings=QUICK)["table"].notes
    assert "fewer rows than the 3 folds: c, d; some folds are without them" in notes
    many = _labelled(["a"] * 30 + [f"r{i}" for i in range(9)])
    notes = medsenteval.evaluate(counting, many, settings=QUICK)["table"].notes
    assert f"fewer rows than the 3 folds: {', '.join(f'r{i}' for i in range(8))}; some folds are without them" in notes
    parts = [{**row, "split": part} for part in ("train", "dev", "test") for row in _labelled(["a", "a", "a", "b"])]
    split = medsenteval.evaluate(counting, parts, settings=QUICK)["table"]
    assert (split.protocol, any("fewer rows" in note for note in split.notes)) == ("split", False)


def test_two_labels_that_say_yes_and_no_have_f1_which_compares(counting: CountingEncoder) -> None:
    rows = [{"text": row["note"], "label": row["severity"] == "low"} for row in _notes()]
    task = own_task(rows, metric="f1", name="low-or-not")
    assert (task.positive_label, task.metrics) == ("true", ("f1",))
    one = medsenteval.evaluate(counting, task, settings=QUICK)["low-or-not"]
    two = medsenteval.evaluate(lambda texts: [[len(text), 1] for text in texts], task, settings=QUICK, name="n")["low-or-not"]
    assert one.details["positive_label"] == "true"
    assert [column.metric for column in compare_results([one, two]).columns] == ["acc", "f1"]


def test_tokens_and_tags_in_three_layouts_are_one_corpus(counting: CountingEncoder, write: Write) -> None:
    sentences = {
        "train": [[("Lung", "B-Organ"), ("cancer", "O")], [("the", "O"), ("left", "B-Organ"), ("kidney", "I-Organ")]] * 3,
        "test": [[("A", "O"), ("kidney", "B-Organ")], [("Lung", "B-Organ")]],
    }
    blank = write({
        f"{split}.tsv": "token\ttag\n" + "\n\n".join("\n".join("\t".join(pair) for pair in each) for each in found)
        for split, found in sentences.items()
    })  # fmt: skip
    conll = write({
        f"{split}.conll": "\n\n".join("\n".join(f"{token} X {tag}" for token, tag in each) for each in found)
        for split, found in sentences.items()
    }, "conll")  # fmt: skip
    numbered, number = ["Sentence #,Word,Tag,Split"], 0
    for split, found in sentences.items():
        for each in found:
            number += 1
            numbered += [
                f"{f'Sentence: {number}' if at == 0 else ''},{token},{tag},{split}" for at, (token, tag) in enumerate(each)
            ]
    listed = [
        {"tokens": [token for token, _ in each], "ner_tags": [tag for _, tag in each], "split": split}
        for split, found in sentences.items()
        for each in found
    ]
    column = write({"all.csv": "\n".join(numbered)}, "column") / "all.csv"
    tasks = [own_task(blank), own_task(conll), own_task(column), own_task(listed)]
    assert {task.family for task in tasks} == {"tagging"}
    assert len({_dataset(task).fingerprint for task in tasks}) == 1
    assert tasks[2].own_data.endswith("8 sentences (train 6, test 2), 0 rejected")
    with pytest.raises(DataError, match="a tagger needs sentences to train on and others to test; there is all only"):
        own_task(blank / "train.tsv")
    with pytest.raises(DataError, match="no tag names an entity"):
        own_task([{"token": "a", "tag": "O", "split": "train"}])
    odd = own_task([*listed, {"tokens": ["SECRET words", "b"], "ner_tags": ["O", "O"], "split": "train"},
                    {"tokens": ["SECRET"], "ner_tags": ["O", "O"], "split": "train"}])  # fmt: skip
    rejected = [str(row) for row in _dataset(odd).rejected]
    assert len(rejected) == 2
    assert "SECRET" not in " ".join(rejected)


def test_tagged_parts_have_the_names_of_a_corpus_and_each_file_names_its_sentences(write: Write) -> None:
    rows = [{"token": "lung", "tag": "B-Organ", "split": part} for part in ("test", "dev", "train", "valid")]
    found = _dataset(own_task(rows)).splits
    assert {name: split.ids for name, split in found.items()} == {
        "train": ("table:3",), "devel": ("table:2",), "test": ("table:1",),
    }  # fmt: skip
    shards = {f"{part}-0000{i}-of-00002.csv": "token,tag\na,B-X\n" for part in ("train", "test") for i in (0, 1)}
    ids = {name: split.ids for name, split in _dataset(own_task(write(shards))).splits.items()}
    assert ids == {part: tuple(f"{part}-0000{i}-of-00002.csv:2" for i in (0, 1)) for part in ("train", "test")}


def test_a_line_that_cannot_be_read_rejects_its_whole_sentence(write: Write) -> None:
    """Without its broken line a sentence would be two, and an entity across it two entities."""
    whole = "the\tO\nleft\tB-Organ\nkidney\tI-Organ\n\n"
    broken = whole.replace("left\tB-Organ", "left\tB-Organ\textra\tcells")
    folder = write({"train.tsv": "token\ttag\n" + whole * 60 + broken + whole, "test.tsv": "token\ttag\n" + whole})
    found = _dataset(own_task(folder))
    assert set(found.splits["train"].texts) == {"the left kidney"}
    assert (len(found.splits["train"]), [row.line for row in found.rejected]) == (61, [243])
    rows = [f"{i},{token},{tag},train" for i in range(60) for token, tag in (("Left", "B-Organ"), ("kidney", "I-Organ"))]
    rows[20] += ",more"  # the first token of sentence 10, which may as well have been the last of sentence 9
    numbered = write({"all.csv": "\n".join(["Sentence #,Word,Tag,Split", *rows, "60,Lung,B-Organ,test"])}, "n") / "all.csv"
    found = _dataset(own_task(numbered))
    assert set(found.splits["train"].texts) == {"Left kidney"}
    assert (len(found.splits["train"]), len(found.rejected)) == (58, 2)


def test_suite_files_name_own_data_and_paths_begin_at_the_file(write: Write) -> None:
    folder = write({
        "notes.csv": _csv(_notes()),
        "s.toml": '[[tasks]]\nfile = "notes.csv"\nlabel = "severity"\nname = "Severity"\n[[tasks]]\ntask = "RQE"\n',
        "wrong.toml": '[[tasks]]\nlabel = "severity"\n',
        "absent.toml": '[[tasks]]\nfile = "none.csv"\n',
    })  # fmt: skip
    tasks = registry.select_tasks(read_suite(folder / "s.toml").tasks)
    assert [task.name for task in tasks] == ["Severity", "RQE"]
    with pytest.raises(SettingsError, match=r"wrong\.toml: \[\[tasks\]\] must say one of task, file and hf"):
        read_suite(folder / "wrong.toml")
    with pytest.raises(DataMissingError, match=r"none\.csv"):
        read_suite(folder / "absent.toml")


def test_selections_mix_names_and_own_data(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write({"notes.csv": _csv(_notes()), "other/notes.csv": _csv(_notes())})
    monkeypatch.chdir(folder)
    spec = "RQE,file:notes.csv,label=severity,group=,BIOSSES"
    assert [task.name for task in registry.select_tasks(spec)] == ["RQE", "file:notes.csv", "BIOSSES"]
    assert registry.select_tasks(["RQE", own_task(Path("notes.csv"), label="grade")])[1].labels == ("0", "1", "2")
    with pytest.raises(SettingsError, match=r"two tasks are called file:notes\.csv; give one of them another name"):
        registry.select_tasks("file:notes.csv,label=severity,file:other/notes.csv,label=severity")
    with pytest.raises(UnknownNameError, match=r"'notes\.csv' is a file or folder; to score it write file:notes\.csv"):
        registry.select_tasks("notes.csv")
    for source in (3, ("a", "b", "c"), ["x", {"text": 1}], [], (["a"], ["b"], ["c"])):
        with pytest.raises((DataError, SettingsError, UnknownNameError)):
            own_task(source) if not isinstance(source, list) else registry.select_tasks(source)
    stored = ["file:notes.csv", "Severity"]
    assert registry.select_names("FILE:notes.csv,severity,rqe", stored) == {"file:notes.csv", "Severity", "RQE"}


def test_workers_get_the_rows_themselves(write: Write) -> None:
    import pickle

    folder = write({"notes.csv": _csv(_notes())})
    task = own_task(folder / "notes.csv", label="severity")
    (folder / "notes.csv").unlink()
    again = pickle.loads(pickle.dumps(task))
    assert again.own_data == task.own_data
    assert _dataset(again).fingerprint == _dataset(task).fingerprint


def test_rows_of_a_table_are_taken_rejected_or_blank() -> None:
    given: list[tuple[int, Any]] = [
        (1, ("a", 0)), (2, BLANK), (3, "torn"), (4, ("b", 1)), (5, ("c", -1)), (6, ("d", 2)), (7, (None, 0)), (12, (["i"], 0)),
        (8, ("e", "other")), (9, ("f", 0)), (10, ("g", 1)), (11, ("h", "other")),
    ]  # fmt: skip
    table = Table("t", ("text", "label"), lambda names: iter(given), classes={"label": ("sick", "well")})
    dataset = _dataset(own_task(table))
    split = dataset.splits["all"]
    assert split.labels is not None
    labels = [dataset.label_names[label] for label in split.labels.tolist()]
    assert dict(zip(split.texts, labels, strict=True)) == {
        "a": "sick", "b": "well", "e": "other", "f": "sick", "g": "well", "h": "other",
    }  # fmt: skip
    assert [str(row) for row in dataset.rejected] == [
        "t:3: torn",
        "t:5: column 'label': no label",
        "t:6: column 'label': a number that is none of the file's classes",
        "t:7: column 'text': empty",
        "t:12: column 'text': a list or an object where a text is expected",
    ]


def test_a_frame_with_a_column_name_twice_is_refused_with_the_name() -> None:
    import pandas as pd

    frame = pd.DataFrame([["a", "b", 1]], columns=["text", "text", "label"])
    with pytest.raises(DataError, match="the columns 1 and 2 are both called 'text'"):
        own_task(frame)
