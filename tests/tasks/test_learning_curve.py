"""Parts of the training rows: what is drawn, what is scored, what the protocol is called, and mteb's own few-shot scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.comparison.compare import compare_results
from medsenteval.contracts import Result
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.encoders.mteb_model import mteb_metadata
from medsenteval.engine import evaluate_task
from medsenteval.errors import ProbeError, SettingsError
from medsenteval.probes import choose_backend, choose_penalties
from medsenteval.probes.features import Features
from medsenteval.probes.protocols import run_kfold
from medsenteval.report.charts.figure_files import write_drawing
from medsenteval.report.learning_curve_table import curve_panels, curve_points, render_curves
from medsenteval.settings import Settings
from medsenteval.statistics import f1_share_interval, share_interval
from medsenteval.tasks.learning_curve import _mean_of_draws, _one_draw, mteb_experiments, part_of_rows
from tests.comparison.simulated import accuracy_result
from tests.conftest import CountingEncoder


def score(name: str, encoder: CountingEncoder, **changes: object) -> Result:
    settings = Settings(**{"probe": "exact", "folds": 3, "resamples": 100, **changes})  # type: ignore[arg-type]
    task = registry.task(name)
    return evaluate_task(task, load_dataset(task, sample_root(), settings), encoder, settings)


def test_a_part_keeps_classes_and_comes_from_the_given_rows() -> None:
    labels = np.array([0] * 60 + [1] * 30 + [2] * 3)
    rows = np.arange(5, 93)
    rng = np.random.default_rng(0)
    fraction = part_of_rows(labels, rows, Settings(train_fraction=0.1), rng)
    assert np.bincount(labels[fraction]).tolist() == [6, 3, 1]
    assert set(fraction) <= set(rows)
    shots = part_of_rows(labels, rows, Settings(shots=4), rng)
    assert np.bincount(labels[shots]).tolist() == [4, 4, 3]
    assert not np.array_equal(shots, part_of_rows(labels, rows, Settings(shots=4), rng))


@pytest.mark.parametrize(
    ("name", "protocol"), [("TREC", "kfold-3"), ("SST5", "split"), ("MR", "nested-3"), ("MRPC", "kfold-3")]
)
def test_more_training_rows_do_better(counting: CountingEncoder, name: str, protocol: str) -> None:
    few = score(name, counting, shots=1, draws=3)
    many = score(name, counting, train_fraction=0.9, draws=3)
    assert few.protocol == f"{protocol}-shots-1-draws-3"
    assert many.protocol == f"{protocol}-fraction-0.9-draws-3"
    assert f"|{many.protocol}|" in many.signature
    assert few.n_train < many.n_train
    assert few.metrics[0].value < many.metrics[0].value
    assert few.metrics[0].low < few.metrics[0].value < few.metrics[0].high
    assert len(few.details["draw_accuracies"]) == 3
    assert few.metrics[0].value == pytest.approx(np.mean(few.details["draw_accuracies"]))
    assert 100 * np.mean(few.items["acc"]) == pytest.approx(few.metrics[0].value)


@pytest.mark.parametrize("name", ["TREC", "MRPC"])
def test_all_rows_in_every_draw_are_the_ordinary_score(counting: CountingEncoder, name: str) -> None:
    whole = score(name, counting)
    part = score(name, counting, train_fraction=1.0, draws=2)
    assert part.senteval == {key: whole.senteval[key] for key in part.senteval}
    # Draws that do not differ leave the interval of the items.
    for ours, theirs in zip(part.metrics, whole.metrics, strict=True):
        assert (ours.name, ours.unit, ours.n) == (theirs.name, theirs.unit, theirs.n)
        numbers = [(each.value, each.low, each.high, each.baseline) for each in (ours, theirs)]
        assert numbers[0] == pytest.approx(numbers[1])
        draws = part.details["draw_accuracies" if ours.name == "acc" else f"draw_{ours.name}"]
        assert draws == pytest.approx([theirs.value] * 2)
    assert part.details["training_rows"] == [part.n_train] * 2


def test_a_penalty_is_chosen_from_two_rows_of_each_class_on() -> None:
    rng = np.random.default_rng(0)
    labels = np.tile([0, 1], 20)
    features = Features.from_array(rng.standard_normal((40, 4)) + 2 * labels[:, None] * [1, 0, 0, 0])
    task, rows = registry.task("TREC"), {"train": np.arange(30), "test": np.arange(30, 40)}
    for shots, penalty in ((1, 1.0), (2, 0.5)):
        settings = Settings(shots=shots, probe="exact")
        data = (choose_backend(settings, task.training), features, labels, 2)
        (fold,), n_train = _one_draw(task, data, rows, settings, np.random.default_rng(0))
        assert (fold.penalty, n_train, fold.rows.tolist()) == (penalty, 2 * shots, list(range(30, 40)))


@pytest.mark.parametrize(("name", "seeds"), [("RQE", [7]), ("MR", [1111] * 3)])
def test_inner_folds_are_shuffled_as_without_a_part(name: str, seeds: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    labels = np.tile([0, 1], 30)
    features = Features.from_array(rng.standard_normal((60, 3)))
    rows = {"train": np.arange(40), "test": np.arange(40, 60)}
    settings = Settings(shots=4, folds=3, seed=7)
    task, seen, grids = registry.task(name), [], set()

    def recorded(*data: Any, **how: Any) -> Any:
        seen.append((how["seed"], how["n_folds"], np.bincount(labels[how["train"]]).tolist()))
        grids.add(tuple(how["penalties"]))
        return run_kfold(*data, **how)

    monkeypatch.setattr("medsenteval.tasks.learning_curve.run_kfold", recorded)
    data = (choose_backend(settings, task.training), features, labels, 2)
    folds, n_train = _one_draw(task, data, rows, settings, rng)
    assert seen == [(seed, 3, [4, 4]) for seed in seeds]
    assert (len(folds), n_train) == (len(seeds), 8)
    assert grids == {tuple(choose_backend(settings, task.training).penalties(task.protocol))}
    grids.clear()
    wide = settings.with_changes(grid="wide")
    _one_draw(task, data, rows, wide, rng)
    assert grids == {tuple(choose_penalties(wide, task.training) or ())}


def test_draws_that_differ_widen_the_interval_by_their_variance() -> None:
    values = np.array([0.7, 0.9])
    metric = _mean_of_draws("acc", values, 40, 50.0, 40)
    # Student's quantile for one degree of freedom is 6.48 times the normal one.
    of_draws = 0.01 * (12.7062047 / 1.9599640) ** 2
    variance = 0.8 * 0.2 / 40 + of_draws
    assert (metric.low, metric.high) == pytest.approx(
        tuple(100 * end for end in share_interval(0.8, 0.16 / variance, confidence=0.95))
    )
    f1 = _mean_of_draws("f1", np.array([1.0, 1.0]), 6.0, 50.0, 40)
    assert (metric.value, metric.baseline, metric.n, f1.value, f1.baseline, f1.n) == pytest.approx((80, 50, 40, 100, 50, 40))
    assert (f1.low, f1.high) == pytest.approx((100 * 2 * 0.025 ** (1 / 6) / (1 + 0.025 ** (1 / 6)), 100.0))
    rare = _mean_of_draws("f1", np.array([0.4, 0.6]), 1.0, 50.0, 40)
    ends = f1_share_interval(0.5, 1.0, confidence=0.95, variance=0.5 * 0.5 * 1.5**2 / 2 + of_draws)
    assert (rare.low, rare.high) == pytest.approx(tuple(100 * end for end in ends))
    with pytest.raises(SettingsError, match="the metric is 'accuracy'; intervals of a mean over draws"):
        _mean_of_draws("accuracy", values, 40, 50.0, 40)


@pytest.mark.slow  # importing mteb takes ten seconds and more
def test_mtebs_few_shot_score_equals_mtebs(counting: CountingEncoder) -> None:
    mteb = pytest.importorskip("mteb")
    from datasets import Dataset, DatasetDict
    from mteb.abstasks import AbsTaskClassification

    from medsenteval.interop.mteb import _bridged, as_mteb_model

    splits = load_dataset(registry.task("TREC"), sample_root(), Settings()).splits
    parts = {name: {"text": list(split.texts), "label": np.asarray(split.labels).tolist()} for name, split in splits.items()}
    rows = DatasetDict({name: Dataset.from_dict(part) for name, part in parts.items()})
    metadata = mteb_metadata("TREC-here", "questions", "Classification", "accuracy", "any")
    task = _bridged(AbsTaskClassification, metadata, rows)
    results = mteb.evaluate(as_mteb_model(counting), [task], cache=None, show_progress_bar=False)
    theirs = results.task_results[0].scores["test"][0]
    ours = score("TREC", counting, shots=8, draws=10, few_shot="mteb")
    assert (ours.protocol, ours.probe) == ("mteb-shots-8-draws-10", "mteb")
    assert ours.metric("acc").value == pytest.approx(100 * theirs["accuracy"], abs=1e-9)
    each = [experiment["accuracy"] for experiment in theirs["scores_per_experiment"]]
    assert ours.details["draw_accuracies"] == pytest.approx([100 * value for value in each])


def test_mteb_takes_the_first_of_each_class_in_a_new_order_each_time() -> None:
    labels = np.array([0, 1] * 50)
    experiments = mteb_experiments(labels, 8, 10)
    assert all(np.bincount(labels[rows]).tolist() == [8, 8] for rows in experiments)
    assert len({tuple(rows) for rows in experiments}) == 10


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("MR", {"shots": 8, "few_shot": "mteb"}, "single texts with a training and a test split"),
        ("MRPC", {"shots": 8, "few_shot": "mteb"}, "single texts"),
        ("RQE", {"shots": 8, "grouped": True}, "exclude each other"),
        ("STSBenchmark", {"train_fraction": 0.5}, "not offered for its regression"),
        ("TREC", {"shots": 1, "probe": "senteval"}, "the probe 'senteval' cannot be trained on one row a class; take more"),
    ],
)
def test_what_cannot_be_is_said(counting: CountingEncoder, name: str, changes: dict[str, object], message: str) -> None:
    with pytest.raises((ProbeError, SettingsError), match=message):
        score(name, counting, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_fraction": 0.0}, "above 0"),
        ({"shots": 0}, "at least 1 row"),
        ({"shots": 1, "train_fraction": 0.5}, "exclude"),
        ({"shots": 1, "draws": 1}, "at least 2"),
        ({"few_shot": "other"}, "own or mteb"),
        ({"few_shot": "mteb"}, "needs shots"),
    ],
)
def test_settings_are_checked(changes: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings(**changes)  # type: ignore[arg-type]


def test_few_shot_results_are_compared_by_the_bootstrap(counting: CountingEncoder) -> None:
    class Constant(CountingEncoder):
        name = identity = "constant"

        def encode(self, texts):  # type: ignore[no-untyped-def]
            return np.ones((len(texts), 3), dtype=np.float32)

    results = [replace(score("TREC", each, shots=4, draws=3), synthetic=False) for each in (counting, Constant())]
    (column,) = compare_results(results, resamples=1000).columns
    assert (column.test, column.beaten_by("counting", 0.05)) == ("paired bootstrap", ["constant"])


@pytest.mark.slow
def test_curves(counting: CountingEncoder, tmp_path: Path) -> None:
    results = [score("TREC", counting, shots=size, draws=2) for size in (8, 2)] + [
        score("TREC", counting),
        score("MR", counting),
    ]
    points = curve_points(results)
    assert [(point.part, point.result.n_train) for point in points] == [("shots 2", 12), ("shots 8", 48), ("all", 241)]
    assert "shots 8" in render_curves(points)
    write_drawing(curve_panels(points), tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 5_000
    with pytest.raises(SettingsError, match="run --train-fraction"):
        curve_points(results[2:])


def test_every_way_of_scoring_is_a_curve_of_its_own() -> None:
    """Points of two probes or seeds on one line would be a curve of neither."""

    def point(value: float, part: str, n_train: int, seed: int = 1, probe: str = "exact", **changes: Any) -> Result:
        protocol = f"split{part}"
        how = f"RQE@1|{protocol}|{probe}|seed={seed}|data=abc"
        result = accuracy_result(
            "RQE", "e", [0, 1], [0, 1], protocol=protocol, probe=probe, seed=seed, how=how, n_train=n_train
        )
        return replace(result, metrics=(replace(result.metrics[0], value=value),), **changes)

    shots = "-shots-2-draws-3"
    results = [
        point(61.0, shots, 4),
        point(70.0, "", 90),
        point(62.0, shots, 4, probe="sklearn"),
        point(63.0, shots, 4, seed=2, coverage={"tokens": 0.3}, synthetic=True),
        point(73.0, "", 90, seed=2),
        point(99.0, "", 90, seed=3),
    ]
    points = curve_points(results)
    assert [(point.protocol, point.part, point.metric.value) for point in points] == [
        ("split, exact, seed=1", "shots 2", 61.0),
        ("split, exact, seed=1", "all", 70.0),
        ("split, exact, seed=2", "shots 2", 63.0),
        ("split, exact, seed=2", "all", 73.0),
        ("split, sklearn, seed=1", "shots 2", 62.0),
    ]
    assert {point.protocol for point in curve_points(results[:2])} == {"split"}
    assert [bool(point.result.cautions) for point in points] == [False, False, True, False, False]
    assert "knows less than half of this task's words; synthetic sample data" in render_curves(points, "csv")
    correlation = replace(results[0].metrics[0], unit="fraction", value=0.6125, low=0.5, high=0.7)
    assert "0.613  [0.500, 0.700]" in render_curves(curve_points([replace(results[0], metrics=(correlation,))]))


def test_the_commands(tmp_path: Path) -> None:
    def run(*arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(main, list(arguments))
        assert result.exit_code == code, result.output
        return result.output

    folder = str(tmp_path / "results")
    shown = run(
        "run", "-t", "TREC", "--shots", "1,2", "--draws", "2", "--probe", "sklearn", "--folds", "2", "-o", folder, "--quiet"
    )
    assert "TREC kfold-2-shots-1-draws-2  TREC kfold-2-shots-2-draws-2" in shown
    assert "mean over draws" in shown
    curve = run("curve", folder, "--figure", str(tmp_path / "curve.svg"))
    assert "shots 1" in curve
    assert (tmp_path / "curve.svg").is_file()
    assert "numbers separated by commas" in run("run", "--shots", "few", code=2)
    assert "exclude each other" in run("run", "--shots", "1", "--train-fraction", "0.1", code=2)
    assert "needs shots" in run("run", "--few-shot", "mteb", code=2)
    assert "is not one of 'text', 'markdown', 'latex', 'csv'" in run("curve", folder, "--format", "x", code=2)
