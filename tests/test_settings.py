"""Settings of wrong types are refused by name, from Python, from SentEval's params and from the command line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.errors import SettingsError
from medsenteval.settings import Settings


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
