"""SentEval's training loop for many small networks at once: stacked parameters, batched products, one optimiser step for all.

Imported only once torch is known to be there. The parameters of M models are tensors with M in front. The models of one
fold (its penalties) see the same mini-batch, so their first layers are one matrix product with k times as many rows,
and the folds are a batch of such products. Everything is transposed (units x batch rows), which keeps each model's
part of every tensor contiguous. Folds whose models are all finished leave the stack. Gradients are written out: the networks
have at most two layers, and automatic differentiation would cost more than the arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from medsenteval.probes.features import Features
from medsenteval.probes.training_settings import OPTIMISERS, ClassifierSettings, OptimiserChoice, TrainingJob
from medsenteval.support.arrays import Labels, Rows

Tensor = torch.Tensor

#: Probe input up to this size is built once.
WHOLE_INPUT_BYTES: Final = 1 << 30

#: Stopping and predicted rows are scored in blocks whose input and first layer take about this much.
SCORING_BYTES: Final = 1 << 25

#: Optimisers that torch can apply in a single pass over memory, in less than half the time of separate operations.
_FUSED: Final = frozenset({"adagrad", "adam", "sgd"})

#: Rprop follows signs only and has no weight decay; SentEval's penalty therefore does not change it.
_WITHOUT_DECAY: Final = frozenset({"rprop"})


class RandomStream:
    """SentEval's random numbers in SentEval's order, without touching the process-wide generators."""

    def __init__(self, seed: int) -> None:
        self._rows = np.random.RandomState(seed)
        self._torch = torch.Generator().manual_seed(seed)

    def linear(self, n_inputs: int, n_outputs: int) -> list[Tensor]:
        """Draw the weight and bias with which ``torch.nn.Linear`` starts."""
        # Written as torch computes it: a = sqrt(5) in Kaiming's formula, which amounts to 1 / sqrt(n_inputs).
        weight_bound = math.sqrt(3.0) * (math.sqrt(2.0 / (1 + math.sqrt(5) ** 2)) / math.sqrt(n_inputs))
        bias_bound = 1 / math.sqrt(n_inputs)
        weight = torch.empty(n_outputs, n_inputs).uniform_(-weight_bound, weight_bound, generator=self._torch)
        bias = torch.empty(n_outputs).uniform_(-bias_bound, bias_bound, generator=self._torch)
        return [weight, bias]

    def permutation(self, n_rows: int) -> NDArray[np.int64]:
        return self._rows.permutation(n_rows)

    def dropout(self, n_rows: int, n_units: int, rate: float) -> Tensor:
        """Draw the factors (0 or 1 / (1 - rate)) for one mini-batch, as units x rows."""
        return torch.empty(n_rows, n_units).bernoulli_(1 - rate, generator=self._torch).div_(1 - rate).t()


class StackedModels:
    """Linear or one-hidden-layer networks, one for each fold and penalty, all starting from the same parameters.

    Every fold has equally many models, which stand side by side. ``folds`` has the original numbers of the folds that are
    still in the stack, in ascending order. All of torch's optimisers work element by element and keep no state across elements
    other than the number of steps, which is the same for all models of a stack; so one step on the stack is one step on each
    model, with a weight decay of its own.
    """

    def __init__(self, start: Sequence[Tensor], penalties: NDArray[np.float64], choice: OptimiserChoice) -> None:
        """Take the parameters of one model and the penalties of all: folds x models of a fold."""
        n_folds, self._models_each = penalties.shape
        self.parameters = [part.expand(penalties.size, *part.shape).clone() for part in start]
        self.folds = np.arange(n_folds)
        decays = np.zeros(penalties.size) if choice.name in _WITHOUT_DECAY else penalties.ravel()
        self._decays = torch.tensor(decays, dtype=torch.float32, device=start[0].device)
        options = {**choice.options, "fused": True} if choice.name in _FUSED else choice.options
        self._torch: torch.optim.Optimizer = getattr(torch.optim, OPTIMISERS[choice.name][0])(self.parameters, **options)

    def select(self, keep: NDArray[np.bool_]) -> None:
        """Drop the folds of the stack for which ``keep`` is false, from parameters and the optimiser's state."""
        self.folds = self.folds[keep]
        models = torch.from_numpy(np.flatnonzero(np.repeat(keep, self._models_each))).to(self._decays.device)
        self._decays = self._decays[models]
        for parameter in self.parameters:
            stacked = parameter.shape
            parameter.grad = None
            parameter.data = parameter.data[models]
            state = self._torch.state[parameter]
            for key, value in state.items():
                if isinstance(value, Tensor) and value.shape == stacked:
                    state[key] = value[models]

    def update(self, gradients: Sequence[Tensor]) -> None:
        """Update the parameters in place; ``gradients`` are overwritten."""
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            decays = self._decays.view(-1, *[1] * (parameter.dim() - 1))
            parameter.grad = gradient.addcmul_(parameter, decays)
        self._torch.step()

    def step(self, inputs: Tensor, targets: Tensor, dropout: Tensor | None) -> None:
        """Take one optimiser step on a mini-batch: ``inputs`` folds x rows x columns, ``targets`` folds x rows."""
        logits, hidden = self._forward(inputs, dropout)
        errors = torch.softmax(logits, dim=1)
        classes = torch.arange(errors.shape[1], device=errors.device)
        errors -= self._for_models((targets[:, None, :] == classes[:, None]).float())
        errors /= inputs.shape[1]
        if hidden is None:
            first_errors, second_layer = errors, []
        else:
            second_layer = [torch.bmm(errors, hidden.transpose(1, 2)), errors.sum(dim=2)]
            first_errors = torch.bmm(self.parameters[2].transpose(1, 2), errors)
            first_errors.mul_(hidden).mul_(1 - hidden)
            if dropout is not None:
                first_errors *= dropout
        weight_gradient = torch.bmm(self._by_fold(first_errors), inputs).view_as(self.parameters[0])
        self.update([weight_gradient, first_errors.sum(dim=2), *second_layer])

    def logits(self, inputs: Tensor) -> Tensor:
        """Return models x classes x rows, without dropout."""
        return self._forward(inputs, None)[0]

    def hits(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Count each model's correct rows; a target of -1 is never correct."""
        return (self.logits(inputs).argmax(dim=1) == self._for_models(targets)).sum(dim=1)

    def _forward(self, inputs: Tensor, dropout: Tensor | None) -> tuple[Tensor, Tensor | None]:
        weight, bias = self.parameters[:2]
        first = torch.baddbmm(self._by_fold(bias[:, :, None]), self._by_fold(weight), inputs.transpose(1, 2))
        first = first.view(*bias.shape, inputs.shape[1])
        if len(self.parameters) == 2:
            return first, None
        # SentEval drops units before the sigmoid, so that a dropped unit is 1/2 rather than 0.
        hidden = (first if dropout is None else first.mul_(dropout)).sigmoid_()
        return torch.baddbmm(self.parameters[3][:, :, None], self.parameters[2], hidden), hidden

    def _by_fold(self, stacked: Tensor) -> Tensor:
        """View models x units x anything as folds x (models of the fold, units) x anything."""
        return stacked.view(len(self.folds), -1, stacked.shape[2])

    def _for_models(self, of_folds: Tensor) -> Tensor:
        return of_folds.repeat_interleave(self._models_each, dim=0)


@dataclass(frozen=True, eq=False)
class TrainedModels:
    """The models of one job: best accuracy on the stopping rows and whether ``max_epoch`` cut the training short.

    ``probabilities`` are the first model's, for the rows that the job asked to predict.
    """

    accuracies: NDArray[np.float64]
    cut_short: NDArray[np.bool_]
    probabilities: NDArray[np.float64] | None


class StackedTrainer:
    """SentEval's training loop over one data set, for all jobs that share a random stream at once."""

    def __init__(
        self, settings: ClassifierSettings, seed: int, device: str, features: Features, labels: Labels, n_classes: int
    ) -> None:
        self._settings = settings
        self._seed = seed
        self._device = device
        self._features = features
        #: Input that is not too large is built once, the other for each mini-batch.
        fits = 4 * features.n_rows * features.n_columns <= WHOLE_INPUT_BYTES
        self._whole = self._built(slice(None)) if fits else None
        self._labels = torch.from_numpy(np.ascontiguousarray(labels, dtype=np.int64)).to(device)
        self._n_columns = features.n_columns
        self._n_classes = n_classes
        self._first_units = settings.nhid or n_classes

    def _built(self, rows: Rows | slice) -> Tensor:
        return torch.tensor(self._features.take(rows), dtype=torch.float32, device=self._device)

    def _inputs(self, numbers: Tensor) -> Tensor:
        """Return input of shape ``numbers.shape`` x columns."""
        flat = numbers.reshape(-1)
        rows = self._built(flat.cpu().numpy()) if self._whole is None else self._whole.index_select(0, flat)
        return rows.view(*numbers.shape, -1)

    def bytes_needed(self, job: TrainingJob) -> int:
        """Estimate what a job adds to a stack: its mini-batch and, for each penalty, parameters and activations."""
        # Parameters, gradient, two moments and a copy for reordering; activations and their errors.
        per_model = self._first_units * (5 * self._n_columns + 4 * self._settings.batch_size)
        return 4 * (self._settings.batch_size * self._n_columns + len(job.penalties) * per_model)

    def train(self, jobs: Sequence[TrainingJob]) -> list[TrainedModels]:
        """Train jobs with equally many rows and the same hold-out draw, and predict the rows that they name."""
        settings = self._settings
        stream = RandomStream(self._seed)
        start = stream.linear(self._n_columns, self._first_units)
        if settings.nhid:
            start += stream.linear(settings.nhid, self._n_classes)
        if jobs[0].hold_out_of is not None:
            stream.permutation(jobs[0].hold_out_of)
        penalties = np.array([job.penalties for job in jobs])
        stack = StackedModels([part.to(self._device) for part in start], penalties, settings.optimiser)
        train_rows = self._on_device(np.stack([job.train for job in jobs]))
        stop_rows = _padded([job.stop for job in jobs])
        n_stop = (stop_rows >= 0).sum(axis=1, keepdims=True)
        # Grid scores are the best accuracies themselves; only final fits, one model a fold, need their best parameters.
        best_parameters = [part.clone() for part in stack.parameters] if jobs[0].predict is not None else []
        best, misses = np.full(penalties.shape, -1.0), np.zeros(penalties.shape, np.intp)

        passes = 0
        while len(stack.folds) and passes <= settings.max_epoch:
            folds = stack.folds
            self._train_passes(stack, train_rows[self._on_device(folds)], stream)
            passes += settings.epoch_size
            accuracy = self._count_hits(stack, stop_rows[folds]).reshape(len(folds), -1) / n_stop[folds]
            # A finished model may be trained on beside others of its fold, but it stays what it was.
            running = misses[folds] <= settings.tenacity
            better = running & (accuracy > best[folds])
            best[folds] = np.where(better, accuracy, best[folds])
            misses[folds] += running & ~better
            for kept, current in zip(best_parameters, stack.parameters, strict=False):
                kept[self._on_device(folds[better[:, 0]])] = current[self._on_device(np.flatnonzero(better))]
            unfinished = misses[folds].min(axis=1) <= settings.tenacity
            if not unfinished.all():
                stack.select(unfinished)

        outcome = []
        for number, job in enumerate(jobs):
            probabilities = None
            if job.predict is not None:
                best_model = StackedModels([part[number] for part in best_parameters], penalties[:1], settings.optimiser)
                probabilities = self._probabilities(best_model, job.predict)
            outcome.append(TrainedModels(best[number], misses[number] <= settings.tenacity, probabilities))
        return outcome

    def _train_passes(self, stack: StackedModels, rows: Tensor, stream: RandomStream) -> None:
        """Go ``epoch_size`` times over the training rows, given as folds x rows."""
        settings = self._settings
        n_rows = rows.shape[1]
        for _ in range(settings.epoch_size):
            shuffled = rows[:, self._on_device(stream.permutation(n_rows))]
            targets = self._labels[shuffled]
            for first in range(0, n_rows, settings.batch_size):
                batch = slice(first, min(first + settings.batch_size, n_rows))
                dropout = None
                if settings.dropout:
                    dropout = stream.dropout(batch.stop - first, settings.nhid, settings.dropout).to(self._device)
                stack.step(self._inputs(shuffled[:, batch]), targets[:, batch], dropout)

    def _count_hits(self, stack: StackedModels, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count each model's correct stopping rows, given as folds x rows with -1 after the last one."""
        n_models = len(stack.parameters[0])
        size = max(1, SCORING_BYTES // (4 * (len(stack.folds) * self._n_columns + n_models * self._first_units)))
        hits = np.zeros(n_models, np.int64)
        for first in range(0, rows.shape[1], size):
            block = self._on_device(rows[:, first : first + size])
            present = block.clamp(min=0)
            targets = torch.where(block >= 0, self._labels[present], -1)
            hits += stack.hits(self._inputs(present), targets).cpu().numpy()
        return hits

    def _probabilities(self, model: StackedModels, rows: Rows) -> NDArray[np.float64]:
        """Return one model's class probabilities for these rows."""
        size = max(1, SCORING_BYTES // (4 * (self._n_columns + self._first_units)))
        parts = [np.empty((0, self._n_classes))]
        for first in range(0, len(rows), size):
            logits = model.logits(self._inputs(self._on_device(rows[None, first : first + size])))[0]
            parts.append(torch.softmax(logits.cpu().double(), dim=0).t().numpy())
        return np.concatenate(parts)

    def _on_device(self, numbers: NDArray[np.integer]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers, dtype=np.int64)).to(self._device)


def _padded(lists: Sequence[Rows]) -> NDArray[np.int64]:
    table = np.full((len(lists), max(map(len, lists))), -1, np.int64)
    for line, numbers in zip(table, lists, strict=True):
        line[: len(numbers)] = numbers
    return table
