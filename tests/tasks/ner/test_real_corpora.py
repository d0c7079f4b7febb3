"""The real corpora of named entities, and the tagger on them with real GloVe vectors."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from medsenteval.contracts import Embeddings
from medsenteval.datasets.locate import load_dataset
from medsenteval.datasets.manifest import manifest
from medsenteval.datasets.prepare import prepare
from medsenteval.embedding.embed import embed_texts
from medsenteval.errors import DataMissingError
from medsenteval.registry import load_encoder, task
from medsenteval.settings import Settings
from medsenteval.tasks.ner.corpus import TaggedDataset, TaggedSentences
from medsenteval.words.tagging.entity_spans import find_entities
from medsenteval.words.tagging.tag_schemes import SCHEMES, as_iob, tag_names
from tests.words.tagging.conll import in_scheme

pytestmark = pytest.mark.realdata


@cache
def read(name: str, realdata: Path, limit: int | None = None) -> TaggedDataset:
    """Read a corpus, which takes seconds, once for all tests."""
    dataset = load_dataset(task(name), realdata / "ner", Settings(limit=limit))
    assert isinstance(dataset, TaggedDataset)
    return dataset


@pytest.mark.parametrize(
    ("corpus", "tokens", "sentences", "entities"),
    [
        ("AnatEM", (153_823, 58_785, 99_976), (5_861, 2_118, 3_830), (6_946, 2_139, 4_616)),
        ("BC2GM", (355_405, 71_042, 143_465), (12_574, 2_519, 5_038), (15_197, 3_061, 6_325)),
    ],
)
def test_the_corpora_have_their_published_counts(
    realdata: Path, corpus: str, tokens: tuple[int, ...], sentences: tuple[int, ...], entities: tuple[int, ...]
) -> None:
    dataset = read(corpus, realdata)
    splits = list(dataset.splits.values())
    assert tuple(dataset.splits) == ("train", "devel", "test")
    assert tuple(len(split.all_tokens) for split in splits) == tokens
    assert tuple(map(len, splits)) == sentences
    assert tuple(len(find_entities(split.all_tags, split.offsets)) for split in splits) == entities
    assert (dataset.rejected, dataset.notes) == ((), ())


@pytest.mark.parametrize(
    ("split", "tokens", "sentences", "entities", "documents"),
    [("devel", 47_661, 1_739, 4_551, 200), ("test", 101_443, 3_856, 8_662, 404)],
)
def test_jnlpba_has_its_published_counts(
    realdata: Path, tmp_path: Path, split: str, tokens: int, sentences: int, entities: int, documents: int
) -> None:
    """The mirror has no train file, so the file at hand stands for it."""
    source = realdata / "ner" / "JNLPBA" / f"{split}.tsv"
    for name in ("train", "devel", "test"):
        (tmp_path / f"{name}.tsv").symlink_to(source)
    dataset = task("JNLPBA").read(tmp_path, {})
    found = dataset.splits[split]
    assert isinstance(found, TaggedSentences)
    # The published count of tokens includes the marks of documents.
    assert len(found.all_tokens) + documents == tokens
    assert (len(found), len(find_entities(found.all_tags, found.offsets))) == (sentences, entities)
    assert dataset.notes[0] == f"{documents} lines -DOCSTART- skipped in train.tsv"
    assert not dataset.rejected


def test_jnlpba_lacks_its_train_file_and_says_so(realdata: Path) -> None:
    with pytest.raises(
        DataMissingError,
        match=r"JNLPBA holds no file train\.tsv; no file of tokens is named train\. To get it:",
    ):
        read("JNLPBA", realdata)


@pytest.fixture(scope="module")
def anatem(realdata: Path) -> TaggedDataset:
    return read("AnatEM", realdata)


def write_in_scheme(corpus: TaggedDataset, folder: Path, scheme: str, bare: bool, most: int | None = None) -> None:
    """Write the first sentences of each part with their tags in another scheme; ``bare`` ones do not name the class."""
    names = tag_names(corpus.label_names)
    for name, split in corpus.splits.items():
        sentences = []
        for tokens, tags in zip(split.tokens[:most], split.tags[:most], strict=True):
            written = in_scheme(np.array(tags, dtype=np.int16), scheme, names)
            lines = [f"{token}\t{tag.partition('-')[0] if bare else tag}" for token, tag in zip(tokens, written, strict=True)]
            sentences.append("\n".join(lines))
        (folder / f"{name}.tsv").write_text("\n\n".join(sentences) + "\n", "utf-8")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("bare", [False, True])
def test_sentences_are_the_same_in_every_scheme(anatem: TaggedDataset, tmp_path: Path, scheme: str, bare: bool) -> None:
    write_in_scheme(anatem, tmp_path, scheme, bare, most=250)
    dataset = task("AnatEM").read(tmp_path, {})
    assert isinstance(dataset, TaggedDataset)
    assert dataset.rejected == ()
    assert {name: split.tags for name, split in dataset.splits.items()} == {
        name: split.tags[:250] for name, split in anatem.splits.items()
    }
    assert bool(dataset.notes) == (scheme != "IOB2")


def test_the_whole_corpus_in_another_scheme_is_ready(anatem: TaggedDataset, tmp_path: Path) -> None:
    write_in_scheme(anatem, tmp_path, "IOBES", bare=False)
    prepared = prepare(manifest("AnatEM"), [tmp_path], tmp_path / "data")
    assert (prepared.status.state, prepared.status.n_rejected) == ("ready", 0)


@pytest.mark.parametrize("corpus", ["AnatEM", "BC2GM"])
def test_iobes_turns_back_into_the_very_tags_of_the_file(realdata: Path, corpus: str) -> None:
    dataset = read(corpus, realdata)
    names = tag_names(dataset.label_names)
    written = [line.split("\t") for line in (realdata / f"ner/{corpus}-IOB/test.tsv").read_text("ascii").splitlines() if line]
    test = dataset.splits["test"]
    assert [[token, names[tag]] for token, tag in zip(test.all_tokens, as_iob(test.all_tags), strict=True)] == written


def test_entities_equal_seqevals_on_the_real_tags(realdata: Path) -> None:
    get_entities = pytest.importorskip("seqeval.metrics.sequence_labeling").get_entities
    split = read("BC2GM", realdata).splits["devel"]
    names = tag_names(("GENE",))
    found = find_entities(split.all_tags, split.offsets)
    theirs = [span for tags in split.tags for span in get_entities([names[tag] for tag in tags])]
    begins = split.offsets[found.sentence]
    ours = [("GENE", first, last) for first, last in zip(found.first - begins, found.last - begins, strict=True)]
    assert ours == theirs


@pytest.mark.slow
def test_glove_beats_random_vectors_and_the_dictionary_on_anatem(realdata: Path, glove: Path) -> None:
    """Five hundred sentences of each part; benchmarks/ner.py does the whole corpus."""
    settings = Settings(limit=500)
    anatem = task("AnatEM")
    dataset = read("AnatEM", realdata, settings.limit)
    encoder = load_encoder(f"vectors:{glove},tokenizer=whitespace")
    embeddings = embed_texts(encoder, list(dataset.all_texts()), batch_size=128, task_name="AnatEM")
    known = embeddings.matrix[~embeddings.zero_rows]
    noise = np.random.default_rng(0).normal(0, known.std(), embeddings.matrix.shape).astype(np.float32)
    noise[embeddings.zero_rows] = 0

    learned, drawn = (
        anatem.evaluate(anatem, dataset, vectors, settings) for vectors in (embeddings, Embeddings(noise, embeddings.row_of))
    )
    f1 = learned.metric("f1")
    assert f1.low > drawn.metric("f1").high + 5
    assert f1.low > f1.baseline == 0
    assert f1.value > learned.details["dictionary_f1"]
    assert np.ptp(learned.details["runs"]["f1"]) < 5

    seqeval = pytest.importorskip("seqeval.metrics")
    names = tag_names(("Anatomy",))
    gold = [[names[tag] for tag in tags] for tags in dataset.splits["test"].tags]
    for run, expected in enumerate(learned.details["runs"]["f1"], start=1):
        predicted = [_iob(spans, len(tags)) for spans, tags in zip(learned.items[f"predicted_{run}"], gold, strict=True)]
        assert 100 * seqeval.f1_score(gold, predicted) == pytest.approx(expected, abs=1e-9)


def _iob(spans: str, length: int) -> list[str]:
    tags = ["O"] * length
    for span in spans.split():
        first, last = map(int, span.split(":")[0].split("-"))
        tags[first : last + 1] = ["B-Anatomy", *["I-Anatomy"] * (last - first)]
    return tags
