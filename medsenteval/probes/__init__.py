"""What is trained on frozen embeddings, and the choice of a back end by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from medsenteval.probes.backend import Backend
from medsenteval.settings import Settings

if TYPE_CHECKING:
    from medsenteval.probes.training_settings import ClassifierSettings

#: Our own grid of C: wide enough that the optimum lies inside it for small vectors and for thousands of pair features.
WIDE_GRID: Final = tuple(2.0**t for t in range(-10, 11))


def choose_backend(settings: Settings, training: Mapping[str, Any]) -> Backend:
    """Make the back end that the settings name; ``training`` holds a task's overrides of SentEval's loop."""
    if settings.probe == "sklearn":
        from medsenteval.probes.scikit import ScikitBackend

        return ScikitBackend(seed=settings.seed)
    if settings.probe == "exact":
        from medsenteval.probes.exact.logistic import ExactBackend

        return ExactBackend(tolerance=settings.tolerance)
    from medsenteval.probes.senteval_backend import SentEvalBackend

    return SentEvalBackend(_classifier_settings(settings, training), seed=settings.seed)


def describe_probe(settings: Settings, training: Mapping[str, Any], n_rows: int) -> str:
    """Return the probe with every setting that can move a score on a data set of this size, for signatures."""
    if settings.few_shot == "mteb":
        return "mteb(C=1,max_iter=100)"
    if settings.probe == "sklearn":
        return "sklearn"
    if settings.probe == "exact":
        from medsenteval.probes.exact.stopping_rule import default_tolerance

        tolerance = default_tolerance(n_rows) if settings.tolerance is None else settings.tolerance
        return f"exact(tol={tolerance:g})"
    chosen = vars(_classifier_settings(settings, training))
    return f"{settings.probe}({','.join(f'{key}={value}' for key, value in chosen.items())})"


def _classifier_settings(settings: Settings, training: Mapping[str, Any]) -> ClassifierSettings:
    from medsenteval.probes.training_settings import ClassifierSettings

    default_width = {"nhid": 50} if settings.probe == "mlp" else {}
    overrides = {key: value for key, value in training.items() if key != "noreg"}
    return ClassifierSettings(**{**default_width, **settings.training, **overrides})


def choose_penalties(settings: Settings, training: Mapping[str, Any]) -> tuple[float, ...] | None:
    """Return the penalties to search, or None for the back end's own grid.

    MedSentEval trains its largest tasks without a search (``noreg``), which the parity back ends follow. The exact solver
    searches there too: an unpenalised optimum overfits where SentEval's early stopping did not.
    """
    if settings.grid == "wide":
        return WIDE_GRID
    next_to_none = {"sklearn": (1e9,), "senteval": (1e-9,), "mlp": (1e-9,)}
    return next_to_none.get(settings.probe) if training.get("noreg") else None
