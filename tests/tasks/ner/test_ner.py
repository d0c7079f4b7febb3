"""Corpora of named entities: strict reading, the data set's contract, and the way from words to stored scores."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.contracts import Dataset, Embeddings, RejectedRow, Split
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.errors import DataError, DataMissingError, ProbeError, SettingsError
from medsenteval.registry import select_tasks, task
from medsenteval.running.evaluation import evaluate
from medsenteval.running.result_store import ResultStore
from medsenteval.running.suite import Suite
from medsenteval.settings import Settings
from medsenteval.statistics import f1_from_counts
from medsenteval.support.tables import BLANK, Table, table_of_columns
from medsenteval.tasks.ner.corpus import TaggedDataset, TaggedSentences, digits_as_zero, table_sentences
from medsenteval.tasks.ner.tagging_evaluation import (
    PADDING,
    RUNS,
    UNKNOWN,
    WordTable,
    _side_by_side,
    capitals_of,
    dictionary_tags,
)
from medsenteval.tasks.reading.column_roles import Columns
from medsenteval.words.tagging.entity_spans import Rate, rate_interval
from medsenteval.words.tagging.tag_schemes import seen_transitions, tag_names
from tests.conftest import CountingEncoder
from tests.words.tagging.conll import conlleval_counts

GOOD = "The\tO\nliver\tB-Anatomy\nlobe\tI-Anatomy\n\nIt\tO\ngrew\tO\n\n"
Write = Callable[..., Path]


def read(folder: Path, **options: str) -> TaggedDataset:
    dataset = load_dataset(task("AnatEM"), folder.parent, Settings(allow_incomplete=True, task_options={"AnatEM": options}))
    assert isinstance(dataset, TaggedDataset)
    return dataset


@pytest.fixture
def corpus(write: Write) -> Callable[..., Path]:
    """Write a corpus whose train file is given, devel and test being good."""

    def make(train: str | bytes = GOOD) -> Path:
        return write({"train.tsv": train, "devel.tsv": GOOD, "test.tsv": GOOD}, "AnatEM")

    return make


def test_the_group_has_the_corpora() -> None:
    names = ["AnatEM", "BC2GM", "BC4CHEMD", "JNLPBA", "NCBI-disease", "BC5CDR", "Linnaeus"]
    assert [found.name for found in select_tasks("ner")] == names
    assert task("chemdner").name == "BC4CHEMD"


def test_sentences_come_out_whole(corpus: Callable[..., Path]) -> None:
    dataset = read(corpus())
    train = dataset.splits["train"]
    assert train.tokens == (("The", "liver", "lobe"), ("It", "grew"))
    assert train.tags == ((0, 1, 3), (0, 0))
    assert train.texts == ("The liver lobe", "It grew")
    assert train.ids == ("train.tsv:1", "train.tsv:5")
    assert train.offsets.tolist() == [0, 3, 5]
    assert dataset.files == ("train.tsv", "devel.tsv", "test.tsv")
    assert set(dataset.all_texts()) == {"The", "the", "liver", "lobe", "It", "it", "grew"}


@pytest.mark.parametrize("train", [GOOD.rstrip(), GOOD.replace("\n", "\r\n"), "\n\n" + GOOD.replace("\n\n", "\n \n\n")])
def test_line_ends_and_blank_lines_do_not_matter(corpus: Callable[..., Path], train: str) -> None:
    assert read(corpus(train)).splits["train"].tokens == (("The", "liver", "lobe"), ("It", "grew"))


def test_document_marks_are_skipped_and_counted(corpus: Callable[..., Path]) -> None:
    dataset = read(corpus("-DOCSTART-\tO\n\n" + GOOD.rstrip() + "\n-DOCSTART-\tO\n" + GOOD))
    assert len(dataset.splits["train"]) == 4
    assert "2 lines -DOCSTART- skipped in train.tsv" in dataset.notes
    assert "-DOCSTART-" not in set(dataset.all_texts())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("liver", "expected token TAB tag, got 'liver'"),
        ("liver B-Anatomy", "expected token TAB tag"),
        ("liver\tO\tO", "expected token TAB tag"),
        ("\tO", "expected token TAB tag"),
        ("liver lobe\tO", "expected token TAB tag"),
        ("liver\tO ", "expected token TAB tag"),
        ("liver\tB-Gene", "unknown entity type 'Gene'; known: Anatomy"),
        ("liver\tI-Anatomy", "I-Anatomy continues nothing"),
        ("liver\tX", "none of IOB2"),
    ],
)
def test_a_bad_line_rejects_its_sentence_with_place_and_reason(corpus: Callable[..., Path], line: str, reason: str) -> None:
    dataset = read(corpus(f"{GOOD}A\tO\n{line}\n\nB\tO\n"))
    assert [tokens[0] for tokens in dataset.splits["train"].tokens] == ["The", "It", "B"]
    (rejected,) = dataset.rejected
    assert (rejected.file, rejected.line, rejected.item) == ("train.tsv", 9, "sentence of lines 8-9")
    assert reason in rejected.reason
    assert any("1 row(s) rejected" in note for note in dataset.notes)


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [("IOB1", "I I B O"), ("IOB2", "B I B O"), ("IOBES", "B E S O"), ("BILOU", "B L U O")],
)
@pytest.mark.parametrize("kind", ["-Anatomy", "-anatomy", ""])
def test_each_file_is_read_in_its_own_scheme(
    corpus: Callable[..., Path], write: Write, scheme: str, tags: str, kind: str
) -> None:
    words = ["liver", "lobe", "lung", "grew"]
    lines = [f"{word}\t{tag}{kind if tag != 'O' else ''}" for word, tag in zip(words, tags.split(), strict=True)]
    folder = corpus("\n".join(lines) + "\n")
    write({"devel.tsv": "a\tO\n"}, "AnatEM")
    dataset = read(folder)
    assert dataset.splits["train"].tags == ((1, 3, 4, 0),)
    assert dataset.rejected == ()
    assert (f"train.tsv is read as {scheme}" in dataset.notes) == (scheme != "IOB2")
    write({"test.tsv": "a\tO\n"}, "AnatEM")
    assert read(folder, scheme=scheme).splits["train"].tags == dataset.splits["train"].tags
    if scheme != "IOB2":
        with pytest.raises(DataError, match=r"no readable sentence in .*train\.tsv; the first rejected: train\.tsv:\d: "):
            read(folder, scheme="IOB2")


def test_one_wrong_sentence_does_not_change_the_scheme(corpus: Callable[..., Path]) -> None:
    dataset = read(corpus(GOOD + GOOD + "liver\tS-Anatomy\n"))
    assert (len(dataset.splits["train"]), len(dataset.rejected)) == (4, 1)
    assert "the tag 'S-Anatomy' is none of IOB2" in dataset.rejected[0].reason


@pytest.mark.parametrize("columns", ["{0}\t{1}", "{0} {1}", "{0}\tNN\tB-NP\t{1}", "{0} NN B-NP {1}", "{0}\tNN\t{1}"])
def test_tokens_are_the_first_and_tags_the_last_of_any_columns(corpus: Callable[..., Path], columns: str) -> None:
    lines = [columns.format(*line.split("\t")) if line else "" for line in GOOD.splitlines()]
    dataset = read(corpus("\n".join(lines)))
    assert dataset.splits["train"].tokens == (("The", "liver", "lobe"), ("It", "grew"))
    assert dataset.splits["train"].tags == ((0, 1, 3), (0, 0))
    assert not dataset.rejected
    # A line of other columns rejects its sentence, and no other.
    broken = read(corpus("\n".join([*lines, columns.format("odd", "x") + "\tmore words", ""])))
    assert [row.line for row in broken.rejected] == [8]


@pytest.mark.parametrize("content", ["", "\n\n", "-DOCSTART-\tO\n"])
def test_a_file_without_sentences_is_an_error(corpus: Callable[..., Path], content: str) -> None:
    with pytest.raises(DataError, match=r"AnatEM: no readable sentence in .*train\.tsv; expected lines of token TAB tag"):
        read(corpus(content))


def rows_of(columns: dict[str, list[Any]], classes: tuple[str, ...] = ()) -> tuple[dict[str, Any], list[str]]:
    """Read a table as sentences, and return them by split with what was rejected."""
    rejected: list[RejectedRow] = []
    table = replace(table_of_columns("t", columns), classes={"tag": classes})
    roles = Columns("tagging", {name: name for name in columns})
    return dict(table_sentences("all", table, roles, rejected)), list(map(str, rejected))


def test_a_tables_rows_of_tokens_are_parted_into_sentences() -> None:
    tokens = {"token": ["a", "b", "c", "d", "e"], "tag": list("OOOOO")}
    lines = [(number, f"{token}\tO") for number, token in enumerate("abcde", start=1)]
    assert rows_of(tokens) == ({"all": [lines]}, [])
    # A name stands on a sentence's first row, or on each of its rows; a new one begins a sentence.
    for named in (["1", None, "2", None, None], ["1", "1", "2", "2", "2"]):
        assert rows_of({**tokens, "sentence": named}) == ({"all": [lines[:2], lines[2:]]}, [])
    numbered: dict[str, list[Any]] = {"token": ["a", "b", "c", "d"], "tag": [0, 1, 2, -1]}
    assert rows_of(numbered, ("O", "B-X"))[0]["all"] == [[(1, "a\tO"), (2, "b\tB-X"), (3, "c\t2"), (4, "d\t-1")]]
    parted = {**tokens, "split": ["train", "dev", "test", "train", "test"], "sentence": list("12345")}
    assert rows_of(parted)[0] == {"train": [[lines[0]], [lines[3]]], "dev": [[lines[1]]], "test": [[lines[2]], [lines[4]]]}
    with pytest.raises(DataError, match=r"t: row 2: column 'split': neither train, dev nor test"):
        rows_of({**tokens, "split": ["train", "x", "test", "train", "test"]})


def test_a_tables_rows_of_sentences_are_read_whole_or_rejected() -> None:
    listed: dict[str, list[Any]] = {
        "token": [["a", " b"], ["c"], [], ["d", "e f", None], ["g"]],
        "tag": [["O", " B-X "], ["O", "O"], [], ["O", "O", "O"], [None]],
    }
    sentences, rejected = rows_of(listed)
    assert sentences == {"all": [[(1, "a\tO"), (1, "b\tB-X")], [(4, "d\tO"), (4, "\tO"), (4, "\tO")], [(5, "g\t")]]}
    assert rejected == [f"t:{row}: tokens and tags are not as many, or none" for row in (2, 3)]


def test_rows_that_cannot_be_read_reject_the_sentence_that_they_may_stand_in() -> None:
    given: list[tuple[int, Any]] = [
        (1, "torn"), (2, ("a", "O")), (3, BLANK), (4, "torn"), (5, ("b", "O")), (6, BLANK), (7, ("c", "O")), (8, "torn"),
    ]  # fmt: skip
    table = Table("t", ("token", "tag"), lambda names: iter(given))
    found = table_sentences("all", table, Columns("tagging", {"token": "token", "tag": "tag"}), [])
    assert found == {"all": [[(1, "torn"), (2, "a\tO")], [(4, "torn"), (5, "b\tO")], [(7, "c\tO"), (8, "torn")]]}
    lists: list[tuple[int, Any]] = [(1, (["a"], ["O"])), (2, "torn"), (3, (["b"], ["O"]))]
    table = Table("t", ("token", "tag"), lambda names: iter(lists))
    found = table_sentences("all", table, Columns("tagging", {"token": "token", "tag": "tag"}), [])
    assert found == {"all": [[(1, "a\tO")], [(2, "torn")], [(3, "b\tO")]]}


def test_jnlpba_without_its_train_file_says_where_to_get_it(write: Write) -> None:
    root = write({"JNLPBA/devel.tsv": "a\tB-DNA\n", "JNLPBA/test.tsv": "a\tB-DNA\n"})
    with pytest.raises(DataMissingError, match=r"holds no file train\.tsv.*MTL-Bioinformatics-2016.*fetch that one"):
        load_dataset(task("JNLPBA"), root, Settings())
    outcome = CliRunner().invoke(main, ["run", "-t", "JNLPBA", "-d", str(root), "-o", str(root / "results")])
    assert outcome.exit_code != 0
    assert "train.tsv" in outcome.stderr


def test_other_sizes_than_published_are_noted(corpus: Callable[..., Path]) -> None:
    assert "train has 2 rows, 5,861 are published" in read(corpus()).notes


def test_an_unknown_option_value_is_refused(corpus: Callable[..., Path]) -> None:
    with pytest.raises(SettingsError, match="preset is 'best'; it can be paper, repo"):
        read(corpus(), preset="best")


def test_the_fingerprint_covers_tokens_and_tags(corpus: Callable[..., Path]) -> None:
    prints = {read(corpus(text)).fingerprint for text in (
        GOOD,
        GOOD.replace("I-Anatomy", "B-Anatomy"),
        GOOD.replace("liver", "lung"),
        GOOD.replace("lobe\tI-Anatomy\n\nIt", "lobe\tI-Anatomy\nIt"),
    )}  # fmt: skip
    assert len(prints) == 4
    assert read(corpus()).fingerprint in prints


def test_a_limit_keeps_tokens_and_tags_together(corpus: Callable[..., Path]) -> None:
    dataset = load_dataset(task("AnatEM"), corpus().parent, Settings(limit=1, allow_incomplete=True))
    assert isinstance(dataset, TaggedDataset)
    train = dataset.splits["train"]
    assert (len(train), len(train.tokens)) == (1, 1)
    assert train.texts[0] == " ".join(train.tokens[0])
    assert len(train.tokens[0]) == len(train.tags[0])


@pytest.mark.parametrize(
    ("text", "tags", "said"),
    [("a", ((0, 0),), "sentence 1 has 1 tokens and 2 tags"), ("", ((),), "sentence 1 has 0 tokens and 0 tags"),
     ("a", (), "1 sentences and 0 lists of tags")],
)  # fmt: skip
def test_columns_that_do_not_fit_are_refused(text: str, tags: tuple[tuple[int, ...], ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        TaggedSentences(ids=("1",), texts=(text,), tags=tags)


@pytest.mark.parametrize(
    ("token", "form"),
    [("IL-2", "il0"), ("3,500.5", "0"), ("-0.7", "0"), ("CD4+", "cd0+"), ("Liver", "liver"), ("p53/p73", "p0/p0")],
)
def test_numbers_become_zero(token: str, form: str) -> None:
    assert digits_as_zero(token) == form


def test_the_word_table_knows_unknown_words_and_shares_rows() -> None:
    texts = ["Liver", "liver", "1999", "0", "xyzzy"]
    matrix = np.array([[1, 2], [1, 2], [0, 0], [3, 4], [0, 0]], dtype=np.float32)
    embeddings = Embeddings(matrix, {text: row for row, text in enumerate(texts)})
    table = WordTable.of(["Liver", "1999", "liver", "xyzzy", "Liver"], embeddings, scale="raw")
    assert table.row_of == {"Liver": 2, "liver": 2, "1999": 3, "xyzzy": UNKNOWN}
    assert table.vectors.tolist() == [[0, 0, 1, 0], [0, 0, 0, 1], [1, 2, 0, 0], [3, 4, 0, 0]]
    assert table.vectors[PADDING].tolist() != table.vectors[UNKNOWN].tolist()
    assert table.report(["xyzzy", "Liver"]) == {"distinct_share": 0.25, "test_tokens_share": 0.5}
    unit = WordTable.of(["Liver", "1999"], embeddings, scale="unit").vectors[2:, :-2]
    assert np.mean(np.square(unit)) == pytest.approx(1)
    assert unit[0, 1] / unit[0, 0] == pytest.approx(2)


def test_an_encoder_that_knows_nothing_leaves_only_the_marks() -> None:
    embeddings = Embeddings(np.zeros((2, 3), dtype=np.float32), {"Ab": 0, "ab": 1})
    table = WordTable.of(["Ab", "ab"], embeddings, scale="unit")
    assert table.vectors.tolist() == [[0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]


def test_capitals() -> None:
    assert capitals_of(["liver", "DNA", "Liver", "mRNA", "p53", "A"]).tolist() == [0, 1, 2, 3, 0, 1]


def test_the_dictionary_gives_each_word_its_most_frequent_tag() -> None:
    tags = np.array([4, 4, 0, 1, 3, 0], dtype=np.int16)  # S S O, B E, O
    predicted = dictionary_tags(["p53", "p53", "p53", "bone", "marrow", "a"], tags, ["p53", "marrow", "bone", "b"])
    assert predicted.tolist() == [1, 2, 1, 0]  # as IOB2: B, I, B, O


def test_a_data_set_of_another_kind_is_refused(counting: CountingEncoder) -> None:
    other = Dataset("AnatEM", {"test": Split(ids=("1",), texts=("a",))})
    embeddings = Embeddings(np.ones((1, 2), dtype=np.float32), {"a": 0})
    with pytest.raises(DataError, match="needs sentences of tokens and tags, not a Dataset"):
        task("AnatEM").evaluate(task("AnatEM"), other, embeddings, Settings())


def test_the_sample_runs_and_its_scores_add_up(tmp_path: Path) -> None:
    """From the command line to the stored result; F1 recomputed from the stored spans by conlleval's rules."""
    arguments = ["run", "-t", "JNLPBA", "-e", "lexical,dimension=64", "-o", str(tmp_path), "--quiet"]
    outcome = CliRunner().invoke(main, arguments)
    assert outcome.exit_code == 0, outcome.output
    assert "JNLPBA: 20 lines -DOCSTART- skipped in train.tsv" in outcome.output
    (file,) = tmp_path.rglob("JNLPBA*.json")
    stored = json.loads(file.read_text("utf-8"))
    items, details = stored["items"], stored["details"]
    split = load_dataset(task("JNLPBA"), sample_root(), Settings()).splits["test"]
    assert isinstance(split, TaggedSentences)
    names = tag_names(task("JNLPBA").labels)
    gold = [[names[tag] for tag in tags] for tags in split.tags]
    f1 = []
    assert [name for name in items if name.startswith("predicted")] == ["predicted_1", "predicted_2", "predicted_3"]
    for run in range(1, RUNS + 1):
        predicted = [_tags_of(spans, len(tags)) for spans, tags in zip(items[f"predicted_{run}"], gold, strict=True)]
        counts = conlleval_counts(gold, predicted)
        assert counts == list(zip(*(items[f"{column}_{run}"] for column in ("tp", "fp", "fn")), strict=True))
        f1.append(100 * float(f1_from_counts(np.sum(counts, axis=0))))
    assert details["runs"]["f1"] == pytest.approx(f1)
    totals = [[sum(items[f"{column}_{run}"]) for column in ("tp", "fp", "fn")] for run in range(1, RUNS + 1)]
    expected: dict[Rate, list[float]] = {
        "f1": [200 * tp / (2 * tp + fp + fn) for tp, fp, fn in totals],
        "precision": [100 * tp / (tp + fp) for tp, fp, _ in totals],
        "recall": [100 * tp / (tp + fn) for tp, _, fn in totals],
    }
    by_run = np.array([[items[f"{column}_{run}"] for column in ("tp", "fp", "fn")] for run in range(1, RUNS + 1)])
    by_run = by_run.transpose(0, 2, 1)
    assert details["runs"] == {rate: pytest.approx(values) for rate, values in expected.items()}
    for metric, (rate, values) in zip(stored["metrics"], expected.items(), strict=True):
        assert (metric["name"], metric["value"], metric["baseline"]) == (rate, pytest.approx(np.mean(values)), 0.0)
        low, high = rate_interval(by_run, rate, confidence=0.95)
        assert (metric["low"], metric["high"]) == pytest.approx((100 * low, 100 * high))
        assert (metric["unit"], metric["n"]) == ("percent", len(gold))
    n_train = len(load_dataset(task("JNLPBA"), sample_root(), Settings()).splits["train"])
    assert stored["senteval"] == {"f1": round(float(np.mean(f1)), 2), "ntrain": n_train, "ntest": len(gold)}
    assert (stored["n_train"], stored["n_test"]) == (n_train, len(gold))
    assert [_tags_of(spans, len(tags)) for spans, tags in zip(items["gold"], gold, strict=True)] == [
        [tag.replace("S-", "B-").replace("E-", "I-") for tag in tags] for tags in gold
    ]
    assert details["dictionary_f1"] == pytest.approx(_dictionary_f1(gold))
    assert details["by_type"] == pytest.approx({kind: _f1_of_kind(items, kind) for kind in task("JNLPBA").labels})


def _dictionary_f1(gold: list[list[str]]) -> float:
    """Return F1 of each token's most frequent IOB tag in training, of equally frequent ones the first of all tags."""
    splits, names = load_dataset(task("JNLPBA"), sample_root(), Settings()).splits, tag_names(task("JNLPBA").labels)
    order = [name.replace("S-", "B-").replace("E-", "I-") for name in names]
    assert all(isinstance(split, TaggedSentences) for split in splits.values())
    train, test = splits["train"], splits["test"]
    seen: dict[str, Counter[str]] = {}
    for tokens, tags in zip(train.tokens, train.tags, strict=True):  # type: ignore[attr-defined]
        for token, tag in zip(tokens, tags, strict=True):
            seen.setdefault(token, Counter())[order[tag]] += 1
    tagged = [
        [min(seen[token], key=lambda tag: (-seen[token][tag], order.index(tag))) if token in seen else "O" for token in tokens]
        for tokens in test.tokens  # type: ignore[attr-defined]
    ]
    return 100 * float(f1_from_counts(np.sum(conlleval_counts(gold, tagged), axis=0)))


def _f1_of_kind(items: dict[str, Any], kind: str) -> float:
    """Return F1 of one type from stored spans, as the mean over runs."""
    f1 = []
    gold = [{span for span in spans.split() if span.endswith(f":{kind}")} for spans in items["gold"]]
    for run in range(1, RUNS + 1):
        found = [{span for span in spans.split() if span.endswith(f":{kind}")} for spans in items[f"predicted_{run}"]]
        right = sum(len(one & other) for one, other in zip(gold, found, strict=True))
        f1.append(200 * right / max(sum(map(len, gold)) + sum(map(len, found)), 1))
    return float(np.mean(f1))


def _tags_of(spans: str, length: int) -> list[str]:
    """Turn "3-4:protein" back into IOB2 tags."""
    tags = ["O"] * length
    for span in spans.split():
        places, _, kind = span.partition(":")
        first, last = map(int, places.split("-"))
        tags[first : last + 1] = [f"B-{kind}", *[f"I-{kind}"] * (last - first)]
    return tags


def test_options_change_the_tagger_and_the_signature(counting: CountingEncoder) -> None:
    results = {}
    for preset, vectors, training, scale in (
        ("paper", "preset", "train", "raw"),
        ("paper", "tuned", "train", "raw"),
        ("repo", "preset", "train", "unit"),
        ("repo", "frozen", "train+devel", "unit"),
    ):
        options = {"preset": preset, "vectors": vectors, "training": training, "scale": scale}
        settings = Settings(limit=40, task_options={"AnatEM": options})
        results[preset, vectors] = evaluate(counting, "AnatEM", settings=settings, cache=False)["AnatEM"]
    assert len({result.signature for result in results.values()}) == 4
    taggers = {key: result.details["tagger"] for key, result in results.items()}
    assert [tagger["tuned"] for tagger in taggers.values()] == [False, True, True, False]
    assert [tagger["activation"] for tagger in taggers.values()] == ["hard-tanh", "hard-tanh", "relu", "relu"]
    assert (results["repo", "preset"].n_train, results["repo", "preset"].n_test) == (40, 40)
    assert (results["repo", "frozen"].n_train, results["repo", "frozen"].n_test) == (80, 40)
    assert "preset=repo|scale=unit|scheme=auto|training=train|" in results["repo", "preset"].signature
    again = Settings(limit=40, task_options={"AnatEM": {"vectors": "tuned"}})
    repeated = evaluate(counting, "AnatEM", settings=again, cache=False)["AnatEM"]
    assert repeated.items == results["paper", "tuned"].items


@pytest.mark.parametrize(("preset", "of_training"), [("paper", 0), ("repo", 1)])
def test_only_the_code_of_the_paper_takes_transitions_from_training(
    preset: str, of_training: int, counting: CountingEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def recorded(tags: Any, offsets: Any, n_types: int) -> Any:
        asked.append(n_types)
        return seen_transitions(tags, offsets, n_types)

    monkeypatch.setattr("medsenteval.tasks.ner.tagging_evaluation.seen_transitions", recorded)
    settings = Settings(limit=20, task_options={"JNLPBA": {"preset": preset, "scale": "unit"}})
    evaluate(counting, "JNLPBA", settings=settings, cache=False)
    assert asked == [len(task("JNLPBA").labels)] * of_training


def test_scores_do_not_depend_on_the_number_of_cores(counting: CountingEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for cores in (1, 3):
        monkeypatch.setattr("medsenteval.tasks.ner.tagging_evaluation.available_cores", lambda cores=cores: cores)
        results.append(evaluate(counting, "BC2GM", settings=Settings(limit=40), cache=False)["BC2GM"])
    assert results[0].items == results[1].items
    assert results[0].details == results[1].details


def test_a_stored_result_and_cached_vectors_are_used_again(counting: CountingEncoder, tmp_path: Path) -> None:
    """The engine, the cache and the store treat a corpus like any other data set."""
    suite = Suite([counting], select_tasks("AnatEM"), Settings(limit=20), store=ResultStore(tmp_path), cache=EmbeddingCache())
    first = suite.run()
    assert (len(first.results), first.reused) == (1, 0)
    n_batches = len(counting.batches)
    again = suite.run()
    assert again.reused == 1
    assert again.results[0].items == json.loads(json.dumps(first.results[0].items))
    suite.force = True
    suite.run()
    assert len(counting.batches) == n_batches


def test_a_failing_run_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medsenteval.tasks.ner.tagging_evaluation.available_cores", lambda: 3)
    stopped, all_started = [], Barrier(3)

    def run(number: int, stop: Event) -> None:
        all_started.wait(20)
        if number == 0:
            raise ProbeError("diverged")
        stopped.append(stop.wait(20))

    with pytest.raises(ProbeError, match="diverged"):
        _side_by_side(run, 3)
    assert stopped == [True, True]


def test_vectors_that_make_the_tagger_diverge_are_an_error_of_the_job(tmp_path: Path) -> None:
    def far(texts: list[str]) -> np.ndarray:
        return np.array([[1e18 * len(text), -1e18] for text in texts], dtype=np.float32)

    settings = Settings(limit=30, task_options={"AnatEM": {"preset": "repo"}})
    with pytest.raises(ProbeError, match=r"the tagger diverged in epoch 1: .* use the option scale=unit"):
        evaluate(far, "AnatEM", settings=settings, cache=False)
