"""Settings of wrong types are refused by name, from Python, from SentEval's params and from the command line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.errors import SettingsError
from medsenteval.settings import CONFIDENCE, Settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("folds", "x"), ("folds", 2.5), ("folds", None), ("folds", True), ("folds", [5]), ("folds", -1), ("folds", 10**400),
        ("seed", -1), ("seed", "1"), ("seed", 2**32), ("seed", None), ("batch_size", 1.5), ("limit", "all"), ("limit", 0),
        ("resamples", "many"), ("resamples", float("inf")),
        ("tolerance", float("inf")), ("tolerance", -1.0), ("grouped", "yes"), ("grouped", 1), ("probe", 5),
        ("probe", None), ("grid", ["wide"]), ("training", 5), ("training", [("nhid", 5)]), ("similarity", 5), ("shots", 1.5),
        ("draws", "x"), ("few_shot", 8), ("train_fraction", "half"), ("train_fraction", float("nan")), ("task_options", 5),
        ("task_options", {"BioASQ": 5}),
    ],
)  # fmt: skip
def test_a_wrong_type_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"\b{name} is "):
        Settings(**{name: value})


def test_numbers_of_numpy_are_numbers() -> None:
    settings = Settings(folds=np.int64(5), seed=np.uint32(7), tolerance=np.float32(0.5))  # type: ignore[arg-type]
    assert (settings.folds, settings.seed, settings.tolerance) == (5, 7, 0.5)


@pytest.mark.parametrize("params", [{"kfold": "x"}, {"seed": -5}, {"batch_size": None}, {"classifier": {"nhid": "x"}}])
def test_wrong_params_of_senteval_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"(folds|seed|batch_size|nhid).* is "):
        Settings.from_senteval_params(params)


@pytest.mark.parametrize("seeds", ["²", "-1", "1.5", "x", "9" * 5000, "4294967296", ""])
def test_wrong_seeds_on_the_command_line_are_refused(seeds: str) -> None:
    outcome = CliRunner().invoke(main, ["run", "-t", "BIOSSES", "--plan", "--seeds", seeds])
    assert outcome.exit_code == 2
    assert "Traceback" not in outcome.output
    assert "seed" in outcome.output


@pytest.mark.parametrize(
    ("name", "least"),
    [("folds", 2), ("batch_size", 1), ("limit", 1), ("resamples", 100), ("shots", 1), ("draws", 2)],
)
def test_a_setting_may_be_as_small_as_its_least_and_no_smaller(name: str, least: int) -> None:
    given: dict[str, Any] = {name: least}
    assert getattr(Settings(**given), name) == least
    with pytest.raises(SettingsError, match=f"{name} is {least - 1}; "):
        Settings(**{**given, name: least - 1})


def test_the_ends_of_other_ranges() -> None:
    assert Settings(seed=2**32 - 1, train_fraction=1, tolerance=1e-300).seed == 2**32 - 1
    for wrong in (
        {"seed": 2**32}, {"seed": -1}, {"train_fraction": 0}, {"train_fraction": 1.01}, {"tolerance": 0},
        {"shots": 2, "train_fraction": 0.5}, {"few_shot": "mteb"}, {"grid": "wide", "probe": "mlp"}, {"batch_size": 2**62},
    ):  # fmt: skip
        with pytest.raises(SettingsError):
            Settings(**wrong)
    assert Settings(few_shot="mteb", shots=8).part_of_training == "mteb-shots-8-draws-10"
    assert Settings(shots=8).part_of_training == "shots-8-draws-10"
    assert Settings(train_fraction=0.5, draws=3).part_of_training == "fraction-0.5-draws-3"
    assert Settings(grid="wide", probe="sklearn").part_of_training == ""


def test_the_defaults_are_those_of_a_publishable_run_and_of_senteval() -> None:
    own, senteval = Settings(), Settings.from_senteval_params({})
    assert (own.probe, own.grid, own.folds, own.seed, own.batch_size, own.resamples, own.draws) == (
        "exact", "senteval", 10, 1111, 128, 2000, 10,
    )  # fmt: skip
    assert (own.grouped, own.allow_incomplete, own.limit, own.tolerance, own.few_shot) == (False, False, None, None, "own")
    assert (senteval.probe, senteval.folds, senteval.seed, senteval.batch_size) == ("exact", 5, 1111, 128)
    assert CONFIDENCE == 0.95
    hidden = Settings.from_senteval_params({"classifier": {"nhid": 1, "epoch_size": 2}})
    assert (hidden.probe, hidden.training) == ("mlp", {"nhid": 1, "epoch_size": 2})
    linear = Settings.from_senteval_params({"classifier": {"nhid": 0, "epoch_size": 2}, "allow_incomplete": 1})
    assert (linear.probe, linear.training, linear.allow_incomplete) == ("exact", {}, True)


def test_a_misspelt_setting_is_named_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="no setting is called 'fold'; did you mean 'folds'"):
        Settings().with_changes(fold=3)
    with pytest.raises(SettingsError, match="no setting is called 'zzz'; there are probe, grid, "):
        Settings.of(None, {"zzz": 3})
    assert Settings.of({"folds": 3}, {"seed": 2}) == Settings(folds=3, seed=2)
    assert Settings.of(Settings(folds=3), {"folds": 4}) == Settings(folds=4)
    with pytest.raises(SettingsError, match="expected Settings or a dict"):
        Settings.of(3, {})  # type: ignore[arg-type]
