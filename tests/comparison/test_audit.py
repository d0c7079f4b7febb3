"""The audit on encoders whose lead is known to be real, or to be one direction; and the compression frontier."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from medsenteval import evaluate
from medsenteval.cli.main import main
from medsenteval.comparison.audit import audit_results, changed_vectors, principal_axes
from medsenteval.comparison.frontier import FrontierPoint, _beats, compression_frontier, halved
from medsenteval.contracts import Result
from medsenteval.datasets.locate import sample_root
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.errors import DataMissingError, EncoderError, SettingsError
from medsenteval.running.rescoring import StoredJob, reopen
from medsenteval.running.result_store import ResultStore, load_results

DIMENSION, PAIRS = 24, 300


class FromTable:
    """Looks texts up, and counts the calls."""

    def __init__(self, name: str, texts: Sequence[str], rows: NDArray[np.floating]) -> None:
        self.name, self.identity, self.calls = name, f"{name}-1", 0
        self._rows = dict(zip(texts, rows.astype(np.float32), strict=True))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        return np.stack([self._rows[text] for text in texts])


def _pairs(rng: np.random.Generator, similarity: NDArray[np.float64], noise: float) -> tuple[NDArray[np.float64], ...]:
    """Return vectors of pairs whose cosine is the similarity but for noise, spread over all directions."""
    first, other = rng.standard_normal((2, PAIRS, DIMENSION))
    wanted = np.clip(similarity + noise * rng.standard_normal(PAIRS), -1, 1)[:, None]
    return first, wanted * first + np.sqrt(1 - wanted**2) * other


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[FromTable]]:
    """Three encoders on pairs of texts, run with a cache: one really good, one by a single direction, one middling."""
    folder = tmp_path_factory.mktemp("audit")
    rng = np.random.default_rng(7)
    gold = rng.uniform(-0.9, 0.9, PAIRS)
    texts = [[f"first {i}", f"second {i}"] for i in range(PAIRS)]
    with (folder / "pairs.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [["sentence1", "sentence2", "score"], *([*t, g] for t, g in zip(texts, gold, strict=True))]
        )
    flat = [text for side in (0, 1) for text in (pair[side] for pair in texts)]
    planted = np.concatenate(rng.standard_normal((2, PAIRS, DIMENSION)))
    planted[:PAIRS, 0], planted[PAIRS:, 0] = 40.0, 40.0 * gold
    encoders = [
        FromTable("good", flat, np.concatenate(_pairs(rng, gold, 0.1))),
        FromTable("planted", flat, planted),
        FromTable("middling", flat, np.concatenate(_pairs(rng, gold, 0.7))),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEDSENTEVAL_CACHE", str(folder / "cache"))
        evaluate(list(encoders), folder / "pairs.csv", output=folder / "results", name=[each.name for each in encoders])
    return folder, encoders


@pytest.fixture
def results(audited: tuple[Path, list[FromTable]], monkeypatch: pytest.MonkeyPatch) -> list[Result]:
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(audited[0] / "cache"))
    return load_results([str(audited[0] / "results")], audited[0])


def test_a_lead_of_one_direction_is_flagged_and_a_real_one_is_not(
    audited: tuple[Path, list[FromTable]], results: list[Result]
) -> None:
    folder, encoders = audited
    calls = [each.calls for each in encoders]
    found = audit_results(results, folder)
    leads = {(each.winner, each.loser): each for each in found.conclusions}
    assert ("planted", "middling") in leads
    assert "no top directions" in leads["planted", "middling"].gone
    assert "whitened" in leads["planted", "middling"].gone
    assert leads["good", "middling"].holds
    # The cosine sees no lengths, and has neither folds nor classes.
    seen = ("centred", "whitened", "no top directions", "projected")
    assert leads["good", "middling"].outcomes == dict.fromkeys(seen, "holds")
    assert found.projected_to == DIMENSION
    assert found.encoders["planted"][0] == DIMENSION
    assert found.encoders["planted"][1] > 0.9
    assert 1 / DIMENSION < found.encoders["good"][1] < 3 / DIMENSION
    assert not found.left_out
    assert [each.calls for each in encoders] == calls


def test_the_command_shows_which_leads_are_gone_and_names_what_is_not_cached(
    audited: tuple[Path, list[FromTable]], results: list[Result]
) -> None:
    folder, _ = audited
    store = ResultStore(folder / "more")
    for result in results:
        store.save(result)
    store.save(Result(**{**vars(results[0]), "encoder": "stranger", "encoder_identity": "stranger-1"}))
    outcome = CliRunner().invoke(main, ["audit", str(folder / "more"), "-d", str(folder), "--quiet"])
    assert outcome.exit_code == 0, outcome.output
    assert "planted > middling" in outcome.output
    assert "good > middling" not in outcome.output
    assert "Not audited: stranger, file:pairs.csv: not all of its vectors are in the cache" in outcome.output
    every = CliRunner().invoke(main, ["audit", str(folder / "more"), "-d", str(folder), "--quiet", "--all", "--format", "csv"])
    assert "good > middling" in every.output


@pytest.mark.parametrize(("level", "leads"), [(0.000_499_8, 1), (0.000_499_6, 0)])
def test_the_least_p_value_of_an_audit_is_one_in_two_thousand_resamples_and_the_observed_sample(
    audited: tuple[Path, list[FromTable]], results: list[Result], level: float, leads: int
) -> None:
    two = [each for each in results if each.encoder in ("good", "middling")]
    assert len(audit_results(two, audited[0], level=level).conclusions) == leads


def test_an_audit_without_two_encoders_says_why(audited: tuple[Path, list[FromTable]], results: list[Result]) -> None:
    unknown = [Result(**{**vars(each), "encoder_identity": ""}) for each in results]
    with pytest.raises(DataMissingError, match=r"two encoders.*no identity"):
        audit_results(unknown, audited[0])


def test_synthetic_data_is_not_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path / "cache"))
    sample = evaluate("lexical,dimension=16", "BIOSSES", settings={"limit": 20, "resamples": 100})
    with pytest.raises(SettingsError, match="synthetic data ranks nobody"):
        audit_results(sample.values(), sample_root())


def test_a_frontier_without_vectors_or_without_a_test_says_why(
    audited: tuple[Path, list[FromTable]], results: list[Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    rounded = [replace(each, input={"precision": "int8"}) for each in results]
    with pytest.raises(
        DataMissingError, match=r"no result can be scored again from the cache: .*: its vectors are rounded to int8"
    ):
        compression_frontier(rounded, audited[0])
    monkeypatch.setattr("medsenteval.comparison.compare.weighted_score", lambda *_: "no test of it")
    with pytest.raises(DataMissingError, match=r"file:pairs\.csv: no test of it, so that no loss can be tested"):
        compression_frontier(results[:1], audited[0], dimensions=[12])


def test_other_settings_than_the_file_tells_are_not_scored_as_if_they_were_the_same(
    audited: tuple[Path, list[FromTable]], results: list[Result]
) -> None:
    other = Result(**{**vars(results[0]), "signature": results[0].signature.replace("|cosine|", "|own-similarity|")})
    jobs, left_out = reopen([other], audited[0], EmbeddingCache())
    assert not jobs
    assert "in a way that its file does not tell" in left_out[0]


def test_vectors_are_changed_as_scikit_learn_changes_them() -> None:
    from sklearn.decomposition import PCA

    rng = np.random.default_rng(0)
    rows = (rng.standard_normal((200, 12)) @ rng.standard_normal((12, 12)) + 3).astype(np.float32)
    axes, reference = principal_axes(rows), PCA().fit(rows.astype(np.float64))
    assert axes[1] / axes[1].sum() == pytest.approx(reference.explained_variance_ratio_, rel=1e-5)
    changed, whole = (dict(changed_vectors(rows, axes, dimension)) for dimension in (3, 12))
    assert np.cov(changed["whitened"].T, bias=True) == pytest.approx(np.eye(12), abs=1e-4)
    assert np.abs(changed["projected"]) == pytest.approx(np.abs(reference.transform(rows)[:, :3]), abs=1e-3)
    assert whole["projected"] is rows
    assert changed["centred"] == pytest.approx(rows - rows.mean(axis=0), abs=1e-5)
    without = changed["no top directions"]
    assert without @ reference.components_[0] == pytest.approx(np.zeros(200), abs=1e-3)
    assert np.var(without, axis=0).sum() == pytest.approx(reference.explained_variance_[1:].sum() * 199 / 200, rel=1e-4)
    assert np.linalg.norm(changed["unit length"], axis=1) == pytest.approx(np.ones(200), abs=1e-6)
    for few, enough in ((59, False), (60, True)):
        assert ("whitened" in dict(changed_vectors(rows[:few], principal_axes(rows[:few]), 3))) == enough


def test_one_direction_goes_for_each_hundred_dimensions_and_none_of_rounding_is_whitened() -> None:
    rows = np.random.default_rng(3).standard_normal((300, 5)).astype(np.float32)
    twice = np.concatenate([rows, rows], axis=1)
    assert dict(changed_vectors(twice, principal_axes(twice), 1))["whitened"].shape == (300, 5)
    wide = np.random.default_rng(4).standard_normal((40, 260)).astype(np.float32)
    _, variances, directions = axes = principal_axes(wide)
    assert (np.diff(variances) <= 0).all()
    left = dict(changed_vectors(wide, axes, 1))["no top directions"] @ directions[:, :5]
    assert np.abs(left).max(axis=0) == pytest.approx([0, 0, 0, *np.abs(axes[0] @ directions[:, 3:5]).max(axis=0)], abs=1e-9)


@pytest.mark.parametrize(("n_encoders", "resamples"), [(6, 2_000), (7, 2_100)])
def test_results_of_the_first_seed_are_audited_with_resamples_enough_for_every_pair(
    audited: tuple[Path, list[FromTable]],
    results: list[Result],
    monkeypatch: pytest.MonkeyPatch,
    n_encoders: int,
    resamples: int,
) -> None:
    others = [replace(each, seed=5000, signature=each.signature.replace("seed=1111", "seed=5000")) for each in results]
    said: dict[str, Any] = {}

    def reopened(chosen: Sequence[Result], *places: Any) -> tuple[list[StoredJob], list[str]]:
        said["seeds"] = {each.seed for each in chosen}
        (job, *_), left_out = reopen(chosen, *places)
        return [replace(job, result=replace(job.result, encoder=f"e{i}")) for i in range(n_encoders)], left_out

    def compared(found: Sequence[Result], **options: Any) -> None:
        said.update(options, encoders=[each.encoder for each in found])
        raise InterruptedError

    monkeypatch.setattr("medsenteval.comparison.audit.reopen", reopened)
    monkeypatch.setattr("medsenteval.comparison.audit.compare_results", compared)
    lines: list[str] = []
    with pytest.raises(InterruptedError):
        audit_results([*others, *results], audited[0], level=0.01, announce=lines.append)
    names = [f"e{i}" for i in range(n_encoders)]
    assert said == {"seeds": {1111}, "level": 0.01, "resamples": resamples, "encoders": names}
    assert lines == [f"{i} of {n_encoders}: file:pairs.csv, {name}" for i, name in enumerate(names, start=1)]


@pytest.mark.parametrize(("dimension", "kept"), [(384, (384, 192, 96, 48, 24)), (32, (32, 16)), (31, (31,)), (33, (33, 16))])
def test_dimensions_are_halved_down_to_sixteen(dimension: int, kept: tuple[int, ...]) -> None:
    assert halved(dimension) == kept


def test_the_frontier_begins_at_the_stored_score_bit_for_bit_and_calls_no_encoder(
    audited: tuple[Path, list[FromTable]], results: list[Result]
) -> None:
    folder, encoders = audited
    calls = [each.calls for each in encoders]
    found, left_out = compression_frontier(results, folder, resamples=500)
    assert not left_out
    for frontier, result in zip(found, results, strict=True):
        full = frontier.points[0]
        assert (full.dimension, full.precision, full.size) == (DIMENSION, "float32", 4 * DIMENSION)
        assert full.score == result.metric(frontier.metric).value
        assert (full.loss, full.low, full.high) == (0.0, 0.0, 0.0)
        assert {(point.dimension, point.precision): point.size for point in frontier.points} == {
            (24, "float32"): 96, (24, "int8"): 24, (24, "ubinary"): 3,
        }  # fmt: skip
        for point in frontier.points:
            assert point.loss == pytest.approx(full.score - point.score, abs=1e-12)
            assert point.low <= point.loss <= point.high
    assert [each.calls for each in encoders] == calls


@pytest.mark.parametrize(("dimensions", "scored"), [((), {24, 5}), ((12, 6), {24, 12, 6}), ((24,), {24})])
def test_a_frontier_has_the_dimensions_asked_for_or_halves(
    audited: tuple[Path, list[FromTable]],
    results: list[Result],
    monkeypatch: pytest.MonkeyPatch,
    dimensions: tuple[int, ...],
    scored: set[int],
) -> None:
    monkeypatch.setattr("medsenteval.comparison.frontier.halved", lambda width: (width, 5))
    ((found,), _) = compression_frontier(results[:1], audited[0], dimensions=dimensions, resamples=100)
    assert {point.dimension for point in found.points} == scored
    assert len(found.points) == 3 * len(scored)
    sizes = [point.size for point in found.points]
    assert sizes == sorted(sizes, reverse=True)


def test_frontiers_of_one_encoder_and_task_are_told_apart(
    audited: tuple[Path, list[FromTable]], results: list[Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medsenteval.comparison.frontier.halved", lambda width: (width,))
    first, other = results[:2]
    again = replace(first, seed=2, signature=first.signature.replace("|seed=1111|", "|seed=2|"))
    found, left_out = compression_frontier([first, again, other], audited[0], resamples=100)
    names = [f"{first.encoder}, seed=1111", f"{first.encoder}, seed=2", f"{other.encoder}, seed=1111"]
    assert ([each.encoder for each in found], left_out) == (names, [])


@pytest.mark.parametrize(("gain", "dropped"), [(1e-8, True), (1e-5, False)])
def test_larger_vectors_are_dropped_if_they_gain_by_rounding_only(gain: float, dropped: bool) -> None:
    large = FrontierPoint(64, "float32", 256, 0.8 + gain, 0.0, 0.0, 0.0)
    small = FrontierPoint(64, "int8", 64, 0.8, gain, 0.0, 0.0)
    assert (_beats(small, large), _beats(large, small)) == (dropped, False)


@pytest.mark.slow
def test_the_frontier_of_chosen_dimensions_is_printed_and_drawn(
    audited: tuple[Path, list[FromTable]], results: list[Result]
) -> None:
    folder, _ = audited
    figure = folder / "frontier.svg"
    arguments = ["frontier", str(folder / "results"), "-d", str(folder), "--dimensions", "12,6", "--figure", str(figure)]
    outcome = CliRunner().invoke(main, arguments)
    assert outcome.exit_code == 0, outcome.output
    assert outcome.output.count("Smallest vectors that surely lose less than 0.01: ") == 3
    assert "bytes per vector" in figure.read_text("utf-8")
    assert not any(result.synthetic for result in results)
    assert "SYNTHETIC" not in outcome.output
    with pytest.raises(SettingsError, match="has 24 dimensions; 99 cannot be kept"):
        compression_frontier(results[:1], folder, dimensions=[99])


def test_an_encoder_that_stands_for_the_cache_refuses_to_encode() -> None:
    from medsenteval.encoders.derived import CachedEncoder, derived_from_cache

    with pytest.raises(EncoderError, match="no encoder is called"):
        CachedEncoder("x", "y").encode(["a"])
    derived = derived_from_cache("x", "model-1-first=64-unit-int8")
    assert (derived.source.identity, derived.identity) == ("model-1", "model-1-first=64-unit-int8")
    assert derived_from_cache("x", "vectors-unit-norm").source.identity == "vectors-unit-norm"


def test_vectors_of_length_one_stay_as_they_are_and_others_get_it() -> None:
    rows = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    unit = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    assert of_unit_length(unit) is unit
    for scale in (0.5, 1.001, 1.9):
        assert of_unit_length(unit * np.float32(scale)) == pytest.approx(unit, abs=1e-6)
    assert of_unit_length(np.zeros((2, 3), dtype=np.float32)).tolist() == [[0.0] * 3] * 2


def of_unit_length(rows: NDArray[np.float32]) -> NDArray[np.floating]:
    return dict(changed_vectors(rows, principal_axes(rows), 1))["unit length"]
