"""InferSent's networks in torch; imported only once torch is known to be there.

The encoder is one bidirectional LSTM over word vectors with the maximum (or mean) over its states, in the module and
parameter names of the official state dictionaries; the classifier on top serves training alone (Conneau et al. 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

Tensor = torch.Tensor


class SentenceEncoder(torch.nn.Module):
    """Word vectors into sentence vectors; ``enc_lstm`` is the name that the official files use."""

    def __init__(self, dimension: int, hidden: int, pooling: str) -> None:
        super().__init__()
        self.enc_lstm = torch.nn.LSTM(dimension, hidden, num_layers=1, bidirectional=True)
        self._pooling = pooling

    def forward(self, words: Tensor, lengths: Sequence[int]) -> Tensor:
        """Return a row a sentence; ``words`` holds the sentences' word vectors one after the other.

        Padding never takes part. (The original lets version 1 compare states with the zeros that pad a batch, so that there a
        sentence's vector depends on its neighbours' lengths.) A sentence of no words gets the zero vector.
        """
        filled = [i for i, length in enumerate(lengths) if length]
        pooled = words.new_zeros(len(lengths), 2 * self.enc_lstm.hidden_size)
        if not filled:
            return pooled
        counts = [lengths[i] for i in filled]
        states, _ = self.enc_lstm(pack_sequence(list(torch.split(words, counts)), enforce_sorted=False))
        if self._pooling == "max":
            padded, _ = pad_packed_sequence(states, padding_value=-torch.inf)
            rows = padded.max(dim=0).values
        else:
            padded, _ = pad_packed_sequence(states)
            rows = padded.sum(dim=0) / torch.tensor(counts, dtype=words.dtype, device=words.device)[:, None]
        return pooled.index_copy(0, torch.tensor(filled, device=words.device), rows)


class InferenceClassifier(torch.nn.Module):
    """The network that InferSent is trained in: one encoder for both sentences, and a classifier of (u, v, |u-v|, u*v).

    Its layers follow each other without a non-linearity, as in the original's default.
    """

    def __init__(self, encoder: SentenceEncoder, width: int, n_classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        sizes = [8 * encoder.enc_lstm.hidden_size, width, width, n_classes]
        self.classifier = torch.nn.Sequential(*(torch.nn.Linear(inputs, outputs) for inputs, outputs in pairwise(sizes)))

    def forward(self, premise: tuple[Tensor, Sequence[int]], hypothesis: tuple[Tensor, Sequence[int]]) -> Tensor:
        # Both sides in one run of the LSTM: half as many steps, which are what training waits for.
        both = self.encoder(torch.cat([premise[0], hypothesis[0]]), [*premise[1], *hypothesis[1]])
        u, v = both.chunk(2)
        logits: Tensor = self.classifier(torch.cat([u, v, (u - v).abs(), u * v], dim=1))
        return logits
