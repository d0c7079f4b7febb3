"""Each official format is read whole; each defect of the reference readers (SPEC part A) has its regression test."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medsenteval.contracts import Dataset
from medsenteval.errors import DataError, DataMissingError
from medsenteval.registry import TASK_GROUPS, task
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, finite_number, hash_texts
from tests.support.test_files import docx

Write = Callable[..., Path]


def read(name: str, folder: Path, **options: str) -> Dataset:
    return task(name).read(folder, options)


def nli(premise: str, hypothesis: str, label: object, pair: str = "p") -> str:
    return json.dumps({"pairID": pair, "gold_label": label, "sentence1": premise, "sentence2": hypothesis})


def test_mednli_reads_jsonl_and_rejects_by_line(write: Write) -> None:
    rows = [
        nli("No n/v .", "The patient denies nausea .", "entailment", "a"),
        "{broken",
        nli("x", "y", "maybe"),
        nli("x", "y", None),
    ]
    good = nli("a", "b", "neutral")
    folder = write({"mli_train_v1.jsonl": "\n".join(rows), "mli_dev_v1.jsonl": good, "mli_test_v1.jsonl": good + "\n\n"})
    dataset = read("MedNLI", folder)
    assert [len(split) for split in dataset.splits.values()] == [1, 1, 1]
    assert dataset.splits["train"].texts == ("No n/v .",)
    assert dataset.splits["train"].ids == ("a",)
    assert [(row.file, row.line) for row in dataset.rejected] == [("mli_train_v1.jsonl", n) for n in (2, 3, 4)]
    assert "unknown label 'maybe'" in dataset.rejected[1].reason


def test_mednli_reads_the_parallel_layout_without_losing_a_split(write: Write) -> None:
    files = {f"{stem}.{name}": text for name in ("train", "dev", "test") for stem, text in
             (("s1", "a\nb\nc\n"), ("s2", "d\ne\nf\n"), ("labels", "entailment\nunknown\ncontradiction\n"))}  # fmt: skip
    dataset = read("MedNLI", write(files | {"s2.test": "d\ne\n"}))
    # The reference reader leaves the whole split without labels when one label is unknown.
    assert dataset.splits["train"].texts2 == ("d", "f")
    assert dataset.splits["train"].labels is not None
    assert dataset.splits["train"].labels.tolist() == [0, 2]
    assert str(dataset.rejected[-1]) == "s1.test:3: no line 3 in s2.test"


RQE_XML = """<?xml version="1.0"?>
<RQE-med-{part}>
<pair pid="1" type="x" value="true">
<chq>
   Can β-blockers
   help?
</chq>
<faq> Do they\thelp? </faq></pair>
<pair pid="2" type="x" value="false"><chq>a</chq><faq>   </faq></pair>
<pair pid="3" type="x" value="perhaps"><chq>a</chq><faq>b</faq></pair>
<pair pid="4" type="x" value="true"><chq>a</chq></pair>
<pair pid="5" type="x" value="true"><chq>last</chq><faq>one</faq></pair>
</RQE-med-{part}>"""


def test_rqe_keeps_empty_questions_and_inner_line_ends(write: Write) -> None:
    files = {
        "RQE_Train_8588_AMIA2016.xml": RQE_XML.format(part="train"),
        "RQE_Test_302_pairs_AMIA2016.xml": RQE_XML.format(part="test"),
    }
    dataset = read("RQE", write(files))
    train = dataset.splits["train"]
    assert train.texts == ("Can β-blockers help?", "a", "last")
    assert train.texts2 == ("Do they help?", "", "one")
    assert train.labels is not None
    assert train.labels.tolist() == [1, 0, 1]
    assert train.ids == ("pid 1", "pid 2", "pid 5")
    assert "1 empty text(s) kept in train: pid 2" in dataset.notes
    assert [(row.item, row.line) for row in dataset.rejected[:2]] == [("pid 3", 10), ("pid 4", 11)]


def test_rqe_text_layout_keeps_the_row_that_lost_its_last_column_visible(write: Write) -> None:
    folder = write({"rqe_train.txt": "1\ttrue\tq\tf\n5860\ttrue\tq\n7\tfalse\tq2\tf2\n", "rqe_test.txt": "1\tfalse\ta\tb"})
    dataset = read("RQE", folder)
    assert dataset.splits["train"].ids == ("pid 1", "pid 7")
    assert "rqe_train.txt:2" in str(dataset.rejected[0])


def test_rqe_legacy_reads_what_the_original_read(write: Write) -> None:
    pairs = [("1", "true", "a  long\u00a0one ", " f"), ("2", "true", "lost", "  "), ("3", "false", "x", "cut\nhere"),
             ("4", "true", "broken\nline", "f")]  # fmt: skip
    xml = "".join(f'<pair pid="{p}" value="{v}"><chq>{c}</chq><faq>{f}</faq></pair>' for p, v, c, f in pairs)
    official = write(
        {"RQE_Train_8588_AMIA2016.xml": f"<a>{xml}</a>", "RQE_Test_302_pairs_AMIA2016.xml": f"<a>{xml}</a>"}, "official"
    )
    # What prepare_data.py of the original writes.
    text = "".join(f"{p}\t{v}\t{c.strip()}\t{f.strip()}\n" for p, v, c, f in pairs)
    for folder in (official, write({"rqe_train.txt": text, "rqe_test.txt": text}, "converted")):
        dataset = read("RQE", folder, legacy="yes")
        train = dataset.splits["train"]
        assert (train.ids, train.texts, train.texts2) == (("pid 1", "pid 3"), ("a  long\u00a0one", "x"), ("f", "cut"))
        assert [row.item for row in dataset.rejected[:4]] == ["pid 2", "", "pid 4", "pid line"]
        assert train.texts[0].split(dataset.separator) == ["a", "", "long\u00a0one"]
        assert (dataset.options, read("RQE", folder).options) == ({"legacy": "yes"}, {})


ABSTRACTS = (
    "###1\nMETHODS\tWe measured x .\nNOISE\tdropped\nRESULTS\tIt rose |\tby 5 µg .\n\n###2:\nOBJECTIVE\tTo see .\nbare line\n"
)


def test_pubmed_unknown_labels_do_not_shift_and_no_newline_sticks_to_a_token(write: Write) -> None:
    dataset = read("PubMed20K", write({f"{name}.txt": ABSTRACTS for name in ("train", "dev", "test")}))
    train = dataset.splits["train"]
    assert train.texts == ("We measured x .", "It rose | by 5 µg .", "To see .")
    assert train.labels is not None
    assert train.labels.tolist() == [2, 3, 1]
    assert train.groups == ("1", "1", "2")
    assert [row.line for row in dataset.rejected if row.file == "train.txt"] == [3, 8]


def test_pubmed_prefers_the_version_with_digits(write: Write) -> None:
    files = {f"repo/PubMed_20k_RCT/{name}.txt": "###1\nMETHODS\tdigits 5\n" for name in ("train", "dev", "test")}
    replaced = {name.replace("_RCT/", "_RCT_numbers_replaced_with_at_sign/"): "###1\nMETHODS\t@\n" for name in files}
    assert read("PubMed20K", write(files | replaced)).splits["train"].texts == ("digits 5",)


def test_pico_splits_at_the_first_two_bars_only(write: Write) -> None:
    text = "###1\nAIM|A| To test |x| .\nPATIENTS|P|Forty adults .\nCONCLUSIONS|C|Yes .\nBAD|Z|no\n"
    dataset = read("PICO", write({f"{name}.txt": text for name in ("train", "dev", "test")}))
    assert dataset.splits["dev"].texts == ("To test |x| .", "Forty adults .", "Yes .")
    assert dataset.label_names == ("A", "P", "I", "O", "M", "R", "C")
    assert len(dataset.rejected) == 3


def test_vaccinesa_joins_on_the_tweet_id_whatever_the_order(write: Write) -> None:
    annotation = "1\tx\tPositive\n2\tx\tNegCost\n3\tx\tNeutral\n3\tx\tPositive\n4\tx\tOther\n"
    tweets = "4\tfour\n3\ttab\there\n1\tà la une\n4\tfour\n1\tanother\n"
    dataset = read("VaccineSA", write({"AnnotationResults/TweetsAnnotation.txt": annotation, "tweets.txt": tweets}))
    split = dataset.splits["all"]
    assert dict(zip(split.ids, split.texts, strict=True)) == {"1": "à la une", "3": "tab here"}
    assert split.labels is not None
    assert split.labels.tolist() == [0, 1]
    assert any("1 of 4 annotated tweets have no text" in note for note in dataset.notes)
    assert [(row.file, row.line, row.item) for row in dataset.rejected] == [
        ("tweets.txt", 5, "1"), ("TweetsAnnotation.txt", 4, "3"), ("TweetsAnnotation.txt", 5, "4"),
    ]  # fmt: skip
    assert dataset.rejected[0].reason == "a second, different text for this tweet"


def test_vaccinesa_reads_the_joined_layout_whose_ids_are_all_one(write: Write) -> None:
    split = read("ClinicalSA", write({"train.txt": "9\tPositive\tgood\n9\tNegSafety\tbad\n"})).splits["all"]
    assert split.texts == ("good", "bad")
    assert len(set(split.ids)) == 2


def test_citationsa_keeps_alignment_around_a_bad_row(write: Write) -> None:
    dataset = read("CitationSA", write({"train.txt": b"positive\tgood [C]\nbad\trow\nnegative\tn\xe9 [C]\n"}))
    split = dataset.splits["all"]
    assert split.texts == ("good [C]", "né [C]")
    assert split.labels is not None
    assert split.labels.tolist() == [0, 2]
    assert dataset.notes == ("train.txt is not UTF-8 and was read as Latin-1",)


def bioasq(questions: list[dict[str, Any]]) -> str:
    return json.dumps({"questions": questions})


QUESTION: dict[str, Any] = {"id": "q1", "type": "yesno", "body": "Is x\ny?", "exact_answer": "Yes",
            "snippets": [{"text": "first\tsnippet"}, {"text": "second"}]}  # fmt: skip


@pytest.mark.parametrize(
    ("snippets", "expected"),
    [("first", ["first snippet"]), ("all", ["first snippet", "second"]), ("concat", ["first snippet second"])],
)
def test_bioasq_makes_pairs_of_snippets(write: Write, snippets: str, expected: list[str]) -> None:
    others: list[dict[str, Any]] = [{"id": "f", "type": "factoid", "body": "?"}, {**QUESTION, "id": "q2", "snippets": []},
              {**QUESTION, "id": "q3", "exact_answer": ["no"], "snippets": [{"text": "s"}]}]  # fmt: skip
    files = {f"golden/6B{i}_golden.json": bioasq([QUESTION] if i == 1 else []) for i in range(1, 6)}
    folder = write(files | {"BioASQ-trainingDataset6b.json": bioasq([QUESTION, *others])})
    dataset = read("BioASQ", folder, snippets=snippets)
    train = dataset.splits["train"]
    assert train.texts2 == (*expected, "s")
    assert set(train.texts) == {"Is x y?"}
    assert train.labels is not None
    assert train.labels.tolist() == [1] * len(expected) + [0]
    assert train.groups == ("q1",) * len(expected) + ("q3",)
    assert len(dataset.splits["test"]) == len(expected)
    assert [row.item for row in dataset.rejected] == ["q2"]


def test_bioasq_names_a_missing_test_batch_and_a_wrong_shape(write: Write) -> None:
    folder = write({"BioASQ-trainingDataset6b.json": bioasq([QUESTION])})
    with pytest.raises(DataMissingError, match=r"; 6b lacks 6B1_golden\.json, 6B2"):
        read("BioASQ", folder)
    with pytest.raises(DataError, match="expected an object"):
        read("BioASQ", write(dict.fromkeys(("training6b.json", *(f"6B{i}_golden.json" for i in range(1, 6))), "[1]"), "other"))


def test_bioasq_refuses_two_files_of_one_name_and_rejects_questions_without_an_answer(write: Write) -> None:
    broken = [{**QUESTION, "id": "q2", "body": None}, {**QUESTION, "id": "q3", "exact_answer": ["yes", "no"]}]
    golden = {f"6B{i}_golden.json": bioasq([{**QUESTION, "id": f"test {i}"}]) for i in range(1, 6)}
    files = {"training6b.json": bioasq([QUESTION, *broken]), "notes.json": "[]"}
    found = read("BioASQ", write(golden | files))
    said = "a yes/no question needs a body and an exact_answer"
    assert [str(row) for row in found.rejected] == [f"training6b.json: {item}: {said}" for item in ("q2", "q3")]
    with pytest.raises(DataError, match=r"two files are called 6B2_golden\.json; keep one"):
        read("BioASQ", write({"copy/6B2_golden.json": "{}"}))


def test_bioasq_text_layout(write: Write) -> None:
    folder = write({"BioASQ_train.txt": "q?\tsnippet\tyes\nq2?\tno answer\n", "BioASQ_test.txt": "q3?\ts\tNO\n"})
    dataset = read("BioASQ", folder)
    assert [len(split) for split in dataset.splits.values()] == [1, 1]
    assert dataset.rejected[0].line == 2


def test_bioc_reads_ys_and_no_with_claims_over_several_lines(write: Write) -> None:
    xml = """<CORPUS><REVIEW REVIEW_PMID="1">
<CLAIM QUESTION="Does x help?" ASSERTION="YS" PMID="2" TYPE="T">X
helped.</CLAIM>
<CLAIM QUESTION="Does x help?" ASSERTION="NO" PMID="3">It did not.</CLAIM><CLAIM ASSERTION="NO">?</CLAIM>
</REVIEW></CORPUS>"""
    dataset = read("BioC", write({"corpus.xml": xml}))
    split = dataset.splits["all"]
    assert split.texts2 == ("X helped.", "It did not.")
    assert split.labels is not None
    assert split.labels.tolist() == [1, 0]
    assert split.groups == ("Does x help?",) * 2
    assert dataset.rejected[0].line == 4


def test_bioc_short_rows_of_the_text_layout_do_not_shift(write: Write) -> None:
    dataset = read("BioC", write({"train.txt": "q1\tclaim one\tYS\nq2 with a lost rest\nq3\tclaim three\tNO\n"}))
    split = dataset.splits["all"]
    assert split.labels is not None
    assert list(zip(split.texts, split.texts2 or (), split.labels.tolist(), strict=True)) == [
        ("q1", "claim one", 1),
        ("q3", "claim three", 0),
    ]


def test_clinicalsts_parts_and_score_checks(write: Write) -> None:
    files = {"clinicalSTS.train.txt": " a \tb\t3.5\n", "clinicalSTS.test.txt": "c\td\t0 \ne\tf\tnan\ng\th\tfour\n"}
    folder = write(files)
    test = read("ClinicalSTS", folder)
    assert list(test.splits) == ["test"]
    assert [row.line for row in test.rejected] == [2, 3]
    both = read("ClinicalSTS", folder, part="all")
    assert {name: split.texts for name, split in both.splits.items()} == {"train": ("a",), "test": ("c",)}


def test_sts_layout_needs_the_tab_that_the_download_script_lost(write: Write) -> None:
    inputs, gold = "one two\na\tb\nc\td\ne\tf\n", "1\n2.5\n\n3\n"
    dataset = read("BIOSSES", write({"STS.input.BIOSSES.txt": inputs, "STS.gs.BIOSSES.txt": gold}))
    split = dataset.splits["all"]
    assert split.texts == ("a", "e")
    assert split.scores is not None
    assert split.scores.tolist() == [2.5, 3.0]
    assert "1 tab-separated field(s) where 2 are expected" in str(dataset.rejected[0])
    clinical = write({"STS.input.clinical-STS.txt": inputs, "STS.gs.clinical-STS.txt": gold}, "clinical")
    found = read("ClinicalSTS", clinical)
    assert (found.options, found.splits["all"].texts2) == ({"part": "all"}, ("b", "f"))
    assert found.notes[0] == "the STS.input layout does not say which pairs are test pairs: all are scored"


def test_scores_beside_pairs_belong_together_by_line(write: Write) -> None:
    pairs = "a\tb\nc\td\ne\tf\n"
    for number, (gold, texts, rejected, notes) in enumerate((
        ("1\n2\n", ("a", "c"), ["STS.input.BIOSSES.txt:3: no line 3 in STS.gs.BIOSSES.txt"], ()),
        ("1\n\n3\n4\n\n", ("a", "e"), ["STS.gs.BIOSSES.txt:4: no line 4 in STS.input.BIOSSES.txt"],
         ("1 pair(s) of STS.input.BIOSSES.txt have no gold score and are left out, as in SentEval",)),
    )):  # fmt: skip
        found = read("BIOSSES", write({"STS.input.BIOSSES.txt": pairs, "STS.gs.BIOSSES.txt": gold}, str(number)))
        assert found.splits["all"].texts == texts
        assert ([str(row) for row in found.rejected], found.notes) == (rejected, notes)


def row(*cells: str) -> str:
    return "<w:tr>" + "".join(f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in cells) + "</w:tr>"


def table(*rows: str) -> bytes:
    return docx(f"<w:tbl>{''.join(rows)}</w:tbl>")


def test_biosses_word_documents_join_on_the_pair_number(write: Write) -> None:
    pairs = table(row("", "Sentence 1", "Sentence 2"), row("1 ", "a", "b"), row("2", "c", "d"), row("3", "e", "f"))
    ratings = table(row("No", *"ABCDE"), row("2", *"01234"), row("1", *"44444"), row("9", *"00000"),
                    row("2", *"01234"), row("2", *"01233"))  # fmt: skip
    dataset = read("BIOSSES", write({"x/Annotation-Pairs.docx": pairs, "x/Annotator-Scores.docx": ratings}))
    split = dataset.splits["all"]
    assert split.scores is not None
    assert dict(zip(split.ids, split.scores.tolist(), strict=True)) == {"pair 1": 4.0, "pair 2": 2.0}
    assert [str(row) for row in dataset.rejected] == [
        "Annotator-Scores.docx:6: pair 2: this pair is rated before, and otherwise",
        "Annotation-Pairs.docx:4: pair 3: no ratings in Annotator-Scores.docx",
    ]
    wrong = write({"Annotation-Pairs.docx": table(row("1", "2")), "Annotator-Scores.docx": ratings}, "wrong")
    with pytest.raises(DataError, match="one table of 3 columns"):
        read("BIOSSES", wrong)


def test_biosses_tsv_copy(write: Write) -> None:
    header = "sentence_id\tsentence_1\tsentence_2\t" + "\t".join(f"annotator_{c}" for c in "abcde")
    dataset = read("BIOSSES", write({"biosses.tsv": header + "\n1\ta\tb\t0\t1\t2\t3\t4\n2\tc\td\t0\t1\t2\t3\tx\n"}))
    assert dataset.splits["all"].ids == ("1",)
    assert "are not 5 numbers" in dataset.rejected[0].reason
    with pytest.raises(DataError, match=r"has the columns id, sentence1, which do not make two texts and their score"):
        read("BIOSSES", write({"biosses.tsv": "id\tsentence1\n1\ta\n"}, "short"))


def test_a_split_without_a_readable_row_is_an_error(write: Write) -> None:
    with pytest.raises(DataError, match=r"no readable row.*unknown label 'nope'"):
        read("CitationSA", write({"train.txt": "nope\ttext\n"}))


@pytest.mark.parametrize("name", TASK_GROUPS["sentence"])
def test_an_empty_folder_is_missing_data(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match=f"{name}: .* holds no file"):
        read(name, tmp_path)


def test_a_header_row_is_called_a_header(write: Write) -> None:
    rows = "".join(f"{label}\ttext {label}\n" for label in ("positive", "neutral", "negative"))
    (rejected,) = read("CitationSA", write({"train.txt": f"Label\tsentence\n{rows}"})).rejected
    assert str(rejected) == "train.txt:1: a header row, not data: the column is called 'Label'; take the line out"
    folder = write({"clinicalSTS.test.txt": "first\tsecond\tscore\na\tb\t1\nc\td\tlabel\n"}, "sts")
    assert [row.reason for row in read("ClinicalSTS", folder).rejected] == [
        "a header row, not data: the column is called 'score'; take the line out",
        "the score 'label' is not a finite number",
    ]


def test_clinicalsts_finds_the_pairs_beside_a_file_of_scores(write: Write) -> None:
    named = {"n2c2_2019_test.txt": "a\tb\nc\td\n", "n2c2_test_gs.txt": "1\n4.5\n", "about_test.pdf": "x"}
    dataset = read("ClinicalSTS", write(named))
    split = dataset.splits["test"]
    assert (split.texts, split.texts2) == (("a", "c"), ("b", "d"))
    assert split.scores is not None
    assert split.scores.tolist() == [1.0, 4.5]
    assert dataset.edition == "n2c2-2019"
    # The challenge's own names come first, and of two others none is preferred by chance.
    official = {"clinicalSTS.test.txt": "e\tf\n", "other_test.txt": "x\ty\n", "clinicalSTS.test.gs.txt": "2\n"}
    assert read("ClinicalSTS", write(official, "official")).splits["test"].texts == ("e",)


@pytest.mark.parametrize(("rows", "edition"), [(370, ""), (371, "n2c2-2019"), (457, "n2c2-2019"), (458, "")])
def test_clinicalsts_of_2019_is_known_by_its_size(write: Write, rows: int, edition: str) -> None:
    assert read("ClinicalSTS", write({"clinicalSTS.test.txt": "a\tb\t1\n" * rows})).edition == edition


def test_rows_are_added_whole_or_not_at_all() -> None:
    file = Path("f.txt")
    builders = DatasetBuilder("pairs", Path(), labels=("no", "yes"), pairs=True), DatasetBuilder("texts", Path())
    labelled, scored = (builder.split("all") for builder in builders)
    labelled.add(file, 2, " a  b ", "c", label=" YES ", item="x", group="f")
    labelled.add(file, 3, "a", "c", label="maybe")
    labelled.add(file, 4, "a", None, label="no")
    labelled.add(file, 5, "a", "c", label="no", item="x")
    labelled.add(file, None, "", "c", label="no", group="g")
    scored.add(file, 1, "a", score="1e1")
    for wrong in ("1_0", "nan", "inf", "", None):
        scored.add(file, 1, "a", score=wrong)
    assert [str(row) for builder in builders for row in builder.rejected] == [
        "f.txt:3: unknown label 'maybe'; known: no, yes",
        "f.txt:4: the second text is missing",
        "f.txt:5: x: this id occurs before",
        *(f"f.txt:1: the score {wrong!r} is not a finite number" for wrong in ("1_0", "nan", "inf", "", None)),
    ]
    assert (len(labelled), len(scored)) == (2, 1)
    split = labelled.build()
    assert (split.ids, split.texts, split.texts2) == (("x", "f.txt"), ("a b", ""), ("c", "c"))
    assert (split.groups, split.scores) == (("f", "g"), None)
    assert split.labels is not None
    assert split.labels.tolist() == [1, 0]
    other = scored.build()
    assert (other.ids, other.texts2, other.labels, other.groups) == (("f.txt:1",), None, None, None)
    assert other.scores is not None
    assert other.scores.tolist() == [10.0]


@pytest.mark.parametrize(
    ("cell", "number"),
    [(3, 3.0), ("1e3", 1000.0), (" -2.5 ", -2.5), (True, None), (False, None), (10**400, None), ([1], None), ("1_0", None),
     (float("nan"), None), ("-inf", None), ("", None), (None, None)],
)  # fmt: skip
def test_a_number_is_finite_and_written_as_one(cell: Any, number: float | None) -> None:
    assert finite_number(cell) == number


def test_texts_are_hashed_behind_their_lengths() -> None:
    content = b"".join(len(each).to_bytes(8, "little") + each for each in (b"a", "bé".encode(), b""))
    assert hash_texts(["a", "bé", ""]) == hashlib.sha256(content).hexdigest()


def test_lines_of_too_few_fields_are_rejected_with_what_is_expected(write: Write) -> None:
    for name, files, expected in (
        ("CitationSA", {"train.txt": "positive\ta\n\nneutral text\n"},
         ["train.txt:3: 1 tab-separated field(s) where 2 are expected: label TAB text"]),
        ("PubMed20K", {f"{part}.txt": "###1\nRESULTS\ta\nno tab\n" for part in ("train", "dev", "test")},
         [f"{part}.txt:3: 1 field(s) where 2 separated by a tab are expected" for part in ("train", "dev", "test")]),
        ("PICO", {f"{part}.txt": "###1\nX|A|a\nX|A\n" for part in ("train", "dev", "test")},
         [f"{part}.txt:3: 2 field(s) where 3 separated by '|' are expected" for part in ("train", "dev", "test")]),
    ):  # fmt: skip
        assert [str(row) for row in read(name, write(files, name)).rejected] == expected


def test_a_split_has_groups_for_all_rows_or_for_none() -> None:
    def groups(*given: str | None) -> tuple[str, ...] | None:
        builder = DatasetBuilder("one", Path(), labels=("a",)).split("all")
        for number, group in enumerate(given):
            builder.add(Path("f"), number, "text", label="a", group=group)
        return builder.build().groups

    assert (groups("p", "q", "p"), groups(None, None), groups()) == (("p", "q", "p"), None, None)
    with pytest.raises(DataError, match="of 3 rows 1 have no group; all rows need one, or none"):
        groups("p", None, "q")


@pytest.mark.parametrize(
    ("n", "said"),
    [(0, "it is empty"), (5, "it holds 0, 1, 2, 3, 4"), (7, "it holds 0, 1, 2, 3, 4 and 2 more")],
)
def test_a_missing_file_is_named_with_what_is_there(write: Write, n: int, said: str) -> None:
    folder = write({str(i): "" for i in range(n)} or {"x": ""})
    if not n:
        (folder / "x").unlink()
    with pytest.raises(DataMissingError, match=rf"T: .* holds no file a or b; {said}$"):
        DatasetBuilder("T", folder).require("a", "b")


@pytest.mark.parametrize(("empty", "shown"), [(1, "f:0"), (3, "f:0, f:1, f:2"), (5, "f:0, f:1, f:2, ...")])
def test_empty_texts_are_kept_and_the_first_three_named(empty: int, shown: str) -> None:
    builder = DatasetBuilder("T", Path(), labels=("a",))
    for line in range(6):
        builder.split("all").add(Path("f"), line, "" if line < empty else "x", label="a")
    assert builder.build().notes == (f"{empty} empty text(s) kept in all: {shown}",)
