"""SentEval's own training as a probe: the ``senteval`` (linear) and ``mlp`` (one hidden layer) back ends.

The recipe, for one model: parameters as ``torch.nn.Linear`` draws them, mean cross-entropy, mini-batches of 64 rows
from a fresh permutation in every pass, any of torch's classic optimisers with the penalty as its weight decay (biases
included). After every ``epoch_size`` passes the model is scored on the rows that stop it; the strictly best model is
kept. Checks without improvement are counted and the count is never reset: training ends at check number
``tenacity + 1`` of that kind, or once more than ``max_epoch`` passes are done. In the grid search the scored rows
are also the stopping rows, so that grid scores are optimistic, exactly as SentEval's are. The final fit stops on
``Fold.validation`` rows or, without them, on a random 5 % of its training rows, which it then does not train on.

SentEval re-seeds both of its generators for every model. All models with equally many training rows therefore start
from the same parameters and draw the same permutations and dropout masks, and are trained together as one stacked model
(``senteval_loop.py``) from SentEval's random numbers. Only the last bits of sums differ, as products for many models are
summed in another order and torch's fused update rules round differently; in 30 comparisons with SentEval itself on 240 rows
(three protocols, eight optimisers, hidden layer, dropout) no score did. On a GPU SentEval draws dropout masks from the GPU's
generator; ours are always the CPU's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import ProbeError, import_extra
from medsenteval.probes.backend import FitReport, Fold, check_labels
from medsenteval.probes.features import Features
from medsenteval.probes.training_settings import ClassifierSettings, TrainingJob
from medsenteval.support.arrays import Labels
from medsenteval.support.cores import one_thread_per_product
from medsenteval.support.grouping import grouped

if TYPE_CHECKING:
    from medsenteval.probes.senteval_loop import TrainedModels

#: Weight decays that SentEval tries, in every protocol.
PENALTIES: Final = (1e-5, 1e-4, 1e-3, 1e-2)

#: Share of the training rows that the final fit sets aside to know when to stop.
HOLD_OUT: Final = 0.05

#: A stack may occupy about this much (parameters, optimiser state, mini-batches); further folds are trained after it.
STACK_BYTES: Final = 1 << 28


class SentEvalBackend:
    """SentEval's torch classifier for many folds and penalties at once, on a GPU where there is one.

    Products run on one thread: a model's last bits depend on its stack, and at CitationSA's size ten folds took 0.34 s stacked
    on one thread, 0.75 s on two.
    """

    name: str

    def __init__(self, settings: ClassifierSettings | None = None, seed: int = 1111) -> None:
        torch = import_extra("torch", "SentEval's training loop", "torch")
        self.settings = settings if settings is not None else ClassifierSettings()
        self.seed = seed
        self.name = "mlp" if self.settings.nhid else "senteval"
        self.device = "cuda" if torch.cuda.is_available() else "cpu"

    def penalties(self, protocol: str) -> tuple[float, ...]:
        """SentEval's four weight decays, which are the same for every protocol."""
        return PENALTIES

    def score_grid(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[NDArray[np.float64], FitReport]:
        """Return the best accuracy reached on each fold's held-out rows, which also stop its training."""
        jobs = [TrainingJob(fold.train, fold.held_out, tuple(penalties)) for fold in folds]
        scores = np.zeros((len(jobs), len(penalties)))
        trained = self._train(features, labels, n_classes, jobs)
        for number, models in trained.items():
            scores[number] = models.accuracies
        return scores, _report(trained.values())

    def predict(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[list[NDArray[np.float64]], FitReport]:
        """Fit fold i with ``penalties[i]``, stopping on its validation rows or on 5 % of its training rows."""
        if len(folds) != len(penalties):
            raise ProbeError(f"{len(folds)} folds need as many penalties, not {len(penalties)}")
        jobs = [self._final_job(fold, penalty) for fold, penalty in zip(folds, penalties, strict=True)]
        trained = self._train(features, labels, n_classes, jobs)
        predictions = []
        for number in range(len(jobs)):
            probabilities = trained[number].probabilities
            assert probabilities is not None, "a final fit predicts its held-out rows"
            predictions.append(probabilities)
        return predictions, _report(trained.values())

    def _final_job(self, fold: Fold, penalty: float) -> TrainingJob:
        """Set aside the stopping rows of a final fit, with SentEval's draw where the fold does not name them."""
        if fold.validation is not None:
            return TrainingJob(fold.train, fold.validation, (penalty,), predict=fold.held_out)
        n_rows = len(fold.train)
        n_stop = int(HOLD_OUT * n_rows)
        if n_stop == 0:
            raise ProbeError(
                f"SentEval's loop stops on {HOLD_OUT:.0%} of the training rows, which is no row at all of {n_rows}; "
                f"give the fold validation rows or at least {round(1 / HOLD_OUT)} training rows"
            )
        # The same seed as in training: the hold-out is the first draw from the stream that then permutes the rows.
        order = np.random.RandomState(self.seed).permutation(n_rows)
        train, stop = fold.train[order[n_stop:]], fold.train[order[:n_stop]]
        return TrainingJob(train, stop, (penalty,), predict=fold.held_out, hold_out_of=n_rows)

    def _train(
        self, features: Features, labels: Labels, n_classes: int, jobs: Sequence[TrainingJob]
    ) -> dict[int, TrainedModels]:
        """Train all jobs, those that share a random stream together, and return the outcome by job number."""
        from medsenteval.probes.senteval_loop import StackedTrainer

        check_labels(features, labels, n_classes)
        for number, job in enumerate(jobs):
            if not len(job.train) or not len(job.stop):
                n_train, n_stop = len(job.train), len(job.stop)
                raise ProbeError(f"fold {number} has {n_train} training and {n_stop} stopping rows; it needs some of each")
        if not jobs:
            return {}
        trainer = StackedTrainer(self.settings, self.seed, self.device, features, labels, n_classes)
        largest_stack = max(1, STACK_BYTES // max(map(trainer.bytes_needed, jobs)))
        trained: dict[int, TrainedModels] = {}
        with one_thread_per_product():
            # What decides SentEval's random draws: how many rows they permute, and what came before.
            streams = grouped(((len(job.train), job.hold_out_of), number) for number, job in enumerate(jobs))
            for numbers in streams.values():
                for first in range(0, len(numbers), largest_stack):
                    stack = numbers[first : first + largest_stack]
                    trained |= zip(stack, trainer.train([jobs[number] for number in stack]), strict=True)
        return trained


def _report(trained: Iterable[TrainedModels]) -> FitReport:
    """Early stopping proves no optimum: a fit counts as unconverged if ``max_epoch`` ended it before tenacity did."""
    ended_by_limit = [cut for models in trained for cut in models.cut_short]
    return FitReport(len(ended_by_limit), sum(map(bool, ended_by_limit)), None, None)
