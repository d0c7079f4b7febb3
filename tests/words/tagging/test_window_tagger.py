"""The tagger: windows, one step against torch's gradients, what it learns, and that a seed says it all."""

from __future__ import annotations

from threading import Event

import numpy as np
import pytest

from medsenteval.errors import ProbeError
from medsenteval.words.tagging import window_tagger
from medsenteval.words.tagging.window_tagger import CAPITALS, PRESETS, TaggerSettings, WindowTagger, windows_of


def corpus(n_tokens: int = 400, capitals: bool = False) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Random words whose tag follows from the word and its left neighbour; windows of words, or of their capitals as well."""
    n_words = 30
    rng = np.random.default_rng(3)
    rows = rng.integers(1, n_words, n_tokens)
    offsets = np.arange(0, n_tokens + 1, 10)
    vectors = rng.standard_normal((n_words, 8)).astype(np.float32)
    vectors[0] = 0
    windows = [windows_of(rows, offsets, 5, 0)]
    if capitals:
        windows.append(windows_of(rows % (len(CAPITALS) - 1), offsets, 5, CAPITALS.index("padding")))
    tags = ((windows[0][:, 2] % 2) * 2 + windows[0][:, 1] % 2).astype(np.int16)
    return vectors, windows, tags


def test_windows_end_with_their_sentence() -> None:
    windows = windows_of(np.array([7, 8, 9, 5]), np.array([0, 3, 4]), 5, 0)
    assert windows.tolist() == [[0, 0, 7, 8, 9], [0, 7, 8, 9, 0], [7, 8, 9, 0, 0], [0, 0, 5, 0, 0]]
    assert windows_of(np.array([7]), np.array([0, 1]), 3, 4).tolist() == [[4, 7, 4]]


def test_presets_are_the_tables_and_the_codes_values() -> None:
    paper, repo = PRESETS["paper"], PRESETS["repo"]
    assert (paper.window, paper.hidden, paper.activation, paper.dropout) == (5, 300, "hard-tanh", 0.2)
    assert (paper.learning_rate, paper.epochs, paper.batch_size) == (0.01, 20, 50)
    assert (repo.activation, repo.learning_rate, repo.capitals, repo.tuned) == ("relu", 0.1, True, True)
    assert (repo.window, repo.hidden, repo.dropout, repo.epochs, repo.batch_size) == (5, 300, 0.2, 20, 50)
    assert (paper.capitals, paper.tuned, paper.transitions, repo.transitions) == (False, False, "allowed", "seen")


@pytest.mark.parametrize("activation", ["hard-tanh", "relu"])
@pytest.mark.parametrize("tuned", [False, True])
def test_a_step_follows_torchs_gradient(activation: str, tuned: bool) -> None:
    torch = pytest.importorskip("torch")
    vectors, windows, tags = corpus(60, capitals=True)
    settings = TaggerSettings(
        hidden=20, activation=activation, dropout=0.0, learning_rate=0.5, epochs=1, batch_size=60, capitals=True, tuned=tuned
    )
    # Vectors three times as long, so that hard tanh saturates in places.
    tagger = WindowTagger(settings, 3 * vectors, 4, np.random.default_rng(0))
    before = [(part.table.copy(), part.weights.copy()) for part in tagger._parts]
    parameters = [torch.tensor(array, requires_grad=True) for pair in before for array in pair]
    rest = [torch.tensor(array.copy(), requires_grad=True) for array in (tagger._bias, tagger._out, tagger._out_bias)]
    inputs = [
        table[torch.from_numpy(seen)].reshape(60, -1) @ weights
        for table, weights, seen in zip(parameters[::2], parameters[1::2], windows, strict=True)
    ]
    hidden = sum(inputs) + rest[0]
    hidden = torch.relu(hidden) if activation == "relu" else torch.nn.functional.hardtanh(hidden)
    loss = torch.nn.functional.cross_entropy(hidden @ rest[1] + rest[2], torch.from_numpy(tags.astype(np.int64)))
    loss.backward()

    tagger.fit(windows, tags)
    assert tagger.losses == [pytest.approx(loss.item(), rel=1e-5)]
    arrays = [array for part in tagger._parts for array in (part.table, part.weights)]
    arrays += [tagger._bias, tagger._out, tagger._out_bias]
    for number, (array, parameter) in enumerate(zip(arrays, [*parameters, *rest], strict=True)):
        stepped = parameter.detach().numpy()
        if number or tuned:  # the words' vectors move only if they are tuned
            stepped = stepped - 0.5 * parameter.grad.numpy()
        np.testing.assert_allclose(array, stepped, atol=2e-6)


def test_weights_are_drawn_within_limits_and_biases_are_zero() -> None:
    vectors, _, _ = corpus()
    settings = TaggerSettings(window=5, hidden=40, capitals=True)
    tagger = WindowTagger(settings, vectors, 4, np.random.default_rng(0))
    words, capitals = tagger._parts
    assert capitals.table.shape == (len(CAPITALS), 5)
    n_inputs = 5 * (vectors.shape[1] + 5)
    drawn = (
        (capitals.table, 0.05),
        (words.weights, np.sqrt(6 / (n_inputs + 40))),
        (capitals.weights, np.sqrt(6 / (n_inputs + 40))),
        (tagger._out, np.sqrt(6 / (40 + 4))),
    )
    for values, limit in drawn:
        assert -limit <= values.min() < -0.8 * limit
        assert 0.8 * limit < values.max() <= limit
    assert not tagger._bias.any()
    assert not tagger._out_bias.any()


def test_it_learns_and_gives_log_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, windows, tags = corpus(2000)
    tagger = WindowTagger(TaggerSettings(hidden=60, learning_rate=0.1), vectors, 4, np.random.default_rng(1))
    tagger.fit(windows, tags)
    scores = tagger.log_probabilities(windows)
    np.testing.assert_allclose(np.exp(scores).sum(axis=1), 1.0)
    assert np.mean(scores.argmax(axis=1) == tags) > 0.95
    assert tagger.losses[-1] < tagger.losses[0] / 2
    assert len(tagger.losses) == 20
    monkeypatch.setattr(window_tagger, "_TOKENS_A_PREDICTION", 300)
    np.testing.assert_allclose(tagger.log_probabilities(windows), scores, atol=1e-5)


def test_dropout_keeps_the_expected_share_and_scale() -> None:
    vectors, _, _ = corpus()
    kept = WindowTagger(TaggerSettings(dropout=0.2), vectors, 4, np.random.default_rng(1))._kept_units((400, 300))
    assert np.unique(kept).tolist() == [0, 1.25]
    assert np.mean(kept == 0) == pytest.approx(0.2, abs=0.005)
    assert kept.dtype == np.float32


def test_dropout_is_for_training_only() -> None:
    vectors, windows, tags = corpus()
    tagger = WindowTagger(TaggerSettings(hidden=20, epochs=1), vectors, 4, np.random.default_rng(1))
    tagger.fit(windows, tags)
    assert np.array_equal(tagger.log_probabilities(windows), tagger.log_probabilities(windows))


def test_the_same_seed_gives_the_same_tagger_and_frozen_vectors_stay() -> None:
    vectors, windows, tags = corpus()
    original = vectors.copy()
    for tuned in (False, True):
        settings = TaggerSettings(hidden=20, epochs=3, tuned=tuned)
        taggers = [WindowTagger(settings, vectors, 4, np.random.default_rng(seed)) for seed in (4, 4, 5)]
        for tagger in taggers:
            tagger.fit(windows, tags)
        first, second, other = (tagger.log_probabilities(windows) for tagger in taggers)
        assert np.array_equal(first, second)
        assert not np.array_equal(first, other)
        assert np.array_equal(vectors, original)
        assert np.array_equal(taggers[0]._parts[0].table, original) != tuned


def test_divergence_is_an_error_with_a_remedy() -> None:
    vectors, windows, tags = corpus()
    settings = TaggerSettings(hidden=20, activation="relu", learning_rate=1e6, tuned=True)
    with pytest.raises(ProbeError, match=r"diverged in epoch 1: a learning rate of 1000000\.0 .* scale=unit"):
        WindowTagger(settings, 100 * vectors, 4, np.random.default_rng(0)).fit(windows, tags)


def test_another_thread_can_stop_it() -> None:
    vectors, windows, tags = corpus()
    stop = Event()
    tagger = WindowTagger(TaggerSettings(hidden=20, epochs=2), vectors, 4, np.random.default_rng(0))
    tagger.fit(windows, tags, stop)
    assert len(tagger.losses) == 2
    stop.set()
    tagger.fit(windows, tags, stop)
    assert len(tagger.losses) == 2
