"""How an evaluation is carried out, and SentEval's ``params`` read into it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, Final

from medsenteval.errors import SettingsError

#: Intervals are of this level everywhere, so that none can be taken for another.
CONFIDENCE: Final = 0.95
#: ``exact`` solves the logistic regression to convergence, ``sklearn`` calls scikit-learn as SentEval's usepytorch=False
#: does, ``senteval`` runs SentEval's torch loop, ``mlp`` the same loop with a hidden layer.
PROBES: Final = ("exact", "sklearn", "senteval", "mlp")

#: Declared type of a setting -> the types that it takes, in Python's words and in ours.
_TYPES: Final[dict[str, tuple[Any, str]]] = {
    "str": (str, "a text"),
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "bool": (bool, "true or false"),
    "Mapping": (Mapping, "a table"),
    "Callable": (Callable, "a function"),
}
_TRAINING_KEYS: Final = ("nhid", "optim", "tenacity", "epoch_size", "max_epoch", "dropout", "batch_size")


class SentEvalParams(dict[str, Any]):
    """SentEval's params: a dictionary whose keys are attributes too, and whose missing attributes read as None."""

    def __getattr__(self, name: str) -> Any:
        # Dunder look-ups (copy, pickle) must fail as on any object.
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        del self[name]


@dataclass(frozen=True)
class Settings:
    """Everything but the data and the encoder that can move a score, with the defaults of a publishable run.

    ``grid`` is "senteval" for SentEval's penalties or "wide" for 2^-10 to 2^10. ``grouped`` keeps all rows of a question,
    tweet or paper in one fold. ``similarity`` replaces the cosine in similarity tasks. ``training`` holds SentEval's
    classifier options for the probes ``senteval`` and ``mlp``.
    ``train_fraction`` or ``shots`` (rows a class) train on a part of the training rows only, ``draws`` times; ``few_shot`` is
    "own", or "mteb" for that toolkit's protocol.
    ``allow_incomplete`` scores data sets too that are far from their published size or lost many rows in reading.
    ``task_options`` maps a task name to its reading options, for example {"BioASQ": {"snippets": "all"}}.

    >>> settings = medsenteval.Settings(folds=5, grouped=True)
    >>> settings.folds, settings.seed
    (5, 1111)
    """

    probe: str = "exact"
    grid: str = "senteval"
    tolerance: float | None = None
    folds: int = 10
    seed: int = 1111
    grouped: bool = False
    batch_size: int = 128
    limit: int | None = None
    resamples: int = 2000
    similarity: Callable[[Any, Any], float] | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    train_fraction: float | None = None
    shots: int | None = None
    draws: int = 10
    few_shot: str = "own"
    allow_incomplete: bool = False
    task_options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in fields(self):
            _check_type(each.name, str(each.type), getattr(self, each.name))
        _require(self.seed < 2**32, f"seed is {self.seed}; it must be below 2^32, as random generators have it")
        _require(self.probe in PROBES, f"probe is {self.probe!r}; it can be {', '.join(PROBES)}")
        _require(self.grid in ("senteval", "wide"), f"grid is {self.grid!r}; it can be senteval or wide")
        _require(self.folds >= 2, f"folds is {self.folds}; cross-validation needs at least 2")
        _require(self.batch_size >= 1, f"batch_size is {self.batch_size}; it must be at least 1")
        _require(self.limit is None or self.limit >= 1, f"limit is {self.limit}; it must be at least 1")
        _require(self.resamples >= 100, f"resamples is {self.resamples}; an interval needs at least 100")
        _require(self.tolerance is None or self.tolerance > 0, f"tolerance is {self.tolerance}; it must be positive")
        _require(
            self.train_fraction is None or 0 < self.train_fraction <= 1,
            f"train_fraction is {self.train_fraction}; it must lie above 0 and not above 1",
        )
        _require(self.shots is None or self.shots >= 1, f"shots is {self.shots}; it must be at least 1 row a class")
        _require(self.train_fraction is None or self.shots is None, "train_fraction and shots exclude each other")
        _require(self.draws >= 2, f"draws is {self.draws}; a mean over draws needs at least 2")
        _require(self.few_shot in ("own", "mteb"), f"few_shot is {self.few_shot!r}; it can be own or mteb")
        _require(self.few_shot == "own" or self.shots is not None, "few_shot 'mteb' needs shots (mteb takes 8 a class)")
        unknown = sorted(set(self.training) - set(_TRAINING_KEYS))
        _require(not unknown, f"unknown classifier options {unknown}; known: {', '.join(_TRAINING_KEYS)}")
        _require(
            self.grid == "senteval" or self.probe in ("exact", "sklearn"),
            f"the wide grid is a grid of C; the probe {self.probe!r} has weight decays",
        )

    @property
    def part_of_training(self) -> str:
        """Name the part of the training rows that is used, for protocols and signatures; empty for all of them."""
        if self.shots is not None:
            return f"{'mteb-' if self.few_shot == 'mteb' else ''}shots-{self.shots}-draws-{self.draws}"
        return "" if self.train_fraction is None else f"fraction-{self.train_fraction:g}-draws-{self.draws}"

    def with_changes(self, **changes: Any) -> Settings:
        """Return the same settings but for these.

        >>> medsenteval.Settings().with_changes(folds=5).folds
        5
        """
        known = [each.name for each in fields(self)]
        for name in changes:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            _require(name in known, f"no setting is called {name!r}; {hint}")
        return replace(self, **changes)

    @classmethod
    def of(cls, given: Settings | Mapping[str, Any] | None, changes: Mapping[str, Any]) -> Settings:
        """Read Settings, a dict of settings or nothing, with ``changes`` winning over it."""
        if given is None or isinstance(given, Mapping):
            return cls().with_changes(**{**(given or {}), **changes})
        _require(isinstance(given, Settings), f"settings is {given!r}; expected Settings or a dict such as {{'folds': 5}}")
        return given.with_changes(**changes)

    @classmethod
    def from_senteval_params(cls, params: Mapping[str, Any]) -> Settings:
        """Read SentEval's params with SentEval's own defaults (5 folds, seed 1111, batches of 128).

        ``usepytorch`` absent takes the exact solver, False scikit-learn, True SentEval's torch loop. The exact solver is
        linear, so a hidden layer (``nhid`` above 0) asks for the torch loop; scikit-learn ignores it, as in SentEval.
        """
        classifier = params.get("classifier") or {"nhid": 0}
        if "nhid" not in classifier:
            # SentEval raises AssertionError here; SettingsError says the same with the remedy.
            raise SettingsError("params['classifier'] must say nhid, the number of hidden units (0 for logistic regression)")
        training = {key: classifier[key] for key in _TRAINING_KEYS if key in classifier}
        _check_type("classifier['nhid']", "int", classifier["nhid"])
        hidden = classifier["nhid"] > 0
        usepytorch = params.get("usepytorch")
        probe = "exact" if usepytorch is None else "senteval" if usepytorch else "sklearn"
        if hidden and probe != "sklearn":
            probe = "mlp"
        elif hidden:
            message = f"nhid={classifier['nhid']} is ignored, as in SentEval: usepytorch=False trains logistic regression"
            warnings.warn(message, stacklevel=3)
        return cls(
            probe=probe,
            folds=params.get("kfold", 5),
            seed=params.get("seed", 1111),
            batch_size=params.get("batch_size", 128),
            similarity=params.get("similarity"),
            allow_incomplete=bool(params.get("allow_incomplete")),
            task_options=params.get("task_options") or {},
            training=training if probe in ("senteval", "mlp") else {},
        )


def _check_type(name: str, declared: str, value: Any) -> None:
    """Refuse a value that is not of the type that its field declares, before anything compares or counts with it."""
    if value is None and declared.endswith("| None"):
        return
    kind, expected = _TYPES[declared.partition("[")[0].partition(" |")[0]]
    fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    _require(fits, f"{name} is {value!r}; expected {expected}")
    if isinstance(value, Real) and kind is not bool:
        number: Any = value  # a whole number may be too large for a float
        _require(0 <= number < 2**62, f"{name} is {value!r}; it must be finite and not negative")
    if name == "task_options":
        _require(
            all(isinstance(each, Mapping) for each in value.values()), f"{name} is {value!r}; expected a table for each task"
        )


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise SettingsError(message)
