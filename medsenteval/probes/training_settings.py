"""SentEval's ``classifier`` options, its optimiser strings, and what is trained with them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from medsenteval.errors import SettingsError
from medsenteval.support.arrays import Rows

#: SentEval's name of each optimiser -> torch's, and its numeric options but for weight decay, which the penalty grid sets.
OPTIMISERS: Final[dict[str, tuple[str, frozenset[str]]]] = {
    "adadelta": ("Adadelta", frozenset({"lr", "rho", "eps"})),
    "adagrad": ("Adagrad", frozenset({"lr", "lr_decay", "initial_accumulator_value", "eps"})),
    "adam": ("Adam", frozenset({"lr", "eps", "amsgrad"})),
    "adamax": ("Adamax", frozenset({"lr", "eps"})),
    "asgd": ("ASGD", frozenset({"lr", "lambd", "alpha", "t0"})),
    "rmsprop": ("RMSprop", frozenset({"lr", "alpha", "eps", "momentum", "centered"})),
    "rprop": ("Rprop", frozenset({"lr"})),
    "sgd": ("SGD", frozenset({"lr", "momentum", "dampening", "nesterov"})),
}

_SWITCHES: Final = frozenset({"amsgrad", "centered", "nesterov"})
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class OptimiserChoice:
    """An optimiser string such as ``adagrad,lr=0.1,lr_decay=0.05``, taken apart."""

    name: str
    options: dict[str, float | bool]

    @classmethod
    def parse(cls, text: str) -> OptimiserChoice:
        """Read SentEval's form: the name, then ``option=number`` after commas."""
        name, *assignments = text.split(",")
        if name not in OPTIMISERS:
            raise SettingsError(f"unknown optimiser {name!r} in {text!r}; known: {', '.join(OPTIMISERS)}")
        options: dict[str, float | bool] = {}
        for assignment in assignments:
            option, equals, number = assignment.partition("=")
            if not equals or not _NUMBER.fullmatch(number):
                raise SettingsError(f"optimiser {text!r}: {assignment!r} is not of the form option=number")
            if option == "weight_decay":
                raise SettingsError(f"optimiser {text!r}: weight_decay is set by the penalty grid; leave it out")
            known = OPTIMISERS[name][1]
            if option not in known:
                listed = ", ".join(sorted(known))
                raise SettingsError(f"optimiser {text!r}: {name} has no option {option!r}; known: {listed}")
            options[option] = bool(float(number)) if option in _SWITCHES else float(number)
        if name == "sgd" and "lr" not in options:
            raise SettingsError("optimiser 'sgd' needs a learning rate, for instance 'sgd,lr=0.1'")
        return cls(name, options)


@dataclass(frozen=True)
class ClassifierSettings:
    """SentEval's ``classifier`` dictionary with its defaults; ``nhid`` 0 is logistic regression."""

    nhid: int = 0
    optim: str = "adam"
    tenacity: int = 5
    epoch_size: int = 4
    max_epoch: int = 200
    dropout: float = 0.0
    batch_size: int = 64

    def __post_init__(self) -> None:
        smallest = {"nhid": 0, "tenacity": 0, "epoch_size": 1, "max_epoch": 0, "batch_size": 1}
        for setting, least in smallest.items():
            value = getattr(self, setting)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise SettingsError(f"classifier setting {setting} must be an integer from {least} up, not {value!r}")
        if not 0 <= self.dropout < 1:
            raise SettingsError(f"classifier setting dropout must be at least 0 and below 1, not {self.dropout!r}")
        if self.dropout and not self.nhid:
            raise SettingsError("classifier setting dropout needs a hidden layer; set nhid above 0 or dropout to 0")
        OptimiserChoice.parse(self.optim)

    @property
    def optimiser(self) -> OptimiserChoice:
        return OptimiserChoice.parse(self.optim)


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """One fold's training rows, in the order that permutations refer to, its stopping rows and its penalties."""

    train: Rows
    stop: Rows
    penalties: tuple[float, ...]
    #: Rows to predict with the best model of the first penalty, or None for a grid search.
    predict: Rows | None = None
    #: Number of rows from which the stopping rows were drawn at random, or None where they were given.
    hold_out_of: int | None = None
