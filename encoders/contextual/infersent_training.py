"""Training InferSent on natural language inference, as the paper's InferSent_MedNLI row needs (Conneau et al. 2017).

One encoder reads premise and hypothesis, a classifier sees (u, v, |u-v|, u*v); afterwards the classifier is thrown away and the
encoder of the best pass over the data is written in the official format, for ``infersent:ENCODER.pkl+VECTORS``.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Split
from medsenteval.encoders.contextual.checkpoint import choose_device
from medsenteval.encoders.contextual.infersent import Reading, SentenceReader, sentence_vectors
from medsenteval.encoders.static.converted_vectors import open_vectors
from medsenteval.encoders.static.vector_formats import FileOptions
from medsenteval.errors import DataError, EncoderError, SettingsError, import_extra
from medsenteval.support.atomic_files import write_atomically

#: How the original script trains. Before every pass but the first the learning rate is multiplied by the decay; after a pass
#: that is not the best so far on dev it is divided by the other number, until it is below the least.
_CLASSIFIER_HIDDEN: Final = 512
_DECAY: Final = 0.99
_SHRINK: Final = 5.0
_LEAST_LEARNING_RATE: Final = 1e-5
_MOST_GRADIENT: Final = 5.0


@dataclass(frozen=True)
class InferSentTraining:
    """How InferSent is trained; the defaults are those of the original script."""

    reading: Reading = field(default_factory=Reading)
    hidden: int = 2048
    epochs: int = 20
    batch_size: int = 64
    learning_rate: float = 0.1
    seed: int = 1234
    device: str = "auto"

    def __post_init__(self) -> None:
        for name in ("hidden", "epochs", "batch_size", "learning_rate"):
            if not getattr(self, name) > 0:  # NaN is not
                raise SettingsError(f"train-infersent: {name} is {getattr(self, name)}; it must be above 0")


@dataclass(frozen=True)
class Pass:
    """One pass over the training pairs; accuracies in percent, that of train while the weights were changing."""

    number: int
    learning_rate: float
    loss: float
    train_accuracy: float
    dev_accuracy: float
    best: bool


class _Pairs:
    """Labelled pairs of sentences, premises and hypotheses, as rows of a table of word vectors."""

    def __init__(self, name: str, split: Split, reader: SentenceReader) -> None:
        if split.texts2 is None or split.labels is None or len(split) == 0:
            raise DataError(f"the split {name} has no labelled pairs of texts; natural language inference needs them")
        self.labels = split.labels
        self.sides = [reader.read(split.texts), reader.read(split.texts2)]
        self.reader = reader


def train_infersent(
    train: Split,
    dev: Split,
    vectors: str | Path,
    output_path: str | Path,
    settings: InferSentTraining,
    *,
    file_options: FileOptions | None = None,
    progress: bool = False,
) -> Iterator[Pass]:
    """Train on pairs with labels, write the best encoder to ``output_path`` and yield each pass over the data once it is made.

    ``vectors`` names a file of word vectors, and ``file_options`` says of it what it does not say itself. The written file is
    there after the first pass already and replaced by each better one, so that an interrupted training leaves something to use.
    Torch's global random state is not changed.
    """
    output = Path(output_path).expanduser()
    if not output.parent.is_dir():
        raise SettingsError(f"train-infersent: there is no folder {output.parent} to write {output.name} into")
    vectors = Path(vectors).expanduser()
    reader = SentenceReader(open_vectors(vectors, file_options), vectors, settings.reading)
    pairs, dev_pairs = _Pairs("train", train, reader), _Pairs("dev", dev, reader)
    classes, dev_classes = set(pairs.labels.tolist()), set(dev_pairs.labels.tolist())
    if len(classes) < 2 or not dev_classes <= classes:
        raise DataError(f"train has the labels {sorted(classes)}, dev {sorted(dev_classes)}; every class must be in train")
    if not reader.coverage(train.all_texts())["tokens"]:
        remedy = "are they of this language? Vectors of lower-case words need --case lower"
        raise EncoderError(f"train-infersent: {vectors} knows no word to train on; {remedy}")
    torch = import_extra("torch", "train-infersent", "torch")
    rng = np.random.default_rng(settings.seed)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(settings.seed)
        # The LSTM has the name that the official files use; the classifier has no non-linearity, as in the original's default.
        encoder = torch.nn.LSTM(reader.dimension, settings.hidden, bidirectional=True)
        widths = [8 * settings.hidden, _CLASSIFIER_HIDDEN, _CLASSIFIER_HIDDEN, max(classes) + 1]
        classifier = torch.nn.Sequential(*(torch.nn.Linear(inputs, outputs) for inputs, outputs in pairwise(widths)))
    network = torch.nn.ModuleDict({"enc_lstm": encoder, "classifier": classifier})
    network = network.to(choose_device(settings.device, mps=False))
    rate, highest = settings.learning_rate, -1.0
    optimiser = torch.optim.SGD(network.parameters(), lr=rate)
    for number in range(1, settings.epochs + 1):
        optimiser.param_groups[0]["lr"] = rate
        title = f"pass {number} of {settings.epochs}" if progress else ""
        order = rng.permutation(len(train))
        loss, train_accuracy = _pass_over(network, pairs, order, settings.batch_size, optimiser, title)
        _, dev_accuracy = _pass_over(network, dev_pairs, np.arange(len(dev)), settings.batch_size)
        best = dev_accuracy > highest
        if best:
            highest = dev_accuracy
            _write_state(network, output)
        yield Pass(number, rate, loss, train_accuracy, dev_accuracy, best)
        if not best:
            rate /= _SHRINK
            if rate < _LEAST_LEARNING_RATE:
                return
        rate *= _DECAY


def _pass_over(
    network: Any,
    pairs: _Pairs,
    order: NDArray[np.int64],
    batch_size: int,
    optimiser: Any = None,
    title: str = "",
) -> tuple[float, float]:
    """Classify the pairs in this order, and learn from them if there is an optimiser; return mean loss and accuracy in percent.

    A title stands before a progress bar, which is shown on a terminal only.
    """
    import torch
    from tqdm import tqdm

    learns = optimiser is not None
    device = next(network.parameters()).device
    network.train(learns)
    total_loss, correct = 0.0, 0
    starts = range(0, len(order), batch_size)
    for start in tqdm(starts, desc=title, unit=" batches", leave=False, disable=None if title else True):
        batch = order[start : start + batch_size]
        labels = torch.from_numpy(pairs.labels[batch]).to(device)
        with torch.set_grad_enabled(learns):
            logits = _logits(network, *(pairs.reader.word_vectors(side, batch, device) for side in pairs.sides))
            loss = torch.nn.functional.cross_entropy(logits, labels)
        if not torch.isfinite(loss):
            raise EncoderError(f"train-infersent: the loss became {loss.item()}; lower the learning rate (--learning-rate)")
        if learns:
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(network.parameters(), _MOST_GRADIENT)
            optimiser.step()
        total_loss += loss.item() * len(labels)
        correct += int((logits.argmax(dim=1) == labels).sum())
    return total_loss / len(order), 100.0 * correct / len(order)


def _logits(network: Any, premises: tuple[Any, list[int]], hypotheses: tuple[Any, list[int]]) -> Any:
    """Return the classifier's logits of (u, v, |u-v|, u*v), u being the premises' vectors and v the hypotheses'."""
    import torch

    # Both sides in one run of the LSTM: half as many steps, which are what training waits for.
    words, lengths = torch.cat([premises[0], hypotheses[0]]), [*premises[1], *hypotheses[1]]
    u, v = sentence_vectors(network["enc_lstm"], words, lengths).chunk(2)
    return network["classifier"](torch.cat([u, v, (u - v).abs(), u * v], dim=1))


def _write_state(network: Any, output: Path) -> None:
    """Write the encoder's tensors as the official files hold them, under a temporary name first."""
    import torch

    # Through memory, because torch writes the file's name into the file: equal trainings shall give equal bytes.
    buffer = io.BytesIO()
    state = network["enc_lstm"].state_dict(prefix="enc_lstm.")
    torch.save({name: tensor.detach().cpu() for name, tensor in state.items()}, buffer)
    write_atomically(output, buffer.getvalue())
