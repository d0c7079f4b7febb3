"""The copies that people have, made here in exactly their layouts: read by the strict readers as the official files are."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.contracts import Dataset
from medsenteval.datasets.locate import load_dataset
from medsenteval.datasets.manifest import manifest
from medsenteval.datasets.prepare import prepare
from medsenteval.datasets.status import INCOMPLETE, READY, UNREADABLE, examine
from medsenteval.engine import signature_of
from medsenteval.errors import DataError, DataMissingError
from medsenteval.registry import task
from medsenteval.settings import Settings
from medsenteval.tasks.reading.copies import name_splits, split_of
from tests.conftest import CountingEncoder

Write = Callable[..., Path]
Rows = Sequence[Mapping[str, Any]]
SPLITS = ("train", "dev", "test")


def as_csv(rows: Rows, delimiter: str = ",") -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def as_jsonl(rows: Rows) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def as_parquet(rows: Rows, classes: Mapping[str, Sequence[str]] | None = None) -> bytes:
    """Write a table as the library ``datasets`` does, with the names of classes beside their numbers."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    features = {column: {"names": list(names), "_type": "ClassLabel"} for column, names in (classes or {}).items()}
    table = pyarrow.Table.from_pylist(list(rows))
    stream = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})}), stream)
    return stream.getvalue()


def read(name: str, folder: Path, **options: str) -> Dataset:
    found = task(name)
    return found.read(folder, {key: values[0] for key, values in found.options.items()} | options)


def labels_of(dataset: Dataset, split: str) -> list[str]:
    numbers = dataset.splits[split].labels
    assert numbers is not None
    return [dataset.label_names[number] for number in numbers.tolist()]


def status(name: str, root: Path) -> str:
    return CliRunner().invoke(main, ["data", "status", name, "-d", str(root), "--wide"], catch_exceptions=False).output


# --- which file is which split


@pytest.mark.parametrize(
    ("files", "splits"),
    [
        (["test/0000.csv", "train/0000.csv", "train/0001.csv"], "train train test"),
        (["a/test/x.csv", "a/x_valid.csv", "dev/my-TRN.csv"], "train dev test"),
        (["dev.tsv", "test.tsv", "train.tsv", "train_dev.tsv"], "train dev test"),
        (["train-00000-of-00002.csv", "train-00001-of-00002.csv", "other.csv"], "train train"),
    ],
)
def test_a_split_is_named_by_its_file_or_else_by_its_folder(files: list[str], splits: str) -> None:
    place = Path("/data/test")
    found = name_splits(place, [place / file for file in files])
    assert [split for split, _ in found] == splits.split()
    kept = [file.relative_to(place).as_posix() for _, file in found]
    assert sorted(kept) == sorted(file for file in files if file not in ("train_dev.tsv", "other.csv"))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            ["train/000.csv", "train/001.csv"],
            "/data/test: several files could be train: train/000.csv, train/001.csv; keep one",
        ),
        (["devel.csv", "a/devel.csv", "b/c/devel.csv"], "dev: devel.csv, a/devel.csv, b/c/devel.csv; keep one"),
        (["train-00000-of-00001.csv", "train.csv"], "several files could be train"),
        (["a.csv", "b.csv"], r"/data/test: no file named train, dev or test, such as train\.csv and test\.csv; name one file"),
    ],
)
def test_two_files_of_one_split_or_none_are_refused(files: list[str], said: str) -> None:
    with pytest.raises(DataError, match=said):
        name_splits(Path("/data/test"), [Path("/data/test") / file for file in files])


def test_usual_names_of_splits_are_known() -> None:
    names = {"train": "train Training TRN", "dev": "dev devel development valid validation val", "test": "test testing tst"}
    assert {name: {split_of(f" {name} ")} for split in names for name in names[split].split()} == {
        name: {split} for split, each in names.items() for name in each.split()
    }
    assert [split_of(name) for name in ("", "held out", "trains")] == [None] * 3


# --- BIOSSES

RATINGS = [[(i + shift) % 5 for shift in (0, 0, 1, 2, 0)] for i in range(100)]
MEANS = [sum(each) / 5 for each in RATINGS]
PAIRS = [{"sentence1": f"Gene {i} is induced, strongly.", "sentence2": f'The "gene" {i} rises.'} for i in range(100)]
SCORED = [{**pair, "score": mean} for pair, mean in zip(PAIRS, MEANS, strict=True)]
BIGBIO = [
    {"id": str(i), "document_id": str(i + 1), "text_1": pair["sentence1"], "text_2": pair["sentence2"], "label": str(mean)}
    for i, (pair, mean) in enumerate(zip(PAIRS, MEANS, strict=True))
]
SOURCE = [
    {
        "sentence_id": i + 1,
        "sentence_1": pair["sentence1"],
        "sentence_2": pair["sentence2"],
        **{f"annotator_{letter}": rating for letter, rating in zip("abcde", ratings, strict=True)},
    }
    for i, (pair, ratings) in enumerate(zip(PAIRS, RATINGS, strict=True))
]


def blue(rows: Rows) -> str:
    """BLUE's layout, which is that of GLUE's STS-B."""
    return as_csv(
        [
            {"index": i, "genre": "g", "filename": "f", "year": "y", "old_index": i, "source1": "s", "source2": "s", **row}
            for i, row in enumerate(rows)
        ],
        "\t",
    )


def biosses_files() -> dict[str, dict[str, str | bytes]]:
    return {
        "csv": {"biosses.csv": as_csv(SCORED)},
        "jsonl": {"data/test.jsonl": as_jsonl(SCORED)},
        "jsonl.gz": {"test.jsonl.gz": gzip.compress(as_jsonl(SCORED).encode())},
        "parquet": {"data/train-00000-of-00001.parquet": as_parquet(SCORED)},
        "BigBIO": {"biosses_bigbio_pairs/train.parquet": as_parquet(BIGBIO)},
        "BigBIO source": {"annotation_pairs_scores.tsv": as_csv(SOURCE, "\t")},
        "BLUE": {f"{s}.tsv": blue(SCORED[a:b]) for s, a, b in (("train", 0, 64), ("dev", 64, 80), ("test", 80, 100))},
    }


@pytest.mark.parametrize("layout", ["csv", "jsonl", "jsonl.gz", "parquet", "BigBIO", "BigBIO source", "BLUE"])
def test_biosses(write: Write, tmp_path: Path, layout: str) -> None:
    official = write(
        {
            "STS.input.BIOSSES.txt": "".join(f"{row['sentence1']}\t{row['sentence2']}\n" for row in PAIRS),
            "STS.gs.BIOSSES.txt": "".join(f"{mean}\n" for mean in MEANS),
        },
        "official",
    )
    folder = write(biosses_files()[layout], "BIOSSES")
    found = read("BIOSSES", folder)
    assert found.fingerprint == read("BIOSSES", official).fingerprint
    assert not found.rejected
    assert examine(manifest("BIOSSES"), tmp_path).state == READY
    prepared = prepare(manifest("BIOSSES"), [folder], tmp_path / "root")
    assert prepared.status.state == READY
    assert read("BIOSSES", tmp_path / "root/BIOSSES").fingerprint == found.fingerprint


def test_a_single_file_that_the_user_names_is_prepared(write: Write, tmp_path: Path) -> None:
    file = write({"download.csv": as_csv(SCORED)}) / "download.csv"
    assert prepare(manifest("BIOSSES"), [file], tmp_path / "root").origins == (("download.csv", "download.csv"),)


def test_two_copies_at_once_and_rows_that_cannot_be_read(write: Write) -> None:
    with pytest.raises(DataError, match=r"several files could be train: train.csv, train.jsonl; keep one"):
        read("BIOSSES", write({"train.csv": as_csv(SCORED), "train.jsonl": as_jsonl(SCORED)}))
    broken = [{**SCORED[0], "score": ""}, {**SCORED[1], "score": "high"}, {**SCORED[2], "sentence2": " "}, *SCORED[3:]]
    rejected = read("BIOSSES", write({"biosses.csv": as_csv(broken)}, "broken")).rejected
    assert [str(row) for row in rejected] == [
        "biosses.csv:2: the score is empty",
        "biosses.csv:3: the score 'high' is not a finite number",
        "biosses.csv:4: the text2 is empty",
    ]
    odd = [{**SOURCE[0], "annotator_b": "1_0"}, {**SOURCE[1], "annotator_c": "high"}, {**SOURCE[2], "annotator_d": ""}]
    rejected = read("BIOSSES", write({"s.tsv": as_csv([*odd, *SOURCE[3:]], "\t")}, "odd")).rejected
    assert [str(row) for row in rejected] == [
        "s.tsv:2: the ratings ['0', '1_0', '1', '2', '0'] are not 5 numbers",
        "s.tsv:3: the ratings ['1', '1', 'high', '3', '1'] are not 5 numbers",
        "s.tsv:4: the ratings ['2', '2', '3', None, '2'] are not 5 numbers",
    ]


# --- PubMed RCT

LABELS = ["METHODS"] * 5 + ["RESULTS"] * 4 + ["CONCLUSIONS"] * 3 + ["BACKGROUND"] * 2 + ["OBJECTIVE"]
SENTENCES = {split: [(f"{i // 5}", label, f"{split} {i} 5 mg .") for i, label in enumerate(LABELS)] for split in SPLITS}
ALPHABET = sorted(set(LABELS))


def abstracts(rows: Sequence[tuple[str, str, str]], ids: bool = True) -> str:
    lines, last = [], None
    for number, label, text in rows:
        lines += [f"###{number}"] if number != last else []
        lines.append(f"{label}\t{text}")
        last = number
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("labels", ["names", "numbers"])
@pytest.mark.parametrize("ids", [True, False])
def test_pubmed_rct(write: Write, kind: str, labels: str, ids: bool) -> None:
    official = read("PubMed20K", write({f"{s}.txt": abstracts(SENTENCES[s]) for s in SPLITS}, "official"))

    def content(split: str) -> str | bytes:
        rows = [
            {
                **({"abstract_id": number, "sentence_id": i} if ids else {}),
                "labels" if kind == "parquet" else "label": label.lower() if labels == "names" else ALPHABET.index(label),
                "text": text,
            }
            for i, (number, label, text) in enumerate(SENTENCES[split])
        ]
        if kind == "parquet":
            return as_parquet(rows, {"labels": ALPHABET} if labels == "numbers" else None)
        return as_csv(rows) if kind == "csv" else as_jsonl(rows)

    names = {"train": "train", "dev": "validation" if kind == "parquet" else "dev", "test": "test"}
    ending = "-00000-of-00001.parquet" if kind == "parquet" else f".{kind}"
    found = read("PubMed20K", write({f"data/{names[s]}{ending}": content(s) for s in SPLITS}, "copy"))
    for split in SPLITS:
        assert found.splits[split].texts == official.splits[split].texts
        assert labels_of(found, split) == labels_of(official, split)
        assert found.splits[split].groups == (official.splits[split].groups if ids else None)
    assert (found.fingerprint == official.fingerprint) is ids


def test_numbers_for_labels_are_taken_in_a_known_order_or_not_at_all(write: Write) -> None:
    def rows(order: Sequence[str]) -> str:
        return as_csv([{"text": text, "label": order.index(label)} for _, label, text in SENTENCES["train"]])

    ours = ["BACKGROUND", "OBJECTIVE", "METHODS", "RESULTS", "CONCLUSIONS"]
    found = read("PubMed20K", write({f"{s}.csv": rows(ours) for s in SPLITS}, "ours"))
    assert labels_of(found, "train") == LABELS
    listed = "0 as BACKGROUND, 1 as OBJECTIVE, 2 as METHODS, 3 as RESULTS, 4 as CONCLUSIONS"
    assert f"labels are numbers, read by their frequencies: {listed}" in found.notes
    with pytest.raises(DataError, match=r"its labels are numbers .* and their frequencies fit no numbering of BACKGROUND"):
        read("PubMed20K", write({f"{s}.csv": rows(ours[::-1]) for s in SPLITS}, "odd"))


def test_one_file_with_a_column_of_splits(write: Write) -> None:
    rows = [{"split": s, "target": label, "abstract_text": text} for s in SPLITS for _, label, text in SENTENCES[s]]
    folder = write({"all.csv": as_csv([*rows, {**rows[0], "split": "elsewhere"}])})
    found = read("PubMed20K", folder)
    assert {name: len(split) for name, split in found.splits.items()} == dict.fromkeys(SPLITS, 15)
    assert [row.reason for row in found.rejected] == ["'elsewhere' in the column 'split' is neither train, dev nor test"]


def test_pubmed_200k_is_another_edition(write: Write) -> None:
    folder = write({f"{s}.txt": abstracts(SENTENCES[s]) for s in SPLITS}, "PubMed_200k_RCT")
    dataset = load_dataset(task("PubMed20K"), folder.parent, Settings(allow_incomplete=True))
    assert dataset.edition == "200k"
    assert task("PubMed20K").protocol_of(dataset, Settings()) == "split-200k"
    assert "|split-200k|" in signature_of(task("PubMed20K"), dataset, CountingEncoder(), Settings())
    assert "train has 15 rows, 2,211,861 are published" in dataset.notes
    assert "these are the files of 200k, not those of the publication" in dataset.notes


# --- MedNLI

NLI = [
    {"sentence1": f"premise {i // 3}, he said", "sentence2": f"hypothesis {i}", "gold_label": label, "pairID": f"p{i}"}
    for i, label in enumerate(["entailment", "neutral", "contradiction"] * 4)
]


def mednli_files() -> dict[str, dict[str, str | bytes]]:
    renamed = [{"premise": row["sentence1"], "hypothesis": row["sentence2"], "label": row["gold_label"]} for row in NLI]
    with_index = [
        {"index": row["pairID"], "sentence1": row["sentence1"], "sentence2": row["sentence2"], "label": row["gold_label"]}
        for row in NLI
    ]
    numbered = [{**row, "label": ["entailment", "neutral", "contradiction"].index(row["label"])} for row in renamed]
    names = ("entailment", "neutral", "contradiction")
    return {
        "renamed": {f"{s}.jsonl": as_jsonl(NLI) for s in SPLITS},
        "premise and hypothesis": {f"{s}.csv": as_csv(renamed) for s in SPLITS},
        "BLUE": {f"{s}.tsv": as_csv(with_index, "\t") for s in SPLITS},
        "hub": {f"data/{s}-00000-of-00001.parquet": as_parquet(numbered, {"label": names})
                for s in ("train", "validation", "test")},
    }  # fmt: skip


@pytest.mark.parametrize("layout", ["renamed", "premise and hypothesis", "BLUE", "hub"])
def test_mednli(write: Write, tmp_path: Path, layout: str) -> None:
    official = read("MedNLI", write({f"mli_{s}_v1.jsonl": as_jsonl(NLI) for s in SPLITS}, "official"))
    folder = write(mednli_files()[layout], "copy")
    assert read("MedNLI", folder).fingerprint == official.fingerprint
    prepared = prepare(manifest("MedNLI"), [folder], tmp_path / "root", allow_incomplete=True)
    assert prepared.status.state == INCOMPLETE
    assert read("MedNLI", tmp_path / "root/MedNLI").fingerprint == official.fingerprint


def test_other_names_of_the_label_count_where_a_score_stands_beside_it(write: Write) -> None:
    rows = [{"premise": "a", "hypothesis": "b", "class": label, "score": 1} for label in ("neutral", "entailment")]
    assert labels_of(read("MedNLI", write({f"{s}.csv": as_csv(rows) for s in SPLITS})), "dev") == ["neutral", "entailment"]
    pairs = [{"text1": "a", "text2": "b", "similarity": 2.5, "class": "x"}]
    scores = read("BIOSSES", write({"pairs.csv": as_csv(pairs)}, "scored")).splits["all"].scores
    assert scores is not None
    assert scores.tolist() == [2.5]


@pytest.mark.parametrize(("n", "more"), [(12, ""), (13, ", ...")])
def test_the_columns_of_a_table_that_does_not_fit_are_listed(write: Write, n: int, more: str) -> None:
    row = {f"c{i}": "x" for i in range(n)}
    listed = ", ".join(list(row)[:12])
    said = rf"t\.csv has the columns {listed}{re.escape(more)}, which do not make two texts and their score$"
    with pytest.raises(DataMissingError, match=said):
        read("BIOSSES", write({"t.csv": as_csv([row])}))


def test_numbers_without_names_are_no_labels_where_nothing_says_which_is_which(write: Write) -> None:
    rows = [{"premise": "a", "hypothesis": "b", "label": 0}]
    with pytest.raises(DataError, match="unknown label '0'; known: entailment"):
        read("MedNLI", write({f"{s}.csv": as_csv(rows) for s in SPLITS}))


# --- RQE

PAIR = '<pair pid="{}"{}><chq>\n long {} </chq><faq>short {}</faq></pair>'


def rqe(root: str, n: int, attributes: str = "") -> str:
    pairs = "\n".join(PAIR.format(i, attributes.format("true" if i % 2 else "false"), i, i) for i in range(1, n + 1))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root}>\n{pairs}\n</{root}>\n'


MEDIQA = {
    "MEDIQA2019-Task2-RQE-TrainingSet-AMIA2016.xml": rqe(
        "MEDIQA2019-Task2-RQE-TrainingSet-AMIA2016", 8, ' type="originalQ-shortQ" value="{}"'
    ),
    "MEDIQA2019-Task2-RQE-ValidationSet-AMIA2016.xml": rqe("MEDIQA2019-Task2-RQE-ValidationSet-AMIA2016", 4, ' value="{}"'),
    "MEDIQA2019-Task2-RQE-TestSet.xml": rqe("MEDIQA-2019-RQE-Test-Set", 6),
}
LABELLED = {"MEDIQA2019-Task2-RQE-TestSet-wLabels.xml": rqe("MEDIQA2019-Task2-RQE-TestSet", 6, ' value="{}"')}


def test_rqe_of_mediqa(write: Write, tmp_path: Path) -> None:
    official = {
        "RQE_Train_8588_AMIA2016.xml": rqe("RQE-med-train", 8, ' type="originalQ-shortQ" value="{}"'),
        "RQE_Test_302_pairs_AMIA2016.xml": rqe("RQE-med-test", 4, ' type="part1" value="{}"'),
    }
    folder = write(MEDIQA, "RQE")
    found = read("RQE", folder)
    assert found.fingerprint == read("RQE", write(official, "official")).fingerprint
    assert [note for note in found.notes if "19 of 302 have another wording" in note]
    with pytest.raises(DataMissingError, match=r"has no labels .* are in MEDIQA2019-Task2-RQE-TestSet-wLabels.xml"):
        read("RQE", folder, test="mediqa2019")
    write(LABELLED, "RQE")
    later = read("RQE", folder, test="mediqa2019")
    assert ({name: len(split) for name, split in later.splits.items()}, later.edition) == (
        {"train": 8, "test": 6},
        "mediqa2019",
    )
    assert task("RQE").protocol_of(later, Settings()) == "kfold-10-mediqa2019"
    prepared = prepare(manifest("RQE"), [folder], tmp_path / "root", allow_incomplete=True)
    assert dict(prepared.status.counts) == {"train": 8, "test": 4}


def test_mediqas_test_set_is_not_taken_for_the_papers(write: Write) -> None:
    training = {name: content for name, content in MEDIQA.items() if "Training" in name}
    with pytest.raises(DataMissingError, match=r"another test set, of MEDIQA 2019: --option RQE.test=mediqa2019"):
        read("RQE", write({**training, **LABELLED}))


# --- BioASQ


def questions(*names: str) -> str:
    return json.dumps(
        {
            "questions": [
                {"id": name, "type": "yesno", "body": f"Is {name}?", "exact_answer": "yes" if i % 2 else "no",
                 "snippets": [{"text": f"{name} is."}]}
                for i, name in enumerate(names)
            ]
        }
    )  # fmt: skip


def bioasq(year: int, training: str, batches: int) -> dict[str, str]:
    golden = {f"Task{year}BGoldenEnriched/{year}B{i}_golden.json": questions(f"{year}B{i}") for i in range(1, batches + 1)}
    return {f"BioASQ-training{year}b/{training}": questions(f"{year}a", f"{year}b"), **golden}


@pytest.mark.parametrize(
    ("year", "training", "batches"),
    [(2, "BioASQ-trainingDataset2b.json", 5), (7, "trainining7b.json", 5), (8, "training8b.json", 5),
     (10, "training10b.json", 6), (11, "training11b.json", 4), (12, "training12b_new.json", 4), (13, "training13b.json", 4)],
)  # fmt: skip
def test_bioasq_of_any_year(write: Write, tmp_path: Path, year: int, training: str, batches: int) -> None:
    folder = write(bioasq(year, training, batches), "BioASQ")
    found = read("BioASQ", folder)
    assert {name: len(split) for name, split in found.splits.items()} == {"train": 2, "test": batches}
    assert task("BioASQ").protocol_of(found, Settings()) == f"kfold-10-{year}b"
    prepared = prepare(manifest("BioASQ"), [folder], tmp_path / "root")
    assert f"these are the files of {year}b, not those of the publication" in prepared.status.differences


@pytest.mark.parametrize(("year", "batches"), [(2, 5), (9, 5), (10, 6), (11, 4), (12, 4), (13, 4), (14, 5)])
def test_a_year_of_bioasq_has_its_own_number_of_batches(write: Write, year: int, batches: int) -> None:
    training = f"training{year}b.json"
    assert read("BioASQ", write(bioasq(year, training, batches), "all")).edition == f"{year}b"
    with pytest.raises(DataMissingError, match=rf"{year}b lacks {year}B{batches}_golden\.json$"):
        read("BioASQ", write(bioasq(year, training, batches - 1), "fewer"))


def test_years_of_bioasq_are_not_mixed(write: Write, tmp_path: Path) -> None:
    eight, eleven = bioasq(8, "training8b.json", 5), bioasq(11, "training11b.json", 4)
    with pytest.raises(DataError, match="files of 8b, 11b; keep those of one year"):
        read("BioASQ", write({**eight, **eleven}, "both"))
    six = read("BioASQ", write({**eight, **bioasq(6, "BioASQ-trainingDataset6b.json", 5)}, "with the paper's"))
    assert (six.edition, six.splits["train"].ids) == ("", ("6a", "6b"))
    golden = write({"11B1_golden.json": questions("a")}, "one") / "11B1_golden.json"
    with pytest.raises(DataError, match=r"11b lacks its training file, 11B2_golden.json, 11B3_golden.json, 11B4_golden.json"):
        prepare(manifest("BioASQ"), [golden], tmp_path / "root", allow_incomplete=True)


# --- ClinicalSTS


def n2c2(gold: str) -> dict[str, str]:
    scores = [i % 11 / 2 for i in range(412)]
    return {
        "clinicalSTS2019.train.txt": "".join(f"a {i}\tb {i}\t{i % 6}\n" for i in range(1_642)),
        "clinicalSTS2019.test.txt": "".join(f"one {i}\ttwo {i}\n" for i in range(412)),
        f"clinicalSTS2019.{gold}.txt": "".join(f"{score}\n" for score in scores),
    }


@pytest.mark.parametrize("gold", ["test.gs.sim", "test.labels"])
def test_clinical_sts_of_n2c2(write: Write, tmp_path: Path, gold: str) -> None:
    folder = write(n2c2(gold), "ClinicalSTS")
    found = read("ClinicalSTS", folder)
    assert found.splits["test"].texts[11] == "one 11"
    assert found.splits["test"].scores is not None
    assert found.splits["test"].scores.tolist()[:12] == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 0]
    assert task("ClinicalSTS").protocol_of(found, Settings()) == "cosine-n2c2-2019"
    assert len(read("ClinicalSTS", folder, part="train").splits["train"]) == 1_642
    assert examine(manifest("ClinicalSTS"), tmp_path).differences == (
        "these are the files of n2c2-2019, not those of the publication",
    )
    prepared = prepare(manifest("ClinicalSTS"), sorted(folder.iterdir()), tmp_path / "root")
    assert dict(prepared.status.counts) == {"test": 412}


def test_scores_of_another_file_are_rejected_by_line(write: Write) -> None:
    files = n2c2("test.gs.sim")
    files["clinicalSTS2019.test.gs.sim.txt"] += "3\n"
    rejected = read("ClinicalSTS", write(files)).rejected
    assert [str(row) for row in rejected] == ["clinicalSTS2019.test.gs.sim.txt:413: no line 413 in clinicalSTS2019.test.txt"]


# --- CitationSA


def test_citation_sa_of_the_authors_repository(write: Write, tmp_path: Path) -> None:
    kinds = ("POSITIVE", "NEUTRAL", "NEGATIVE")
    rows = [
        f"NEUTRAL|{kinds[i % 3]}|0.1|good(JJ)|{1000 + i // 15}_C{i % 15}_[ {i},2]_{kinds[i % 3]}_ Text {i // 2}   [ {i}] .\r\n"
        for i in range(4_182)
    ]
    summary = "\r\nPOSITIVE\t481(389)\t702(389)\t0.8087\t0.5541\t0.6577\r\nAccuracy: 0.8400\r\nMacro-F1: 0.6518\r\n\r\n"
    folder = write({"resources/rule_based_all_121818.txt": "".join(rows) + summary})
    prepared = prepare(manifest("CitationSA"), [folder], tmp_path / "root")
    assert (prepared.status.state, dict(prepared.status.counts)) == (READY, {"all": 4_182})
    split = read("CitationSA", tmp_path / "root/CitationSA").splits["all"]
    assert (split.ids[16], split.texts[16]) == ("1001_C1", "Text 8 [ 16] .")
    assert split.groups is not None
    assert len(set(split.groups)) == 279
    assert split.labels is not None
    assert split.labels.tolist()[:3] == [0, 1, 2]
    odd = read("CitationSA", write({"rule_based_all_121818.txt": rows[0] + rows[1].replace("_NEUTRAL_", "_POSITIVE_")}, "odd"))
    assert [row.line for row in odd.rejected] == [2]


# --- words and tweets


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("name", "file", "n"), [
    ("UMNSRS-sim", "UMNSRS_similarity.csv", 566), ("UMNSRS-rel", "UMNSRS_relatedness.csv", 587),
    ("UMNSRS-sim-mod", "UMNSRS_similarity_mod449_word2vec.csv", 449),
    ("UMNSRS-rel-mod", "UMNSRS_relatedness_mod458_word2vec.csv", 458),
])  # fmt: skip
def test_umnsrs_under_its_official_names(write: Write, tmp_path: Path, name: str, file: str, n: int, line_end: str) -> None:
    rows = [f'{i}.5,1.0,Term{i},"Other, {i}",C{i},C{i + 1}' for i in range(n)]
    folder = write({f"download/{file}": line_end.join(["Mean,Stdev,Term1,Term2,CUI1,CUI2", *rows]) + line_end})
    prepared = prepare(manifest(name), [folder], tmp_path / "root")
    assert (prepared.status.state, dict(prepared.status.counts)) == (READY, {"all": n})
    found = read(name, tmp_path / "root/UMNSRS").splits["all"]
    assert found.texts2 is not None
    assert (found.texts[1], found.texts2[1]) == ("Term1", "Other, 1")


def test_one_umnsrs_set_is_not_taken_for_another(write: Write, tmp_path: Path) -> None:
    rows = "".join(f"{i}.5,1.0,a{i},b{i},C,C\n" for i in range(587))
    file = write({"UMNSRS_relatedness.csv": f"Mean,Stdev,Term1,Term2,CUI1,CUI2\n{rows}"}) / "UMNSRS_relatedness.csv"
    with pytest.raises(DataError, match=r"nothing in .* looks like one of its files"):
        prepare(manifest("UMNSRS-sim"), [file], tmp_path / "root")


def test_vaccine_sa_with_quoted_ids(write: Write, tmp_path: Path) -> None:
    annotation = '"500000000000000001"\tx\tPositive\n"500000000000000002"\tx\t"NegCost"\n500000000000000003\tx\tNeutral\n'
    tweets = "500000000000000001\tone\n'500000000000000002'\ttwo\n\"500000000000000003\"\tthree\n"
    found = read("VaccineSA", write({"TweetsAnnotation.txt": annotation, "tweets.txt": tweets})).splits["all"]
    assert (found.ids, found.texts) == (tuple(f"50000000000000000{i}" for i in (1, 2, 3)), ("one", "two", "three"))
    assert found.labels is not None
    assert found.labels.tolist() == [0, 6, 1]


# --- named entities

TOKENS = [[("The", "O"), ("liver", "B-Disease"), ("failure", "I-Disease")], [("It", "O"), ("grew", "O")]]
NAMED = ("O", "B-Disease", "I-Disease")


def conll(form: str, before: str = "") -> str:
    lines = "\n\n".join("\n".join(form.format(token, tag) for token, tag in sentence) for sentence in TOKENS)
    return f"{before}{lines}\n\n"


def ner_files() -> dict[str, dict[str, str | bytes]]:
    sentences: list[dict[str, Any]] = [
        {"id": str(i), "tokens": [token for token, _ in each], "ner_tags": [NAMED.index(tag) for _, tag in each]}
        for i, each in enumerate(TOKENS)
    ]
    named = [{**row, "ner_tags": [NAMED[tag] for tag in row["ner_tags"]]} for row in sentences]
    return {
        "tabs": {f"{s}.tsv": conll("{}\t{}") for s in ("train", "devel", "test")},
        "blanks": {f"{s}.txt": conll("{} {}") for s in SPLITS},
        "CoNLL 2003": {f"eng.{s}.conll": conll("{} NN I-NP {}", "-DOCSTART- -X- O O\n\n") for s in SPLITS},
        "four columns of BLUE": {f"Disease/{s}.tsv": conll("{}\t9288106\t0\t{}") for s in ("train", "devel", "test")},
        "BioBERT": {
            f"{s}.tsv": conll("{}\t{}").replace("-Disease", "") for s in ("train", "train_dev", "devel", "test")
        },
        "hub": {f"data/{s}-00000-of-00001.parquet": as_parquet(sentences, {"ner_tags": NAMED})
                for s in ("train", "validation", "test")},
        "jsonl": {f"{s}.jsonl": as_jsonl(named) for s in SPLITS},
    }  # fmt: skip


@pytest.mark.parametrize("layout", ["tabs", "blanks", "CoNLL 2003", "four columns of BLUE", "BioBERT", "hub", "jsonl"])
def test_named_entities(write: Write, tmp_path: Path, layout: str) -> None:
    folder = write(ner_files()[layout], "NCBI-disease")
    found = read("NCBI-disease", folder)
    for split in ("train", "devel", "test"):
        assert [*zip(*found.splits[split].tokens, strict=False)] == [("The", "It"), ("liver", "grew")]  # type: ignore[attr-defined]
        assert found.splits[split].tags == ((0, 1, 3), (0, 0))  # type: ignore[attr-defined]
    assert not found.rejected
    prepared = prepare(manifest("NCBI-disease"), [folder], tmp_path / "root", allow_incomplete=True)
    assert read("NCBI-disease", tmp_path / "root/NCBI-disease").fingerprint == found.fingerprint
    assert prepared.status.state == INCOMPLETE


def test_parts_of_a_split_are_read_one_after_the_other_and_keep_their_names(write: Write) -> None:
    rows = [{"tokens": ["liver", "failure"], "ner_tags": ["B-Disease", "I-Disease"]}, {"tokens": ["a"], "ner_tags": ["O"]}]
    parts = {f"{split}.jsonl": as_jsonl(rows) for split in ("train", "dev")}
    shards = {f"test-0000{number}-of-00002.jsonl": as_jsonl(rows) for number in (0, 1)}
    found = read("NCBI-disease", write(parts | shards)).splits["test"]
    assert found.ids == tuple(f"{shard}:{row}" for shard in shards for row in (1, 2))
    assert found.tags == ((1, 3), (0,), (1, 3), (0,))  # type: ignore[attr-defined]
    empty = as_jsonl([{"tokens": [], "ner_tags": []}])
    with pytest.raises(
        DataError, match=r"no readable sentence in .*test-00001-of-00002.jsonl; expected lines of token TAB tag"
    ):
        read("NCBI-disease", write(parts | shards | {"test-00001-of-00002.jsonl": empty}))


def test_a_table_without_tags_is_no_corpus(write: Write) -> None:
    with pytest.raises(DataMissingError, match=r"; train\.csv has no columns of tokens and of their tags$"):
        read("NCBI-disease", write({"train.csv": "text,class\na,b\n"}))
    with pytest.raises(DataMissingError, match=r"; train\.csv has no columns of tokens and of their tags$"):
        read("NCBI-disease", write({"train.csv": "sentence1,sentence2,score\na,b,1\n"}))


def test_a_line_with_other_columns_rejects_its_sentence(write: Write) -> None:
    text = conll("{} NN {}") + "a NN O\nb O\n\n"
    found = read("NCBI-disease", write({f"{s}.conll": text for s in SPLITS}))
    assert {(row.line, row.reason[:38]) for row in found.rejected} == {(9, "expected token TAB tag, got 'b O'"[:38])}


# --- what was found and why it was not taken


def test_status_says_of_each_file_why_it_was_not_taken(write: Write, tmp_path: Path) -> None:
    root = write(
        {
            "BIOSSES/notes.csv": "note,severity\na,b\n",
            "BIOSSES/broken.jsonl": "nothing",
            "MedNLI/train.jsonl": as_jsonl(NLI),
            "PICO/PICO.zip": b"PK\5\6" + bytes(18),
            "Linnaeus/species.dat": "x",
        }
    )
    said = {line.split()[0]: line for line in status("all", root).splitlines() if line}
    for name, parts in {
        "BIOSSES": (
            "notes.csv has the columns note, severity, which do not make two texts and their score",
            "broken.jsonl: not",
        ),
        "MedNLI": ("no table is the split dev", "no table is the split test"),
        "PICO": ("it holds PICO.zip", f"data prepare PICO --from {root / 'PICO/PICO.zip'}"),
        "Linnaeus": ("it holds species.dat",),
    }.items():
        assert "found but unreadable" in said[name], name
        assert all(part in said[name] for part in parts), said[name]
        assert examine(manifest(name), root).state == UNREADABLE
    assert "missing" in said["RQE"]


def test_a_shared_folder_is_missing_a_set_and_says_what_it_holds(write: Write) -> None:
    root = write({"wordsim/mine.csv": "a,b\n1,2\n"})
    line = next(each for each in status("UMNSRS-sim", root).splitlines() if each.startswith("UMNSRS-sim"))
    assert "missing" in line
    assert "it holds mine.csv" in line
