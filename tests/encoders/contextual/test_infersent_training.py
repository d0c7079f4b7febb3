"""Training InferSent: it learns, its file loads as an encoder, and the command does what the function does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tqdm
from click.testing import CliRunner

from medsenteval import registry
from medsenteval.cli.train_infersent import train_infersent as train_infersent_command
from medsenteval.contracts import Dataset, Split
from medsenteval.datasets.locate import sample_root
from medsenteval.encoders.contextual import infersent_training
from medsenteval.encoders.contextual.infersent import Reading, sentence_vectors
from medsenteval.encoders.contextual.infersent_training import InferSentTraining, train_infersent
from medsenteval.encoders.static.tokens import TOKENIZERS
from medsenteval.errors import DataError, EncoderError, SettingsError

torch = pytest.importorskip("torch")

DIMENSION = 50
TINY = InferSentTraining(hidden=4, epochs=2, batch_size=16, device="cpu")


@pytest.fixture(scope="module")
def mednli() -> Dataset:
    return registry.task("MedNLI").read(sample_root() / "MedNLI", {})


def write_vectors(path: Path, dataset: Dataset, boundaries: tuple[str, ...] = ("<s>", "</s>"), lower: bool = False) -> Path:
    """Random vectors for every word of the data set."""
    rng = np.random.default_rng(0)
    words = dict.fromkeys(word for text in dataset.all_texts() for word in TOKENIZERS["words"](text))
    known = dict.fromkeys(word.lower() for word in words) if lower else words
    lines = [f"{word} {' '.join(f'{2 * x:.4f}' for x in rng.normal(size=DIMENSION))}" for word in (*boundaries, *known)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture(scope="module")
def vectors(mednli: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vectors(tmp_path_factory.mktemp("vectors") / "random.txt", mednli)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Such small products gain nothing from threads, and on a busy machine they lose most of their time waiting for them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_by_default_it_is_trained_as_conneau_et_al_did() -> None:
    """Their train_nli.py: SGD at 0.1, decayed by 0.99, divided by 5, until 1e-5, gradients cut at a norm of 5."""
    chosen = InferSentTraining()
    assert (chosen.hidden, chosen.epochs, chosen.batch_size, chosen.learning_rate) == (2048, 20, 64, 0.1)
    assert (chosen.seed, chosen.device) == (1234, "auto")
    for name in ("hidden", "epochs", "batch_size", "learning_rate"):
        one: dict[str, Any] = {name: 1}
        assert getattr(replace(chosen, **one), name) == 1
        with pytest.raises(SettingsError, match=f"{name} is 0; it must be above 0"):
            replace(chosen, **{**one, name: 0})
    with pytest.raises(SettingsError, match="learning_rate is nan; it must be above 0"):
        replace(chosen, learning_rate=float("nan"))
    fixed = infersent_training
    assert (fixed._CLASSIFIER_HIDDEN, fixed._DECAY, fixed._SHRINK) == (512, 0.99, 5.0)
    assert (fixed._LEAST_LEARNING_RATE, fixed._MOST_GRADIENT) == (1e-5, 5.0)


def test_a_sentence_of_no_words_is_the_zero_vector() -> None:
    lstm = torch.nn.LSTM(3, 2, bidirectional=True)

    def encoder(words: Any, lengths: list[int]) -> Any:
        return sentence_vectors(lstm, words, lengths)

    words = torch.arange(9.0).reshape(3, 3)
    with torch.no_grad():
        rows = encoder(words, [2, 0, 1])
        assert torch.allclose(rows[0], encoder(words[:2], [2])[0])
        assert torch.allclose(rows[2], encoder(words[2:], [1])[0])
        assert (rows[1] == 0).all()
        assert rows[0].abs().sum() > 0
        assert encoder(words[:0], [0, 0]).tolist() == [[0.0] * 4] * 2


def few(dataset: Dataset) -> tuple[Split, Split]:
    return dataset.splits["train"].take(range(48)), dataset.splits["dev"].take(range(24))


@pytest.mark.slow
def test_a_small_training_learns_above_the_baseline(
    mednli: Dataset, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(infersent_training, "_CLASSIFIER_HIDDEN", 64)
    monkeypatch.setattr(infersent_training, "_SHRINK", 1.2)
    settings = InferSentTraining(hidden=32, epochs=5, batch_size=16, learning_rate=0.5, seed=1, device="cpu")
    passes = list(train_infersent(mednli.splits["train"], mednli.splits["dev"], vectors, tmp_path / "encoder.pkl", settings))
    labels = mednli.splits["dev"].labels
    assert labels is not None
    baseline = 100 * np.bincount(labels).max() / len(labels)
    assert baseline < 40
    assert max(each.dev_accuracy for each in passes) > baseline + 8
    assert passes[-1].loss < passes[0].loss - 0.1


def test_the_file_is_official_and_holds_the_encoder_of_the_best_pass(mednli: Dataset, vectors: Path, tmp_path: Path) -> None:
    train, dev = few(mednli)
    passes = list(train_infersent(train, dev, vectors, tmp_path / "encoder.pkl", TINY))
    assert [each.number for each in passes] == [1, 2]
    assert passes[0].best
    for each in passes:
        right = [each.train_accuracy / 100 * len(train), each.dev_accuracy / 100 * len(dev)]
        assert right == pytest.approx(np.round(right))
    state = torch.load(tmp_path / "encoder.pkl", weights_only=True)
    assert state["enc_lstm.weight_ih_l0"].shape == (16, DIMENSION)
    assert len(state) == 8
    encoder = registry.load_encoder(f"infersent:{tmp_path / 'encoder.pkl'}+{vectors}")
    assert encoder.encode(["chest pain", ""]).shape == (2, 8)
    assert [path.name for path in tmp_path.iterdir()] == ["encoder.pkl"]


def test_loss_and_accuracy_of_a_pass_are_means_over_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = torch.tensor([[2.0, 0.0, -1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0], [1.0, 0.5, 0.0], [0.0, 0.0, 0.5]])
    labels = torch.tensor([0, 1, 0, 2, 2])

    reader = SimpleNamespace(word_vectors=lambda side, batch, device: batch)
    pairs: Any = SimpleNamespace(labels=labels.numpy(), sides=("premises", "hypotheses"), reader=reader)
    monkeypatch.setattr(infersent_training, "_logits", lambda network, premises, hypotheses: logits[premises])
    found = infersent_training._pass_over(torch.nn.Linear(1, 1), pairs, np.array([3, 0, 4, 1, 2]), 2)
    assert found == pytest.approx((float(torch.nn.functional.cross_entropy(logits, labels)), 60.0))


def test_equal_seeds_give_equal_files_and_the_global_state_stays(mednli: Dataset, vectors: Path, tmp_path: Path) -> None:
    train, dev = few(mednli)
    before = torch.random.get_rng_state()
    files = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        list(train_infersent(train, dev, vectors, tmp_path / name, replace(TINY, seed=seed)))
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1] != files[2]
    assert torch.equal(before, torch.random.get_rng_state())


def test_the_rate_decays_shrinks_and_ends_training(mednli: Dataset, vectors: Path, tmp_path: Path) -> None:
    train, dev = few(mednli)
    settings = replace(TINY, epochs=30, learning_rate=2e-4)
    passes = list(train_infersent(train, dev, vectors, tmp_path / "encoder.pkl", settings))
    rate, best = 2e-4, -1.0
    for number, each in enumerate(passes):
        rate *= 1 if number == 0 else 0.99
        assert each.learning_rate == pytest.approx(rate)
        assert each.best == (each.dev_accuracy > best)
        best = max(best, each.dev_accuracy)
        rate /= 1 if each.best else 5
    assert rate < 1e-5
    assert len(passes) < 30


def test_vectors_without_boundaries_or_capitals(mednli: Dataset, tmp_path: Path) -> None:
    plain = write_vectors(tmp_path / "plain.txt", mednli, boundaries=(), lower=True)
    with pytest.raises(EncoderError, match=r"plain\.txt has no vector for"):
        next(train_infersent(*few(mednli), plain, tmp_path / "encoder.pkl", TINY))
    train, dev = few(mednli)
    wordless = replace(train, texts=("", *train.texts[1:]))
    reading = Reading(boundaries="if-known", case="lower")
    *_, last = train_infersent(wordless, dev, plain, tmp_path / "encoder.pkl", replace(TINY, reading=reading))
    assert np.isfinite(last.loss)


def test_what_cannot_be_trained_on_is_refused(mednli: Dataset, vectors: Path, tmp_path: Path) -> None:
    train, dev = few(mednli)
    output = tmp_path / "encoder.pkl"
    assert train.labels is not None
    one_class = train.take(np.flatnonzero(train.labels == 1))

    def refused(*arguments: Any) -> object:
        return next(train_infersent(*arguments))

    cases: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (DataError, "train has no labelled pairs", lambda: refused(replace(train, texts2=None), dev, vectors, output, TINY)),
        (DataError, "dev has no labelled pairs", lambda: refused(train, dev.take([]), vectors, output, TINY)),
        (DataError, "every class must be in train", lambda: refused(one_class, dev, vectors, output, TINY)),
        (DataError, "every class must be in train", lambda: refused(one_class, one_class, vectors, output, TINY)),
        (SettingsError, "no folder", lambda: refused(train, dev, vectors, tmp_path / "no" / "x.pkl", TINY)),
        (EncoderError, r"no\.txt", lambda: refused(train, dev, tmp_path / "no.txt", output, TINY)),
        (EncoderError, "'abacus'", lambda: refused(train, dev, vectors, output, replace(TINY, device="abacus"))),
        (EncoderError, "version is '3'", lambda: Reading(version="3")),
        (SettingsError, "epochs is 0", lambda: replace(TINY, epochs=0)),
    ]
    for error, message, attempt in cases:
        with pytest.raises(error, match=message):
            attempt()
    (tmp_path / "foreign.txt").write_text("<s> 1 2\n</s> 3 4\nслово 5 6\n", "utf-8")
    with pytest.raises(EncoderError, match=r"foreign\.txt knows no word"):
        refused(train, dev, tmp_path / "foreign.txt", output, TINY)
    assert not output.exists()


def test_the_command_trains_writes_and_says_how_to_use_it(mednli: Dataset, tmp_path: Path) -> None:
    data = tmp_path / "data" / "MedNLI"
    data.mkdir(parents=True)
    for split, count in (("train", 30), ("dev", 12), ("test", 3)):
        lines = (sample_root() / "MedNLI" / f"mli_{split}_v1.jsonl").read_text("utf-8").splitlines()[:count]
        (data / f"mli_{split}_v1.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    vectors = write_vectors(tmp_path / "fasttext.vec", mednli, boundaries=("<p>", "</p>"))
    output = tmp_path / "encoder.pkl"
    options = ["--vectors", str(vectors), "--output", str(output), "--epochs", "1", "--hidden", "3", "--version", "2"]
    for folder in (data, data.parent):
        outcome = CliRunner().invoke(train_infersent_command, ["--data", str(folder), *options, "--seed", "5"])
        assert outcome.exit_code == 0, outcome.output
        assert "pass 1: learning rate 0.1" in outcome.output
    spec = f"infersent:{output}+{vectors},version=2"
    assert f"use it as {spec}" in outcome.output
    assert registry.load_encoder(spec).encode(["chest pain"]).shape == (1, 6)
    quiet = CliRunner().invoke(train_infersent_command, ["--data", str(data), *options, "--quiet"])
    assert "pass 1" not in quiet.output
    wrong = CliRunner().invoke(train_infersent_command, ["--data", str(data), *options, "--epochs", "0"])
    assert isinstance(wrong.exception, SettingsError)


def test_the_command_reads_gloves_own_binary_without_boundary_words(mednli: Dataset, tmp_path: Path) -> None:
    words = sorted({word for split in few(mednli) for text in split.texts for word in text.lower().split()})
    counts = "".join(f"{word} {count}\n" for word, count in zip(words, range(2 * len(words), len(words), -1), strict=True))
    (tmp_path / "counts.txt").write_text(counts, "utf-8")
    np.random.default_rng(0).normal(size=(2, len(words), 5)).tofile(tmp_path / "glove.bin")
    output, vectors = tmp_path / "encoder.pkl", tmp_path / "glove.bin"
    options = ["--vectors", str(vectors), "--output", str(output), "--epochs", "1", "--hidden", "3", "--learning-rate", "0.05"]
    reading = ["--boundaries", "if-known", "--case", "lower", "--tokenizer", "whitespace"]
    file = ["--layout", "blocks", "--vocab", str(tmp_path / "counts.txt")]
    outcome = CliRunner().invoke(train_infersent_command, [*options, *reading, *file])
    assert outcome.exit_code == 0, outcome.output
    assert "pass 1: learning rate 0.05" in outcome.output
    said = f"tokenizer=whitespace,case=lower,boundaries=if-known,layout=blocks,vocab={tmp_path / 'counts.txt'}"
    spec = f"infersent:{output}+{vectors},{said}"
    assert f"use it as {spec}" in outcome.output
    assert registry.load_encoder(spec).encode([words[0]]).shape == (1, 6)


def test_errors_advise_options_that_the_command_has(mednli: Dataset, vectors: Path, tmp_path: Path) -> None:
    plain = write_vectors(tmp_path / "plain.txt", mednli, boundaries=())
    (tmp_path / "foreign.txt").write_text("<s> 1 2\n</s> 3 4\nслово 5 6\n", "utf-8")
    advised = []
    for path, settings in ((plain, TINY), (tmp_path / "foreign.txt", TINY), (vectors, replace(TINY, learning_rate=1e30))):
        with pytest.raises(EncoderError) as caught:
            list(train_infersent(*few(mednli), path, tmp_path / "encoder.pkl", settings))
        advised += re.findall("--[a-z-]+", str(caught.value))
    assert advised == ["--boundaries", "--case", "--learning-rate"]
    assert set(advised) <= {name for option in train_infersent_command.params for name in option.opts}


def test_a_loss_that_is_no_number_ends_training(mednli: Dataset, vectors: Path, tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"train-infersent: the loss became (nan|inf); lower the learning rate"):
        list(train_infersent(*few(mednli), vectors, tmp_path / "encoder.pkl", replace(TINY, learning_rate=1e30)))


def test_progress_is_named_by_pass_and_shown_on_request(
    mednli: Dataset, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[str, bool | None]] = []
    real = tqdm.tqdm

    def bar(*arguments: Any, **options: Any) -> Any:
        if options["unit"] == " batches":
            shown.append((options["desc"], options["disable"]))
        return real(*arguments, **options)

    monkeypatch.setattr("tqdm.tqdm", bar)
    settings = replace(TINY, epochs=1)
    silent = train_infersent(*few(mednli), vectors, tmp_path / "encoder.pkl", settings)
    told = train_infersent(*few(mednli), vectors, tmp_path / "encoder.pkl", settings, progress=True)
    for passes, first in ((silent, ("", True)), (told, ("pass 1 of 1", None))):
        list(passes)
        assert shown == [first, ("", True)]
        shown.clear()
